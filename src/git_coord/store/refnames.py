"""Every ref of ours is built, parsed and mapped here, and nowhere else (section 2 of the design)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NewType

from git_coord.domain.ids import Agent, is_agent
from git_coord.lean import NamedTuple

Ref = NewType("Ref", str)
"""A full ref name."""


class Family(Enum):
    """The kinds of refs that travel; the value is the folder (or name) below the prefix."""

    CLAIMS = "claims"
    REQUESTS = "requests"
    PRESENCE = "presence"
    POSTS = "posts"
    NOTES = "notes"
    EPOCHS = "epochs"


class Name(NamedTuple):
    """A parsed ref: its family, whose it is (None for the ledger and its epochs), and whether it is a fetched copy."""

    family: Family
    agent: Agent | None
    fetched: bool


DEFAULT_PREFIX = "refs/coord"
BRANCHES = "refs/heads/"
"""Where a host that takes only branches takes refs."""
BRANCH_PREFIX = "refs/heads/coord"
"""What `coord.refPrefix` is set to on hosts that take only branches."""
LIVE = "refs/coord/"
FETCHED = "refs/coord-remote/"
_LOCAL = "refs/coord-local/"
_NOTES = "refs/notes/coord/"
_FETCHED_NOTES = "refs/coord-notes-remote/"
LEDGER = Ref(LIVE + "claims")
"""The ledger as the remote confirmed it (or as it is, when there is no remote)."""
FETCHED_LEDGER = Ref(FETCHED + "claims")
"""The ledger as last fetched, before it is verified."""
SEEN = Ref(_LOCAL + "seen")
"""The last verified ledger head; never pushed."""
BEFORE = Ref(_LOCAL + "before")
"""The ledger as it was before the present epoch, which this clone keeps too; never pushed under this name."""
ALL_PREFIXES = (LIVE, FETCHED, _LOCAL, _NOTES, _FETCHED_NOTES)
"""Where every ref of ours lies."""
NEGOTIATION_TIPS = FETCHED + "*"
"""What a fetch may name as known, so that it never lists the user's own commits."""


def is_prefix(text: str) -> bool:
    """Tell whether refs of ours may lie under it at a remote."""
    first, *rest = text.split("/")
    plain = all(part[:1].isalnum() and part.replace("-", "").replace("_", "").isalnum() for part in rest)
    return text.isascii() and len(text) <= 100 and first == "refs" and bool(rest) and plain


def owned(family: Family, agent: Agent) -> Ref:
    """Return the agent's ref of a family; raises ValueError for the ledger, epochs and bad names."""
    if family in (Family.CLAIMS, Family.EPOCHS) or not is_agent(agent):
        raise ValueError(f"no such ref: {family.value}/{agent}")
    return Ref(_NOTES + agent) if family is Family.NOTES else Ref(f"{LIVE}{family.value}/{agent}")


def epoch(number: int) -> Ref:
    """Return the ref that keeps the ledger as it was before an epoch began."""
    return Ref(f"{LIVE}{Family.EPOCHS.value}/{number}")


def fetched(ref: Ref) -> Ref:
    """Return where the fetched copy of a live ref lies."""
    if ref.startswith(_NOTES):
        return Ref(_FETCHED_NOTES + ref.removeprefix(_NOTES))
    return Ref(FETCHED + ref.removeprefix(LIVE))


def unfetched(ref: Ref) -> Ref:
    """Return the live ref of which this is the fetched copy; a live one as it is."""
    if ref.startswith(_FETCHED_NOTES):
        return Ref(_NOTES + ref.removeprefix(_FETCHED_NOTES))
    return Ref(LIVE + ref.removeprefix(FETCHED)) if ref.startswith(FETCHED) else ref


def prefix(family: Family, *, fetched: bool = False) -> str:
    """Return what all refs of a family begin with, ending in a slash (for the ledger: its exact name)."""
    if family is Family.CLAIMS:
        return FETCHED_LEDGER if fetched else LEDGER
    if family is Family.NOTES:
        return _FETCHED_NOTES if fetched else _NOTES
    return f"{FETCHED if fetched else LIVE}{family.value}/"


def parse(ref: str) -> Name | None:
    """Return what a ref is, or None for one that does not fit the table (which `doctor` reports)."""
    if ref in (LEDGER, FETCHED_LEDGER):
        return Name(Family.CLAIMS, None, fetched=ref == FETCHED_LEDGER)
    for is_fetched in (False, True):
        number = ref.removeprefix(prefix(Family.EPOCHS, fetched=is_fetched))
        if number.isascii() and number.isdecimal() and number[0] != "0":
            return Name(Family.EPOCHS, None, is_fetched)
    for family in (Family.REQUESTS, Family.PRESENCE, Family.POSTS, Family.NOTES):
        for is_fetched in (False, True):
            start = prefix(family, fetched=is_fetched)
            if ref.startswith(start) and is_agent(ref.removeprefix(start)):
                return Name(family, Agent(ref.removeprefix(start)), is_fetched)
    return None


def is_fetched(ref: Ref) -> bool:
    """Tell whether a ref is a copy of what the remote had: anybody with push rights may have made it."""
    return ref.startswith((FETCHED, _FETCHED_NOTES))


def on_remote(ref: Ref, remote_prefix: str) -> Ref:
    """Return the ref's name on the remote, under `coord.refPrefix` where that is set."""
    if remote_prefix == DEFAULT_PREFIX:
        return ref
    if ref.startswith(_NOTES):
        return Ref(f"{remote_prefix}/notes/{ref.removeprefix(_NOTES)}")
    return Ref(f"{remote_prefix}/{ref.removeprefix(LIVE)}")


def fetch_refspecs(families: Iterable[Family], remote_prefix: str) -> list[str]:
    """Return the refspecs that bring families into the fetched namespace; `+` is for these only."""
    specs = []
    for family in families:
        if family is Family.CLAIMS:
            # A pattern, because an exact name that is absent fails the whole fetch.
            specs.append(f"+{remote_prefix}/claims*:{FETCHED}claims*")
        elif family is Family.NOTES:
            there = _NOTES if remote_prefix == DEFAULT_PREFIX else f"{remote_prefix}/notes/"
            specs.append(f"+{there}*:{_FETCHED_NOTES}*")
        else:
            specs.append(f"+{remote_prefix}/{family.value}/*:{FETCHED}{family.value}/*")
    return specs


def default_branch(remote: str) -> str:
    """Return this clone's pointer to a remote's default branch; a ref of the user's, only ever read."""
    return f"refs/remotes/{remote}/HEAD"


def branch(name: str, remote: str | None) -> str:
    """Return this clone's copy of a remote's branch (without a remote its own); a ref of the user's, only ever read."""
    return f"{BRANCHES}{name}" if remote is None else f"refs/remotes/{remote}/{name}"
