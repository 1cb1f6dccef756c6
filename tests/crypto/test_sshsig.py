"""The codec: what ssh-keygen writes survives the round trip, every other spelling is refused."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_coord.crypto.sshsig import (
    PublicKey,
    Signature,
    decode_armor,
    encode_armor,
    parse_public_key,
    parse_public_line,
    signed_payload,
)
from git_coord.crypto.wire import mpint, string
from git_coord.errors import CoordError, Kind

ALL = ["ed25519", "p256", "p384", "p521", "rsa2048", "rsa3072"]
ED = string(b"ssh-ed25519")
P256 = string(b"ecdsa-sha2-nistp256")
RSA = string(b"ssh-rsa")
ED_KEY = PublicKey("ssh-ed25519", ED + string(bytes(range(32))))


def refusal(function, *arguments):
    with pytest.raises(CoordError) as caught:
        function(*arguments)
    assert type(caught.value) is CoordError
    assert caught.value.kind is Kind.UNTRUSTED
    return caught.value.message


def text(algorithm, blob):
    return f"{algorithm} {base64.b64encode(blob).decode()}"


@pytest.mark.parametrize("name", ALL)
def test_a_public_key_reads_and_writes_as_ssh_keygen_writes_it(lab, name):
    key = parse_public_key(lab.key(name))
    assert key.text == lab.key(name)
    assert lab.run("-l", "-f", f"{lab.path(name)}.pub").stdout.decode().split()[1] == key.fingerprint


def test_a_line_of_a_pub_file_may_carry_a_comment(lab):
    line = Path(f"{lab.path('ed25519')}.pub").read_text()
    assert line.endswith(" ed25519 key\n")
    assert parse_public_line(line).text == lab.key("ed25519")
    refusal(parse_public_key, line)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text + " comment",
        lambda text: text + "\n",
        lambda text: " " + text,
        lambda text: text.replace(" ", "  "),
        lambda text: text.replace(" ", "\t"),
        lambda text: text + "=",
        lambda text: text[:-1],
        lambda text: text[:-4],
        lambda text: text[:40] + "\n" + text[40:],
        lambda text: text.replace("ssh-ed25519", "ssh-rsa"),
        lambda text: text.replace("ssh-ed25519 ", ""),
        lambda text: text + "é",
        lambda text: "",
        lambda text: "ssh-ed25519",
        lambda text: "ssh-ed25519 ",
    ],
)
def test_a_public_key_has_only_one_spelling(change):
    assert parse_public_key(ED_KEY.text) == ED_KEY
    refusal(parse_public_key, change(ED_KEY.text))


def test_stray_bits_in_base64_are_refused():
    # 51 bytes need no padding, so look at a key whose base64 ends in one '='
    blob = P256 + string(b"nistp256") + string(b"\4" + bytes(64))
    good = text("ecdsa-sha2-nistp256", blob)
    assert good.endswith("A=")
    assert parse_public_key(good).blob == blob
    assert refusal(parse_public_key, good[:-2] + "B=") == "not canonical base64"


@pytest.mark.parametrize(
    ("algorithm", "blob", "message"),
    [
        ("ssh-ed25519", ED + string(bytes(31)), "ed25519 key is not 32 bytes long"),
        ("ssh-ed25519", ED + string(bytes(33)), "ed25519 key is not 32 bytes long"),
        ("ssh-ed25519", ED + string(bytes(32)) + b"\0", "bytes follow the end of a key or signature"),
        ("ssh-ed25519", ED + b"\xff\xff\xff\xff", "key or signature is cut short"),
        ("ssh-dss", string(b"ssh-dss") + bytes(64), "key type ssh-dss is not supported"),
        ("", string(b"") + bytes(64), "a name inside a key or signature is empty or not printable ASCII"),
        (
            "ecdsa-sha2-nistp256",
            P256 + string(b"nistp384") + string(b"\4" + bytes(64)),
            "ECDSA key is not on the curve",
        ),
        ("ecdsa-sha2-nistp256", P256 + string(b"nistp256") + string(b"\2" + bytes(32)), "ECDSA key is not an uncompr"),
        ("ecdsa-sha2-nistp256", P256 + string(b"nistp256") + string(b"\4" + bytes(63)), "ECDSA key is not an uncompr"),
        ("ssh-rsa", RSA + mpint(65537) + mpint(1 << 2046), "RSA key is outside 2048 to 16384 bits"),
        ("ssh-rsa", RSA + mpint(65537) + mpint(1 << 16384), "RSA key is outside 2048 to 16384 bits"),
        ("ssh-rsa", RSA + mpint(1) + mpint(1 << 2047), "RSA key has an exponent outside 3 to 2^32"),
        ("ssh-rsa", RSA + mpint((1 << 32) + 1) + mpint(1 << 2047), "RSA key has an exponent outside 3 to 2^32"),
        ("ssh-rsa", RSA + string(b"\0\3") + mpint(1 << 2047), "a number inside a key or signature is zero, negative"),
        ("ssh-rsa", RSA + string(b"") + mpint(1 << 2047), "a number inside a key or signature is zero, negative"),
        ("ssh-rsa", RSA + mpint(3) + string(b"\xff" * 256), "a number inside a key or signature is zero, negative"),
    ],
)
def test_a_malformed_or_weak_key_is_refused(algorithm, blob, message):
    assert refusal(parse_public_key, text(algorithm, blob)).startswith(message)


@pytest.mark.parametrize("name", ALL)
def test_armor_of_ssh_keygen_survives_the_round_trip(lab, name):
    armor = lab.sign(name, b"message\n")
    signature = decode_armor(armor)
    assert encode_armor(signature) == armor
    assert (signature.key.text, signature.namespace, signature.hash_algorithm, signature.presence) == (
        lab.key(name),
        "git-coord",
        "sha512",
        b"",
    )


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1), st.binary(max_size=300))
def test_every_signature_survives_the_round_trip(namespace, value):
    signature = Signature(ED_KEY, namespace, "sha256", "ssh-ed25519", value)
    armor = encode_armor(signature)
    assert decode_armor(armor) == signature
    lines = armor.split(b"\n")
    assert all(len(line) == 70 for line in lines[1:-3])
    assert 0 < len(lines[-3]) <= 70


@given(st.binary(max_size=400))
def test_no_bytes_make_the_decoder_raise_anything_else(data):
    body = b"-----BEGIN SSH SIGNATURE-----\n" + base64.b64encode(b"SSHSIG\0\0\0\1" + data) + b"\n"
    refusal(decode_armor, data)
    refusal(decode_armor, body + b"-----END SSH SIGNATURE-----\n")


def rewrapped(armor, width):
    head, *body, foot = armor.decode().splitlines()
    joined = "".join(body)
    return "\n".join([head, *(joined[at : at + width] for at in range(0, len(joined), width)), foot, ""]).encode()


@pytest.mark.parametrize(
    "change",
    [
        lambda armor: armor + b"\n",
        lambda armor: armor + b" ",
        lambda armor: armor + armor,
        lambda armor: b"\n" + armor,
        lambda armor: b"From: me\n" + armor,
        lambda armor: armor[:-1],
        lambda armor: armor.replace(b"\n", b"\r\n"),
        lambda armor: armor.replace(b"-----\n", b"----- \n", 1),
        lambda armor: armor.replace(b"SSH SIGNATURE", b"SSH2 SIGNATURE"),
        lambda armor: armor.replace(b"\n", b"\n\n", 1),
        lambda armor: armor.replace(b"=", b""),
        lambda armor: armor.replace(b"=", b"=="),
        lambda armor: rewrapped(armor, 64),
        lambda armor: rewrapped(armor, 76),
        lambda armor: rewrapped(armor, 10_000),
        lambda armor: armor[:200],
        lambda armor: armor[:30] + armor[-28:],
        lambda armor: armor[:30] + b"A" * 20_000 + armor[-28:],
        lambda armor: b"",
    ],
)
def test_armor_in_any_other_spelling_is_refused(lab, change):
    armor = lab.sign("ed25519", b"message\n")
    assert b"=\n" in armor
    assert rewrapped(armor, 70) == armor
    assert change(armor) != armor
    refusal(decode_armor, change(armor))


def test_stray_bits_in_the_last_base64_digit_are_refused(lab):
    armor = lab.sign("ed25519", b"message\n")
    end = armor.index(b"=\n") - 1
    assert armor[end : end + 1] in b"AEIMQUYcgkosw048"
    assert refusal(decode_armor, armor[:end] + bytes([armor[end] + 1]) + armor[end + 1 :]) == "not canonical base64"


def blob_armor(blob):
    encoded = base64.b64encode(blob)
    lines = b"".join(encoded[at : at + 70] + b"\n" for at in range(0, len(encoded), 70))
    return b"-----BEGIN SSH SIGNATURE-----\n" + lines + b"-----END SSH SIGNATURE-----\n"


def blob(magic=b"SSHSIG", version=1, key=ED_KEY.blob, namespace=b"n", reserved=b"", hash_alg=b"sha512", value=None):
    value = ED + string(bytes(64)) if value is None else value
    return magic + version.to_bytes(4, "big") + b"".join(map(string, (key, namespace, reserved, hash_alg, value)))


def test_the_plain_blob_of_the_table_below_is_good():
    assert decode_armor(blob_armor(blob())) == Signature(ED_KEY, "n", "sha512", "ssh-ed25519", bytes(64))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (blob(magic=b"SSHSIH"), "not an SSHSIG signature of version 1"),
        (blob(version=0), "not an SSHSIG signature of version 1"),
        (blob(version=2), "not an SSHSIG signature of version 1"),
        (blob(namespace=b""), "a name inside a key or signature is empty or not printable ASCII"),
        (blob(namespace=b"a\nb"), "a name inside a key or signature is empty or not printable ASCII"),
        (blob(namespace=b"\xc3\xa9"), "a name inside a key or signature is empty or not printable ASCII"),
        (blob(reserved=b"x"), "reserved field of the signature is not empty"),
        (blob(hash_alg=b"sha1"), "hash sha1 is not allowed in a signature"),
        (blob(hash_alg=b"SHA512"), "hash SHA512 is not allowed in a signature"),
        (blob() + b"\0", "bytes follow the end of a key or signature"),
        (blob()[:-1], "key or signature is cut short"),
        (blob(value=ED + string(bytes(64)) + b"\0"), "bytes follow the end of a key or signature"),
        (
            blob(value=string(b"rsa-sha2-512") + string(bytes(64))),
            "signature type rsa-sha2-512 is not allowed for a key of type ssh-ed25519",
        ),
        (blob(key=ED_KEY.blob + b"\0"), "bytes follow the end of a key or signature"),
    ],
)
def test_a_malformed_signature_blob_is_refused(bad, message):
    assert refusal(decode_armor, blob_armor(bad)) == message


def test_a_sha1_signature_is_refused(lab):
    key = parse_public_key(lab.key("rsa2048"))
    bad = blob(key=key.blob, value=string(b"ssh-rsa") + string(bytes(256)))
    message = "signature type ssh-rsa is not allowed for a key of type ssh-rsa"
    assert refusal(decode_armor, blob_armor(bad)) == message


def test_the_signed_payload_is_the_one_of_the_specification():
    digest = hashlib.sha256(b"m").digest()
    expected = b"SSHSIG\0\0\0\2ns\0\0\0\0\0\0\0\6sha256\0\0\0\x20" + digest
    assert signed_payload("ns", "sha256", b"m") == expected
    assert refusal(signed_payload, "ns", "md5", b"m") == "hash md5 is not allowed in a signature"
