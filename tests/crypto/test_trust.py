"""Allowed-signers files: read as ssh-keygen reads them, and refused whole when one line is bad."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_coord.crypto.trust import AllowedSigners, TrustedKey, allowed, load_allowed_signers, parse_allowed_signers
from git_coord.domain.ids import Agent
from git_coord.errors import CoordError, Kind

NOW = int(datetime(2026, 7, 1, 12, 0, 0, tzinfo=UTC).timestamp())
ALPHA = Agent("alpha")


def refusal(function, *arguments):
    with pytest.raises(CoordError) as caught:
        function(*arguments)
    assert type(caught.value) is CoordError
    assert caught.value.kind is Kind.UNTRUSTED
    return caught.value.message


def permits(line, key, agent=ALPHA, at=NOW, namespace="git-coord"):
    return allowed(parse_allowed_signers(line.encode(), "signers").keys, agent, key, at, namespace)


def test_a_file_is_read_line_by_line(lab, tmp_path):
    ed, p256 = lab.key("ed25519"), lab.key("p256")
    path = tmp_path / "allowed_signers"
    path.write_text(
        f"# a comment\n\n  \t\nalpha {ed} laptop of alpha\n"
        f'beta,team-*,!team-x\tNamespaces="git,git-coord",valid-after="20260101Z" {p256}\r\n'
        f"*@example.com cert-authority {ed}\n"
        f'"gamma" valid-before="202601021530Z" {ed}'
    )
    after, before = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, 15, 30, tzinfo=UTC)
    assert load_allowed_signers(path) == AllowedSigners(
        (
            TrustedKey(("alpha",), ed),
            TrustedKey(("beta", "team-*", "!team-x"), p256, ("git", "git-coord"), int(after.timestamp())),
            TrustedKey(("gamma",), ed, valid_before=int(before.timestamp())),
        ),
        (f"{path}:6: certificates are not supported, line skipped",),
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("alpha", "expected principals, then options, then a key"),
        ("alpha {key}x", "not canonical base64"),
        ("alpha ssh-ed25519", "expected options and a key, or a key"),
        ("{key}", "expected options and a key, or a key"),
        ('"alpha {key}', "expected principals, then options, then a key"),
        ('al"pha {key}', "expected principals, then options, then a key"),
        ("alpha namespaces=git {key}", "cannot read option 'namespaces=git'"),
        ('alpha namespaces="git {key}', "expected options and a key, or a key"),
        ('alpha namespaces="git", {key}', "cannot read option 'namespaces=\"git\",'"),
        ('alpha namespaces="a",namespaces="b" {key}', "option namespaces is unknown, repeated, or has no value"),
        ("alpha namespaces {key}", "option namespaces is unknown, repeated, or has no value"),
        ('alpha cert-authority="x" {key}', "option cert-authority is unknown, repeated, or has no value"),
        ("alpha no-touch-required {key}", "option no-touch-required is unknown, repeated, or has no value"),
        ('alpha valid-after="yesterday" {key}', "'yesterday' is not a time of the form YYYYMMDDHHMMSSZ"),
        ('alpha valid-after="20261301Z" {key}', "'20261301Z' is not a time of the form YYYYMMDDHHMMSSZ"),
        ('alpha valid-after="2026010112Z" {key}', "'2026010112Z' is not a time of the form YYYYMMDDHHMMSSZ"),
        ('alpha valid-after="20260102Z",valid-before="20260102Z" {key}', "valid-before is not after valid-after"),
        ("alpha ssh-dss AAAAB3NzaC1kc3M", "not canonical base64"),
        ("alpha ssh-dss AAAAB3NzaC1kc3MAAACB", "key type ssh-dss is not supported"),
    ],
)
def test_one_bad_line_refuses_the_file_and_is_named(lab, line, reason):
    key = lab.key("ed25519")
    good = f"alpha {key}\n"
    assert len(parse_allowed_signers(good.encode(), "signers").keys) == 1
    data = f"{good}{line.format(key=key)}\n".encode()
    assert refusal(parse_allowed_signers, data, "signers").startswith(f"signers:2: {reason}")


def test_an_unreadable_file_is_refused(tmp_path):
    missing = tmp_path / "missing"
    message = f"cannot read allowed signers {missing}: No such file or directory"
    assert refusal(load_allowed_signers, missing) == message
    assert refusal(load_allowed_signers, tmp_path) == f"cannot read allowed signers {tmp_path}: not a regular file"


def test_bytes_that_are_no_text_are_refused_unless_in_a_comment(lab):
    key = lab.key("ed25519").encode()
    assert len(parse_allowed_signers(b"# caf\xe9\nalpha " + key + b" caf\xe9\n", "signers").keys) == 1
    message = refusal(parse_allowed_signers, b"alpha caf\xe9 " + key + b"\n", "signers")
    assert message == "signers:1: cannot read option 'caf\\udce9'"


def test_a_file_without_entries_allows_nobody(lab):
    assert not permits("", lab.key("ed25519"))
    assert not permits("# nothing\n", lab.key("ed25519"))


def test_the_key_counts_not_only_the_name(lab):
    line = f"alpha {lab.key('ed25519')}\n"
    assert permits(line, lab.key("ed25519"))
    assert not permits(line, lab.key("other"))


def test_a_certificate_authority_is_not_a_key_that_may_sign(lab):
    assert not permits(f"alpha cert-authority {lab.key('ed25519')}\n", lab.key("ed25519"))


def test_any_line_may_allow(lab):
    key = lab.key("ed25519")
    lines = f'beta {key}\nalpha valid-before="20200101Z" {key}\nalpha {key}\n'
    assert permits(lines, key)
    assert permits(lines, key, Agent("beta"))
    assert not permits(lines, key, Agent("gamma"))


PRINCIPALS = ["alpha", "Alpha", "al*", "*", "?lpha", "alph?", "alpha?", "*a", "*l*h*", "a[l]pha", "al", "beta", "a**a"]
LISTS = [*PRINCIPALS, "beta,alpha", "*,!alpha", "!alpha,*", "*,!be*", "!beta", "!beta,al*", "*,!a?pha", "alpha,", "a,!"]


@pytest.mark.parametrize("principals", LISTS)
def test_principals_match_as_ssh_keygen_matches_them(lab, tmp_path, principals):
    assert permits(f"{principals} {lab.key('ed25519')}", lab.key("ed25519")) == verified(
        lab, tmp_path, f"{principals} {lab.key('ed25519')}"
    )


BERLIN = "CET-1CEST,M3.5.0,M10.5.0/3"
OPTIONS = [
    'namespaces="git-coord"',
    'namespaces="git"',
    'namespaces="git*"',
    'namespaces="git*,!git-coord"',
    'NAMESPACES="file,git-coord"',
    'namespaces=""',
    'valid-after="20260701Z"',
    'valid-after="20260701120000Z"',
    'valid-after="20260701120001Z"',
    'valid-after="202607011201Z"',
    'valid-before="20260701120000Z"',
    'valid-before="20260701115959Z"',
    'valid-before="20260702Z",valid-after="20260630Z",namespaces="git-coord"',
    'valid-before="20260702Z",valid-after="20260630Z",namespaces="x"',
    'valid-after="20260701140000"',
    'valid-after="20260701130000"',
    'valid-after="20260701130001"',
    "valid-after=20260101Z",
    "namespaces=git-coord",
    'namespaces="git-coord",',
    'valid-after="20261301Z"',
    "no-touch-required",
    "cert-authority",
]


@pytest.mark.parametrize("option", OPTIONS)
def test_options_mean_what_they_mean_to_ssh_keygen(lab, tmp_path, monkeypatch, option):
    monkeypatch.setenv("TZ", BERLIN)  # UTC+1, and +2 at NOW: times without a Z are in standard time
    time.tzset()
    line = f"alpha {option} {lab.key('ed25519')}"
    try:
        ours = permits(line, lab.key("ed25519"))
    except CoordError:
        ours = False
    finally:
        theirs = verified(lab, tmp_path, line, {"TZ": BERLIN})
        monkeypatch.undo()
        time.tzset()
    assert ours == theirs


def verified(lab, tmp_path, line, env=None):
    signers, signature = tmp_path / "signers", tmp_path / "signature"
    signers.write_text(line + "\n")
    signature.write_bytes(lab.sign("ed25519", b"m"))
    options = (
        "-f",
        str(signers),
        "-I",
        "alpha",
        "-n",
        "git-coord",
        "-s",
        str(signature),
        "-Overify-time=20260701120000Z",
    )
    run = type(lab)(lab.folder, {**lab.env, **(env or {})}).run
    return run("-Y", "verify", *options, message=b"m", check=False).returncode == 0


def test_the_edges_of_the_time_window_are_inside(lab):
    key = lab.key("ed25519")
    line = f'alpha valid-after="20260701120000Z",valid-before="20260701130000Z" {key}'
    seconds = (NOW - 1, NOW, NOW + 3600, NOW + 3601)
    assert [permits(line, key, at=at) for at in seconds] == [False, True, True, False]


@given(st.text("ab*?", max_size=12), st.text("ab", max_size=12))
@settings(max_examples=300)
def test_patterns_agree_with_a_plain_recursive_definition(pattern, text):
    def fits(pattern, text):
        if not pattern:
            return not text
        if pattern[0] == "*":
            return fits(pattern[1:], text) or (bool(text) and fits(pattern, text[1:]))
        return bool(text) and pattern[0] in ("?", text[0]) and fits(pattern[1:], text[1:])

    entry = TrustedKey((pattern,), "key")
    assert allowed([entry], text, "key", NOW, "git-coord") == fits(pattern, text)


@given(st.binary(max_size=200) | st.text('alpha,!*" =namespacescert-authority', max_size=60).map(str.encode))
def test_no_bytes_make_the_parser_raise_anything_else(data):
    outcome = (Kind.UNTRUSTED, "signers")
    try:
        parse_allowed_signers(data, "signers")
    except CoordError as error:
        outcome = (error.kind, error.message.split(":")[0])
    assert outcome == (Kind.UNTRUSTED, "signers")


def test_a_pattern_of_many_stars_is_not_slow():
    entry = TrustedKey(("*a" * 2000 + "b",), "key")
    assert not allowed([entry], Agent("a" * 63), "key", NOW, "git-coord")


def test_a_pipe_in_place_of_the_file_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    message = f"cannot read allowed signers {tmp_path / 'pipe'}: not a regular file"
    assert refusal(load_allowed_signers, tmp_path / "pipe") == message
