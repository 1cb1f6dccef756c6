"""One exchange with the remote: fetch, verify, adopt, place what is pending, push one's own refs in one push."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from git_coord.domain import chain
from git_coord.domain.chain import Extension, Placed
from git_coord.domain.ids import Oid
from git_coord.errors import CoordError, Kind
from git_coord.store import refnames
from git_coord.store.interface import PushedRef, PushStatus, RefUpdate
from git_coord.store.refnames import Family

from .beat import beat_if_due, note_pushed
from .context import Coord
from .exchange.moved import moved_away
from .exchange.one_place import is_elsewhere
from .exchange.refusal import host_refusal, refused_by_host
from .exchange.undone import make_final
from .ledger import candidates, fetched_ledger, open_ledger, place_locally
from .moving import store
from .place import MAX_UNMOVED, PLACE_SECONDS, push_and_land
from .recent import mend
from .remote_ledger import (
    SYNC_FAMILIES,
    SYNCED,
    SYNCED_PRESENCE,
    fetch_and_adopt,
    own_updates,
    remote_of,
)
from .requests import read_requests
from .retry import attempts


@dataclass(slots=True)
class Synced:
    """What a sync did: the head before and after, own operations placed (lost ones too), refs pushed."""

    before: Oid | None
    after: Oid | None
    placed: list[Placed] = field(default_factory=list)
    pushed: int = 0


def sync(coord: Coord, families: tuple[Family, ...] = SYNC_FAMILIES) -> Synced:
    """Bring this clone and the remote together.

    Without a remote, only what is pending locally is placed. Nothing to do costs one fetch. Raises CoordError(UNKNOWN)
    without an answer, CoordError(UNTRUSTED) for a bad ledger; nothing pending is lost by either.
    """
    open_ledger(coord)
    done = Synced(before=coord.head.oid if coord.head else None, after=None)
    known = len(coord.settled)
    if coord.remote is None:
        _place_pending(coord)
    else:
        fetch_and_adopt(coord, families)
        if coord.head is not None and coord.identity is not None and coord.signer is not None:
            beat_if_due(coord)
        done.pushed = _exchange(coord)
        make_final(coord, coord.settled[known:])
    done.after = coord.head.oid if coord.head else None
    done.placed = coord.settled[known:]
    return done


def _place_pending(coord: Coord) -> None:
    for _ in attempts(coord.clock, coord.jitter, seconds=PLACE_SECONDS):
        made = _next_commit(coord)
        if made is None:
            return
        if not place_locally(coord, made):
            open_ledger(coord)


def _next_commit(coord: Coord) -> Extension | None:
    if coord.head is None:
        return None
    return chain.extend(coord.head, candidates(coord), coord.store.algorithm)


def _exchange(coord: Coord) -> int:
    """Push until nothing of ours is left to push; returns how many refs moved."""
    pushed = unmoved = 0
    for _ in attempts(coord.clock, coord.jitter, seconds=PLACE_SECONDS, first_wait=0.05):
        made = _next_commit(coord)
        updates = [update for update in own_updates(coord) if not _is_idle(coord, update)]
        if made is None and not updates:
            return pushed
        before = fetched_ledger(coord)
        try:
            refused = _push(coord, made, updates)
        except CoordError:
            if not mend(coord):
                raise
            fetch_and_adopt(coord)
            continue
        pushed += len(updates) + (made is not None) - len(refused)
        if not refused:
            continue
        if final := refused_by_host(refused):
            raise host_refusal(coord, final)
        _reread(coord, refused)
        is_moving = fetched_ledger(coord) != before or len(refused) < len(updates) + (made is not None)
        unmoved = 0 if is_moving else unmoved + 1
        if unmoved == MAX_UNMOVED:
            raise host_refusal(coord, refused[0])
    raise CoordError(Kind.UNKNOWN, f"{remote_of(coord).name} stays busy", next="git coord sync")


def _is_idle(coord: Coord, update: RefUpdate) -> bool:
    """Tell whether it is a request ref with nothing pending: pushing it would only take away what is there."""
    name = refnames.parse(update.ref)
    if name is None or name.agent is None or name.family is not Family.REQUESTS:
        return False
    return not any(request.blobs for request in read_requests(coord, fetched=False, only=name.agent))


def _reread(coord: Coord, refused: list[PushedRef]) -> None:
    """Fetch what was in the way: the ledger moved, or another clone of an agent of ours pushed its refs."""
    parsed = [refnames.parse(result.ref) for result in refused]
    families = {name.family for name in parsed if name}
    fetch_and_adopt(coord, tuple({*SYNC_FAMILIES, *families}))
    if Family.NOTES in families and coord.identity is not None and coord.signer is not None:
        from .receipts import append  # noqa: PLC0415 - hardly ever needed

        append(coord, ())  # joins the notes of both clones


def _push(coord: Coord, made: Extension | None, updates: list[RefUpdate]) -> list[PushedRef]:
    """Push once; returns what did not move."""
    if made:
        store(coord, made.objects)
    results = push_and_land(coord, made, updates)
    note_pushed(coord, results)
    return [result for result in results if result.status is PushStatus.REJECTED]


class Age(int):
    """How many seconds ago something was, and when (`at`, in seconds since the epoch), by one look at the clock.

    Taken from a second look, the moment would be another one whenever a second has begun in between.
    """

    at: int

    @classmethod
    def since(cls, at: int, now: int) -> Age:
        """Return the age at `now` of what was at `at`."""
        age = cls(now - at)
        age.at = at
        return age


def picture_age(coord: Coord, families: Collection[Family] = ()) -> Age | None:
    """Return how many seconds ago this clone last agreed with the remote; 0 without a remote, None for never."""
    now = coord.clock.now()
    if coord.remote is None:
        return Age.since(now, now)
    stamp = coord.files.read(SYNCED_PRESENCE if Family.PRESENCE in families else SYNCED)
    if stamp is None or not stamp.strip().isdigit():
        return None
    age = Age.since(int(stamp), now)
    return age if age >= 0 else None  # the clock was set back: how old the picture is cannot be told


def freshen(coord: Coord, *, is_local: bool, families: tuple[Family, ...] = SYNC_FAMILIES) -> Age | None:
    """Make the picture young enough to answer from, and return its age in seconds.

    Fetches unless the last good sync is younger than `coord.freshness` or `is_local`. Raises CoordError(UNKNOWN) when
    it is older and the remote cannot be asked: failing to find out is never "free".
    """
    open_ledger(coord)
    age = picture_age(coord, () if is_local else families)
    if coord.remote is None:
        from .watched import note_watched  # noqa: PLC0415 - only where nothing is fetched

        note_watched(coord)
        return age
    is_young = age is not None and age < coord.settings.freshness and not (is_elsewhere(coord) or moved_away(coord))
    if is_local or (is_young and coord.head):
        return age
    try:
        fetch_and_adopt(coord, families)
    except CoordError as trouble:
        if trouble.kind is Kind.UNKNOWN:
            raise CoordError(
                Kind.UNKNOWN, trouble.message, next=trouble.next, data={**trouble.data, "as_of_age": age}
            ) from None
        raise
    now = coord.clock.now()
    return Age.since(now, now)
