"""The language server, asked by a client over pipes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

import morello_layouts as ml
from morello_layouts.core.limits import EDITOR_MESSAGE
from tests.editor.client import Client, editor
from tests.support.paths import ROOT

pytest.importorskip("pygls", reason="the extra [editor] is not installed")

BLOCKED = (
    "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], "
    "order = [1, 0]}>"
)
TTGIR = f"""#blocked = {BLOCKED}
#mma = #ttg.nvidia_mma<{{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], \
instrShape = [16, 8]}}>
#shared = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}}>
#smem = #ttg.shared_memory
module attributes {{"ttg.target" = "cuda:80"}} {{
  ttg.local_store %0, %1 : tensor<64x64xf32, #blocked> -> !ttg.memdesc<64x64xf32, #shared, #smem>
  %2 = ttg.local_load %1 : !ttg.memdesc<64x64xf32, #shared, #smem> -> tensor<64x64xf32, #mma>
}}
"""


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with editor() as running:
        yield running


def shown(client: Client, text: str, language: str = "plaintext") -> str | None:
    """The hover at the sign ¦, which is not in the file."""
    before, _, after = text.partition("¦")
    client.open("file:///shown", before + after, language)
    line, start = before.count("\n"), before.rfind("\n") + 1
    found = client.hover("file:///shown", line, len(before) - start)
    return None if found is None else str(found["contents"]["value"])


SEEN = [
    ("  %a = f32[8,3]{1,0:T(8,¦128)} add(f32[8,3]{0,1} %b)", "XLA array: row-major, TPU tile",
     "96 of data in 4,096", "128*d0 + d1", "░ padding"),
    ("#map = affine_map<(d0, d1) -> (d1, d0)>\n%0 = f(%1) : memref<4x8xf32, #m¦ap>",
     "MLIR array: d0 varies fastest", "128, no padding", "4*d1 + d0"),
    (TTGIR.replace("#shared, #smem> ->", "#sha¦red, #smem> ->"), "Triton shared memory",
     "16,384", "that loads a\n  row     no conflicts\n  column  32-way conflict"),
    ("using L = Layout<Shape <_4,_8>,\n   Stride<_8,¦_1>>;", "CuTe layout", "8*d0 + d1"),
    ("auto l = make_layout(make_shape(M, ¦K), LayoutRight{});", "CuTe layout", "K*d0 + d1"),
    ("// Sw<3,3,3> o ((4,2),8):((1,3¦2),4) is it", "CuTe layout with a swizzle"),
    ('m = ml.index_map("[0, 1, 0 ¦p(4)]", (16, 8))', "Morello layout: packed",
     "32*(d0//4) + 4*d1 + d0%4"),
    ('m = f("h w -> ¦w h", shape=(16, 8))', "einops pattern", "16*w + h"),
    ("mlay explain '[1, 0, 1 p(¦4)]' --shape 6x8", "Morello layout: packed", "no padding"),
    ("l = gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0]¦)", "each thread holds a block"),
]  # fmt: skip


@pytest.mark.parametrize("row", SEEN, ids=lambda row: row[0][-40:])
def test_a_hover_shows_title_formula_bytes_and_picture(
    client: Client, row: tuple[str, ...]
) -> None:
    text, *words = row
    found = shown(client, text) or ""
    assert found.startswith("```text\n")
    for one in words:
        assert one in found


def test_an_alias_means_what_the_program_around_says(client: Client) -> None:
    """A file of dumps after each pass defines it anew in each."""
    two = "#map = affine_map<(d0, d1) -> (d1, d0)>\n%0 = f() : memref<4x8xf32, #map>\n"
    text = (
        f"{two}\n#map = affine_map<(d0, d1) -> (d0, d1)>\n%0 = f() : memref<4x8xf32, #m¦ap>\n{two}"
    )
    assert "8*d0 + d1" in (shown(client, text) or "")
    assert shown(client, f"%0 = f() : memref<4x8xf32, #m¦ap>\n{two}") is None


UNSEEN = [
    ("x = {(1, 2): (3, ¦4)}", "python"),
    ("f(x)[(1):(¦3)]", "cpp"),
    ("return c ? (4):(¦8);", "cpp"),
    ('rearrange(x, "h w -> ¦w h")', "python"),
    ('print("at 12:3¦0", "ab¦c")', "python"),
    ('assert f("[0, ¦1]") == [1, 2]', "python"),
    ("%0 = f(%1) : memref<4x8xf32, #un¦known>", "mlir"),
    ("the f32¦ of [8] and (4, 8)", "plaintext"),
    ("<p>(4)¦</p>", "html"),
]


@pytest.mark.parametrize(("text", "language"), UNSEEN)
def test_what_may_be_anything_shows_nothing(client: Client, text: str, language: str) -> None:
    assert shown(client, text, language) is None


def warnings(client: Client, uri: str) -> list[tuple[int, str]]:
    while (found := client.told("textDocument/publishDiagnostics"))["uri"] != uri:
        pass
    return [(one["range"]["start"]["line"], one["message"]) for one in found["diagnostics"]]


PROGRAM = """HloModule m

%fused (p: f32[9,1024,1]) -> f32[9,1024,1] {
  %p = f32[9,1024,1]{2,1,0:T(8,128)} parameter(0)
  ROOT %n = f32[99,1024,1]{2,1,0:T(8,128)} negate(%p)
}

ENTRY %main (x: f32[8,128]) -> f32[9,1024,1] {
  %x = f32[8,128]{1,0:T(8,128)} parameter(0)
  %s = f32[8,1]{1,0:T(8,128)} copy(f32[7,1024,1]{2,1,0:T(8,128)} %x)
  %y = f32[9,1024,1]{2,1,0:T(8,128)} fusion(%x), kind=kLoop, calls=%fused
  ROOT %z = f32[9,1024,1]{2,1,0:T(8,128)} copy(%y)
}
"""


def test_warnings_are_of_arrays_that_lie_in_memory(client: Client) -> None:
    """Not of values inside fusions, of operands, nor of what one tile holds."""
    client.open("file:///program", PROGRAM)
    assert warnings(client, "file:///program") == [(10, (
        "bytes: 36,864 of data in 4,718,592 (4.5 MiB): 4,681,728 of padding, 128.00× the data; "
        "2 places have this text"
    ))]  # fmt: skip


def test_warnings_of_conflicts_are_of_moves_that_the_text_says(client: Client) -> None:
    """They are those of ``mlay mlir``; nobody says which lanes of gfx1100 share a phase."""
    client.open("file:///ttgir", TTGIR)
    moves = ml.read_mlir(TTGIR).moves
    told = sorted((move.lines[0] - 1, move.words) for move in moves if (move.ways or 1) > 1)
    assert [(line, words[:14]) for line, words in told] == [
        (5, "2-way conflict"),
        (6, "4-way conflict"),
    ]
    assert warnings(client, "file:///ttgir") == told
    client.open("file:///hip", TTGIR.replace("cuda:80", "hip:gfx1100"))
    assert warnings(client, "file:///hip") == []
    tile = "%0 = memref.alloc() : memref<32x32xf32, #gpu.address_space<workgroup>>\n"
    client.open(
        "file:///gpu",
        tile + tile.replace("32x32", "32x33") + tile.replace(", #gpu.address_space<workgroup>", ""),
    )
    assert warnings(client, "file:///gpu") == [(0, "a warp that loads a column: 32-way conflict")]


def test_a_file_that_changes_under_it(client: Client) -> None:
    """Columns count UTF-16: a sign beyond the first plane is two."""
    uri = "file:///it%20changed"
    client.open(uri, "é😀 f32[2,3]\n")
    found = client.hover(uri, 0, 7)
    assert found["range"] == {
        "start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 12}
    }  # fmt: skip
    assert warnings(client, uri) == []
    for version in range(2, 30):  # as fast as someone types
        start, end = ({"line": 0, "character": k} for k in (8, 9))
        sizes = "9,1024,1]{2,1,0:T(8,128)} " if version == 29 else str(version % 10)
        change = {"range": {"start": start, "end": end}, "text": sizes}
        client.change(uri, version, change)
    assert "36,864 of data" in client.hover(uri, 0, 7)["contents"]["value"]
    assert [line for line, _ in warnings(client, uri)] == [0]
    client.tell("textDocument/didClose", textDocument={"uri": uri})
    assert warnings(client, uri) == []
    assert client.hover(uri, 0, 7) is None
    assert client.hover(uri, 10**9, 10**9) is None


def test_the_link_to_the_explorer_answers(client: Client) -> None:
    client.open("file:///linked", 'explain("[1, 0, 1 p(4)]", (6, 8))')
    (action,) = client.actions("file:///linked", 0, 12)
    command = action["command"]
    link = client.ask(
        "workspace/executeCommand", command=command["command"], arguments=command["arguments"]
    )
    address, _, question = link.partition("#")
    with urlopen(f"{address}api/answer?{question}") as answer:
        assert json.load(answer)["source"] == "[1, 0, 1 p(4)]"
    assert client.actions("file:///linked", 0, 0) is None


def test_a_request_that_is_cancelled_is_answered_and_the_next_one_too(client: Client) -> None:
    slow = f"f32[100000,100000]{{1,0:T{'(3,7)(2,5)' * 20}}}"
    client.open("file:///slow", slow + "\nf32[2,3]\n")
    numbers = [client.begin_hover("file:///slow", 0, k % 20) for k in range(40)]
    for number in numbers:
        client.tell("$/cancelRequest", id=number)
    began = time.monotonic()
    assert "XLA array" in client.hover("file:///slow", 1, 3)["contents"]["value"]
    assert time.monotonic() - began < 60
    found = [client.answer(number) for number in numbers]
    assert any(one.get("error", {}).get("code") == -32800 for one in found)


def report(text: str) -> None:
    sys.stderr.write(f"\n{text}\n")


def lines(count: int) -> Iterator[str]:
    for k in range(count):
        yield f"  %add.{k} = f32[{k % 997 + 1},128]{{1,0:T(8,128)}} add(%p.{k}, %q.{k}), k=1\n"


def test_a_dump_of_5_megabytes_is_explained_at_once(client: Client) -> None:
    text = "HloModule m\n" + "".join(lines(75_000))
    assert len(text) > 5_000_000
    client.open("file:///dump", text)
    assert client.hover("file:///dump", 70_000, 18)
    assert warnings(client, "file:///dump") == []
    found = []
    for line in (60_000, 60_001, 74_999, 12, 13, 14, 50_000):
        before, began = client.processor_ms(), time.monotonic()
        assert "TPU tile" in client.hover("file:///dump", line, 18)["contents"]["value"]
        found.append((client.processor_ms() - before, 1000 * (time.monotonic() - began)))
    report(", ".join(f"{work} ms of work, {wall:.0f} ms by the clock" for work, wall in found))
    assert min(found)[0] < 100


@pytest.mark.slow
def test_a_file_of_200_megabytes_is_read_where_it_lies(tmp_path: Path) -> None:
    """Neither its text, sent whole, nor what is asked about it grows the process."""
    path = tmp_path / "dump.txt"
    part = "".join(lines(20_000))
    with path.open("w") as file:
        for _ in range(200_000_000 // len(part) + 1):
            file.write(part)
    with editor() as client:
        client.open("file:///small", "f32[2,3]")
        assert client.hover("file:///small", 0, 2)
        before, uri = client.memory(), path.as_uri()
        client.open(uri, path.read_text())
        assert "is long" in client.told("window/logMessage")["message"]
        began = time.monotonic()
        last = 20_000 * (200_000_000 // len(part))
        found = client.hover(uri, last, 14)["contents"]["value"]
        took = time.monotonic() - began
        assert found.startswith("```text\nf32[1,128]{1,0:T(8,128)}")
        start = {"line": 3, "character": 0}
        change = {"range": {"start": start, "end": start}, "text": "x"}
        client.change(uri, 2, change)
        with path.open("r+") as file:  # as another program writes it
            file.write("s8[4,4]\n")
        assert "s8[4,4]" in client.hover(uri, 0, 2)["contents"]["value"]
        grown = client.memory() - before
        report(f"200 MB: a hover in {took:.2f} s, {grown >> 20} MiB more")
        assert grown < 4 * EDITOR_MESSAGE
        path.unlink()
        assert client.hover(uri, 0, 2) is None


def test_what_is_not_a_message_is_passed_over(client: Client) -> None:
    """Nor does a request that is too long wait for its answer forever."""
    client.send_bytes(b'{"jsonrpc": "2.0", "id": "x", "method": "none", "params": [')
    client.send_bytes(b'{"jsonrpc": "2.0", "id": 7777, "method": "f", "params": {"a": "%s"}}' % (
        b"x" * EDITOR_MESSAGE))  # fmt: skip
    assert client.answer(7777)["error"]["code"] == -32601
    client.open("file:///after", "f32[2,3]")
    assert client.hover("file:///after", 0, 2)


def test_one_line_of_megabytes_does_not_hang(client: Client) -> None:
    """Thousands of layouts on a line, and thousands of lines, cost what their length costs."""
    text = "HloModule m\n" + "".join(one.strip() + "; " for one in lines(60_000))
    client.open("file:///line", text)
    began = client.processor_ms()
    assert "TPU tile" in client.hover("file:///line", 1, 20)["contents"]["value"]
    assert warnings(client, "file:///line") == []
    client.open("file:///quotes", '"[0, 1, 0 p(4)]" ' * 100_000)
    assert warnings(client, "file:///quotes") == []
    assert client.processor_ms() - began < 20_000


EXTENSION = ROOT / "docs" / "editor" / "vscode"


def test_the_extension_is_whole() -> None:
    package = json.loads((EXTENSION / "package.json").read_text("utf-8"))
    assert (EXTENSION / package["main"]).is_file()
    assert "vscode-languageclient" in package["dependencies"]
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js is not installed")
    subprocess.run([node, "--check", EXTENSION / package["main"]], check=True, timeout=60)
