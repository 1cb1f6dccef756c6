"""The command line as a whole: help, unknown commands, `--json` everywhere, and hints that work when typed."""

from __future__ import annotations

import ast
import json

import pytest

from git_coord.cli.main import COMMANDS, HIDDEN
from tests.cli.words import hints, said, type_in
from tests.helpers import Repo
from tests.helpers.source import read_sources

VISIBLE = [name for name in COMMANDS if name not in HIDDEN]
SUBCOMMANDS = [
    ["adapter", "install"],
    ["adapter", "doctor"],
    ["hooks", "install"],
    ["hooks", "uninstall"],
    ["hooks", "status"],
    ["presence", "set"],
]


@pytest.mark.parametrize("words", [[], *([name] for name in COMMANDS), *SUBCOMMANDS], ids=" ".join)
def test_every_command_explains_itself(repo: Repo, words: list[str]) -> None:
    done = repo.coord(*words, "-h")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Usage: {' '.join(['git coord', *words])} ")


def test_the_list_of_commands_is_whole(repo: Repo) -> None:
    done = repo.coord("-h")
    listed = [line.split()[0] for line in done.out.split("Commands:\n")[1].splitlines()]
    assert listed == VISIBLE


def test_without_arguments_the_help_is_printed(repo: Repo) -> None:
    done = repo.coord()
    assert (done.code, done.out, done.err) == (2, "", repo.coord("-h").out)


@pytest.mark.parametrize(
    ("words", "message", "step"),
    [
        (["bogus"], "no command 'bogus'", "git coord -h"),
        (["clai"], "no command 'clai'; did you mean 'claim'?", "git coord claim -h"),
        (["hooks", "instal"], "no command 'instal'; did you mean 'install'?", "git coord hooks install -h"),
        (["presence", "show"], "no command 'show'", "git coord presence -h"),
        (["claim", "--bogus"], "no such option '--bogus'", "git coord claim -h"),
        (["status", "a.txt"], "got unexpected extra argument (a.txt)", "git coord status -h"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_does_not_exist_is_wrong_usage_with_a_suggestion(
    repo: Repo, words: list[str], message: str, step: str
) -> None:
    assert said(repo.coord(*words)) == (2, "", f"git coord: {message}\nnext   {step}\n")
    assert type_in(repo, step).code == 0
    answer = {"ok": False, "code": "usage", "message": message, "next": step}
    assert json.loads(repo.coord("--json", *words).out) == answer
    assert said(repo.coord("--json", *words))[2] == ""


def test_a_path_after_two_dashes_is_never_an_option(alone: Repo) -> None:
    assert said(alone.coord("claim", "--", "--json")) == (
        0,
        "#1  yours until <time>, longer while you are alive\n  edit   path:--json   new\n",
        "",
    )


@pytest.mark.parametrize("name", [name for name in VISIBLE if name not in ("adapter", "hooks", "verify", "mcp")])
def test_every_command_answers_with_one_object_also_when_it_cannot(repo: Repo, name: str) -> None:
    arguments = {"break": ["#1", "-m", "x"], "post": ["x"], "claim": ["x"], "release": ["x"], "renew": ["x"]}
    arguments |= {
        "takeover": ["x"],
        "expel": ["x", "-m", "x"],
        "revoke": ["SHA256:x", "-m", "x"],
        "block": ["task:x", "-m", "x"],
        "unblock": ["task:x"],
        "check": ["x"],
        "init": ["--agent", "Bad"],
        "run": ["true"],
        "move": ["--follow"],
    }
    done = repo.with_env(GIT_COORD_AGENT="ghost").coord(name, *arguments.get(name, []), "--json")
    answer = json.loads(done.out)
    if name == "deinit":
        assert (done.code, answer["ok"]) == (0, True)
    elif name == "doctor":
        assert (done.code, answer["ok"], answer["findings"][1]["next"]) == (1, False, "git coord init")
    else:
        code = 2 if name == "init" else 1
        assert (done.code, answer["ok"], answer["code"]) == (code, False, "usage" if code == 2 else "error")
        assert answer["next"] == "git coord init"
        assert done.err == ""


def test_the_way_in_that_the_hints_show_leads_in(repo: Repo) -> None:
    done = repo.coord("claim", "a")
    seen = []
    while done.code:
        seen.append(hints(done)[0])
        step = seen[-1].replace("NAME", "alpha")
        assert type_in(repo, step).code == 0, step
        done = repo.coord("claim", "a")
    assert len(seen) <= 2


def test_a_mistyped_option_before_the_command_is_not_swallowed(repo: Repo) -> None:
    assert repo.coord("--jsn", "status").code == 2
    assert repo.coord("-V").out == "git-coord, version 0.1.0\n"


def test_a_closed_pipe_ends_quietly(alone: Repo) -> None:
    done = type_in(alone, "set -o pipefail; git coord status | true")
    assert done.err == ""


GITS = ("submodule", "config", "log", "remote", "ls-remote")
"""Commands of git that are advised."""


def _advised() -> list[str]:
    """Return what the front end and the composition root advise, with replacement fields as `{}`."""
    found = []
    for source in read_sources():
        for node in ast.walk(source.tree) if source.layer in ("cli", "app") else ():
            if isinstance(node, ast.keyword) and node.arg == "next":
                found += [literal.text for literal in source.literals(node.value)]
    return sorted({text for text in found if " " in text})


def test_what_the_front_end_advises_are_commands_that_exist(repo: Repo) -> None:
    steps = [step for step in _advised() if not step.startswith("pipx ")]  # how to get what is not installed
    assert len(steps) > 8
    assert [
        step
        for step in steps
        if not f"{step} ".startswith(
            ("git coord ", "git -C {} coord ", *(f"git {verb} " for verb in GITS), "cd ", "{} ")
        )
    ] == []
    for step in steps:
        if step.startswith("git coord "):
            assert type_in(repo, f"{step.replace('{}', 'x')} -h").code == 0, step
