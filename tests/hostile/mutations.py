"""Seeded damage to real bytes: what a fuzzer feeds a decoder, the same in every run."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from git_coord.errors import CoordError
from tests.helpers.source import ROOT

VECTORS = ROOT / "docs/vectors"
TOKENS = (
    b"\0", b"\n", b"\r\n", b"\t", b" ", b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"=", b"-1", b"0", b"1e9",
    b"1.5",
    b"null", b"true", b"NaN", b"9007199254740992", b"9" * 5000, b"\\ud800", b"\\u0000", b"\xff\xfe",
    b"\xc3\xa9", b"\x1b[2J",
    b"\xe2\x80\xae", b"[" * 3000, b'{"a":' * 500, b"40000 ", b"100644 a\0", b"tree ", b"parent ", b"committer ",
    b"-----END ",
    b'"v":1', b'"v":3', b'"kind":"claim"', b'"seq":0', b"../", b"//", b"**", b"refs/coord/claims", b"A" * 4096,
)  # fmt: skip
"""Pieces that mean something to one decoder or another."""


def records() -> list[bytes]:
    """Return every record of the vectors, good and bad."""
    paths = [*VECTORS.glob("sha*/*/*.record"), *(VECTORS / "refused").glob("*")]
    return [path.read_bytes() for path in sorted(paths) if path.is_file()]


def vector_files(pattern: str) -> list[bytes]:
    """Return the bytes of some files of the vectors."""
    return [path.read_bytes() for path in sorted(VECTORS.glob(pattern))]


def mutants(seeds: Sequence[bytes], count: int, seed: int) -> Iterator[bytes]:
    """Yield the seeds as they are, then as many damaged ones."""
    yield from seeds
    dice = random.Random(seed)
    for _ in range(count):
        data = dice.choice(seeds)
        for _ in range(dice.choice((1, 1, 1, 2, 3, 8))):
            data = dice.choice(_DAMAGES)(dice, data, seeds)
        yield data


def _flip(dice: random.Random, data: bytes, _seeds: Sequence[bytes]) -> bytes:
    at = dice.randrange(len(data) + 1)
    return data[:at] + bytes([dice.randrange(256)]) + data[at + 1 :]


def _cut(dice: random.Random, data: bytes, _seeds: Sequence[bytes]) -> bytes:
    start, end = sorted((dice.randrange(len(data) + 1), dice.randrange(len(data) + 1)))
    return data[:start] + data[end:]


def _repeat(dice: random.Random, data: bytes, _seeds: Sequence[bytes]) -> bytes:
    start, end = sorted((dice.randrange(len(data) + 1), dice.randrange(len(data) + 1)))
    return data[:end] + data[start:end] * dice.choice((1, 2, 9)) + data[end:]


def _insert(dice: random.Random, data: bytes, _seeds: Sequence[bytes]) -> bytes:
    at = dice.randrange(len(data) + 1)
    return data[:at] + dice.choice(TOKENS) + data[at:]


def _splice(dice: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    other = dice.choice(seeds)
    return data[: dice.randrange(len(data) + 1)] + other[dice.randrange(len(other) + 1) :]


_DAMAGES = (_flip, _flip, _cut, _repeat, _insert, _insert, _splice)


def outcomes(
    decode: Callable[[bytes], Any], inputs: Iterable[bytes], *allowed: type[Exception]
) -> tuple[list[bytes], list[bytes]]:
    """Return the inputs that were read and those refused as documented; anything else that is raised is a bug."""
    read: list[bytes] = []
    refused: list[bytes] = []
    for data in inputs:
        try:
            decode(data)
        except (CoordError, *allowed):
            refused.append(data)
        except Exception as bug:
            raise AssertionError(f"{type(bug).__name__}: {bug} for {data[:2000]!r}") from bug
        else:
            read.append(data)
    return read, refused


def as_text(data: bytes) -> str:
    """Return the bytes as Python hands over what a user typed or git printed."""
    return data.decode("utf-8", "surrogateescape")


def file_of(folder: Path, data: bytes) -> Path:
    """Write the bytes into a file and return it."""
    path = folder / "input"
    path.write_bytes(data)
    return path
