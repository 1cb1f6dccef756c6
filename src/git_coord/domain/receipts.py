"""Receipts between the hooks' notebook, signed records and git notes: lines, entries, names in a notes tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from . import canonical, fields
from .announcements import ReceiptEntry, TouchedPath
from .envelope import CLAIM_LIMIT
from .ids import Agent, Oid, is_agent, is_oid

MAX_COMMITS = 256
MAX_PATHS = 5000
ROOM = CLAIM_LIMIT - 16 * 1024
"""Bytes of one receipt for its entries; the rest is for the envelope and the signature."""
ENTRY_BYTES = 320
PATH_BYTES = 32
THERE_BYTES = 28
"""What an entry, a path and what is there take beside names and ids: keys and punctuation."""
FLAT = 256
"""Notes that lie in one folder; with more, folders by the first two digits, as git itself begins to fan out."""
END = b"-----END SSH SIGNATURE-----\n"


@dataclass(frozen=True, slots=True)
class Noted:
    """A line of the hooks: a commit was made, or made anew from `old`, while the ledger stood at `head`."""

    commit: Oid
    old: Oid | None
    head: Oid | None
    bypass: bool
    agent: Agent | None


def parse_line(line: bytes) -> Noted | None:
    """Return what a line says, None for one that a full disk or a crash left torn."""
    words = line.decode("ascii", "replace").split(" ")
    match words:
        case ["commit", new, head, bypass, agent]:
            old: str | None = None
        case ["rewrite", old, new, head, bypass, agent]:
            if not is_oid(old):
                return None
        case _:
            return None
    named = agent == "-" or is_agent(agent)
    if not (is_oid(new) and (head == "-" or is_oid(head)) and bypass in ("0", "1") and named):
        return None
    at = None if head == "-" else Oid(head)
    return Noted(Oid(new), None if old is None else Oid(old), at, bypass == "1", None if agent == "-" else Agent(agent))


def made(lines: Iterable[Noted]) -> dict[Oid, tuple[Oid, bool]]:
    """Return head and bypass of each commit that the lines name; of several the last head counts, and any bypass."""
    found: dict[Oid, tuple[Oid, bool]] = {}
    for line in lines:
        if line.head is not None:
            found[line.commit] = line.head, line.bypass or (line.commit in found and found[line.commit][1])
    return found


def batches(entries: Iterable[ReceiptEntry]) -> Iterator[tuple[ReceiptEntry, ...]]:
    """Yield the entries in parts that each fit into one receipt; paths beyond what one may list are left out.

    A path that is not listed still passes by the claim itself; it only cannot excuse a copy of the commit.
    """
    part: list[ReceiptEntry] = []
    used = 0
    for entry in entries:
        fitting, size = _fitted(entry)
        if part and (len(part) == MAX_COMMITS or used + size > ROOM):
            yield tuple(part)
            part, used = [], 0
        part.append(fitting)
        used += size
    if part:
        yield tuple(part)


def _fitted(entry: ReceiptEntry) -> tuple[ReceiptEntry, int]:
    size = ENTRY_BYTES
    kept: list[TouchedPath] = []
    for touched in entry.paths[:MAX_PATHS]:
        more = len(canonical.dumps(fields.path.write(touched.path))) + PATH_BYTES
        more += sum(THERE_BYTES + len(there.blob) for there in (touched.before, touched.after) if there)
        if size + more > ROOM:
            break
        size += more
        kept.append(touched)
    return entry._replace(paths=tuple(kept)), size


def noted_commit(path: str) -> Oid | None:
    """Return the commit that an entry of a notes tree belongs to, whatever its fan-out; None for anything else."""
    name = path.replace("/", "")
    return Oid(name) if is_oid(name) else None


def note_paths(commits: Sequence[Oid]) -> dict[Oid, str]:
    """Return where the note of each of all commits lies."""
    is_flat = len(commits) <= FLAT
    return {commit: commit if is_flat else f"{commit[:2]}/{commit[2:]}" for commit in commits}


def records_in(note: bytes) -> list[bytes]:
    """Return what looks like records in a note; `git notes append` may have put words around them."""
    found = []
    for part in note.split(END)[:-1]:
        at = part.rfind(b"\n{") + 1 if not part.startswith(b"{") else 0
        if part[at : at + 1] == b"{":
            found.append(part[at:] + END)
    return found
