"""How long work says how far it has come."""

from __future__ import annotations

import pytest

from git_coord.cli import output
from git_coord.cli.output import Output


def test_progress_is_silent_for_a_second_and_then_told_once_a_second(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr(output.time, "monotonic", lambda: now)
    out = Output(is_json=True)
    for moment in (100.5, 101.1, 101.9, 102.2):
        now = moment
        out.progress(f"at {moment}")
    told = capsys.readouterr()
    assert told.err == "git coord: at 101.1\ngit coord: at 102.2\n"
    assert told.out == ""
