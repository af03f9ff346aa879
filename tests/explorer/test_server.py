"""The explorer over HTTP: what it serves, to whom, how much, and for how long."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner

from morello_layouts.core import limits
from morello_layouts.core.limits import EXPLORER_COMPARED, EXPLORER_STARTS, EXPLORER_TEXT
from morello_layouts.errors import LayoutError
from morello_layouts.interfaces.cli.main import commands
from morello_layouts.interfaces.explorer.server import HOST, Server, asked, link
from morello_layouts.interfaces.explorer.subject import Question
from morello_layouts.interfaces.explorer.worker import Worker
from tests.explorer.page import PATIENCE

# Formulas whose floors nest: more work than a request may take.
SLOW = "f32[100000,100000]{1,0:T" + "(3,7)(2,5)" * 20 + "}"


def get(
    server: Server, path: str, method: str = "GET", body: bytes | None = None, **headers: str
) -> tuple[HTTPResponse, bytes]:
    """A response and its body; headers with _ for -."""
    connection = HTTPConnection(HOST, server.port, timeout=2 * PATIENCE)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, named)
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def ask(server: Server, **fields: str) -> dict[str, Any]:
    """The answer to a question; unlike ``asked`` it waits for a busy machine."""
    found: dict[str, Any] = json.loads(get(server, f"/api/answer?{urlencode(fields)}")[1])
    return found


def test_an_answer_over_http(server: Server) -> None:
    response, body = get(server, f"/api/answer?{urlencode({'layout': 'f32[3,5]{1,0:T(2,2)}'})}")
    assert response.status == 200
    assert response.getheader("Content-Type") == "application/json; charset=utf-8"
    assert json.loads(body)["formula"]["simplified"] == "12*(d0//2) + 4*(d1//2) + 2*(d0%2) + d1%2"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html"),
        ("/explorer.js", "text/javascript"),
        ("/show.js", "text/javascript"),
        ("/explorer.css", "text/css"),
        ("/picture.js", "text/javascript"),
        ("/picture.css", "text/css"),
        ("/icon.svg", "image/svg+xml"),
        ("/presets.json", "application/json"),
    ],
)
def test_the_page_and_its_files(server: Server, path: str, kind: str) -> None:
    response, body = get(server, path)
    assert (response.status, response.getheader("Content-Type")) == (200, f"{kind}; charset=utf-8")
    assert body
    head, nothing = get(server, path, "HEAD")
    assert head.getheader("Content-Length") == str(len(body))
    assert nothing == b""


def test_the_page_loads_only_its_own_files(server: Server) -> None:
    page = get(server, "/")[1].decode()
    files = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert len(files) == 8
    for path in files:
        assert get(server, f"/{path}")[0].status == 200
    scripts = [get(server, f"/{path}")[1].decode() for path in files if path.endswith(".js")]
    for text in [page, *scripts]:
        assert not re.search(r"https?://(?!www\.w3\.org/(2000/svg|1998/Math))", text)
        assert "innerHTML" not in text
        assert "insertAdjacentHTML" not in text
        assert "eval(" not in text
    assert "<script>" not in page
    assert "style=" not in page


@pytest.mark.parametrize(
    "path", ["/", "/api/answer?layout=f32%5B3%5D", "/presets.json", "/nothing", "/show.js"]
)
def test_every_response_has_a_strict_policy(server: Server, path: str) -> None:
    headers = dict(get(server, path)[0].getheaders())
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Cache-Control"] == "no-store"
    assert not {"Set-Cookie", "Access-Control-Allow-Origin", "Server"} & headers.keys()


def test_it_listens_on_this_machine_only(server: Server) -> None:
    assert server._server.socket.getsockname()[0] == "127.0.0.1"
    with socket.socket() as elsewhere:
        elsewhere.settimeout(2)
        assert elsewhere.connect_ex(("127.0.0.2", server.port)) != 0


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("localhost", 200),
        ("LOCALHOST:9000", 200),  # names of hosts know no case
        ("localhost:9000", 200),  # a port that is forwarded
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example:80", 421),
        ("localhost:80@evil.example", 421),
        ("", 421),
    ],
)
def test_other_names_for_this_machine_are_refused(server: Server, host: str, status: int) -> None:
    """A foreign page may have its own name lead to 127.0.0.1, and would then read answers."""
    for path in ("/", "/api/answer?layout=f32"):
        assert get(server, path, Host=host)[0].status == status


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_methods_that_change_something_are_refused(server: Server, method: str) -> None:
    response, _ = get(server, "/api/answer", method)
    assert (response.status, response.getheader("Allow")) == (405, "GET, HEAD")


def test_foreign_pages_ask_nothing(server: Server) -> None:
    path = "/api/answer?layout=f32%5B3%5D"
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200)):
        assert get(server, path, Sec_Fetch_Site=site)[0].status == status
    assert get(server, "/", Sec_Fetch_Site="cross-site")[0].status == 200, "a link may lead here"
    own, another = f"http://127.0.0.1:{server.port}", "http://127.0.0.1.evil.example"
    for origin, status in ((own, 200), ("http://localhost", 200), (another, 403), ("null", 403)):
        assert get(server, path, Origin=origin)[0].status == status, origin


@pytest.mark.parametrize(
    "path",
    [
        "/../pyproject.toml",
        "/static/index.html",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/explorer.js/",
        "/api",
        "/server.py",
    ],
)
def test_other_files_are_not_served(server: Server, path: str) -> None:
    assert get(server, path)[0].status == 404


def test_long_requests_are_refused(server: Server) -> None:
    long = [(f"/api/answer?layout={'x' * 1_000_000}", "GET", None), ("/", "POST", b"x" * 1_000_000)]
    for path, method, body in long:
        # The server may close the connection before all has been sent.
        with suppress(BrokenPipeError, ConnectionResetError):
            response, _ = get(server, path, method, body)
            assert response.status in (405, 413, 414, 431)
    assert get(server, "/")[0].status == 200


def test_long_fields_get_an_error(server: Server) -> None:
    found = ask(server, layout="f32[2]", other="x" * (EXPLORER_TEXT + 1))
    assert [error["field"] for error in found["errors"]] == ["other"]
    assert "too long" in found["errors"][0]["what"]
    (error,) = ask(server, layout="x" * EXPLORER_TEXT)["errors"]
    assert error["what"] == "no notation has this text"
    script = get(server, "/explorer.js")[1].decode()
    limits = f"const LONGEST = {EXPLORER_TEXT}, MOST = {EXPLORER_COMPARED};"
    assert limits in script, "the page knows the limits"


@pytest.mark.parametrize(
    "query",
    [
        "layout=f32&layout=f33",
        "&".join(f"f{k}=x" for k in range(50)),
        "page=1",
        "layout=%FF%FE%00",
        "layout=f32%5B3%5D%00",
        "layout=%3Cimg%20src=x%20onerror=alert(1)%3E",
        "layout=%E2%80%AEf32%5B3%5D",
        "layout=" + "%28" * 3000,
        "&&&===",
        "",
    ],
)
def test_wrong_queries_get_an_error(server: Server, query: str) -> None:
    response, body = get(server, f"/api/answer?{query}")
    assert response.status == 200
    assert json.loads(body)["errors"][0]["what"]


def test_bytes_that_are_not_a_request_harm_nothing(server: Server) -> None:
    for text in (b"\x00\xff\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"\r\n" * 9):
        with socket.create_connection((HOST, server.port), timeout=PATIENCE) as raw:
            raw.sendall(text)
            raw.shutdown(socket.SHUT_WR)
            while raw.recv(4096):
                pass
    assert get(server, "/")[0].status == 200


@pytest.mark.slow
def test_work_without_end_is_ended_and_the_next_question_answered(hasty_server: Server) -> None:
    server = hasty_server
    first, spare = processes(server)
    found = ask(server, layout=SLOW)
    assert found["trouble"]["what"] == "the answer takes too long"
    assert found["trouble"]["why"] == "it took over 1 seconds of processor time, twice"
    assert not found.get("errors"), "it is no error of the layout"
    assert not {first, spare} & {*processes(server)}
    wait_for(lambda: not ask(server, layout="f32[3,5]{1,0:T(2,2)}")["errors"])


@pytest.mark.slow
def test_many_endless_questions_at_once_all_end(hasty_server: Server) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: ask(hasty_server, layout=SLOW), range(4)))
    assert {each["trouble"]["what"] for each in found} == {"the answer takes too long"}
    wait_for(lambda: not ask(hasty_server, layout="f32[3]")["errors"])


def test_a_question_without_a_sender_is_dropped(server: Server) -> None:
    with server.worker._lock:
        path = f"/api/answer?{urlencode({'layout': SLOW})}"
        with socket.create_connection((HOST, server.port), timeout=PATIENCE) as raw:
            raw.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            wait_for(lambda: any(each.requests for each in channels(server)))
        wait_for(lambda: not channels(server))
    before = processes(server)
    assert ask(server, layout="f32[3]")["errors"] == []
    assert processes(server) == before


def channels(server: Server) -> list[Any]:
    """The connections of a server."""
    return [each for each in list(server._channels.values()) if hasattr(each, "requests")]


def processes(server: Server) -> list[int]:
    """The process that answers and its spare."""
    return [process._popen.pid for process in server.worker._processes]


def test_connections_that_say_nothing_keep_nobody_waiting(server: Server) -> None:
    idle = [socket.create_connection((HOST, server.port), timeout=PATIENCE) for _ in range(60)]
    try:
        for k, each in enumerate(idle):
            each.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "[: k % 50])
        assert ask(server, layout="f32[3]")["errors"] == []
    finally:
        for each in idle:
            each.close()


@pytest.mark.parametrize("drop", [b"GET / HTTP/1.1\r\nX: " + b"x" * 99, b"\r\n" * 99])
def test_connections_that_drip_are_closed(drop: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A head has as long as silence has: else a few bytes a second hold all connections."""
    monkeypatch.setattr(limits, "EXPLORER_CONNECTIONS", 6)
    worker: Any = SimpleNamespace(ask=None, close=lambda: None)
    with Server(0, worker, idle=1).start() as server:
        slow = [socket.create_connection((HOST, server.port), timeout=PATIENCE) for _ in range(5)]
        ended, began = threading.Event(), time.monotonic()

        def drip() -> None:
            for byte in drop:
                for each in slow:
                    with suppress(OSError):
                        each.sendall(bytes([byte]))
                if ended.wait(0.2):
                    return

        with ThreadPoolExecutor(1) as dripping:
            dripping.submit(drip)
            try:
                assert get(server, "/icon.svg")[0].status == 200
                assert time.monotonic() - began < 0.2 * len(drop), "they dripped to the end"
            finally:
                ended.set()
                for each in slow:
                    each.close()


def test_a_request_in_pieces_is_answered(server: Server) -> None:
    with socket.create_connection((HOST, server.port), timeout=PATIENCE) as connection:
        for _ in range(2):  # the second over the same connection
            for part in (b"GET /icon.svg HTTP/1.1\r\n", b"Host: 127.0.0.1\r\n", b"\r\n"):
                connection.sendall(part)
                time.sleep(0.1)
            response = HTTPResponse(connection)
            response.begin()
            assert (response.status, response.read()[:4]) == (200, b"<svg")


def test_a_process_that_died_at_rest_is_replaced_before_it_is_asked(server: Server) -> None:
    first, spare = processes(server)
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: not server.worker._processes[0].is_alive())
    assert ask(server, layout="f32[3]")["errors"] == []
    assert processes(server)[0] == spare


@pytest.mark.slow
def test_a_process_that_dies_at_work_is_not_called_slow(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = server.worker._processes[0]
    os.kill(first._popen.pid, signal.SIGKILL)
    first._popen.wait()
    monkeypatch.setattr(first, "is_alive", lambda: True)  # as if it died a moment later
    error = ask(server, layout="f32[3]")["trouble"]
    assert error["what"] == "the worker process ended without an answer"
    assert ask(server, layout="f32[3]")["errors"] == []


def test_processes_that_cannot_load_are_told_and_not_started_for_ever(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = server.worker
    working = worker._processes
    made = type(working[0])
    monkeypatch.setattr(made, "is_alive", lambda _: True)  # it ends while it is asked
    monkeypatch.setattr(sys, "executable", shutil.which("false"))  # its exit status is 1
    worker._processes = [made(1), made(1)]
    found, last = [], []
    for _ in range(EXPLORER_STARTS + 3):
        found.append(ask(server, layout="f32[3]")["trouble"]["what"])
        last.append(worker._processes[-1])
    for process in worker._processes:
        process.end()
    worker._processes, worker._unstarted = working, 0
    assert found[0] == "the worker process ended without an answer"
    assert found[EXPLORER_STARTS:] == ["the explorer's worker processes cannot start"] * 3
    assert len({*map(id, last)}) == EXPLORER_STARTS, "no more are started"
    assert ask(server, layout="f32[3]")["errors"] == []


AT_WORK = """
import io, json
import morello_layouts.interfaces.explorer.answer as module
from morello_layouts.interfaces.explorer.engine import WARMING
from morello_layouts.interfaces.explorer.worker import work
kinds = {
    WARMING["layout"]: dict,
    "memory": lambda: bytearray(1 << 60),
    "deep": lambda: kinds["deep"](),
    "long": lambda: {"text": "x" * (17 << 20)},
    "fault": lambda: {}["nothing"],
    "fine": lambda: {"text": "x"},
}
def parts(question):
    yield {"first": 1}
    yield kinds[question["layout"]]()
module.parts = parts
questions = io.BytesIO(b"".join(json.dumps({"layout": k}).encode() + b"\\n" for k in kinds))
answers = io.BytesIO()
work(questions, answers, 60)
print(answers.getvalue().decode(), end="")
"""


@pytest.mark.slow
def test_a_process_outlives_faults_and_answers_too_large() -> None:
    run = subprocess.run(
        [sys.executable, "-c", AT_WORK],
        check=True,
        capture_output=True,
        text=True,
        timeout=5 * PATIENCE,
    )
    ready, *answers = run.stdout.removesuffix("\n\n").split("\n\n")
    assert ready.startswith("ready\n")
    both = [[json.loads(part) for part in answer.split("\n")] for answer in answers]
    assert [first for first, _ in both] == [{"first": 1}] * 5
    *wrong, fine = [last for _, last in both]
    assert [each["trouble"]["what"] for each in wrong] == [
        "the answer takes too much memory",
        "the answer takes too much memory",
        "the answer is too long to show",
        "the explorer failed at this text",
    ]
    assert fine == {"text": "x"}
    assert len(run.stdout) < 10_000
    assert "KeyError: 'nothing'" in run.stderr, "faults are logged"


def test_a_process_that_does_not_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(LayoutError, match="the explorer's worker process did not start"):
        Worker()


def wait_for(condition: Callable[[], bool]) -> None:
    """Look every 20 ms, up to some minutes, until a condition holds."""
    for _ in range(10_000):
        if condition():
            return
        time.sleep(0.02)
    pytest.fail("the condition did not come true")


@pytest.mark.slow
def test_questions_at_the_same_time_get_their_own_answers(server: Server) -> None:
    sizes = [k % 13 + 2 for k in range(40)]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda n: ask(server, layout=f"f32[3,{n}]"), sizes))
    assert [each["formula"]["simplified"] for each in found] == [f"{n}*d0 + d1" for n in sizes]


@pytest.mark.slow
def test_a_closed_worker_leaves_no_process() -> None:
    worker = Worker(PATIENCE)
    running = list(worker._processes)
    assert json.loads(worker.ask({"layout": "f32[3]"}))["errors"] == []
    worker.close()
    assert [process.is_alive() for process in running] == [False, False]
    error = json.loads(worker.ask({"layout": "f32[3]"}))["trouble"]
    assert error["what"] == "the question was withdrawn"


@pytest.mark.slow
def test_a_process_ends_at_its_deadline_by_itself() -> None:
    command = [sys.executable, "-m", "morello_layouts.interfaces.explorer.worker", "1"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.stdin.write(json.dumps({"layout": SLOW}).encode() + b"\n")
        process.stdin.flush()
        assert process.wait(PATIENCE) == -signal.SIGPROF
        assert process.stdout.read() == b""


def test_links_carry_a_question() -> None:
    assert link(80, Question("")) == "http://127.0.0.1:80/"
    assert link(80, Question("[1, 0]", shape="6x8", other="{1,0}")) == (
        "http://127.0.0.1:80/#layout=%5B1%2C+0%5D&shape=6x8&other=%7B1%2C0%7D"
    )


def test_a_port_that_is_taken(server: Server) -> None:
    with pytest.raises(LayoutError, match="cannot be used"):
        Server(server.port)
    run = CliRunner().invoke(commands, ["explore", "--check", "--port", str(server.port)])
    assert run.exit_code == 2
    assert run.stderr.startswith(f"port {server.port} of 127.0.0.1 cannot be used\n")


@pytest.mark.slow
def test_the_command_checks_itself() -> None:
    arguments = ["explore", "--check", "--port", "0", "--json", "[1, 0]", "--shape", "2x3"]
    run = CliRunner().invoke(commands, arguments, catch_exceptions=False)
    found = json.loads(run.stdout)
    assert (run.exit_code, found["answered"]) == (0, True)
    assert found["url"].endswith("/#layout=%5B1%2C+0%5D&shape=2x3")
    bad = CliRunner().invoke(commands, ["explore", "--check", "--port", "0", "f32[3"])
    assert (bad.exit_code, bad.stderr.splitlines()[0][:8]) == (2, "expected")


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupt_ends_the_command_and_its_processes(kind: signal.Signals) -> None:
    command = [sys.executable, "-m", "morello_layouts", "explore", "--no-browser", "--port", "0"]
    # A shell may start the tests with SIGINT ignored, which the command would inherit.
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as process:  # fmt: skip
        assert process.stdout is not None
        url = process.stdout.readline()
        port = int(re.findall(r":(\d+)/", url)[0])
        wait_for(lambda: not asked(port, Question("f32[3,5]"))["errors"])
        workers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(workers) == 2
        crowd = [socket.create_connection((HOST, port), timeout=PATIENCE) for _ in range(220)]
        for each in crowd:
            each.close()
        os.killpg(process.pid, kind)  # as a terminal does: to every process of its group
        _, errors = process.communicate(timeout=2 * PATIENCE)
        assert (process.returncode, errors) == (0 if kind is signal.SIGINT else -kind, "")
    wait_for(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))
