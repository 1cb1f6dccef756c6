"""Signers: every kind of key, and every way in which a signer can let its caller down."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from git_coord.crypto.keys import NAMESPACE, ROTATE_NAMESPACE, InProcessSigner, SshKeygenSigner
from git_coord.crypto.sshsig import decode_armor
from git_coord.crypto.verify import verify
from git_coord.domain.ids import KeyText
from git_coord.errors import CoordError, Kind

ALL = ["ed25519", "p256", "p384", "p521", "rsa2048", "rsa3072"]
MESSAGE = b"statement\n"


def refusal(function, *arguments):
    with pytest.raises(CoordError) as caught:
        function(*arguments)
    assert type(caught.value) is CoordError
    assert caught.value.kind is Kind.ERROR
    return caught.value


def fake_ssh_keygen(lab, tmp_path, script):
    program = tmp_path / "bin" / "ssh-keygen"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncd '{tmp_path}'\n{script}\n")
    program.chmod(0o755)
    env = {"PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    return lambda seconds=60: SshKeygenSigner(lab.path("ed25519"), lab.key("ed25519"), seconds, env)


@pytest.mark.parametrize("namespace", [NAMESPACE, ROTATE_NAMESPACE])
@pytest.mark.parametrize("name", ALL)
def test_ssh_keygen_signs_with_every_kind_of_key(lab, name, namespace):
    armor = SshKeygenSigner(lab.path(name), lab.key(name), 60, lab.env).sign(MESSAGE, namespace)
    verify(decode_armor(armor), MESSAGE, namespace)
    assert lab.verify(lab.key(name), MESSAGE, armor, namespace)


def test_the_in_process_signature_is_the_one_of_ssh_keygen(lab):
    signer = InProcessSigner(lab.path("ed25519"))
    assert signer.key == lab.key("ed25519")
    assert signer.sign(MESSAGE, ROTATE_NAMESPACE) == lab.sign("ed25519", MESSAGE, ROTATE_NAMESPACE)


def test_what_is_needed_soon_is_done_while_ssh_keygen_signs(lab):
    signer = SshKeygenSigner(lab.path("ed25519"), lab.key("ed25519"), 60, lab.env)
    seen = []
    signer.meanwhile = lambda: seen.append("now")
    verify(decode_armor(signer.sign(MESSAGE, NAMESPACE)), MESSAGE, NAMESPACE)
    assert seen == ["now"]


def test_a_large_message_is_signed(lab):
    message = b"x" * (1 << 20)
    armor = SshKeygenSigner(lab.path("ed25519"), lab.key("ed25519"), 60, lab.env).sign(message, NAMESPACE)
    verify(decode_armor(armor), message, NAMESPACE)


def test_a_key_in_an_agent_signs_through_its_public_file(lab, short_folder):
    key, agent = short_folder / "key", short_folder / "agent"
    shutil.copy(lab.path("p256"), key)
    shutil.copy(f"{lab.path('p256')}.pub", f"{key}.pub")
    env = {**lab.env, "SSH_AUTH_SOCK": str(agent)}
    started = subprocess.run(["ssh-agent", "-s", "-a", str(agent)], env=env, capture_output=True, text=True, check=True)
    try:
        subprocess.run(["ssh-add", "-q", str(key)], env=env, check=True, capture_output=True)
        key.unlink()
        armor = SshKeygenSigner(Path(f"{key}.pub"), lab.key("p256"), 60, env).sign(MESSAGE, NAMESPACE)
    finally:
        os.kill(int(re.findall(r"SSH_AGENT_PID=(\d+)", started.stdout)[0]), signal.SIGTERM)
    assert lab.verify(lab.key("p256"), MESSAGE, armor)


def test_an_agent_that_never_answers_ends_as_an_error_that_names_the_signer(lab, short_folder):
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(short_folder / "agent"))
        silent.listen()
        env = {**lab.env, "SSH_AUTH_SOCK": str(short_folder / "agent")}
        path = lab.path("ed25519")
        error = refusal(SshKeygenSigner(path, lab.key("ed25519"), 0.3, env).sign, MESSAGE, NAMESPACE)
    assert error.message == (
        f"cannot sign with key file {path}: ssh-keygen gave no answer within 0.3 s;"
        " it waits for an ssh-agent, a passphrase or a touch"
    )
    assert error.next == f"ssh-keygen -Y sign -n git-coord -f {path} < /dev/null"


def test_a_key_with_a_passphrase_and_no_agent_ends_as_an_error_that_names_the_signer(lab, tmp_path):
    path = tmp_path / "locked"
    lab.run("-q", "-t", "ed25519", "-N", "a passphrase", "-C", "", "-f", str(path))
    key = KeyText(" ".join(Path(f"{path}.pub").read_text().split()[:2]))
    env = {**lab.env, "DISPLAY": ":0", "SSH_ASKPASS": "/bin/false"}
    error = refusal(SshKeygenSigner(path, key, 60, env).sign, MESSAGE, NAMESPACE)
    assert error.message.startswith(f"cannot sign with key file {path}: ")
    assert "gave no answer" not in error.message
    assert error.next == f"ssh-add {path}"
    assert refusal(InProcessSigner, path).message == (
        f"cannot sign with key file {path}: it is protected by a passphrase"
    )


def test_a_hanging_ssh_keygen_is_killed_with_its_children(lab, tmp_path):
    os.mkfifo(tmp_path / "silent")
    os.mkfifo(tmp_path / "alive")
    script = "exec 3>alive; echo started >&3; sh -c 'read line <silent' & read line <silent"
    signer = fake_ssh_keygen(lab, tmp_path, script)
    alive = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert "gave no answer within 1 s" in refusal(signer(1.0).sign, b"x" * 1_000_000, NAMESPACE).message
        os.set_blocking(alive, True)
        assert os.read(alive, 100) == b"started\n"
        assert os.read(alive, 100) == b"", "the end comes when the last child is gone"
    finally:
        os.close(alive)


def test_the_child_sees_only_the_environment_it_was_given(lab, tmp_path, monkeypatch):
    monkeypatch.setenv("SSH_AUTH_SOCK", "/from/the/outside")
    signer = fake_ssh_keygen(lab, tmp_path, "env > seen; exit 3")
    assert refusal(signer().sign, MESSAGE, NAMESPACE).message == (
        f"cannot sign with key file {lab.path('ed25519')}: ssh-keygen ended with status 3"
    )
    seen = (tmp_path / "seen").read_text().splitlines()
    assert "SSH_ASKPASS_REQUIRE=never" in seen
    assert f"HOME={tmp_path}" in seen
    assert not [line for line in seen if line.startswith("SSH_AUTH_SOCK")]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo no; echo first >&2; echo 'the reason' >&2; exit 255", "the reason"),
        ("exit 0", "ssh-keygen returned no signature (not an armored SSH signature)"),
        ("echo hello", "ssh-keygen returned no signature (not an armored SSH signature)"),
        ("cat other", "ssh-keygen signed with another key or namespace"),
        ("cat elsewhere", "ssh-keygen signed with another key or namespace"),
    ],
)
def test_an_ssh_keygen_that_does_not_sign_as_asked_is_an_error(lab, tmp_path, script, reason):
    (tmp_path / "other").write_bytes(lab.sign("other", MESSAGE))
    (tmp_path / "elsewhere").write_bytes(lab.sign("ed25519", MESSAGE, "git"))
    signer = fake_ssh_keygen(lab, tmp_path, script)
    error = refusal(signer().sign, MESSAGE, NAMESPACE)
    assert error.message == f"cannot sign with key file {lab.path('ed25519')}: {reason}"


def test_a_missing_ssh_keygen_is_an_error(lab, tmp_path):
    path = lab.path("ed25519")
    signer = SshKeygenSigner(path, lab.key("ed25519"), 60, {"PATH": str(tmp_path)})
    assert refusal(signer.sign, MESSAGE, NAMESPACE).message == (
        f"cannot sign with key file {path}: cannot run ssh-keygen: ssh-keygen is not on PATH"
    )


def test_a_key_file_that_holds_another_key_is_not_used(lab):
    path, key = lab.path("other"), lab.key("ed25519")
    error = refusal(SshKeygenSigner(path, key, 60, lab.env).sign, MESSAGE, NAMESPACE)
    assert error.message == f"key file {path} holds another key than {key}"


@pytest.mark.parametrize("make", [InProcessSigner, lambda path: SshKeygenSigner(path, "", 60, {}).sign(b"", NAMESPACE)])
def test_a_key_file_that_is_missing_or_open_to_others_is_an_error(lab, tmp_path, make):
    path = tmp_path / "key"
    assert refusal(make, path).message == f"cannot read key file {path}: No such file or directory"
    shutil.copy(lab.path("ed25519"), path)
    path.chmod(0o640)
    error = refusal(make, path)
    assert error.message == f"private key file {path} is open to other users (mode 0640)"
    assert error.next == f"chmod 600 {path}"


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "it is not an ed25519 key"), (b"-----BEGIN nothing-----\n", "it is not a valid OpenSSH private key")],
)
def test_the_in_process_signer_says_why_it_cannot_use_a_key(lab, tmp_path, content, reason):
    path = tmp_path / "key"
    path.touch(0o600)
    path.write_bytes(lab.path("p256").read_bytes() if content is None else content)
    assert refusal(InProcessSigner, path).message == f"cannot sign with key file {path}: {reason}"
