"""What follows a command: what ends soon is said, and a process beside it pushes a beat or tidies up if that is due."""

from __future__ import annotations

from git_coord.guard import beats

from .root import App


def afterwards(app: App) -> None:
    """End a command; raises CoordError or OSError, which are no trouble of what the command did."""
    coord = app.coord
    if coord.identity is None or app.config.get("coord.repo") is None:
        return
    from git_coord.service.leases import afterwards as say
    from git_coord.service.superseded import has_many

    say(coord)
    folder, agent, now = coord.files.common, coord.me.agent, coord.clock.now()
    if not beats.push_if_due(folder, agent, now) and has_many(coord):
        beats.start(folder, agent, now, beats.SPACING)


def clear_away(app: App) -> None:
    """Remove superseded heartbeats and posts, when there are many."""
    from git_coord.service.superseded import clear_away as clear
    from git_coord.service.superseded import has_many
    from git_coord.store.unreferenced import LooseObjects

    if has_many(app.coord):
        clear(app.coord, LooseObjects(app.git, app.location.common_dir).discard)
