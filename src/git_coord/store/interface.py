"""What the services need of git: a store of objects and refs, and a remote. Concrete ones are chosen in `app.py`.

Guaranteed: `swap` moves all named refs or none, each only from the exact value named, as git itself decides it, also
against other programs; what `write` wrote can be read at once. Not guaranteed: that an object outlives a
`git prune --expire=now` between `write` and `swap` (write again and retry), nor that a ref keeps the value just read.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum
from typing import Final, Protocol

from git_coord.domain.ids import Oid
from git_coord.domain.merkle import GitObject
from git_coord.lean import NamedTuple

from .refnames import Family, Ref


class Absent(Enum):
    """The value of a ref that does not exist; never spelled None, which could be read as "any"."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


class RefUpdate(NamedTuple):
    """Move a ref from exactly `old` to `new`; ABSENT as `old` creates, as `new` deletes."""

    ref: Ref
    new: Oid | Absent
    old: Oid | Absent


class Swap(Enum):
    """What became of a swap: STALE, some ref had another value; LOCKED, git could not take a lock in time."""

    MOVED = "moved"
    STALE = "stale"
    LOCKED = "locked"


class TreeRow(NamedTuple):
    """An entry of a recursive listing: type ("blob" or "tree"; "commit" for a submodule), path, id."""

    type: str
    path: str
    oid: Oid


class Store(Protocol):
    """Objects and refs of one repository. Every method raises CoordError(ERROR) when git itself cannot run or read."""

    @property
    def algorithm(self) -> str:
        """The repository's object format: "sha1" or "sha256"."""

    def refs(self, *prefixes: str) -> dict[Ref, Oid]:
        """Return the refs equal to a prefix, or below one that ends in a slash, with the ids they hold."""

    def read(self, specs: Sequence[str], limit: int | None = None) -> list[GitObject | None]:
        """Return the objects at `<oid>` or `<oid>:<path>`, in order; None where there is none.

        With `limit`, an object of more bytes comes back with empty data and type "oversized": size before content.
        """

    def listing(self, tree: Oid) -> list[TreeRow]:
        """Return all rows of a tree (or a commit's tree), recursively, directories too and before their content."""

    def history(self, tip: Oid, since: Oid | None) -> list[Oid]:
        """Return the first-parent chain from after `since` (or from its root) to `tip`, oldest first.

        When `since` is not on the chain the answer starts at the root. Raises CoordError(UNTRUSTED) when an object of
        the chain is missing.
        """

    def write(self, objects: Sequence[GitObject]) -> None:
        """Store objects, without moving a ref; raises CoordError(ERROR) when the disk refuses."""

    def swap(self, updates: Sequence[RefUpdate], reason: str) -> Swap:
        """Move all refs or none, each from its exact old value; `reason` is for a reflog, should one exist."""


class PushStatus(Enum):
    """What the remote said of one ref: SAME, it already had this value (then our change is in it)."""

    LANDED = "landed"
    SAME = "same"
    REJECTED = "rejected"


class PushedRef(NamedTuple):
    """One ref of a push: when it was refused, why, as git has it, and what the host itself `said` about the push."""

    ref: Ref
    status: PushStatus
    reason: str
    said: str = ""


class Place(NamedTuple):
    """Where the ledger is: a configured remote's name and setting, its resolved URL, and `coord.refPrefix`."""

    name: str
    setting: str
    url: str
    prefix: str

    def shown(self) -> str:
        """Return it for people, without a password."""
        scheme, found, rest = self.url.partition("://")
        host, slash, path = rest.partition("/")
        url = f"{scheme}://{host.rpartition('@')[2]}{slash}{path}" if found else self.url
        return f"{self.name} ({url}, {self.prefix})"


class Remote(Protocol):
    """The one place where the ledger is read and written; raises CoordError(UNKNOWN) when no answer comes in time."""

    @property
    def name(self) -> str:
        """The configured name, for people."""

    @property
    def place(self) -> Place:
        """Where it is."""

    def at(self, place: Place) -> Remote:
        """Return the same for another place."""

    def hurry(self, seconds: float | None) -> None:
        """Let all that is asked from now on end in so many seconds altogether; None for as long as usual."""

    def fetch(self, families: Collection[Family]) -> None:
        """Bring these families into the fetched namespace, exactly as they are there, vanished ones pruned."""

    def mend(self) -> bool:
        """Where objects of ours have gone missing, drop copies that need them and fetch all anew; tell whether any had.

        Raises CoordError(UNKNOWN) when the remote does not answer.
        """

    def push(self, updates: Sequence[RefUpdate], *, record: bool = True) -> list[PushedRef]:
        """Ask the remote to move each ref from exactly its old value; refs are decided one by one.

        What lands is also recorded in the fetched namespace, unless the caller moves those refs itself, together with
        others. Raises CoordError(UNKNOWN) when the outcome is not known: the refs may or may not have moved.
        """

    def record(self, landed: Sequence[RefUpdate]) -> None:
        """Record in the fetched namespace what landed; what has moved there since knows better and stays."""

    def deepen(self, commits: int, tip: Oid) -> None:
        """Fetch that many more commits of user history behind `tip` in a shallow clone."""

    def bring(self, oids: Sequence[Oid]) -> None:
        """Fetch single objects of the user's by their ids, for which no ref here stands."""
