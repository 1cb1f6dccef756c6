"""What a refusal says, for tables that real commits make too rarely."""

from __future__ import annotations

import pytest

from git_coord.domain.ids import Agent, Nonce, Token
from git_coord.domain.state import LiveClaim
from git_coord.domain.statements import Base
from git_coord.hooks.judge import Judgement, Obstacle
from git_coord.hooks.words import Commit, refusal
from git_coord.service.query import Held


def held(purpose: str = "fix", *, is_stale: bool = False, is_confirmed: bool = True) -> Held:
    claim = LiveClaim(
        token=Token(1042),
        op=Nonce("0" * 32),
        holder=Agent("alpha"),
        at=0,
        items=(),
        gone=frozenset(),
        purpose=purpose,
        lease="standard",
        ttl=7200,
        renewed=0,
        pins=(),
        stamps=(),
        base=Base(None, None, None),
    )
    return Held(claim, 12 * 3600 + 600, is_stale=is_stale, is_confirmed=is_confirmed, seen_at=None)


AFTER = "(then commit without -a)"
PLAIN = Commit("commit", True, "index", "")


def said(judged: Judgement, commit: Commit = PLAIN, *, warns: bool = False) -> list[str]:
    return refusal(judged, commit, warns=warns, as_of=12, nobody=None, now=3600)


def test_the_refusal_is_the_one_of_the_documentation() -> None:
    judged = Judgement(3, (Obstacle("src/lexer/scan.py", held("fix string escapes")),), (), ())
    assert said(judged) == [
        "git coord: commit refused, 1 of 3 paths is claimed",
        '  src/lexer/scan.py   alpha #1042   "fix string escapes"   until 12:10',
        "as of 12 s ago",
        "next    git restore --staged src/lexer/scan.py",
        "bypass  GIT_COORD_BYPASS=1 git commit …      (recorded)",
    ]


def test_columns_are_aligned_and_stale_and_unconfirmed_claims_are_marked() -> None:
    stale = held("", is_stale=True)
    judged = Judgement(9, (Obstacle("a", stale), Obstacle("long", held(is_confirmed=False))), ("free.py",), ())
    assert said(judged, warns=True) == [
        "git coord: warning, 2 of 9 paths are claimed, 1 needs a claim",
        "  a         alpha #1042           -       stale since 12:10",
        '  long      alpha (unconfirmed)   "fix"   until 12:10',
        "  free.py   free, but to be claimed first: .coord.toml",
        "as of 12 s ago",
        "next    git restore --staged a long",
        "        git coord claim free.py",
    ]


def test_many_paths_are_cut_and_everything_is_unstaged() -> None:
    lines = said(Judgement(50_000, tuple(Obstacle(f"f{n}", held()) for n in range(21)), (), ()))
    assert (len(lines), lines[21], lines[23]) == (25, "  … and 1 more", "next    git restore --staged :/")


@pytest.mark.parametrize(
    ("commit", "step"),
    [
        (PLAIN, "git restore --staged a.txt"),
        (
            PLAIN._replace(index_file="index.lock"),
            "git add -u && git restore --staged a.txt      (then commit without -a)",
        ),
        (PLAIN._replace(index_file="next-index-7.lock"), "git coord post --to alpha 'need a.txt'"),
        (PLAIN._replace(kind="amend"), "git restore --staged --source=HEAD^ a.txt"),
        (PLAIN._replace(kind="amend", has_parents=False), "git rm --cached a.txt"),
        (PLAIN._replace(kind="first", has_parents=False), "git rm --cached a.txt"),
        (
            PLAIN._replace(kind="amend", during="rebase"),
            "git coord post --to alpha 'need a.txt'      "
            "(once it is yours: git rebase --continue; to give up: git rebase --abort)",
        ),
        (PLAIN._replace(prefix="src/"), "git restore --staged :/a.txt"),
    ],
)
def test_the_next_command_fits_how_the_commit_was_made(commit: Commit, step: str) -> None:
    assert said(Judgement(1, (Obstacle("a.txt", held()),), (), ()), commit)[-2] == f"next    {step}"
