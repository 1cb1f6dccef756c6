"""How names compare: as they are, or without regard to case and composition."""

from __future__ import annotations

from enum import Enum
from functools import cache

from .text import is_utf8


class Fold(Enum):
    """The `fold` of the ledger's `format` file, fixed at birth."""

    NONE = "none"
    CASE_NFC = "case+nfc"


def fold_name(name: str, fold: Fold) -> str:
    """Return the form in which a path or pattern compares; a component that is not UTF-8 stays as it is."""
    if fold is Fold.NONE:
        return name
    if name.isascii():
        return name.lower()
    if is_utf8(name):
        return _fold_text(name)
    # By component, so that a claim of `SRC` still covers `SRC/<bytes that are not UTF-8>`.
    return "/".join(_fold_text(part) if is_utf8(part) else part for part in name.split("/"))


def _fold_text(text: str) -> str:
    return _nfc(_nfc(text).translate(_table()))


def _nfc(text: str) -> str:
    """NFC of Unicode 3.2; code points that 3.2 did not have stay where they are.

    `ucd_3_2_0.normalize` alone is not frozen: it orders and composes such code points by the running Python's tables.
    So only the stretches between them are given to it.
    """
    from itertools import groupby  # noqa: PLC0415 (names are nearly always ASCII and never come here)
    from unicodedata import ucd_3_2_0 as ucd  # noqa: PLC0415

    stretches = groupby(text, lambda char: ucd.category(char) != "Cn")
    return "".join(ucd.normalize("NFC", "".join(run)) if known else "".join(run) for known, run in stretches)


@cache
def _table() -> dict[int, int]:
    from .fold_table import fold_map  # noqa: PLC0415 (as above)

    return fold_map()
