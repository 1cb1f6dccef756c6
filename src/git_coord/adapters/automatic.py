"""Claims that an edit hook makes by itself: placed here at once, confirmed beside the edit, given back at its end."""

from __future__ import annotations

import os
from collections.abc import Sequence

from git_coord.app import App
from git_coord.domain.ids import Nonce, is_nonce
from git_coord.domain.items import Intent, Item, ItemKind, normalise_path
from git_coord.domain.lease import CLASSES
from git_coord.domain.state import LiveClaim
from git_coord.domain.terms import MAX_ITEMS
from git_coord.domain.text import escape_for_display, is_clean_line
from git_coord.errors import CoordError, Kind
from git_coord.guard.edit_state import is_large
from git_coord.service import claims
from git_coord.service.claims import ClaimGranted, ClaimRefused, Wanted
from git_coord.service.here_only import claim_here, release_here
from git_coord.service.ledger import view
from git_coord.service.selection import Selection

from .detached import start

LEASE = "quick"
FOLDER = "edit"


def _record(app: App) -> str:
    return f"{FOLDER}/auto/{app.coord.me.agent}"


def _news(app: App) -> str:
    return f"{FOLDER}/news/{app.coord.me.agent}"


def _asked(app: App) -> str:
    return f"{FOLDER}/asked/{app.coord.me.agent}"


def auto_claim(app: App, paths: Sequence[str], tool: str, *, waits: bool) -> ClaimGranted | ClaimRefused:
    """Claim files that nobody holds, for the length of a quick lease; `waits` for the remote to confirm it.

    Raises CoordError as `claims.claim` does, and USAGE for more files than one claim can have, or a name too long.
    """
    if len(paths) > MAX_ITEMS:
        text = f"{len(paths)} files in one call, and at most {MAX_ITEMS} in one claim"
        raise CoordError(Kind.USAGE, text, next="git coord claim FOLDER -m WHY")
    top = app.location.top or ""
    pins = app.worktree.pins([path for path in paths if not is_large(top, os.fsencode(path))])
    items = tuple(
        Item(ItemKind.PATH, normalise_path(path), Intent.EDIT, pins.get(path), file=path not in pins) for path in paths
    )
    wanted = Wanted(items, f"auto, an edit by {tool}", LEASE, CLASSES[LEASE], None, app.worktree.base())
    done = (claims.claim if waits else claim_here)(app.coord, wanted)
    if isinstance(done, ClaimGranted):
        app.coord.files.append(_record(app), f"{done.claim.op}\n".encode("ascii"))
        if not done.is_confirmed:
            names = ", ".join(escape_for_display(path) for path in paths[:3])
            line = f"{done.claim.op} git coord: the claim of {names} is pending, the remote has not confirmed it yet\n"
            app.coord.files.append(_news(app), line.encode(errors="replace"))
            app.coord.files.append(_asked(app), f"{done.claim.op}\n".encode("ascii"))
    return done


def automatic(app: App) -> set[Nonce]:
    """Return the claims that this agent's hooks made, held or not."""
    return _nonces(app.coord.files.read(_record(app)))


def take_asked(app: App) -> set[Nonce]:
    """Return, once, the claims whose outcome the agent was not told yet."""
    return _nonces(app.coord.files.take(_asked(app)))


def ask_again(app: App, nonces: set[Nonce]) -> None:
    """Keep claims whose outcome is still not known."""
    if nonces:
        app.coord.files.append(_asked(app), "".join(f"{nonce}\n" for nonce in nonces).encode("ascii"))


def _nonces(data: bytes | None) -> set[Nonce]:
    return {Nonce(word) for word in (data or b"").decode("ascii", "replace").split() if is_nonce(word)}


def held_automatically(app: App) -> list[LiveClaim]:
    """Return the claims that this agent's hooks made and that it holds."""
    mine, state = automatic(app), view(app.coord)[0]
    return [claim for claim in state.held_by(app.coord.me.agent) if claim.op in mine]


def forget(app: App) -> None:
    """Forget which claims this agent's hooks made."""
    app.coord.files.remove(_record(app))


def give_back(app: App, reason: str, *, only: Sequence[str] | None = None) -> list[str]:
    """Release what the hooks claimed (`only`: of these paths) without waiting for a remote; return the paths."""
    held = held_automatically(app)
    if only is not None:
        held = [claim for claim in held if all(item.name in only for _, item in claim.live())]
    if held:
        release_here(app.coord, Selection(tuple((claim, None) for claim in held)), reason)
        app.refresh_snapshot()
        start_sync(app)
    if only is None:
        forget(app)
    return [item.name for claim in held for _, item in claim.live()]


def start_sync(app: App) -> None:
    """Start the process that exchanges with the remote, and do not wait for it."""
    if app.coord.remote is None:
        return
    start(app, ["settle"])


def tell(app: App, nonce: Nonce, words: str) -> None:
    """Let the agent's next call report what became of a claim, instead of that it is pending."""
    lines = app.coord.files.take(_news(app)).splitlines()
    kept = [line for line in lines if not line.startswith(nonce.encode("ascii"))]
    shown = words if is_clean_line(words) else escape_for_display(words)
    kept.append(f"{nonce} git coord: {shown}".encode(errors="replace"))
    app.coord.files.append(_news(app), b"".join(line + b"\n" for line in kept))
