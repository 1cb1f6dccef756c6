"""Results to words and to `--json` objects; no decisions here."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from git_coord.domain.durations import show_age
from git_coord.domain.items import Item, ItemKind, show_name
from git_coord.domain.lease import warned_from
from git_coord.domain.ledger import Conflict
from git_coord.domain.state import LiveClaim
from git_coord.domain.statements import Landed
from git_coord.domain.text import escape_for_display
from git_coord.domain.timestamps import format_stamp

if TYPE_CHECKING:
    from git_coord.service.query import Held, Picture
    from git_coord.service.sync import Age


def quoted(arguments: Sequence[str]) -> str:
    """Return arguments as one would type them at a shell, whatever bytes they have."""
    return " ".join(_word(argument) for argument in arguments)


def _word(argument: str) -> str:
    from shlex import quote

    if escape_for_display(argument) == argument:
        return quote(argument)
    raw = argument.encode("utf-8", "surrogateescape")
    return "$'" + "".join(chr(b) if 32 <= b < 127 and b not in b"'\\" else f"\\x{b:02x}" for b in raw) + "'"


def typed(item: Item, prefix: str = "") -> str:
    """Return the item as an argument of `git coord`, typed in the directory `prefix` of the repository."""
    if not item.kind.is_file:
        return quoted([show_name(item.kind, item.name)])
    name = os.path.relpath(f"/{item.name}", f"/{prefix}") if prefix else item.name
    if item.kind is ItemKind.PATH and not set("*?:").isdisjoint(name):
        name = f"path:{name}"  # without it, what is not there yet would be taken for a pattern or another kind
    elif name.startswith(("-", "#", "~", "path:", "task:", "branch:")):
        name = f"./{name}"
    return f"--glob {quoted([name])}" if item.kind is ItemKind.GLOB else quoted([name])


def shown(item: Item) -> str:
    """Return the item for a table: a folder-like spelling only where it is known not to be a file."""
    return show_name(item.kind, item.name)


def clock_time(stamp: int, now: int) -> str:
    """Return a local time, with the date when it is not today."""
    local = time.localtime(stamp)
    form = "%H:%M" if time.localtime(now)[:3] == local[:3] else "%Y-%m-%d %H:%M"
    return time.strftime(form, local)


def token(claim: LiveClaim, *, is_confirmed: bool = True) -> str:
    """Return `#1042`, or what stands for it while the remote has not confirmed the claim."""
    return f"#{claim.token}" if is_confirmed else "unconfirmed"


def whose(claim: LiveClaim, *, is_confirmed: bool = True) -> str:
    """Return `alpha #1042`, or who waits for it."""
    return f"{claim.holder} {token(claim, is_confirmed=is_confirmed) if claim.token else 'waiting'}"


def lease(held: Held, now: int) -> str:
    """Return until when a lease lasts, or since when it is over; of an own one, that it will soon be.

    Of a claim that waits, until when it keeps newcomers off; of one that is done with, for which branch it waits.
    """
    if not held.claim.token:
        return f"keeps newcomers off until {clock_time(held.lease_until, now)}"
    if held.claim.settling is not None:
        return f"landed, waits for {held.claim.settling.until}"
    if held.vouched_until is not None and now > held.vouched_until:
        return f"unvouched since {clock_time(held.vouched_until, now)}"
    if held.vouched_until is not None and now >= warned_from(held.claim, held.vouched_until):
        return f"ends in {show_age(held.vouched_until - now)}"
    if held.is_stale:
        return f"stale since {clock_time(held.lease_until, now)}"
    return f"until {clock_time(held.lease_until, now)}"


def seen(held: Held, now: int) -> str:
    """Return how long ago the holder last gave a sign of life."""
    return f"seen {show_age(now - held.seen_at)} ago" if held.seen_at is not None else "not seen"


def item_object(item: Item) -> dict[str, Any]:
    """Return an item as `--json` shows it."""
    match = "glob" if item.kind is ItemKind.GLOB else "literal"
    name = json_name(item.name) if item.kind.is_file else show_name(item.kind, item.name)
    return {"path": name, "intent": item.intent.value, "match": match, "blob": item.blob}


def json_name(name: str) -> Any:
    """Return a name as JSON can hold it: text, or base64 of bytes that are not UTF-8."""
    from git_coord.domain.fields import path

    return path.write(name)


def claim_object(held: Held) -> dict[str, Any]:
    """Return a live claim as `--json` shows it."""
    claim = held.claim
    return {
        "token": (claim.token or None) if held.is_confirmed else None,
        "confirmed": held.is_confirmed,
        "agent": claim.holder,
        "items": [item_object(item) | {"blob": claim.pins[i]} for i, item in claim.live()],
        "purpose": claim.purpose,
        "lease": claim.lease,
        "ttl": claim.ttl,
        "claimed_at": format_stamp(claim.at),
        "lease_until": format_stamp(held.lease_until),
        "holder_stale": held.is_stale,
        "unattended": held.is_unattended,
        "stamps": [stamp._asdict() for stamp in claim.stamps],
    } | ({} if claim.settling is None else {"landed": landed_object(claim.settling)})


def landed_object(work: Landed) -> dict[str, Any]:
    """Return what a claim landed that waits for a branch, as `--json` shows it."""
    return {"commit": work.commit, "branch": work.branch, "waits_for": work.until}


def conflict_object(conflict: Conflict, now: Picture) -> dict[str, Any]:
    """Return one conflict as `--json` shows it."""
    held = now.held(conflict.claim)
    return {
        "holder": conflict.claim.holder,
        "path": item_object(conflict.asked)["path"],
        "held": item_object(conflict.held)["path"],
        "intent": conflict.held.intent.value,
        "purpose": conflict.claim.purpose,
        "claimed_at": format_stamp(conflict.claim.at),
        "lease_until": format_stamp(held.lease_until),
        "holder_stale": held.is_stale,
        "token": (conflict.claim.token or None) if held.is_confirmed else None,
        "waiting": not conflict.claim.token,
        "caller_stamps": [stamp._asdict() for stamp in conflict.claim.stamps],
    }


def conflict_lines(conflicts: Sequence[Conflict], now: Picture) -> list[str]:
    """Return two aligned lines for each item in the way."""
    width = max((len(shown(conflict.asked)) for conflict in conflicts), default=0)
    lines = []
    for conflict in conflicts:
        held = now.held(conflict.claim)
        what = "" if conflict.held.name == conflict.asked.name else f" {shown(conflict.held)}"
        name = whose(conflict.claim, is_confirmed=held.is_confirmed)
        purpose = f'   "{conflict.claim.purpose}"' if conflict.claim.purpose else ""
        how = f"{name} {conflict.held.intent.value}{what}{purpose}"
        lines.append(f"  {shown(conflict.asked):{width}}   {how}")
        since = clock_time(conflict.claim.at, now.now)
        lines.append(f"  {'':{width}}   since {since}, {seen(held, now.now)}, {lease(held, now.now)}")
    return lines


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows with every column but the last as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def as_of(age: int | None, remote: str | None) -> str:
    """Return how old the picture is, for people."""
    if remote is None:
        return "local, no remote"
    return f"as of {show_age(age)} ago, {remote}" if age is not None else f"never synced with {remote}"


def as_of_stamp(age: Age | None) -> str | None:
    """Return when the picture was last in step with the remote."""
    return None if age is None else format_stamp(age.at)


def sent_object(why: str | None) -> dict[str, Any]:
    """Return what `--json` says of what was to be sent to others."""
    return {} if why is None else {"sent": False, "why": why}


def not_sent(why: str | None) -> list[str]:
    """Return the line for what others do not have yet."""
    return [] if why is None else [f"not sent, the next sync carries it: {why}"]
