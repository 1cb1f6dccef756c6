"""Which claims a person means by paths, `#token` or `--all`, translated to nonces and positions."""

from __future__ import annotations

from collections.abc import Sequence

from git_coord.domain.ids import Agent, Nonce
from git_coord.domain.items import Intent, Item, ItemKind
from git_coord.domain.overlap import covers, same_item
from git_coord.domain.state import LiveClaim, State
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple

MOST_NAMED = 5


class Selection(NamedTuple):
    """Claims with the positions meant; None is the whole claim."""

    claims: tuple[tuple[LiveClaim, tuple[int, ...] | None], ...]


def everything(state: State, agent: Agent) -> Selection:
    """Return all claims of the agent but those that only wait for a branch; raises CoordError(LOST) when it has none.

    Those are done with: a program that gives everything back at its end must not free them before their work is in.
    """
    everything_held = state.held_by(agent)
    held = [claim for claim in everything_held if claim.settling is None]
    if not held and everything_held:
        waiting = ", ".join(f"#{claim.token} for {_until(claim)}" for claim in everything_held[:MOST_NAMED])
        more = f" and {len(everything_held) - MOST_NAMED} more" if len(everything_held) > MOST_NAMED else ""
        raise CoordError(
            Kind.LOST,
            f"{agent} holds nothing but what waits for a branch ({waiting}{more}), which --all leaves alone; "
            f"git coord release '#{everything_held[0].token}' frees it before the work is there",
            next="git fetch && git coord sync",
        )
    if not held:
        raise CoordError(Kind.LOST, f"{agent} holds nothing", next="git coord status")
    return Selection(tuple((claim, None) for claim in held))


def _until(claim: LiveClaim) -> str:
    return claim.settling.until or "" if claim.settling is not None else ""


def by_token(state: State, tokens: Sequence[int], agent: Agent | None) -> Selection:
    """Return the live claims with these tokens, of one agent or of anybody; raises CoordError(LOST) for another one."""
    found = []
    for token in tokens:
        claim = state.claim_by_token(token)
        if claim is None:
            raise CoordError(Kind.LOST, f"#{token} is not held by anybody", next="git coord log")
        if agent is not None and claim.holder != agent:
            raise CoordError(Kind.LOST, f"#{token} is held by {claim.holder}", data={"holder": claim.holder})
        found.append((claim, None))
    return Selection(tuple(found))


def by_item(state: State, agent: Agent, wanted: Sequence[Item]) -> Selection:
    """Return the agent's items that are the wanted ones, or lie below a wanted path.

    Raises CoordError(LOST) for one that is not held, naming who holds it or the broader item of the agent's own.
    """
    held = state.held_by(agent)
    positions: dict[Nonce, set[int]] = {}
    for item in wanted:
        hits = [(claim.op, i) for claim in held for i, own in claim.live() if _is_meant(item, own, state)]
        if not hits:
            raise _not_held(state, agent, item)
        for nonce, i in hits:
            positions.setdefault(nonce, set()).add(i)
    return Selection(tuple((claim, _meant(claim, positions[claim.op])) for claim in held if claim.op in positions))


def _meant(claim: LiveClaim, positions: set[int]) -> tuple[int, ...] | None:
    """Return the positions, None when they are all that is left of the claim."""
    return None if positions == {i for i, _ in claim.live()} else tuple(sorted(positions))


def _is_meant(wanted: Item, own: Item, state: State) -> bool:
    if same_item(wanted, own, state.fold):
        return True
    below = wanted.kind is ItemKind.PATH and own.kind is ItemKind.PATH
    return below and wanted.name != own.name and _is_below(wanted, own, state)


def _is_below(wanted: Item, own: Item, state: State) -> bool:
    if wanted.name == ".":
        return True
    shallower = own.name.count("/") >= wanted.name.count("/")
    return own.name != "." and shallower and covers(Item(ItemKind.PATH, wanted.name, Intent.EDIT), own.name, state.fold)


def _not_held(state: State, agent: Agent, item: Item) -> CoordError:
    """Say why there is nothing to give back: part of a broader own item, somebody else's, or free."""
    broader = [(state.claims[n], state.claims[n].items[i]) for n, i in state.index.overlapping(item)]
    for claim, own in broader:
        if claim.holder == agent:
            text = f"{item.name} is held as part of {own.name} (#{claim.token})"
            return CoordError(Kind.LOST, text, next=f"git coord release {own.name}")
    for claim, _ in broader:
        text = f"{item.name} is held by {claim.holder} (#{claim.token})"
        return CoordError(Kind.LOST, text, data={"holder": claim.holder, "token": claim.token})
    return CoordError(Kind.LOST, f"{agent} holds no claim on {item.name}", next="git coord status")
