"""The frame of the benchmarks measures what it says, and its rows run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bench import __main__ as bench
from tests.bench import rows_history
from tests.bench.lab import Lab
from tests.bench.registry import Measured, Row, find_rows, row


def make_row(value: float, limit: float | None) -> Row:
    return Row("a row", "2 x", "a reference", limit, "x", lambda lab: Measured(value, "details"))


@pytest.mark.parametrize(("value", "limit", "mark"), [(2.0, 2.0, "pass"), (2.01, 2.0, "over"), (9.0, None, "info")])
def test_a_row_is_judged_by_its_limit(value: float, limit: float | None, mark: str) -> None:
    assert bench.measure([make_row(value, limit)], 1)[0].mark == mark


def test_commands_take_turns_and_warm_ups_are_not_counted(tmp_path: Path) -> None:
    order: list[str] = []
    times = Lab(tmp_path, 2).interleave({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, warmups=1)
    assert order == ["a", "b"] * 3
    assert {name: len(series) for name, series in times.items()} == {"a": 2, "b": 2}


def test_only_what_is_timed_counts_when_anything_is(tmp_path: Path) -> None:
    lab = Lab(tmp_path, 1)

    def prepares_long() -> None:
        sum(range(1_000_000))
        with lab.timed():
            pass

    times = lab.interleave({"partly": prepares_long, "whole": lambda: sum(range(1_000_000))}, warmups=0)
    assert times["partly"][0] * 10 < times["whole"][0]


def test_a_ratio_compares_medians() -> None:
    assert Measured.ratio([0.002, 0.004, 9.0], [0.001, 0.002, 0.002]) == Measured(2.0, "4.0 ms / 2.0 ms, n=3")


def test_the_table_is_aligned_and_the_exit_code_tells(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "find_rows", lambda pattern: [make_row(1.5, 2.0), make_row(12.0, 2.0)])
    assert bench.main([]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "      budget row  measured  at most  medians  reference, measured in the same run",
        "pass  a row       1.50 x    2 x      details  a reference",
        "over  a row       12.00 x   2 x      details  a reference",
    ]


def test_json_is_one_object(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(bench, "find_rows", lambda pattern: [make_row(1.5, 2.0)])
    assert bench.main(["--json"]) == 0
    judged = {"name": "a row", "mark": "pass", "value": 1.5, "unit": "x", "limit": 2.0}
    told = {"budget": "2 x", "detail": "details", "reference": "a reference"}
    assert json.loads(capsys.readouterr().out) == {"ok": True, "rows": [judged | told]}


def test_a_pattern_that_matches_nothing_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        bench.main(["--only", "no such row"])
    assert caught.value.code == 2
    assert capsys.readouterr().err.endswith("error: no row matches 'no such row'\n")


def test_rows_are_found_by_part_of_their_name_and_state_their_reference() -> None:
    assert [found.name for found in find_rows("history: ledger")] == [
        "history: ledger push, 100,000 user commits",
        "history: ledger fetch, 100,000 user commits",
    ]
    assert [known.name for known in find_rows() if not (known.reference and known.budget)] == []


def test_two_rows_cannot_share_a_name() -> None:
    find_rows()
    with pytest.raises(AssertionError, match=r"^two rows are named 'history: push, constant old date'"):
        row("history: push, constant old date", budget="", reference="", limit=None)(lambda lab: Measured(1))


def test_the_history_rows_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_history, "MANY", 12)
    monkeypatch.setattr(rows_history, "FEW", 3)
    lab = Lab(tmp_path, 1)
    for found in find_rows("history"):
        assert found.measure(lab).value > 0
    hub = next(tmp_path.glob("push-12-hub"))
    assert sorted(path.name for path in tmp_path.glob("history-*")) == ["history-12", "history-3"]
    assert (hub / "refs/coord/claims").exists()
