"""husky, which makes git run hooks from a folder that it makes anew, and those run the ones that a person wrote."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.company.desk import Desk, assert_guarded, assert_refused, desk
from tests.company.tools import Tools
from tests.verify.stage import Stage, succeed

pytestmark = pytest.mark.slow


@pytest.fixture
def place(stage: Stage, tools: Tools) -> Desk:
    """Return a clone with husky, whose own hooks are committed."""
    tools.need("husky")
    made = desk(stage, tools.path(stage.beta.env["PATH"]))
    for hook in ("pre-commit", "pre-push"):
        made.repo.write(f".husky/{hook}", f"echo husky {hook} >>$LOG\n")
    made.repo.git("add", ".husky")
    made.repo.git("commit", "-q", "-m", "husky")
    made.repo.git("push", "-q", "--no-verify", "origin", "HEAD:refs/heads/configured")
    return made


def husky(desk: Desk) -> None:
    desk.repo.run("husky", check=True)


def add_lines(desk: Desk) -> None:
    """Do as the refusal says: our lines come first in the hooks that a person wrote."""
    answer = desk.repo.coord_json("hooks", "install", code=1)
    assert (answer["scope"], answer["folder"]) == ("local", str(desk.repo.path / ".husky"))
    for line in answer["lines"]:
        name, _, command = line.partition(":  ")
        path = desk.repo.path / ".husky" / name
        before = path.read_text() if path.exists() else ""
        desk.repo.write(f".husky/{name}", f"{command}\n{before}")
    desk.repo.git("add", ".husky")
    desk.repo.git("commit", "-q", "-m", "our lines")
    desk.repo.git("push", "-q", "--no-verify", "origin", "HEAD:refs/heads/configured")
    desk.ran()


def test_before_us_husky_keeps_its_files_and_the_lines_that_are_advised_work(place: Desk) -> None:
    husky(place)
    before = place.hooks()
    add_lines(place)
    assert place.hooks() == before
    assert place.repo.coord("hooks", "status").code == 0
    assert place.ran() == []  # being asked whether it reaches us, a hook does nothing else
    assert_guarded(place, "husky", runs_when_refused=False)
    assert place.repo.coord("hooks", "install").out == "hooks    already in place\n"
    husky(place)  # as each `npm install` does
    assert_guarded(place, "husky", runs_when_refused=False)


def test_after_us_husky_takes_every_door_over_and_that_is_said(place: Desk) -> None:
    succeed(place.repo, "hooks", "install")
    husky(place)
    found = place.repo.coord_json("hooks", "status", code=1)["hooks"]
    assert {row["fires"] for row in found} == {False}
    said = [row["text"] for row in place.repo.coord_json("doctor")["findings"] if row["level"] == "note"]
    folder = place.repo.path / ".husky/_"
    assert said[0] == f"pre-commit does not fire: {folder / 'pre-commit'} is another program's"
    assert place.commit("a.txt").code == 0
    assert place.push().code == 0
    answer = place.repo.coord_json("verify", "HEAD~1..HEAD", code=3)
    assert [(row["path"], row["holder"]) for row in answer["violations"]] == [("a.txt", "alpha")]
    place.repo.git("reset", "-q", "--hard", "HEAD~1")
    add_lines(place)
    assert_guarded(place, "husky", runs_when_refused=False)


def test_a_worktree_where_husky_never_ran_is_found_out(place: Desk) -> None:
    husky(place)
    add_lines(place)
    tree = place.repo.worktree("W")
    found = place.repo.coord_json("hooks", "status", code=1)["hooks"]
    assert {row["worktree"]: row["fires"] for row in found} == {str(place.repo.path): True, str(tree.path): False}
    other = replace(place, repo=tree)
    assert other.commit("a.txt").code == 0
    step = place.repo.coord_json("hooks", "install", code=1)["next"]
    assert step == f"cd {tree.path} && npx husky      (git runs no hooks there until then)"
    husky(other)
    assert place.repo.coord("hooks", "status").code == 0
    assert_refused(other.commit("a.txt"))


def test_where_the_line_finds_no_program_the_commit_is_refused_and_not_let_through(place: Desk) -> None:
    husky(place)
    add_lines(place)
    poor = replace(place, repo=place.repo.with_env(PATH="/usr/local/bin:/usr/bin:/bin"))
    done = poor.commit("a.txt")
    assert (done.code, "git-coord" in done.err, place.ran()) == (1, True, [])
