"""`git fetch origin '+refs/coord/*:refs/coord/*'`: copies of others' refs under live names are harmless, and named."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.helpers import Repo

BY_HAND = ("fetch", "-q", "origin", "+refs/coord/*:refs/coord/*", "+refs/notes/coord/*:refs/notes/coord/*")


@pytest.fixture
def pair(hub_and_clones: Callable[..., tuple[Repo, ...]]) -> tuple[Repo, Repo, Repo]:
    """Return a hub and two clones; alpha holds a.txt and shows itself, beta has fetched everything by hand."""
    hub, alpha, beta = hub_and_clones("alpha", "beta")
    alpha.coord_json("init", "--agent", "alpha")
    beta.coord_json("init", "--agent", "beta")
    alpha.coord_json("claim", "a.txt")
    alpha.coord_json("presence", "set", "busy", "-m", "old words")
    alpha.coord_json("post", "an old post")
    alpha.coord_json("sync")
    beta.git(*BY_HAND)
    return hub, alpha, beta


def test_copies_are_never_pushed_though_they_age(pair: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = pair
    alpha.coord_json("presence", "set", "busy", "-m", "new words")
    alpha.coord_json("post", "a new post")
    alpha.coord_json("claim", "b.txt")
    alpha.coord_json("sync")
    before = hub.refs("refs/coord", "refs/notes/coord")
    for _ in range(2):
        beta.coord_json("sync")
    beta.coord_json("claim", "c.txt")
    after = hub.refs("refs/coord", "refs/notes/coord")
    alphas = {ref: oid for ref, oid in before.items() if ref.endswith("/alpha")}
    assert len(alphas) == 3
    assert {ref: after[ref] for ref in alphas} == alphas
    agents = {row["agent"]: row for row in beta.coord_json("status")["agents"]}
    assert agents["alpha"]["note"] == "new words"
    assert {post["text"] for post in beta.coord_json("posts")["posts"]} == {"a new post", "an old post"}


def test_what_its_author_took_back_is_not_read_from_a_copy(pair: tuple[Repo, Repo, Repo]) -> None:
    hub, _, beta = pair
    for family in ("presence", "posts", "requests"):
        hub.git("update-ref", "-d", f"refs/coord/{family}/alpha")
    beta.coord_json("sync")
    agents = {row["agent"]: row for row in beta.coord_json("status")["agents"]}
    assert agents["alpha"].get("note") is None
    assert beta.coord_json("posts")["posts"] == []
    assert [ref for ref in hub.refs("refs/coord") if ref.endswith("/alpha")] == []


def test_operations_in_a_copy_are_not_taken_for_pending_ones_of_this_clone(pair: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = pair
    alpha.coord_json("claim", "--offline", "d.txt")
    hub.git("update-ref", "-d", "refs/coord/requests/alpha")
    copy = alpha.rev("refs/coord/requests/alpha")
    beta.git("fetch", "-q", str(alpha.path), f"+{copy}:refs/coord/requests/alpha")
    claims = beta.coord_json("status", "--local")["claims"]
    assert [claim["items"][0]["path"] for claim in claims] == ["a.txt"]
    assert beta.coord_json("claim", "e.txt")["confirmed"] is True


def test_doctor_names_each_copy_with_the_line_that_removes_it(pair: tuple[Repo, Repo, Repo]) -> None:
    _, _, beta = pair
    found = [row for row in beta.coord_json("doctor")["findings"] if "a copy of another agent's" in row["text"]]
    assert {row["text"].split(" ")[0] for row in found} == {
        f"refs/coord/{family}/alpha" for family in ("presence", "posts", "requests")
    }
    for row in found:
        assert beta.run(*row["next"].split(" ")).code == 0
    assert "a copy of" not in json.dumps(beta.coord_json("doctor"))
    assert beta.refs("refs/coord/presence").keys() <= {"refs/coord/presence/beta"}
    assert beta.coord("sync").code == 0


def test_deinit_does_not_speak_for_agents_of_copies(pair: tuple[Repo, Repo, Repo]) -> None:
    _, alpha, beta = pair
    assert beta.coord("deinit").code == 0
    assert alpha.coord_json("status")["claims"][0]["agent"] == "alpha"


def test_a_restored_ledger_fetched_onto_the_live_one_is_taken_over_like_any(pair: tuple[Repo, Repo, Repo]) -> None:
    hub, alpha, beta = pair
    alpha.coord_json("claim", "late.txt")
    for ref in hub.refs("refs/coord"):
        hub.git("update-ref", "-d", ref)
    beta.coord_json("sync")
    alpha.git(*BY_HAND)
    assert alpha.coord("status").code == 0
    assert alpha.coord("sync").code == 0
    held = {item["path"] for claim in alpha.coord_json("status")["claims"] for item in claim["items"]}
    assert held == {"a.txt", "late.txt"}
    assert beta.coord_json("claim", "late.txt", code=3)["holder"] == "alpha"
