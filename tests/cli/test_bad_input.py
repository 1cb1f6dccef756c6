"""Whatever is wrong outside gives one clear line, the right exit status, and leaves nothing half written."""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.words import hints, picture, type_in
from tests.helpers import PATIENCE, Repo, new_repo

LONG = "a" * 4097

USAGE: dict[str, tuple[list[str], str]] = {
    "empty": (["claim", ""], "a path cannot be empty; '.' is everything"),
    "one of several empty": (["claim", "a", ""], "a path cannot be empty; '.' is everything"),
    "outside": (["claim", "../x"], "'../x' leads out of the repository"),
    "outside in the middle": (["claim", "a/../../x"], "'a/../../x' leads out of the repository"),
    "absolute": (["claim", "/etc/passwd"], "'/etc/passwd' is absolute; paths are relative to the repository"),
    "absolute after path": (["claim", "path:/x"], "'/x' is absolute; paths are relative to the repository"),
    "empty path": (["claim", "path:"], "a path cannot be empty; '.' is everything"),
    "too long": (["claim", LONG], f"'{'a' * 50}...' is longer than 4096 bytes"),
    "empty task": (["claim", "task:"], r"'' is no task id: .*"),
    "bad task": (["claim", "task:a//b"], r"'a//b' is no task id: .*"),
    "deep task": (["claim", "task:a/b/c/d/e/f/g/h/i"], r"'a/b/c/d/e/f/g/h/i' is no task id: .*"),
    "branch": (["claim", "branch:a..b"], "'a..b' is no name of a branch"),
    "empty glob": (["claim", "--glob", ""], "a path cannot be empty; '.' is everything"),
    "glob of everything": (["claim", "--glob", "."], r"'\.' is no glob; for everything claim the path '\.'"),
    "nothing": (["claim"], "name at least one path or task"),
    "empty stdin": (["claim", "--stdin"], "name at least one path or task"),
    "zero ttl": (["claim", "a", "--ttl", "0"], "--ttl is '0', not a duration like 90s, 30m or 2h"),
    "negative ttl": (["claim", "a", "--ttl", "-1"], "--ttl is '-1', not a duration like 90s, 30m or 2h"),
    "float ttl": (["claim", "a", "--ttl", "1e18"], "--ttl is '1e18', not a duration like 90s, 30m or 2h"),
    "huge ttl": (["claim", "a", "--ttl", "999999999d"], r"a lease of \d+ s is not between 1 s and 604800 s here"),
    "other lease": (["claim", "a", "--lease", "x"], r"invalid value for '--lease': 'x' is not one of .*"),
    "stamp without value": (["claim", "a", "--stamp", "x"], "--stamp 'x' is not NAME=VALUE on one line"),
    "stamp without name": (["claim", "a", "--stamp", "=x"], "--stamp '=x' is not NAME=VALUE on one line"),
    "stamp twice": (["claim", "a", "--stamp", "x=1", "--stamp", "x=2"], "a stamp may be given once, and 32 at most"),
    "long purpose": (["claim", "a", "-m", "x" * 501], r"-m must be one line of at most 500 characters without .*"),
    "bad agent": (["claim", "a", "--agent", "A"], r"'A' cannot be an agent's name: .*"),
    "empty agent": (["claim", "a", "--agent", ""], r"'' cannot be an agent's name: .*"),
    "no token": (["break", "-m", "x"], "missing argument 'TOKEN...'"),
    "void": (["policy", "--void", "abc"], "--void 'abc' is not a full commit id"),
    "no events": (["log", "-n", "0"], "invalid value for '-n': 0 is not in the range x>=1"),
}


def _complains(repo: Repo, line: list[str], code: int, message: str, step: str | None = ".*") -> None:
    """Run a command that must fail with one line (and a next step), as words and as JSON, changing nothing."""
    before = picture(repo)
    done = repo.coord(*line)
    words, *rest = done.err.splitlines()
    assert (done.code, done.out) == (code, "")
    assert re.fullmatch(f"git coord: {message}", words), words
    assert re.fullmatch(f"next   {step}" if step else "", "\n".join(rest)), rest
    answer = repo.coord_json(*line, code=code)
    assert (answer["ok"], f"git coord: {answer['message']}") == (False, words)
    assert answer["next"] == (rest[0].removeprefix("next   ") if step else None)
    assert picture(repo) == before


def test_choices_are_all_said_in_one_line(alone: Repo) -> None:
    tools = "claude-code, codex, gemini, cursor, opencode"
    message = rf"missing argument '.*'\. Choose from: {tools}"
    _complains(alone, ["adapter", "doctor"], 2, message, "git coord adapter doctor -h")


@pytest.mark.parametrize("name", USAGE)
def test_wrong_usage_is_exit_two_and_points_at_the_help(alone: Repo, name: str) -> None:
    line, message = USAGE[name]
    _complains(alone, line, 2, message, f"git coord {line[0]} -h")


SETTINGS: dict[str, tuple[dict[str, str], str]] = {
    "freshness": ({"coord.freshness": "soon"}, "coord.freshness is 'soon', not a duration like 90s, 30m or 2h"),
    "timeout": ({"coord.fetchTimeout": "-1"}, "coord.fetchTimeout is '-1', not a duration like 90s, 30m or 2h"),
    "offline": ({"coord.offline": "maybe"}, "coord.offline is 'maybe', not deny or allow"),
    "no such remote": ({"coord.remote": "nope"}, "no remote named 'nope'"),
    "an option": ({"coord.remote": "--upload-pack=touch x"}, "not a remote: '--upload-pack=touch x'"),
    "an option as URL": ({"remote.origin.url": "--upload-pack=touch x"}, "not a remote: '--upload-pack=touch x'"),
    "another push URL": (
        {"remote.origin.pushurl": "/x"},
        "origin fetches from one URL and pushes to another; the ledger is read and written at the push URL",
    ),
}


@pytest.mark.parametrize("verb", ["claim", "check"])
@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_that_cannot_be_used_is_named(pair: tuple[Repo, Repo], name: str, verb: str) -> None:
    alpha, _ = pair
    settings, message = SETTINGS[name]
    for key, value in settings.items():
        alpha.git("config", key, value)
    steps = {
        "freshness": "git config --replace-all coord.freshness 60s",
        "timeout": "git config --replace-all coord.fetchTimeout 10s",
        "offline": "git config --replace-all coord.offline deny",
        "no such remote": "git remote",
        "another push URL": "git config coord.remote origin",
    }
    _complains(alpha, [verb, "a"], 1, message, steps.get(name))
    assert not (alpha.path / "x").exists()


@pytest.mark.parametrize("name", ["freshness", "timeout", "offline"])
def test_the_value_that_is_advised_can_be_used(pair: tuple[Repo, Repo], name: str) -> None:
    alpha, _ = pair
    ((key, value),) = SETTINGS[name][0].items()
    for _ in range(2):
        alpha.git("config", "--add", key, value)
    assert type_in(alpha, hints(alpha.coord("claim", "a"))[0]).code == 0
    assert alpha.coord("claim", "a").code == 0


def test_the_choice_of_a_remote_that_is_advised_works(pair: tuple[Repo, Repo]) -> None:
    alpha, _ = pair
    alpha.git("remote", "add", "other", "/x")
    assert type_in(alpha, hints(alpha.coord("claim", "a"))[0]).code == 0
    assert alpha.coord("claim", "a").code == 0


def test_several_push_urls_are_refused_with_the_line_that_keeps_one(pair: tuple[Repo, Repo]) -> None:
    alpha, _ = pair
    url = alpha.git("config", "remote.origin.url")
    alpha.git("config", "coord.remote", "origin")
    for one in (url, "/elsewhere"):
        alpha.git("config", "--add", "remote.origin.pushurl", one)
    _complains(alpha, ["claim", "a"], 1, "remote origin has 2 push URLs; the ledger needs one")
    assert type_in(alpha, hints(alpha.coord("claim", "a"))[0]).code == 0
    assert alpha.coord("claim", "a").code == 0


def test_outside_a_repository_nothing_is_done(tmp_path: Path, env: dict[str, str]) -> None:
    for verb in ("claim", "check", "release", "init"):
        answer = Repo(tmp_path, env).coord_json(verb, *(["a"] if verb != "init" else []), code=1)
        assert answer["message"].startswith("not a git repository")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_gone_is_said(alone: Repo) -> None:
    done = type_in(alone, "mkdir gone && cd gone && rmdir ../gone && git-coord check a")
    assert done.code == 1
    assert done.err.startswith("git coord: the current directory does not exist any more\n")


def test_a_repository_without_commits_works(tmp_path: Path, env: dict[str, str]) -> None:
    repo = new_repo(tmp_path / "empty", env)
    repo.write("a", "1\n")
    assert repo.coord("init", "--agent", "alpha").code == 0
    assert repo.coord("claim", "a").code == 0
    assert repo.coord_json("status")["claims"][0]["items"][0]["blob"] == repo.git("hash-object", "a")
    assert repo.coord("release", "a").code == 0


def test_a_bare_repository_works_without_files(tmp_path: Path, env: dict[str, str]) -> None:
    repo = new_repo(tmp_path / "bare", env, "--bare")
    assert repo.coord("init", "--agent", "alpha").code == 0
    assert repo.coord_json("claim", "a")["items"][0]["blob"] is None
    assert repo.coord("release", "--all").code == 0


def test_dubious_ownership_is_an_error_with_gits_own_remedy(alone: Repo) -> None:
    other = alone.with_env(GIT_TEST_ASSUME_DIFFERENT_OWNER="1")
    for verb in ("status", "claim", "check", "release"):
        done = other.coord(verb, *(["a"] if verb != "status" else []))
        lines = done.err.splitlines()
        assert (done.code, done.out, len(lines)) == (1, "", 2)
        assert lines[0].startswith("git coord: detected dubious ownership in repository at ")
        assert lines[1].startswith("next   git config --global --add safe.directory ")
    assert type_in(alone, hints(done)[0]).code == 0
    assert other.coord("status").code == 0


def test_without_an_agent_name_one_is_asked_for(alone: Repo) -> None:
    alone.git("config", "--unset", "coord.agent")
    _complains(alone, ["claim", "a"], 1, "no agent is set up in this worktree")
    _complains(alone.with_env(GIT_COORD_AGENT="Bad Name"), ["claim", "a"], 2, "'Bad Name' cannot be an agent's name.*")
    assert alone.coord("check", "a").code == 0


def test_without_git_on_the_path_that_is_said(alone: Repo, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    program = alone.run("sh", "-c", "command -v git-coord").out.strip()
    bare = alone.with_env(PATH=str(tools))
    for verb in ("claim", "check", "release"):
        done = bare.run(program, verb, "a")
        assert (done.code, done.out, done.err) == (1, "", "git coord: git is not on PATH\n")


def _key(repo: Repo) -> Path:
    return Path(repo.coord("whoami").out.splitlines()[2].split()[-1])


def test_a_missing_key_is_never_replaced_by_no_signature(alone: Repo) -> None:
    key = _key(alone)
    key.unlink()
    key.with_suffix(".pub").unlink()
    _complains(alone, ["claim", "a"], 1, "no key of alpha on this machine", "git coord init")


@pytest.mark.parametrize("stays", [True, False])
def test_without_the_key_one_can_look_and_learn_where_it_belongs(alone: Repo, *, stays: bool) -> None:
    key = _key(alone)
    key.unlink()
    if not stays:
        key.with_suffix(".pub").unlink()
    _complains(alone, ["claim", "a"], 1, "no key of alpha on this machine", "git coord init")
    assert alone.coord_json("status")["claims"] == []
    assert alone.coord("whoami").out.splitlines()[2] == f"  key      not here, but expected in   {key}"
    assert (alone.coord_json("whoami")["key"], alone.coord_json("whoami")["member"]) == (None, False)
    assert "wrong  no key of alpha on this machine\n" in alone.coord("doctor").out


def test_a_key_that_is_gone_while_its_public_half_stays_is_not_made_anew(alone: Repo) -> None:
    key = _key(alone)
    key.unlink()
    message = f"{key}.pub belongs to a key that is elsewhere; use another name"
    assert alone.coord_json("init", code=1)["message"] == message


def test_a_key_that_others_can_read_is_refused_with_the_remedy(alone: Repo) -> None:
    key = _key(alone)
    key.chmod(0o644)
    _complains(alone, ["claim", "a"], 1, f"private key file {key} is open to other users.*", f"chmod 600 {key}")
    assert type_in(alone, hints(alone.coord("claim", "a"))[0]).code == 0
    assert alone.coord("claim", "a").code == 0


def test_a_key_that_is_no_key_is_named(alone: Repo) -> None:
    key = _key(alone)
    key.write_text("not a key\n")
    _complains(alone, ["claim", "a"], 1, f"key file {key}: .*", None)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_key_is_named(alone: Repo) -> None:
    key = _key(alone)
    key.chmod(0)
    _complains(alone, ["claim", "a"], 1, f"cannot read key file {key}: Permission denied", None)


def test_a_key_with_a_passphrase_fails_at_once_and_says_how_to_unlock_it(alone: Repo) -> None:
    key = _key(alone)
    alone.run("ssh-keygen", "-q", "-p", "-P", "", "-N", "secret", "-f", str(key), check=True)
    began = time.monotonic()
    _complains(alone, ["claim", "a"], 1, f"cannot sign with key file {key}: .*", f"ssh-add {key}")
    assert time.monotonic() - began < PATIENCE


@pytest.mark.slow
def test_a_signer_that_never_answers_is_given_up(alone: Repo, tmp_path: Path) -> None:
    key = _key(alone)
    alone.git("config", "coord.key", str(key))  # only keys of one's own ask an agent
    path = tmp_path / "agent"
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(path))
        silent.listen()
        before = picture(alone)
        answer = alone.with_env(SSH_AUTH_SOCK=str(path)).coord_json("claim", "a", code=1)
    assert answer["message"].startswith(f"cannot sign with key file {key}: ssh-keygen gave no answer within 20 s")
    assert picture(alone) == before


def _ledgers(repo: Repo) -> dict[str, str]:
    """Return what was confirmed: a claim that failed may leave itself and its cancel in the request ref."""
    return repo.refs("refs/coord/claims", "refs/coord-local")


def _gives_up(alpha: Repo, beta: Repo, message: str, restore: Callable[[], object]) -> None:
    """Claim at a remote that does not work: exit 5, nothing held, and nothing of it comes up later."""
    before = _ledgers(alpha)
    answer = alpha.coord_json("claim", "a", code=5)
    assert (answer["ok"], answer["code"]) == (False, "unknown")
    assert re.match(message, answer["message"]), answer
    assert answer["next"]
    assert _ledgers(alpha) == before
    restore()
    alpha.coord_json("sync")
    assert beta.coord_json("claim", "a")["confirmed"] is True


def test_a_remote_that_vanished_is_unknown(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = trio
    away = hub.path.rename(hub.path.with_name("gone"))
    assert alpha.coord_json("check", "a", code=5)["code"] == "unknown"
    assert alpha.coord_json("status", code=5)["code"] == "unknown"
    assert alpha.coord_json("sync", code=5)["code"] == "unknown"
    _gives_up(alpha, beta, "origin: .*; the claim is cancelled here", lambda: away.rename(hub.path))


def test_a_host_whose_hook_declines_is_not_contention(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = trio
    hook = hub.write("hooks/pre-receive", "#!/bin/sh\necho read-only mirror >&2\nexit 1\n")
    hook.chmod(0o755)
    _gives_up(alpha, beta, r"origin refuses our refs: pre-receive hook declined", hook.unlink)


def test_a_host_that_hides_our_refs_is_not_contention(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = trio
    hub.git("config", "receive.hideRefs", "refs/coord")
    _gives_up(
        alpha,
        beta,
        r"origin refuses our refs: (stale info|.*hidden ref)",
        lambda: hub.git("config", "--unset", "receive.hideRefs"),
    )


def test_a_host_that_never_answers_is_given_up_in_time(trio: tuple[Repo, Repo, Repo]) -> None:
    _, alpha, beta = trio
    url = alpha.git("config", "remote.origin.url")
    hasty = ("coord.fetchTimeout", "coord.pushTimeout")
    for name in hasty:
        alpha.git("config", name, "1s")

    def restore() -> None:
        alpha.git("config", "remote.origin.url", url)
        for name in hasty:
            alpha.git("config", "--unset", name)

    with _silent_host() as silent:
        alpha.git("config", "remote.origin.url", silent)
        began = time.monotonic()
        assert alpha.coord_json("check", "a", code=5)["message"].startswith("no answer from origin in ")
        assert time.monotonic() - began < PATIENCE
        _gives_up(
            alpha,
            beta,
            r"no answer from origin in [0-9.]+ s; the claim is cancelled here",
            restore,
        )


@contextmanager
def _silent_host() -> Iterator[str]:
    """Return the URL of a host that takes every connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"git://127.0.0.1:{server.getsockname()[1]}/x"


@pytest.mark.parametrize("family", ["presence", "posts", "requests"])
def test_a_record_that_is_not_ours_is_ignored(trio: tuple[Repo, Repo, Repo], family: str) -> None:
    hub, alpha, beta = trio
    beta.coord_json("claim", "b")
    for name in ("alpha", "stranger", "UPPER", "x/y"):
        hub.git("update-ref", f"refs/coord/{family}/{name}", "main")
    hub.git("update-ref", "refs/coord/elsewhere/x", "main")
    assert alpha.coord_json("status")["claims"][0]["agent"] == "beta"
    assert alpha.coord_json("check", "b", code=3)["resources"][0]["holder"] == "beta"
    assert "Traceback" not in alpha.coord("doctor").err
    assert alpha.coord_json("claim", "c")["confirmed"] is True


def test_a_ledger_that_is_no_ledger_is_refused(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, _ = trio
    hub.git("update-ref", "refs/coord/claims", "main")
    before = _ledgers(alpha)
    for line in (["check", "a"], ["status"], ["sync"]):
        answer = alpha.coord_json(*line, code=6)
        assert (answer["ok"], answer["code"]) == (False, "untrusted")
    assert _ledgers(alpha) == before


def test_a_ledger_that_vanished_is_put_forward_again_and_said(trio: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, _ = trio
    tip = alpha.rev("refs/coord/claims")
    hub.git("update-ref", "-d", "refs/coord/claims")
    done = alpha.coord("sync")
    assert done.code == 0
    assert "git coord: origin had lost the ledger; this clone put it back: until " in done.err
    assert hub.rev("refs/coord/claims~1") == tip


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_git_directory_that_cannot_be_written_is_said(alone: Repo) -> None:
    before = picture(alone)
    folders = [path for path in (alone.path / ".git").rglob("*") if path.is_dir()]
    for folder in folders:
        folder.chmod(0o555)
    done = alone.coord("claim", "a")
    for folder in folders:
        folder.chmod(0o755)
    assert done.code == 1
    assert "Traceback" not in done.err
    assert picture(alone) == before


def test_a_full_disk_leaves_the_refs_as_they_were(alone: Repo) -> None:
    before = picture(alone)
    done = type_in(alone, "ulimit -f 0; trap '' XFSZ; git coord claim a")
    assert (done.code, done.out) == (1, "")
    assert "Traceback" not in done.err
    assert picture(alone) == before
    assert alone.coord_json("claim", "a")["token"] == 1
