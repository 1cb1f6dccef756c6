"""What `gc` takes away of this clone's small files, and what it leaves alone."""

from __future__ import annotations

import os

from tests.service.scene import Desk, Scene

from git_coord.service.old_files import OLD_SECONDS, drop_old_files


def leave(desk: Desk, name: str, text: str, *, age: int) -> None:
    """Leave a file that was written so many seconds ago."""
    desk.files.write(name, text.encode())
    at = desk.clock.now() - age
    os.utime(desk.files.path(name), (at, at))


def left(desk: Desk) -> list[str]:
    return sorted(
        f"{folder}/{name}" for folder in ("posts.read", "runs") for name in os.listdir(desk.files.path(folder))
    )


def test_marks_of_sessions_and_lists_of_runs_long_over_go_and_what_is_of_use_stays(scene: Scene) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    held = alpha.granted("a.txt").claim.op
    old, new = OLD_SECONDS + 1, OLD_SECONDS - 1
    leave(alpha, f"posts.read/alpha.{alpha.session}", "now", age=old)
    leave(alpha, "posts.read/alpha.before", "long over", age=old)
    leave(alpha, "posts.read/alpha.another", "perhaps at work", age=new)
    leave(alpha, f"posts.read/beta.{alpha.session}x", "nobody's", age=old)
    leave(alpha, "runs/1", f"{held}\n", age=old)
    leave(alpha, "runs/2", f"{'0' * 32}\n", age=old)
    leave(alpha, "runs/3", f"{'0' * 32}\n", age=new)
    assert drop_old_files(alpha.coord()) == 3
    assert left(alpha) == [f"posts.read/alpha.{alpha.session}", "posts.read/alpha.another", "runs/1", "runs/3"]
    assert drop_old_files(alpha.coord()) == 0
    assert drop_old_files(beta.coord()) == 0
