"""How a state lies in a ledger's tree: every file, its bytes, and which change touches it (`docs/format.md`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from git_coord.errors import CoordError, Kind

from . import canonical
from .fold import Fold
from .ids import Agent, KeyText, Nonce, Session, Token
from .index import ItemIndex
from .items import Item
from .ledger import Change
from .state import Counters, ItemKey, KeySince, LiveClaim, Member, State, grant
from .statements import Claim, Operation, Policy, Release, Renew, Stamp, parse_operation
from .timestamps import format_stamp, parse_stamp

FORMAT, POLICY, COUNTERS = "format", "policy", "counters"
OPERATIONS, AGENTS, CLAIMS = "op", "agents", "claims"

O = TypeVar("O", bound=Operation)  # noqa: E741 - the one type variable of this module


class File(NamedTuple):
    """A path of the tree with its new bytes, or None when it goes."""

    path: str
    data: bytes | None


def operation_path(index: int) -> str:
    """Return where the commit's operation number `index` lies."""
    return f"{OPERATIONS}/{index:04}"


def claim_folder(token: int) -> str:
    """Return the folder of a live claim."""
    return f"{CLAIMS}/{token // 100}/{token}"


def birth_files(root: Policy) -> Iterator[File]:
    """Yield the files that only the root writes."""
    fixed = {"fold": root.fold, "repo": root.repo, "skew": root.skew, "v": 1}
    yield File(FORMAT, _line(fixed))


def changed_files(state: State, op: Operation, record: bytes, changes: Sequence[Change]) -> Iterator[File]:
    """Yield what placing `op` changes, besides `op/`: the state is the one after it."""
    if state.policy is op:
        yield File(POLICY, record)
    if op.agent in state.agents:
        yield File(f"{AGENTS}/{op.agent}", _member(state.agents[op.agent]))
    for change in changes:
        yield from _claim_files(state, op, record, change)
    yield File(COUNTERS, _counters(state.counters))


def _claim_files(state: State, op: Operation, record: bytes, change: Change) -> Iterator[File]:
    before, after = change
    if after is None:
        assert before is not None
        yield File(claim_folder(before.token), None)
        return
    folder = claim_folder(after.token)
    if before is None:
        yield File(f"{folder}/grant", _grant(after))
        yield File(f"{folder}/claim", record)
    elif isinstance(op, Renew):
        yield File(f"{folder}/renew", record)
    else:
        yield File(f"{folder}/cut-{state.counters.ops:012}", record)


def _line(value: Any) -> bytes:
    return canonical.dumps(value) + b"\n"


def _member(member: Member) -> bytes:
    keys = [{"from": since.position, "key": since.key} for since in member.keys]
    return _line({"keys": keys, "seq": member.seq, "session": member.session})


def _counters(counters: Counters) -> bytes:
    return _line(
        {"at": format_stamp(counters.at), "ops": counters.ops, "queue": counters.queue, "token": counters.token}
    )


def _grant(claim: LiveClaim) -> bytes:
    stamps = [{"name": stamp.name, "value": stamp.value} for stamp in claim.stamps]
    return _line(
        {"at": format_stamp(claim.at), "holder": claim.holder, "op": claim.op, "stamps": stamps, "token": claim.token}
    )


def load_state(files: Mapping[str, bytes]) -> State:
    """Return the state that a verified tree holds; `files` maps every path outside `op/` to its bytes.

    Raises CoordError(UNTRUSTED) when the files do not make a state, which a verified ledger never shows.
    """
    try:
        return _load(files)
    except (LookupError, ValueError, TypeError) as trouble:
        raise CoordError(Kind.UNTRUSTED, f"the ledger's tree does not hold together: {trouble!r}") from None


def _load(files: Mapping[str, bytes]) -> State:
    policy = _operation(files[POLICY], Policy)
    agents = {
        Agent(path.partition("/")[2]): _load_member(canonical.loads(data[:-1]))
        for path, data in files.items()
        if path.startswith(AGENTS + "/")
    }
    claims = _load_claims(files, Fold(policy.fold))
    pairs: list[tuple[ItemKey, Item]] = [((c.op, i), item) for c in claims.values() for i, item in c.live()]
    counters = canonical.loads(files[COUNTERS][:-1])
    return State(
        policy=policy,
        agents=agents,
        claims=claims,
        index=ItemIndex[ItemKey](Fold(policy.fold)).added(pairs),
        counters=Counters(counters["ops"], counters["token"], counters["queue"], parse_stamp(counters["at"])),
    )


def _load_member(obj: Any) -> Member:
    keys = tuple(KeySince(entry["from"], KeyText(entry["key"])) for entry in obj["keys"])
    return Member(keys=keys, seq=obj["seq"], session=Session(obj["session"]))


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
    op = _operation(folder["claim"], Claim)
    stamps = tuple(Stamp(entry["name"], entry["value"]) for entry in derived["stamps"])
    claim = grant(op, Token(derived["token"]), stamps)
    if "renew" in folder:
        claim = _renewed(claim, _operation(folder["renew"], Renew))
    cuts = (_operation(folder[name], Operation) for name in sorted(folder) if name.startswith("cut-"))
    gone = frozenset(position for cut in cuts for position in _cut_positions(claim, cut, fold))
    return claim._replace(gone=gone)


def _renewed(claim: LiveClaim, op: Renew) -> LiveClaim:
    own = {renewal.claim: renewal for renewal in op.claims}[claim.op]
    return claim._replace(renewed=op.at, ttl=op.ttl, lease=op.lease, pins=own.pins, stamps=own.stamps)


def _cut_positions(claim: LiveClaim, cut: Operation, fold: Fold) -> Iterator[int]:
    """Yield what a later operation took from the claim: a release names positions, a re-claim its own items."""
    if isinstance(cut, Release):
        for target in cut.targets:
            if target.claim == claim.op:
                yield from target.items or range(len(claim.items))
    elif isinstance(cut, Claim):
        index: ItemIndex[int] = ItemIndex[int](fold).added((i, item) for i, item in enumerate(claim.items))
        for item in cut.items:
            yield from index.same(item)


def _operation(record: bytes, cls: type[O]) -> O:
    statement, _, _ = record.partition(b"\n")
    op = parse_operation(statement)
    if not isinstance(op, cls):
        raise ValueError(f"a {op.KIND} lies where another operation belongs")
    return op
