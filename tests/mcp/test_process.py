"""The installed program as hosts start it: its pipes, its end, its death, and what becomes of claims then."""

from __future__ import annotations

import os
import select
import signal
import sys
from pathlib import Path

import pytest

from tests.helpers import PATIENCE, Repo, until
from tests.mcp.desk import Server, greeting, message


def _claims(repo: Repo) -> list[list[str]]:
    return [[item["path"] for item in claim["items"]] for claim in repo.coord_json("status", "--local")["claims"]]


def test_the_end_of_input_is_exit_0_and_stdout_is_protocol_only(alone: Repo) -> None:
    server = Server(alone)
    server.say(b"\xff{]\n" + greeting() + b"{}\n")
    assert server.hear(1)["serverInfo"]["name"] == "git-coord"
    assert server.ask("claim_files", files=["a"])["ok"] is True
    server.say(message("tools/call", {"name": "status", "arguments": {}}, 9))  # at work when the client leaves
    code, out, _ = server.end()
    assert code == 0
    assert [line for line in out.splitlines() if not line.startswith(b'{"jsonrpc":"2.0"')] == []
    assert _claims(alone) == [["a"]]


DISCONNECTS = [("release", 1, "offline"), ("keep", 2, "online"), ("will", 2, "offline")]


@pytest.mark.parametrize(("how", "held", "state"), DISCONNECTS)
def test_what_happens_on_disconnect_is_as_configured(alone: Repo, how: str, held: int, state: str) -> None:
    alone.coord_json("claim", "before")
    alone.git("config", "coord.onEnd", how)
    server = Server(alone)
    assert server.ask("claim_files", files=["a"])["ok"] is True
    assert server.end()[0] == 0
    shown = alone.coord_json("status", "--local")
    assert len(shown["claims"]) == held
    alpha = next(each for each in shown["agents"] if each["agent"] == "alpha")
    assert alpha["state"] == state
    if how == "will":
        assert alpha["note"] == "disconnected, holds #1 #2 until the lease ends"


def test_the_option_counts_before_the_setting_and_a_wrong_setting_is_said(alone: Repo) -> None:
    alone.git("config", "coord.onEnd", "burn")
    one, two = Server(alone), Server(alone, "--on-disconnect", "release")
    assert one.ask("claim_files", files=["a"])["ok"] is True
    assert two.ask("claim_files", files=["b"])["ok"] is True
    code, _, err = one.end()
    assert code == 0
    assert b"coord.onEnd is 'burn', not release, keep, will or handover:AGENT" in err
    # Side by side, each gives back only what was claimed through it.
    assert two.end()[0] == 0
    assert _claims(alone) == [["a"]]


def test_claims_are_handed_over_and_an_agent_never_hands_over_to_itself(alone: Repo) -> None:
    alone.coord_json("claim", "before")
    one = Server(alone, "--on-disconnect", "handover:beta")
    assert one.ask("claim_files", files=["a"])["ok"] is True
    assert one.ask("claim_files", files=["b"], agent="beta")["ok"] is True
    assert one.end()[0] == 0
    shown = alone.coord_json("status", "--local")["claims"]
    assert {claim["agent"]: [item["path"] for item in claim["items"]] for claim in shown} == {
        "alpha": ["before"],
        "beta": ["a"],
    }


def test_what_cannot_be_handed_over_is_kept_and_said(alone: Repo) -> None:
    alone.git("config", "coord.onEnd", "handover:nobody")
    server = Server(alone)
    assert server.ask("claim_files", files=["a"])["ok"] is True
    code, _, err = server.end()
    assert code == 0
    assert b"no agent nobody has joined" in err
    assert _claims(alone) == [["a"]]
    alpha = next(each for each in alone.coord_json("status", "--local")["agents"] if each["agent"] == "alpha")
    assert (alpha["state"], alpha["note"]) == ("offline", "disconnected, holds #1 until the lease ends")
    wrong = alone.coord("mcp", "--on-disconnect", "handover:")
    assert (wrong.code, wrong.out) == (2, "")
    assert "'handover:' is not release, keep, will or handover:AGENT" in wrong.err


def test_a_last_will_is_what_others_are_told_then(alone: Repo) -> None:
    server = Server(alone)
    assert server.ask("set_presence", state="busy", will="ask gamma")["state"] == "busy"
    assert server.end()[0] == 0
    shown = alone.coord_json("presence")["agents"]
    assert [(each["state"], each["note"]) for each in shown if each["agent"] == "alpha"] == [("offline", "ask gamma")]


def test_sigterm_ends_it_in_order(alone: Repo) -> None:
    server = Server(alone, "--on-disconnect", "release")
    assert server.ask("claim_files", files=["a"])["ok"] is True
    server.process.send_signal(signal.SIGTERM)
    server.process.communicate(timeout=PATIENCE)
    assert server.process.returncode == 128 + signal.SIGTERM
    assert _claims(alone) == []


def test_a_killed_server_loses_nothing_and_the_next_goes_on(alone: Repo) -> None:
    server = Server(alone)
    assert server.ask("claim_files", files=["a"])["ok"] is True
    server.process.kill()
    server.process.communicate(timeout=PATIENCE)
    assert _claims(alone) == [["a"]]
    again = Server(alone)
    assert again.ask("check_files", files=["a"])["resources"][0]["status"] == "mine"
    assert again.end()[0] == 0


def test_a_beat_that_is_due_is_pushed_while_it_is_connected(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "a")
    folder = alpha.path / ".git/coord"
    old = f"1 {(folder / 'leases/alpha').read_text().split()[0]}\n"
    (folder / "beats/alpha").write_text(old)
    server = Server(alpha, "--on-disconnect", "keep")
    server.ask("who_am_i")
    _until_changed(folder / "beats/alpha", old)
    assert server.end()[0] == 0
    shown = beta.coord_json("presence")["agents"]
    assert [each["state"] for each in shown if each["agent"] == "alpha"] == ["online"]


def _until_changed(path: Path, before: str) -> None:
    until(lambda: path.read_text() != before)


def test_without_the_package_one_line_says_how_to_get_it(alone: Repo) -> None:
    script = "import sys; sys.modules['mcp'] = None; from git_coord.__main__ import main; main()"
    done = alone.run(sys.executable, "-c", script, "mcp")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines() == [
        "git coord: the MCP server needs the mcp package: pip install 'git-coord[mcp]'",
        "next   pipx inject git-coord 'mcp>=2.3,<3'",
    ]


def test_it_serves_also_where_nobody_is_set_up(repo: Repo) -> None:
    server = Server(repo)
    found = server.ask("status")
    assert (found["ok"], found["code"], found["next"]) == (False, "error", "git coord init")
    assert server.end()[0] == 0
    assert sorted(os.listdir(repo.path)) == [".git", "README.md"]
    assert repo.refs() == {"refs/heads/main": repo.rev("main")}


def test_it_ends_when_its_client_is_gone_although_somebody_holds_its_input_open(alone: Repo, tmp_path: Path) -> None:
    pipe, said = tmp_path / "pipe", tmp_path / "said"
    os.mkfifo(pipe)
    os.mkfifo(said)
    open_ends = [os.open(pipe, os.O_RDWR), os.open(said, os.O_RDWR)]
    # The shell is the client: it hears the greeting answered, and is gone.
    script = 'git-coord mcp <"$1" >"$2" & sed /serverInfo/q <"$2" >"$3"; echo $!'
    os.write(open_ends[0], greeting())
    number = int(alone.run("sh", "-c", script, "sh", str(pipe), str(said), os.devnull, check=True).out)
    waiter = select.poll()
    while _lives(number):
        waiter.poll(50)
    for end in open_ends:
        os.close(end)


def _lives(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
