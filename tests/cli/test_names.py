"""Names of every kind go in and out unchanged, and nothing that others wrote reaches a terminal raw."""

from __future__ import annotations

import base64
import os

import pytest

from tests.cli.words import said, type_in
from tests.helpers import Repo

NAMES = {
    "tab\there": "tab\\there",
    "new\nline": "new\\nline",
    "\r\x1b[31mred": "\\r\\x1b[31mred",
    "c1\x9bK": "c1\\u009bK",
    "bidi\u202e.py": "bidi\\u202e.py",
    "zero\u200bwidth": "zero\\u200bwidth",
    "qu'o\"te": "qu'o\"te",
    "back\\slash": "back\\slash",
    "a b": "a b",
    "end.": "end.",
    "Cargo.lock": "Cargo.lock",
    ".hidden/@{x}~^": ".hidden/@{x}~^",
    "-dash": "path:-dash",
    "task:x": "path:task:x",
    ":(top)x": ":(top)x",
    "[id].tsx": "[id].tsx",
    "*?": "*?",
    "#5x": "#5x",
    "d/" * 120 + "f": "d/" * 120 + "f",
    "é" * 120: "é" * 120,
}
"""What is claimed, and how it is shown."""


def _raw(text: str) -> list[str]:
    """Return the control, escape and direction characters of an output: line ends are all there may be."""
    return [char for char in text if not (char.isprintable() or char == "\n")]


@pytest.mark.parametrize(("name", "shown"), NAMES.items(), ids=range(len(NAMES)))
def test_a_name_is_claimed_shown_pinned_and_given_back(alone: Repo, name: str, shown: str) -> None:
    if len(name.encode()) < 240:
        alone.write(name, "1\n")
    argument = f"./{name}" if name.startswith(("-", "task:")) else name
    answer = alone.coord_json("claim", argument)
    blob = "d00491fd7e5bb6fa28c517a0bb32b8b506539d4d" if len(name.encode()) < 240 else None
    assert [(item["path"], item["blob"]) for item in answer["items"]] == [(name, blob)]
    done = alone.coord("status")
    assert f"   {shown}\n" in done.out
    assert _raw(done.out) == []
    assert alone.coord_json("check", argument)["resources"][0]["status"] == "mine"
    assert alone.coord_json("release", argument)["claims"][0]["items"][0]["path"] == name


def test_a_name_that_is_not_utf8_is_base64_in_json(alone: Repo) -> None:
    name = os.fsdecode(b"ff\xff\x1b")
    wanted = {"b64": base64.b64encode(b"ff\xff\x1b").decode()}
    assert alone.coord_json("claim", name)["items"][0]["path"] == wanted
    done = alone.coord("check", name)
    assert said(done) == (0, "mine  ff\\xff\\x1b   alpha #1 edit   until <time>\nlocal, no remote\n", "")
    row = alone.coord_json("check", name)["resources"][0]
    assert (row["path"], row["held"], row["status"]) == (wanted, wanted, "mine")
    assert alone.coord_json("release", name)["claims"][0]["items"][0]["path"] == wanted
    assert alone.coord_json("release", name, code=4)["message"] == "alpha holds no claim on ff\\xff\\x1b"


def test_hints_with_odd_names_can_be_typed(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "held")
    odd = ["new\nline", "it's", "$HOME `x`", "bidi\u202e", os.fsdecode(b"\xff'\\"), "~x", "./#7", "path:a:b*"]
    done = beta.coord("claim", "held", *odd)
    line = done.out.splitlines()[-1]
    assert _raw(done.out) == []
    assert type_in(beta, line.strip().removesuffix("   (what is free)")).code == 0
    paths = [item["path"] for item in beta.coord_json("status")["claims"][-1]["items"]]
    assert paths == [*odd[:4], {"b64": base64.b64encode(b"\xff'\\").decode()}, "~x", "#7", "a:b*"]


def test_hints_about_very_long_names_still_fit_a_post(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "d")
    answer = beta.coord_json("claim", "d/" + "\n" * 2000, code=3)
    assert type_in(beta, answer["next"]).code == 0


def test_what_others_wrote_is_escaped_everywhere(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.git("checkout", "-q", "-b", "bidi\u202ebranch")
    alpha.coord_json("claim", "evil\x1b]0;title\x07\n#99 beta", "-m", "fine")
    alpha.coord_json("presence", "set", "busy", "-m", "at work")
    alpha.coord_json("sync")
    for line in (["status"], ["presence"], ["check", "evil\x1b]0;title\x07\n#99 beta"], ["log"], ["claim", "."]):
        done = beta.coord(*line)
        assert _raw(done.out + done.err) == [], line
    busy = beta.coord_json("presence")["agents"][0]
    assert (busy["state"], busy["branch"]) == ("busy", "main")


@pytest.mark.parametrize("option", ["-m", "--stamp", "--reason"])
def test_text_with_control_characters_is_refused_and_shown_escaped(alone: Repo, option: str) -> None:
    verb = "release" if option == "--reason" else "claim"
    done = alone.coord(verb, "a", option, "x=\x1b[2J\u202e")
    assert (done.code, done.out) == (2, "")
    assert _raw(done.err) == []


@pytest.mark.parametrize(
    "line",
    [
        ["bog\x1bus"],
        ["claim", "--\x1b"],
        ["claim", "a", "--ttl", "\x1b"],
        ["claim", "--agent", "\x1b", "a"],
        ["claim", "/\x1b"],
        ["claim", "task:\x1b"],
        ["presence", "set", "\x1b"],
        ["policy", "--listed", "/\x1b"],
        ["policy", "--void", "\x1b"],
        ["release", "\x1b"],
        ["post", "remove", "\x1b"],
        ["post", "--to", "\x1b", "x"],
        ["post", "--claim", "\x1b", "x"],
        ["init", "--policy-key", "/\x1b"],
    ],
    ids=lambda line: ascii(line[0]),
)
def test_errors_show_what_was_typed_escaped(alone: Repo, line: list[str]) -> None:
    done = alone.coord(*line)
    assert done.code in (1, 2, 4, 6)
    assert _raw(done.out + done.err) == []
    assert "\\x1b" in done.err
    assert "Traceback" not in done.err
