"""A host that refuses a push: which of its answers are final, and how they are told, in its own words."""

from __future__ import annotations

from collections.abc import Sequence

from git_coord.domain.text import escape_for_display
from git_coord.errors import CoordError, Kind
from git_coord.service.context import Coord
from git_coord.store import refnames
from git_coord.store.interface import PushedRef, PushStatus

OF_NAMES = ("hidden ref", "funny refname", "prohibited")
"""How hosts say that they do not take refs of such names, whoever pushes them."""
PER_REF = ("hook declined", *OF_NAMES)
"""Answers about one ref, which pushing fewer of them at once does not change."""


def refused_by_host(results: Sequence[PushedRef]) -> PushedRef | None:
    """Return the first ref of which the host says that it will never take it: retrying would be in vain."""
    return next((result for result in results if is_final(result)), None)


def is_final(result: PushedRef) -> bool:
    """Tell whether the host, and not another push that came first, is in the way of this ref."""
    final = "declined" in result.reason or any(words in result.reason for words in OF_NAMES)
    return result.status is PushStatus.REJECTED and final


def words_of(result: PushedRef) -> str:
    """Return why a ref was refused, with what the host itself said; a host is as much a stranger as any author."""
    return escape_for_display(f"{result.reason}: {result.said}" if result.said else result.reason)


def host_refusal(coord: Coord, result: PushedRef) -> CoordError:
    """Return the error for a host that does not take our refs."""
    assert coord.remote is not None
    name = coord.remote.name
    words = words_of(result)
    message = f"{name} refuses our refs: {words}"
    if result.reason.startswith("unpack"):  # git's own word; a host that objects to refs has others
        message = f"{name} cannot store what is pushed: {words}; its disk is full, or may only be read"
    data = {"remote": name, "reason": result.reason, "said": escape_for_display(result.said)}
    return CoordError(Kind.UNKNOWN, message, next=_next(coord, name, result), data=data)


def _next(coord: Coord, name: str, result: PushedRef) -> str:
    """Return the next command: other names for refs are offered only to who has no ledger, for an objection to names.

    A clone that has one would found a second ledger there while the others go on at the first.
    """
    if coord.head is None and not coord.settings.keeps_history:
        by_name = any(words in result.reason for words in OF_NAMES)
        return f"git config coord.refPrefix {refnames.BRANCH_PREFIX}" if by_name else "git coord init"
    return f"git ls-remote {name}" if coord.head is None else "git coord sync"
