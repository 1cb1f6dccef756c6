"""Which paths count, by real commits through the installed hooks: every way to make a commit, allowed or refused."""

from __future__ import annotations

import hashlib

import pytest
from tests.helpers import Completed, Repo

from .conftest import Pair, assert_allowed, assert_blocked


def commit(repo: Repo, *args: str) -> Completed:
    return repo.run("git", "commit", "-q", *args)


def test_another_agents_file_is_refused_with_holder_purpose_time_and_ways_out(pair: Pair) -> None:
    pair.beta.write("a.txt", "mine\n")
    pair.beta.write("b.txt", "mine\n")
    pair.beta.git("add", ".")
    lines = commit(pair.beta, "-m", "x").err.splitlines()
    until = lines[1].rsplit(" ", 1)[1]
    assert lines[:2] == [
        "git coord: commit refused, 1 of 2 paths is claimed",
        f'  a.txt   alpha #1   "fix the parser"   until {until}',
    ]
    assert lines[2].startswith("as of ")
    assert lines[3:] == [
        "next    git restore --staged a.txt",
        "bypass  GIT_COORD_BYPASS=1 git commit …      (recorded)",
    ]


def test_the_holder_and_other_files_pass_without_a_word(pair: Pair) -> None:
    pair.alpha.write("a.txt", "more\n")
    assert_allowed(commit(pair.alpha, "-am", "x"))
    pair.beta.write("b.txt", "more\n")
    assert_allowed(commit(pair.beta, "-am", "y"))


def test_commit_all_is_judged_by_its_temporary_index(pair: Pair) -> None:
    pair.beta.write("a.txt", "mine\n")
    before = hashlib.sha256((pair.beta.path / ".git/index").read_bytes()).hexdigest()
    assert_blocked(commit(pair.beta, "-am", "x"), "a.txt")
    assert hashlib.sha256((pair.beta.path / ".git/index").read_bytes()).hexdigest() == before
    assert not (pair.beta.path / ".git/index.lock").exists()


def test_a_commit_of_named_files_does_not_count_what_else_is_staged(pair: Pair) -> None:
    pair.beta.write("a.txt", "mine\n")
    pair.beta.write("b.txt", "mine\n")
    pair.beta.git("add", "a.txt")
    assert_allowed(commit(pair.beta, "-m", "y", "--", "b.txt"))
    assert_blocked(commit(pair.beta, "-m", "z"), "a.txt")


def test_a_commit_that_includes_named_files_counts_both(pair: Pair) -> None:
    pair.beta.write("a.txt", "mine\n")
    pair.beta.write("b.txt", "mine\n")
    pair.beta.git("add", "b.txt")
    assert_blocked(commit(pair.beta, "-m", "y", "-i", "--", "a.txt"), "a.txt")


def test_a_commit_of_hunks_is_judged(pair: Pair) -> None:
    pair.beta.write("a.txt", "mine\n")
    done = pair.beta.run("git", "commit", "-q", "-p", "-m", "y", input="y\n")
    assert_blocked(done, "a.txt")


@pytest.mark.parametrize("amend", [["--no-edit"], ["-m", "other"], ["--no-edit", "--reset-author"], ["-C", "HEAD"]])
def test_an_amend_with_nothing_staged_is_judged_by_the_commit_it_replaces(pair: Pair, amend: list[str]) -> None:
    pair.beta.write("a.txt", "mine\n")
    assert commit(pair.beta, "-n", "-am", "past the hook").code == 0
    done = commit(pair.beta, "--amend", *amend)
    assert_blocked(done, "a.txt")
    assert "next    git restore --staged --source=HEAD^ a.txt" in done.err.splitlines()


def test_a_commit_in_the_same_second_as_its_parent_is_no_amend(pair: Pair) -> None:
    stamp = "@1700000000 +0000"
    dated = pair.beta.with_env(GIT_AUTHOR_DATE=stamp, GIT_COMMITTER_DATE=stamp)
    pair.beta.write("a.txt", "mine\n")
    assert commit(dated, "-n", "-am", "past the hook").code == 0
    dated.write("b.txt", "mine\n")
    assert_allowed(commit(dated, "-am", "ordinary"))


def test_an_amend_by_alias_is_an_amend(pair: Pair) -> None:
    pair.beta.git("config", "alias.fix", "commit --amend")
    pair.beta.write("a.txt", "mine\n")
    assert commit(pair.beta, "-n", "-am", "past the hook").code == 0
    assert_blocked(pair.beta.run("git", "fix", "-q", "-m", "y"), "a.txt")


def test_an_amend_of_the_first_commit_is_compared_with_nothing(pair: Pair) -> None:
    pair.beta.git("checkout", "-q", "--orphan", "fresh")
    assert commit(pair.beta, "-n", "-m", "root").code == 0
    done = commit(pair.beta, "--amend", "--no-edit")
    assert_blocked(done, "a.txt")
    assert "next    git rm --cached a.txt" in done.err.splitlines()


def test_the_first_commit_of_an_orphan_branch_is_compared_with_nothing(pair: Pair) -> None:
    pair.beta.git("checkout", "-q", "--orphan", "fresh")
    assert_blocked(commit(pair.beta, "-m", "root"), "a.txt")
    pair.beta.git("rm", "-q", "--cached", "a.txt")
    assert_allowed(commit(pair.beta, "-m", "root"))


def test_deleting_moving_and_changing_the_kind_of_a_file_counts(pair: Pair) -> None:
    beta = pair.beta
    beta.git("config", "diff.renames", "copies")
    steps = [
        ["git rm -q a.txt"],
        ["git mv a.txt z.txt"],
        ["chmod +x a.txt", "git add a.txt"],
        ["rm a.txt", "ln -s b.txt a.txt", "git add a.txt"],
        ["rm a.txt", "mkdir a.txt", "echo f >a.txt/f", "git add -A"],
    ]
    for step in steps:
        for line in step:
            assert beta.run("sh", "-c", line).code == 0
        done = commit(beta, "-m", "x")
        expected = ["a.txt", "a.txt/f"] if "mkdir a.txt" in step else ["a.txt"]
        assert_blocked(done, *expected)
        beta.git("reset", "-q", "--hard")


def test_a_file_where_another_agent_holds_something_below_is_refused(pair: Pair) -> None:
    pair.claim("docs/guide/x.md")
    pair.beta.write("docs", "a file now\n")
    pair.beta.git("add", "docs")
    assert_blocked(commit(pair.beta, "-m", "x"), "docs")


def test_a_file_that_is_only_intended_to_be_added_does_not_count(pair: Pair) -> None:
    pair.claim("new.txt")
    pair.beta.write("new.txt", "x\n")
    pair.beta.write("b.txt", "x\n")
    pair.beta.git("add", "-N", "new.txt")
    pair.beta.git("add", "b.txt")
    assert_allowed(commit(pair.beta, "-m", "x"))


ODD_NAMES = [
    "café.txt",
    "sp ace.txt",
    "tab\tname",
    "nl\nname",
    'q"uote',
    "back\\slash",
    "-dash",
    ":(top)x",
    "\udcff.bin",
]


@pytest.mark.parametrize("quoted", [[], ["-c", "core.quotePath=false"]])
def test_names_that_git_quotes_are_recognised_and_shown_readably(pair: Pair, quoted: list[str]) -> None:
    beta = pair.beta
    pair.claim(*(f"./{name}" for name in ODD_NAMES))
    for name in ODD_NAMES:
        beta.write(name, "x\n")
        beta.git("--literal-pathspecs", "add", "--", name)
        done = beta.run("git", *quoted, "commit", "-q", "-m", "x")
        shown = name.replace("\n", "\\n").replace("\t", "\\t").replace("\udcff", "\\xff")
        assert_blocked(done, shown)
        step = next(line for line in done.err.splitlines() if line.startswith("next")).removeprefix("next    ")
        assert beta.run("bash", "-c", step).code == 0
        assert beta.run("git", "diff", "--cached", "--quiet").code == 0


def test_a_name_with_pattern_characters_means_only_itself(pair: Pair) -> None:
    beta = pair.beta
    pair.claim("app/[id].tsx", "src")
    verdicts = {"app/i.tsx": True, "app/[id].tsx": False, "src2/a": True, "src/a": False, "src.txt": True}
    for name, is_free in verdicts.items():
        beta.write(name, "x\n")
        beta.git("--literal-pathspecs", "add", "--", name)
        done = commit(beta, "-m", name)
        if is_free:
            assert_allowed(done)
        else:
            assert_blocked(done, name)
            beta.git("reset", "-q")


def test_globs_block_what_they_match_and_nothing_else(pair: Pair) -> None:
    beta = pair.beta
    pair.claim("--glob", "lib/**/t?st_*.py")
    for name, is_free in {"lib/a/test_x.py": False, "lib/test_.py": False, "lib/tst_x.py": True}.items():
        beta.write(name, "x\n")
        beta.git("add", name)
        done = commit(beta, "-m", name)
        assert_allowed(done) if is_free else assert_blocked(done, name)
        beta.git("reset", "-q")


def test_a_read_claim_keeps_others_from_editing(pair: Pair) -> None:
    pair.claim("--read", "b.txt")
    pair.beta.write("b.txt", "x\n")
    assert_blocked(commit(pair.beta, "-am", "x"), "b.txt")


def test_it_works_from_a_subdirectory_and_the_printed_step_does_too(pair: Pair) -> None:
    pair.claim("src/x.py")
    pair.beta.write("src/x.py", "mine\n")
    pair.beta.git("config", "diff.relative", "true")
    below = Repo(pair.beta.path / "src", pair.beta.env)
    below.git("add", "x.py")
    done = commit(below, "-m", "x")
    assert_blocked(done, "src/x.py")
    assert "next    git restore --staged :/src/x.py" in done.err.splitlines()
    assert below.run("sh", "-c", "git restore --staged :/src/x.py").code == 0
    assert below.run("git", "diff", "--cached", "--quiet").code == 0
