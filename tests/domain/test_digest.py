"""Hashes of the interpreter's own are those of `hashlib`."""

from __future__ import annotations

import hashlib
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_coord.domain import digest


@given(first=st.binary(), more=st.binary(), algorithm=st.sampled_from(["sha1", "sha256"]))
def test_a_digest_is_the_one_of_the_standard_library(first: bytes, more: bytes, algorithm: str) -> None:
    ours = digest.new(algorithm, first)
    ours.update(more)
    theirs = hashlib.new(algorithm, first + more)
    assert (ours.digest(), ours.hexdigest()) == (theirs.digest(), theirs.hexdigest())


def test_without_the_interpreters_own_the_standard_library_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_sha1", "_sha2", "_sha256"):
        monkeypatch.setitem(sys.modules, name, None)
    own = digest._own()
    assert own["sha1"](b"x").hexdigest() == hashlib.sha1(b"x").hexdigest()
    assert own["sha256"](b"x").hexdigest() == hashlib.sha256(b"x").hexdigest()


def test_another_algorithm_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        digest.new("md5")
