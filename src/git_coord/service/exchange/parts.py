"""A push of several refs, in parts where the host takes only so many at once; what matters most goes first.

Some hosts limit how many refs one push may move, and refuse all of them when there are more: after such an answer the
first ref is pushed alone, which tells a host that minds the number from one that takes nothing, then as many at a time
as it turns out to take. The number is remembered for a day. A push of two is not split: nearly every claim is one, and
nearly every refusal of it is meant; but for ten minutes refs go one by one then.
"""

from __future__ import annotations

from collections.abc import Sequence

from git_coord.errors import CoordError, Kind
from git_coord.service.context import Coord
from git_coord.service.members.read_only import forget
from git_coord.store import refnames
from git_coord.store.interface import PushedRef, PushStatus, RefUpdate
from git_coord.store.refnames import Family, Ref

from .moved import check_moved
from .one_place import is_elsewhere
from .refusal import PER_REF, is_final

LIMIT = "push.limit"
"""The file that says how many refs the host took at once, and until when to believe it: `COUNT STAMP`."""
LEARNED_SECONDS = 86_400
DOUBTED_SECONDS = 600
COMMON = 5
"""What hosts ship such a rule with."""
MOST_PUSHES = 24
"""Of one call; what is left then waits for the next."""
PAIR = 2
LEFT = "left for the next push"
_ORDER = (Family.CLAIMS, Family.EPOCHS, Family.REQUESTS, Family.PRESENCE, Family.POSTS, Family.NOTES)


class _Parts:
    """How a push is going: what is still to be pushed, what became of the rest, and what the host was seen to take."""

    def __init__(self, updates: Sequence[RefUpdate], limit: int | None) -> None:
        self.left = list(updates)
        self.done: dict[Ref, PushedRef] = {}
        self.size = limit or len(self.left)
        self.is_pair = len(self.left) == PAIR
        self.taken = self.most = self.declined = self.pushes = 0

    def note(self, part: Sequence[RefUpdate], results: Sequence[PushedRef]) -> None:
        """Take the host's answer to a part, and decide how many refs the next one has."""
        self.pushes += 1
        if len(part) > 1 and not self.is_pair and _is_declined_whole(results):
            # As many as it took before: then it is not their number that it minds, and what it minds must be found.
            self.taken = self.taken if self.taken < len(part) else 1
            self.declined = len(part)
            self.size = _between(self.taken, self.declined)
            return
        self.done |= {result.ref: result for result in results}
        self.left = self.left[len(part) :]
        self.taken = max(self.taken, sum(result.status is PushStatus.LANDED for result in results))
        self.most = max(self.most, self.taken)
        if self.taken == 0 and is_final(results[0]):
            self.give_up(results[0])
        elif self.declined:
            self.size = _between(self.taken, self.declined)

    def give_up(self, answer: PushedRef) -> None:
        """Take this answer for what there is to say of all that is left."""
        self.done |= {update.ref: answer._replace(ref=update.ref) for update in self.left}
        self.left = []


def push(coord: Coord, updates: Sequence[RefUpdate], *, record: bool = True) -> list[PushedRef]:
    """Push as `Remote.push` does, in as many parts as the host wants; the answers are in the order of `updates`.

    Raises CoordError(UNKNOWN) when the first part has no answer; after it what has none counts as not moved.
    """
    assert coord.remote is not None
    require_place(coord)
    parts = _Parts(_ordered(coord, updates), _limit(coord))
    while parts.left:
        part = parts.left[: parts.size]
        try:
            results = coord.remote.push(part, record=record)
        except CoordError as trouble:
            if not parts.done or trouble.kind is not Kind.UNKNOWN:
                raise
            parts.give_up(PushedRef(part[0].ref, PushStatus.REJECTED, trouble.message))
            break
        parts.note(part, results)
        if parts.pushes == MOST_PUSHES:
            parts.give_up(PushedRef(part[0].ref, PushStatus.REJECTED, LEFT))
    _remember(coord, parts, updates)
    if parts.most:
        forget(coord.files)
    return [parts.done[update.ref] for update in updates]


def require_place(coord: Coord) -> None:
    """Push nothing to another place than the ledger's own: look what is there first, and raise what that says."""
    if is_elsewhere(coord):
        from git_coord.service.remote_ledger import LEDGER_FAMILIES, fetch_and_adopt  # noqa: PLC0415 - hardly ever

        fetch_and_adopt(coord, LEDGER_FAMILIES)
    check_moved(coord)


def ask_place(coord: Coord) -> None:
    """Raise what another place says, before anything is published for it; one without an answer is asked by the push.

    Until then it is as with any remote that is away: what holds here only, holds here only.
    """
    try:
        require_place(coord)
    except CoordError as trouble:
        if trouble.kind is not Kind.UNKNOWN or trouble.data.keys() & {"ledger_at", "moved"}:
            raise


def _ordered(coord: Coord, updates: Sequence[RefUpdate]) -> list[RefUpdate]:
    """Put first what matters: the ledger, one's own request, those of others, presence of who holds something."""
    if len(updates) <= PAIR:
        return list(updates)
    me = coord.identity.agent if coord.identity else None
    holders = {claim.holder for claim in coord.head.state.claims.values()} if coord.head else set()

    def rank(update: RefUpdate) -> tuple[int, bool, bool]:
        name = refnames.parse(update.ref)
        if name is None:
            return len(_ORDER), False, False
        return _ORDER.index(name.family), name.agent != me, name.agent not in holders

    return sorted(updates, key=rank)


def _between(taken: int, declined: int) -> int:
    """Return how many refs to try, between what was taken and what was not; nothing was taken yet: one alone."""
    if taken == 0 or declined - taken <= 1:
        return max(1, taken)
    return COMMON if taken < COMMON < declined else (taken + declined) // 2


def _is_declined_whole(results: Sequence[PushedRef]) -> bool:
    """Tell whether the host refused all of a push together; what another push overtook was not even sent."""
    if any(result.status is PushStatus.LANDED for result in results):
        return False
    declined = [result for result in results if is_final(result)]
    return len(declined) > 1 and not any(result.reason in PER_REF for result in declined)


def _limit(coord: Coord) -> int | None:
    words = (coord.files.read(LIMIT) or b"").split()
    if len(words) != PAIR or not all(word.isdigit() for word in words):
        return None
    return max(1, int(words[0])) if coord.clock.now() < int(words[1]) else None


def _remember(coord: Coord, parts: _Parts, updates: Sequence[RefUpdate]) -> None:
    results = [parts.done[update.ref] for update in updates]
    if parts.declined and parts.most:
        coord.files.note(LIMIT, f"{parts.most} {coord.clock.now() + LEARNED_SECONDS}\n".encode("ascii"))
    elif len(updates) == PAIR and _is_declined_whole(results):
        coord.files.note(LIMIT, f"1 {coord.clock.now() + DOUBTED_SECONDS}\n".encode("ascii"))
