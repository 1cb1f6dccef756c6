"""What the checks of the simulation are there for, they see: each is shown something that is wrong."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from tests.helpers import Repo, new_repo
from tests.simulation import checks
from tests.simulation.journal import Journal
from tests.simulation.ledger import Taken, Walk
from tests.simulation.outcome import Outcome
from tests.simulation.plan import plan
from tests.simulation.stage import Stage
from tests.simulation.tree import FILES, Edit, counted, edited, fresh, marks

PLAN = plan(60, 5)
BASE = fresh(PLAN.agents)
FILE = FILES[0]
SEEN = {"unchanged": 10, "lease_end": "1970-01-01T00:01:40Z"}
TAKEN = Taken(7, "bob", "ada", 200, 10, SEEN)


def edit(agent: str, *, is_at_the_end: bool) -> Edit:
    return Edit(f"{agent} edit 0", (FILE,), 0.0, is_at_the_end)


def merged(repo: Repo, *, is_at_the_end: bool) -> tuple[int, str]:
    """Return what git makes of two edits of one file that began at once."""
    for name, text in (
        ("base", BASE),
        *((a, edited(BASE, a, edit(a, is_at_the_end=is_at_the_end))) for a in ("ada", "dot")),
    ):
        repo.write(name, text)
    done = repo.run("git", "merge-file", "-p", "ada", "base", "dot")
    return done.code, done.out


def test_two_edits_that_began_at_once_merge_without_a_word_and_one_update_is_lost(repo: Repo) -> None:
    code, text = merged(repo, is_at_the_end=False)
    assert (code, counted(text), marks(text)) == (0, 1, ["ada edit 0", "dot edit 0"])
    assert merged(repo, is_at_the_end=True)[0] == 1


@pytest.fixture
def outcome(tmp_path: Path, env: dict[str, str]) -> Outcome:
    """Return a run in which ada landed one edit, bob was killed and cyd was stopped; all is well."""
    hub = new_repo(tmp_path / "hub", env)
    first = hub.commit("first", **dict.fromkeys(FILES, BASE))
    hub.commit("ada edit 0", **{FILE: edited(BASE, "ada", edit("ada", is_at_the_end=True))})
    director, ada, cyd = (Journal(tmp_path, name) for name in ("director", "ada", "cyd"))
    director.note("begins")
    ada.note("begun", mark="ada edit 0")
    ada.note("landed", mark="ada edit 0", files=[FILE], pushed=time.time())
    for agent, kind in (("bob", "killed"), ("cyd", "stopped"), ("dot", "offline"), ("eve", "killed"), ("cyd", "back")):
        director.note(kind, agent=agent)
    told = '#8 is yours no longer: taken over by ada 2 s ago, "cyd silent"'
    cyd.note("ran", args=["renew", "#8"], code=4, out=told, err="")
    (tmp_path / "cyd.log").touch()
    return Outcome(Stage(tmp_path, hub, {}, first), PLAN)


def named(outcome: Outcome, check: str, walk: Walk) -> list[str]:
    return list(getattr(checks, check)(outcome, walk))


def test_an_edit_that_is_missing_or_was_undone_is_named(outcome: Outcome) -> None:
    hub = outcome.stage.hub
    assert named(outcome, "_history", Walk()) == []
    hub.commit("again", **{FILE: BASE})
    hub.commit("again", **{FILE: edited(BASE, "ada", edit("ada", is_at_the_end=True)).replace("return 1", "return 0")})
    assert named(outcome, "_history", Walk()) == [
        f"ada edit 0 in {FILE}: 2 instead of 1 times",
        "1 lost updates and 0 conflicts under claims",
    ]


def test_what_a_dead_agent_keeps_or_loses_too_soon_is_named(outcome: Outcome) -> None:
    died = outcome.done_to("killed")["bob"]["at"]
    late = [TAKEN._replace(token=n, holder=agent, at=int(died) + 60) for n in (1, 2) for agent in ("bob", "eve")]
    assert named(outcome, "_takeovers", Walk(taken=late)) == []
    early = TAKEN._replace(at=101, seen=SEEN | {"unchanged": 9})
    assert named(outcome, "_takeovers", Walk(taken=[*late[1:], early], held_at_the_end={3: "eve"})) == [
        "eve is dead and still holds something",
        "#7 was watched for 9 s of 10",
        "#7 was taken over before its lease was over",
    ]
    pushed = Journal(outcome.stage.folder, "ada").entries("landed")[0]["pushed"]
    soon = TAKEN._replace(holder="ada", at=int(pushed) + 1)
    assert named(outcome, "_takeovers", Walk(taken=[*late, soon])) == [
        f"#7 was taken over {soon.at - pushed:.0f} s after ada pushed what landed"
    ]


def test_who_was_passed_over_in_the_queue_or_not_told_is_named(outcome: Outcome) -> None:
    assert named(outcome, "_queue", Walk(queued=3, served=2, left=Counter(gone=1))) == []
    assert named(outcome, "_queue", Walk(queued=3, left=Counter(gone=1), waiting_at_the_end=["ada"])) == [
        "still in the queue: ['ada']",
        "3 waited, 0 were served, Counter({'gone': 1}) left",
    ]
    assert named(outcome, "_queue", Walk()) == ["nobody had to wait"]
    assert named(outcome, "_told", Walk(taken=[TAKEN._replace(token=8, holder="cyd")])) == []
    assert named(outcome, "_told", Walk(taken=[TAKEN._replace(token=8, holder="cyd", by="dot")])) == [
        "cyd was not told that dot took over #8"
    ]
    assert named(outcome, "_told", Walk()) == ["nobody took over from cyd"]
