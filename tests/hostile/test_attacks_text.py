"""Escape sequences, line breaks and direction marks in every name that others choose: no output has one raw."""

from __future__ import annotations

import unicodedata

import pytest

from tests.helpers import Completed, Repo
from tests.hostile.attacker import executable
from tests.hostile.conftest import Arena

EVIL = "x\x1b]0;pwned\x07\x1b[2J\u202e\u200b\x9b31m"
EVIL_REF = "x\u202e\u200b\u2066y\ufeff"
"""What git lets into the name of a ref: direction marks, but no control characters."""


def raw(done: Completed) -> str:
    """Return the control, direction and zero-width characters in what a command printed, newlines aside."""
    text = done.out + done.err
    return "".join(c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp"))


def test_the_check_sees_raw_characters() -> None:
    assert raw(Completed(0, EVIL + "\n", EVIL_REF)) == "\x1b\x07\x1b\u202e\u200b\x9b\u202e\u200b\u2066\ufeff"


@pytest.fixture
def dirty(arena: Arena) -> Arena:
    """Return the arena with hostile names everywhere; alpha is the one who looks."""
    by, path = arena.mallory, f"{EVIL}\nline.py"
    assert by.clone.coord("claim", path, f"{EVIL}-dir", f"task:{'x'}").code == 0
    by.push(f"refs/coord/{EVIL_REF}", by.head.oid)
    by.push(f"refs/coord/requests/{EVIL_REF}", by.head.oid)
    by.push(f"refs/coord/presence/{EVIL_REF}", by.head.oid)
    arena.alpha.coord_json("sync")
    arena.alpha.git("checkout", "-q", "-b", EVIL_REF)
    arena.alpha.write(path, "mine\n")
    arena.alpha.write("a.txt", "mine\n")
    return arena


COMMANDS = (
    ("check", EVIL, f"{EVIL}\nline.py"),
    ("claim", f"{EVIL}\nline.py", "b.txt"),
    ("claim", "--offline", f"{EVIL}-dir/below", "-m", EVIL),
    ("claim", f"{EVIL}-mine"),
    ("status",),
    ("status", "--all"),
    ("log",),
    ("presence",),
    ("preflight",),
    ("preflight", EVIL, f"{EVIL}\nline.py"),
    ("posts", "--for", EVIL),
    ("presence", "set", "busy", "-m", EVIL),
    ("post", "add", EVIL),
    ("posts",),
    ("renew", f"{EVIL}-mine"),
    ("release", f"{EVIL}\nline.py"),
    ("release", "a.txt"),
    ("release", "--all"),
    ("break", EVIL),
    ("doctor",),
    ("doctor", "--repair-ledger"),
    ("verify", EVIL),
    ("verify", EVIL_REF),
    ("whoami",),
    ("sync",),
    ("policy",),
    ("hooks", "status"),
    ("init", "--agent", EVIL),
    (EVIL,),
)


def test_no_command_prints_a_raw_control_character(dirty: Arena) -> None:
    shown = {command: raw(dirty.alpha.coord(*command)) for command in COMMANDS}
    assert {command: found for command, found in shown.items() if found} == {}


def test_json_is_ascii_and_one_line(dirty: Arena) -> None:
    for command in COMMANDS:
        done = dirty.alpha.coord(*command, "--json")
        assert (done.out.isascii(), done.out.count("\n"), raw(done)) in {(True, 1, ""), (True, 0, "")}, command


def test_hooks_print_no_raw_control_character(dirty: Arena) -> None:
    dirty.alpha.git("add", "-A")
    done = dirty.alpha.run("git", "-c", "core.quotePath=true", "commit", "-q", "-m", "x")
    assert (done.code, raw(done), "mallory" in done.err) == (1, "", True)
    dirty.alpha.git("commit", "-q", "--no-verify", "-m", "x")
    done = dirty.alpha.run("git", "push", "-q", "origin", f"HEAD:refs/heads/{EVIL_REF}")
    ours = "".join(line for line in done.err.splitlines(keepends=True) if EVIL_REF not in line)  # git's own words
    assert (done.code, raw(Completed(0, "", ours)), "mallory" in ours) == (1, "", True)


def test_the_ledgers_own_log_is_ascii(dirty: Arena) -> None:
    assert dirty.alpha.git("log", "--format=%B", "refs/coord/claims").isascii()


@pytest.mark.parametrize("where", ["hook", "remote", "team", "path", "session"])
def test_words_of_hosts_remotes_files_and_folders_are_escaped(arena: Arena, where: str) -> None:
    repo = _with_words(arena, where)
    shown = [
        repo.coord(verb, *more) for verb, *more in (("claim", "b.txt"), ("sync",), ("doctor",), ("check", "b.txt"))
    ]
    assert [raw(done) for done in shown] == [""] * 4
    assert where in ("path", "team") or max(done.code for done in shown) > 0


def _with_words(arena: Arena, where: str) -> Repo:
    repo = arena.alpha
    if where == "hook":
        script = "#!/bin/sh\nprintf 'no \\033[2J\\302\\233 \\342\\200\\256 entry\\n' >&2\nexit 1\n"
        executable(arena.hub.path / "hooks/pre-receive", script)
    elif where == "remote":
        repo.git("config", "coord.remote", EVIL)
    elif where == "team":
        repo.write(".coord.toml", f"[claims]\nrequired = ['\x1b{EVIL_REF}']\n")
    elif where == "session":
        return repo.with_env(GIT_COORD_SESSION=EVIL)
    else:
        moved = Repo(arena.folder / EVIL, repo.env)
        repo.path.rename(moved.path)
        return moved
    return repo


LOOKALIKES = ("\u0430lpha", "Alpha", "al\u200bpha", "alpha\u202e", "alpha ", "\uff41lpha", "alph\u00e0", "-alpha")


@pytest.mark.parametrize("name", LOOKALIKES, ids=ascii)
def test_names_that_look_like_anothers_cannot_be_taken(arena: Arena, name: str) -> None:
    done = arena.mallory.clone.coord("init", "--agent", name)
    assert (done.code, raw(done)) == (2, "")
    assert arena.mallory.clone.with_env(GIT_COORD_AGENT=name).coord("claim", "b.txt").code == 2
