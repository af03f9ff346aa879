"""Wrong encodings: what is wrong, with a caret; ▲ in a text stands before the caret's character."""

from __future__ import annotations

import pytest

import morello_layouts as ml
from tests.support.tables import each_row

# fmt: off
# ruff: noqa: E501
ERRORS = [
    ("▲#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1]}>",
     "blocked: expected a field order, got none"),
    ("#ttg.blocked<{sizePerThread = [1, ▲3], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>",
     "sizePerThread: expected a power of two, got 3"),
    ("#ttg.blocked<{▲sizePerThread = [1, 4, 2], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>",
     "sizePerThread: expected 2 sizes, got 3"),
    ("#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, ▲1]}>",
     "order: dimension 1 appears twice"),
    ("#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, ▲2]}>",
     "order: expected dimensions 0 to 1, got 2"),
    ("#ttg.blocked<{sizePerThread = [1, 4], ▲sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>",
     "sizePerThread: expected one value, got two"),
    ("#ttg.blocked<{▲sizePerWarp = [1, 4]}>",
     "blocked has no field sizePerWarp"),
    ("#ttg.blocked<{▲sizePerThread = 4, threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>",
     "sizePerThread: expected a list, got 4"),
    ("#ttg.blocked<{sizePerThread = [▲0, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>",
     "sizePerThread: expected a power of two, got 0"),
    ("#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0], CGALayout = [[▲1]]}>",
     "CGALayout: expected 2 numbers in a basis, got 1 numbers"),
    ('#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}▲',
     "expected ',' or '>', found the end of the text"),
    ("▲#ttg.blocked<{}>",
     "blocked: expected a field sizePerThread, got none"),
    ('#ttg.blocked▲',
     "expected '<', found the end of the text"),
    ('▲#ttg.block<{order = [0]}>',
     "'block' is not an encoding that is known here"),
    ('▲#ttg.',
     "expected '-', '{', a name, a type, an alias, an encoding or the end of the text, found '#ttg.'"),
    ("#ttg.slice<{▲dim = 2, parent = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>}>",
     "dim: expected a dimension of the parent, got 2"),
    ("#ttg.slice<{dim = 0, parent = ▲#blocked}>",
     "#blocked is not defined"),
    ("▲#ttg.slice<{dim = 0}>",
     "slice: expected a field parent, got none"),
    ("#ttg.slice<{dim = 0, ▲parent = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>}>",
     "parent: expected an encoding of registers, got #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"),
    ("#ttg.slice<{dim = 0, ▲parent = 3}>",
     "parent: expected an encoding of registers, got 3"),
    ("#ttg.dot_op<{▲opIdx = 2, parent = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>, kWidth = 2}>",
     "opIdx: expected 0 or 1, got 2"),
    ("▲#ttg.dot_op<{opIdx = 0, parent = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>}>",
     "kWidth: expected a power of two, got nothing"),
    ("#ttg.dot_op<{▲opIdx = 1, parent = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>, kWidth = 2}>",
     "opIdx: expected 0, since Hopper reads B from shared memory, got 1"),
    ("#ttg.dot_op<{opIdx = 0, parent = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>, ▲kWidth = 3}>",
     "kWidth: expected a power of two, got 3"),
    ("#ttg.nvidia_mma<{▲versionMajor = 1, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>",
     "versionMajor: expected 2 or 3, got 1"),
    ("#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], ▲instrShape = [16, 16]}>",
     "instrShape: expected [16, 8], or [16, n, k] of Hopper, got [16, 16]"),
    ("#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, ▲warpsPerCTA = [2], instrShape = [16, 8]}>",
     "warpsPerCTA: expected 2 or 3 sizes, got [2]"),
    ("#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], ▲instrShape = [8, 8, 8], isTransposed = false}>",
     "instrShape: expected one of [[16, 16], [32, 32], [4, 64], [64, 4]], got [8, 8, 8]"),
    ("#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], ▲isTransposed = 1}>",
     "isTransposed: expected true or false, got 1"),
    ("#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], isTransposed = false, ▲elementBitWidth = 16}>",
     "elementBitWidth: expected 32 or 64, got 16"),
    ("#ttg.amd_wmma<{▲version = 4, isTranspose = false, ctaLayout = {warp = [[0, 1]]}}>",
     "version: expected 1, 2 or 3, got 4"),
    ("▲#ttg.amd_wmma<{version = 2, isTranspose = false}>",
     "ctaLayout: expected it or warpsPerCTA, got nothing"),
    ("#ttg.amd_wmma<{version = 2, isTranspose = false, ▲ctaLayout = {lane = [[0, 1]]}}>",
     "ctaLayout: expected bases of register and warp, got [[lane, [[0, 1]]]]"),
    ("#ttg.amd_wmma<{version = 2, isTranspose = false, ▲ctaLayout = {warp = [[0, 1], [1]]}}>",
     "ctaLayout: expected 2 numbers in a basis, got 1 numbers"),
    ("#ttg.swizzled_shared<{▲vec = 3, perPhase = 1, maxPhase = 8, order = [1, 0]}>",
     "vec: expected a power of two, got 3"),
    ("#ttg.swizzled_shared<{▲vec = 0, perPhase = 1, maxPhase = 8, order = [1, 0]}>",
     "vec: expected a power of two, got 0"),
    ('#ttg.swizzled_shared<{vec = ▲-1, perPhase = 1, maxPhase = 8, order = [1, 0]}>',
     "expected '[', '{', a name, a number, an alias, an encoding or true or false, found '-1,'"),
    ("#ttg.nvmma_shared<{▲swizzlingByteWidth = 16, transposed = false, elementBitWidth = 16}>",
     "swizzlingByteWidth: expected 0, 32, 64 or 128, got 16"),
    ("#ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, ▲elementBitWidth = 4}>",
     "elementBitWidth: expected 8, 16, 32 or 64, got 4"),
    ("#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 8, ▲fp4Padded = true}>",
     "fp4Padded: expected false, unless swizzlingByteWidth is 128 and elementBitWidth 8, got true"),
    ("!ttg.memdesc<▲4x8xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>, #ttg.shared_memory>",
     "nvmma_shared: expected 8 rows of 128 bytes, got a part of [4, 8]"),
    ("#ttg.padded_shared▲<[] {order = [1, 0], shape = [8, 16]}>",
     "intervals: expected different ones, got none"),
    ("#ttg.padded_shared<[▲3:+4] {order = [1, 0], shape = [8, 16]}>",
     "an interval: expected a power of two, got 3"),
    ("#ttg.padded_shared▲<[4:+4, 4:+8] {order = [1, 0], shape = [8, 16]}>",
     "intervals: expected different ones, got one twice"),
    ('#ttg.padded_shared<[4:▲4] {order = [1, 0], shape = [8, 16]}>',
     "expected '+', found '4]'"),
    ("#ttg.padded_shared<[4:+4] {▲order = [1, 0]}>",
     "order: expected it and shape, or offset, got [1, 0]"),
    ("▲#ttg.padded_shared<{order = [1, 0], shape = [8, 16]}>",
     "padded_shared: expected a field paddings, got none"),
    ("#ttg.linear<{register = [[0, 1], [▲1]], lane = [], warp = []}>",
     "register: expected 2 numbers in a basis, got 1 numbers"),
    ("#ttg.linear<{register = [▲0, 1], lane = [], warp = []}>",
     "register: expected a list, got 0"),
    ("#ttg.linear<{register = [[0, 1]], ▲lanes = [], warp = []}>",
     "linear has no field lanes"),
    ("▲#ttg.shared_linear<{block = [[0, 1]]}>",
     "shared_linear: expected a field offset, got none"),
    ("#ttg.shared_linear<{offset = [[0, 1]]}, ▲alignment = 3>",
     "alignment: expected a power of two, got 3"),
    ("tensor<▲8x12xf16, #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>>",
     "size of dimension 1: expected a power of two, got 12"),
    ("tensor<▲8xf16, #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>>",
     "blocked: expected 2 sizes, got 1"),
    ('tensor<8x8x▲foo, #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>>',
     "'foo' is not an element type of MLIR"),
    ("▲tensor<8x8xf16, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>>",
     "a tensor has no encoding swizzled_shared"),
    ("tensor<8x8xf16, ▲#blocked>",
     "#blocked is not defined"),
    ('tensor<8x8xf16▲>',
     "expected ',', found '>'"),
    ("#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}> tensor<8xf16, ▲#block>",
     "#block is not defined"),
    ("#a = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}> ▲#a = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>",
     "#a is defined twice"),
    ("#a = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}> #b = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>▲",
     "expected a type after the encodings"),
    ("- register=1 -> (0, 1) register=▲4 -> (0, 2)",
     "register: expected 2, got 4"),
    ("- register=1 -> (0, 1) - ▲lane=1 -> (1)",
     "lane: expected 2 numbers in a basis, got 1 numbers"),
    ("- ▲register=1 -> (0, 3) where out dims are: [dim0 (size 1), dim1 (size 2)]",
     "basis: expected a coordinate in (1, 2), got (0, 3)"),
    ("▲!ttg.memdesc<8xf16, #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>, #ttg.shared_memory>",
     "a !ttg.memdesc has no encoding blocked"),
    ("#ttg.blocked<{sizePerThread = [▲99999999999999999999], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>",
     "the number is too large"),
    ("#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0], ▲CTAsPerCGA = [2]}>",
     "CTAsPerCGA: expected it with CTASplitNum and CTAOrder, got [2]"),
    ("#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0], CTAsPerCGA = [1], ▲CTASplitNum = [2], CTAOrder = [0]}>",
     "CTASplitNum: expected divisors of CTAsPerCGA, got [2]"),
    ("!ttg.memdesc<▲4x8xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>, #ttg.shared_memory>",
     "nvmma_shared: expected 8 rows of 128 bytes, got a part of [4, 8]"),
    ("!ttg.memdesc<▲4x64xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>, #ttg.shared_memory>",
     "nvmma_shared: expected 8 rows of 128 bytes, got a part of [4, 64]"),
    ("!ttg.memdesc<▲8x8xf16, #ttg.shared_linear<{offset = [[0, 1], [0, 2], [1, 0], [2, 0]]}, alignment = 16>>",
     "the element at (0, 4) has no place"),
    ("- ▲register=1 -> (0, 3) where out dims are: [dim0 (size 1), dim1 (size 2)]",
     "basis: expected a coordinate in (1, 2), got (0, 3)"),
    ("#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0], ▲CTAsPerCGA = [2]}>",
     "CTAsPerCGA: expected it with CTASplitNum and CTAOrder, got [2]"),
    ("#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0], CTAsPerCGA = [1], ▲CTASplitNum = [2], CTAOrder = [0]}>",
     "CTASplitNum: expected divisors of CTAsPerCGA, got [2]"),
    ("▲#ttg.amd_wmma<{version = 2, isTranspose = false}>",
     "ctaLayout: expected it or warpsPerCTA, got nothing"),
]
# fmt: on


@each_row(("marked", "what"), ERRORS, ids=[marked for marked, _ in ERRORS])
def test_wrong_texts(marked: str, what: str) -> None:
    text = marked.replace("▲", "")
    with pytest.raises(ml.ParseError) as caught:
        ml.parse(text, "triton")
    error = caught.value
    assert (error.what, error.position) == (what, marked.index("▲"))
    assert error.fix


@each_row(("marked", "what"), [row for row in ERRORS if "#ttg." in row[0]])
def test_the_reader_that_understood_most_is_this_one(marked: str, what: str) -> None:
    with pytest.raises(ml.ParseError) as caught:
        ml.parse(marked.replace("▲", ""))
    assert caught.value.what == what


def test_rubbish_ends_soon() -> None:
    for text in ("#ttg.slice<{parent = " * 400, "#ttg.linear<{register = [" + "[1]," * 2000):
        with pytest.raises(ml.ParseError):
            ml.parse(text, "triton")
