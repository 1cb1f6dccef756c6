"""Taking over claims of holders who are gone: which ones, whether every gate is open, and the operation itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from git_coord.domain.changing import changed
from git_coord.domain.granting import place_in_queue
from git_coord.domain.items import Intent, Item, ItemKind, show_name
from git_coord.domain.ledger import Change, Granted, Outcome, Refusal, Refused, conflicts
from git_coord.domain.obstacles import obstacles
from git_coord.domain.state import LiveClaim, State
from git_coord.domain.statements import Takeover
from git_coord.domain.timestamps import format_stamp
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple
from git_coord.store.refnames import Family

from .claiming import Wanted, cancelled, check_ttl, refused, taken_back
from .context import Coord
from .gates import Looked, look, scene
from .here import noted
from .ledger import open_ledger
from .operations import operation, require_membership
from .place import UnreachableError, submit
from .presence import show_again
from .remote_ledger import ROSTER_FAMILIES, fetch_and_adopt
from .selection import by_token
from .tasks import refuse_blocked

FAMILIES = (*ROSTER_FAMILIES, Family.NOTES)
PERSON = "ask the person who runs it"
STOPS = {
    "branch_active": "the lease is over, but {holder} goes on committing",
    "roster_disagrees": "the ledger says that the lease is over, the roster that {holder} is here",
    "presence_unknown": "the lease is over, but no presence of {holder} is to be found, which says nothing",
}
"""Why a closed gate is a person's to open, by the `code` of the answer."""


class TakenOver(NamedTuple):
    """The claim that was granted, the claims that ended for it, and what of them is free now."""

    claim: LiveClaim
    taken: tuple[LiveClaim, ...]
    freed: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Meant:
    """What is asked for, and the claims in the way that would have to end."""

    items: tuple[Item, ...]
    claims: tuple[LiveClaim, ...]


def look_again(coord: Coord) -> float:
    """Fetch all that gates are judged by; return the second of the monotonic clock before that.

    Raises CoordError(UNKNOWN) without an answer: a takeover is never decided by an old picture.
    """
    open_ledger(coord)
    began = coord.clock.monotonic()
    require_membership(coord)
    if coord.remote is not None:
        fetch_and_adopt(coord, FAMILIES)
        require_membership(coord)
        return began
    from .watched import note_watched  # noqa: PLC0415 - where nothing is fetched

    note_watched(coord)
    return began


def meant(coord: Coord, tokens: Sequence[int], items: Sequence[Item], *, everything: bool, typed: str = "") -> Meant:
    """Return what tokens (all that such a claim holds) and items mean; `everything` adds what else those claims hold.

    What is free among it is claimed with the rest; `typed` is how the items were named.
    Raises CoordError(LOST) for a token that nobody holds, CoordError(ERROR) for a token of one's own, and where nothing
    at all is in the way.
    """
    state, me = coord.known.state, coord.me.agent
    whole = [claim for claim, _ in by_token(state, tokens, None).claims]
    for claim in whole:
        if claim.holder == me:
            raise CoordError(Kind.ERROR, f"#{claim.token} is yours", next="git coord status")
    found = {claim.op: claim for claim in whole}
    found |= {hit.claim.op: hit.claim for hit in conflicts(state, me, items)}
    if not found:
        raise _nothing(state, items, typed)
    claims = tuple(sorted(found.values(), key=lambda claim: claim.token))
    theirs = [item for claim in (claims if everything else whole) for _, item in claim.live()]
    return Meant(_once([*items, *theirs]), claims)


def _nothing(state: State, items: Sequence[Item], typed: str) -> CoordError:
    """Return the error for items that nobody else holds."""
    names = ", ".join(show_name(item.kind, item.name) for item in items[:3])
    more = f" and {len(items) - 3} more" if len(items) > 3 else ""
    verb, what = ("is", "it") if len(items) == 1 else ("are", "them")
    if all(state.index.overlapping(item) for item in items):
        return CoordError(Kind.ERROR, f"{names}{more} {verb} yours already", next="git coord status")
    text = f"{names}{more} {verb} free: nobody else holds {what}, there is nothing to take over"
    return CoordError(Kind.ERROR, text, next=f"git coord claim {typed}".rstrip())


def _once(items: Sequence[Item]) -> tuple[Item, ...]:
    """Return each item once, for edit where any of them is."""
    found: dict[tuple[ItemKind, str], Item] = {}
    for item in items:
        known = found.get((item.kind, item.name))
        if known is None or known.intent is Intent.READ:
            found[item.kind, item.name] = item
    return tuple(found.values())


def examine(coord: Coord, claims: Sequence[LiveClaim], began: float) -> list[Looked]:
    """Look at every gate of each claim; raises CoordError(STALE) when the policy wants no takeovers."""
    if coord.known.state.policy.takeover == "never":
        raise CoordError(
            Kind.STALE,
            "the policy of this ledger says that nothing is taken over",
            next=f"git coord break {_tokens(claims)} -m TEXT",
            data={"code": "takeover_off"},
        )
    here = scene(coord, began)
    return [look(here, claim) for claim in claims]


def _tokens(claims: Sequence[LiveClaim]) -> str:
    return " ".join(f"'#{claim.token}'" for claim in claims)


def check_checkout(
    coord: Coord, claims: Sequence[LiveClaim], items: Sequence[Item], changed: Callable[[list[str]], list[str]]
) -> None:
    """Stop where the holder works in this very checkout, or left changes in it that a takeover would call one's own.

    `changed` returns which files at or below some paths have uncommitted changes. Raises CoordError(CONFLICT) with the
    code `shared_checkout` or `foreign_changes`.
    """
    from .checkout import neighbours  # noqa: PLC0415 - only for a takeover
    from .presence import roster  # noqa: PLC0415 - the same

    holders = list(dict.fromkeys(claim.holder for claim in claims))
    near = [seen.agent for seen in neighbours(coord, roster(coord)) if seen.agent in holders]
    if near:
        raise _stop("shared_checkout", f"{near[0]} was at work in this very checkout", near[0], "git coord preflight")
    here = [holder for holder in holders if noted(coord, holder) is not None]
    names = [item.name for item in items if item.kind is ItemKind.PATH]
    if here and (dirty := changed(names)):
        more = f" and {len(dirty) - 1} more" if len(dirty) > 1 else ""
        text = f"{dirty[0]}{more} has uncommitted changes here, where {here[0]} worked: they may not be yours"
        raise _stop("foreign_changes", text, here[0], "git diff")


def _stop(code: str, text: str, holder: str, step: str) -> CoordError:
    data = {"code": code, "holder": holder}
    return CoordError(Kind.CONFLICT, f"{text}; {PERSON}", next=step, data=data)


def verdict(looks: Sequence[Looked]) -> tuple[Kind, str, str] | None:
    """Return kind, code and words of what keeps claims from being taken over, None when every gate is open.

    1. A lease that runs: held. 2. What contradicts that its holder is gone: a person's to decide. 3. Too early.
    """
    closed = [(each.claim, gate) for each in looks for gate in each.failed]
    if not closed:
        return None
    claim, gate = next((pair for pair in closed if pair[1].name == "lease"), closed[0])
    if gate.name == "lease":
        return Kind.CONFLICT, "conflict", f"#{claim.token} is held by {claim.holder}, and its lease is not over"
    claim, gate = next((pair for pair in closed if pair[1].stop), closed[0])
    if gate.stop is not None:
        words = STOPS[gate.stop].format(holder=claim.holder)
        return Kind.STALE, gate.stop, f"#{claim.token}: {words}; {PERSON}"
    return Kind.STALE, "stale", f"#{claim.token} of {claim.holder} cannot be taken over yet"


def take_over(coord: Coord, wanted: Wanted, looks: Sequence[Looked], reason: str) -> TakenOver:
    """Place the takeover with what was seen; the caller found every gate open.

    Raises CoordError: CONFLICT when somebody was first or its holder is back, STALE when the ledger disagrees about a
    gate, UNKNOWN when the remote cannot be asked (then a cancel is already placed behind it), USAGE for the ttl.
    """
    check_ttl(coord, wanted.ttl)
    refuse_blocked(coord, wanted.items)
    _check_queue(coord, wanted, looks)
    drawn: list[Takeover] = []

    def make(seq: int) -> Takeover:
        evidence = tuple(each.evidence for each in looks)
        op = operation(coord, Takeover, seq, claims=evidence, reason=reason, **wanted._asdict())
        drawn.append(op)
        return op

    try:
        with taken_back(coord, drawn):
            show_again(coord)
            submitted = submit(coord, make)
    except UnreachableError as trouble:
        raise cancelled(coord, trouble) from None
    return _taken(coord, submitted.outcome, wanted, looks)


def _check_queue(coord: Coord, wanted: Wanted, looks: Sequence[Looked]) -> None:
    """Stop before publishing what the ledger would refuse: each try would stand in it for ever."""
    state, me = coord.known.state, coord.me.agent
    freed = changed(
        state, [Change(state.claims[each.claim.op], None) for each in looks if each.claim.op in state.claims]
    )
    place = place_in_queue(state, me, {each.claim.op for each in looks})
    if found := obstacles(freed, me, wanted.items, coord.clock.now(), place):
        raise _overtaken(coord, wanted, Refused(state, Refusal.CONFLICT, found))


def _taken(coord: Coord, outcome: Outcome | None, wanted: Wanted, looks: Sequence[Looked]) -> TakenOver:
    if isinstance(outcome, Granted):
        nonces = {each.claim.op for each in looks}
        taken = tuple(change.before for change in outcome.changes if change.before and change.before.op in nonces)
        # What a waiter got in the same step is not free.
        left = [item for claim in taken for _, item in claim.live()]
        asked = {(item.kind, item.name) for item in wanted.items}
        return TakenOver(outcome.claim, taken, tuple(i for i in left if (i.kind, i.name) not in asked))
    if not isinstance(outcome, Refused):
        raise refused(outcome)
    if outcome.reason in (Refusal.NOT_HELD, Refusal.CONFLICT):
        raise _overtaken(coord, wanted, outcome)
    if outcome.reason is Refusal.ALIVE:
        text = f"{looks[0].claim.holder} is back: its lease was renewed meanwhile"
        raise CoordError(Kind.CONFLICT, text, next="git coord status")
    if outcome.reason in (Refusal.UNWATCHED, Refusal.NEVER):
        raise CoordError(Kind.STALE, f"the ledger refused: {outcome.reason.value}", next="git coord status")
    raise refused(outcome)


def _overtaken(coord: Coord, wanted: Wanted, outcome: Refused) -> CoordError:
    """Say who has it now."""
    found = outcome.conflicts or conflicts(coord.known.state, coord.me.agent, wanted.items)
    if not found:
        return CoordError(Kind.CONFLICT, "it was given up meanwhile: claim it", next="git coord claim")
    first = found[0]
    name = show_name(first.held.kind, first.held.name)
    text = f"{first.claim.holder} was first: {name} is held by {first.claim.holder} (#{first.claim.token})"
    if not first.claim.token:
        text = f"{first.claim.holder} waits for {name}, and comes before who is new"
    data = {"holder": first.claim.holder, "token": first.claim.token or None}
    return CoordError(Kind.CONFLICT, text, next="git coord status", data=data)


def silent_since(looks: Sequence[Looked]) -> str:
    """Return the reason that goes into the record when none is given."""
    first = looks[0]
    return f"{first.claim.holder} silent since {format_stamp(first.lease_until - first.claim.ttl)}"
