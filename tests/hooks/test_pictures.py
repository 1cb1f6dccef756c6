"""Which picture decides: the guard's own while it is true, else the ledger; not knowing is never "free"."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.helpers import Repo

from git_coord.domain.team import NO_RULES
from git_coord.hooks.judge import judge
from git_coord.hooks.words import Commit, lapsed
from git_coord.service.ledger import open_ledger
from git_coord.service.query import picture
from git_coord.service.snapshot import write_snapshot

from .conftest import Pair, assert_allowed, assert_blocked, open_here
from .test_install import stage
from .test_which_paths import commit


def alone(repo: Repo) -> Repo:
    """Let only the guard start: it ignores PYTHON variables, the full program dies of this one."""
    return repo.with_env(PYTHONHOME="/gone")


def assert_decided_by_the_guard(repo: Repo) -> None:
    assert_allowed(commit(alone(repo), "--allow-empty", "-m", "x"))


def assert_handed_over(repo: Repo) -> None:
    assert commit(alone(repo), "--allow-empty", "-m", "x").code == 1


def test_an_ordinary_commit_is_decided_by_the_guard_alone(pair: Pair) -> None:
    stage(pair.beta, "b.txt")
    assert_decided_by_the_guard(pair.beta)
    stage(pair.beta, "a.txt")
    assert_handed_over(pair.beta)


def test_a_missing_picture_is_made_again(pair: Pair) -> None:
    (pair.beta.path / ".git/coord/claims.snap").unlink()
    assert_handed_over(pair.beta)
    stage(pair.beta, "b.txt")
    assert_allowed(commit(pair.beta, "-m", "x"))
    assert_decided_by_the_guard(pair.beta)


def test_a_picture_that_cannot_be_written_costs_time_and_nothing_else(pair: Pair) -> None:
    snap = pair.beta.path / ".git/coord/claims.snap"
    snap.unlink()
    snap.mkdir()
    stage(pair.beta, "b.txt")
    assert_allowed(commit(pair.beta, "-m", "x"))
    stage(pair.beta, "a.txt")
    assert_blocked(commit(pair.beta, "-m", "x"), "a.txt")


def test_a_ledger_that_moved_without_us_makes_the_picture_old(pair: Pair) -> None:
    before = (pair.alpha.path / ".git/coord/claims.snap").read_bytes()
    pair.claim("b.txt")
    assert (pair.alpha.path / ".git/coord/claims.snap").read_bytes() != before
    (pair.alpha.path / ".git/coord/claims.snap").write_bytes(before)
    stage(pair.beta, "b.txt")
    assert_blocked(commit(pair.beta, "-m", "x"), "b.txt")
    assert (pair.alpha.path / ".git/coord/claims.snap").read_bytes() != before


def test_what_was_released_is_free_at_once(pair: Pair) -> None:
    stage(pair.beta, "a.txt")
    assert pair.alpha.coord("release", "a.txt").code == 0
    assert_decided_by_the_guard(pair.beta)


def test_a_pending_claim_of_this_clone_counts_and_is_shown_as_such(pair: Pair) -> None:
    hub = pair.alpha.path.parent / "hub.git"
    hub.rename(hub.with_name("away.git"))
    assert pair.alpha.coord("claim", "b.txt", "--offline").code == 0
    stage(pair.beta, "b.txt")
    done = commit(pair.beta, "-m", "x")
    assert "  b.txt   alpha (unconfirmed)" in done.err
    assert done.code == 1


def test_a_ledger_that_cannot_be_believed_refuses_and_names_the_cause(pair: Pair) -> None:
    pair.beta.git("update-ref", "refs/coord/claims", "HEAD")
    stage(pair.beta, "b.txt")
    done = commit(pair.beta, "-m", "x")
    assert done.code == 1
    lines = done.err.splitlines()
    assert lines[0].startswith("git coord: cannot tell whether this is free: ")
    assert lines[-1] == "bypass  GIT_COORD_BYPASS=1 git commit …      (recorded)"
    assert pair.beta.run(".git/hooks/pre-commit").code == 6
    warned = commit(pair.beta.with_env(GIT_COORD_MODE="warn"), "-m", "x")
    assert (warned.code, warned.err.splitlines()[0]) == (0, lines[0])


def test_a_ledger_that_went_missing_is_put_back_from_what_was_seen(pair: Pair) -> None:
    head = pair.beta.rev("refs/coord/claims")
    pair.beta.git("update-ref", "-d", "refs/coord/claims")
    stage(pair.beta, "a.txt")
    assert_blocked(commit(pair.beta, "-m", "x"), "a.txt")
    assert pair.beta.rev("refs/coord/claims") == head


def test_without_any_ledger_a_set_up_clone_refuses(pair: Pair) -> None:
    for ref in pair.beta.refs("refs/coord", "refs/coord-local", "refs/coord-remote"):
        pair.beta.git("update-ref", "-d", ref)
    stage(pair.beta, "b.txt")
    done = commit(pair.beta, "-m", "x")
    assert done.err.splitlines() == [
        "git coord: cannot tell whether this is free: there is no ledger in this clone any more",
        "next    git coord init",
        "bypass  GIT_COORD_BYPASS=1 git commit …      (recorded)",
    ]
    assert pair.beta.run(".git/hooks/pre-commit").code == 5
    assert pair.alpha.coord("init").code == 0
    assert_allowed(commit(pair.beta, "-m", "x"))


@pytest.mark.parametrize("kind", ["required", "exempt"])
def test_the_teams_rules_are_heeded_as_soon_as_they_change(pair: Pair, kind: str) -> None:
    stage(pair.beta, "b.txt")
    pair.beta.write(".coord.toml", f'[claims]\n{kind} = ["b.txt", "a.*"]\n')
    assert_handed_over(pair.beta)
    done = commit(pair.beta, "-m", "x")
    if kind == "required":
        assert done.err.splitlines() == [
            "git coord: commit refused, 1 of 1 paths needs a claim",
            "  b.txt   free, but to be claimed first: .coord.toml",
            *done.err.splitlines()[2:3],
            "next    git coord claim b.txt",
            "bypass  GIT_COORD_BYPASS=1 git commit …      (recorded)",
        ]
        pair.claim("b.txt")
        assert_allowed(commit(pair.alpha, "-m", "x"))
    else:
        assert_allowed(done)
        stage(pair.beta, "a.txt")
        assert_decided_by_the_guard(pair.beta)


def test_exempt_paths_need_no_claim_even_when_they_are_required(pair: Pair) -> None:
    pair.beta.write(".coord.toml", '[claims]\nrequired = ["."]\nexempt = ["docs", ".coord.toml"]\n')
    stage(pair.beta, "docs/x.md")
    pair.beta.git("add", ".coord.toml")
    assert_allowed(commit(pair.beta, "-m", "x"))
    assert_decided_by_the_guard(pair.beta)


def test_rules_that_cannot_be_read_refuse_and_name_the_line(pair: Pair) -> None:
    stage(pair.beta, "b.txt")
    pair.beta.write(".coord.toml", '[claims]\nexempt = ["b.txt"]\nrequird = ["a"]\n')
    done = commit(pair.beta, "-m", "x")
    assert done.code == 1
    assert done.err.splitlines()[0] == (
        "git coord: cannot tell whether this is free: .coord.toml line 3: claims.requird: is no key of this file"
    )


def test_rules_that_mean_another_ledger_refuse(pair: Pair) -> None:
    pair.beta.write(".coord.toml", '[ledger]\nrepo = "00000000-0000-4000-8000-000000000000"\n')
    assert pair.beta.run(".git/hooks/pre-commit").code == 6


def test_each_worktree_has_rules_of_its_own(pair: Pair) -> None:
    tree = replace(pair.alpha.worktree("W"), env=pair.beta.env)
    tree.write(".coord.toml", '[claims]\nexempt = ["."]\n')
    for repo, is_free in ((tree, True), (pair.beta, False)):
        stage(repo, "a.txt")
        done = commit(repo, "-m", "x")
        assert_allowed(done) if is_free else assert_blocked(done, "a.txt")


def test_a_claim_that_nobody_vouches_for_is_lost_to_its_holder_until_a_sync(pair: Pair) -> None:
    app = open_here(pair.alpha)
    open_ledger(app.coord)
    now = picture(app.coord)
    (claim,) = now.state.claims.values()
    for seconds, expected in ((now.vouched[claim.op] - now.now, []), (now.vouched[claim.op] - now.now + 1, ["a.txt"])):
        judged = judge(replace(now, now=now.now + seconds), NO_RULES, app.coord.me.agent, ["a.txt", "b.txt"])
        assert [one.path for one in judged.lapsed] == expected
    commit = Commit("commit", True, "index", "")
    lines = lapsed(judged, commit, now.now, has_remote=True, warns=False)
    assert lines[0] == "git coord: commit refused, your claim counts as lost until a sync says otherwise"
    assert lines[1].startswith("  a.txt   #1   good until ")
    assert lines[2:] == ["next    git coord sync", "bypass  GIT_COORD_BYPASS=1 git commit …      (recorded)"]
    alone = lapsed(judged, commit, now.now, has_remote=False, warns=True)
    assert (alone[0].split(",")[0], alone[2:]) == ("git coord: warning", ["next    git coord renew a.txt"])


def test_a_picture_written_late_from_an_old_view_is_not_taken_for_new(pair: Pair) -> None:
    app = open_here(pair.alpha)
    open_ledger(app.coord)
    pair.claim("b.txt")
    write_snapshot(app.coord)
    stage(pair.beta, "b.txt")
    assert_blocked(commit(pair.beta, "-m", "x"), "b.txt")
    pair.beta.git("restore", "--staged", "b.txt")
    assert_decided_by_the_guard(pair.beta)


def test_the_picture_has_folded_names_and_pending_claims_without_token(pair: Pair) -> None:
    hub = pair.alpha.path.parent / "hub.git"
    hub.rename(hub.with_name("away.git"))
    assert pair.alpha.coord("claim", "--offline", "--read", "b.txt", "--glob", "x/*.py").code == 0
    lines = (pair.alpha.path / ".git/coord/claims.snap").read_bytes().split(b"\nitems 3\n")[1].splitlines()
    assert [line.rpartition(b"\t")[0] for line in lines] == [
        b"a.txt\tP\te\talpha\t1",
        b"b.txt\tP\tr\talpha\t-",
        b"x/*.py\tG\tr\talpha\t-",
    ]


def test_two_clones_agree_after_a_sync(pair: Pair) -> None:
    other = replace(pair.beta, path=pair.beta.path.parent / "other")
    pair.beta.git("clone", "-q", str(pair.beta.path.parent / "hub.git"), str(other.path))
    assert other.coord("init", "--agent", "beta").code == 0
    other.git("config", "core.hooksPath", str(pair.beta.path / ".git/hooks"))
    stage(other, "a.txt")
    assert_blocked(commit(other, "-m", "x"), "a.txt")
    assert pair.alpha.coord("release", "--all").code == 0
    assert_blocked(commit(other, "-m", "x"), "a.txt")
    assert other.coord("sync").code == 0
    assert_decided_by_the_guard(other)
