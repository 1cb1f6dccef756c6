"""Cases from real use that no other test shows: where one stands, environments, paths that are gone, leases."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.past import claim_long_ago
from tests.cli.words import picture
from tests.helpers import Completed, Repo
from tests.verify.stage import Stage, succeed


def digest(repo: Repo) -> str:
    index = repo.git("rev-parse", "--path-format=absolute", "--git-path", "index")
    return hashlib.sha256(Path(index).read_bytes()).hexdigest()


def test_case_10_a_worktree_with_relative_paths_is_guarded(stage: Stage) -> None:
    tree = replace(stage.beta, path=stage.folder / "W")
    done = stage.beta.run("git", "worktree", "add", "-q", "--relative-paths", str(tree.path))
    if "relative-paths" in done.err:
        pytest.skip("this git has no relative worktrees; 2.48 and newer do")
    assert tree.coord_json("check", "a.txt", code=3)["resources"][0]["holder"] == "alpha"
    tree.write("a.txt", "mine\n")
    refused = tree.run("git", "commit", "-qam", "x")
    assert (refused.code, "  a.txt   alpha #1" in refused.err) == (1, True)


def test_case_16_from_the_top_from_below_and_from_elsewhere_the_path_is_the_same(stage: Stage) -> None:
    beta = stage.beta
    beta.git("config", "alias.mine", "coord claim --json")
    beta.git("config", "alias.through-sh", "!git coord claim --json")
    below, away = replace(beta, path=beta.path / "src"), replace(beta, path=stage.folder)
    ways: dict[str, tuple[Repo, tuple[str, ...]]] = {
        "top": (beta, ("git", "coord", "claim", "--json", "src/x.py")),
        "below": (below, ("git", "coord", "claim", "--json", "x.py")),
        "-C": (away, ("git", "-C", str(beta.path), "coord", "claim", "--json", "src/x.py")),
        "-C below": (away, ("git", "-C", str(below.path), "coord", "claim", "--json", "x.py")),
        "alias": (beta, ("git", "mine", "src/x.py")),
        "shell alias": (beta, ("git", "through-sh", "src/x.py")),
        "program": (below, ("git-coord", "claim", "--json", "x.py")),
    }
    for repo, line in ways.values():
        granted = json.loads(repo.run(*line, check=True).out)
        assert [item["path"] for item in granted["items"]] == ["src/x.py"], line
        assert beta.coord_json("release", "src/x.py")["ok"] is True


def test_case_16_nothing_is_claimed_by_a_command_that_fails(stage: Stage) -> None:
    below = replace(stage.beta, path=stage.beta.path / "src")
    before = picture(stage.beta)
    for line in (["x.py", "../../outside.txt"], ["x.py", ""], ["x.py", "--ttl", "0"]):
        assert below.coord_json("claim", *line, code=2)["code"] == "usage"
    assert below.coord_json("claim", "x.py", "../a.txt", code=3)["holder"] == "alpha"
    assert picture(stage.beta)["files"] == before["files"]
    assert stage.alpha.coord_json("claim", "src/x.py")["confirmed"] is True


@pytest.mark.parametrize("shape", ["worktree", "submodule"])
def test_case_19_what_runs_inside_a_hook_leaves_the_index_alone(stage: Stage, shape: str) -> None:
    place = _worktree(stage) if shape == "worktree" else _submodule(stage)
    place.write("b.txt", "mine\n")
    place.git("add", "b.txt")
    place.write("src/x.py", "not staged\n")
    place.git("status", "--porcelain")
    git_dir = place.git("rev-parse", "--absolute-git-dir")
    inside = place.with_env(GIT_DIR=git_dir, GIT_INDEX_FILE=f"{git_dir}/index", GIT_PREFIX="src/")
    before, shown = digest(place), place.git("status", "--porcelain")
    assert [item["path"] for item in inside.coord_json("claim", "d.txt")["items"]] == ["d.txt"]
    for line in (["sync"], ["status"], ["presence", "set", "busy"], ["post", "note"], ["release", "--all"], ["doctor"]):
        succeed(inside, *line)
    # Another repository, asked from inside the hook of this one, is the one that is asked.
    other = place.run("git", "-C", str(stage.alpha.path), "coord", "whoami", "--json", check=True)
    assert json.loads(other.out)["agent"] == "alpha"
    assert (digest(place), place.git("status", "--porcelain")) == (before, shown)
    assert place.run("git", "fsck", "--connectivity-only").code == 0


def _worktree(stage: Stage) -> Repo:
    tree = stage.beta.worktree("W", agent="gamma")
    succeed(tree, "init")
    return tree


def _submodule(stage: Stage) -> Repo:
    above = Repo(stage.folder / "above", stage.hub.env)
    stage.hub.git("init", "-q", str(above.path))
    above.git("submodule", "--quiet", "add", str(stage.hub.path), "lib")
    above.git("commit", "-q", "-m", "lib")
    lib = replace(above, path=above.path / "lib")
    succeed(lib, "init", "--agent", "gamma")
    succeed(lib, "hooks", "install")
    return lib


def test_case_20_a_path_that_is_gone_is_claimed_listed_and_released(stage: Stage) -> None:
    alpha = stage.alpha
    assert alpha.coord_json("claim", "future.txt")["items"][0]["blob"] is None
    alpha.git("rm", "-q", "a.txt")
    assert alpha.run("git", "commit", "-qm", "gone").code == 0
    shown = [item["path"] for claim in alpha.coord_json("status")["claims"] for item in claim["items"]]
    assert sorted(shown) == ["a.txt", "future.txt"]
    for path in ("a.txt", "future.txt"):
        assert alpha.coord_json("release", path)["confirmed"] is True
    assert alpha.coord_json("status")["claims"] == []


def commits(repo: Repo, path: str, text: str) -> Completed:
    repo.write(path, text)
    return repo.run("git", "commit", "-qm", "x", "--", path)


def test_case_39_the_holder_is_told_that_its_lease_is_over_and_claiming_again_leaves_one_record(repo: Repo) -> None:
    alpha, beta = (repo.with_env(GIT_COORD_AGENT=name) for name in ("alpha", "beta"))
    for one in (alpha, beta):
        succeed(one, "init")
    succeed(alpha, "hooks", "install")
    claim_long_ago(alpha, "README.md", ago=70, ttl=5)
    assert beta.coord("check", "README.md").code == 7
    refused = commits(beta, "README.md", "theirs\n")
    assert (refused.code, "your claim" in refused.err) == (1, False)
    done = commits(alpha, "README.md", "mine\n")
    assert (done.code, done.err.splitlines()[0], done.err.splitlines()[-2]) == (
        1,
        "git coord: commit refused, your claim has ended",
        "next    git coord renew README.md",
    )
    claimed = alpha.coord("claim", "README.md")
    assert (claimed.code, claimed.out.split()[0]) == (0, "#2")
    assert claimed.err.startswith("git coord: #1 README.md had ended ")
    assert commits(alpha, "README.md", "mine\n").code == 0
    (shown,) = alpha.coord_json("status")["claims"]
    assert (shown["token"], shown["holder_stale"], len(shown["items"])) == (2, False, 1)
