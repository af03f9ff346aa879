"""The explorer over HTTP: what it serves, to whom, how much, and for how long."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner

from morello_layouts.cli.main import commands
from morello_layouts.errors import LayoutError
from morello_layouts.explorer import worker as worker_module
from morello_layouts.explorer.question import LONGEST, Question
from morello_layouts.explorer.server import HOST, Server, asked, link
from morello_layouts.explorer.worker import Workers
from tests.explorer.conftest import PATIENCE

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
        ("/api/presets", "application/json"),
    ],
)
def test_the_page_and_its_files(server: Server, path: str, kind: str) -> None:
    response, body = get(server, path)
    assert (response.status, response.getheader("Content-Type")) == (200, f"{kind}; charset=utf-8")
    assert body
    head, nothing = get(server, path, "HEAD")
    assert head.getheader("Content-Length") == str(len(body))
    assert nothing == b""


def test_the_page_loads_its_own_files_alone(server: Server) -> None:
    page = get(server, "/")[1].decode()
    files = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert len(files) == 6
    for path in files:
        assert get(server, path)[0].status == 200
    scripts = [get(server, path)[1].decode() for path in files if path.endswith(".js")]
    for text in [page, *scripts]:
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
        assert "innerHTML" not in text
        assert "insertAdjacentHTML" not in text
        assert "eval(" not in text
    assert "<script>" not in page
    assert "style=" not in page


@pytest.mark.parametrize(
    "path", ["/", "/api/answer?layout=f32%5B3%5D", "/api/presets", "/nothing", "/show.js"]
)
def test_every_response_forbids_what_the_page_does_not_need(server: Server, path: str) -> None:
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


def test_it_listens_to_this_machine_alone(server: Server) -> None:
    assert server._server.socket.getsockname()[0] == "127.0.0.1"
    with socket.socket() as elsewhere:
        elsewhere.settimeout(2)
        assert elsewhere.connect_ex(("127.0.0.2", server.port)) != 0


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("localhost", 200),
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
def test_there_are_no_other_files(server: Server, path: str) -> None:
    assert get(server, path)[0].status == 404


def test_long_requests_are_refused(server: Server) -> None:
    long = [(f"/api/answer?layout={'x' * 1_000_000}", "GET", None), ("/", "POST", b"x" * 1_000_000)]
    for path, method, body in long:
        # The server may close the connection before all has been sent.
        with suppress(BrokenPipeError, ConnectionResetError):
            response, _ = get(server, path, method, body)
            assert response.status in (405, 413, 414, 431)
    assert get(server, "/")[0].status == 200


def test_long_fields_are_said_to_be_too_long(server: Server) -> None:
    found = ask(server, layout="f32[2]", other="x" * (LONGEST + 1))
    assert [error["field"] for error in found["errors"]] == ["other"]
    assert "too long" in found["errors"][0]["what"]
    assert ask(server, layout="x" * LONGEST)["errors"][0]["what"] == "no layout begins like this"


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
def test_queries_that_mean_nothing_are_told_so(server: Server, query: str) -> None:
    response, body = get(server, f"/api/answer?{query}")
    assert response.status == 200
    assert json.loads(body)["errors"][0]["what"]


def test_bytes_that_are_no_request_harm_nothing(server: Server) -> None:
    for text in (b"\x00\xff\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"\r\n" * 9):
        with socket.create_connection((HOST, server.port), timeout=PATIENCE) as raw:
            raw.sendall(text)
            raw.shutdown(socket.SHUT_WR)
            while raw.recv(4096):
                pass
    assert get(server, "/")[0].status == 200


@contextmanager
def all_processes_held(server: Server) -> Iterator[None]:
    """While this lasts, no process is free to answer."""
    held = [server.workers._free.get(timeout=PATIENCE) for _ in range(2)]
    try:
        yield
    finally:
        for worker in held:
            server.workers._free.put(worker)


@pytest.mark.slow
def test_work_without_end_is_ended_and_the_next_question_answered(hasty_server: Server) -> None:
    server = hasty_server
    before = {worker.process.pid for worker in server.workers._all}
    found = ask(server, layout=SLOW)
    assert found["errors"][0]["what"] == "the answer takes too long"
    wait_for(lambda: server.workers._free.qsize() == 2)
    after = {worker.process.pid for worker in server.workers._all}
    assert len(before & after) == 1, "one process was ended and replaced"
    wait_for(lambda: not ask(server, layout="f32[3,5]{1,0:T(2,2)}")["errors"])


@pytest.mark.slow
def test_many_endless_questions_at_once_all_end(hasty_server: Server) -> None:
    server = hasty_server
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: ask(server, layout=SLOW), range(8)))
    whats = {each["errors"][0]["what"] for each in found}
    assert "the answer takes too long" in whats
    assert whats <= {"the answer takes too long", "the explorer is busy"}
    wait_for(lambda: not ask(server, layout="f32[3]")["errors"])
    wait_for(lambda: server.workers._free.qsize() == 2)


@pytest.mark.slow
def test_a_question_that_no_process_is_free_for_is_told_to_come_again(server: Server) -> None:
    with all_processes_held(server):
        found = ask(server, layout="f32[3]")
    assert found["errors"][0]["what"] == "the explorer is busy"
    assert found["busy"] is True, "by which the page knows to ask again"
    assert ask(server, layout="f32[3]")["errors"] == []


@pytest.mark.slow
def test_a_crowd_is_answered_or_turned_away(hasty_server: Server) -> None:
    server = hasty_server
    with ThreadPoolExecutor(100) as pool:
        found = list(pool.map(lambda _: ask(server, layout=SLOW), range(100)))
    assert {each["errors"][0]["what"] for each in found} == {
        "the answer takes too long", "the explorer is busy",
    }  # fmt: skip
    wait_for(lambda: server.workers._free.qsize() == 2)


def test_connections_that_say_nothing_keep_nobody_waiting(server: Server) -> None:
    idle = [socket.create_connection((HOST, server.port), timeout=PATIENCE) for _ in range(60)]
    try:
        for k, each in enumerate(idle):
            each.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "[: k % 50])
        assert ask(server, layout="f32[3]")["errors"] == []
    finally:
        for each in idle:
            each.close()


def test_processes_that_died_at_rest_are_replaced_before_they_are_asked(server: Server) -> None:
    wait_for(lambda: server.workers._free.qsize() == 2)
    killed = {worker.process.pid for worker in server.workers._all}
    for worker in list(server.workers._all):
        os.kill(worker.process.pid or 0, signal.SIGKILL)
        worker.process.join(PATIENCE)
    answers = [ask(server, layout="f32[3]")]
    while answers[-1].get("busy") and len(answers) < 200:
        answers.append(ask(server, layout="f32[3]"))
    assert answers[-1]["errors"] == []
    assert all(each.get("busy") for each in answers[:-1]), "nobody meets a process that is dead"
    wait_for(lambda: server.workers._free.qsize() == 2)
    assert not killed & {worker.process.pid for worker in server.workers._all}


def test_a_process_that_dies_at_work_is_no_slow_one(server: Server) -> None:
    wait_for(lambda: server.workers._free.qsize() == 2)
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ask, server, layout=SLOW)
        wait_for(lambda: server.workers._free.qsize() == 1)
        (free,) = server.workers._free.queue
        (busy,) = (worker for worker in server.workers._all if worker is not free)
        os.kill(busy.process.pid or 0, signal.SIGKILL)
        (error,) = asking.result()["errors"]
    assert error["what"] == "the answer takes too much memory"
    wait_for(lambda: server.workers._free.qsize() == 2)


AT_WORK = """
import json, multiprocessing, threading
import morello_layouts.explorer.answer as module
from morello_layouts.explorer.worker import _work
kinds = {
    "five GiB": lambda: {"size": len(bytearray(5 << 30))},
    "one GiB": lambda: {"size": len(bytearray(1 << 30))},
    "deep": lambda: kinds["deep"](),
    "long": lambda: {"text": "x" * (17 << 20)},
    "fault": lambda: {}["nothing"],
}
module.answer = lambda question: kinds[question["layout"]]()
ours, theirs = multiprocessing.Pipe()
def ask():
    for kind in kinds:
        ours.send_bytes(json.dumps({"layout": kind}).encode())
        print(ours.recv_bytes().decode())
    ours.close()
threading.Thread(target=ask).start()
_work(theirs)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="address space is bounded there")
def test_a_process_bounds_memory_and_answers_and_outlives_faults() -> None:
    run = subprocess.run(
        [sys.executable, "-c", AT_WORK],
        check=True,
        capture_output=True,
        text=True,
        timeout=5 * PATIENCE,
    )
    five, one, deep, long, fault = map(json.loads, run.stdout.splitlines())
    assert one == {"size": 1 << 30}, "what is within the bound is answered, after what is not"
    whats = [each["errors"][0]["what"] for each in (five, deep, long, fault)]
    assert whats == [
        "the answer takes too much memory",
        "the answer takes too much memory",
        "the answer is too long to show",
        "the explorer failed at this text",
    ]
    assert len(run.stdout) < 10_000
    assert "KeyError: 'nothing'" in run.stderr, "faults are logged"


def test_processes_that_do_not_come_are_ended_and_said_to_be_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = set(multiprocessing.active_children())
    monkeypatch.setattr(worker_module, "_START_SECONDS", 0.0)
    with pytest.raises(LayoutError, match="no process could be started that answers"):
        Workers(1)
    assert set(multiprocessing.active_children()) <= before


def wait_for(condition: Callable[[], bool]) -> None:
    """Look every 20 ms, up to some minutes, until a condition holds."""
    for _ in range(10_000):
        if condition():
            return
        time.sleep(0.02)
    pytest.fail("it did not come to pass")


@pytest.mark.slow
def test_questions_at_the_same_time_get_their_own_answers(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "_WAIT_SECONDS", PATIENCE)
    sizes = [k % 13 + 2 for k in range(40)]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda n: ask(server, layout=f"f32[3,{n}]"), sizes))
    assert [each["formula"]["simplified"] for each in found] == [f"{n}*d0 + d1" for n in sizes]


def test_closed_workers_leave_no_process() -> None:
    with Workers(1) as workers:
        (worker,) = workers._all
        assert json.loads(workers.ask({"layout": "f32[3]"}))["errors"] == []
    assert not worker.process.is_alive()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "alarm"), reason="there are no alarms here")
def test_a_process_ends_even_where_its_server_is_no_more() -> None:
    endless = (
        "from morello_layouts.explorer.worker import _no_longer_than\n"
        "with _no_longer_than(1):\n    pass\n"
        "print('on', flush=True)\n"
        "with _no_longer_than(1):\n    while True:\n        pass"
    )
    run = subprocess.run(
        [sys.executable, "-c", endless], check=False, capture_output=True, timeout=2 * PATIENCE
    )
    assert (run.returncode, run.stdout) == (-signal.SIGALRM, b"on\n")


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
@pytest.mark.skipif(os.name != "posix", reason="interrupts are signals on POSIX")
def test_an_interrupt_ends_the_command_and_its_processes() -> None:
    command = [sys.executable, "-m", "morello_layouts", "explore", "--no-browser", "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline()
        port = int(re.findall(r":(\d+)/", url)[0])
        wait_for(lambda: not asked(port, Question("f32[3,5]"))["errors"])
        crowd = [socket.create_connection((HOST, port), timeout=PATIENCE) for _ in range(220)]
        for each in crowd:
            each.close()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to every process of it
        _, errors = process.communicate(timeout=2 * PATIENCE)
        assert (process.returncode, errors) == (0, "")
    wait_for(lambda: _is_gone(process.pid))


def _is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False
