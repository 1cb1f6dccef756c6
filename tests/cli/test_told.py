"""What others ended is told once by the next command, whichever it is, and stops the first commit of it."""

from __future__ import annotations

import pytest

from tests.cli.past import claim_long_ago, watched_long_ago
from tests.cli.words import forget_sync, plain
from tests.helpers import Completed, Repo

BYPASS = "bypass  GIT_COORD_BYPASS=1 git commit …      (recorded)"


@pytest.fixture
def other(alone: Repo) -> Repo:
    """Return beta's worktree of the repository in which alpha works, with hooks."""
    made = alone.worktree("beta", agent="beta")
    assert made.coord("init", "--agent", "beta").code == 0
    assert alone.coord("hooks", "install").code == 0
    return made


def taken(alpha: Repo, beta: Repo, *names: str) -> None:
    """Let beta take over what alpha claimed long ago."""
    claim_long_ago(alpha, *names)
    assert beta.coord("takeover", names[0]).code == 7
    watched_long_ago(beta if (beta.path / ".git").is_dir() else alpha, 300)
    beta.coord_json("takeover", "--all-items", names[0], "-m", "silent since noon")


def broken(alpha: Repo, beta: Repo, *names: str) -> None:
    """Let alpha's claim be broken with the policy key, as beta: it is free again."""
    token = alpha.coord_json("claim", *names)["token"]
    key = alpha.coord("whoami").out.splitlines()[2].split()[-1]
    beta.git("config", "coord.policyKey", key)
    beta.coord_json("break", f"#{token}", "-m", "not needed")


def staged(repo: Repo, name: str) -> Completed:
    """Stage a change of a file, and run the hook as git would."""
    repo.write(name, "changed\n")
    repo.git("add", name)
    return repo.coord("hook", "pre-commit")


def test_the_next_command_says_it_once_and_has_it_among_its_notices(alone: Repo, other: Repo) -> None:
    taken(alone, other, "a", "b")
    answer = alone.coord_json("whoami")
    assert list(map(plain, answer["notices"])) == ['lost: #1 a, b, taken over by beta <age> ago, "silent since noon"']
    assert "notices" not in alone.coord_json("check", "b", code=3)
    assert alone.coord("status").err == ""


def test_whoever_asks_for_the_token_later_is_told_again_who_took_it(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    taken(alpha, beta, "a")
    assert alpha.coord("sync").code == 0
    for verb in ("renew", "release"):
        answer = alpha.coord_json(verb, "#1", code=4)
        assert (answer["code"], plain(answer["message"]), answer["by"], answer["next"]) == (
            "lost",
            '#1 is yours no longer: taken over by beta <age> ago, "silent since noon"',
            "beta",
            "git coord status",
        )
        assert "notices" not in answer


def test_an_error_carries_it_too(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    taken(alpha, beta, "a")
    answer = alpha.coord_json("release", "a", code=4)
    assert (answer["code"], list(map(plain, answer["notices"]))) == (
        "lost",
        ['lost: #1 a, taken over by beta <age> ago, "silent since noon"'],
    )
    forget_sync(beta)
    assert beta.coord_json("status")["claims"][0]["agent"] == "beta"


@pytest.mark.parametrize("is_said", [False, True])
def test_the_first_commit_of_what_was_taken_over_is_stopped_with_4_and_the_second_is_a_conflict(
    alone: Repo, other: Repo, is_said: bool
) -> None:
    taken(alone, other, "a")
    if is_said:
        assert "taken over by beta" in alone.coord("status").err
    first = staged(alone, "a")
    assert first.code == 4
    assert plain(first.err).splitlines()[-4:] == [
        "git coord: your claim is gone",
        '  #1 a   taken over by beta at <time>, "silent since noon"',
        "next    git stash; git coord claim a",
        BYPASS,
    ]
    assert ("lost: #1" in first.err) is not is_said
    assert staged(alone, "a").code == 3


def test_what_was_broken_is_free_and_its_first_commit_is_stopped_all_the_same(alone: Repo, other: Repo) -> None:
    broken(alone, other, "a")
    unrelated = staged(alone, "unrelated")
    assert unrelated.code == 0
    alone.git("reset", "-q")
    first = staged(alone, "a")
    assert (first.code, plain(first.err).splitlines()[-3]) == (
        4,
        '  #1 a   broken by beta at <time>, "not needed"',
    )
    assert staged(alone, "a").code == 0
    assert not (alone.path / ".git/coord/gone/alpha").exists()


def test_who_claims_it_again_is_not_stopped(alone: Repo, other: Repo) -> None:
    broken(alone, other, "a")
    alone.coord_json("claim", "a")
    assert staged(alone, "a").code == 0


def test_what_one_releases_oneself_stops_nothing(alone: Repo, other: Repo) -> None:
    alone.coord_json("claim", "a", "b")
    alone.coord_json("release", "a")
    other.coord_json("status")
    assert (staged(alone, "a").code, staged(alone, "a").err) == (0, "")
    alone.coord_json("release", "--all")
    other.coord_json("claim", "a")
    assert staged(alone, "a").code == 3


def test_the_first_push_of_what_was_committed_before_it_was_taken_stops_too(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    assert alpha.coord("hooks", "install").code == 0
    token = alpha.coord_json("claim", "a")["token"]
    alpha.commit("mine", a="alpha\n")
    beta.git("config", "coord.policyKey", alpha.coord("whoami").out.splitlines()[2].split()[-1])
    beta.coord_json("break", f"#{token}", "-m", "not needed")
    push = ("git", "push", "-q", "origin", "HEAD:main")
    first = alpha.run(*push)
    assert (first.code, plain(first.err).splitlines()[:5]) == (
        1,
        [
            'git coord: lost: #1 a, broken by beta <age> ago, "not needed"',
            "git coord: push refused, your claim is gone",
            '  #1 a   broken by beta at <time>, "not needed"',
            "next    git coord claim a && git push      (is it wanted still? git log @{upstream}..)",
            "bypass  GIT_COORD_BYPASS=1 git push …      (CI will see it all the same)",
        ],
    )
    assert alpha.run(*push).code == 0
    assert not (alpha.path / ".git/coord/gone/alpha").exists()
    assert alpha.coord_json("renew", "#1", code=4)["by"] == "beta"
