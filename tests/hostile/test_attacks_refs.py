"""Refs nobody should push, thousands of them; a ledger that went back, seen by a clone without memory; odd files."""

from __future__ import annotations

import os

import pytest

from git_coord.crypto.record import open_record
from git_coord.errors import CoordError
from git_coord.service.files import CoordFiles
from git_coord.service.remembered import Remembered
from tests.hostile.attacker import CLAIMS
from tests.hostile.conftest import Arena

MANY = 10_000
ODD = (
    "refs/coord/unknown",
    "refs/coord/claimsX",
    "refs/coord/claims-2/x",
    "refs/coord/requests/UPPER",
    "refs/coord/requests/a/b",
    "refs/coord/presence/-x",
    "refs/coord/posts/" + "x" * 64,
    "refs/coord/policy/alpha",
    "refs/coord-local/seen",
    "refs/coord-remote/claims",
    "refs/coord-remote/requests/alpha",
    "refs/notes/coord/a/b",
    "refs/notes/coord/UPPER",
)


def test_refs_that_fit_no_rule_are_ignored_and_reported(arena: Arena) -> None:
    by = arena.mallory
    for ref in ODD:
        by.push(ref, by.head.oid)
    assert arena.alpha.coord_json("sync")["ok"] is True
    assert arena.alpha.coord_json("claim", "b.txt")["confirmed"] is True
    assert arena.holders(arena.alpha) == {"a.txt": "alpha", "b.txt": "alpha"}
    report = arena.alpha.coord("doctor").out
    for ref in ("claimsX", "claims-2/x", "requests/UPPER", "requests/a/b"):
        assert f"refs/coord-remote/{ref} fits no rule" in report
    assert arena.alpha.rev("refs/coord-local/seen") == arena.alpha.rev(CLAIMS)


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("where", ["requests/junk", "claims-junk", "other/junk"])
def test_ten_thousand_junk_refs_slow_nobody_down_for_long(arena: Arena, where: str) -> None:
    junk = arena.mallory.files({"0000000001": b"junk"})
    arena.mallory.push("refs/heads/junk", junk)
    lines = "".join(f"create refs/coord/{where}{n:05} {junk}\n" for n in range(MANY))
    arena.hub.git("update-ref", "--stdin", input=lines)
    arena.hub.git("pack-refs", "--all")
    assert arena.alpha.run("git", "coord", "sync", "--json").code == 0
    assert arena.alpha.run("git", "coord", "claim", "b.txt", "--json").code == 0
    assert arena.holders(arena.alpha) == {"a.txt": "alpha", "b.txt": "alpha"}


def _rewind(arena: Arena) -> tuple[str, str]:
    """Let the hub forget alpha's claim; return what it had and what it has."""
    before = arena.hub.rev(CLAIMS)
    after = arena.mallory.clone.rev(f"{before}~1")
    arena.hub.git("update-ref", CLAIMS, after)
    return before, after


def test_a_rewound_ledger_is_noticed_by_a_fresh_clone_when_anybody_signed_a_newer_head(arena: Arena) -> None:
    arena.alpha.coord_json("presence", "set", "busy")
    arena.alpha.coord_json("sync")
    before, after = _rewind(arena)
    answer = arena.fresh("ci").coord_json("verify", "HEAD..HEAD", code=6)
    assert (answer["code"], answer["agent"], answer["head"]) == ("untrusted", "alpha", before)
    assert arena.alpha.coord("sync").code == 0
    assert arena.hub.rev(f"{CLAIMS}~1") == before != after


def test_a_ledger_rewound_with_all_its_anchors_is_noticed_by_who_saw_more(arena: Arena) -> None:
    """What is promised and what not: a clone without memory cannot know, everybody else puts it right."""
    before, after = _rewind(arena)
    for ref in arena.hub.refs("refs/coord/requests", "refs/coord/presence", "refs/coord/posts", "refs/notes/coord"):
        arena.hub.git("update-ref", "-d", ref)
    assert arena.fresh("ci").coord_json("verify", "HEAD..HEAD")["violations"] == []
    assert arena.hub.rev(CLAIMS) == after
    assert "had gone back" in arena.beta.coord("sync").err
    assert arena.hub.rev(f"{CLAIMS}~1") == before


@pytest.mark.parametrize("pin", ["repo", "root"])
def test_a_ledger_begun_anew_is_noticed_by_a_fresh_clone_where_one_is_pinned(arena: Arena, pin: str) -> None:
    root = arena.alpha.git("rev-list", "--max-parents=0", CLAIMS)
    value = {"root": root, "repo": arena.alpha.coord_json("whoami")["repo"]}[pin]
    arena.alpha.commit("pin", **{".coord.toml": f"[ledger]\n{pin} = '{value}'\n"})
    arena.alpha.git("push", "-q", "--no-verify", "origin", "main")
    for ref in arena.hub.refs("refs/coord", "refs/notes/coord"):
        arena.hub.git("update-ref", "-d", ref)
    evil = arena.fresh("evil").with_env(XDG_STATE_HOME=str(arena.folder / "theirs"))
    evil.git("rm", "-q", ".coord.toml")
    assert evil.coord("init", "--agent", "evil").code == 0
    ci = arena.fresh("ci")
    assert ci.coord_json("verify", "HEAD..HEAD", code=6)["code"] == "untrusted"
    assert ci.coord_json("init", "--agent", "newcomer", code=6)["code"] == "untrusted"


def test_a_remembered_signature_vouches_for_no_other_record(arena: Arena) -> None:
    by = arena.mallory
    files = CoordFiles(str(arena.folder / "common"), str(arena.folder / "local"))
    good, other = by.sealed(by.cancel()), by.sealed(by.cancel(), by.new_key("other"))
    assert Remembered(files).open(good.record, 65536) == open_record(good.record, 65536)
    line, _, armor = good.record.partition(b"\n")
    for record in (line[:-1] + b" }\n" + armor, line + b"\n" + other.record.partition(b"\n")[2], good.record + b"\n"):
        with pytest.raises(CoordError):
            Remembered(files).open(record, 65536)


def test_what_a_rotated_key_signed_is_not_believed_though_its_signature_is_remembered(arena: Arena) -> None:
    arena.beta.coord_json("presence", "set", "draining", "-m", "before")
    arena.beta.coord_json("sync")
    old = arena.hub.rev("refs/coord/presence/beta")
    assert "before" in str(_presence_of_beta(arena))
    arena.beta.coord_json("rotate")
    arena.beta.coord_json("presence", "set", "busy", "-m", "after")
    arena.beta.coord_json("sync")
    assert "after" in str(_presence_of_beta(arena))
    arena.mallory.clone.git("fetch", "-q", "origin", "refs/coord/presence/beta")
    arena.hub.git("update-ref", "refs/coord/presence/beta", old)
    assert "before" not in str(_presence_of_beta(arena))


def _presence_of_beta(arena: Arena) -> dict[str, object]:
    for path in (arena.alpha.path / ".git/coord").glob("synced*"):
        path.unlink()
    rows = arena.alpha.coord_json("presence")["agents"]
    found: dict[str, object] = next(row for row in rows if row["agent"] == "beta")
    return found


@pytest.mark.parametrize("name", ["verified", "claims.snap", "session", "synced", "commits", "policy.snap"])
@pytest.mark.parametrize("kind", ["link", "dangling", "garbage", "folder", "pipe"])
def test_odd_files_among_our_own_are_read_as_nothing_and_never_written_through(
    arena: Arena, name: str, kind: str
) -> None:
    victim, path = arena.folder / "victim", arena.alpha.path / ".git/coord" / name
    victim.write_bytes(b"keep\n")
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    if kind in ("link", "dangling"):
        path.symlink_to(victim if kind == "link" else arena.folder / "nothing")
    elif kind == "garbage":
        path.write_bytes(b"\xff\x00" * 1000 + b"9" * 10_000)
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    done = arena.alpha.coord("claim", "b.txt")
    assert "Traceback" not in done.err
    assert arena.alpha.coord("status").code in (0, 1, 4)
    assert (victim.read_bytes(), (arena.folder / "nothing").exists()) == (b"keep\n", False)
