"""The lines of the page in Neovim itself, if it is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

pytest.importorskip("pygls", reason="the extra [editor] is not installed")

NVIM = shutil.which("nvim")
PAGE = (ROOT / "docs/how_to/in_the_editor.md").read_text("utf-8")

# The name of a file, its text, and the place of the cursor; then what is shown.
FILES = [
    ("a.hlo", ("HloModule m\n\nENTRY %main (x: f32[8,3]) -> f32[9,1024,1] {\n"
     "  %x = f32[8,3]{1,0:T(8,128)} parameter(0)\n"
     "  ROOT %y = f32[9,1024,1]{2,1,0:T(8,128)} copy(%x)\n}\n"), (4, 12),
     ("XLA array: row-major, TPU tile", "128*d0 + d1", "! 5 bytes: 36,864 of data in 4,718,592")),
    ("a.mlir", ("#map = affine_map<(d0, d1) -> (d1, d0)>\n"
     "func.func @f(%a: memref<4x8xf32, #map>) {\n  return\n}\n"), (2, 20),
     ("MLIR array: d0 varies fastest", "4*d1 + d0")),
    ("a.ttgir", (
     "#a = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>\n"
     "%1 = f() : !ttg.memdesc<64x64xf32, #a, #ttg.shared_memory>\n"), (2, 30),
     ("Triton shared memory", "32-way conflict")),
    ("a.py", 'm = ml.index_map("[0, 1, 0 p(4)]", (16, 8))\n', (1, 20),
     ("Morello layout: packed", "32*(d0//4) + 4*d1 + d0%4")),
    ("a.cu", "using L = Layout<Shape <_4,_8>, Stride<_8,_1>>;\n", (1, 14),
     ("CuTe layout", "8*d0 + d1")),
]  # fmt: skip

# Before 0.11, Neovim starts a server with one call; it asks in the same way.
OLDER = 'vim.lsp.start_client({ name = "mlay", cmd = { "mlay", "lsp" } })'
ASK = """
local clients = function() return vim.lsp[is_new and "get_clients" or "get_active_clients"]() end
for _, place in ipairs(places) do
  vim.cmd("edit " .. place[1])
  vim.wait(60000, function() return clients()[1] and clients()[1].initialized end, 20)
  if not is_new then vim.lsp.buf_attach_client(0, clients()[1].id) end
  vim.wait(60000, function() return vim.lsp.buf_is_attached(0, clients()[1].id) end, 20)
  vim.api.nvim_win_set_cursor(0, { place[2], place[3] })
  local params = vim.lsp.util.make_position_params(0, "utf-16")
  local found = vim.lsp.buf_request_sync(0, "textDocument/hover", params, 60000)
  io.write("== ", place[1], "\\n")
  for _, each in pairs(found or {}) do
    io.write(each.result and each.result.contents.value or vim.inspect(each), "\\n")
  end
  vim.wait(place[4] and 60000 or 0, function() return #vim.diagnostic.get(0) > 0 end, 20)
  for _, each in ipairs(vim.diagnostic.get(0)) do
    io.write("! ", each.lnum + 1, " ", each.message, "\\n")
  end
end
vim.cmd("qa!")
"""


@pytest.mark.slow
@pytest.mark.skipif(NVIM is None, reason="Neovim is not installed")
def test_hovers_and_warnings_in_neovim(tmp_path: Path) -> None:
    command = tmp_path / "mlay"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m morello_layouts "$@"\n', "utf-8")
    command.chmod(0o755)
    lines = re.search(r"```lua\n(.*?)```", PAGE, re.DOTALL)
    assert lines is not None
    places = []
    for name, text, (line, column), words in FILES:
        (tmp_path / name).write_text(text, "utf-8")
        warns = str(any(word.startswith("!") for word in words)).lower()
        places.append(f'{{ "{name}", {line}, {column}, {warns} }}')
    script = tmp_path / "ask.lua"
    script.write_text(
        f"local is_new = vim.lsp.config ~= nil\nlocal places = {{ {', '.join(places)} }}\n"
        f"if is_new then\n{lines[1]}\nelse\n{OLDER}\nend\n{ASK}",
        "utf-8",
    )
    own = {f"XDG_{name}_HOME": str(tmp_path) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    paths = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [str(NVIM), "--headless", "-u", "NONE", "-c", f"luafile {script}"],
        stdin=subprocess.DEVNULL, cwd=tmp_path,
        env={**os.environ, **own, **paths}, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    shown = done.stdout + done.stderr
    parts = dict(part.split("\n", 1) for part in shown.split("== ")[1:])
    for name, _, _, words in FILES:
        for word in words:
            assert word in parts[name], (name, shown)
