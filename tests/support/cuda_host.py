"""CUDA kernels on the host: the threads of a block are threads, with a barrier between them."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path

HOST = r"""
#include <barrier>
#include <thread>
#include <vector>
#include <cstring>
#define __global__ static
#define __shared__ static
struct dim3 { unsigned x, y; dim3(unsigned x, unsigned y = 1) : x(x), y(y) {} };
struct uint4 { unsigned x, y, z, w; };
static thread_local struct { unsigned x, y; } threadIdx, blockIdx;
static std::barrier<> *meeting;
[[maybe_unused]] static void __syncthreads() { meeting->arrive_and_wait(); }
typedef int cudaError_t;
typedef void *cudaStream_t;
static int cudaGetLastError() { return 0; }
template <class Kernel, class... Given>
static void launch(Kernel *kernel, unsigned blocks, dim3 block, bool together, Given... given) {
    for (unsigned b = 0; b < blocks; b++) {
        std::barrier<> all(block.x * block.y);
        meeting = &all;
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < block.x * block.y; i++) {
            auto one = [=] {
                threadIdx = {i % block.x, i / block.x}, blockIdx = {b, 0};
                kernel(given...);
            };
            if (together) threads.emplace_back(one); else one();
        }
        for (auto &thread : threads) thread.join();
    }
}
"""

INDEX = "typedef unsigned long long relayout_index;"
FLAGS = ("-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-pthread")


def library(texts: Sequence[str], place: Path) -> ctypes.CDLL:
    """Build the library of some kernels in CUDA."""
    path, built = place / "kernels.cpp", place / "kernels.so"
    kernels = "\n".join(on_host(text.replace(INDEX, "")) for text in texts)
    path.write_text(f"{HOST}\n{INDEX}\n{kernels}", encoding="utf-8")
    subprocess.run(["g++", *FLAGS, str(path), "-o", str(built)], check=True)
    return ctypes.CDLL(str(built))


def on_host(text: str) -> str:
    """Return a text in CUDA with its launches as calls."""
    parts = text.replace("#include <cuda_runtime.h>\n", "").split("<<<")
    done = parts[0]
    for part in parts[1:]:
        head, _, name = done.rpartition("    ")
        shape, _, rest = part.partition(">>>(")
        blocks, threads = shape.removesuffix(", 0, stream").split(", ", 1)
        given, _, rest = rest.partition(");")
        together = "true" if "dim3" in threads else "false"
        done = f"{head}    launch({name}, {blocks}, {threads}, {together},{given});{rest}"
    return done
