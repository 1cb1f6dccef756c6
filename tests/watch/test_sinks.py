"""Sinks with a real receiver and real children: at least once, bounded waits, and nothing of ours on their output."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from git_coord.service.events import Event
from git_coord.watch import sinks
from git_coord.watch.sinks import Command, UndeliveredError, Webhook
from tests.service.scene import FakeClock

EVENT = Event("r-4-0", "claim.granted", 0, None, "#1", {})
PAYLOAD = {"id": "r-4-0", "kind": "claim.granted"}


class Receiver:
    """A web server on loopback that answers with the statuses it is given, then 204; it keeps what it got."""

    def __init__(self) -> None:
        self.answers: list[int] = []
        self.got: list[tuple[str, str, dict[str, Any]]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                receiver.got.append((self.path, self.headers["X-Git-Coord-Event"], body))
                self.send_response(receiver.answers.pop(0) if receiver.answers else 204)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST  # noqa: N815 - the name that http.server calls

            def log_message(self, *_args: object) -> None:
                """Say nothing."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def webhook(url: str, clock: FakeClock, said: list[str]) -> Webhook:
    return Webhook(url, clock, lambda: 1.0, said.append)


def test_an_event_is_posted_as_json_with_its_id(receiver: Receiver, clock: FakeClock) -> None:
    webhook(receiver.url, clock, []).send(EVENT, PAYLOAD)
    assert receiver.got == [("/hook", "r-4-0", PAYLOAD)]
    assert clock.steady == 0


def test_a_receiver_in_trouble_is_asked_again_with_the_same_id(receiver: Receiver, clock: FakeClock) -> None:
    receiver.answers = [500, 429, 503, 408]
    said: list[str] = []
    webhook(receiver.url, clock, said).send(EVENT, PAYLOAD)
    assert receiver.got == [("/hook", "r-4-0", PAYLOAD)] * 5
    assert (clock.steady, said) == (0.5 + 1 + 2 + 4, [])


def test_after_a_bounded_number_of_attempts_it_is_left_for_later(receiver: Receiver, clock: FakeClock) -> None:
    receiver.answers = [500] * 9
    with pytest.raises(UndeliveredError, match=r"^the webhook does not take events: status 500$"):
        webhook(receiver.url, clock, []).send(EVENT, PAYLOAD)
    assert len(receiver.got) == sinks.ATTEMPTS


def test_waits_differ_from_watch_to_watch(receiver: Receiver, clock: FakeClock) -> None:
    receiver.answers = [500]
    Webhook(receiver.url, clock, lambda: 0.0, print).send(EVENT, PAYLOAD)
    assert clock.steady == 0.25


@pytest.mark.parametrize("status", [302, 307, 400, 404, 410])
def test_a_final_refusal_is_said_and_not_repeated(receiver: Receiver, clock: FakeClock, status: int) -> None:
    receiver.answers = [status]
    said: list[str] = []
    webhook(receiver.url, clock, said).send(EVENT, PAYLOAD)
    assert said == [f"the webhook refuses event r-4-0: status {status}; going on without"]
    assert [path for path, _, _ in receiver.got] == ["/hook"], "and an event goes nowhere else"


def test_nobody_listening_is_left_for_later(clock: FakeClock) -> None:
    receiver = Receiver()
    receiver.close()
    with pytest.raises(UndeliveredError, match="refused"):
        webhook(receiver.url, clock, []).send(EVENT, PAYLOAD)


def test_a_command_gets_the_object_and_the_id(tmp_path: Any, capfd: pytest.CaptureFixture[str]) -> None:
    line = f'cat > {tmp_path}/in; echo "$GIT_COORD_EVENT_ID $GIT_COORD_EVENT_KIND $OWN"'
    Command(line, {"PATH": "/usr/bin:/bin", "OWN": "x"}, print).send(EVENT, PAYLOAD)
    assert json.loads((tmp_path / "in").read_text()) == PAYLOAD
    assert capfd.readouterr() == ("", "r-4-0 claim.granted x\n")


def test_a_command_that_fails_or_reads_nothing_is_run_once(tmp_path: Any) -> None:
    said: list[str] = []
    payload = {"text": "x" * 200_000}
    Command(f"echo ran >> {tmp_path}/ran; exec 0<&-; exit 3", {"PATH": "/usr/bin:/bin"}, said.append).send(
        EVENT, payload
    )
    assert (tmp_path / "ran").read_text() == "ran\n"
    assert said == ["--exec ended with status 3 at event r-4-0"]


def test_a_command_that_hangs_is_killed_with_its_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "EXEC_SECONDS", 0.2)
    said: list[str] = []
    Command("sleep 600 & wait", {"PATH": "/usr/bin:/bin"}, said.append).send(EVENT, PAYLOAD)
    assert said == ["--exec was killed after 0.2 s, at event r-4-0"]
