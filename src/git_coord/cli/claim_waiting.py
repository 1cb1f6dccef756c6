"""The words of `git coord claim --wait`: whom it waits for, that it waited in vain, or was interrupted."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from git_coord.app import App
from git_coord.app.patience import patience
from git_coord.domain.durations import show_age
from git_coord.domain.items import Item
from git_coord.domain.ledger import Conflict
from git_coord.errors import Kind
from git_coord.service.claims import ClaimGranted, ClaimRefused, Wanted
from git_coord.service.waiting import WaitEnded, claim_waiting

from . import refusal, render
from .output import Output
from .signals import Asked, Ending, noted


def claim(app: App, output: Output, wanted: Wanted, seconds: int) -> ClaimGranted | ClaimRefused | int:
    """Claim, and wait for that; an exit status says that nothing was claimed and all is said."""

    def tell(conflicts: tuple[Conflict, ...], place: int) -> None:
        output.talk(f"git coord: {_behind(conflicts)}, number {place} in the queue, for at most {show_age(seconds)}")

    with _endings(output) as ending:
        result = claim_waiting(app.coord, wanted, patience(app, seconds, ending.is_over, tell))
    if not isinstance(result, WaitEnded):
        return result
    app.refresh_snapshot()
    if result.is_timeout or result.is_gone:
        return _in_vain(app, output, result, wanted.items, seconds)
    if output.is_json:
        output.object({"code": "interrupted", "message": "nothing is claimed, and nothing waits"}, ok=False)
    else:
        output.talk("git coord: interrupted; nothing is claimed, and nothing waits")
    return ending.exit_status


def _endings(output: Output) -> AbstractContextManager[Ending]:
    """Return what may end the wait: signals to this process, or whoever asked for it in its own."""
    return noted() if output.host is None else nullcontext(Asked(output.host.is_over))


def _behind(conflicts: tuple[Conflict, ...]) -> str:
    """Name those in the way, each with the first of its items."""
    named: dict[str, str] = {}
    for conflict in conflicts:
        named.setdefault(render.whose(conflict.claim), render.shown(conflict.held))
    shown = [f"{who} ({what})" for who, what in named.items()]
    more = f" and {len(shown) - 5} more" if len(shown) > 5 else ""
    return f"waiting behind {', '.join(shown[:5])}{more}"


def _in_vain(app: App, output: Output, result: WaitEnded, items: tuple[Item, ...], seconds: int) -> int:
    told = refusal.Told(f"waited {show_age(seconds)} in vain, nothing claimed", Kind.TIMEOUT)
    if result.is_gone:
        told = refusal.Told("nobody is left to wait for, nothing claimed", Kind.STALE)
    return refusal.tell(app, output, result.conflicts, items, told)
