"""Two agents through the official client library: conflict, wait, hand-over, kill, rejoin; and waits given up."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from tests.helpers import Repo
from tests.mcp.desk import ERAS, ask, connected, pid_file, run, spawned


def _waiting(repo: Repo) -> list[Any]:
    return list(repo.coord_json("status", "--local")["waiting"])


async def _until_waiting(repo: Repo, count: int = 1) -> None:
    while len(await anyio.to_thread.run_sync(_waiting, repo)) != count:
        await anyio.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
def test_two_agents_work_through_a_conflict_a_wait_a_hand_over_and_a_kill(pair: tuple[Repo, Repo], era: str) -> None:
    alpha, beta = pair
    heard: list[str] = []

    async def hear(_progress: float, _total: float | None, text: str | None) -> None:
        heard.append(text or "")

    async def first_part() -> None:
        async with spawned(alpha, era=era) as one, spawned(beta, era=era) as two:
            granted = await ask(one, "claim_files", files=["src"], purpose="fix string escapes")
            assert (granted["ok"], granted["token"]) == (True, 1)
            refused = await ask(two, "claim_files", files=["src/scan.py"], purpose="unicode digits")
            assert (refused["code"], refused["holder"], refused["purpose"]) == (
                "conflict",
                "alpha",
                "fix string escapes",
            )
            async with anyio.create_task_group() as group:
                got: list[dict[str, Any]] = []

                async def wait() -> None:
                    arguments = {"files": ["src/scan.py"], "purpose": "unicode digits", "wait": "2m"}
                    done = await two.call_tool("claim_files", arguments, progress_callback=hear)
                    got.append(done.structured_content or {})

                group.start_soon(wait)
                await _until_waiting(beta)
                assert (await ask(two, "who_am_i"))["agent"] == "beta"  # a wait holds up nothing else
                assert (await ask(one, "post_intention", text="nearly done", to="beta"))["ok"] is True
                assert (await ask(one, "release_files", files=["src"], reason="merged"))["ok"] is True
            assert (got[0]["ok"], got[0]["token"], got[0]["agent"]) == (True, 2, "beta")
            assert heard[0].startswith("waiting behind alpha #1 (src), number 1 in the queue")
            handed = await ask(two, "release_files", files=["src/scan.py"], to="alpha", reason="yours again")
            assert handed["ok"] is True
            await anyio.to_thread.run_sync(lambda: alpha.coord_json("sync"))
            mine = await ask(one, "check_files", files=["src/scan.py"])
            assert mine["resources"][0]["status"] == "mine"
            os.kill(int(Path(pid_file(alpha)).read_text()), signal.SIGKILL)

    async def second_part() -> None:
        async with spawned(alpha.with_env(GIT_COORD_SESSION="after-the-kill"), era=era) as one:
            refused = await ask(one, "claim_files", files=["b"])
            assert (refused["ok"], refused["code"], refused["next"]) == (False, "lost", "git coord rejoin")
            back = await ask(one, "rejoin_agent")
            assert [[item["path"] for item in claim["items"]] for claim in back["claims"]] == [["src/scan.py"]]
            assert (await ask(one, "claim_files", files=["b"]))["ok"] is True

    run(first_part, 120)
    run(second_part, 120)


@pytest.mark.parametrize("era", ERAS)
def test_a_wait_that_is_cancelled_leaves_nothing_in_the_queue(alone: Repo, era: str) -> None:
    alone.coord_json("claim", "a", "--agent", "beta")

    async def story() -> None:
        async with connected(alone.env, era) as client:
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as group:
                    where = {"files": ["a"], "wait": "10m", "workspace": str(alone.path)}
                    group.start_soon(client.call_tool, "claim_files", where)
                    await _until_waiting(alone)
                    scope.cancel()
            await _until_waiting(alone, 0)
            found = await ask(client, "list_claims", workspace=str(alone.path))
            assert [claim["agent"] for claim in found["claims"]] == ["beta"]

    run(story)


def test_a_wait_in_vain_is_an_answer(alone: Repo) -> None:
    alone.coord_json("claim", "a", "--agent", "beta")

    async def story() -> None:
        async with connected(alone.env) as client:
            done = await client.call_tool("claim_files", {"files": ["a"], "wait": "1s", "workspace": str(alone.path)})
            found = done.structured_content or {}
            assert not done.is_error
            assert (found["ok"], found["code"], found["holder"]) == (False, "timeout", "beta")

    run(story)
    assert _waiting(alone) == []


def test_a_client_that_leaves_while_it_waits_leaves_nothing_in_the_queue(alone: Repo) -> None:
    alone.coord_json("claim", "a", "--agent", "beta")

    async def story() -> None:
        async with spawned(alone) as client, anyio.create_task_group() as group:

            async def wait() -> None:
                with contextlib.suppress(MCPError):  # the connection is closed
                    await client.call_tool("claim_files", {"files": ["a"], "wait": "10m"})

            group.start_soon(wait)
            await _until_waiting(alone)
            os.kill(int(Path(pid_file(alone)).read_text()), signal.SIGTERM)
            await _until_waiting(alone, 0)
            group.cancel_scope.cancel()

    run(story)
