"""Verification, cross-tested against the real ssh-keygen both ways."""

from __future__ import annotations

import hashlib

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_ssh_private_key

from git_coord.crypto.sshsig import Signature, decode_armor, encode_armor, key_from_blob, signed_payload
from git_coord.crypto.verify import verify
from git_coord.crypto.wire import mpint, string
from git_coord.errors import CoordError, Kind

ALL = ["ed25519", "p256", "p384", "p521", "rsa2048", "rsa3072"]
MESSAGE = b'{"v":1}\n'


def refusal(signature, message=MESSAGE, namespace="git-coord"):
    with pytest.raises(CoordError) as caught:
        verify(signature, message, namespace)
    assert type(caught.value) is CoordError
    assert caught.value.kind is Kind.UNTRUSTED
    return caught.value.message


def is_good(armor, message=MESSAGE):
    try:
        verify(decode_armor(armor), message, "git-coord")
    except CoordError:
        return False
    return True


@pytest.mark.parametrize("hash_alg", ["sha256", "sha512"])
@pytest.mark.parametrize("name", ALL)
def test_what_ssh_keygen_signed_verifies(lab, name, hash_alg):
    signature = decode_armor(lab.sign(name, MESSAGE, hash_alg=hash_alg))
    assert signature.hash_algorithm == hash_alg
    assert verify(signature, MESSAGE, "git-coord") is None


@pytest.mark.parametrize("name", ALL)
def test_another_message_or_namespace_or_key_does_not_verify(lab, name):
    signature = decode_armor(lab.sign(name, MESSAGE))
    misfit = f"signature does not fit: not made by {signature.key.fingerprint} over these bytes"
    assert refusal(signature, MESSAGE[:-1]) == misfit
    assert refusal(signature, b"") == misfit
    assert refusal(signature, namespace="git") == "signature is for namespace git-coord, not git"
    assert refusal(signature._replace(namespace="git"), namespace="git") == misfit
    assert refusal(signature._replace(hash_algorithm="sha256")) == misfit


def test_the_signature_of_another_key_does_not_verify(lab):
    mine, other = decode_armor(lab.sign("ed25519", MESSAGE)), decode_armor(lab.sign("other", MESSAGE))
    misfit = f"signature does not fit: not made by {mine.key.fingerprint} over these bytes"
    assert refusal(other._replace(key=mine.key)) == misfit


@pytest.mark.parametrize("name", ALL)
def test_no_flipped_bit_of_the_armor_goes_unnoticed(lab, name):
    armor = lab.sign(name, MESSAGE)
    assert is_good(armor)
    bits = range(8) if name == "ed25519" else (0, 5)
    survivors = [
        (at, bit)
        for at in range(len(armor))
        for bit in bits
        if is_good(armor[:at] + bytes([armor[at] ^ (1 << bit)]) + armor[at + 1 :])
    ]
    assert survivors == []


@pytest.mark.parametrize("name", ALL)
def test_no_cut_signature_verifies(lab, name):
    signature = decode_armor(lab.sign(name, MESSAGE))
    lengths = range(0, len(signature.signature), 7)
    assert not any(is_good(encode_armor(signature._replace(signature=signature.signature[:cut]))) for cut in lengths)
    assert not is_good(encode_armor(signature._replace(signature=signature.signature + b"\0")))
    assert not is_good(encode_armor(signature._replace(signature=b"\0" + signature.signature)))


def test_rsa_with_sha256_verifies_here_and_there(lab):
    private = load_ssh_private_key(lab.path("rsa2048").read_bytes(), None)
    good = decode_armor(lab.sign("rsa2048", MESSAGE))
    assert good.signature_algorithm == "rsa-sha2-512"
    value = private.sign(signed_payload("git-coord", "sha512", MESSAGE), padding.PKCS1v15(), hashes.SHA256())
    signature = good._replace(signature_algorithm="rsa-sha2-256", signature=value)
    verify(signature, MESSAGE, "git-coord")
    assert lab.verify(lab.key("rsa2048"), MESSAGE, encode_armor(signature))
    refusal(signature._replace(signature_algorithm="rsa-sha2-512"))


def test_a_padded_number_in_an_ecdsa_signature_is_refused(lab):
    signature = decode_armor(lab.sign("p256", MESSAGE))
    size = int.from_bytes(signature.signature[:4], "big")
    padded = string(b"\0" + signature.signature[4 : 4 + size]) + signature.signature[4 + size :]
    message = "a number inside a key or signature is zero, negative or padded"
    assert refusal(signature._replace(signature=padded)) == message


def test_a_point_off_the_curve_is_refused(lab):
    signature = decode_armor(lab.sign("p256", MESSAGE))
    bad = key_from_blob(signature.key.blob[:-1] + bytes([signature.key.blob[-1] ^ 1]))
    expected = f"public key {bad.fingerprint} is not a valid key of type ecdsa-sha2-nistp256"
    assert refusal(signature._replace(key=bad)) == expected


def security_key_payload(presence):
    payload = signed_payload("git-coord", "sha512", MESSAGE)
    return hashlib.sha256(b"ssh:").digest() + presence + hashlib.sha256(payload).digest()


def sk_ed25519(presence):
    private = Ed25519PrivateKey.generate()
    raw = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    name = "sk-ssh-ed25519@openssh.com"
    key = key_from_blob(string(name.encode()) + string(raw) + string(b"ssh:"))
    return Signature(key, "git-coord", "sha512", name, private.sign(security_key_payload(presence)), presence)


def sk_p256(presence):
    private = ec.generate_private_key(ec.SECP256R1())
    point = private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    name = "sk-ecdsa-sha2-nistp256@openssh.com"
    key = key_from_blob(string(name.encode()) + string(b"nistp256") + string(point) + string(b"ssh:"))
    r, s = decode_dss_signature(private.sign(security_key_payload(presence), ec.ECDSA(hashes.SHA256())))
    return Signature(key, "git-coord", "sha512", name, mpint(r) + mpint(s), presence)


@pytest.mark.parametrize("make", [sk_ed25519, sk_p256])
def test_a_touched_security_key_verifies_here_and_there(lab, make):
    signature = make(b"\x01\0\0\0\x07")
    armor = encode_armor(signature)
    assert lab.verify(signature.key.text, MESSAGE, armor)
    verify(decode_armor(armor), MESSAGE, "git-coord")
    assert not is_good(encode_armor(signature._replace(presence=b"\x01\0\0\0\x08")))
    assert not is_good(encode_armor(signature._replace(presence=b"\x05\0\0\0\x07")))


@pytest.mark.parametrize("make", [sk_ed25519, sk_p256])
def test_an_untouched_security_key_is_refused(make):
    signature = decode_armor(encode_armor(make(b"\x04\0\0\0\x07")))
    assert refusal(signature) == "security key signed without anybody touching it"


@pytest.mark.parametrize("make", [sk_ed25519, sk_p256])
def test_a_security_key_signature_has_flags_and_counter_and_nothing_else(make):
    signature = make(b"\x01\0\0\0\x07")
    assert not is_good(encode_armor(signature._replace(presence=b"")))
    assert not is_good(encode_armor(signature._replace(presence=b"\x01\0\0\0\x07\0")))
