"""What was claimed under a `git coord run`, by whichever process: given back when that ends."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from git_coord.domain.ids import Nonce, is_nonce
from git_coord.domain.items import Intent, Item
from git_coord.lean import NamedTuple

from .context import Coord

if TYPE_CHECKING:
    from git_coord.domain.statements import Claim, Takeover

FOLDER = "runs"
"""One file a run, of lines: `NONCE` of a claim, and before it `keep NONCE POSITION INTENT LEASE TTL PURPOSE` for each
of its items that the agent held before the run, by such terms."""
_WORDS = 7


class Kept(NamedTuple):
    """How an item was held before it was claimed once more under a run."""

    intent: Intent
    lease: str
    ttl: int
    purpose: str


def note_claimed(coord: Coord, op: Claim | Takeover) -> None:
    """Remember a claim, before it is published, for the end of the run it is made under, if there is one."""
    if coord.run is not None:
        kept = _held_before(coord, coord.run, op.items)
        rows = [
            f"keep {op.nonce} {at} {how.intent.value} {how.lease} {how.ttl} {how.purpose}" for at, how in kept.items()
        ]
        coord.files.append(f"{FOLDER}/{coord.run}", "".join(f"{row}\n" for row in [*rows, op.nonce]).encode("utf-8"))


def _held_before(coord: Coord, run: str, items: Collection[Item]) -> dict[int, Kept]:
    """Return, by position, the items that the agent holds already, not only since this run began."""
    from .ledger import view  # noqa: PLC0415 - which needs operations, and only a run asks

    state, _ = view(coord)
    under, kept = claimed_under(coord, run), kept_under(coord, run)
    found: dict[int, Kept] = {}
    for at, item in enumerate(items):
        for nonce, position in sorted(state.index.same(item)):
            claim = state.claims[nonce]
            if claim.holder != coord.me.agent or not item.intent.includes(claim.items[position].intent):
                continue
            how = Kept(claim.items[position].intent, claim.lease, claim.ttl, claim.purpose)
            known = kept.get((nonce, position)) if nonce in under else how
            if known is not None and (at not in found or known.intent is Intent.EDIT):
                found[at] = known
    return found


def claimed_under(coord: Coord, run: str) -> Collection[Nonce]:
    """Return what was claimed under a run, whether or not it is held still."""
    return {Nonce(row) for row in _rows(coord, run) if is_nonce(row)}


def kept_under(coord: Coord, run: str) -> Mapping[tuple[Nonce, int], Kept]:
    """Return what was held before a run and claimed under it: claim and position, and how it was held."""
    found = {}
    for row in _rows(coord, run):
        words = row.split(" ", _WORDS - 1)
        if len(words) == _WORDS and words[0] == "keep" and words[2].isdigit() and words[5].isdigit():
            found[Nonce(words[1]), int(words[2])] = Kept(Intent(words[3]), words[4], int(words[5]), words[6])
    return found


def _rows(coord: Coord, run: str) -> list[str]:
    return (coord.files.read(f"{FOLDER}/{run}") or b"").decode("utf-8", "replace").split("\n")


def forget_run(coord: Coord, run: str) -> None:
    """Forget a run that has ended."""
    coord.files.remove(f"{FOLDER}/{run}")
