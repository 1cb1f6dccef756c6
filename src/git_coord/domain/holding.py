"""Who holds a file at a path: the claims that cover it, and whether one of them is a right to edit it."""

from __future__ import annotations

from .ids import Agent
from .items import Intent, Item, ItemKind
from .state import LiveClaim, State


def covering(state: State, path: str) -> list[tuple[LiveClaim, Item]]:
    """Return every live claim, with its item, whose business a file at this path is."""
    found = state.index.covering(path)
    return [(state.claims[nonce], state.claims[nonce].items[position]) for nonce, position in found]


def holds(state: State, agent: Agent, path: str) -> bool:
    """Tell whether the agent holds the path for edit."""
    return any(claim.holder == agent and may_edit(item, path) for claim, item in covering(state, path))


def is_open(state: State, agent: Agent, path: str) -> bool:
    """Tell whether nobody else has a claim that covers the path."""
    return all(claim.holder == agent for claim, _ in covering(state, path))


def may_edit(item: Item, path: str) -> bool:
    """Tell whether an item that meets the path is an edit of it, and not only of something below it."""
    is_below = item.kind is ItemKind.PATH and item.name.count("/") > path.count("/")
    return item.intent is Intent.EDIT and not is_below
