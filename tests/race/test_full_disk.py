"""A disk that is full, under a clone and under the hub: said, nothing half done, and all is well once there is room."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.helpers import hub_with_clones, new_repo
from tests.race.crew import holdings, init, wrong

MOUNT = "mount -t tmpfs -o size=3m,nr_inodes=2000 small"
LEFT = (0, 1, 2, 4, 8, 16, 48)
HUB_LEFT = (0, 4, 48)
"""Free pages of 4 KiB: from nothing to enough, so that another write of the command fails each time."""


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """Return a small file system of its own; skips where none can be mounted."""
    place = tmp_path / "small"
    place.mkdir()
    done = subprocess.run([*MOUNT.split(), str(place)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"needs the right to mount a tmpfs (root): {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path, pages: int) -> Path:
    """Fill the file system of `place` but for some pages; return the file to remove."""
    stuffing = place / "stuffing"
    with open(stuffing, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    os.truncate(stuffing, max(0, stuffing.stat().st_size - pages * 4096))
    return stuffing


@pytest.mark.slow
def test_a_full_disk_under_the_clone_ends_in_an_error_and_in_no_half_claim(env: dict[str, str], small: Path) -> None:
    repo = new_repo(small / "repo", env)
    alpha, beta = (repo.with_env(GIT_COORD_AGENT=name) for name in ("alpha", "beta"))
    init(alpha, beta)
    held = {}
    codes = set()
    for pages in LEFT:
        stuffing = fill(small, pages)
        done = alpha.coord("claim", f"{pages}.txt")
        codes.add(done.code)
        assert done.code in (0, 1), done
        assert "Traceback" not in done.err, done.err
        stuffing.unlink()
        now = holdings(beta)
        # A claim that was told is there; one that failed may be there too, when it failed after its swap: once.
        assert now.items() - held.items() in ({(f"{pages}.txt", "alpha")}, set() if done.code else None), (done, now)
        assert held.items() <= now.items()
        held = now
        assert wrong(alpha) == []
    assert codes == {0, 1}
    assert beta.coord("claim", "mine.txt").code == 0
    alpha.git("fsck", "--strict")
    assert alpha.coord("release", "--all").code == 0
    assert holdings(alpha) == {"mine.txt": "beta"}


@pytest.mark.slow
def test_a_full_disk_under_the_hub_is_unknown_and_a_claim_that_failed_is_taken_back(
    tmp_path: Path, env: dict[str, str], small: Path
) -> None:
    _, alpha, beta = hub_with_clones(tmp_path, env, ["alpha", "beta"])
    hub = replace(alpha, path=small / "hub.git")
    alpha.git("clone", "-q", "--bare", str(tmp_path / "hub.git"), str(hub.path))
    for clone in (alpha, beta):
        clone.git("remote", "set-url", "origin", str(hub.path))
    init(alpha, beta)
    held = {}
    codes = set()
    for pages in HUB_LEFT:
        stuffing = fill(small, pages)
        done = alpha.coord("claim", f"{pages}.txt")
        codes.add(done.code)
        assert done.code in (0, 5), done
        assert "Traceback" not in done.err, done.err
        assert done.code == 0 or "cannot store what is pushed" in done.err, done
        stuffing.unlink()
        beta.coord_json("sync")
        alpha.coord_json("sync")
        held |= {f"{pages}.txt": "alpha"} if done.code == 0 else {}
        assert holdings(alpha) == holdings(beta) == held
        assert (wrong(alpha), wrong(beta)) == ([], [])
    assert codes == {0, 5}
    hub.git("fsck", "--strict")


READING = (["check", "a.txt"], ["status"], ["log"], ["whoami"], ["policy"], ["posts"], ["presence"], ["verify", "HEAD"])


@pytest.mark.slow
def test_a_repository_that_may_only_be_read_is_read(env: dict[str, str], small: Path) -> None:
    repo = new_repo(small / "repo", env)
    repo.commit("first", **{"a.txt": "a"})
    alpha, beta = (repo.with_env(GIT_COORD_AGENT=name) for name in ("alpha", "beta"))
    init(alpha, beta)
    alpha.coord_json("claim", "a.txt")
    answers = {command[0]: beta.coord(*command) for command in READING}
    subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
    for command in READING:
        done = beta.coord(*command)
        assert (command, done.code) == (command, answers[command[0]].code), done
        assert "Traceback" not in done.err
    (row,) = beta.coord_json("check", "a.txt", code=3)["resources"]
    assert row["holder"] == "alpha"
    refused = beta.coord("claim", "b.txt")
    assert (refused.code, "Traceback" in refused.err) == (5, False)
    subprocess.run(["mount", "-o", "remount,rw", str(small)], check=True)
    assert holdings(beta) == {"a.txt": "alpha"}
    assert wrong(alpha) == []
