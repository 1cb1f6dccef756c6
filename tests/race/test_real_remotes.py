"""Remotes as they are met in the field: away, silent, refusing, cleaned by others, in another object format."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.helpers import PATIENCE, Repo, new_repo
from tests.race.crew import count_hook, holdings, init, wrong

from git_coord.app import open_app
from git_coord.domain.items import Intent, Item, ItemKind
from git_coord.domain.statements import Base
from git_coord.service import claims
from git_coord.service.claims import ClaimRefused, Wanted
from git_coord.service.ledger import open_ledger

Clones = Callable[..., tuple[Repo, ...]]


@pytest.fixture
def pair(hub_and_clones: Clones) -> tuple[Repo, Repo, Repo]:
    """Return a hub and two members in step."""
    hub, alpha, beta = hub_and_clones("alpha", "beta")
    init(alpha, beta)
    alpha.coord_json("sync")
    return hub, alpha, beta


def wanted(name: str) -> Wanted:
    item = Item(ItemKind.PATH, name, Intent.EDIT)
    return Wanted((item,), "", "standard", 7200, None, Base(None, None, None))


def test_a_hub_that_is_away_makes_answers_unknown_never_free(pair: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = pair
    alpha.coord_json("claim", "a.txt")
    hub.path.rename(hub.path.with_name("hub.off"))
    beta.path.joinpath(".git/coord/synced").unlink()
    beta.path.joinpath(".git/coord/synced.presence").unlink(missing_ok=True)
    for args in (["check", "a.txt"], ["status"], ["claim", "a.txt"]):
        assert beta.coord_json(*args, code=5)["code"] == "unknown"
    assert alpha.coord_json("release", "a.txt")["confirmed"] is False
    hub.path.with_name("hub.off").rename(hub.path)
    alpha.coord_json("sync")
    beta.coord_json("sync")
    assert (holdings(alpha), holdings(beta)) == ({}, {})
    assert beta.coord("claim", "a.txt").code == 0
    alpha.coord_json("sync")
    assert holdings(alpha) == {"a.txt": "beta"}


def test_a_pre_receive_hook_that_refuses_is_run_once_and_quoted(pair: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, _ = pair
    log = count_hook(hub)
    hook = hub.path / "hooks" / "pre-receive"
    hook.write_text(hook.read_text() + "exit 1\n")
    before = hub.refs("refs/coord/")
    answer = alpha.coord_json("claim", "a.txt", code=5)
    assert answer["message"].startswith("origin refuses our refs: pre-receive hook declined")
    assert answer["reason"] == "pre-receive hook declined"
    assert (log.read_text().splitlines(), hub.refs("refs/coord/")) == (["push"], before)
    hook.unlink()
    alpha.coord_json("sync")
    assert holdings(alpha) == {}


def test_a_hub_that_hides_our_refs_is_told_apart_from_a_lost_race(hub_and_clones: Clones) -> None:
    hub, alpha, beta = hub_and_clones("alpha", "beta")
    hub.git("config", "receive.hideRefs", "refs/coord")
    log = count_hook(hub)
    assert alpha.coord_json("init", code=5)["reason"] == "deny updating a hidden ref"
    assert log.read_text() == "push\n"
    hub.git("config", "--unset", "receive.hideRefs")
    init(alpha, beta)
    hub.git("config", "receive.hideRefs", "refs/coord")
    # Refs that exist are not even listed to a push now: git itself finds its lease void.
    alpha.coord_json("sync")
    assert alpha.coord_json("claim", "a.txt", code=5)["reason"] == "stale info"


@pytest.fixture
def silent() -> Iterator[int]:
    """Return the port of a server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held: list[socket.socket] = []

        def accept() -> None:
            while True:
                try:
                    held.append(server.accept()[0])
                except OSError:
                    return

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        for one in held:
            one.close()
        thread.join()


def test_a_silent_remote_ends_within_its_bound_and_leaves_nothing_held(
    pair: tuple[Repo, Repo, Repo], silent: int
) -> None:
    hub, alpha, beta = pair
    for key in ("coord.fetchTimeout", "coord.pushTimeout"):
        alpha.git("config", key, "1s")
    alpha.git("config", "remote.origin.url", f"git://127.0.0.1:{silent}/hub")
    began = time.monotonic()
    for args in (["claim", "a.txt"], ["sync"]):
        answer = alpha.coord_json(*args, code=5)
        assert answer["message"].startswith("no answer from origin in ")
    assert time.monotonic() - began < PATIENCE
    for key in ("coord.fetchTimeout", "coord.pushTimeout"):
        alpha.git("config", "--unset", key)
    alpha.git("config", "remote.origin.url", str(hub.path))
    alpha.coord_json("sync")
    assert holdings(alpha) == {}
    assert beta.coord("claim", "a.txt").code == 0


def test_a_fetch_in_between_does_not_void_the_lease(pair: tuple[Repo, Repo, Repo]) -> None:
    _, alpha, beta = pair
    alpha.git("config", "--add", "remote.origin.fetch", "+refs/coord/*:refs/coord-remote/*")
    app = open_app(str(alpha.path), alpha.env)
    open_ledger(app.coord)

    def overtake(name: str) -> None:
        if name == "before push":
            app.coord.reach = lambda _name: None
            beta.coord_json("claim", "a.txt")
            alpha.git("fetch", "-q", "--all")

    app.coord.reach = overtake
    result = claims.claim(app.coord, wanted("a.txt"))
    assert isinstance(result, ClaimRefused)
    assert [conflict.claim.holder for conflict in result.conflicts] == ["beta"]
    assert holdings(alpha) == {"a.txt": "beta"}


def test_a_plain_fetch_onto_the_live_refs_loses_nothing(pair: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = pair
    alpha.coord_json("claim", "a.txt")
    beta.git("config", "remote.origin.url", str(beta.path / "nowhere"))
    beta.coord_json("claim", "b.txt", "--offline")
    beta.coord_json("post", "note")
    beta.git("config", "remote.origin.url", str(hub.path))
    beta.run("git", "fetch", "-q", "origin", "refs/coord/*:refs/coord/*")
    beta.coord_json("sync")
    alpha.coord_json("sync")
    assert holdings(alpha) == holdings(beta) == {"a.txt": "alpha", "b.txt": "beta"}
    assert [one["text"] for one in alpha.coord_json("posts")["posts"]] == ["note"]
    assert (wrong(alpha), wrong(beta)) == ([], [])


def test_clocks_in_other_time_zones_change_nothing(pair: tuple[Repo, Repo, Repo]) -> None:
    _, alpha, beta = pair
    alpha.with_env(TZ="Asia/Kolkata").coord_json("claim", "a.txt")
    beta.coord_json("sync")
    (asked,) = beta.with_env(TZ="America/St_Johns").coord_json("check", "a.txt", code=3)["resources"]
    assert (asked["status"], asked["holder"]) == ("held", "alpha")


def test_a_locked_key_ends_in_an_error_that_names_it_and_in_no_half_claim(
    pair: tuple[Repo, Repo, Repo], tmp_path: Path
) -> None:
    _, alpha, _ = pair
    key = tmp_path / "locked"
    alpha.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", str(key), check=True)
    gamma = alpha.with_env(GIT_COORD_AGENT="gamma")
    gamma.git("config", "coord.key", str(key))
    before = gamma.refs("refs/coord/")
    answer = gamma.coord_json("init", code=1)
    assert str(key) in answer["message"]
    assert gamma.refs("refs/coord/") == before


def test_repositories_of_the_other_object_format_work_the_same(tmp_path: Path, env: dict[str, str]) -> None:
    hub = new_repo(tmp_path / "hub.git", env, "--bare", "--object-format=sha256")
    clones = []
    for name in ("alpha", "beta"):
        clone = new_repo(tmp_path / name, env, "--object-format=sha256")
        clone.git("remote", "add", "origin", str(hub.path))
        clone.git("config", "coord.agent", name)
        clones.append(clone)
    alpha, beta = clones
    init(alpha, beta)
    alpha.coord_json("claim", "a.txt")
    assert beta.coord_json("claim", "a.txt", code=3)["holder"] == "alpha"
    assert (wrong(alpha), wrong(beta)) == ([], [])
