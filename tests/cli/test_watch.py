"""`git coord watch` as a process: what others do shows, it goes on from its cursor, and it ends cleanly."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_beats import is_fresh, make_late
from tests.cli.words import said
from tests.helpers import PATIENCE, Repo, until
from tests.watch.test_sinks import Receiver

"""How long a test waits for what must happen; it usually takes one."""


class Running:
    """A watch in the background; its output is read as it comes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.out = self.err = b""

    def until(self, is_there: Callable[[Running], bool]) -> None:
        """Read until something is there."""
        end = time.monotonic() + PATIENCE
        streams = {stream.fileno(): name for name in ("out", "err") if (stream := self._stream(name))}
        while not is_there(self):
            ready, _, _ = select.select(list(streams), [], [], 1)
            assert time.monotonic() < end, (self.out, self.err)
            for fd in ready:
                data = os.read(fd, 65536)
                setattr(self, streams[fd], getattr(self, streams[fd]) + data)
                if not data:
                    del streams[fd]

    def _stream(self, name: str) -> Any:
        return self.process.stdout if name == "out" else self.process.stderr

    def began(self) -> Running:
        """Wait until it watches."""
        self.until(lambda watch: b"watching" in watch.err)
        return self

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Return the events of a kind so far."""
        found = [json.loads(line) for line in self.out.decode("ascii").splitlines()]
        return [event for event in found if event["kind"] == kind]

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Signal it; return its status and everything it said."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=PATIENCE)
        self.out, self.err = self.out + out, self.err + err
        return self.process.returncode, self.err.decode()


@contextmanager
def watch(repo: Repo, *options: str) -> Iterator[Running]:
    """Run the program itself, not through git, so that signals are its own."""
    line = ["git-coord", "watch", *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        line, cwd=repo.path, env=repo.env, stdout=pipe, stderr=pipe, stdin=subprocess.DEVNULL
    ) as process:
        try:
            yield Running(process)
        finally:
            process.kill()


def test_what_others_do_shows_and_what_is_done_here_shows_without_the_remote(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    with watch(alpha, "--json", "--interval", "1s") as there, watch(beta, "--json", "--interval", "1h") as here:
        there.began()
        here.began()
        token = beta.coord_json("claim", "src", "-m", "why")["token"]
        for running in (here, there):
            running.until(lambda watch: bool(watch.events("claim.granted")))
            (event,) = running.events("claim.granted")
            expected = ("beta", token, "why", [{"path": "src", "intent": "edit"}])
            assert (event["agent"], event["token"], event["purpose"], event["items"]) == expected
        assert there.events("claim.granted")[0]["id"] == here.events("claim.granted")[0]["id"]
        assert there.end()[0] == here.end()[0] == 0


def test_once_reports_what_is_new_since_the_cursor_file_and_ends(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    line = ("watch", "--once", "--cursor-file", "../cursor")
    assert said(beta.coord(*line)) == (0, "", "")
    alpha.coord_json("claim", "a")
    alpha.coord_json("post", "hello \u00e9")
    alpha.coord_json("sync")
    code, out, err = said(beta.coord(*line))
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "<time>  claim.granted     #1 alpha claims a (edit)",
        '<time>  post.changed      post <id> of alpha is open: "hello \u00e9"',
    ]
    assert said(beta.coord(*line)) == (0, "", "")
    assert beta.coord("watch", "--once", "--since", "0").out.count("claim.granted") == 1


def test_a_printed_cursor_is_where_the_next_watch_begins(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    for name in ("a", "b"):
        alpha.coord_json("claim", name)
    out = beta.coord("watch", "--json", "--once", "--since", "0").out
    first, second = (json.loads(line) for line in out.splitlines())
    assert (first["ok"], second["items"][0]["path"]) == (True, "b")
    rest = beta.coord("watch", "--json", "--once", "--since", first["cursor"]).out
    assert [json.loads(line)["id"] for line in rest.splitlines()] == [second["id"]]


def test_each_event_is_handed_to_a_command_and_a_webhook_that_fails_at_first(
    pair: tuple[Repo, Repo], tmp_path: Path
) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "a")
    receiver = Receiver()
    receiver.answers = [503]
    line = f'cat >> {tmp_path}/in; echo "$GIT_COORD_EVENT_KIND $GIT_COORD_EVENT_ID" >> {tmp_path}/ids'
    done = beta.coord("watch", "--once", "--since", "3", "--exec", line, "--webhook", receiver.url, "--json")
    receiver.close()
    assert (done.code, done.err) == (0, "")
    event = json.loads(done.out)
    assert json.loads((tmp_path / "in").read_text()) == event
    assert (tmp_path / "ids").read_text() == f"claim.granted {event['id']}\n"
    assert receiver.got == [("/hook", event["id"], event)] * 2


@pytest.mark.slow  # five attempts take as long as they take
def test_an_event_that_no_webhook_took_is_sent_by_the_next_watch(pair: tuple[Repo, Repo], tmp_path: Path) -> None:
    alpha, beta = pair
    receiver = Receiver()
    line = ("watch", "--once", "--cursor-file", str(tmp_path / "cursor"), "--webhook", receiver.url)
    assert beta.coord(*line).code == 0
    alpha.coord_json("claim", "a")
    receiver.answers = [500] * 5
    done = beta.coord(*line)
    assert (done.code, done.err.splitlines()[0]) == (5, "git coord: the webhook does not take events: status 500")
    assert beta.coord(*line).code == 0
    receiver.close()
    assert [name for _, name, _ in receiver.got] == [receiver.got[0][1]] * 6


def test_a_remote_that_vanishes_is_said_once_and_the_watch_goes_on(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = trio
    with watch(beta, "--interval", "1s", "--json") as running:
        running.began()
        hub.path.rename(hub.path.parent / "away")
        running.until(lambda watch: b"going on with what is here" in watch.err)
        (hub.path.parent / "away").rename(hub.path)
        alpha.coord_json("claim", "a")
        running.until(lambda watch: bool(watch.events("claim.granted")))
        running.until(lambda watch: b"answers again" in watch.err)
        code, err = running.end()
        assert (code, err.count("going on with"), "Traceback" in err) == (0, 1, False)


@contextmanager
def silent_server() -> Iterator[tuple[str, socket.socket]]:
    """Listen on loopback and never say anything; yield the address and the socket."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE)
        yield f"git://127.0.0.1:{server.getsockname()[1]}/x", server


def test_a_remote_that_hangs_holds_up_nothing_for_long(alone: Repo) -> None:
    with silent_server() as (url, _):
        alone.git("remote", "add", "origin", url)
        alone.git("config", "coord.fetchTimeout", "1s")
        with watch(alone, "--json") as running:
            running.until(lambda watch: b"going on with what is here" in watch.err)
            running.began()
            alone.coord_json("post", "hello")
            running.until(lambda watch: bool(watch.events("post.changed")))
            assert running.end()[0] == 0


def test_it_ends_at_once_in_the_middle_of_a_fetch(alone: Repo) -> None:
    with silent_server() as (url, server):
        alone.git("remote", "add", "origin", url)
        alone.git("config", "coord.fetchTimeout", "10m")
        with watch(alone) as running:
            connection, _ = server.accept()
            with connection:
                assert running.end() == (0, "")


def test_after_a_kill_the_last_event_comes_again_with_the_same_id(alone: Repo, tmp_path: Path) -> None:
    line = f"cd {tmp_path}; echo $GIT_COORD_EVENT_ID >> ids; test -e go || {{ echo $$ > pid; sleep 600; }}"
    options = ("--cursor-file", str(tmp_path / "cursor"), "--exec", line)
    with watch(alone, *options) as running:
        running.began()
        alone.coord_json("claim", "a")
        running.until(lambda watch: b"claim.granted" in watch.out)
        until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
        running.process.kill()
        os.killpg(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    (tmp_path / "go").touch()
    assert alone.coord("watch", "--once", *options).code == 0
    first, second = (tmp_path / "ids").read_text().split()
    assert first == second
    assert alone.coord("watch", "--once", *options).out == ""


def test_a_ledger_that_is_not_believed_is_an_event(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, _, beta = trio
    tip = hub.git("rev-parse", "refs/coord/claims")
    bad = hub.git("commit-tree", "-p", tip, "-m", "evil \u202e", f"{tip}^{{tree}}")
    hub.git("update-ref", "refs/coord/claims", bad)
    with watch(beta, "--json", "--interval", "1s") as running:
        running.began()
        running.until(lambda watch: bool(watch.events("ledger.rejected")))
        (event,) = running.events("ledger.rejected")
        assert (event["commit"], event["next"]) == (bad, "git coord doctor --repair-ledger")
        assert running.end()[0] == 0


def test_tasks_that_are_blocked_and_lifted_are_events(alone: Repo) -> None:
    alone.coord_json("block", "task:E-1", "-m", "broken build")
    alone.coord_json("unblock", "task:E-1")
    out = alone.coord("watch", "--json", "--once", "--since", "2").out
    found = [json.loads(line) for line in out.splitlines()]
    assert [(event["kind"], event["message"], event["tasks"]) for event in found] == [
        ("task.blocked", "alpha blocks task:E-1", ["task:E-1"]),
        ("task.unblocked", "alpha unblocks task:E-1", ["task:E-1"]),
    ]


@contextmanager
def harness() -> Iterator[subprocess.Popen[bytes]]:
    """Yield a program that works as an agent, until it is killed."""
    with subprocess.Popen(["sleep", "600"]) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_watch_keeps_claims_alive_while_the_process_lives_for_which_it_beats(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "a")
    make_late(alpha)
    before = alpha.rev("refs/coord/presence/alpha")
    with harness() as program, watch(alpha, "--json", "--beat-for", str(program.pid)) as running:
        running.began()
        while not is_fresh(alpha):
            assert running.process.poll() is None
        beta.coord_json("presence")
        assert beta.rev("refs/coord-remote/presence/alpha") == alpha.rev("refs/coord/presence/alpha") != before
        program.kill()  # and nobody waits for it yet
        assert running.process.wait(PATIENCE) == 0
        running.until(lambda watch: watch.err.endswith(b"the process to beat for has ended, and so does this watch\n"))


def test_a_watch_that_was_left_running_keeps_no_claim_alive(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "a")
    with watch(alpha, "--json", "--interval", "1s") as running:
        running.began()
        make_late(alpha)
        beta.coord_json("claim", "b")
        running.until(lambda watch: bool(watch.events("claim.granted")))
        assert not is_fresh(alpha)


def test_without_a_remote_a_beat_is_a_line_in_a_file(alone: Repo) -> None:
    alone.coord_json("claim", "a")
    with watch(alone, "--beat-for", str(os.getpid())) as running:
        running.began()
        make_late(alone)
        while not is_fresh(alone):
            assert running.process.poll() is None
        assert running.end()[0] == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_it_without_a_word_too_much(alone: Repo, number: signal.Signals, code: int) -> None:
    with watch(alone) as running:
        ended, err = running.began().end(number)
        assert ended == code
        assert [line for line in err.splitlines() if "watching" not in line and "interrupted" not in line] in ([], [""])


def test_nobody_reading_ends_it_quietly(alone: Repo) -> None:
    with watch(alone) as running:
        running.began()
        assert running.process.stdout is not None
        running.process.stdout.close()
        alone.coord_json("claim", "a")
        assert running.process.wait(PATIENCE) == 1
        assert running.process.stderr is not None
        assert b"Traceback" not in running.process.stderr.read()


def test_it_ends_when_the_time_is_over(alone: Repo) -> None:
    done = alone.coord("watch", "--timeout", "1s")
    assert (done.code, done.out) == (0, "")
    assert done.err == "git coord: watching this repository, from ledger position 2; Ctrl-C ends it\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--since", "yesterday"], "'yesterday' is no cursor: a ledger position, or what watch printed"),
        (["--webhook", "file:///etc/passwd"], "--webhook takes an http or https address"),
        (["--interval", "9s"], "--interval is 9 s; hosts advise at least 10 s between requests"),
        (["--timeout", "soon"], "--timeout is 'soon', not a duration like 90s, 30m or 2h"),
        (["--beat-for", "1"], "--once ends at once, and beats for nobody: take --beat-for or --once"),
    ],
)
def test_what_cannot_be_watched_is_wrong_usage(alone: Repo, options: list[str], message: str) -> None:
    alone.git("remote", "add", "origin", "ssh://example.invalid/x")
    assert alone.coord_json("watch", "--once", *options, code=2)["message"] == message


def test_a_process_that_is_not_there_cannot_be_beaten_for(alone: Repo) -> None:
    done = alone.coord("watch", "--beat-for", "2147483647")
    assert (done.code, done.err.splitlines()[0]) == (2, "git coord: there is no process 2147483647 to beat for")


def test_words_of_others_are_escaped(alone: Repo) -> None:
    alone.coord_json("claim", "a\x1b[31m\u202e")
    out = alone.coord("watch", "--once", "--since", "2").out
    assert out.isascii()
    assert "\x1b" not in out
