"""Every shape a repository comes in: detached, orphan, bare, many worktrees, a remote of another name."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.cli.words import plain, said
from tests.helpers import Repo, new_repo

AGENT_REF = re.compile(r"refs/coord(-remote)?/(requests|presence|posts)/[a-z0-9][a-z0-9._-]*")
OTHER_REFS = {"refs/coord/claims", "refs/coord-remote/claims", "refs/coord-local/seen"}


@pytest.mark.parametrize(
    "line",
    [
        ["checkout", "-q", "--detach"],
        ["checkout", "-q", "--orphan", "new"],
        ["checkout", "-q", "-b", "a b/ü".replace(" ", "-")],
    ],
    ids=["detached", "orphan", "branch"],
)
def test_where_head_stands_does_not_matter(pair: tuple[Repo, Repo], line: list[str]) -> None:
    alpha, beta = pair
    alpha.git(*line)
    assert alpha.coord_json("claim", "README.md")["confirmed"] is True
    assert beta.coord_json("claim", "README.md", code=3)["holder"] == "alpha"
    assert alpha.coord_json("release", "README.md")["confirmed"] is True


def test_in_the_middle_of_a_rebase_claims_work(alone: Repo) -> None:
    alone.commit("two", a="1\n")
    done = alone.with_env(GIT_SEQUENCE_EDITOR="sed -i s/pick/edit/").run("git", "rebase", "-i", "HEAD~1")
    assert done.code == 0
    assert (alone.path / ".git/rebase-merge").is_dir()
    assert alone.coord_json("claim", "a")["token"] == 1


def test_the_only_remote_may_have_any_name(trio: tuple[Repo, Repo, Repo]) -> None:
    _, alpha, beta = trio
    alpha.git("remote", "rename", "origin", "upstream")
    alpha.coord_json("claim", "a")
    assert re.search(r"^as of \d+ s ago, upstream$", alpha.coord("status").out, re.MULTILINE)
    assert beta.coord_json("claim", "a", code=3)["holder"] == "alpha"


def test_of_two_remotes_the_chosen_one_has_the_ledger(trio: tuple[Repo, Repo, Repo], tmp_path: Path) -> None:
    hub, alpha, _ = trio
    other = new_repo(tmp_path / "other.git", alpha.env, "--bare")
    alpha.git("remote", "add", "fork", str(other.path))
    alpha.git("config", "coord.remote", "origin")
    alpha.coord_json("claim", "a")
    assert hub.rev("refs/coord/claims") == alpha.rev("refs/coord/claims")
    assert other.refs("refs/coord") == {}


def test_a_remote_may_be_left_out_on_purpose(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, _ = trio
    before = hub.refs()
    alpha.git("config", "coord.remote", ".")
    assert alpha.coord_json("claim", "a")["confirmed"] is True
    assert said(alpha.coord("sync")) == (0, "no remote, nothing to exchange\n", "")
    assert hub.refs() == before


def test_the_claims_of_a_pruned_worktree_stay_until_somebody_ends_them(alone: Repo) -> None:
    other = alone.worktree("other", agent="beta")
    assert other.coord("init").code == 0
    other.coord_json("claim", "a")
    shutil.rmtree(other.path)
    alone.git("worktree", "prune")
    assert alone.coord_json("check", "a", code=3)["resources"][0]["holder"] == "beta"
    assert said(alone.coord("break", "#1", "-m", "its worktree is gone")) == (0, "broken #1 of beta   a\n", "")
    assert alone.coord_json("check", "a")["resources"][0]["status"] == "free"


def test_refs_grow_with_agents_and_never_with_what_is_claimed(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    before = set(alpha.refs("refs/coord*"))
    alpha.coord_json("claim", "Cargo.lock", ".github/ci.yml", "a b", "end.", "d/" * 120 + "f", "é" * 120, "task:E1/S1")
    alpha.coord_json("claim", "src")
    beta.coord_json("claim", "src/x.py", code=3)
    alpha.coord_json("post", "one")
    for repo in pair:
        repo.coord_json("sync")
        refs = set(repo.refs("refs/coord*"))
        assert [ref for ref in refs - OTHER_REFS if not AGENT_REF.fullmatch(ref)] == []
        assert len({ref.lower() for ref in refs}) == len(refs)
    added = set(alpha.refs("refs/coord*")) - before
    assert {ref.replace("-remote", "") for ref in added} <= {
        f"refs/coord/{family}/{agent}" for family in ("posts", "presence", "requests") for agent in ("alpha", "beta")
    }


def test_a_repository_with_a_space_and_a_newline_in_its_path_works(tmp_path: Path, env: dict[str, str]) -> None:
    repo = new_repo(tmp_path / "a b\nc", env)
    repo.commit("first", a="1\n")
    assert repo.coord("init", "--agent", "alpha").code == 0
    assert plain(repo.coord("claim", "a").out).startswith("#1  yours until <time>")
