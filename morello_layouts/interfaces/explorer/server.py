"""The web server: the page, its files, and answers as JSON, on 127.0.0.1 only."""

from __future__ import annotations

import json
import re
import select
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from html import escape
from http.client import HTTPConnection
from importlib.resources import files
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from morello_layouts.core import limits
from morello_layouts.core.lazy import regex
from morello_layouts.errors import LayoutError
from morello_layouts.interfaces.explorer.subject import FieldError, Question, error_dict
from morello_layouts.interfaces.explorer.worker import Worker
from morello_layouts.interfaces.questions import every_question

HOST: Final = "127.0.0.1"

_OWN, _PICTURE = "morello_layouts.interfaces.explorer", "morello_layouts.outputs.picture"
FILES: Final = {
    "index.html": (_OWN, "static/index.html", "text/html"),
    "explorer.css": (_OWN, "static/explorer.css", "text/css"),
    "explorer.js": (_OWN, "static/explorer.js", "text/javascript"),
    "engine.js": (_OWN, "static/engine.js", "text/javascript"),
    "show.js": (_OWN, "static/show.js", "text/javascript"),
    "math.js": (_OWN, "static/math.js", "text/javascript"),
    "presets.json": (_OWN, "static/presets.json", "application/json"),
    "icon.svg": (_OWN, "static/icon.svg", "image/svg+xml"),
    "picture.css": (_PICTURE, "page.css", "text/css"),
    "picture.js": (_PICTURE, "page.js", "text/javascript"),
}
"""The page's files by their names in its address: package, path, type."""

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = (
    ("Content-Security-Policy", _POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
)

# Any other name in the Host header means that a foreign page let its own name lead to this machine.
_OWN_NAMES: Final = regex(r"(127\.0\.0\.1|localhost)(:[0-9]{1,5})?", re.ASCII | re.IGNORECASE)
_OWN_SITE: Final = {None, "same-origin", "none"}
_OWN_ORIGIN: Final = regex(rf"http://{_OWN_NAMES.pattern}", re.ASCII)

Environ = dict[str, Any]
StartResponse = Callable[[str, list[tuple[str, str]]], object]
Response = tuple[str, str, bytes]
"""A status, a media type and a body."""


def content(path: str) -> bytes:
    """Return a file of the page; a field's label shows the question that the field answers."""
    package, name, _ = FILES[path]
    found = files(package).joinpath(name).read_bytes()
    if path != "index.html":
        return found
    text = found.decode()
    for question in every_question():
        label = f'<label for="{question.field}"'
        text = text.replace(f"{label}>", f'{label} title="{escape(question.asks)}">')
    return text.encode()


class Application:
    """The explorer as a WSGI application.

    Args:
        ask: returns the answer to a question, given its fields and whether it is still wanted.
    """

    def __init__(self, ask: Callable[[dict[str, str], Callable[[], bool]], bytes]) -> None:
        self._ask = ask
        self._files = {
            f"/{path}": ("200 OK", kind, content(path)) for path, (*_, kind) in FILES.items()
        }
        self._files["/"] = self._files.pop("/index.html")

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        status, kind, body = self._response(environ)
        headers = [
            ("Content-Type", f"{kind}; charset=utf-8"),
            ("Content-Length", str(len(body))),
            *_HEADERS,
        ]
        if status.startswith("405"):
            headers.append(("Allow", "GET, HEAD"))
        start_response(status, headers)
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    def _response(self, environ: Environ) -> Response:
        if _OWN_NAMES.fullmatch(environ.get("HTTP_HOST", "")) is None:
            return _plain("421 Misdirected Request", "the host is not 127.0.0.1 or localhost")
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return _plain("405 Method Not Allowed", "this server answers GET only")
        path = environ.get("PATH_INFO", "")
        if path == "/api/answer":
            return self._answer(environ)
        return self._files.get(path) or _plain("404 Not Found", "this page does not exist")

    def _answer(self, environ: Environ) -> Response:
        origin = environ.get("HTTP_ORIGIN")  # from browsers that do not name the site
        is_foreign = origin is not None and _OWN_ORIGIN.fullmatch(origin) is None
        if is_foreign or environ.get("HTTP_SEC_FETCH_SITE") not in _OWN_SITE:
            return _plain("403 Forbidden", "only this server's own page may ask questions")
        has_gone = environ.get("waitress.client_disconnected", lambda: False)
        try:
            fields = _fields(environ.get("QUERY_STRING", ""))
            Question.of(fields)
            body = self._ask(fields, lambda: not has_gone())
        except FieldError as wrong:
            body = json.dumps({"errors": [error_dict(wrong)]}).encode()
        return "200 OK", "application/json", body


def _fields(query: str) -> dict[str, str]:
    """Return the fields of a question, each of which appears once.

    >>> _fields("layout=f32%5B3%5D&shape=")
    {'layout': 'f32[3]', 'shape': ''}
    """
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=10, errors="replace")
    except ValueError:
        pairs = [("", "")] * 2
    if len({name for name, _ in pairs}) < len(pairs):
        error = LayoutError(
            "the question has too many fields",
            "each field appears at most once",
            "send each field once, at most 10 of them",
        )
        raise FieldError("layout", error)
    return dict(pairs)


def _plain(status: str, text: str) -> Response:
    return status, "text/plain", f"{text}\n".encode()


def link(port: int, question: Question) -> str:
    """Return the address of the page with a question in its fragment, which no server sees.

    >>> link(8765, Question("f32[3,5]"))
    'http://127.0.0.1:8765/#layout=f32%5B3%2C5%5D'
    """
    fields = urlencode(question.filled())
    return f"http://{HOST}:{port}/{f'#{fields}' if fields else ''}"


class Server:
    """A running explorer: its worker process, its port, and the loop that serves.

    Args:
        port: 0 for any free port.
        worker: answers the questions; a new one by default.
        idle: seconds of silence, and of a request from its first byte to its last, after which a
            connection is closed.
    """

    def __init__(
        self, port: int = 0, worker: Worker | None = None, idle: int = limits.EXPLORER_IDLE
    ) -> None:
        import waitress

        listening = _listening(port)
        self.port: int = listening.getsockname()[1]
        self.worker = Worker() if worker is None else worker
        self._channels: dict[int, Any] = {}
        self._server = waitress.create_server(
            Application(self.worker.ask),
            map=self._channels,
            sockets=[listening],
            threads=limits.EXPLORER_THREADS,
            connection_limit=limits.EXPLORER_CONNECTIONS,
            channel_timeout=idle,
            channel_request_lookahead=1,  # by which it notices that a browser asks no longer
            cleanup_interval=1,
            max_request_header_size=limits.EXPLORER_HEADER,
            max_request_body_size=1,  # a GET has none
            ident=None,
            asyncore_use_poll=hasattr(select, "poll"),
        )
        self._server.channel_class = _channel_class()
        self._thread: threading.Thread | None = None

    def run(self) -> None:
        """Serve until an interrupt, or until :meth:`close` is called in another thread."""
        with suppress(KeyboardInterrupt, SystemExit):
            self._server.run()

    def start(self) -> Server:
        self._thread = threading.Thread(target=self.run, daemon=True)
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop serving and end the worker."""
        if self._thread is not None:
            # The loop waits for events: only the trigger makes it act at once. If the loop is
            # awake, it may have closed the trigger, too, before it is pulled.
            with suppress(OSError):
                self._server.trigger.pull_trigger(self._close_channels)
            self._thread.join()
            self._thread = None
        self._close_channels()
        self._server.task_dispatcher.shutdown()
        self.worker.close()

    def _close_channels(self) -> None:
        from waitress.wasyncore import close_all

        close_all(self._channels)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _channel_class() -> Any:
    """Return waitress's connection, but a request that comes byte by byte counts as silence."""
    from waitress.channel import HTTPChannel

    class Channel(HTTPChannel):  # type: ignore[misc]
        since: float = 0  # when the first byte came after the last whole request
        last_activity: float

        def received(self, data: bytes) -> Any:
            found = super().received(data)
            self.since = 0 if self.requests else self.since or self.last_activity
            self.last_activity = self.since or self.last_activity
            return found

    return Channel


def _listening(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise LayoutError(
            f"port {port} of {HOST} cannot be used",
            str(error),
            "give another port with --port, or --port 0 for any free one",
        ) from None
    return listening


def asked(port: int, question: Question) -> dict[str, Any]:
    """Return a server's answer to a question, over HTTP as the page asks it."""
    with closing(HTTPConnection(HOST, port, timeout=limits.EXPLORER_PATIENCE)) as connection:
        connection.request("GET", f"/api/answer?{urlencode(question.filled())}")
        found: dict[str, Any] = json.loads(connection.getresponse().read())
        return found
