"""A state read back from the files of a verified ledger's tree; `layout.py` says where they lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from git_coord.errors import CoordError, Kind

from . import canonical
from .fold import Fold
from .ids import Agent, KeyText, Nonce, Oid, Session, Token
from .index import ItemIndex
from .items import Item
from .layout import AGENTS, BLOCKED, CLAIMS, COUNTERS, EPOCH, EXPELLED, MOVED, POLICY, RESTORED, WAITING
from .state import (
    Block,
    Counters,
    Epoch,
    Expelled,
    ItemKey,
    KeySince,
    LiveClaim,
    Member,
    Restored,
    State,
    Waiter,
    grant,
)
from .statements import BlockTasks, Claim, Move, Operation, Policy, Release, Renew, Stamp, Takeover, parse_operation
from .timestamps import parse_stamp

O = TypeVar("O", bound=Operation)  # noqa: E741 - the one type variable of this module


def load_state(files: Mapping[str, bytes]) -> State:
    """Return the state that a verified tree holds; `files` maps every path outside `op/` to its bytes.

    Raises CoordError(UNTRUSTED) when the files do not make a state, which a verified ledger never shows.
    """
    try:
        return _load(files)
    except (LookupError, ValueError, TypeError) as trouble:
        raise CoordError(Kind.UNTRUSTED, _words(trouble), next="git coord doctor --repair-ledger") from None


def _words(trouble: Exception) -> str:
    """Say what of the tree cannot be read, in words for people."""
    what = f"{trouble.args[0]} is missing" if isinstance(trouble, KeyError) and trouble.args else str(trouble)
    return f"the ledger here cannot be read ({what}): it is damaged, or another version of git coord wrote it"


def _load(files: Mapping[str, bytes]) -> State:
    policy = _operation(files[POLICY], Policy)
    fold = Fold(policy.fold)
    claims, waiting = _load_claims(files, fold), _load_waiting(files)
    held: list[tuple[ItemKey, Item]] = [((c.op, i), item) for c in claims.values() for i, item in c.live()]
    asked = [((w.op.nonce, i), item) for w in waiting.values() for i, item in enumerate(w.op.items)]
    counters = canonical.loads(files[COUNTERS][:-1])
    return State(
        policy=policy,
        agents={Agent(name): _load_member(canonical.loads(data[:-1])) for name, data in _below(files, AGENTS)},
        claims=claims,
        index=ItemIndex[ItemKey](fold).added(held),
        counters=Counters(counters["ops"], counters["token"], counters["queue"], parse_stamp(counters["at"])),
        waiting=waiting,
        asked=ItemIndex[ItemKey](fold).added(asked),
        blocks=_load_blocks(files),
        epoch=read_epoch(files[EPOCH]) if EPOCH in files else None,
        restored=_load_restored(canonical.loads(files[RESTORED][:-1])) if RESTORED in files else None,
        moved=_operation(files[MOVED], Move) if MOVED in files else None,
        expelled={Agent(name): _load_expelled(canonical.loads(data[:-1])) for name, data in _below(files, EXPELLED)},
    )


def read_epoch(data: bytes) -> Epoch:
    """Return what the file of an epoch says; raises ValueError, TypeError or KeyError for anything else."""
    obj = canonical.loads(data[:-1])
    return Epoch(obj["number"], Oid(obj["old"]), obj["ops"], Oid(obj["root"]))


def _load_restored(obj: Any) -> Restored:
    replayed = frozenset((Agent(entry["agent"]), Nonce(entry["nonce"])) for entry in obj["replayed"])
    found = None if obj["found"] is None else Oid(obj["found"])
    return Restored(Agent(obj["agent"]), parse_stamp(obj["at"]), obj["ops"], found, replayed)


def _below(files: Mapping[str, bytes], folder: str) -> list[tuple[str, bytes]]:
    """Return the last name of every path under a folder with its bytes, numbers in their order."""
    found = [(path.rpartition("/")[2], data) for path, data in files.items() if path.startswith(folder + "/")]
    return sorted(found, key=lambda row: (len(row[0]), row[0]) if row[0].isdecimal() else (0, row[0]))


def _load_keys(obj: Any) -> tuple[KeySince, ...]:
    return tuple(KeySince(entry["from"], KeyText(entry["key"])) for entry in obj["keys"])


def _load_expelled(obj: Any) -> Expelled:
    return Expelled(_load_keys(obj), obj["ops"], Agent(obj["by"]), parse_stamp(obj["at"]), str(obj["reason"]))


def _load_member(obj: Any) -> Member:
    keys = _load_keys(obj)
    return Member(keys=keys, seq=obj["seq"], session=Session(obj["session"]), at=parse_stamp(obj["at"]))


def _load_waiting(files: Mapping[str, bytes]) -> dict[Nonce, Waiter]:
    waiters = (Waiter(int(number), _operation(record, Claim)) for number, record in _below(files, WAITING))
    return {waiter.op.nonce: waiter for waiter in waiters}


def _load_blocks(files: Mapping[str, bytes]) -> dict[Nonce, Block]:
    found = ((int(position), _operation(record, BlockTasks)) for position, record in _below(files, BLOCKED))
    return {op.nonce: Block(position, op.nonce, op.agent, op.at, op.tasks, op.reason) for position, op in found}


def _load_claims(files: Mapping[str, bytes], fold: Fold) -> dict[Nonce, LiveClaim]:
    folders: dict[int, dict[str, bytes]] = {}
    for path, data in files.items():
        if path.startswith(CLAIMS + "/"):
            _, _, token, name = path.split("/")
            folders.setdefault(int(token), {})[name] = data
    loaded = (_load_claim(folders[token], fold) for token in sorted(folders))
    return {claim.op: claim for claim in loaded}


def _load_claim(folder: Mapping[str, bytes], fold: Fold) -> LiveClaim:
    derived = canonical.loads(folder["grant"][:-1])
    op = _operation(folder["claim"], Claim, Takeover)
    assert isinstance(op, Claim | Takeover)
    stamps = tuple(Stamp(entry["name"], entry["value"]) for entry in derived["stamps"])
    names, gone = _history(op, folder, fold)
    made = grant(op, Token(derived["token"]), stamps)
    at = parse_stamp(derived["at"])
    claim = made._replace(op=names[-1], holder=Agent(derived["holder"]), at=at, renewed=at, gone=gone)
    claim = claim._replace(unattended=derived["unattended"])
    if "settling" in folder:
        claim = claim._replace(settling=_operation(folder["settling"], Release).landed)
    return _renewed(claim, _operation(folder["renew"], Renew), names) if "renew" in folder else claim


def _history(op: Claim | Takeover, folder: Mapping[str, bytes], fold: Fold) -> tuple[list[Nonce], frozenset[int]]:
    """Return the names that the claim had, one for each time it changed hands, and the positions it lost."""
    everything = frozenset(range(len(op.items)))
    names, gone = [op.nonce], frozenset[int]()
    for name in sorted((name for name in folder if "-" in name), key=lambda name: name.partition("-")[2]):
        later = _operation(folder[name], Claim, Takeover, Release)
        if name.startswith("handed-") and isinstance(later, Release):
            kept = later.targets[0].items
            gone |= frozenset() if kept is None else everything - frozenset(kept)
            names.append(later.nonce)
        else:
            gone |= frozenset(_cut_positions(op.items, names[-1], later, fold))
    return names, gone


def _cut_positions(items: tuple[Item, ...], name: Nonce, cut: Operation, fold: Fold) -> Iterator[int]:
    """Yield what a later operation took from the claim: a release names positions, a re-claim its own items."""
    if isinstance(cut, Release):
        for target in cut.targets:
            if target.claim == name:
                yield from target.items or range(len(items))
    elif isinstance(cut, Claim | Takeover):
        index: ItemIndex[int] = ItemIndex[int](fold).added(enumerate(items))
        for item in cut.items:
            yield from (at for at in index.same(item) if item.intent.includes(items[at].intent))


def _renewed(claim: LiveClaim, op: Renew, names: list[Nonce]) -> LiveClaim:
    """Return the claim as renewed; under an earlier holder that says nothing about how long the present one has it."""
    rows = {renewal.claim: renewal for renewal in op.claims}
    name = [name for name in names if name in rows][-1]
    own = claim._replace(ttl=op.ttl, lease=op.lease, pins=rows[name].pins, stamps=rows[name].stamps)
    return own._replace(renewed=op.at, unattended=False) if name == claim.op else own


def _operation(record: bytes, *kinds: type[O]) -> O:
    statement, _, _ = record.partition(b"\n")
    op = parse_operation(statement)
    if not isinstance(op, kinds):
        raise ValueError(f"a {op.KIND} lies where another operation belongs")
    return op
