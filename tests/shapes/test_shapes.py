"""One story through every verb, hook and exchange, told in each shape a repository can have."""

from __future__ import annotations

import json
import os

import pytest

from tests.helpers import Repo
from tests.shapes.builders import HUGE, SHAPES
from tests.shapes.stage import Builder, Stage
from tests.shapes.world import ELSEWHERE, FREE, World

OURS = ("refs/coord", "refs/coord-remote", "refs/coord-local", "refs/notes/coord", "refs/coord-notes-remote")


@pytest.mark.slow
@pytest.mark.parametrize("build", SHAPES.values(), ids=SHAPES.keys())
def test_every_verb_works_in_this_shape(build: Builder, world: World) -> None:
    tell(build(world))


@pytest.mark.slow
@pytest.mark.parametrize("build", HUGE.values(), ids=HUGE.keys())
def test_every_verb_works_at_this_size(build: Builder, world: World) -> None:
    tell(build(world))


def tell(stage: Stage) -> None:
    """The story: each part asserts the whole of what it did."""
    before = settings(stage.desk), hooks(stage.desk)
    joins(stage)
    claims(stage)
    commits(stage)
    if stage.remote is not None:
        pushes(stage)
    takes_what_is_released(stage)
    leaves(stage)
    assert (settings(stage.desk), hooks(stage.desk)) == before


def joins(stage: Stage) -> None:
    done = stage.desk.coord_json("init", "--agent", "beta")
    told = {name: done[name] for name in ("agent", "remote", "ledger", "joined")}
    assert told == {"agent": "beta", "remote": stage.remote, "ledger": stage.ledger, "joined": True}
    stage.desk.coord_json("hooks", "install")


def claims(stage: Stage) -> None:
    desk = stage.desk
    granted = desk.coord_json("claim", FREE, ELSEWHERE)
    assert granted["confirmed"] is True
    assert {item["path"]: item.get("blob") for item in granted["items"]} == {
        path: blob_of(desk, path) for path in (FREE, ELSEWHERE)
    }
    refused = desk.coord_json("claim", stage.held, code=3)
    assert (refused["holder"], len(refused["conflicts"])) == ("alpha", 1)
    seen = desk.coord_json("check", stage.held, FREE, "none.txt", code=3)["resources"]
    assert [(row["status"], row["holder"]) for row in seen] == [("held", "alpha"), ("mine", "beta"), ("free", None)]
    assert stage.peer.coord_json("claim", FREE, code=3)["holder"] == "beta"


def commits(stage: Stage) -> None:
    desk = stage.desk
    before = head(desk)
    stage_change(desk, stage.held, "not mine\n")
    refused = desk.run("git", "commit", "-qm", "not mine")
    rows = [line for line in refused.err.splitlines() if "alpha #" in line]
    assert (refused.code, len(rows), head(desk)) == (1, 1, before), refused
    restore(desk, stage.held)
    stage_change(desk, FREE, "mine\n")
    allowed = desk.run("git", "commit", "-qm", "mine")
    assert (allowed.code, allowed.out, allowed.err) == (0, "", "")
    assert head(desk) != before
    if before is not None:
        assert verdict(desk, f"{before}..HEAD") == []


def pushes(stage: Stage) -> None:
    desk, remote = stage.desk, stage.remote
    assert remote is not None
    desk.git("push", "-q", remote, "HEAD:refs/heads/beta")
    there = stage.hub_heads()
    assert there["refs/heads/beta"] == head(desk)
    stage_change(desk, stage.held, "past the door\n")
    desk.git("commit", "-q", "--no-verify", "-m", "past the door")
    assert verdict(desk, "HEAD~1..HEAD") == [("alpha", stage.held)]
    refused = desk.run("git", "push", "-q", remote, "HEAD:refs/heads/beta")
    first = "git coord: push refused, 1 of 1 commit against a claim"
    assert (refused.code, refused.err.splitlines()[0], stage.hub_heads()) == (1, first, there), refused
    desk.git("reset", "-q", "--hard", "HEAD~1")


def takes_what_is_released(stage: Stage) -> None:
    desk = stage.desk
    assert stage.peer.coord("release", "--all").code == 0
    synced = desk.coord_json("sync")
    assert (synced["remote"], synced["lost"], synced["moved"]) == (stage.remote, [], stage.remote is not None)
    assert desk.coord_json("claim", stage.held)["confirmed"] is True
    stage_change(desk, stage.held, "mine now\n")
    desk.git("commit", "-qm", "mine now")
    shown = desk.coord_json("status")["claims"]
    assert {(claim["agent"], item["path"]) for claim in shown for item in claim["items"]} == {
        ("beta", path) for path in (FREE, ELSEWHERE, stage.held)
    }


def leaves(stage: Stage) -> None:
    desk = stage.desk
    assert desk.coord_json("deinit", code=1)["next"] == "git coord release --all"
    assert desk.coord_json("release", "--all")["confirmed"] is True
    found = desk.coord_json("doctor")["findings"]
    assert [row for row in found if row["level"] != "ok"] == []
    desk.coord_json("deinit")
    assert desk.run("git", "config", "--get-regexp", r"^coord\.").code == 1
    assert desk.refs(*OURS) == {}


def verdict(desk: Repo, span: str) -> list[tuple[str, str]]:
    """Return holder and path of each violation, and see that the exit status says the same."""
    done = desk.coord("verify", span, "--json")
    found = [(row["holder"], row["path"]) for row in json.loads(done.out)["violations"]]
    assert done.code == (3 if found else 0)
    return found


def settings(desk: Repo) -> list[str]:
    """Return everything that is configured here and is not ours, and where."""
    lines = desk.git("config", "--list", "--show-origin").splitlines()
    return [line for line in lines if not line.partition("\t")[2].startswith("coord.")]


def hooks(desk: Repo) -> dict[str, bytes]:
    folder = desk.path / desk.git("rev-parse", "--git-path", "hooks")
    return {name: (folder / name).read_bytes() for name in os.listdir(folder)} if folder.is_dir() else {}


def head(desk: Repo) -> str | None:
    return desk.run("git", "rev-parse", "-q", "--verify", "HEAD").out.strip() or None


def blob_of(desk: Repo, path: str) -> str | None:
    return desk.git("hash-object", path) if (desk.path / path).exists() else None


def stage_change(desk: Repo, path: str, text: str) -> None:
    """Stage a file under this very spelling, as it comes from a colleague whose file system tells cases apart."""
    desk.write(path, text)
    desk.git("-c", "core.ignoreCase=false", "add", "--", path)


def restore(desk: Repo, path: str) -> None:
    """Take a change out of the index and the worktree again."""
    if desk.run("git", "cat-file", "-e", f"HEAD:{path}").code == 0:
        desk.git("checkout", "-q", "HEAD", "--", path)
    else:
        desk.git("rm", "-q", "-f", "--", path)
