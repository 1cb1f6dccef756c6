"""Programs named by configuration, attributes and remotes of a repository: which ones our commands ever start."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import Repo
from tests.hostile.attacker import executable
from tests.hostile.conftest import Arena

CONFIGURED = (
    "core.fsmonitor",
    "core.sshCommand",
    "core.editor",
    "core.pager",
    "core.askPass",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "sequence.editor",
    "gpg.program",
    "gpg.ssh.program",
    "gpg.openpgp.program",
    "gpg.ssh.defaultKeyCommand",
    "diff.external",
    "diff.evil.command",
    "diff.evil.textconv",
    "merge.evil.driver",
    "credential.helper",
    "interactive.diffFilter",
    "uploadpack.packObjectsHook",
    "remote.origin.uploadpack",
    "remote.origin.receivepack",
    "remote.origin.vcs",
    "pager.log",
    "pager.config",
    "alias.rev-parse",
    "alias.update-ref",
    "alias.for-each-ref",
    "alias.cat-file",
    "trailer.sign.cmd",
    "sendpack.sideband",
    "web.browser",
    "help.browser",
)
"""Keys whose value git may run as a program in some command or other."""
FLAGS = (
    "push.gpgSign=true",
    "push.followTags=true",
    "push.recurseSubmodules=on-demand",
    "fetch.recurseSubmodules=true",
)
COMMANDS = (
    ("claim", "b.txt", "a.txt"),
    ("check", "a.txt"),
    ("status",),
    ("log",),
    ("presence", "set", "busy"),
    ("post", "add", "x"),
    ("sync",),
    ("verify", "HEAD~1..HEAD"),
    ("doctor",),
    ("policy",),
    ("renew", "--all"),
    ("rotate",),
    ("release", "b.txt"),
    ("init",),
)


def canary(folder: Path, name: str) -> str:
    """Return a program that leaves a mark of its name and fails."""
    return executable(folder / "canaries" / name, f"#!/bin/sh\n: > '{folder}/ran-{name}'\nexit 1\n")


def ran(folder: Path) -> set[str]:
    """Return the names of the programs that were started."""
    return {path.name.removeprefix("ran-") for path in folder.glob("ran-*")}


def work(repo: Repo) -> None:
    """Run every main verb, and the hooks through a commit."""
    for command in COMMANDS:
        done = repo.coord(*command)
        assert done.code in (0, 1), (command, done)
        assert "Traceback" not in done.err


@pytest.fixture
def alpha(arena: Arena) -> Repo:
    """Return alpha's clone with work in progress."""
    arena.alpha.commit("more", **{"a.txt": "1\n"})
    arena.alpha.write("a.txt", "2\n")
    arena.alpha.write("b.txt", "2\n")
    return arena.alpha


def test_the_canary_sings_when_git_starts_it(alpha: Repo, tmp_path: Path) -> None:
    alpha.git("config", "core.fsmonitor", canary(tmp_path, "core.fsmonitor"))
    alpha.git("status")
    assert ran(tmp_path) == {"core.fsmonitor"}


@pytest.mark.slow
def test_no_program_named_by_local_configuration_is_started(alpha: Repo, tmp_path: Path) -> None:
    for key in CONFIGURED:
        alpha.git("config", key, canary(tmp_path, key))
    for flag in FLAGS:
        alpha.git("config", *flag.split("="))
    alpha.write(".gitattributes", "* diff=evil merge=evil\n")
    work(alpha)
    assert ran(tmp_path) == set()


@pytest.mark.slow
def test_a_tracked_attributes_file_starts_no_program_that_nobody_configured(alpha: Repo, tmp_path: Path) -> None:
    canary(tmp_path, "evil")
    alpha.write(".gitattributes", "* filter=evil diff=evil merge=evil ident working-tree-encoding=UTF-16\n")
    alpha.write(".gitconfig", f'[filter "evil"]\n\tclean = {tmp_path}/canaries/evil\n')
    alpha.write(".lfsconfig", "[lfs]\n\turl = http://127.0.0.1:1/\n")
    alpha.write(".gitmodules", '[submodule "x"]\n\tpath = x\n\turl = ext::sh -c evil\n\tupdate = !evil\n')
    work(alpha)
    assert ran(tmp_path) == set()


def test_a_clean_filter_that_the_user_configured_runs_for_pins_as_in_git_add(alpha: Repo, tmp_path: Path) -> None:
    """The one thing a pin needs: the blob that `git add` would make. Tracked attributes only choose among these."""
    alpha.git("config", "filter.evil.clean", canary(tmp_path, "clean"))
    alpha.git("config", "filter.evil.smudge", canary(tmp_path, "smudge"))
    alpha.write(".gitattributes", "b.txt filter=evil\n")
    assert alpha.coord("claim", "b.txt").code == 0
    assert ran(tmp_path) == {"clean"}


@pytest.mark.slow
def test_of_the_repositorys_hooks_only_those_about_refs_run_as_for_any_git_command(alpha: Repo, tmp_path: Path) -> None:
    """`reference-transaction` is git's own rule for whoever moves a ref; pre-push and all others are kept out."""
    names = (
        "pre-push",
        "post-checkout",
        "post-index-change",
        "push-to-checkout",
        "sendemail-validate",
        "fsmonitor-watchman",
    )
    for name in (*names, "pre-commit", "post-merge", "update", "pre-receive", "post-rewrite", "reference-transaction"):
        hook = canary(tmp_path, name)
        executable(tmp_path / "hooks" / name, f"#!/bin/sh\n'{hook}'\nexit 0\n")
    alpha.git("config", "core.hooksPath", str(tmp_path / "hooks"))
    work(alpha)
    assert ran(tmp_path) == {"reference-transaction"}


REMOTES = ("--upload-pack=touch pwned", "--exec=touch pwned", "-u", "ext::sh -c touch% pwned", "../hub.git")
URLS = ("--upload-pack=touch pwned", "ext::sh -c touch% pwned", "ssh://-oProxyCommand=touch%20pwned/x", "-x:y")


@pytest.mark.parametrize("remote", REMOTES)
def test_a_remote_is_a_configured_name_and_nothing_else(alpha: Repo, remote: str) -> None:
    alpha.git("config", "coord.remote", remote)
    for verb in (("claim", "b.txt"), ("sync",), ("init",), ("doctor",)):
        done = alpha.coord(*verb)
        assert (done.code, "Traceback" in done.err) == (1, False)
    assert not list(alpha.path.parent.rglob("pwned"))


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("key", ["url", "pushurl", "insteadOf"])
def test_a_url_that_is_an_option_or_a_program_is_not_followed(alpha: Repo, url: str, key: str) -> None:
    repo = Repo(alpha.path, {name: value for name, value in alpha.env.items() if name != "GIT_ALLOW_PROTOCOL"})
    if key == "insteadOf":
        repo.git("config", f"url.{url}.insteadOf", repo.git("config", "remote.origin.url"))
    else:
        repo.git("config", f"remote.origin.{key}", url)
        repo.git("config", "coord.remote", "origin")
    for verb in ("claim", "sync"):
        done = repo.coord(*(verb, "b.txt") if verb == "claim" else (verb,))
        assert (done.code in (1, 5), "Traceback" in done.err) == (True, False)
    assert not list(alpha.path.parent.rglob("pwned"))
    assert "Traceback" not in repo.coord("status", "--local").err


def test_programs_in_the_checkout_are_never_found_on_the_path(alpha: Repo, tmp_path: Path) -> None:
    for name in ("git", "ssh-keygen", "ssh", "python3"):
        alpha.write(name, Path(canary(tmp_path, name)).read_text()).chmod(0o755)
    for module in ("click.py", "cryptography.py", "git_coord.py", "json.py", "sitecustomize.py", "usercustomize.py"):
        alpha.write(module, f"open({str(tmp_path / f'ran-{module}')!r}, 'w')\nraise SystemExit(9)\n")
    repo = alpha.with_env(PATH=f".::{alpha.env['PATH']}")
    for command in (["claim", "b.txt"], ["sync"], ["status"]):
        assert repo.run("git-coord", *command).code == 0
    alpha.git("commit", "-q", "--allow-empty", "-m", "x")
    assert ran(tmp_path) == set()


@pytest.mark.parametrize("mode", ["off", "nonsense", "\x1b[2J"])
def test_local_settings_bend_the_users_own_commits_and_ci_judges_all_the_same(arena: Arena, mode: str) -> None:
    """Whoever owns a clone can switch its hooks off; that is what the door in CI is for."""
    thief = arena.mallory.clone
    thief.git("config", "coord.mode", mode)
    thief.write(".coord.toml", '[claims]\nexempt = ["."]\n')
    thief.git("add", ".coord.toml")
    commit = thief.commit("theft", **{"a.txt": "mine\n"})
    thief.git("push", "-q", "--no-verify", "origin", f"{commit}:refs/heads/topic")
    ci = arena.fresh("ci")
    ci.git("checkout", "-q", "topic")
    found = ci.coord_json("verify", "origin/main..HEAD", code=3)["violations"]
    assert [(row["path"], row["holder"], row["commit"]) for row in found] == [("a.txt", "alpha", commit)]
