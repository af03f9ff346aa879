"""The language server: hovers, warnings and links, over standard input and output.

The text of a file is what the editor says it is. One that is too long for a message is read where
it lies, around the place that is asked about, so that it takes no memory. A worker process
answers, within a deadline, so that no text keeps the server from the next question.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import threading
from bisect import bisect_right
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, BinaryIO, Final
from urllib.parse import unquote

import morello_layouts.interfaces.explorer.server as explorer
from morello_layouts.core import limits
from morello_layouts.errors import UnsupportedError
from morello_layouts.interfaces.editor.occurrences import Span, around, questions
from morello_layouts.interfaces.explorer.subject import Question
from morello_layouts.interfaces.explorer.worker import Worker

if TYPE_CHECKING:
    from lsprotocol import types

EXPLORE: Final = "morello-layouts.explore"
"""The command that starts the explorer at a layout, and returns the address of its page."""
TOO_LONG: Final = "morello-layouts/tooLong"
_ENGINE: Final = "morello_layouts.interfaces.editor.engine"
_CHUNK: Final = 1 << 20
_NAME: Final = "morello-layouts"


class Messages:
    """A stream of messages without those that are too long: a short one says which file it was."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readline(self) -> bytes:
        return self._stream.readline(_CHUNK)

    def read(self, size: int) -> bytes:
        """Return the body of a message."""
        if size <= limits.EDITOR_MESSAGE:
            return self._stream.read(size)
        kept = [b"", b""]
        while size > 0 and (part := self._stream.read(min(size, _CHUNK))):
            size -= len(part)
            kept = [kept[0] or part, part]
        ends = b"\n".join(kept)
        uri = re.search(rb'"uri"\s*:\s*("(?:[^"\\]|\\.){1,4000}")', ends)
        number = re.search(rb'\A[^{]*\{[^{]{0,200}"id"\s*:\s*(\d+|"[^"]{1,200}")', ends)
        message = {"jsonrpc": "2.0", "method": TOO_LONG, "params": {"uri": None}}
        if uri is not None and b"didClose" not in ends[:200]:
            message["params"] = {"uri": json.loads(uri[1])}
        if number is not None:  # a request: no method has this name, which its answer says
            message |= {"id": json.loads(number[1]), "method": "a message that is too long"}
        return json.dumps(message).encode()


def read_near(path: Path, line: int) -> tuple[str, str]:
    """Return a few thousand characters of a file before a line, and from it on."""
    if not path.is_file():
        return "", ""
    with path.open("rb") as file:
        at = 0
        while line:
            part = file.read(_CHUNK)
            if not part:
                return "", ""
            lines = part.count(b"\n")
            if lines < line:
                at, line = at + len(part), line - lines
            else:
                at, line = at + len(b"\n".join(part.split(b"\n", line)[:line])) + 1, 0
        file.seek(max(0, at - limits.EXPLORER_TEXT))
        before = file.read(min(at, limits.EXPLORER_TEXT)).decode(errors="replace")
        return before, file.read(8 * limits.EXPLORER_TEXT).decode(errors="replace")


class Editor:
    """The answers to an editor's messages."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self._long: set[str] = set()  # files that are longer than a message may be
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._lines: dict[str, tuple[str, list[int]]] = {}  # texts, and where their lines begin
        self._explorer: explorer.Server | None = None
        # It starts while the editor does.
        self._worker = ThreadPoolExecutor(1).submit(Worker, limits.EXPLORER_SECONDS, _ENGINE)

    async def ask(self, field: str, question: Any) -> dict[str, Any]:
        """Return the worker's answer; a question that is cancelled while it waits is not asked."""
        fields, gone = {field: json.dumps(question)}, threading.Event()

        def answer() -> bytes:
            return self._worker.result().ask(fields, lambda: not gone.is_set())

        try:
            found: dict[str, Any] = json.loads(await asyncio.to_thread(answer))
            return found
        finally:
            gone.set()

    def _text(self, uri: str) -> str | None:
        """Return the text of an open file; None if it is too long, or not open."""
        document = self._document(uri)
        return None if document is None or uri in self._long else str(document.source)

    def _starts(self, uri: str, text: str) -> list[int]:
        """Return where the lines of a text begin, which is kept until the text changes."""
        if self._lines.get(uri, ("", []))[0] is not text:
            starts = [0, *(match.end() for match in re.finditer("\n", text))]
            self._lines[uri] = text, starts
        return self._lines[uri][1]

    def _range(self, uri: str, text: str, span: Span) -> types.Range:
        """Return lines and columns of a span, columns in the units of the editor."""
        from lsprotocol import types

        codec, starts = self._server.workspace.position_codec, self._starts(uri, text)
        found = []
        for at in (span.start, span.end):
            line = bisect_right(starts, at) - 1
            before = text[starts[line] : at]
            column = codec.client_num_units(before) if len(before) < _CHUNK else len(before)
            found.append(types.Position(line, column))
        return types.Range(*found)

    def _document(self, uri: str) -> Any:
        return self._server.workspace.text_documents.get(unquote(uri))

    async def _layout(
        self, uri: str, position: types.Position
    ) -> tuple[dict[str, Any], types.Range | None]:
        """Return what is told of the layout at a position, and where it stands."""
        from lsprotocol import types
        from pygls.uris import to_fs_path

        text = self._text(uri)
        codec = self._server.workspace.position_codec
        if text is None:
            before, after = await asyncio.to_thread(
                read_near, Path(to_fs_path(uri) or ""), position.line
            )
            near, start = before + after, len(before)
        else:
            starts = self._starts(uri, text)
            if position.line >= len(starts):
                return {}, None
            near, start = text, starts[position.line]
        line = near[start : start + 8 * limits.EXPLORER_TEXT].partition("\n")[0]
        unit = types.Position(0, position.character)
        column = codec.position_from_client_units([line], unit).character
        language = getattr(self._document(uri), "language_id", None)
        language = language or ("python" if uri.endswith(".py") else "")
        spans = around(near, start + column, language)
        if not spans:
            return {}, None
        found = await self.ask("spans", [[one.text, one.shape] for one in spans])
        if "place" not in found:
            return {}, None
        span = spans[found["place"]]
        return found, None if text is None else self._range(uri, text, span)

    async def hover(self, params: types.HoverParams) -> types.Hover | None:
        """Return title, sizes, formula and picture of the layout at a position."""
        from lsprotocol import types

        found, where = await self._layout(params.text_document.uri, params.position)
        if "text" not in found:
            return None
        text = "\n".join(filter(None, (found["text"], found.get("banks"))))
        markdown = types.MarkupContent(types.MarkupKind.Markdown, f"```text\n{text}\n```")
        return types.Hover(markdown, where)

    async def actions(self, params: types.CodeActionParams) -> list[types.CodeAction] | None:
        """Return the link to the explorer, if a layout stands at the beginning of a range."""
        from lsprotocol import types

        found, _ = await self._layout(params.text_document.uri, params.range.start)
        if "layout" not in found:
            return None
        title = "Open this layout in the explorer"
        asked = [found["layout"], found["shape"]]
        return [types.CodeAction(title, command=types.Command(title, EXPLORE, arguments=asked))]

    async def explore(self, layout: str, shape: str = "") -> str:
        """Start the explorer if it does not run, show it at a layout, and return its address."""
        from lsprotocol import types

        if self._explorer is None:
            worker = await asyncio.wrap_future(self._worker)
            self._explorer = explorer.Server(0, worker).start()
        link = explorer.link(self._explorer.port, Question(layout, shape))
        window = self._server.client_capabilities.window
        if window is not None and window.show_document is not None:
            shown = types.ShowDocumentParams(link, external=True)
            await self._server.window_show_document_async(shown)
        return link

    def opened(self, params: types.DidOpenTextDocumentParams) -> None:
        self._check(params.text_document.uri, 0)

    def changed(self, params: types.DidChangeTextDocumentParams) -> None:
        self._check(params.text_document.uri, limits.EDITOR_PAUSE)

    def closed(self, params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        self._long.discard(uri)
        self._lines.pop(uri, None)
        self._stop(uri)
        self._publish(uri, [])

    def too_long(self, params: Any) -> None:
        """Remember a file whose text was not read, and let go of an older text of it."""
        from lsprotocol import types

        uri = getattr(params, "uri", None)
        if uri is None:
            return
        self._stop(uri)
        self._long.add(uri)
        self._lines.pop(uri, None)
        self._server.workspace.put_text_document(types.TextDocumentItem(uri, "", 0, ""))
        self._publish(uri, [])
        words = f"{uri} is long: hovers read it as it is saved, and there are no warnings"
        self._server.window_log_message(types.LogMessageParams(types.MessageType.Info, words))

    def _stop(self, uri: str) -> None:
        if (task := self._tasks.pop(uri, None)) is not None:
            task.cancel()

    def _check(self, uri: str, pause: float) -> None:
        """Ask for the warnings of a file, instead of those that were asked for before."""
        self._stop(uri)
        if uri not in self._long:
            self._tasks[uri] = asyncio.get_running_loop().create_task(self._warn(uri, pause))

    async def _warn(self, uri: str, pause: float) -> None:
        from lsprotocol import types

        await asyncio.sleep(pause)
        text = self._text(uri)
        asked = [] if text is None else await asyncio.to_thread(questions, text)
        found: list[types.Diagnostic] = []
        for k in range(0, len(asked), limits.EDITOR_BATCH):
            batch = asked[k : k + limits.EDITOR_BATCH]
            told = await self.ask(
                "warnings",
                [[one.span.text, one.span.shape, one.access, one.places] for one in batch],
            )
            for j, question in enumerate(batch):
                if (words := told.get(str(j))) is not None:
                    kind = types.DiagnosticSeverity
                    severity = kind.Information if question.access == "column" else kind.Warning
                    where = self._range(uri, text or "", question.span)
                    found.append(types.Diagnostic(where, words, severity, source=_NAME))
        self._publish(uri, found)

    def _publish(self, uri: str, found: list[types.Diagnostic]) -> None:
        from lsprotocol import types

        told = types.PublishDiagnosticsParams(uri, found)
        self._server.text_document_publish_diagnostics(told)

    def close(self) -> None:
        if self._explorer is not None:
            self._explorer.close()
        self._worker.result().close()


def serve(version: str) -> None:
    """Serve an editor over standard input and output, until it says so or closes them."""
    try:
        from lsprotocol import types
        from pygls.lsp.server import LanguageServer
    except ImportError:
        raise UnsupportedError(
            "pygls is not installed",
            "it speaks with editors",
            'pip install "morello_layouts[editor]"',
        ) from None
    server: Any = LanguageServer(_NAME, version)
    editor = Editor(server)
    for name, method in (
        (types.TEXT_DOCUMENT_HOVER, editor.hover),
        (types.TEXT_DOCUMENT_CODE_ACTION, editor.actions),
        (types.TEXT_DOCUMENT_DID_OPEN, editor.opened),
        (types.TEXT_DOCUMENT_DID_CHANGE, editor.changed),
        (types.TEXT_DOCUMENT_DID_CLOSE, editor.closed),
        (TOO_LONG, editor.too_long),
    ):
        server.feature(name)(partial(method))  # pygls writes attributes on it
    server.command(EXPLORE)(partial(editor.explore))
    try:
        out = sys.stdout.buffer
        kept_open = SimpleNamespace(write=out.write, flush=out.flush, close=out.flush)
        server.start_io(Messages(sys.stdin.buffer), kept_open)
    finally:
        editor.close()
