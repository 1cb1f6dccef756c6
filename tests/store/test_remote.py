"""The remote against a bare hub: what it fetches, what it pushes, and what it says when there is no answer."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from git_coord.clock import SystemClock
from git_coord.domain.ids import Agent, Oid
from git_coord.errors import CoordError, Kind
from git_coord.store.gitcli import GitStore
from git_coord.store.interface import ABSENT, PushedRef, PushStatus, RefUpdate
from git_coord.store.location import discover
from git_coord.store.refnames import FETCHED_LEDGER, LEDGER, Family, Ref, fetched, owned
from git_coord.store.remote import GitRemote, Place, Timeouts, resolve_url
from tests.helpers import Repo, new_repo

from .conftest import blob, commit, ends

ALPHA = owned(Family.REQUESTS, Agent("alpha"))
NOTES = owned(Family.NOTES, Agent("alpha"))
SYNCED = (Family.CLAIMS, Family.REQUESTS, Family.POSTS)


class Clone:
    """A clone with store and remote as the composition root makes them."""

    def __init__(self, repo: Repo, *, prefix: str = "refs/coord", url: str | None = None, seconds: float = 20) -> None:
        location = discover(repo.path, repo.env)
        git = location.git(repo.env)
        self.repo = repo
        self.store = GitStore(git, location.object_format)
        place = Place("origin", "url", url or resolve_url(git, "origin"), prefix)
        self.lock_dir = os.path.join(location.common_dir, "coord")
        timeouts = Timeouts(seconds, seconds)
        self.remote = GitRemote(git, self.store, place, lock_dir=self.lock_dir, clock=SystemClock(), timeouts=timeouts)

    def make(self, text: str, *parents: str) -> Oid:
        return commit(self.store, {"op": text}, *parents).oid


Hub = tuple[Repo, Clone, Clone]


@pytest.fixture
def hub(hub_and_clones: Callable[..., tuple[Repo, ...]]) -> Hub:
    made, alpha, beta = hub_and_clones("alpha", "beta")
    return made, Clone(alpha), Clone(beta)


def hook(hub: Repo, name: str, text: str) -> None:
    path = hub.path / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def landed(*refs: Ref) -> list[PushedRef]:
    return [PushedRef(ref, PushStatus.LANDED, "") for ref in refs]


def test_what_is_pushed_is_fetched_by_others_and_recorded_here(hub: Hub) -> None:
    bare, alpha, beta = hub
    one = alpha.make("1")
    updates = [RefUpdate(ref, one, ABSENT) for ref in (LEDGER, ALPHA, NOTES)]
    assert alpha.remote.push(updates) == landed(LEDGER, ALPHA, NOTES)
    there = {LEDGER: one, ALPHA: one, NOTES: one}
    here = {fetched(ref): one for ref in there}
    assert bare.refs("refs/coord", "refs/notes") == there
    assert alpha.repo.refs("refs/coord-remote", "refs/coord-notes-remote") == here
    beta.remote.fetch([*SYNCED, Family.NOTES])
    assert beta.repo.refs("refs/coord-remote", "refs/coord-notes-remote") == here
    assert beta.repo.refs("refs/coord", "refs/notes") == {}
    assert beta.store.read([f"{one}:op"]) == [blob(beta.store, "1")]


def test_only_the_families_asked_for_are_fetched(hub: Hub) -> None:
    _, alpha, beta = hub
    one = alpha.make("1")
    presence = owned(Family.PRESENCE, Agent("alpha"))
    alpha.remote.push([RefUpdate(LEDGER, one, ABSENT), RefUpdate(presence, one, ABSENT)])
    beta.remote.fetch(SYNCED)
    assert beta.repo.refs("refs/coord-remote") == {FETCHED_LEDGER: one}
    beta.remote.fetch([Family.PRESENCE])
    assert beta.repo.refs("refs/coord-remote") == {FETCHED_LEDGER: one, fetched(presence): one}


def test_a_push_of_another_process_during_a_fetch_makes_it_fetch_again(hub: Hub, tmp_path: Path) -> None:
    _, alpha, beta = hub
    one, two, three = alpha.make("1"), beta.make("2"), alpha.make("3")
    alpha.remote.push([RefUpdate(LEDGER, one, ABSENT)])
    beta.remote.fetch(SYNCED)
    alpha.remote.push([RefUpdate(LEDGER, three, one)])
    # While the hub packs, another process of beta's clone records a push, which the fetch did not expect.
    moves = f"git --git-dir='{beta.repo.path}/.git' update-ref {FETCHED_LEDGER} {two} {one}"
    script = tmp_path / "pack"
    script.write_text(
        f"#!/bin/sh\nunset $(git rev-parse --local-env-vars)\n{moves}\ncd '{tmp_path}/hub.git'\nexec \"$@\"\n"
    )
    script.chmod(0o755)
    beta.repo.git("config", "--global", "uploadpack.packObjectsHook", str(script))
    beta.remote.fetch(SYNCED)
    assert beta.store.refs(FETCHED_LEDGER) == {FETCHED_LEDGER: three}


def test_an_empty_remote_is_no_error(hub: Hub) -> None:
    _, _, beta = hub
    beta.remote.fetch([*SYNCED, Family.NOTES, Family.PRESENCE])
    assert beta.repo.refs("refs/coord-remote") == {}


def test_what_vanishes_or_is_rewound_there_does_so_in_the_fetched_namespace(hub: Hub) -> None:
    bare, alpha, beta = hub
    one = alpha.make("1")
    two = alpha.make("2", one)
    alpha.remote.push([RefUpdate(LEDGER, two, ABSENT), RefUpdate(ALPHA, one, ABSENT)])
    beta.remote.fetch(SYNCED)
    bare.git("update-ref", LEDGER, one)
    bare.git("update-ref", "-d", ALPHA)
    beta.remote.fetch(SYNCED)
    assert beta.repo.refs("refs/coord-remote") == {FETCHED_LEDGER: one}


def test_a_fetch_touches_nothing_of_the_users(hub: Hub) -> None:
    bare, alpha, beta = hub
    alpha.remote.push([RefUpdate(LEDGER, alpha.make("1"), ABSENT)])
    alpha.repo.git("tag", "v1")
    alpha.repo.git("push", "-q", "origin", "v1", "main:other")
    beta.repo.git("config", "fetch.pruneTags", "true")
    beta.repo.git("config", "fetch.recurseSubmodules", "true")
    beta.repo.git("tag", "mine")
    before = beta.repo.refs("refs/heads", "refs/tags", "refs/remotes")
    beta.remote.fetch(SYNCED)
    assert beta.repo.refs("refs/heads", "refs/tags", "refs/remotes") == before
    assert not (beta.repo.path / ".git/FETCH_HEAD").exists()
    assert not (beta.repo.path / ".git/logs/refs/coord-remote").exists()
    assert "refs/heads/other" in bare.refs("refs/heads")


def test_a_negotiation_tip_is_named_only_once_there_is_one(hub: Hub) -> None:
    _, alpha, beta = hub
    line = beta.remote._fetch_line(SYNCED, {})
    assert " ".join(line[:-5]) == (
        "-c gc.auto=0 -c maintenance.auto=false -c core.logAllRefUpdates=false "
        "-c fetch.unpackLimit=1000 fetch --prune --no-tags --no-filter "
        "--no-recurse-submodules --no-write-fetch-head"
    )
    assert line[-5] == "--end-of-options"
    alpha.remote.push([RefUpdate(LEDGER, alpha.make("1"), ABSENT)])
    beta.remote.fetch(SYNCED)
    assert (
        beta.remote._fetch_line(SYNCED, beta.store.refs("refs/coord-remote/"))[-6]
        == "--negotiation-tip=refs/coord-remote/*"
    )


def test_the_push_line_names_every_exact_value(hub: Hub) -> None:
    _, alpha, _ = hub
    a, b = Oid("a" * 40), Oid("b" * 40)
    line = alpha.remote._push_line([RefUpdate(LEDGER, b, a), RefUpdate(ALPHA, b, ABSENT), RefUpdate(NOTES, ABSENT, a)])
    url = line[-4]
    assert " ".join(line) == (
        "-c push.pushOption= -c push.negotiate=false -c pack.threads=1 -c pack.window=0 push --porcelain --no-verify "
        f"--no-follow-tags --no-signed --recurse-submodules=no --force-with-lease={LEDGER}:{a} "
        f"--force-with-lease={ALPHA}: --force-with-lease={NOTES}:{a} "
        f"--end-of-options {url} {b}:{LEDGER} {b}:{ALPHA} :{NOTES}"
    )


def test_a_lost_lease_is_rejected_ref_by_ref(hub: Hub) -> None:
    bare, alpha, beta = hub
    one, two = alpha.make("1"), beta.make("2")
    alpha.remote.push([RefUpdate(LEDGER, one, ABSENT)])
    beta_ref = owned(Family.REQUESTS, Agent("beta"))
    assert beta.remote.push([RefUpdate(LEDGER, two, ABSENT), RefUpdate(beta_ref, two, ABSENT)]) == [
        PushedRef(LEDGER, PushStatus.REJECTED, "stale info"),
        PushedRef(beta_ref, PushStatus.LANDED, ""),
    ]
    assert bare.refs("refs/coord") == {LEDGER: one, beta_ref: two}
    assert beta.repo.refs("refs/coord-remote") == {fetched(beta_ref): two}


def test_a_fetch_in_between_does_not_void_the_lease(hub: Hub) -> None:
    bare, alpha, beta = hub
    one, two, three = alpha.make("1"), beta.make("2"), alpha.make("3")
    alpha.remote.push([RefUpdate(LEDGER, one, ABSENT)])
    beta.store.write([])
    beta.remote.fetch(SYNCED)
    beta.remote.push([RefUpdate(LEDGER, two, one)])
    alpha.remote.fetch(SYNCED)  # refreshes the fetched copy behind the back of who read `one`
    [answer] = alpha.remote.push([RefUpdate(LEDGER, three, one)])
    assert answer.status is PushStatus.REJECTED
    assert bare.refs("refs/coord") == {LEDGER: two}


def test_the_same_value_again_is_same_whatever_the_lease(hub: Hub) -> None:
    _, alpha, beta = hub
    one = alpha.make("1")
    alpha.remote.push([RefUpdate(LEDGER, one, ABSENT)])
    assert beta.make("1") == one
    assert beta.remote.push([RefUpdate(LEDGER, one, ABSENT)]) == [PushedRef(LEDGER, PushStatus.SAME, "")]
    assert beta.repo.refs("refs/coord-remote") == {FETCHED_LEDGER: one}


def test_a_deletion_is_pushed_and_recorded(hub: Hub) -> None:
    bare, alpha, _ = hub
    one = alpha.make("1")
    alpha.remote.push([RefUpdate(ALPHA, one, ABSENT)])
    assert alpha.remote.push([RefUpdate(ALPHA, ABSENT, one)]) == landed(ALPHA)
    assert bare.refs("refs/coord") == alpha.repo.refs("refs/coord-remote") == {}


def test_a_deletion_of_another_value_is_rejected(hub: Hub) -> None:
    bare, alpha, _ = hub
    one, two = alpha.make("1"), alpha.make("2")
    alpha.remote.push([RefUpdate(ALPHA, one, ABSENT)])
    [answer] = alpha.remote.push([RefUpdate(ALPHA, ABSENT, two)])
    assert answer == PushedRef(ALPHA, PushStatus.REJECTED, "stale info")
    assert bare.refs("refs/coord") == {ALPHA: one}


def test_a_push_that_does_not_descend_needs_only_its_lease(hub: Hub) -> None:
    bare, alpha, _ = hub
    one, two = alpha.make("1"), alpha.make("2")
    bare.git("config", "receive.denyNonFastForwards", "false")
    alpha.remote.push([RefUpdate(ALPHA, one, ABSENT)])
    assert alpha.remote.push([RefUpdate(ALPHA, two, one)])[0].status is PushStatus.LANDED
    assert bare.refs("refs/coord") == {ALPHA: two}


def test_nothing_to_push_is_no_push(hub: Hub) -> None:
    bare, alpha, _ = hub
    bare.path.rename(bare.path.with_name("away"))
    assert alpha.remote.push([]) == []


def test_a_hook_there_that_refuses_is_rejected_with_its_reason(hub: Hub, tmp_path: Path) -> None:
    bare, alpha, _ = hub
    log = tmp_path / "log"
    hook(bare, "pre-receive", f"echo run >>{log}; echo no, thanks >&2; exit 1")
    answers = alpha.remote.push([RefUpdate(LEDGER, alpha.make("1"), ABSENT)])
    assert answers == [PushedRef(LEDGER, PushStatus.REJECTED, "pre-receive hook declined", "no, thanks")]
    assert log.read_text() == "run\n"
    assert alpha.repo.refs("refs/coord-remote") == {}


def test_hidden_refs_are_rejected_and_not_seen(hub: Hub) -> None:
    bare, alpha, _ = hub
    bare.git("config", "receive.hideRefs", "refs/coord")
    answers = alpha.remote.push([RefUpdate(LEDGER, alpha.make("1"), ABSENT)])
    assert answers == [PushedRef(LEDGER, PushStatus.REJECTED, "deny updating a hidden ref")]


def test_a_push_takes_along_nothing_of_the_users(hub: Hub, tmp_path: Path) -> None:
    bare, alpha, _ = hub
    log = tmp_path / "hook ran"
    hook(Repo(alpha.repo.path / ".git", alpha.repo.env), "pre-push", f"touch '{log}'; exit 1")
    alpha.repo.git("tag", "-a", "-m", "unpushed", "v1")
    alpha.repo.git("branch", "unpushed")
    settings = {
        "push.followTags": "true",
        "push.gpgSign": "true",
        "push.recurseSubmodules": "on-demand",
        "push.pushOption": "unsupported",
        "push.negotiate": "true",
        "push.useForceIfIncludes": "true",
        "remote.origin.mirror": "true",
        "remote.origin.push": "+refs/heads/*:refs/heads/*",
    }
    for key, value in settings.items():
        alpha.repo.git("config", key, value)
    before = bare.refs()
    one = alpha.make("1")
    assert alpha.remote.push([RefUpdate(LEDGER, one, ABSENT)]) == landed(LEDGER)
    assert bare.refs() == before | {LEDGER: one}
    assert not log.exists()


def test_a_vanished_hub_is_unknown_with_gits_words(hub: Hub) -> None:
    bare, alpha, _ = hub
    bare.path.rename(bare.path.with_name("away"))
    for attempt in (
        lambda: alpha.remote.fetch(SYNCED),
        lambda: alpha.remote.push([RefUpdate(LEDGER, alpha.make("1"), ABSENT)]),
        lambda: alpha.remote.deepen(1, Oid(alpha.repo.rev("HEAD"))),
    ):
        with pytest.raises(CoordError) as caught:
            attempt()
        assert caught.value.kind is Kind.UNKNOWN
        assert "does not appear to be a git repository" in caught.value.data["reason"]


@pytest.fixture
def silence() -> Iterator[str]:
    """Return the URL of a server that accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"git://127.0.0.1:{server.getsockname()[1]}/hub"


def test_a_remote_that_never_answers_is_unknown_in_time(hub: Hub, silence: str) -> None:
    _, alpha, _ = hub
    clone = Clone(alpha.repo, url=silence, seconds=0.5)
    for attempt in (
        lambda: clone.remote.fetch(SYNCED),
        lambda: clone.remote.push([RefUpdate(LEDGER, clone.make("1"), ABSENT)]),
    ):
        with pytest.raises(CoordError) as caught:
            attempt()
        assert (caught.value.kind, caught.value.message) == (Kind.UNKNOWN, "no answer from origin in 0.5 s")


def test_who_hurries_has_so_much_time_for_all_that_is_asked_and_the_usual_afterwards(hub: Hub) -> None:
    _, alpha, _ = hub
    clone = Clone(alpha.repo)
    clone.remote.hurry(3600)
    clone.remote.fetch(SYNCED)
    elsewhere = clone.remote.at(clone.remote.place)
    clone.remote.hurry(0)
    for remote in (clone.remote, clone.remote.at(clone.remote.place)):
        for attempt in (
            lambda it=remote: it.fetch(SYNCED),
            lambda it=remote: it.push([RefUpdate(LEDGER, clone.make("1"), ABSENT)]),
        ):
            with pytest.raises(CoordError) as caught:
                attempt()
            assert (caught.value.kind, caught.value.message) == (Kind.UNKNOWN, "no answer from origin in 0 s")
    clone.remote.hurry(None)
    for remote in (clone.remote, elsewhere):
        remote.fetch(SYNCED)


def test_a_push_whose_answer_is_lost_is_unknown_though_it_took_effect(hub: Hub) -> None:
    bare, alpha, _ = hub
    hook(bare, "reference-transaction", '[ "$1" != committed ] || kill -9 $PPID')
    one = alpha.make("1")
    with pytest.raises(CoordError) as caught:
        alpha.remote.push([RefUpdate(LEDGER, one, ABSENT)])
    assert caught.value.kind is Kind.UNKNOWN
    assert bare.refs("refs/coord") == {LEDGER: one}
    assert alpha.repo.refs("refs/coord-remote") == {}


def test_a_slow_hook_there_is_not_waited_for_beyond_the_limit(hub: Hub) -> None:
    bare, alpha, _ = hub
    hook(bare, "pre-receive", "sleep 600")
    clone = Clone(alpha.repo, seconds=0.5)
    with pytest.raises(CoordError) as caught:
        clone.remote.push([RefUpdate(LEDGER, clone.make("1"), ABSENT)])
    assert caught.value.kind is Kind.UNKNOWN


def test_a_prefix_maps_names_on_the_remote_only(hub: Hub) -> None:
    bare, alpha, beta = hub
    alpha, beta = (Clone(clone.repo, prefix="refs/heads/coord") for clone in (alpha, beta))
    one = alpha.make("1")
    assert alpha.remote.push([RefUpdate(ref, one, ABSENT) for ref in (LEDGER, ALPHA, NOTES)]) == landed(
        LEDGER, ALPHA, NOTES
    )
    assert bare.refs("refs/heads/coord") == {
        "refs/heads/coord/claims": one,
        "refs/heads/coord/notes/alpha": one,
        "refs/heads/coord/requests/alpha": one,
    }
    beta.remote.fetch([*SYNCED, Family.NOTES])
    assert set(beta.repo.refs("refs/coord-remote", "refs/coord-notes-remote")) == {
        fetched(ref) for ref in (LEDGER, ALPHA, NOTES)
    }


def test_a_partial_clone_gets_every_record(hub: Hub, tmp_path: Path) -> None:
    bare, alpha, _ = hub
    bare.git("config", "uploadpack.allowFilter", "true")
    one = alpha.make("1")
    alpha.remote.push([RefUpdate(LEDGER, one, ABSENT)])
    path = tmp_path / "partial"
    bare.git("clone", "-q", "--filter=blob:none", f"file://{bare.path}", str(path))
    partial = Clone(Repo(path, bare.env))
    partial.remote.fetch(SYNCED)
    assert partial.store.read([f"{one}:op"]) == [blob(partial.store, "1")]


def test_a_shallow_clone_gets_the_whole_ledger_and_can_deepen(hub: Hub, tmp_path: Path) -> None:
    bare, alpha, _ = hub
    for number in range(5):
        alpha.repo.commit(f"c{number}")
    alpha.repo.git("push", "-q", "origin", "main")
    one = alpha.make("1")
    two = alpha.make("2", one)
    alpha.remote.push([RefUpdate(LEDGER, two, ABSENT)])
    path = tmp_path / "shallow"
    bare.git("clone", "-q", "--depth=1", f"file://{bare.path}", str(path))
    shallow = Clone(Repo(path, bare.env))
    shallow.remote.fetch(SYNCED)
    assert shallow.store.history(two, None) == [one, two]
    tip = Oid(shallow.repo.rev("HEAD"))
    assert shallow.repo.git("rev-list", "--count", "HEAD") == "1"
    shallow.remote.deepen(2, tip)
    assert shallow.repo.git("rev-list", "--count", "HEAD") == "3"
    assert not (path / ".git/FETCH_HEAD").exists()


def test_sha256_repositories_sync(tmp_path: Path, env: dict[str, str]) -> None:
    bare = new_repo(tmp_path / "hub.git", env, "--bare", "--object-format=sha256")
    repo = new_repo(tmp_path / "clone", env, "--object-format=sha256")
    repo.git("remote", "add", "origin", str(bare.path))
    clone = Clone(repo)
    one = clone.make("1")
    assert clone.remote.push([RefUpdate(LEDGER, one, ABSENT)]) == landed(LEDGER)
    clone.remote.fetch(SYNCED)
    assert repo.refs("refs/coord-remote") == {FETCHED_LEDGER: one}


def test_the_push_url_is_the_one_place(repo: Repo) -> None:
    git = discover(repo.path, repo.env).git(repo.env)
    repo.git("remote", "add", "origin", "https://host.example/read")
    assert resolve_url(git, "origin") == "https://host.example/read"
    repo.git("config", "url.ssh://host.example/.pushInsteadOf", "https://host.example/")
    assert resolve_url(git, "origin") == "ssh://host.example/read"
    repo.git("remote", "set-url", "--push", "origin", "https://host.example/write")
    assert resolve_url(git, "origin") == "https://host.example/write"
    repo.git("remote", "set-url", "--push", "--add", "origin", "https://host.example/mirror")
    with pytest.raises(CoordError) as caught:
        resolve_url(git, "origin")
    assert caught.value.message == "remote origin has 2 push URLs; the ledger needs one"
    assert caught.value.next == "git config --replace-all remote.origin.pushurl https://host.example/write"


@pytest.mark.parametrize("name", ["--upload-pack=touch ran", "nothing", ".", "https://host.example/x", ""])
def test_only_a_configured_name_is_a_remote(name: str, repo: Repo) -> None:
    git = discover(repo.path, repo.env).git(repo.env)
    with pytest.raises(CoordError) as caught:
        resolve_url(git, name)
    assert caught.value.kind is Kind.ERROR
    assert not (repo.path / "ran").exists()


def test_a_url_that_is_an_option_is_refused(repo: Repo) -> None:
    repo.git("config", "remote.origin.url", "--upload-pack=touch ran")
    with pytest.raises(CoordError) as caught:
        resolve_url(discover(repo.path, repo.env).git(repo.env), "origin")
    assert caught.value.message == "not a remote: '--upload-pack=touch ran'"
    with pytest.raises(CoordError):
        Clone(repo, url="-x")


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ({}, "ssh -o BatchMode=yes -o ConnectTimeout=20"),
        ({"GIT_SSH_COMMAND": "mine"}, None),
        ({"GIT_SSH": "mine"}, None),
        (
            {
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": "core.sshCommand",
                "GIT_CONFIG_VALUE_0": "mine",
            },
            None,
        ),
    ],
)
def test_ssh_asks_no_questions_unless_the_user_has_a_command(
    setting: dict[str, str], expected: str | None, repo: Repo
) -> None:
    clone = Clone(repo.with_env(**setting), url="host.example:hub.git")
    assert clone.remote._ssh_command(20).get("GIT_SSH_COMMAND") == expected


def test_a_users_ssh_command_runs_and_is_killed_when_it_hangs(repo: Repo, tmp_path: Path) -> None:
    log = tmp_path / "log"
    hanging = repo.with_env(GIT_SSH_COMMAND=f"echo $$ >{log}; exec sleep 600; :")
    clone = Clone(hanging, url="ssh://host.example/hub.git", seconds=0.5)
    with pytest.raises(CoordError) as caught:
        clone.remote.fetch(SYNCED)
    assert caught.value.kind is Kind.UNKNOWN
    assert ends(int(log.read_text()))
