"""What was lost is a notice of the next tool call; a call whose client has given up has told nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from git_coord.app import App, open_app
from git_coord.cli.hosted import answer
from tests.helpers import Repo
from tests.mcp.desk import ask, connected, run

LOST = "lost: alpha's claim on a was refused, beta holds a"


@pytest.fixture
def lost(pair: tuple[Repo, Repo]) -> Repo:
    """Return alpha, whose offline claim was refused when a helper placed it; its clone does not know that yet."""
    alpha, beta = pair
    alpha.coord_json("sync")
    hub = Path(alpha.git("remote", "get-url", "origin"))
    away = hub.rename(hub.with_name("away"))
    alpha.coord_json("claim", "a", "--offline")
    away.rename(hub)
    beta.coord_json("claim", "a")
    alpha.git("push", "-q", "origin", "+refs/coord/requests/alpha")
    beta.coord_json("sync")
    return alpha


def test_the_call_that_learns_of_a_loss_has_it_among_its_notices_and_no_other_does(
    lost: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(lost.path)

    async def story() -> None:
        async with connected(lost.env) as client:
            answers = [await ask(client, "claim_files", files=["b"], purpose="more", ttl="10m") for _ in range(2)]
            assert [found.get("notices", []).count(LOST) for found in answers] == [1, 0]

    run(story)
    assert lost.coord_json("sync")["lost"] == []


class _Left:
    """A client that has given up by the time its call is answered."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self.opened: list[App] = []

    def open(self, agent: str | None, notice: Any) -> App:
        self.opened.append(open_app(str(self._repo.path), self._repo.env, agent=agent, notice=notice))
        return self.opened[-1]

    def after(self, app: App) -> None:
        assert app is self.opened[-1]

    def said(self, text: str) -> None:
        assert text

    def is_over(self) -> bool:
        return True


def test_a_call_whose_client_has_given_up_has_told_nothing(lost: Repo) -> None:
    host = _Left(lost)
    assert answer(["claim", "task:E-1"], host)["notices"] == [LOST]
    assert len(lost.coord_json("sync", code=4)["lost"]) == 1


def test_in_the_hold_of_a_restored_ledger_every_tool_says_so_and_none_says_free(
    pair: tuple[Repo, Repo], monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha, beta = pair
    beta.coord_json("sync")
    alpha.coord_json("claim", "a")
    for ref in (hub := Repo(Path(alpha.git("remote", "get-url", "origin")), alpha.env)).refs("refs/coord"):
        hub.git("update-ref", "-d", ref)
    monkeypatch.chdir(beta.path)

    async def story() -> None:
        async with connected(beta.env) as client:
            claimed = await ask(client, "claim_files", files=["a"], purpose="mine", ttl="10m")
            assert (claimed["ok"], claimed["code"], claimed["restored_by"]) == (False, "unknown", "beta")
            checked = await ask(client, "check_files", files=["a", "b"])
            assert [row["status"] for row in checked["resources"]] == ["unknown", "unknown"]
            assert checked["hold_until"] == claimed["hold_until"]
            assert (await ask(client, "status"))["restored"]["on_hold"] is True
            alpha.coord_json("sync")
            held = await ask(client, "claim_files", files=["a"], purpose="mine", ttl="10m")
            assert (held["code"], held["holder"]) == ("conflict", "alpha")

    run(story)


def test_a_post_that_is_not_sent_is_said_to_be_and_the_next_one_takes_it_along(
    pair: tuple[Repo, Repo], monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha, beta = pair
    monkeypatch.chdir(alpha.path)
    hub = Path(alpha.git("remote", "get-url", "origin"))

    async def story() -> None:
        async with connected(alpha.env) as client:
            away = hub.rename(hub.with_name("away"))
            posted = await ask(client, "post_intention", text="nearly done")
            assert (posted["ok"], posted["sent"], posted["why"] != "") == (True, False, True)
            away.rename(hub)
            assert (await ask(client, "status"))["not_sent"]["posts"] == 1
            await ask(client, "post_intention", text="more")
            assert "not_sent" not in await ask(client, "status")

    run(story)
    beta.coord_json("sync")
    assert sorted(post["text"] for post in beta.coord_json("posts")["posts"]) == ["more", "nearly done"]
