"""The server in memory, in both eras of the protocol: tools, resources, changes, and where a call works."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import ListRootsResult, Root

from git_coord.cli.hosted import answer
from git_coord.errors import CoordError
from git_coord.mcp.places import choose, folders
from tests.helpers import Repo
from tests.mcp.desk import ERAS, ask, connected, run

NAMES = [
    *("claim_files", "release_files", "check_files", "list_claims", "who_am_i", "rejoin_agent", "set_presence"),
    *("post_intention", "update_post", "list_posts", "takeover", "status"),
]


@pytest.fixture
def inside(alone: Repo) -> Repo:
    """Return the repository, in which the server is started."""
    os.chdir(alone.path)
    return alone


@pytest.mark.parametrize("era", ERAS)
def test_the_tools_say_what_they_take_and_give(inside: Repo, era: str) -> None:
    async def story() -> None:
        async with connected(inside.env, era) as client:
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == NAMES
            assert {tool.name for tool in tools if tool.annotations and tool.annotations.read_only_hint} == {
                *("check_files", "list_claims", "who_am_i", "list_posts", "status")
            }
            for tool in tools:
                assert tool.output_schema is not None
                assert {"ok", "code", "message", "next"} <= set(tool.output_schema["properties"]), tool.name
                properties = tool.input_schema["properties"]
                assert {"workspace", "agent"} <= set(properties), tool.name
                assert all("description" in each for each in properties.values()), tool.name
            assert client.server_info.name == "git-coord"
            assert "claim_files" in str(client.instructions)

    run(story)


@pytest.mark.parametrize("era", ERAS)
def test_a_refused_claim_is_an_answer_and_a_wrong_call_an_error(inside: Repo, era: str) -> None:
    inside.coord_json("claim", "src/a.py", "-m", "theirs", "--agent", "beta")

    async def story() -> None:
        async with connected(inside.env, era) as client:
            done = await client.call_tool("claim_files", {"files": ["src", "b"], "purpose": "mine"})
            found: dict[str, Any] = done.structured_content or {}
            assert not done.is_error
            assert (found["ok"], found["code"], found["holder"], found["path"]) == (False, "conflict", "beta", "src")
            assert [each["held"] for each in found["conflicts"]] == ["src/a.py"]
            granted = await ask(client, "claim_files", files=["b"], purpose="mine")
            assert (granted["ok"], granted["agent"], granted["token"]) == (True, "alpha", 2)
            wrong = await client.call_tool("claim_files", {"files": ["../x"]})
            assert wrong.is_error
            assert (wrong.structured_content or {})["code"] == "usage"
            assert (await client.call_tool("claim_files", {"files": "b"})).is_error
            assert (await client.call_tool("claim_files", {"files": ["a\0b"]})).structured_content == {
                "ok": False,
                "code": "usage",
                "message": "there is a NUL character in what was given",
                "next": None,
            }

    run(story)


def test_claims_are_listed_all_or_of_one_holder(inside: Repo) -> None:
    inside.coord_json("claim", "a", "--agent", "beta")
    inside.coord_json("claim", "b")

    async def story() -> None:
        async with connected(inside.env) as client:
            everything = await ask(client, "list_claims")
            assert sorted(everything) == ["as_of", "claims", "ok", "waiting"]
            assert [claim["agent"] for claim in everything["claims"]] == ["beta", "alpha"]
            assert [claim["agent"] for claim in (await ask(client, "list_claims", holder="beta"))["claims"]] == ["beta"]

    run(story)


@pytest.mark.parametrize("era", ERAS)
def test_resources_show_claims_board_roster_and_audit(inside: Repo, other: Repo, era: str) -> None:
    inside.coord_json("claim", "a", "-m", "why")
    inside.coord_json("post", "hello")

    async def story() -> None:
        async with connected(inside.env, era) as client:

            async def read(uri: str) -> dict[str, Any]:
                found: dict[str, Any] = json.loads((await client.read_resource(uri)).contents[0].text)  # type: ignore[union-attr]
                return found

            listed = (await client.list_resources()).resources
            assert [each.uri for each in listed] == [
                f"coord://{name}" for name in ("claims", "board", "roster", "audit")
            ]
            assert [claim["purpose"] for claim in (await read("coord://claims"))["claims"]] == ["why"]
            assert [post["text"] for post in (await read("coord://board"))["posts"]] == ["hello"]
            assert [each["agent"] for each in (await read("coord://roster"))["agents"]] == ["alpha", "beta"]
            assert (await read("coord://audit"))["events"][0]["text"] == "#1 alpha claims a (edit)"
            assert [each["agent"] for each in (await read(f"coord://roster{other.path}"))["agents"]] == ["gamma"]
            with pytest.raises(MCPError, match="is not the absolute path of a folder"):
                await client.read_resource("coord://claims/no/such/place")

    run(story)


def test_changes_are_told_in_the_older_era_one_by_one(inside: Repo, other: Repo) -> None:
    told: list[str] = []

    async def hear(message: Any) -> None:
        if hasattr(message, "params") and hasattr(message.params, "uri"):
            told.append(str(message.params.uri))

    async def story() -> None:
        async with connected(inside.env, "legacy", client_message_handler=hear) as client:
            await ask(client, "status")
            await ask(client, "claim_files", files=["a"])
            await _until(lambda: "coord://audit" in told)
            told.clear()
            await anyio.to_thread.run_sync(lambda: inside.coord_json("post", "hello", "--agent", "beta"))
            await _until(lambda: "coord://board" in told)
            assert set(told) <= {f"coord://{what}{end}" for what in ("board", "roster") for end in ("", inside.path)}

    run(story)


def test_changes_are_told_in_the_newer_era_to_who_listens(inside: Repo) -> None:
    async def story() -> None:
        async with connected(inside.env) as client:
            await ask(client, "status")
            uri = f"coord://claims{inside.path}"
            async with client.listen(resource_subscriptions=[uri]) as events:
                await anyio.to_thread.run_sync(lambda: inside.coord_json("claim", "a", "--agent", "beta"))
                async for event in events:
                    assert getattr(event, "uri", None) == uri
                    break

    run(story)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["claim", "a"], {"claims", "audit"}),
        (["presence", "set", "busy"], {"roster"}),
        (["post", "hello"], {"board"}),
        (["block", "task:7", "-m", "later"], {"claims", "audit"}),
    ],
)
def test_each_kind_of_change_is_told_of_the_resources_that_show_it(
    inside: Repo, words: list[str], told: set[str]
) -> None:
    heard: set[str] = set()

    async def story() -> None:
        async with connected(inside.env) as client:
            await ask(client, "status")
            uris = {f"coord://{what}{inside.path}": what for what in ("claims", "board", "roster", "audit")}
            async with client.listen(resource_subscriptions=list(uris)) as events:
                await anyio.to_thread.run_sync(lambda: inside.coord_json(*words, "--agent", "beta"))
                async for event in events:
                    heard.add(uris[getattr(event, "uri", "")])
                    if told <= heard:
                        break

    run(story)
    # Whoever acts shows itself: the roster may have changed with anything.
    assert heard - {"roster"} <= told


async def _until(holds: Any) -> None:
    while not holds():
        await anyio.sleep(0.02)


def test_what_another_agent_wrote_reaches_a_model_escaped(inside: Repo) -> None:
    name = "e\x1b]0;x\x07\u202e\u0085"
    inside.write(name, "x")

    async def story() -> None:
        async with connected(inside.env) as client:
            await ask(client, "claim_files", files=[name], agent="beta")
            done = await client.call_tool("claim_files", {"files": [name]})
            text = done.content[0].text  # type: ignore[union-attr]
            assert text.isascii()
            assert text.isprintable()
            assert (done.structured_content or {})["path"] == "e\\x1b]0;x\\x07\\u202e\\u0085"
            shown = (await client.read_resource("coord://claims")).contents[0].text  # type: ignore[union-attr]
            assert shown.isascii()
            assert shown.isprintable()

    run(story)


# where a call works


def test_each_call_works_where_it_says(inside: Repo, other: Repo) -> None:
    linked = inside.worktree("linked")
    linked.coord_json("init", "--agent", "delta")

    async def story() -> None:
        async with connected(inside.env) as client:
            assert (await ask(client, "who_am_i"))["agent"] == "alpha"
            assert (await ask(client, "who_am_i", workspace=str(other.path)))["agent"] == "gamma"
            assert (await ask(client, "who_am_i", workspace=str(linked.path)))["agent"] == "delta"
            assert (await ask(client, "claim_files", files=[str(other.path / "x")]))["agent"] == "gamma"
            assert (await ask(client, "claim_files", files=[str(linked.path / "y")]))["agent"] == "delta"
            both = await ask(client, "claim_files", files=[str(other.path / "x"), str(linked.path / "y")])
            assert both["code"] == "usage"
            assert both["workspaces"] == sorted(map(str, (other.path, linked.path)))

    run(story)


def test_what_is_set_up_meanwhile_counts_at_once(inside: Repo) -> None:
    async def story() -> None:
        async with connected(inside.env) as client:
            assert (await ask(client, "who_am_i"))["agent"] == "alpha"
            await anyio.to_thread.run_sync(lambda: inside.git("config", "coord.agent", "beta"))
            assert (await ask(client, "who_am_i"))["agent"] == "beta"
            nested = Repo(inside.path / "sub", inside.env)
            nested.path.mkdir()
            assert (await ask(client, "who_am_i", workspace=str(nested.path)))["agent"] == "beta"
            await anyio.to_thread.run_sync(lambda: nested.git("init", "-q"))
            assert (await ask(client, "who_am_i", workspace=str(nested.path)))[
                "message"
            ] == "no agent is set up in this worktree"

    run(story)


def test_the_roots_of_an_older_client_say_where(inside: Repo, other: Repo) -> None:
    roots = [Root(uri=other.path.as_uri())]

    async def list_roots(_context: Any) -> ListRootsResult:
        return ListRootsResult(roots=roots)

    async def story() -> None:
        async with connected(inside.env, "legacy", client_list_roots_callback=list_roots) as client:
            assert (await ask(client, "who_am_i"))["agent"] == "gamma"
            roots.append(Root(uri=inside.path.as_uri()))
            found = await ask(client, "who_am_i")
            assert (found["ok"], found["code"]) == (False, "usage")
            assert found["workspaces"] == sorted(map(str, (inside.path, other.path)))
            assert (await ask(client, "who_am_i", workspace=str(inside.path)))["agent"] == "alpha"

    run(story)


def test_a_relative_name_outside_of_any_repository_is_asked_about(alone: Repo) -> None:
    async def story() -> None:
        async with connected(alone.env) as client:
            found = await ask(client, "check_files", files=["a"])
            assert found["message"] == (
                'which repository? pass "workspace": the absolute path of the folder you work in'
            )

    run(story)


def test_a_place_is_chosen_by_what_is_said_first(alone: Repo, other: Repo, tmp_path: Path) -> None:
    one, two, sub = str(alone.path), str(other.path), str(alone.path / "sub")
    os.mkdir(sub)
    assert choose(two, [f"{one}/a"], [one], "/") == two
    assert choose(None, [f"{one}/a", f"{one}/sub/b"], [two], "/") == one
    assert choose(None, [f"{one}/a", "b"], [sub], "/") == sub
    assert choose(None, ["a"], [one, sub], "/") == one
    assert choose(None, [], [], two) == two
    assert choose(None, [one], [], "/") == one
    with pytest.raises(CoordError, match="some files are absolute and some are relative"):
        choose(None, [f"{one}/a", "b"], [two], "/")
    with pytest.raises(CoordError, match="is in no repository"):
        choose(None, [str(tmp_path / "nowhere")], [], one)
    assert folders(["file:///a%20b", "https://x/y", "file:relative"]) == ["/a b"]


def test_trouble_with_the_machine_is_an_answer_too() -> None:
    class Nobody:
        def open(self, agent: str | None, notice: object) -> Any:
            raise OSError(2, "No such file or directory", "/x")

        def after(self, app: Any) -> None: ...

        def said(self, text: str) -> None: ...

        def is_over(self) -> bool:
            return False

    assert answer(["whoami", "--json"], Nobody()) == {
        "ok": False,
        "code": "error",
        "message": "No such file or directory: /x",
        "next": None,
    }
