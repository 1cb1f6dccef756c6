"""Two agents edit one repository through the installed configuration, executed as Claude Code executes it."""

from __future__ import annotations

from dataclasses import replace

from tests.adapters.claude import ClaudeCode
from tests.adapters.conftest import Pair


def test_two_agents_edit_one_repository_and_never_the_same_file_at_once(pair: Pair) -> None:
    alpha, beta = pair.alpha, pair.beta
    assert beta.coord("release", "--all").code == 0
    for repo in (alpha, beta):
        assert repo.coord("adapter", "install", "claude-code").code == 0
    assert alpha.coord("hooks", "install").code == 0
    one, two = ClaudeCode(alpha, "s-1"), ClaudeCode(beta, "s-2")
    assert one.begin().startswith("git coord: you are alpha in this repository.")
    assert two.begin().startswith("git coord: you are beta in this repository.")

    edit = {"old_string": "a", "new_string": "z"}
    assert one.call("Edit", file_path=str(alpha.path / "a.txt"), **edit) is None
    assert alpha.path.joinpath("a.txt").read_text() == "z\n"
    why = two.call("Edit", file_path=str(beta.path / "a.txt"), **edit)
    assert why is not None
    assert "a.txt   held by alpha #2" in why
    assert beta.path.joinpath("a.txt").read_text() == "a\n"

    assert two.call("Bash", command="sed -i s/b/y/ b.txt && echo new > src/new.py") is None
    assert beta.path.joinpath("b.txt").read_text() == "y\n"
    for command in ("rm b.txt", "echo x >> src/new.py", "git checkout HEAD -- b.txt", "mv b.txt c.txt"):
        why = one.call("Bash", command=command)
        assert why is not None, command
        assert "held by beta #3" in why
    assert alpha.path.joinpath("b.txt").read_text() == "b\n"
    assert one.call("Bash", command="cat b.txt; grep -r b . > /dev/null") is None

    # What it may edit it may commit, from its own shell, through git's own hooks.
    assert one.call("Bash", command="git commit -qam 'edit a' 2> err.txt") is None
    assert alpha.git("log", "-1", "--format=%s") == "edit a", alpha.path.joinpath("err.txt").read_text()

    one.end()
    assert two.call("Edit", file_path=str(beta.path / "a.txt"), **edit) is None
    assert {claim["agent"] for claim in alpha.coord_json("status")["claims"]} == {"beta"}
    two.end()
    assert alpha.coord_json("status")["claims"] == []


def test_a_second_session_in_one_checkout_commits_under_its_own_name(pair: Pair) -> None:
    alpha = pair.alpha
    assert alpha.coord("adapter", "install", "claude-code").code == 0
    assert alpha.coord("hooks", "install").code == 0
    one, two = ClaudeCode(alpha, "s-1"), ClaudeCode(alpha, "s-2")
    one.begin()
    told = two.begin().splitlines()[0]
    assert told.startswith("git coord: you are claude-")
    assert one.call("Write", file_path=str(alpha.path / "a.txt"), content="one\n") is None
    assert "held by alpha" in str(two.call("Write", file_path=str(alpha.path / "a.txt"), content="two\n"))
    assert two.call("Write", file_path=str(alpha.path / "src/x.py"), content="two\n") is None
    assert two.call("Bash", command="git commit -qm two -- a.txt") is None
    assert alpha.git("log", "-1", "--format=%s") == "files"
    assert two.call("Bash", command="git commit -qm two -- src/x.py") is None
    assert alpha.git("log", "-1", "--format=%s") == "two"


def test_a_hook_that_is_gone_lets_the_edit_proceed_and_the_commit_is_refused(pair: Pair) -> None:
    alpha = pair.alpha
    assert alpha.coord("adapter", "install", "claude-code").code == 0
    assert alpha.coord("hooks", "install").code == 0
    session = ClaudeCode(alpha, "s-1")
    session.begin()
    session.repo = replace(session.repo, env={**session.repo.env, "PATH": "/usr/bin:/bin"})
    assert session.call("Write", file_path=str(alpha.path / "b.txt"), content="x\n") is None
    done = alpha.run("git", "commit", "-qam", "x")
    assert done.code == 1
    assert "b.txt   beta #1" in done.err
