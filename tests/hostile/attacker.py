"""An attacker with push rights: a member of the ledger with a key of its own, raw objects, and `git push --force`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest import mock

from git_coord.app import open_app
from git_coord.crypto.keys import InProcessSigner, Signer, generate_key
from git_coord.crypto.record import seal
from git_coord.crypto.sshsig import NAMESPACE
from git_coord.domain import canonical, chain
from git_coord.domain.chain import Extension, Head, Sealed
from git_coord.domain.ids import Oid
from git_coord.domain.merkle import GitObject, hash_object
from git_coord.domain.statements import Cancel, Operation, Release, Target, to_bytes
from git_coord.domain.timestamps import format_stamp
from git_coord.service.context import Coord
from git_coord.service.ledger import open_ledger
from git_coord.service.operations import operation
from git_coord.service.requests import flat_commit
from tests.helpers import Repo

CLAIMS = "refs/coord/claims"


@dataclass(frozen=True)
class Attacker:
    """Everything a hostile member can do with git alone; `clone` is its own, `name` its member."""

    clone: Repo
    name: str = "mallory"

    @cached_property
    def coord(self) -> Coord:
        """The ledger as it stood when this was first asked for."""
        made = open_app(str(self.clone.path), self.clone.env, agent=self.name).coord
        open_ledger(made)
        return made

    @property
    def head(self) -> Head:
        return self.coord.known

    @cached_property
    def key(self) -> Signer:
        """The member's own key."""
        state = Path(self.clone.env["XDG_STATE_HOME"])
        return InProcessSigner(state / "git-coord" / self.head.state.repo / self.name)

    def new_key(self, name: str) -> Signer:
        """Return a key that nobody knows."""
        path = self.clone.path / ".git" / f"key-{name}"
        if not path.exists():
            generate_key(path, name)
        return InProcessSigner(path)

    def op(self, cls: type[Operation], **fields: Any) -> Any:
        """Return an operation, the attacker's own unless the fields say otherwise."""
        member = self.head.state.agents.get(fields.get("agent", self.name))
        seq = fields.pop("seq", member.seq + 1 if member else 1)
        session = member.session if member else "s"
        return operation(self.coord, cls, seq, **{"session": session, **fields})

    def cancel(self, **fields: Any) -> Any:
        """Return a harmless operation."""
        return self.op(Cancel, op="0" * 32, **fields)

    def release_of(self, holder: str, **fields: Any) -> Any:
        """Return a release of everything that somebody holds."""
        claims = [claim for claim in self.head.state.claims.values() if claim.holder == holder]
        return self.op(Release, reason="", targets=tuple(Target(claim.op, None) for claim in claims), **fields)

    def sealed(self, op: Operation, by: Signer | None = None, namespace: str = NAMESPACE) -> Sealed:
        """Return an operation signed by any key in any namespace."""
        signer = by or self.key
        line = to_bytes(op) + b"\n"
        return Sealed(line + signer.sign(line, namespace), op, signer.key)

    def statement(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Sealed:
        """Return a harmless operation whose signed statement is something else."""
        op = self.cancel()
        data = canonical.dumps(change(canonical.loads(to_bytes(op))))
        return Sealed(seal(data, self.key), op, self.key.key)

    def line(self, data: bytes) -> Sealed:
        """Return a harmless operation whose signed statement is these bytes."""
        return Sealed(seal(data, self.key), self.cancel(), self.key.key)

    def places(self, *operations: Sealed) -> Extension:
        """Return the commit that places operations whether they may be placed or not."""
        with mock.patch.object(chain, "fault", return_value=None):
            made = chain.extend(self.head, operations, self.coord.store.algorithm)
        assert made is not None
        return made

    def write(self, objects: Sequence[GitObject]) -> None:
        self.coord.store.write(objects)

    def put(self, type_: str, data: bytes) -> Oid:
        """Store one object."""
        made = hash_object(type_, data, self.coord.store.algorithm)
        self.write([made])
        return made.oid

    def commit(self, tree: Oid, *parents: Oid, date: int | None = None, **changes: str) -> Oid:
        """Store a commit that looks like the ledger's, except for what is named."""
        stamp = self.head.date if date is None else date
        who = changes.get("author", chain.AUTHOR)
        lines = [f"tree {tree}", *(f"parent {oid}" for oid in parents)]
        lines += [f"author {who} {stamp} +0000", f"committer {chain.AUTHOR} {stamp} +0000"]
        header = changes.get("header")
        lines += [header] if header else []
        return self.put("commit", ("\n".join([*lines, "", changes.get("message", "x"), ""])).encode())

    def files(self, names: dict[str, bytes], at: int | None = None) -> Oid:
        """Store a commit of a flat tree of these files, as request, presence and posts refs have it."""
        blobs = {name: hash_object("blob", data, self.coord.store.algorithm) for name, data in names.items()}
        tree = {name: blob.oid for name, blob in blobs.items()}
        commit, objects = flat_commit(self.coord, tree, self.head.date if at is None else at)
        self.write([*{blob.oid: blob for blob in blobs.values()}.values(), *objects])
        return commit

    def push(self, ref: str, oid: str) -> None:
        """Push whatever it is, over whatever is there."""
        self.clone.git("push", "-q", "--no-verify", "--force", "origin", f"{oid}:{ref}")

    def delete(self, *refs: str) -> None:
        """Delete refs at the hub."""
        self.clone.git("push", "-q", "--no-verify", "origin", *(f":{ref}" for ref in refs))

    def push_ledger(self, made: Extension) -> str:
        """Push a ledger commit and return its id."""
        self.write(made.objects)
        self.push(CLAIMS, made.head.oid)
        return made.head.oid

    def push_requests(self, agent: str, *records: Sealed) -> None:
        """Push a request ref of any agent."""
        files = {f"{sealed.op.seq:010}": sealed.record for sealed in records}
        self.push(f"refs/coord/requests/{agent}", self.files(files))


def now_stamp(coord: Coord, more: int = 0) -> str:
    """Return a time as records spell it."""
    return format_stamp(coord.clock.now() + more)


def executable(path: Path, text: str) -> str:
    """Write a script and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.chmod(path, 0o755)
    return str(path)
