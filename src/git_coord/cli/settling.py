"""Claims that only wait for a branch, in words: settled where it has the work, or left alone and why."""

from __future__ import annotations

from typing import Any

from git_coord.app import App
from git_coord.domain.ledger import Change
from git_coord.domain.state import LiveClaim

from . import render
from .output import Output


def settle(app: App, output: Output) -> bool:
    """End what has landed, as far as this clone knows, and say so; False when nothing has."""
    from git_coord.service.landing import settle_landed

    changes = settle_landed(app.coord, app.branches())
    for change in changes:
        output.talk(f"git coord: {line(change)}")
    return bool(changes)


def line(change: Change) -> str:
    """Return what was settled."""
    claim = change.before
    assert claim is not None
    assert claim.settling is not None
    return f"settled  #{claim.token} {claim.holder}   {_names(claim)}   {claim.settling.until} has it"


def settled_object(change: Change) -> dict[str, Any]:
    """Return a claim that ended because its branch has the work, as `--json` shows it."""
    claim = change.before
    assert claim is not None
    assert claim.settling is not None
    items = [render.item_object(item)["path"] for _, item in claim.live()]
    return {"token": claim.token, "agent": claim.holder, "paths": items, **render.landed_object(claim.settling)}


def left_alone(claim: LiveClaim) -> str:
    """Return what is said of a claim that `release --all` does not give back."""
    assert claim.settling is not None
    freed = f"git coord release '#{claim.token}' frees it all the same"
    return f"#{claim.token} stays: {_names(claim)} waits until {claim.settling.until} has the work ({freed})"


def _names(claim: LiveClaim) -> str:
    return "  ".join(render.shown(item) for _, item in claim.live())
