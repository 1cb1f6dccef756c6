"""`init` in a clone that may not write at the remote: nothing half done, and a note that it is read-only."""

from __future__ import annotations

from git_coord.domain.ids import Agent
from git_coord.errors import CoordError, Kind
from git_coord.service.exchange.parts import LIMIT
from git_coord.service.members.read_only import ReadOnly, forget, note
from git_coord.service.membership import join
from git_coord.service.remote_ledger import LEDGER_FAMILIES, fetch_and_adopt
from git_coord.store import refnames
from git_coord.store.interface import ABSENT, RefUpdate

from .root import App
from .settings import configure


def join_or_look(app: App, *, may_look: bool) -> bool | ReadOnly:
    """Join, and tell whether that was new; return why not where the remote answers and takes nothing from here.

    A worktree that has an agent already is never made read-only: then it may not `may_look`.

    What the remote declines is tried once more: it may be one that takes only one ref at a time. Raises as `join`.
    """
    trouble: CoordError | None = None
    for _ in range(2):
        try:
            joined = join(app.coord)
        except CoordError as found:
            trouble = found
            if not _is_declined(found):
                break
        else:
            forget(app.coord.files)
            return joined
    assert trouble is not None
    if not may_look or trouble.kind is not Kind.UNKNOWN or not trouble.data.get("reason") or not _answers(app):
        raise trouble
    return True if _is_member(app) else _look(app, trouble)


def _is_declined(trouble: CoordError) -> bool:
    return trouble.kind is Kind.UNKNOWN and "declined" in str(trouble.data.get("reason", ""))


def _answers(app: App) -> bool:
    """Tell whether the remote can be read, and has not got the join: else somebody may still place it."""
    try:
        fetch_and_adopt(app.coord, LEDGER_FAMILIES)
    except CoordError:
        return False
    ref = refnames.owned(refnames.Family.REQUESTS, app.coord.me.agent)
    found = app.coord.store.refs(ref, refnames.fetched(ref))
    return found.get(ref) != found.get(refnames.fetched(ref)) or _is_member(app)


def _is_member(app: App) -> bool:
    return app.coord.me.agent in app.coord.known.state.agents


def _look(app: App, trouble: CoordError) -> ReadOnly:
    """Take back what the attempt has left here: the published join, and a name that would act for nobody."""
    agent = Agent(app.coord.me.agent)
    ref = refnames.owned(refnames.Family.REQUESTS, agent)
    if oid := app.coord.store.refs(ref).get(ref):
        app.coord.store.swap([RefUpdate(ref, ABSENT, oid)], "withdraw")
    is_linked = app.location.git_dir != app.location.common_dir  # what all share is the main worktree's
    for scope, _ in app.config.scoped("coord.agent"):
        if scope == "worktree" or (scope == "local" and not is_linked):
            configure(app, f"--{scope}", "--unset-all", "coord.agent")
    found = ReadOnly(agent, trouble.message)
    note(app.coord.files, found)
    app.coord.files.remove(LIMIT)  # it takes no number of refs at all
    app.coord.identity = None
    return found
