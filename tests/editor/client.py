"""A client of the language server over pipes: JSON-RPC, made by hand."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

PATIENCE = 120  # seconds that a busy machine may take


class Client:
    """An editor, as the server sees it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process, self._number = process, 0
        self._told: queue.Queue[dict[str, Any]] = queue.Queue()
        self._kept: list[dict[str, Any]] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        while header := self.process.stdout.readline().lower():
            if header.startswith(b"content-length:"):
                size = int(header.partition(b":")[2])
            if not header.strip():
                self._told.put(json.loads(self.process.stdout.read(size)))

    def send(self, **message: Any) -> None:
        self.send_bytes(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def send_bytes(self, body: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def begin(self, method: str, **params: Any) -> int:
        self._number += 1
        self.send(id=self._number, method=method, params=params)
        return self._number

    def ask(self, method: str, **params: Any) -> Any:
        return self.answer(self.begin(method, **params))["result"]

    def answer(self, number: int) -> dict[str, Any]:
        return self._wait(lambda told: told.get("id") == number and "method" not in told)

    def told(self, method: str) -> Any:
        return self._wait(lambda told: told.get("method") == method)["params"]

    def _wait(self, is_meant: Any) -> dict[str, Any]:
        for k, told in enumerate(self._kept):
            if is_meant(told):
                return self._kept.pop(k)
        while not is_meant(told := self._told.get(timeout=PATIENCE)):
            self._kept.append(told)
        return told

    def tell(self, method: str, **params: Any) -> None:
        self.send(method=method, params=params)

    def open(self, uri: str, text: str, language: str = "plaintext") -> None:
        item = {"uri": uri, "languageId": language, "version": 1, "text": text}
        self.tell("textDocument/didOpen", textDocument=item)

    def change(self, uri: str, version: int, change: Any) -> None:
        document = {"uri": uri, "version": version}
        self.tell("textDocument/didChange", textDocument=document, contentChanges=[change])

    def hover(self, uri: str, line: int, character: int) -> Any:
        return self.answer(self.begin_hover(uri, line, character))["result"]

    def begin_hover(self, uri: str, line: int, character: int) -> int:
        place = {"line": line, "character": character}
        return self.begin("textDocument/hover", textDocument={"uri": uri}, position=place)

    def actions(self, uri: str, line: int, character: int) -> Any:
        place = {"line": line, "character": character}
        return self.ask(
            "textDocument/codeAction", textDocument={"uri": uri}, context={"diagnostics": []},
            range={"start": place, "end": place},
        )  # fmt: skip

    def memory(self) -> int:
        """The most bytes that the server's process has taken."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) << 10

    def processor_ms(self) -> int:
        """Milliseconds of work of the server and its workers."""
        found = 0
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                parts = path.read_text().rpartition(")")[2].split()
                if str(self.process.pid) in (path.parent.name, parts[1]):
                    found += int(parts[11]) + int(parts[12])
        return 1000 * found // os.sysconf("SC_CLK_TCK")


@contextmanager
def editor() -> Iterator[Client]:
    """A client of a server that runs as the command starts it."""
    command = [sys.executable, "-m", "morello_layouts", "lsp"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        client = Client(process)
        try:
            client.ask("initialize", processId=None, rootUri=None, capabilities={})
            client.tell("initialized")
            yield client
            client.ask("shutdown")
            client.tell("exit")
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
