"""The guard's side of a sign of life: what is due by two small files, and a process that outlives its parent."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from git_coord.guard import beats

NOW = 1_800_000_000


def leased(folder: Path, text: str, acknowledged: str | None = None) -> str:
    (folder / beats.LEASES).mkdir()
    (folder / beats.BEATS).mkdir()
    (folder / beats.LEASES / "alpha").write_text(text)
    if acknowledged is not None:
        (folder / beats.BEATS / "alpha").write_text(acknowledged)
    return str(folder)


@pytest.mark.parametrize(
    ("acknowledged", "is_due"),
    [
        (f"{NOW - 199} s1\n", False),
        (f"{NOW - 200} s1\n", True),
        (f"{NOW + 1} s1\n", True),
        (f"{NOW} s2\n", True),
        ("nonsense\n", True),
        (None, True),
    ],
)
def test_a_beat_is_due_by_the_age_of_the_last_one(tmp_path: Path, acknowledged: str | None, is_due: bool) -> None:
    folder = leased(tmp_path, f"s1 200 {NOW + 999}\nshown\n", acknowledged)
    assert beats.is_due(folder, "alpha", NOW) is is_due


@pytest.mark.parametrize("text", ["", "s1 200\n", "s1 x 5\n", f"s1 0 {NOW}\n"])
def test_without_a_lease_that_a_remote_must_know_of_nothing_is_due(tmp_path: Path, text: str) -> None:
    assert not beats.is_due(leased(tmp_path, text), "alpha", NOW)
    assert not beats.is_due(str(tmp_path), "beta", NOW)


def test_without_a_remote_a_beat_is_a_line_in_a_file(tmp_path: Path) -> None:
    folder = leased(tmp_path, f"s1 0 {NOW}\n-\n", f"{NOW - 5} s1\n")
    beats.beat(folder, "alpha", NOW)
    assert beats.last_beat(folder, "alpha") == (NOW, b"s1")
    beats.beat(folder, "alpha", NOW - 100)
    assert beats.last_beat(folder, "alpha") == (NOW, b"s1")


def test_attempts_do_not_pile_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(beats, "detach", lambda argv, _env: started.append(argv) or 1)
    folder = leased(tmp_path, f"s1 200 {NOW + 999}\n-\n", f"{NOW - 500} s1\n")
    for later, expected in ((0, True), (0, False), (59, False), (60, True), (61, False), (-5, True)):
        assert beats.push_if_due(folder, "alpha", NOW + later) is expected, later
    command = [sys.executable, "-P", "-m", "git_coord.hooks", "beat", "alpha"]
    assert started == [command] * 3


def test_a_detached_process_has_none_of_our_pipes_and_its_own_session(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    told = tmp_path / "told"
    os.mkfifo(told)
    script = (
        "import os, sys; names = [os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd') if n < '3'];"
        "open(sys.argv[1], 'w').write(' '.join([str(os.getsid(0) == os.getpid()), *names[:3]]))"
    )
    beats.detach([sys.executable, "-c", script, str(told)], dict(os.environ))
    os.close(writer)
    assert told.read_text() == "True /dev/null /dev/null /dev/null"
    assert os.read(reader, 1) == b""  # nobody else has the other end
    os.close(reader)
    os.waitpid(-1, 0)
