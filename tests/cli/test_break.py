"""`git coord break` and `git coord policy`: what needs a policy key, and who gets in."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.words import hints, plain_json, said, type_in
from tests.helpers import Repo, new_repo
from tests.helpers.patience import PATIENCE


@pytest.fixture
def person(tmp_path: Path, env: dict[str, str]) -> Path:
    """Return a person's SSH key, in a folder of its own."""
    return _key(Repo(tmp_path, env), "person")


def _key(repo: Repo, name: str) -> Path:
    path = repo.path / name
    repo.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path), check=True)
    return path


def _ledger_of(person: Path, env: dict[str, str], *options: str) -> Repo:
    repo = new_repo(person.parent / "repo", env)
    repo.commit("first", a="1")
    assert repo.coord("init", "--agent", "alpha", *options).code == 0
    return repo


def _fingerprint(repo: Repo, path: Path) -> str:
    return repo.run("ssh-keygen", "-lf", str(path), check=True).out.split()[1]


def _second(repo: Repo) -> Repo:
    other = repo.worktree("beta")
    assert other.coord("init", "--agent", "beta").code == 0
    return other


def test_the_signing_key_of_a_person_becomes_the_policy_key(person: Path, env: dict[str, str]) -> None:
    repo = Repo(person.parent, env)
    for key, value in (("gpg.format", "ssh"), ("user.signingKey", f"{person}.pub")):
        repo.git("config", "--global", key, value)
    made = _ledger_of(person, env)
    assert f"policy key {_fingerprint(repo, person)}\n" in made.coord("policy").out
    made.coord_json("claim", "a")
    other = _second(made)
    done = other.coord("break", "#1", "-m", "alpha left")
    assert said(done) == (0, "broken #1 of alpha   a\n", "")
    assert other.coord_json("claim", "a")["token"] == 2


def test_a_policy_key_can_be_named_at_birth(person: Path, env: dict[str, str]) -> None:
    repo = _ledger_of(person, env, "--policy-key", str(person))
    repo.coord_json("claim", "a")
    answer = _second(repo).coord_json("break", "1", "-m", "gone")
    assert [(claim["agent"], claim["token"]) for claim in answer["claims"]] == [("alpha", 1)]
    assert repo.coord_json("release", "a", code=4)["code"] == "lost"


def test_without_a_policy_key_nothing_is_broken(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("claim", "a")
    answer = beta.coord_json("break", "#1", "-m", "mine now", code=4)
    assert (answer["code"], answer["message"]) == ("lost", "the key here is not one of the policy's")
    assert beta.coord_json("check", "a", code=3)["resources"][0]["holder"] == "alpha"


def test_breaking_needs_a_reason_and_a_token(alone: Repo) -> None:
    assert alone.coord_json("break", "#1", code=2)["message"] == "missing option '-m' / '--reason'"
    done = alone.coord("break", "src/a", "-m", "x")
    assert said(done) == (2, "", "git coord: src/a is not a token like #1042\nnext   git coord status\n")
    assert type_in(alone, hints(done)[0]).code == 0
    assert alone.coord_json("break", "#7", "-m", "x", code=4)["message"] == "#7 is not held by anybody"


def test_the_policy_is_shown_in_words_and_as_json(alone: Repo) -> None:
    assert said(alone.coord("policy")) == (
        0,
        "join       open\npolicy key <key>\nmax lease  7 d\ntakeover   gated\n"
        "restored   held for <age>\nnames      compare as typed\n",
        "",
    )
    answer = alone.coord_json("policy")
    assert answer.pop("admins")[0].startswith("ssh-ed25519 ")
    assert answer == {
        "ok": True,
        "join": "open",
        "listed": [],
        "max_lease": 604800,
        "restore_hold": 600,
        "takeover": "gated",
        "void": [],
        "fold": "none",
        "skew": 60,
    }


def test_under_a_listed_policy_only_the_keys_of_the_file_join(person: Path, env: dict[str, str]) -> None:
    repo = _ledger_of(person, env)
    gamma = _key(Repo(person.parent, env), "gamma")
    signers = person.parent / "signers"
    public = gamma.with_suffix(".pub").read_text()
    signers.write_text(f'gamma namespaces="git-coord" {public}alpha {Path(f"{person}.pub").read_text()}')
    assert plain_json(repo.coord_json("policy", "--listed", str(signers)))["join"] == "listed"
    assert repo.coord("policy").out.startswith("join       listed (2 keys)\n")
    other = repo.worktree("other")
    answer = other.coord_json("init", "--agent", "delta", code=4)
    assert answer["message"].startswith("delta cannot join: ")
    welcome = repo.worktree("third")
    welcome.git("config", "extensions.worktreeConfig", "true")
    welcome.git("config", "--worktree", "coord.key", str(gamma))
    assert welcome.coord("init", "--agent", "gamma").code == 0
    assert repo.coord_json("policy", "--open")["listed"] == []


def test_the_file_of_listed_keys_means_what_it_means_to_ssh_keygen(person: Path, env: dict[str, str]) -> None:
    repo = _ledger_of(person, env)
    keys = {name: _key(Repo(person.parent, env), name) for name in ("one", "two", "three", "four")}
    text = {name: path.with_suffix(".pub").read_text() for name, path in keys.items()}
    signers = person.parent / "signers"
    signers.write_text(
        f"*,!mallory {text['one']}"
        f'team-* namespaces="git*" {text["two"]}'
        f'* namespaces="file" {text["three"]}'
        f'gamma valid-before="20200101Z" {text["four"]}'
        f"ada@example.com {text['four']}"
        f"team cert-authority {text['four']}"
    )
    said = repo.coord("policy", "--listed", str(signers))
    assert (said.code, [said.err.count(f"signers:{n}: ") for n in range(1, 7)]) == (0, [0, 0, 1, 1, 1, 1])
    names = [row.split()[-1] for row in said.out.splitlines()[1:3]]
    assert names == ["*,!mallory", "team-*"]
    joins = [("one", "mallory", 4), ("two", "delta", 4), ("three", "x", 4), ("one", "gamma", 0), ("two", "team-a", 0)]
    for number, (key, name, code) in enumerate(joins):
        place = repo.worktree(f"w{number}")
        place.git("config", "extensions.worktreeConfig", "true")
        place.git("config", "--worktree", "coord.key", str(keys[key]))
        assert place.coord("init", "--agent", name).code == code, (key, name)


def test_an_end_in_the_future_is_refused_with_the_line_since_no_policy_could_keep_it(
    person: Path, env: dict[str, str]
) -> None:
    repo = _ledger_of(person, env)
    public = Path(f"{person}.pub").read_text()
    signers = person.parent / "signers"
    signers.write_text(f'# ours\ngamma valid-before="20990101Z" {public}')
    answer = repo.coord_json("policy", "--listed", str(signers), code=2)
    assert answer["message"].startswith(f"{signers}:2: a policy keeps no end of a key")
    assert repo.coord_json("policy")["join"] == "open"


def test_who_is_refused_prints_a_line_that_a_maintainer_admits_with_one_command(
    person: Path, env: dict[str, str]
) -> None:
    repo = _ledger_of(person, env)
    signers = person.parent / "signers"
    signers.write_text(f"alpha {Path(f'{person}.pub').read_text()}")
    repo.coord_json("policy", "--listed", str(signers))
    beta = repo.worktree("beta")
    refused = beta.coord_json("init", "--agent", "beta", code=4)
    assert refused["next"] == "git coord whoami --signer"
    assert "the policy does not list its key" in refused["message"]
    line = beta.coord("whoami", "--signer").out.rstrip("\n")
    assert line.startswith('beta namespaces="git-coord" ssh-ed25519 AAAA')
    assert beta.coord_json("whoami", "--signer")["signer"] == line
    repo.coord_json("policy", "--allow", line)
    assert beta.coord("init").code == 0
    assert [one["agent"] for one in repo.coord_json("policy")["listed"]] == ["alpha", "beta"]
    assert [one["agent"] for one in repo.coord_json("policy", "--disallow", "beta")["listed"]] == ["alpha"]
    gamma = _key(Repo(person.parent, env), "gamma").with_suffix(".pub")
    needs = repo.coord_json("policy", "--allow", str(gamma), code=2)
    assert needs["next"] == f"git coord policy --allow {gamma} --as NAME"
    assert len(repo.coord_json("policy", "--allow", str(gamma), "--as", "team-*")["listed"]) == 2
    assert len(repo.coord_json("policy", "--disallow", str(gamma))["listed"]) == 1
    assert repo.coord_json("policy", "--disallow", str(gamma), code=2)["message"] == f"{gamma} is not listed"
    repo.coord_json("policy", "--open")
    assert repo.coord_json("policy", "--allow", line, code=2)["next"] == "git coord policy --listed FILE"


def test_policy_keys_and_limits_can_be_changed(person: Path, env: dict[str, str]) -> None:
    repo = _ledger_of(person, env)
    changed = repo.coord_json("policy", "--add-admin", f"{person}.pub", "--max-lease", "1h", "--takeover", "never")
    assert (len(changed["admins"]), changed["max_lease"], changed["takeover"]) == (2, 3600, "never")
    assert repo.coord_json("claim", "a", code=2)["message"] == "a lease of 7200 s is not between 1 s and 3600 s here"
    own = Path(repo.coord("whoami").out.splitlines()[2].split()[-1])
    assert len(repo.coord_json("policy", "--remove-admin", f"{own}.pub")["admins"]) == 1
    assert repo.git("config", "coord.policyKey").strip() == str(person), "what was added signs what comes next"
    assert repo.coord_json("policy", "--max-lease", "4h")["max_lease"] == 14400
    refusal = repo.coord_json("policy", "--remove-admin", f"{person}.pub", code=2)
    assert refusal["message"] == "a policy needs at least one key: add another with it"


def test_a_claim_is_broken_that_this_clone_has_not_heard_of(pair: tuple[Repo, Repo]) -> None:
    alpha, beta = pair
    alpha.coord_json("sync")
    token = beta.coord_json("claim", "a")["token"]
    assert said(alpha.coord("break", f"#{token}", "-m", "gone")) == (0, f"broken #{token} of beta   a\n", "")


def test_the_key_that_git_signs_with_is_the_policy_key_whatever_form_it_has(
    person: Path, env: dict[str, str], tmp_path: Path
) -> None:
    public = Path(f"{person}.pub")
    for number, value in enumerate((str(person), str(public))):
        repo = new_repo(tmp_path / f"r{number}", env)
        repo.commit("first")
        repo.git("config", "gpg.format", "ssh")
        repo.git("config", "user.signingKey", value)
        assert "policy key" not in repo.coord("init", "--agent", "alpha").err
        assert repo.coord_json("policy")["admins"] == [" ".join(public.read_text().split()[:2])]
        repo.coord_json("policy", "--max-lease", "1h")
        assert "remember" not in repo.coord("status").out


def test_a_key_in_an_ssh_agent_named_literally_signs_the_policy(
    person: Path, env: dict[str, str], tmp_path: Path, short_folder: Path
) -> None:
    agent = short_folder / "agent.sock"
    repo = new_repo(tmp_path / "r", {**env, "SSH_AUTH_SOCK": str(agent)})
    started = repo.run("ssh-agent", "-s", "-a", str(agent), check=True).out
    pid = started.split("SSH_AGENT_PID=")[1].split(";")[0]
    try:
        repo.run("ssh-add", "-q", str(person), check=True)
        _sign_by_agent(repo, person)
    finally:
        os.kill(int(pid), signal.SIGTERM)


def _sign_by_agent(repo: Repo, person: Path) -> None:
    key = " ".join(Path(f"{person}.pub").read_text().split()[:2])
    repo.commit("first")
    repo.git("config", "gpg.format", "ssh")
    repo.git("config", "user.signingKey", f"key::{key} me@home")
    person.rename(person.with_name("away"))
    assert repo.coord("init", "--agent", "alpha").code == 0
    assert repo.coord_json("policy")["admins"] == [key]
    assert repo.coord_json("policy", "--max-lease", "1h")["max_lease"] == 3600


def test_a_key_that_cannot_sign_here_is_said_and_status_reminds_until_a_persons_is_policy_key(
    env: dict[str, str], tmp_path: Path
) -> None:
    repo = new_repo(tmp_path / "r", env)
    repo.commit("first")
    locked = tmp_path / "locked"
    repo.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "a phrase", "-f", str(locked), check=True)
    repo.git("config", "gpg.format", "ssh")
    repo.git("config", "user.signingKey", str(locked))
    done = repo.coord("init", "--agent", "alpha")
    assert (done.code, f"{locked} is no policy key: cannot sign" in done.err) == (0, True)
    *_, remember, step = repo.coord("status").out.splitlines()
    assert remember.startswith("remember  this agent's own key is policy key")
    assert repo.coord_json("status")["warnings"] == [f"{remember.split(None, 1)[1]}: {step.split(None, 1)[1]}"]
    assert type_in(repo, step.removeprefix("next").strip()).code == 0
    key = " ".join(Path(f"{locked}.pub").read_text().split()[:2])
    assert repo.coord_json("policy")["admins"] == [key]
    assert "remember" not in repo.coord("status").out


def test_who_has_no_policy_key_is_not_reminded(alone: Repo) -> None:
    beta = _second(alone)
    assert "remember" in alone.coord("status").out
    assert "remember" not in beta.coord("status").out


@pytest.mark.parametrize(("answer", "is_person"), [("{person}\n", True), ("\n", False)])
def test_at_a_terminal_init_asks_once_for_a_persons_key(
    person: Path, env: dict[str, str], tmp_path: Path, answer: str, is_person: bool
) -> None:
    repo = new_repo(tmp_path / "r", env)
    repo.commit("first")
    assert "A person's SSH key" in _at_terminal(repo, answer.format(person=person), "init", "--agent", "alpha")
    admins = repo.coord_json("policy")["admins"]
    assert (admins == [" ".join(Path(f"{person}.pub").read_text().split()[:2])]) is is_person
    assert "A person's SSH key" not in _at_terminal(repo, "", "init")


def _at_terminal(repo: Repo, typed: str, *args: str) -> str:
    """Run a command with a terminal as its streams, type something, and return what it shows."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        ["git-coord", *args], cwd=repo.path, env=repo.env, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    shown = b""
    with suppress(OSError):  # the end of a terminal
        while part := os.read(ours, 4096):
            shown += part
    assert process.wait(PATIENCE) == 0, shown
    os.close(ours)
    return shown.decode()
