"""Says, with `pytest -s`, how many rules were run and what became of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .frame import COUNTS


@pytest.fixture(autouse=True, scope="package")
def _report() -> Iterator[None]:
    yield
    width = max(map(len, COUNTS), default=0)
    for line in (f"{name:{width}} {count}" for name, count in sorted(COUNTS.items())):
        print(line)  # noqa: T201 - shown on request only
