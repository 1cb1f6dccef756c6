"""Key files: made once whatever happens, read without surprises."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from git_coord.crypto.keys import InProcessSigner, generate_key, load_public_key
from git_coord.errors import CoordError, Kind

RACER = """
import sys
from pathlib import Path
from git_coord.crypto import _openssl
from git_coord.crypto.keys import generate_key
print("ready", flush=True)
sys.stdin.readline()
print(generate_key(Path(sys.argv[1]), "alpha"))
"""
VICTIM = """
import os, signal, sys
from pathlib import Path
from git_coord.crypto.keys import generate_key
calls = int(sys.argv[2])
def hook(event, arguments):
    global calls
    if event in ("open", "os.link", "os.rename", "os.remove", "os.mkdir") and sys.argv[1] in str(arguments[0]):
        calls -= 1
        if calls < 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
generate_key(Path(sys.argv[1]) / "folder" / "key", "alpha")
"""


def refusal(function, *arguments, kind=Kind.ERROR):
    with pytest.raises(CoordError) as caught:
        function(*arguments)
    assert type(caught.value) is CoordError
    assert caught.value.kind is kind
    return caught.value


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_key_pair_is_whole_private_and_usable(lab, tmp_path):
    path = tmp_path / "state" / "keys" / "alpha"
    key = generate_key(path, "alpha at work")
    assert Path(f"{path}.pub").read_text() == f"{key} alpha at work\n"
    assert lab.run("-y", "-f", str(path)).stdout.decode().split()[:2] == key.split()
    assert load_public_key(path) == load_public_key(Path(f"{path}.pub")) == InProcessSigner(path).key == key
    assert [mode(place) for place in (path, path.parent, path.parent.parent)] == [0o600, 0o700, 0o700]
    assert sorted(os.listdir(path.parent)) == ["alpha", "alpha.pub"]


def test_a_key_that_is_there_is_adopted_and_never_overwritten(tmp_path):
    path = tmp_path / "key"
    key = generate_key(path, "first")
    before = path.read_bytes(), Path(f"{path}.pub").read_bytes()
    assert generate_key(path, "second") == key
    assert (path.read_bytes(), Path(f"{path}.pub").read_bytes()) == before


def test_a_lost_public_file_is_made_again(tmp_path):
    path = tmp_path / "key"
    key = generate_key(path, "alpha")
    Path(f"{path}.pub").unlink()
    assert generate_key(path, "") == key
    assert Path(f"{path}.pub").read_text() == f"{key}\n"


def test_files_of_another_key_are_left_alone(lab, tmp_path):
    path, public = tmp_path / "key", tmp_path / "key.pub"
    public.write_text(f"{lab.key('p256')}\n")
    message = f"{public} belongs to a key that is elsewhere; use another name"
    assert refusal(generate_key, path, "alpha").message == message
    assert os.listdir(tmp_path) == ["key.pub"]
    path.touch(0o600)
    path.write_bytes(lab.path("ed25519").read_bytes())
    assert refusal(generate_key, path, "alpha").message == f"{public} is not the public half of {path}"
    assert public.read_text() == f"{lab.key('p256')}\n"


@pytest.mark.parametrize("comment", ["two\nlines", "\x1b[31m"])
def test_a_comment_is_one_plain_line(tmp_path, comment):
    error = refusal(generate_key, tmp_path / "key", comment, kind=Kind.USAGE)
    assert error.message == "the comment of a key is one line of printable text"
    assert os.listdir(tmp_path) == []


def test_a_place_that_cannot_be_written_is_an_error_that_names_it(tmp_path):
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "key"
    assert refusal(generate_key, path, "alpha").message == f"cannot make key file {path}: Not a directory"
    dangling = tmp_path / "link"
    dangling.symlink_to(tmp_path / "nowhere")
    message = f"cannot read key file {dangling}: No such file or directory"
    assert refusal(generate_key, dangling, "alpha").message == message


def test_racing_processes_end_with_one_key_they_agree_on(tmp_path):
    path = tmp_path / "state" / "key"
    command = [sys.executable, "-c", RACER, str(path)]
    pipe = subprocess.PIPE
    racers = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(8)]
    assert [racer.stdout.readline() for racer in racers] == ["ready\n"] * 8
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    answers = {racer.communicate()[0] for racer in racers}
    assert answers == {f"{load_public_key(path)}\n"}
    assert [racer.returncode for racer in racers] == [0] * 8
    assert sorted(os.listdir(path.parent)) == ["key", "key.pub"]
    assert Path(f"{path}.pub").read_text() == f"{load_public_key(path)} alpha\n"


def test_a_kill_at_any_step_does_not_block_the_next_try(tmp_path):
    statuses = []
    for step in range(20):
        folder = tmp_path / f"killed-at-{step:02}"
        folder.mkdir()
        victim = subprocess.run([sys.executable, "-c", VICTIM, str(folder), str(step)], check=False)
        statuses.append(victim.returncode)
        path = folder / "folder" / "key"
        survivor = load_public_key(path) if path.exists() else None
        key = generate_key(path, "alpha")
        assert survivor in (None, key)
        assert InProcessSigner(path).key == load_public_key(Path(f"{path}.pub")) == key
        if victim.returncode == 0:
            break
    kills = len(statuses) - 1
    assert statuses == [-signal.SIGKILL] * kills + [0]
    assert kills >= 8, "folder, file, link, removal, sync of the folder, two reads, public file"


@pytest.mark.parametrize("name", ["ed25519", "p256", "p384", "p521", "rsa2048"])
def test_the_public_half_is_read_from_either_file(lab, name):
    assert load_public_key(lab.path(name)) == lab.key(name)
    assert load_public_key(Path(f"{lab.path(name)}.pub")) == lab.key(name)


def test_the_public_half_of_a_locked_key_needs_no_passphrase(lab, tmp_path):
    path = tmp_path / "locked"
    lab.run("-q", "-t", "ed25519", "-N", "a passphrase", "-C", "", "-f", str(path))
    public = Path(f"{path}.pub")
    expected = public.read_text().strip()
    public.unlink()
    assert load_public_key(path) == expected


def test_an_old_private_format_needs_its_public_file(lab, tmp_path):
    path, public = tmp_path / "key", tmp_path / "key.pub"
    lab.run("-q", "-t", "rsa", "-b", "2048", "-m", "PEM", "-N", "", "-C", "", "-f", str(path))
    assert path.read_bytes().startswith(b"-----BEGIN RSA PRIVATE KEY-----\n")
    assert load_public_key(path) == public.read_text().strip()
    public.unlink()
    error = refusal(load_public_key, path)
    assert error.message == f"key file {path} needs its public half in {public}"
    assert error.next == f"ssh-keygen -y -f {path} > {public}"


def test_a_private_key_open_to_others_is_refused_and_a_public_one_is_not(lab, tmp_path):
    path = tmp_path / "key file"
    path.touch(0o600)
    path.write_bytes(lab.path("ed25519").read_bytes())
    for bits in (0o604, 0o640, 0o660, 0o644):
        path.chmod(bits)
        error = refusal(load_public_key, path)
        assert error.message == f"private key file {path} is open to other users (mode {bits:04o})"
        assert error.next == f"chmod 600 '{path}'"
    path.write_text(lab.key("ed25519"))
    assert load_public_key(path) == lab.key("ed25519")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "not one public key on one line"),
        ("hello", "not one public key on one line"),
        ("ssh-ed25519 AAAA", "key or signature is cut short"),
        ("{key}\n{key}\n", "not one public key on one line"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n", "key or signature is cut"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nA\n-----END OPENSSH PRIVATE KEY-----\n", "not base64"),
    ],
)
def test_a_file_that_is_no_key_is_an_error_that_names_it(lab, tmp_path, content, reason):
    path = tmp_path / "key"
    path.touch(0o600)
    path.write_text(content.format(key=lab.key("ed25519")))
    assert refusal(load_public_key, path).message.startswith(f"key file {path}: {reason}")


def test_a_missing_file_a_folder_and_a_pipe_are_errors_and_none_of_them_hangs(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "large").write_bytes(bytes(64 * 1024 + 1))
    for name, reason in [
        ("missing", "No such file or directory"),
        (".", "not a regular file"),
        ("pipe", "not a regular file"),
        ("large", "larger than 65536 bytes"),
    ]:
        path = tmp_path / name
        assert refusal(load_public_key, path).message == f"cannot read key file {path}: {reason}"
