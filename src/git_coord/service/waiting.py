"""Waiting for a claim: in the ledger's queue until it is granted, the time is over, or the caller gives up.

However it ends but by a grant that is reported, a cancel is placed behind the claim: nothing is left in the queue, and
a grant in that very moment is undone. Who is killed leaves a waiter that the ledger drops when its time is over, or a
claim that nobody attends to and that is stale after two minutes.
"""

from __future__ import annotations

from collections.abc import Callable

from git_coord.domain.granting import MAX_WAIT
from git_coord.domain.ledger import Conflict, Queued
from git_coord.domain.obstacles import blocking, in_the_way
from git_coord.domain.state import LiveClaim, Restored, Waiter
from git_coord.domain.statements import Cancel, Claim
from git_coord.errors import CoordError, Kind
from git_coord.lean import NamedTuple

from .beat import note_beat
from .claiming import (
    ClaimGranted,
    ClaimRefused,
    Wanted,
    cancelled,
    check_ttl,
    claimed,
    hold_error,
    submit_claim,
)
from .claims import renew
from .context import Coord
from .ledger import open_ledger
from .operations import operation, require_membership
from .place import UnreachableError, submit
from .remote_ledger import LEDGER_FAMILIES
from .selection import Selection
from .sync import sync
from .tasks import refuse_blocked

GLANCE_SECONDS = 0.1
"""How often it is looked whether something moved in this clone: a few `stat`s."""
LOOK_SECONDS = 2.0
"""How often this clone is looked at whether or not something seems to have moved."""
LONGEST_PAUSE = 60.0
"""Seconds between questions to a remote that does not answer, at most."""


class Patience(NamedTuple):
    """How to wait: for so many `seconds`, asking the remote every `interval` seconds or so.

    `moved` returns what differs when something moved in this clone, `look_again` forgets what was read of our refs,
    `refresh` lets the guard see it, `is_over` says that the caller gives up, `tell` is told whom the claim waits for.
    """

    seconds: int
    interval: float
    moved: Callable[[], object]
    look_again: Callable[[], None]
    refresh: Callable[[], object]
    is_over: Callable[[], bool]
    tell: Callable[[tuple[Conflict, ...], int], None]


class WaitEnded(NamedTuple):
    """Nothing was claimed: who was in the way at last, gone or not; neither flag is true when the caller gave up."""

    conflicts: tuple[Conflict, ...]
    is_timeout: bool
    is_gone: bool = False


def claim_waiting(coord: Coord, wanted: Wanted, patience: Patience) -> ClaimGranted | ClaimRefused | WaitEnded:
    """Claim all items or none, and wait for those in the way.

    Raises CoordError: as `claim` does, USAGE for a wait that is too long, CONFLICT when the agent would wait for
    itself, LOST when the wait or the claim was ended by others, UNKNOWN when the outcome cannot be learned.
    """
    require_membership(coord)
    check_ttl(coord, wanted.ttl)
    _check(coord, patience.seconds)
    refuse_blocked(coord, wanted.items)
    try:
        submitted = submit_claim(coord, wanted, patience.seconds)
    except UnreachableError as trouble:
        raise cancelled(coord, trouble) from None
    op = submitted.sealed.op
    if not isinstance(submitted.outcome, Queued):
        return claimed(submitted)
    assert isinstance(op, Claim)
    return _Wait(coord, op, submitted.outcome.conflicts, patience).run()


def _check(coord: Coord, seconds: int) -> None:
    if seconds > MAX_WAIT:
        raise CoordError(Kind.USAGE, f"--wait is {seconds} s, and at most {MAX_WAIT // 3600}h")
    if coord.remote is not None and coord.settings.offline == "allow":
        raise CoordError(Kind.USAGE, "the queue is in the remote's ledger: --wait cannot do without (--offline)")


class _Wait:
    """One claim in the queue."""

    def __init__(self, coord: Coord, op: Claim, conflicts: tuple[Conflict, ...], patience: Patience) -> None:
        self._coord = coord
        self._op = op
        self._conflicts = conflicts
        self._patience = patience
        now = coord.clock.monotonic()
        # Two clocks: the steady one stands still with the machine, the other may be set.
        self._end = now + patience.seconds
        self._pause = patience.interval
        self._due = now + self._jittered()
        self._is_silent = self._is_told = self._is_left = False
        self._poke_due = self._gone_due = now
        self._on_hold: Restored | None = None

    def run(self) -> ClaimGranted | WaitEnded:
        """Wait until it is over; with any error, and an interrupt, the claim is taken back."""
        try:
            while not self._patience.is_over():
                if granted := self._held():
                    return self._attend(granted)
                waiter = self._coord.known.state.waiting.get(self._op.nonce)
                if waiter is None:
                    return self._dropped()
                if self._is_late():
                    return self._last_look()
                if not self._poked(waiter):
                    self._look()
                    if self._is_for_the_gone():
                        self._leave()
                        return WaitEnded(self._conflicts, is_timeout=False, is_gone=True)
            self._leave()
            return WaitEnded(self._conflicts, is_timeout=False)
        except (CoordError, OSError, KeyboardInterrupt):
            self._take_back()
            raise

    # what the ledger says

    def _held(self) -> LiveClaim | None:
        claim = self._coord.known.state.claims.get(self._op.nonce)
        return claim if claim is not None and claim.holder == self._coord.me.agent else None

    def _poked(self, waiter: Waiter) -> bool:
        """Tell whom it waits for, when that has changed; or place an operation, when only time has cleared the way.

        The ledger serves nobody by itself: those who waited in vain, or keep newcomers off no longer, are passed over
        by whatever is placed next.
        """
        coord, state = self._coord, self._coord.known.state
        found = in_the_way(state, coord.me.agent, waiter.op.items, coord.clock.now(), waiter.queue)
        if found:
            if not self._is_told or _whom(found) != _whom(self._conflicts):
                self._is_told, self._conflicts = True, found
                self._patience.tell(found, 1 + len({c.claim.holder for c in found if not c.claim.token}))
            return False
        if held_back := hold_error(state, coord.clock.now()):
            self._tell_once(held_back.message)
            return False
        if coord.clock.monotonic() < self._poke_due or blocking(state, waiter.op):
            return False
        self._poke_due = coord.clock.monotonic() + LONGEST_PAUSE
        self._ask_or_open()
        if waiter.op.nonce in coord.known.state.waiting:
            submit(coord, lambda seq: operation(coord, Cancel, seq, op=coord.nonce()))
        return True

    def _tell_once(self, words: str) -> None:
        """Say why nobody is served, each time that begins."""
        if self._on_hold != self._coord.known.state.restored:
            self._on_hold = self._coord.known.state.restored
            self._coord.notice(f"waiting in line: {words}")

    def _is_late(self) -> bool:
        assert self._op.wait_until is not None
        return self._coord.clock.monotonic() >= self._end or self._coord.clock.now() > self._op.wait_until

    # looking

    def _look(self) -> None:
        """Wait until something moved here, it is time to look anyway, or the remote is to be asked."""
        clock, before = self._coord.clock, self._patience.moved()
        until = min(clock.monotonic() + LOOK_SECONDS, self._end)
        while clock.monotonic() < until and not self._patience.is_over():
            clock.sleep(min(GLANCE_SECONDS, until - clock.monotonic()))
            if self._patience.moved() != before or self._is_due():
                break
        self._patience.look_again()
        head = self._coord.known.oid
        if self._coord.remote is None:
            note_beat(self._coord)
            sync(self._coord)
        elif self._is_due():
            self._ask()
        else:
            open_ledger(self._coord)
        if self._coord.known.oid != head:
            self._patience.refresh()

    def _ask_or_open(self) -> None:
        self._patience.look_again()
        if self._coord.remote is None:
            open_ledger(self._coord)
        else:
            self._ask()

    def _is_for_the_gone(self) -> bool:
        """Tell, as often as the remote is asked, whether the wait is in vain."""
        waiter, now = self._coord.known.state.waiting.get(self._op.nonce), self._coord.clock.monotonic()
        if waiter is None or now < self._gone_due:
            return False
        self._gone_due = now + self._pause
        from .in_vain import is_in_vain  # noqa: PLC0415 - only for who waits for long

        return is_in_vain(self._coord, waiter)

    def _is_due(self) -> bool:
        return self._coord.remote is not None and self._coord.clock.monotonic() >= self._due

    def _ask(self) -> None:
        """Exchange with the remote; one that does not answer is asked less often, and that is said once."""
        try:
            sync(self._coord, LEDGER_FAMILIES)
        except CoordError as trouble:
            if trouble.kind is not Kind.UNKNOWN:
                raise
            if not self._is_silent:
                self._coord.notice(f"{trouble.message}; still waiting")
            self._is_silent, self._pause = True, min(LONGEST_PAUSE, self._pause * 2)
        else:
            self._is_silent, self._pause = False, self._patience.interval
        self._due = self._coord.clock.monotonic() + self._jittered()

    def _jittered(self) -> float:
        return self._pause * (0.75 + 0.5 * self._coord.jitter())

    # how it ends

    def _attend(self, claim: LiveClaim) -> ClaimGranted:
        """Renew what came while nobody could tell whether its holder was there: that says so, and finds it lost."""
        if not claim.unattended:
            return ClaimGranted(claim, is_confirmed=True)
        done = renew(self._coord, Selection(((claim, None),)), None, {}, None)
        return ClaimGranted(done.changes[0].after or claim, is_confirmed=True)

    def _last_look(self) -> ClaimGranted | WaitEnded:
        """Look once more when the time is over; a grant that is seen then is one."""
        self._ask_or_open()
        if granted := self._held():
            return self._attend(granted)
        self._leave()
        return WaitEnded(self._conflicts, is_timeout=True)

    def _dropped(self) -> WaitEnded:
        """Say why it is in the queue no longer: its time was over by the ledger's clock, or somebody ended it."""
        assert self._op.wait_until is not None
        if self._coord.clock.now() + self._coord.known.state.skew >= self._op.wait_until:
            self._leave()
            return WaitEnded(self._conflicts, is_timeout=True)
        raise CoordError(
            Kind.LOST, "the wait was ended, or what it brought was lost, before this was seen", next="git coord log"
        )

    def _leave(self) -> None:
        """Place a cancel behind the claim.

        Raises CoordError(UNKNOWN) when the remote does not have it yet: the claim may still be granted till then.
        """
        self._patience.look_again()
        try:
            submit(self._coord, self._cancel)
        except UnreachableError as trouble:
            raise CoordError(
                Kind.UNKNOWN,
                f"{trouble.message}; the wait is cancelled here, but may still be granted until that is synced",
                next="git coord sync",
                data=trouble.data,
            ) from None
        finally:
            self._is_left = True

    def _cancel(self, seq: int) -> Cancel:
        return operation(self._coord, Cancel, seq, op=self._op.nonce)

    def _take_back(self) -> None:
        """Cancel the claim when there was an error; that the cancel fails too is said beside it."""
        if self._is_left:
            return
        try:
            self._leave()
        except CoordError as trouble:
            self._coord.notice(f"the wait could not be taken back: {trouble.message}")


def _whom(conflicts: tuple[Conflict, ...]) -> set[tuple[str, int]]:
    return {(conflict.claim.holder, conflict.claim.token) for conflict in conflicts}
