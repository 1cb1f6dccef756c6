"""`git coord run`: a command that holds claims while it lives."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from git_coord.app import App, open_app
from git_coord.domain.items import Intent
from git_coord.domain.lease import CLASSES, lease_end
from git_coord.errors import CoordError, Kind
from git_coord.service.claims import ClaimRefused, Wanted
from git_coord.service.ledger import open_ledger

from . import options, render, resources
from .claim_command import refused
from .output import Output

if TYPE_CHECKING:
    from git_coord.run.child import Child
    from git_coord.run.session import Begun
    from git_coord.run.watch import Watch

SETTINGS = {**options.HELP, "allow_interspersed_args": False}


@click.command("run", context_settings=SETTINGS)
@click.option("--claim", "claimed", multiple=True, metavar="RESOURCE", help="Claim this first (repeatable).")
@resources.glob
@click.option("-m", "purpose", default="", callback=options.clean_line, help="What for, one line.")
@click.option("--ttl", callback=options.duration, metavar="DUR", help="How long a claim outlives this command's beats.")
@click.option("--on-lost", type=click.Choice(["stop", "warn"]), default="stop", help="What if a claim is lost.")
@click.option("--grace", callback=options.duration, default="10s", metavar="DUR", help="From SIGTERM to SIGKILL then.")
@options.offline
@options.common
@click.argument("argv", metavar="-- CMD [ARGS]...", nargs=-1, required=True, type=click.UNPROCESSED)
def command(
    claimed: tuple[str, ...],
    globs: tuple[str, ...],
    purpose: str,
    ttl: int | None,
    on_lost: str,
    grace: int,
    offline: bool,
    as_json: bool,
    agent: str | None,
    argv: tuple[str, ...],
) -> int:
    """Run a command as this agent: seen by others, its claims kept alive, and given back when it ends.

    A refused claim is exit 3, and the command is not run. Else its exit status is ours, 128 and the number for a
    signal; exit 4 when a claim was lost and the command stopped for it. Signals are passed on.
    """
    from git_coord.run import session

    app, output = options.means(as_json, agent, offline=offline)
    open_ledger(app.coord)
    wanted = _wanted(app, claimed, globs, purpose, ttl) if claimed or globs else None
    begun = session.begin(app, os.path.basename(argv[0]), wanted)
    if isinstance(begun, ClaimRefused):
        assert wanted is not None
        return refused(app, output, begun, wanted.items)
    _tell(app, output, begun)
    app.rest()
    return _run(app, begun, argv, session.environment(app, begun), grace if on_lost == "stop" else 0)


def _wanted(app: App, names: tuple[str, ...], globs: tuple[str, ...], purpose: str, ttl: int | None) -> Wanted:
    items = resources.items(app, list(names), globs, Intent.EDIT).items
    return Wanted(items, purpose, "standard", ttl or CLASSES["standard"], None, app.worktree.base())


def _tell(app: App, output: Output, begun: Begun) -> None:
    if begun.claim is None:
        return
    claim = begun.claim.claim
    until = render.clock_time(lease_end(claim, None), app.coord.clock.now())
    names = "  ".join(render.shown(item) for _, item in claim.live())
    name = render.token(claim, is_confirmed=begun.claim.is_confirmed)
    output.talk(f"git coord: {name}  yours while this runs, else until {until}   {names}")


def _reopener(app: App, told: set[int]) -> Callable[[], App]:
    """Return what opens the repository anew: a long life sees others' work only so.

    That a claim is lost, which every command says, is not said again of tokens that were `told`.
    """
    cwd, env, me = os.getcwd(), dict(os.environ), app.coord.me.agent
    is_offline = app.coord.settings.offline == "allow"

    def notice(line: str) -> None:
        if not any(line.startswith(f"lost: #{token} ") for token in told):
            app.coord.notice(line)

    return lambda: open_app(cwd, env, agent=me, offline=is_offline, notice=notice)


def _run(app: App, begun: Begun, argv: tuple[str, ...], env: dict[str, str], grace: int) -> int:
    """Run the command and give back; `grace` 0 only warns of a loss."""
    from git_coord.run import session
    from git_coord.run.child import Child, ending
    from git_coord.run.watch import Watch

    told: set[int] = set()
    reopen, reason, child, notice = _reopener(app, told), "not started", Child(), app.coord.notice
    try:
        watch = Watch(reopen, begun.run, told)
        try:
            child.start(argv, env)
        except OSError as trouble:  # as a shell says it
            notice(f"{argv[0]} cannot be run: {trouble.strerror}")
            return 127 if isinstance(trouble, FileNotFoundError) else 126
        session.note_command(app, begun, child.pid)
        is_lost = _supervise(child, watch, notice, grace)
        status, reason = ending(child.code or 0)
        if is_lost:
            status, reason = Kind.LOST.exit_status, "lost"
        return status
    finally:
        child.let_go()
        _give_back(reopen, begun, reason)


def _supervise(child: Child, watch: Watch, notice: Callable[[str], None], grace: int) -> bool:
    """Wait for the command; tell whether it was stopped because a claim was lost."""
    from time import monotonic

    kill_at: float | None = None
    is_lost = False
    while not child.has_ended():
        lost = watch.losses()
        for name in lost:
            notice(f"this command has lost {name}; it {'is stopped' if grace else 'goes on'}")
        if lost and grace and not is_lost:
            child.stop()
            kill_at = monotonic() + grace
        is_lost = is_lost or bool(lost)
        if kill_at is not None and monotonic() >= kill_at:
            child.kill()
            kill_at = None
        left = watch.seconds()
        child.wait(left if kill_at is None else min(left, kill_at - monotonic()))
        watch.turn()
    return is_lost and grace > 0


def _give_back(reopen: Callable[[], App], begun: Begun, reason: str) -> None:
    """Release; trouble with that never hides how the command ended."""
    from git_coord.run import session

    try:
        session.end(reopen, begun, reason)
    except (CoordError, OSError) as trouble:
        reopen().coord.notice(f"not all was given back: {trouble}; git coord release --all")
