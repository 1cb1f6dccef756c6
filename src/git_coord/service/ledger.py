"""The local ledger: open it, take what others moved, advance it; promises 3 and 6 of the design are kept here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from git_coord.domain import chain
from git_coord.domain.chain import Extension, Head, Placed, Sealed
from git_coord.domain.ids import Agent, Nonce, Oid
from git_coord.domain.restoring import hold_end, is_held_back, is_on_hold
from git_coord.domain.state import State
from git_coord.domain.statements import Replay
from git_coord.errors import CoordError, Kind
from git_coord.store import refnames
from git_coord.store.interface import ABSENT, Absent, RefUpdate, Swap
from git_coord.store.refnames import LEDGER, SEEN, Family, Ref

from .adopt import Fault, Walk, load_head, walk
from .context import Coord
from .landings import note_landings
from .lineage import begun_by, is_continued_by, keep_before, kept_since, lineage, shared
from .losses import note_losses
from .moving import move
from .recent import persistently
from .requests import pending, read_requests, without_blockers


def open_ledger(coord: Coord) -> Head | None:
    """Load the verified head of this clone into `coord.head`, healing a live ref that somebody else moved.

    1. No ledger here: None. 2. Live and seen agree: loaded, nothing is verified twice. 3. The live ref is ahead of
    what was verified: verified now. 4. It went back or vanished: put forward again, and said. 5. It diverged or is bad:
    CoordError(UNTRUSTED). Objects that a prune took while they were new are written again, others fetched again.
    """
    return persistently(coord, lambda: _open(coord), remembers=True)


def _open(coord: Coord) -> Head | None:
    values = coord.store.refs(LEDGER, SEEN)
    live, seen = values.get(LEDGER), values.get(SEEN)
    if seen is None:
        if live is not None:
            _take(coord, live, live, None)
        return coord.head
    if coord.head is None:
        coord.head = load_head(coord.store, seen)
    elif coord.head.oid != seen:
        _follow(coord, coord.head, seen)
    if live is None or live != seen:
        _heal(coord, live, seen)
    return coord.head


def _follow(coord: Coord, head: Head, seen: Oid) -> None:
    """Go on to what another process of this clone verified meanwhile, noting what that placed: it may be ours."""
    commits = lineage(coord.store, seen, head.oid)
    if commits and is_continued_by(coord.store, head.oid, commits[0]):
        done = walk(coord, head, commits)
        coord.note_placed(done.placed)
        if done.head is not None and done.fault is None:
            coord.head = done.head
            return
    coord.head = load_head(coord.store, seen)


def _heal(coord: Coord, live: Oid | None, seen: Oid) -> None:
    if live is not None and live not in lineage(coord.store, seen, None):
        try:
            _take(coord, live, live, seen)
        except BesideError:
            # A fetch by hand may have put a restored ledger here, which branches off: the remote is asked for that.
            if coord.remote is None or not shared(*(lineage(coord.store, tip, None) for tip in (live, seen))):
                raise
        else:
            return
    moved = coord.store.swap([RefUpdate(LEDGER, seen, ABSENT if live is None else live)], "restore")
    if moved is Swap.MOVED:
        what = "had vanished" if live is None else f"had gone back to {live[:10]}"
        coord.notice(f"the local ledger {what}; put forward again to {seen[:10]}")


def verified(coord: Coord, tip: Oid) -> Walk:
    """Return how far the chain to `tip` verifies on top of the present head."""
    known = coord.head
    commits = lineage(coord.store, tip, known.oid if known else None)
    if known is None:
        return walk(coord, None, commits)
    if commits and not is_continued_by(coord.store, known.oid, commits[0]):
        is_gap = begun_by(coord.store, commits[0]) and not shared(commits, lineage(coord.store, known.oid, None))
        if is_gap:
            return _beyond_a_gap(coord, known, commits)
        raise BesideError(coord, tip)
    return walk(coord, known, commits)


class BesideError(CoordError):
    """A chain does not contain what this clone verified; from the remote it may be one that was restored."""

    def __init__(self, coord: Coord, tip: Oid) -> None:
        """Name both ends."""
        super().__init__(
            Kind.UNTRUSTED,
            f"the ledger at {tip[:10]} does not contain {coord.known.oid[:10]}, which this clone verified",
            next="git coord doctor --repair-ledger",
            data={"commit": tip, "kept": coord.known.oid},
        )


def _beyond_a_gap(coord: Coord, known: Head, commits: list[Oid]) -> Walk:
    """Go on at an epoch of which the one before is kept nowhere any more: what a policy key known here has signed."""
    done = walk(coord, None, commits, known.state)
    epoch, last = begun_by(coord.store, commits[0]), done.head.state.epoch if done.head else None
    before = known.state.epoch.number if known.state.epoch else 0
    if last is not None and last.number <= before + 1:  # what came before an epoch is kept until the next begins
        reason = "the ledger commit before it is missing; a clone that has it gives it back: git coord sync there"
        return Walk(None, {}, (), Fault(commits[0], reason, next="git coord sync"))
    if done.fault is None and epoch is not None:
        coord.notice(f"epochs began while this clone was away; what came before epoch {epoch.number} was not seen")
    return done


def _take(coord: Coord, tip: Oid, live: Oid | Absent, seen: Oid | None) -> None:
    """Adopt a verified chain: move live and seen refs together, up to the last good commit; then report a bad one."""
    done = verified(coord, tip)
    check_anchors(coord, done)
    if done.head is not None and done.fault is None:
        advance(coord, done, live, seen)
    if done.fault is not None:
        raise untrusted(done)


def advance(coord: Coord, done: Walk, live: Oid | Absent, seen: Oid | None) -> bool:
    """Move this clone's ledger and seen refs to the end of a walk; False when another process moved them meanwhile."""
    assert done.head is not None
    updates = [RefUpdate(LEDGER, done.head.oid, live), RefUpdate(SEEN, done.head.oid, seen or ABSENT)]
    updates += keep_before(coord, done.head.state)
    ours = note_losses(coord, done.placed, done.head)
    coord.reach("before local move")
    if not move(coord, (), updates, "adopt"):
        return False
    coord.reach("after local move")
    coord.head = done.head
    coord.note_placed(done.placed, ours)
    note_landings(coord, done.placed)
    if done.head.state.restored is not None and coord.remote is not None:
        from .exchange.restored import tell_restored  # noqa: PLC0415 - hardly ever needed

        tell_restored(coord, done.placed)
    return True


def untrusted(done: Walk) -> CoordError:
    """Return the error for a chain with a bad commit."""
    assert done.fault is not None
    kept = done.head.oid if done.head else None
    return CoordError(
        Kind.UNTRUSTED,
        f"refused to adopt the ledger: commit {done.fault.commit[:10]}: {done.fault.reason}",
        next=done.fault.next,
        data={"commit": done.fault.commit, "reason": done.fault.reason, "kept": kept},
    )


def check_anchors(coord: Coord, done: Walk) -> None:
    """Refuse a ledger on a clone without memory that lacks what its own refs and pins name.

    Anchors are the root and UUID pinned in `.coord.toml` and every `head` that a request names which is not `void`.
    """
    if coord.head is not None or done.head is None:
        return
    state, chain_ids = done.head.state, set(done.commits)
    pinned_root, pinned_repo = coord.settings.pinned_root, coord.settings.pinned_repo
    if pinned_repo is not None and state.repo != pinned_repo:
        raise CoordError(Kind.UNTRUSTED, f"the ledger is {state.repo}, but .coord.toml pins {pinned_repo}")
    root = state.epoch.root if state.epoch else done.commits[0]
    if pinned_root is not None and pinned_root != root:
        raise CoordError(Kind.UNTRUSTED, f"the ledger begins at {root}, but .coord.toml pins {pinned_root}")
    if done.fault is not None:
        return  # what is anchored may lie beyond the bad commit, which is reported anyway
    # What was signed until the end of a hold may name what was lost; who was ahead has said since what that was.
    kept_from = max(kept_since(coord.store, done.commits), hold_end(state) or 0)
    chain_ids |= {
        row.commit for p in done.placed.values() if isinstance(p.sealed.op, Replay) for row in p.sealed.op.lost
    }
    for agent, head, at in coord_anchors(coord, done.head):
        if head not in chain_ids and head not in state.policy.void and at > kept_from:
            raise CoordError(
                Kind.UNTRUSTED,
                f"the ledger has gone back: {agent} signed that it contained {head[:10]}",
                next="git coord doctor",
                data={"agent": agent, "head": head},
            )


def coord_anchors(coord: Coord, head: Head) -> Iterable[tuple[Agent, Oid, int]]:
    """Yield the heads that validly signed requests, heartbeats and posts of members name, and when they did."""
    from .announce import read_all  # noqa: PLC0415 - only on a clone without memory

    for is_fetched in (True, False):
        for request in read_requests(coord, fetched=is_fetched):
            for sealed in request.operations.values():
                member = head.state.agents.get(request.agent)
                if sealed and member and sealed.op.head and sealed.key in {since.key for since in member.keys}:
                    yield request.agent, sealed.op.head, sealed.op.at
    for family in (Family.PRESENCE, Family.POSTS):
        found = read_all(coord, family, head)
        yield from ((agent, record.head, record.at) for agent, record in found.items() if record.head)


def place_locally(coord: Coord, made: Extension) -> bool:
    """Move ledger and seen refs from the present head to its extension, in one transaction."""
    head = coord.known
    updates = [RefUpdate(LEDGER, made.head.oid, head.oid), RefUpdate(SEEN, made.head.oid, head.oid)]
    ours = note_losses_of(coord, made)
    coord.reach("before local move")
    if not move(coord, made.objects, updates, "place"):
        return False
    coord.reach("after local move")
    take_extension(coord, made, ours)
    return True


def note_losses_of(coord: Coord, made: Extension) -> list[Placed]:
    """Write down what an extension that this clone's ledger is about to move to takes from its agents."""
    return note_losses(coord, {entry.sealed.id: entry for entry in made.placed}, made.head)


def take_extension(coord: Coord, made: Extension, ours: Sequence[Placed] = ()) -> None:
    """Let the process see the extension as its head."""
    coord.head = made.head
    placed = {entry.sealed.id: entry for entry in made.placed}
    coord.note_placed(placed, ours)
    note_landings(coord, placed)


def candidates(coord: Coord, extra: Iterable[Sealed] = ()) -> list[Sealed]:
    """Return every pending operation this clone can see: its own agents', and with a remote the fetched ones.

    Not those that this command gave up. Of the acting agent only what can be placed: it may decide that a blocked
    operation of its own is given up.
    """
    found = list(pending(coord, read_requests(coord, fetched=False)))
    if coord.remote is not None:
        found += pending(coord, read_requests(coord, fetched=True))
    distinct = {sealed.id: sealed for sealed in (*found, *extra) if sealed.id not in coord.given_up}
    me = coord.identity.agent if coord.identity else None
    mine = [sealed for sealed in distinct.values() if sealed.op.agent == me]
    others = [sealed for sealed in distinct.values() if sealed.op.agent != me]
    return _not_held_back(coord, others) + without_blockers(coord, mine)


def _not_held_back(coord: Coord, others: list[Sealed]) -> list[Sealed]:
    """Return what to place for others: not what a restored ledger would refuse now, nor anything after that.

    It may have been granted in the part that was lost: who was ahead places it again, and a refusal is for ever.
    """
    state, now = coord.known.state, coord.clock.now()
    if not is_on_hold(state, now):
        return others
    first: dict[Agent, int] = {}
    for sealed in others:
        if is_held_back(state, sealed.op, min(now, sealed.op.at)):
            first[sealed.op.agent] = min(sealed.op.seq, first.get(sealed.op.agent, sealed.op.seq))
    return [sealed for sealed in others if sealed.op.seq < first.get(sealed.op.agent, sealed.op.seq + 1)]


def view(coord: Coord) -> tuple[State, frozenset[Nonce]]:
    """Return the state as this clone sees it: the verified head, then its own pending operations (unconfirmed)."""
    if coord.remote is None:
        return coord.known.state, frozenset()
    mine = pending(coord, read_requests(coord, fetched=False))
    made = chain.extend(coord.known, mine, coord.store.algorithm) if mine else None
    if made is None:
        return coord.known.state, frozenset()
    fresh = {entry.sealed.id for entry in made.placed}
    state = made.head.state
    claimed = frozenset(nonce for nonce, claim in state.claims.items() if (claim.holder, nonce) in fresh)
    return state, claimed | {nonce for nonce, waiter in state.waiting.items() if (waiter.agent, nonce) in fresh}


def fetched_ledger(coord: Coord) -> Oid | None:
    """Return the ledger's tip as last fetched, not yet verified."""
    ref: Ref = refnames.FETCHED_LEDGER
    return coord.store.refs(ref).get(ref)
