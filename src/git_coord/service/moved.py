"""What kind of records moved between two looks at this clone's refs."""

from __future__ import annotations

from collections.abc import Mapping

from git_coord.domain.ids import Oid
from git_coord.store.refnames import Ref, parse


def kinds_moved(before: Mapping[Ref, Oid], after: Mapping[Ref, Oid]) -> set[str]:
    """Return "claims", "presence", "posts": each of which some ref is new, gone or another."""
    moved = {ref for ref in before.keys() | after.keys() if before.get(ref) != after.get(ref)}
    return {name.family.value for ref in moved if (name := parse(ref)) is not None}
