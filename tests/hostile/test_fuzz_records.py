"""Damaged records, signatures, keys and statements: refused as untrusted, or exactly what they say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from git_coord.crypto.record import open_record, split_record
from git_coord.crypto.sshsig import decode_armor, encode_armor, key_from_blob, parse_public_key, parse_public_line
from git_coord.crypto.trust import parse_allowed_signers
from git_coord.domain import canonical
from git_coord.domain.announcements import Posts, Presence, Receipt, parse_announcement
from git_coord.domain.statements import CLAIM_LIMIT, parse_operation, to_bytes
from git_coord.errors import CoordError, Kind
from git_coord.service.records import open_operation
from tests.hostile.mutations import TOKENS, as_text, mutants, outcomes, records, vector_files

RECORDS = records()
LINES = [record.partition(b"\n")[0] for record in RECORDS]
ARMORS = [record.partition(b"\n")[2] for record in RECORDS]
KEYS = vector_files("keys/*.pub")
SIGNERS = [
    b"alpha,beta-? " + KEYS[0],
    b'"*" namespaces="git-coord,git",valid-after="20260101",valid-before="20270101Z" ' + KEYS[1],
    b"# words\n\n* cert-authority " + KEYS[2],
]


def test_damaged_records_are_split_into_their_own_bytes_or_refused() -> None:
    def split(data: bytes) -> None:
        assert b"".join(split_record(data, 65536)) == data

    read, refused = outcomes(split, mutants(RECORDS, 4000, 1))
    assert (len(read) > 1000, len(refused) > 100) == (True, True)


def test_no_damaged_record_verifies_except_the_real_ones() -> None:
    read, refused = outcomes(lambda data: open_record(data, CLAIM_LIMIT), mutants(RECORDS, 2500, 2))
    assert set(read) <= set(RECORDS)
    assert len(refused) > 1500


def test_no_damaged_operation_is_believed_except_the_real_ones() -> None:
    read, _ = outcomes(open_operation, mutants(RECORDS, 1500, 3))
    assert set(read) <= set(RECORDS)


def test_what_the_signature_decoder_reads_it_writes_again_byte_for_byte() -> None:
    def there_and_back(data: bytes) -> None:
        assert encode_armor(decode_armor(data)) == data

    read, refused = outcomes(there_and_back, mutants(ARMORS, 4000, 4))
    assert set(ARMORS) & set(read)
    assert len(refused) > 1500


@pytest.mark.parametrize(
    ("decode", "seed"),
    [
        (lambda data: parse_public_key(as_text(data)), 5),
        (lambda data: parse_public_line(as_text(data)), 6),
        (key_from_blob, 7),
    ],
)
def test_damaged_keys_are_refused_as_untrusted(decode: Callable[[bytes], Any], seed: int) -> None:
    _, refused = outcomes(decode, mutants(KEYS, 3000, seed))
    assert len(refused) > 100


def test_what_canonical_json_reads_it_writes_again_byte_for_byte() -> None:
    def there_and_back(data: bytes) -> None:
        assert canonical.dumps(canonical.loads(data)) == data

    read, refused = outcomes(there_and_back, mutants([*LINES, *TOKENS], 6000, 8))
    assert (len(read) > 40, len(refused) > 3000) == (True, True)


def test_what_the_operation_parser_reads_it_writes_again_byte_for_byte() -> None:
    def there_and_back(data: bytes) -> None:
        assert to_bytes(parse_operation(data)) == data

    read, refused = outcomes(there_and_back, _still_json(6000, 9))
    assert (len(read) > 40, len(refused) > 1000) == (True, True)


@pytest.mark.parametrize("kind", [Presence, Posts, Receipt])
def test_damaged_announcements_are_refused_as_untrusted(kind: type[Presence] | type[Posts] | type[Receipt]) -> None:
    seeds = [line.replace(b'"kind":"join"', b'"kind":"%s"' % kind.KIND.encode()) for line in LINES]
    _, refused = outcomes(lambda data: parse_announcement(data, kind), mutants(seeds, 1500, 10))
    assert len(refused) > 1000


def _still_json(count: int, seed: int) -> list[bytes]:
    """Return damaged statements whose JSON is canonical: they get past the first check."""
    made = []
    for data in mutants(LINES, count, seed):
        try:
            made.append(canonical.dumps(canonical.loads(data)))
        except CoordError:
            made.append(data)
    return made


def test_values_of_other_types_in_every_place_are_refused_as_untrusted() -> None:
    odd = [None, True, -1, 0, 2**53 - 1, "", "x" * 501, "\x1b", [], [[]], {}, {"a": 1}, [None] * 6000]
    refused = 0
    for line in LINES:
        try:
            obj = canonical.loads(line)
        except CoordError:
            continue
        for name in obj if isinstance(obj, dict) else ():
            _, bad = outcomes(parse_operation, [canonical.dumps({**obj, name: value}) for value in odd])
            refused += len(bad)
    assert refused > 3000


def test_damaged_trust_files_are_refused_whole() -> None:
    read, refused = outcomes(lambda data: parse_allowed_signers(data, "f"), mutants(SIGNERS, 4000, 11))
    assert (len(read) > 100, len(refused) > 1000) == (True, True)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "bomb",
    [
        b"[" * 1_000_000,
        b"[" * 400_000 + b"]" * 400_000,
        b'{"a":' * 150_000 + b"1" + b"}" * 150_000,
        b"9" * 1_000_000,
        b'{"v":1,"v":1}',
        b'"' + b"\\u0041" * 160_000 + b'"',
        b'{"kind":"claim","v":' + b"1" * 900_000 + b"}",
    ],
    ids=["open", "nested", "objects", "digits", "duplicate", "escapes", "version"],
)
@pytest.mark.parametrize("decode", [canonical.loads, parse_operation, lambda data: open_operation(data + b"\n")])
def test_bombs_are_refused_in_no_time(decode: Callable[[bytes], Any], bomb: bytes) -> None:
    with pytest.raises(CoordError) as caught:
        decode(bomb)
    assert caught.value.kind is Kind.UNTRUSTED


@pytest.mark.timeout(20)
def test_lines_of_a_megabyte_cost_nothing() -> None:
    assert outcomes(decode_armor, [b"A" * 1_000_000, ARMORS[0] * 2000])[0] == []
    assert outcomes(lambda data: open_record(data, CLAIM_LIMIT), [b"\n" * 1_000_000, b"a" * 1_000_000])[0] == []
    many = b"alpha " + KEYS[0].strip() + b" " + b"c" * 1_000_000
    assert len(parse_allowed_signers(many, "f").keys) == 1
    assert outcomes(lambda data: parse_allowed_signers(data, "f"), [b'"' * 1_000_000, b"a," * 500_000])[0] == []
