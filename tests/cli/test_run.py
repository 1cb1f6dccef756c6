"""`git coord run`: what its command is given, how both end, and that nothing of it stays claimed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from git_coord.run.child import ending
from tests.cli.words import plain, said
from tests.helpers import PATIENCE, Repo, until

SHOW = 'echo "$GIT_COORD_AGENT $GIT_COORD_SESSION [$GIT_COORD_TOKENS]"'
BEATING = ("python", "python3")
"""What may be at work beside the command now and then."""
QUICK = ("coord.minTtl", "1s"), ("coord.clockSkew", "1s"), ("coord.freshness", "1s")


def held(repo: Repo) -> list[int | None]:
    return [claim["token"] for claim in repo.coord_json("status", "--local")["claims"]]


def last_reason(repo: Repo) -> str:
    """Return the reason of the release that the ledger placed last."""
    statement = repo.git("show", "refs/coord/claims:op/0000").splitlines()[0]
    return str(json.loads(statement)["reason"])


def state(repo: Repo, agent: str = "alpha") -> str:
    (found,) = [each for each in repo.coord_json("presence", "--local")["agents"] if each["agent"] == agent]
    return str(found["state"])


@contextmanager
def running(repo: Repo, *args: str) -> Iterator[subprocess.Popen[str]]:
    """Start `git coord run`; its command has begun when this yields, and says so itself by a first line."""
    process = subprocess.Popen(
        ["git", "coord", "run", *args],
        cwd=repo.path,
        env=repo.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE)


def tell(process: subprocess.Popen[str]) -> None:
    """Let a command that reads go on."""
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def beside(repo: Repo) -> Repo:
    """Return the same repository for beta, who has joined."""
    beta = repo.with_env(GIT_COORD_AGENT="beta")
    assert beta.coord("init").code == 0
    return beta


@pytest.mark.parametrize(
    ("script", "code", "reason"),
    [("exit 0", 0, "done"), ("exit 7", 7, "exit 7"), ("kill -TERM $$", 143, "killed by SIGTERM")],
)
def test_the_status_is_the_commands_and_the_reason_of_the_release(
    alone: Repo, script: str, code: int, reason: str
) -> None:
    done = alone.coord("run", "--claim", "a.txt", "--", "sh", "-c", script)
    assert (done.code, done.out) == (code, "")
    assert done.err.splitlines()[-1] == f"git coord: released #1 ({reason})"
    assert (held(alone), last_reason(alone), state(alone)) == ([], reason, "offline")
    assert list((alone.path / ".git/coord/runs").iterdir()) == []


def test_a_signal_without_a_name_has_a_number() -> None:
    assert ending(-signal.SIGKILL) == (137, "killed by SIGKILL")
    assert ending(-33) == (161, "killed by signal 33")


def test_the_command_knows_who_it_is_and_what_it_holds(alone: Repo) -> None:
    session = alone.coord_json("whoami")["session"]
    done = alone.coord("run", "--claim", "a.txt", "--claim", "task:E-1", "-m", "both", "--", "sh", "-c", SHOW)
    assert done.out == f"alpha {session} [1]\n"
    assert alone.coord("run", "sh", "-c", SHOW).out == f"alpha {session} []\n"
    beside(alone)
    assert alone.coord("run", "--agent", "beta", "--", "sh", "-c", SHOW).out.startswith("beta ")


def test_a_refused_claim_is_exit_3_and_the_command_is_not_run(alone: Repo) -> None:
    assert beside(alone).coord("claim", "a.txt").code == 0
    done = alone.coord("run", "--claim", "b.txt", "--claim", "a.txt", "--", "touch", "ran")
    assert (done.code, done.out.splitlines()[0]) == (3, "refused, nothing claimed")
    assert not (alone.path / "ran").exists()
    assert (held(alone), state(alone)) == ([1], "offline")
    refused = json.loads(alone.coord("run", "--json", "--claim", "a.txt", "--", "touch", "ran").out)
    assert (refused["code"], refused["holder"]) == ("conflict", "beta")


def test_a_command_that_is_not_there_holds_nothing_afterwards(alone: Repo) -> None:
    done = alone.coord("run", "--claim", "a.txt", "--", "no-such-command")
    assert (done.code, done.err.splitlines()[1:]) == (
        127,
        [
            "git coord: no-such-command cannot be run: No such file or directory",
            "git coord: released #1 (not started)",
        ],
    )
    alone.write("file", "text")
    assert alone.coord("run", "--", "./file").code == 126
    assert alone.coord("run", "--claim", "a.txt").code == 2
    assert held(alone) == []


def test_what_is_claimed_under_it_is_given_back_and_what_was_held_before_is_not(alone: Repo) -> None:
    assert alone.coord("claim", "before.txt").code == 0
    script = "git coord claim during.txt && git coord release first.txt && git coord claim again.txt"
    done = alone.coord("run", "--claim", "first.txt", "--claim", "again.txt", "--", "sh", "-c", script)
    assert done.code == 0, done
    assert done.err.splitlines()[-1] == "git coord: released #3 #4 (done)"
    assert held(alone) == [1]


def test_what_was_held_before_is_held_as_it_was_also_when_the_run_or_its_command_claims_it_again(alone: Repo) -> None:
    alone.coord_json("claim", "c.txt", "d/e.txt", "-m", "mine", "--ttl", "30m")
    alone.coord_json("claim", "r.txt", "--read", "-m", "I look")
    script = "git coord claim d/e.txt r.txt f.txt -m inner && git coord claim d/e.txt g.txt -m again"
    done = alone.coord(
        "run", "--claim", "c.txt", "--claim", "new.txt", "-m", "runs", "--ttl", "20s", "--", "sh", "-c", script
    )
    assert done.code == 0, done
    claims = alone.coord_json("status", "--local")["claims"]
    found = {
        item["path"]: (item["intent"], claim["purpose"], claim["ttl"]) for claim in claims for item in claim["items"]
    }
    assert found == {
        "c.txt": ("edit", "mine", 1800),
        "d/e.txt": ("edit", "mine", 1800),
        "r.txt": ("read", "I look", 7200),
    }
    assert list((alone.path / ".git/coord/runs").iterdir()) == []


def test_presence_is_as_it_was_before(alone: Repo) -> None:
    assert alone.coord("presence", "set", "draining", "-m", "soon gone").code == 0
    shown = alone.coord("run", "--claim", "a.txt", "--", "git", "coord", "presence", "--json", "--local")
    (during,) = json.loads(shown.out)["agents"]
    assert (during["state"], during["note"]) == ("busy", "runs git")
    (after,) = alone.coord_json("presence")["agents"]
    assert (after["state"], after["note"]) == ("draining", "soon gone")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1])
def test_signals_reach_the_command(alone: Repo, number: signal.Signals) -> None:
    script = f"trap 'exit 9' {number.name.removeprefix('SIG')}; echo begun; while :; do read x; done"
    with running(alone, "--claim", "a.txt", "--", "sh", "-c", script) as process:
        # `git` itself stands between: it is not asked, as a supervisor that knows our own process would not.
        os.kill(child_of(process.pid), number)
        assert process.wait(PATIENCE) == 9
    assert (held(alone), last_reason(alone)) == ([], "exit 9")


def states(*pids: int) -> list[str]:
    return [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in pids]


def test_it_is_stopped_and_continued_with_its_command(alone: Repo) -> None:
    with running(alone, "--claim", "a.txt", "--", "sh", "-c", "echo begun; read x; exit 5") as process:
        run = child_of(process.pid)
        both = run, child_of(run)
        os.kill(run, signal.SIGTSTP)
        until(lambda: states(*both) == ["T", "T"])
        os.kill(run, signal.SIGCONT)
        until(lambda: states(*both) == ["S", "S"])
        tell(process)
        assert process.wait(PATIENCE) == 5


def children(pid: int) -> list[str]:
    """Return the names of a process's children, `<defunct>` ones too."""
    found = subprocess.run(["ps", "-o", "args=", "--ppid", str(pid)], capture_output=True, text=True, check=True)
    return [os.path.basename(line.split()[0]) for line in found.stdout.splitlines()]


def child_of(pid: int) -> int:
    return int(subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=True).stdout.split()[0])


def shown(repo: Repo) -> tuple[str, str, str]:
    """Return what alpha's heartbeat says as it lies in its ref, whoever looks."""
    record = json.loads(repo.git("show", "refs/coord/presence/alpha:presence").splitlines()[0])
    return record["state"], record["note"], record["will"]


def test_a_run_that_is_killed_leaves_its_will_until_its_agents_next_command_finds_it(alone: Repo) -> None:
    beta = beside(alone)
    alone.coord_json("presence", "set", "draining", "-m", "soon gone")
    with running(alone, "--claim", "a.txt", "--", "sh", "-c", "echo begun; read x") as process:
        os.kill(child_of(process.pid), signal.SIGKILL)
        process.wait(PATIENCE)
        beta.coord_json("status")
        assert shown(alone) == ("busy", "runs sh", "cut off while it ran sh: what it holds ends with its lease")
        (row,) = [row for row in alone.coord_json("presence")["agents"] if row["agent"] == "alpha"]
        assert (row["state"], row["note"], row["will"]) == ("draining", "soon gone", "")
        until(lambda: "its command (process " in alone.coord("status").err)
        assert held(alone) == [1], "the command goes on"
    until(lambda: alone.coord("status", "--local").code == 0 and held(alone) == [])
    assert last_reason(alone) == "killed"
    assert shown(alone)[:2] == ("draining", "soon gone")
    assert not (alone.path / ".git/coord/running").exists()


def test_what_was_said_since_a_run_was_killed_is_shown_and_what_was_held_before_it_is_held(alone: Repo) -> None:
    alone.coord_json("claim", "a.txt", "-m", "mine")
    with running(
        alone, "--claim", "a.txt", "--claim", "b.txt", "--", "sh", "-c", "echo begun; exec sleep 600"
    ) as process:
        run = child_of(process.pid)
        os.killpg(child_of(run), signal.SIGKILL)
        os.kill(run, signal.SIGKILL)
        process.wait(PATIENCE)
    alone.coord_json("presence", "set", "dormant", "-m", "asleep")
    until(lambda: alone.coord("status", "--local").code == 0 and not (alone.path / ".git/coord/running").exists())
    (claim,) = alone.coord_json("status")["claims"]
    assert (claim["purpose"], [item["path"] for item in claim["items"]]) == ("mine", ["a.txt"])
    assert shown(alone)[:2] == ("dormant", "asleep")


def test_of_two_runs_the_one_that_is_left_is_shown_and_then_what_was_before_both(alone: Repo) -> None:
    alone.coord_json("presence", "set", "draining", "-m", "soon gone")
    with (
        running(alone, "--claim", "a.txt", "--", "sh", "-c", "echo begun; read x") as first,
        running(alone, "--claim", "b.txt", "--", "bash", "-c", "echo begun; read x") as second,
    ):
        tell(first)
        assert first.wait(PATIENCE) == 0
        assert shown(alone)[:2] == ("busy", "runs bash")
        tell(second)
        assert second.wait(PATIENCE) == 0
    assert shown(alone)[:2] == ("draining", "soon gone")


def on_terminal(repo: Repo, script: str, typed: bytes) -> tuple[int, bytes]:
    """Run a command on a terminal of its own, and type when it has begun; return status and what it wrote."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        ["setsid", "-c", "-w", "git-coord", "run", "--claim", "a.txt", "--", "sh", "-c", script],
        cwd=repo.path,
        env=repo.env,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    with suppress(OSError):  # what a terminal says when nobody has it open any more
        while b"begun" not in seen:
            seen += os.read(ours, 1024)
        os.write(ours, typed)
        while chunk := os.read(ours, 1024):
            seen += chunk
    os.close(ours)
    return process.wait(PATIENCE), seen


def test_on_a_terminal_the_command_reads_what_is_typed(alone: Repo) -> None:
    code, seen = on_terminal(alone, "echo begun; read x; echo got:$x", b"words\n")
    assert code == 0
    assert b"got:words" in seen
    assert held(alone) == []


def test_on_a_terminal_an_interrupt_means_the_command_once(alone: Repo) -> None:
    code, seen = on_terminal(alone, "trap 'echo once; exit 9' INT; echo begun; while :; do read x; done", b"\x03")
    assert (code, seen.count(b"once")) == (9, 1)
    assert (held(alone), last_reason(alone)) == ([], "exit 9")


@pytest.fixture
def quick(pair: tuple[Repo, Repo]) -> tuple[Repo, Repo]:
    """Return two clones that allow leases of seconds; alpha may break claims."""
    for repo in pair:
        for key, value in QUICK:
            repo.git("config", key, value)
    return pair


def test_a_lost_claim_stops_the_command_at_last_by_force(alone: Repo) -> None:
    beta = beside(alone)
    deaf = ("sh", "-c", "trap '' TERM; echo begun; while :; do read x; done")
    with running(beta, "--grace", "1s", "--claim", "a.txt", "--ttl", "15s", "--", *deaf) as process:
        assert alone.coord("break", "#1", "-m", "needed here").code == 0
        assert process.wait(PATIENCE) == 4
        assert process.stderr is not None
        err = process.stderr.read()
    (told,) = [plain(line) for line in err.splitlines() if "lost" in line]
    assert told == 'git coord: this command has lost #1 a.txt, broken by alpha <age> ago, "needed here"; it is stopped'
    assert held(alone) == []


def test_a_lost_claim_can_be_a_warning(alone: Repo) -> None:
    beta = beside(alone)
    patient = ("sh", "-c", "echo begun; read x; exit 5")
    with running(beta, "--on-lost", "warn", "--claim", "a.txt", "--ttl", "15s", "--", *patient) as process:
        assert alone.coord("break", "#1", "-m", "needed here").code == 0
        assert process.stderr is not None
        assert any(line.endswith("; it goes on\n") for line in process.stderr)
        tell(process)
        assert process.wait(PATIENCE) == 5


@pytest.mark.slow
def test_a_claim_that_is_lost_at_the_remote_is_noticed_with_the_next_beat(quick: tuple[Repo, Repo]) -> None:
    alpha, beta = quick
    with running(beta, "--claim", "a.txt", "--ttl", "20s", "--", "sh", "-c", "echo begun; read x") as process:
        assert alpha.coord("sync").code == 0
        assert alpha.coord("break", "#1", "-m", "needed here").code == 0
        assert process.wait(PATIENCE) == 4
        assert process.stderr is not None
        (told,) = [plain(line) for line in process.stderr.read().splitlines() if "lost" in line]
        words = 'this command has lost #1 a.txt, broken by alpha <age> ago, "needed here"; it is stopped'
        assert told == f"git coord: {words}"


def test_a_remote_that_goes_away_ends_what_can_be_vouched_for(quick: tuple[Repo, Repo]) -> None:
    alpha, _ = quick
    hub = alpha.path.parent / "hub.git"
    with running(alpha, "--claim", "a.txt", "--ttl", "3s", "--", "sh", "-c", "echo begun; read x") as process:
        hub.rename(hub.with_name("away.git"))
        assert process.wait(PATIENCE) == 4
        assert process.stderr is not None
        words = "this command has lost #1 a.txt, which can be vouched for no longer; it is stopped\n"
        assert process.stderr.read().count(words) == 1
    hub.with_name("away.git").rename(hub)
    assert alpha.coord("sync").code == 0
    assert held(alpha) == []


def test_what_nobody_can_vouch_for_any_more_is_looked_at_with_each_beat_and_not_all_the_time(
    quick: tuple[Repo, Repo],
) -> None:
    alpha, _ = quick
    hub = alpha.path.parent / "hub.git"
    wanted = ("--claim", "a.txt", "--ttl", "3s", "--on-lost", "warn")
    with running(alpha, *wanted, "--", "sh", "-c", "echo begun; read x") as process:
        hub.rename(hub.with_name("away.git"))
        assert process.stderr is not None
        lines = []
        for line in iter(process.stderr.readline, ""):
            lines.append(line)
            if "it goes on" in line:
                break
        assert ["Treat as lost" in line for line in lines].count(True) == 1
        begun, tried = time.monotonic(), {attempt(alpha)}
        while len(tried) < 4:
            tried.add(attempt(alpha))
            alpha.git("rev-parse", "HEAD")
        assert time.monotonic() - begun > 1.5  # a beat is tried once a second here
        hub.with_name("away.git").rename(hub)
        assert any("signs of life arrive again" in line for line in iter(process.stderr.readline, ""))
        tell(process)
        rest = process.stderr.read()
        assert process.wait(PATIENCE) == 0
        assert [word for word in ("Treat as lost", "did not arrive", "goes on") if word in rest] == []


def attempt(repo: Repo) -> str:
    return (repo.path / ".git/coord/beat.attempt").read_text()


def test_every_claim_that_is_lost_is_named_and_what_goes_on_is_told_of_the_next_one_too(alone: Repo) -> None:
    beta = beside(alone)
    patient = ("sh", "-c", "echo begun; git coord claim b.txt --ttl 6s >/dev/null; echo; read x")
    wanted = ("--on-lost", "warn", "--claim", "a.txt", "--ttl", "6s")
    with running(beta, *wanted, "--", *patient) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "\n"
        assert process.stderr is not None
        lines = (plain(line) for line in iter(process.stderr.readline, "") if "has lost" in line)
        for token, name in (("#1", "a.txt"), ("#2", "b.txt")):
            assert alone.coord("break", token, "-m", "needed").code == 0
            lost = f"{token} {name}, broken by alpha <age> ago"
            assert next(lines) == f'git coord: this command has lost {lost}, "needed"; it goes on\n'
        tell(process)
        assert process.wait(PATIENCE) == 0


def test_nothing_else_stays_while_the_command_works(alone: Repo) -> None:
    with running(alone, "--claim", "a.txt", "--", "sh", "-c", "echo begun; read x") as process:
        assert children(child_of(process.pid)) == ["sh"]
        tell(process)
        assert process.wait(PATIENCE) == 0


@pytest.mark.slow(20)
def test_beats_keep_a_claim_alive_far_beyond_its_lease(quick: tuple[Repo, Repo]) -> None:
    alpha, beta = quick
    with running(alpha, "--claim", "a.txt", "--ttl", "12s", "--", "sh", "-c", "echo begun; read x") as process:
        far_beyond = time.monotonic() + 20

        def is_still_held() -> bool:
            assert beta.coord("presence").code == 0
            assert beta.coord("check", "a.txt").code == 3
            return time.monotonic() > far_beyond

        until(is_still_held, pause=0.5)
        assert [row for row in children(child_of(process.pid)) if row not in BEATING] == ["sh"]
        tell(process)
        assert process.wait(PATIENCE) == 0
    assert beta.coord("check", "a.txt").code in (0, 3)
    assert beta.coord("sync").code == 0
    assert beta.coord("check", "a.txt").code == 0


def test_without_the_remote_it_runs_and_says_what_others_do_not_know(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, _ = trio
    hub.path.rename(hub.path.with_name("away.git"))
    done = alpha.coord("run", "--", "echo", "ran")
    assert (done.code, done.out) == (0, "ran\n")
    assert done.err.startswith("git coord: others are not told yet: origin: ")
    assert alpha.coord("run", "--claim", "a.txt", "--", "echo", "ran").out == ""
    done = alpha.coord("run", "--offline", "--claim", "a.txt", "--", "sh", "-c", SHOW)
    assert (done.code, done.out.split("[")[1]) == (0, "]\n")
    hub.path.with_name("away.git").rename(hub.path)
    assert alpha.coord("sync").code == 0
    assert held(alpha) == []


def test_one_push_carries_presence_and_claim_and_one_both_ends(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, _ = trio
    assert said(alpha.coord("run", "--claim", "a.txt", "--", "true"))[:2] == (0, "")
    refs = hub.refs("refs/coord")
    assert refs["refs/coord/presence/alpha"] == alpha.rev("refs/coord/presence/alpha")
    assert refs["refs/coord/claims"] == alpha.rev("refs/coord/claims")
    assert (held(alpha), state(alpha)) == ([], "offline")
