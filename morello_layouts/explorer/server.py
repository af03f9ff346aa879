"""What a browser speaks to: the page, its files, and answers as JSON, on 127.0.0.1 alone."""

from __future__ import annotations

import json
import re
import select
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from importlib.resources import files
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from morello_layouts.errors import LayoutError
from morello_layouts.explorer.question import LONGEST, FieldError, Question, error_dict, presets
from morello_layouts.explorer.worker import Workers

HOST: Final = "127.0.0.1"

_THREADS: Final = 24  # more than questions that are worked on or wait, so that files need no wait
_CONNECTIONS: Final = 200  # most of them idle; fewer than files that a process may open anywhere
_LONGEST_HEADER: Final = 1 << 16  # bytes, with the question in its first line
_LONGEST_BODY: Final = 1 << 10
_IDLE_SECONDS: Final = 20

_FILES: Final = {
    "/": ("morello_layouts.explorer", "static/index.html", "text/html"),
    "/explorer.css": ("morello_layouts.explorer", "static/explorer.css", "text/css"),
    "/explorer.js": ("morello_layouts.explorer", "static/explorer.js", "text/javascript"),
    "/show.js": ("morello_layouts.explorer", "static/show.js", "text/javascript"),
    "/icon.svg": ("morello_layouts.explorer", "static/icon.svg", "image/svg+xml"),
    "/picture.css": ("morello_layouts.picture", "page.css", "text/css"),
    "/picture.js": ("morello_layouts.picture", "page.js", "text/javascript"),
}

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = (
    (
        "Content-Security-Policy",
        _POLICY,
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
)

# The names by which a browser on this machine calls it. Another name in the Host header means that
# a foreign page had its own name lead here.
_OWN_NAMES: Final = re.compile(r"(127\.0\.0\.1|localhost)(:[0-9]{1,5})?", re.ASCII)
_SAME_SITE: Final = {None, "same-origin", "none"}
_OWN_ORIGIN: Final = re.compile(rf"http://{_OWN_NAMES.pattern}", re.ASCII)

Environ = dict[str, Any]
StartResponse = Callable[[str, list[tuple[str, str]]], object]


@dataclass(frozen=True, slots=True)
class _Response:
    status: str
    kind: str
    body: bytes


class Application:
    """The explorer as a WSGI application.

    Args:
        ask: what answers a question, given its fields.
    """

    def __init__(self, ask: Callable[[dict[str, str]], bytes]) -> None:
        self._ask = ask
        self._files = {
            path: _Response("200 OK", kind, files(package).joinpath(name).read_bytes())
            for path, (package, name, kind) in _FILES.items()
        }
        body = json.dumps({"presets": presets(), "longest": LONGEST}).encode()
        self._files["/api/presets"] = _Response("200 OK", "application/json", body)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        response = self._response(environ)
        headers = [
            ("Content-Type", f"{response.kind}; charset=utf-8"),
            ("Content-Length", str(len(response.body))),
            *_HEADERS,
        ]
        if response.status.startswith("405"):
            headers.append(("Allow", "GET, HEAD"))
        start_response(response.status, headers)
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [response.body]

    def _response(self, environ: Environ) -> _Response:
        if _OWN_NAMES.fullmatch(environ.get("HTTP_HOST", "")) is None:
            return _plain("421 Misdirected Request", "this server answers to its own name alone")
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return _plain("405 Method Not Allowed", "this server answers GET")
        path = environ.get("PATH_INFO", "")
        if path == "/api/answer":
            return self._answer(environ)
        return self._files.get(path) or _plain("404 Not Found", "there is no such page")

    def _answer(self, environ: Environ) -> _Response:
        origin = environ.get("HTTP_ORIGIN")  # from browsers that do not name the site
        is_foreign = origin is not None and _OWN_ORIGIN.fullmatch(origin) is None
        if is_foreign or environ.get("HTTP_SEC_FETCH_SITE") not in _SAME_SITE:
            return _plain("403 Forbidden", "questions come from this server's own page")
        try:
            fields = _fields(environ.get("QUERY_STRING", ""))
            Question.of(fields)
        except FieldError as wrong:
            body = json.dumps({"errors": [error_dict(wrong)]}).encode()
            return _Response("200 OK", "application/json", body)
        return _Response("200 OK", "application/json", self._ask(fields))


def _fields(query: str) -> dict[str, str]:
    """The fields of a question, of which each is there once.

    >>> _fields("layout=f32%5B3%5D&shape=")
    {'layout': 'f32[3]', 'shape': ''}
    """
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=10, errors="replace")
    except ValueError:
        pairs = [("", "")] * 2
    if len({name for name, _ in pairs}) < len(pairs):
        raise FieldError(
            "layout",
            LayoutError("the question names a field twice, or too many", "each is there once", ""),
        )
    return dict(pairs)


def _plain(status: str, text: str) -> _Response:
    return _Response(status, "text/plain", f"{text}\n".encode())


def link(port: int, question: Question) -> str:
    """The address of the page with a question in it, which no server sees.

    >>> link(8765, Question("f32[3,5]"))
    'http://127.0.0.1:8765/#layout=f32%5B3%2C5%5D'
    """
    fields = {name: text for name, text in question.to_dict().items() if text}
    return f"http://{HOST}:{port}/{f'#{urlencode(fields)}' if fields else ''}"


class Server:
    """A running explorer: its processes, its port, and the loop that serves.

    Args:
        port: 0 for any that is free.
        workers: what answers; left out, two processes.

    Raises:
        LayoutError: where the port is taken.
    """

    def __init__(self, port: int = 0, workers: Workers | None = None) -> None:
        import waitress

        listening = _listening(port)
        self.port: int = listening.getsockname()[1]
        self.workers = Workers() if workers is None else workers
        self._channels: dict[int, Any] = {}
        self._server = waitress.create_server(
            Application(self.workers.ask),
            map=self._channels,
            sockets=[listening],
            threads=_THREADS,
            connection_limit=_CONNECTIONS,
            channel_timeout=_IDLE_SECONDS,
            cleanup_interval=5,
            max_request_header_size=_LONGEST_HEADER,
            max_request_body_size=_LONGEST_BODY,
            ident=None,
            asyncore_use_poll=hasattr(select, "poll"),
        )
        self._thread: threading.Thread | None = None

    def run(self) -> None:
        """Serve until an interrupt, or until :meth:`close` is called in another thread."""
        with suppress(KeyboardInterrupt, SystemExit):
            self._server.run()

    def start(self) -> Server:
        """Serve in another thread."""
        self._thread = threading.Thread(target=self.run, daemon=True)
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop serving and end the processes."""
        if self._thread is not None:
            # Its loop notices at once what is done in it, and only later what is done to it.
            self._server.trigger.pull_trigger(self._close_channels)
            self._thread.join()
            self._thread = None
        self._close_channels()
        self._server.task_dispatcher.shutdown()
        self.workers.close()

    def _close_channels(self) -> None:
        from waitress.wasyncore import close_all

        close_all(self._channels)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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
            "give another one with --port, or --port 0 for any that is free",
        ) from None
    return listening


def asked(port: int, question: Question) -> dict[str, Any]:
    """The answer of a server on this machine to a question, over HTTP as the page asks it.

    Raises:
        OSError: where no server answers there.
    """
    connection = HTTPConnection(HOST, port, timeout=10)
    try:
        fields = {name: text for name, text in question.to_dict().items() if text}
        connection.request("GET", f"/api/answer?{urlencode(fields)}")
        response = connection.getresponse()
        found: dict[str, Any] = json.loads(response.read())
        return found
    finally:
        connection.close()
