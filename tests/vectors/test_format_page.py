"""The page of the format names what the code reads and writes."""

from __future__ import annotations

import re

from tests.helpers.source import ROOT

from git_coord.domain.announcements import Posts, Presence, Receipt
from git_coord.domain.envelope import COMMON
from git_coord.domain.ledger import Refusal
from git_coord.domain.statements import CLAIM_LIMIT, OPERATIONS, RECORD_LIMIT
from git_coord.domain.text import FORBIDDEN

PAGE = (ROOT / "docs/format.md").read_text()
KINDS = OPERATIONS | {cls.KIND: cls for cls in (Presence, Posts, Receipt)}


def section(title: str, *, level: int = 2) -> str:
    """Return the text under a heading, up to the next one of its level."""
    mark = "\n" + "#" * level + " "
    return PAGE.split(f"{mark}{title}\n")[1].split(mark)[0]


def table(text: str) -> dict[str, set[str]]:
    """Return the members named for each kind, in tables whose first column is empty for the same kind again."""
    found: dict[str, set[str]] = {}
    kind = ""
    for first, second in re.findall(r"^\|([^|]*)\|([^|]*)\|", text, re.MULTILINE):
        kind = first.strip(" `") or kind
        found.setdefault(kind, set()).update(re.findall(r"`(\w+)`", second))
    return found


def test_every_kind_has_its_members_on_the_page() -> None:
    section_4 = section("4. Statements")
    found = table(section_4.split("### Operations")[1])
    assert {kind: names for kind, names in found.items() if kind in KINDS} == {
        kind: set(cls.FIELDS) for kind, cls in KINDS.items()
    }
    common = set(re.findall(r"^\| `(\w+)` \|", section_4.split("### Operations")[0], re.MULTILINE))
    assert common == COMMON.keys() | {"v", "kind"}


def test_the_forbidden_code_points_are_those_of_the_code() -> None:
    text = section("3. Types").split("Forbidden code points: ")[1].split(",\nand the last two")[0]
    listed = [tuple(int(end, 16) for end in (part.split("-") * 2)[:2]) for part in text.replace("\n", " ").split(", ")]
    planes = [(plane << 16 | 0xFFFE, plane << 16 | 0xFFFF) for plane in range(17)]
    assert sorted([*listed, *planes]) == sorted(FORBIDDEN)


def test_every_reason_of_a_refusal_is_explained() -> None:
    rules = section("5. What becomes of operations")
    assert [reason.value for reason in Refusal if reason.value not in rules] == []


def test_limits_of_records_are_those_of_the_code() -> None:
    text = section("2. Records")
    large = sorted(f"`{kind}`" for kind, cls in KINDS.items() if cls.LIMIT == CLAIM_LIMIT)
    assert f"{RECORD_LIMIT:,} bytes" in text
    assert f"{CLAIM_LIMIT:,}." in text
    assert (
        sorted(re.findall(r"`\w+`", text.split(f"{RECORD_LIMIT:,} bytes; ")[1].split(f" {CLAIM_LIMIT:,}")[0])) == large
    )
