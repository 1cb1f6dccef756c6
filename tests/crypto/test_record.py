"""Records: stock tools and ours read and write the same bytes, and nothing else is a record."""

from __future__ import annotations

import subprocess

import pytest
from tests.helpers import PATIENCE

from git_coord.crypto.keys import InProcessSigner, SshKeygenSigner
from git_coord.crypto.record import OpenedRecord, SplitRecord, open_record, seal, split_record
from git_coord.errors import CoordError, Kind

ALL = ["ed25519", "p256", "p384", "p521", "rsa2048", "rsa3072"]
LIMIT = 64 * 1024
STATEMENT = b'{"kind":"claim","path":"caf\\u00e9","v":1}'


def refusal(function, *arguments):
    with pytest.raises(CoordError) as caught:
        function(*arguments)
    assert type(caught.value) is CoordError
    assert caught.value.kind is Kind.UNTRUSTED
    return caught.value.message


def record(lab, name="ed25519", statement=STATEMENT):
    return statement + b"\n" + lab.sign(name, statement + b"\n")


@pytest.mark.parametrize("name", ALL)
def test_a_record_built_by_stock_tools_opens(lab, name):
    expected = OpenedRecord(STATEMENT, lab.key(name))
    assert open_record(record(lab, name), LIMIT) == expected
    assert open_record(record(lab, name), LIMIT, lab.key(name)) == expected


@pytest.mark.parametrize("name", ALL)
def test_a_sealed_record_passes_the_stock_check(lab, name, tmp_path):
    blob = seal(STATEMENT, SshKeygenSigner(lab.path(name), lab.key(name), 60, lab.env))
    (tmp_path / "blob").write_bytes(blob)
    (tmp_path / "allowed_signers").write_text(f"alpha {lab.key(name)}\n")
    script = """
        sed 1d < blob > s
        sed -n 1p < blob | ssh-keygen -Y verify -f allowed_signers -I alpha -n git-coord -s s
    """
    result = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, env=lab.env, capture_output=True, check=False, timeout=PATIENCE
    )
    assert (result.returncode, result.stderr) == (0, b"")
    assert open_record(blob, LIMIT, lab.key(name)) == OpenedRecord(STATEMENT, lab.key(name))


def test_both_signers_seal_the_same_bytes(lab):
    path, key = lab.path("ed25519"), lab.key("ed25519")
    assert seal(STATEMENT, InProcessSigner(path)) == seal(STATEMENT, SshKeygenSigner(path, key, 60, lab.env))


def test_splitting_keeps_every_byte(lab):
    blob = record(lab)
    split = split_record(blob, len(blob))
    assert split == SplitRecord(STATEMENT + b"\n", blob[len(STATEMENT) + 1 :])


def test_the_size_is_looked_at_first(lab):
    size = len(record(lab))
    assert open_record(record(lab), size).statement == STATEMENT
    assert refusal(open_record, record(lab), size - 1) == f"record has {size} bytes, at most {size - 1} are allowed"
    assert refusal(split_record, b"x" * 100, 99) == "record has 100 bytes, at most 99 are allowed"


def test_a_record_of_another_key_is_refused(lab):
    fingerprint = lab.run("-l", "-f", f"{lab.path('other')}.pub").stdout.decode().split()[1]
    message = refusal(open_record, record(lab, "other"), LIMIT, lab.key("ed25519"))
    assert message == f"record is signed by another key: {fingerprint}"


@pytest.mark.parametrize("namespace", ["git", "file", "git-coord-rotate", "git-coord2"])
def test_a_signature_made_for_something_else_is_refused(lab, namespace):
    blob = STATEMENT + b"\n" + lab.sign("ed25519", STATEMENT + b"\n", namespace)
    assert refusal(open_record, blob, LIMIT) == f"signature is for namespace {namespace}, not git-coord"


def test_no_changed_byte_goes_unnoticed(lab):
    blob = record(lab)
    for at, byte in enumerate(blob):
        for changed in {byte ^ 1, byte ^ 0x20, byte ^ 0x80, 0, ord("\n"), ord("\r")} - {byte}:
            refusal(open_record, blob[:at] + bytes([changed]) + blob[at + 1 :], LIMIT)


def test_no_cut_or_lengthened_record_opens(lab):
    blob = record(lab)
    for end in range(len(blob)):
        refusal(open_record, blob[:end], LIMIT)
        refusal(open_record, blob[:end] + blob[end + 1 :], LIMIT)
    for tail in (b"\n", b" ", b"\0", b"x", blob[len(STATEMENT) + 1 :], blob):
        refusal(open_record, blob + tail, LIMIT)


def test_a_second_signature_is_refused_whichever_comes_first(lab):
    line = STATEMENT + b"\n"
    mine, other = lab.sign("ed25519", line), lab.sign("other", line)
    assert refusal(open_record, line + mine + other, LIMIT) == "not canonical base64"
    assert refusal(open_record, line + other + mine, LIMIT) == "not canonical base64"


def test_line_ends_of_another_system_are_refused(lab):
    blob = record(lab)
    refusal(open_record, blob.replace(b"\n", b"\r\n"), LIMIT)
    refusal(open_record, blob.replace(b"\n", b"\r\n", 1), LIMIT)
    signed_with_return = STATEMENT + b"\r\n" + lab.sign("ed25519", STATEMENT + b"\r\n")
    assert refusal(open_record, signed_with_return, LIMIT) == "record does not start with one line of plain ASCII"


def test_the_signature_covers_the_newline(lab):
    message = refusal(open_record, STATEMENT + b"\n" + lab.sign("ed25519", STATEMENT), LIMIT)
    assert message.startswith("signature does not fit: not made by SHA256:")


@pytest.mark.parametrize("statement", [b"", b"a\tb", b"\xc3\xa9", b"\xef\xbb\xbf{}", b"a\0b", b"\x1b[31m"])
def test_a_statement_that_is_not_one_plain_line_is_neither_sealed_nor_opened(lab, statement):
    blob = statement + b"\n" + lab.sign("ed25519", statement + b"\n")
    assert refusal(open_record, blob, LIMIT) == "record does not start with one line of plain ASCII"
    with pytest.raises(ValueError, match=r"^a statement is one line of plain ASCII, without the newline$"):
        seal(statement, InProcessSigner(lab.path("ed25519")))


def test_a_record_of_a_mebibyte_opens(lab):
    statement = b'{"x":"' + b"y\x7f" * 500_000 + b'"}'
    assert open_record(record(lab, statement=statement), 1 << 20).statement == statement
