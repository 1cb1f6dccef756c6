"""pre-push and `branch:` claims, through real pushes with the installed hook: whose branch is it to move?"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.helpers import Completed, Repo
from tests.verify import stage as stages
from tests.verify.stage import Stage, succeed


@pytest.fixture(scope="session")
def branch_template(tmp_path_factory: pytest.TempPathFactory, stage_template: Path) -> Path:
    """Alpha holds the branch `main` and reads `docs`; beta has a topic of its own."""
    folder = tmp_path_factory.mktemp("branches")
    made = stages.copy(stage_template, folder, dict(os.environ))
    alpha, beta = made.alpha, made.beta
    succeed(alpha, "claim", "branch:main", "branch:release", "-m", "cut 1.0")
    succeed(alpha, "claim", "--read", "branch:docs")
    for name in ("topic", "docs", "release/1.0"):
        beta.git("push", "-q", "--no-verify", "origin", f"HEAD:refs/heads/{name}")
    return folder


@pytest.fixture
def stage(branch_template: Path, tmp_path: Path, env: dict[str, str]) -> Stage:
    return stages.copy(branch_template, tmp_path, env)


def push(repo: Repo, *args: str) -> Completed:
    """Push with a deadline, as the hook must never hang."""
    return repo.run("git", "push", "-q", *args)


def assert_refused(done: Completed, *branches: str) -> None:
    rows = [line.split("   ")[0].strip() for line in done.err.splitlines() if "   alpha #2" in line]
    assert (done.code, rows) == (1, list(branches)), done.err


def assert_passed(done: Completed) -> None:
    assert (done.code, done.err) == (0, "")


def test_a_refusal_names_branch_holder_purpose_and_ways_out(stage: Stage) -> None:
    stage.beta.commit("fine", **{"c.txt": "1\n"})
    before = stage.hub.refs("refs/heads")
    done = push(stage.beta, "origin", "HEAD:main", "HEAD:topic")
    lines = done.err.splitlines()
    assert done.code == 1
    assert lines[0] == "git coord: push refused, 1 of 2 branches is claimed"
    assert lines[1].startswith('  main   alpha #2   "cut 1.0"   until ')
    assert lines[2].startswith("as of ")
    assert lines[3:5] == [
        "next    git coord post --to alpha 'need branch:main'",
        "bypass  GIT_COORD_BYPASS=1 git push …      (recorded: a post tells the holder)",
    ]
    assert stage.hub.refs("refs/heads") == before


@pytest.mark.parametrize(
    ("args", "branches"),
    [
        (("origin", "HEAD:main"), ["main"]),
        (("-f", "origin", "HEAD~2:main"), ["main"]),
        (("origin", ":main"), ["main"]),
        (("origin", ":release/1.0"), ["release/1.0"]),
        (("origin", "HEAD:refs/heads/release/2.0"), ["release/2.0"]),
        (("URL", "HEAD:main"), ["main"]),
        (("origin", "HEAD:main", ":topic", ":release/1.0"), ["main", "release/1.0"]),
    ],
    ids=str,
)
def test_moving_rewriting_making_and_deleting_a_claimed_branch_is_refused(
    stage: Stage, args: tuple[str, ...], branches: list[str]
) -> None:
    stage.hub.git("config", "receive.denyDeleteCurrent", "ignore")
    stage.beta.commit("fine", **{"c.txt": "1\n"})
    done = push(stage.beta, *(str(stage.hub.path) if word == "URL" else word for word in args))
    assert_refused(done, *branches)


@pytest.mark.parametrize(
    "args",
    [
        ("origin", "HEAD:topic"),
        ("-f", "origin", "HEAD~1:topic"),
        ("origin", ":topic"),
        ("origin", "HEAD:docs"),
        ("origin", "HEAD:refs/heads/released"),
        ("origin", "HEAD:refs/heads/mainline", "HEAD:refs/tags/main"),
    ],
    ids=str,
)
def test_other_branches_tags_and_branches_that_are_only_read_pass(stage: Stage, args: tuple[str, ...]) -> None:
    stage.beta.commit("fine", **{"c.txt": "1\n"})
    assert_passed(push(stage.beta, *args))


def test_the_holder_pushes_its_own_branch_whatever_way(stage: Stage) -> None:
    stage.alpha.commit("more", **{"c.txt": "1\n"})
    assert_passed(push(stage.alpha, "origin", "HEAD:main"))
    assert_passed(push(stage.alpha, "-f", "origin", "HEAD~2:main"))
    assert_passed(push(stage.alpha, "origin", ":release/1.0"))


def test_a_claim_that_was_released_meanwhile_is_in_nobodys_way(stage: Stage) -> None:
    stage.beta.commit("fine", **{"c.txt": "1\n"})
    succeed(stage.alpha, "release", "branch:main")
    assert_passed(push(stage.beta, "origin", "HEAD:main"))


def test_a_branch_of_a_fork_is_not_the_branch_that_is_claimed(stage: Stage) -> None:
    fork = stage.folder / "fork.git"
    stage.beta.git("init", "-q", "--bare", str(fork))
    stage.beta.git("remote", "add", "fork", str(fork))
    stage.beta.git("remote", "add", "same", str(stage.hub.path))
    stage.beta.git("config", "coord.remote", "origin")
    stage.beta.commit("fine", **{"c.txt": "1\n"})
    assert_passed(push(stage.beta, "fork", "HEAD:main"))
    assert_refused(push(stage.beta, "same", "HEAD:main"), "main")


def test_mode_warn_says_it_and_mode_off_says_nothing(stage: Stage) -> None:
    stage.beta.commit("fine", **{"c.txt": "1\n"})
    done = push(stage.beta.with_env(GIT_COORD_MODE="off"), "origin", "HEAD~1:refs/heads/release/3")
    assert (done.code, done.err) == (0, "")
    done = push(stage.beta.with_env(GIT_COORD_MODE="warn"), "origin", "HEAD:main")
    assert (done.code, done.err.splitlines()[0]) == (0, "git coord: warning, 1 of 1 branch is claimed")
    assert "bypass" not in done.err


def test_a_bypass_passes_and_the_holder_is_told_by_a_post(stage: Stage) -> None:
    stage.beta.commit("fine", **{"c.txt": "1\n"})
    succeed(stage.beta, "sync")
    done = push(stage.beta.with_env(GIT_COORD_BYPASS="1"), "origin", "HEAD:main", "HEAD:topic")
    assert (done.code, done.err) == (
        0,
        "git coord: pushed to branch:main past #2 (GIT_COORD_BYPASS); alpha is told\n",
    )
    succeed(stage.alpha, "sync")
    posts = stage.alpha.coord_json("posts", "--for", "me")["posts"]
    assert [(post["agent"], post["claim"], post["text"]) for post in posts] == [
        ("beta", 2, "pushed to branch:main past #2 (GIT_COORD_BYPASS)")
    ]


def test_a_bypass_of_which_the_holder_cannot_be_told_yet_says_so_and_the_next_sync_does(stage: Stage) -> None:
    stage.beta.commit("fine", **{"c.txt": "1\n"})
    succeed(stage.beta, "sync")
    hook = Path(stage.beta.git("config", "remote.origin.url")) / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nwhile read -r _ _ ref; do case $ref in refs/coord/*) exit 1 ;; esac; done\n")
    hook.chmod(0o755)
    done = push(stage.beta.with_env(GIT_COORD_BYPASS="1"), "origin", "HEAD:main")
    words = "pushed to branch:main past #2 (GIT_COORD_BYPASS); the word to alpha is not sent, the next sync carries it"
    assert done.err.splitlines()[0] == f"git coord: {words}"
    hook.unlink()
    succeed(stage.beta, "sync")
    succeed(stage.alpha, "sync")
    assert [post["agent"] for post in stage.alpha.coord_json("posts", "--for", "me")["posts"]] == ["beta"]


def test_a_branch_and_a_commit_in_the_way_are_both_named(stage: Stage) -> None:
    stage.beta.write("a.txt", "theirs\n")
    stage.beta.git("commit", "-q", "-a", "--no-verify", "-m", "past the hook")
    said = push(stage.beta, "origin", "HEAD:main").err
    assert "git coord: push refused, 1 of 1 branch is claimed\n" in said
    assert "git coord: push refused, 1 of 1 commit against a claim\n" in said


def test_without_a_name_every_claim_is_somebody_elses(stage: Stage) -> None:
    stage.alpha.commit("more", **{"c.txt": "1\n"})
    nameless = stage.alpha.with_env(GIT_COORD_AGENT="")
    nameless.git("config", "--unset", "coord.agent")
    nameless.run("git", "config", "--worktree", "--unset", "coord.agent")
    done = push(nameless, "origin", "HEAD:main")
    assert_refused(done, "main")
    assert "next    git coord init\n" in done.err


@pytest.mark.parametrize("name", ["x\u2028y", "x\u0085y", "x\u3000y", "x\u00a0y", "x\u200by"], ids=ascii)
def test_a_name_with_odd_characters_hides_neither_branch_nor_commits(stage: Stage, name: str) -> None:
    succeed(stage.alpha, "claim", f"branch:{name}")
    stage.beta.write("a.txt", "theirs\n")
    stage.beta.git("commit", "-q", "-a", "--no-verify", "-m", "past the hook")
    done = push(stage.beta, "origin", f"HEAD:refs/heads/{name}")
    assert done.code == 1
    assert "1 of 1 branch is claimed" in done.err
    assert "1 of 1 commit against a claim" in done.err
    assert name in done.err if name[1] in "\u3000\u00a0" else name not in done.err


def test_a_name_that_is_not_utf8_is_judged_by_what_is_above_it(stage: Stage) -> None:
    stage.beta.commit("fine", **{"c.txt": "1\n"})
    done = push(stage.beta, "origin", "HEAD:refs/heads/release/\udce9")
    assert_refused(done, r"release/\xe9")
    assert_passed(push(stage.beta, "origin", "HEAD:refs/heads/x\udce9"))
