"""The tools: each is one command, its arguments as an object, its answer as `--json` would print it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import Field

from . import models
from .replies import reply
from .words import line

Files = Annotated[
    list[str],
    Field(
        description="Paths: absolute, or relative to the workspace. A folder covers all below it. "
        "Also task:ID, branch:NAME, and #TOKEN for a claim of yours."
    ),
]
Globs = Annotated[list[str], Field(description="Patterns with * ? and **, relative to the workspace.")]
Workspace = Annotated[
    str | None, Field(description="Absolute path of the folder (worktree) you work in. Say it whenever you can.")
]
AgentName = Annotated[str | None, Field(description="Act as this agent; normally the one set up in the worktree.")]
Local = Annotated[bool, Field(description="Answer from the local picture, however old it is.")]
Duration = Annotated[str | None, Field(description="90s, 30m, 2h")]
OneLine = Annotated[str | None, Field(description="One line, at most 500 characters.")]
State = Literal["online", "busy", "draining", "dormant", "offline", "start", "ready", "standby", "pause", "end"]

CLAIMS = ("ok", "claims", "waiting", "as_of", "notices")
"""What `list_claims` takes of a status."""
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
TAKES = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)


async def claim_files(
    ctx: Context,
    files: Files,
    purpose: Annotated[str, Field(description="What for, one line; others read it.")] = "",
    read: Annotated[bool, Field(description="Only keep others from editing; readers share.")] = False,
    globs: Globs = [],
    lease: Annotated[Literal["quick", "standard", "long"] | None, Field(description="30 min, 2 h, 4 h")] = None,
    ttl: Duration = None,
    stamps: Annotated[dict[str, str], Field(description="Kept with the claim, shown to others.")] = {},
    wait: Annotated[str | None, Field(description="Queue behind the holders for this long, at most 1h: 10m")] = None,
    require_fresh: Annotated[bool, Field(description="Refuse when HEAD lacks work that was landed on these.")] = False,
    workspace: Workspace = None,
    agent: AgentName = None,
) -> Annotated[CallToolResult, models.ClaimAnswer]:
    """Claim files BEFORE you edit, create or delete them: all are granted, or none.

    ok false with code "conflict" names who holds what until when: do other work, pass `wait`, or post to the holder;
    never edit a file that another agent holds. Claiming again what you hold is fine.
    """
    given = {"read": read, "glob": globs, "lease": lease, "ttl": ttl, "wait": wait, "require-fresh": require_fresh}
    given["stamp"] = [f"{name}={value}" for name, value in stamps.items()]
    return await reply(ctx, line(["claim"], given, files, purpose), files, workspace, agent)


async def release_files(
    ctx: Context,
    files: Files = [],
    globs: Globs = [],
    all: Annotated[bool, Field(description="Everything you hold.")] = False,
    to: Annotated[str | None, Field(description="Hand over to this agent, with nobody in between.")] = None,
    reason: Annotated[str, Field(description="Why, one line: merged, done, given up.")] = "",
    when_merged: Annotated[
        str | None, Field(description="Keep others off until this branch of the remote has the work.")
    ] = None,
    landed: Annotated[str | None, Field(description="The commit that has the work; HEAD.")] = None,
    workspace: Workspace = None,
    agent: AgentName = None,
) -> Annotated[CallToolResult, models.ChangeAnswer]:
    """Give claims back as soon as your change is committed and pushed, or given up."""
    given = {"glob": globs, "all": all, "to": to, "reason": reason, "when-merged": when_merged, "landed": landed}
    return await reply(ctx, line(["release"], given, files), files, workspace, agent)


async def check_files(
    ctx: Context,
    files: Files,
    globs: Globs = [],
    local: Local = False,
    workspace: Workspace = None,
    agent: AgentName = None,
) -> Annotated[CallToolResult, models.CheckAnswer]:
    """Say for each file: free, mine, held (by whom, until when), stale, or unknown. It claims nothing.

    unknown is never free: the remote could not be asked.
    """
    return await reply(ctx, line(["check"], {"glob": globs, "local": local}, files), files, workspace, agent)


async def list_claims(
    ctx: Context,
    holder: Annotated[str | None, Field(description="Only the claims of this agent.")] = None,
    local: Local = False,
    workspace: Workspace = None,
    agent: AgentName = None,
) -> Annotated[CallToolResult, models.ClaimsAnswer]:
    """List who holds what in this repository, until when and what for."""

    def claims(found: dict[str, Any]) -> dict[str, Any]:
        kept = {name: value for name, value in found.items() if name in CLAIMS or not found["ok"]}
        if holder is not None and "claims" in kept:
            kept["claims"] = [claim for claim in kept["claims"] if claim["agent"] == holder]
        return kept

    return await reply(ctx, line(["status"], {"local": local}), (), workspace, agent, claims)


async def who_am_i(
    ctx: Context, workspace: Workspace = None, agent: AgentName = None
) -> Annotated[CallToolResult, models.WhoAnswer]:
    """Say as which agent, in which session and repository you act in this workspace."""
    return await reply(ctx, line(["whoami"], {}), (), workspace, agent)


async def rejoin_agent(
    ctx: Context, workspace: Workspace = None, agent: AgentName = None
) -> Annotated[CallToolResult, models.RejoinAnswer]:
    """Go on as this agent after a restart or a break; answers with what it still holds, and what was lost.

    Call it when another tool's answer says so as the next step. While that agent lives in another worktree or clone it
    is refused: that one would lose what it holds.
    """
    return await reply(ctx, line(["rejoin"], {}), (), workspace, agent)


async def set_presence(
    ctx: Context,
    state: Annotated[State, Field(description="online, busy, draining (takes nothing new), dormant, offline")],
    note: OneLine = None,
    task: OneLine = None,
    queue: Annotated[int | None, Field(ge=0, description="How much waits for you.")] = None,
    ttl: Duration = None,
    will: Annotated[str | None, Field(description="What others are told should you fall silent.")] = None,
    workspace: Workspace = None,
    agent: AgentName = None,
) -> Annotated[CallToolResult, models.PresenceAnswer]:
    """Tell the other agents how you are and what you work on."""
    given = {"task": task, "queue": queue, "ttl": ttl, "will": will}
    return await reply(ctx, line(["presence", "set"], given, [state], note or ""), (), workspace, agent)


async def post_intention(
    ctx: Context,
    text: Annotated[str, Field(description="One line, at most 500 characters.")],
    to: Annotated[str | None, Field(description="The agent it is for; without it, everybody.")] = None,
    claim: Annotated[int | None, Field(description="The token of the claim it is about.")] = None,
    workspace: Workspace = None,
    agent: AgentName = None,
) -> Annotated[CallToolResult, models.PostAnswer]:
    """Tell other agents what you are about to do, or ask a holder for a file; they read it with their next command."""
    given = {"to": to, "claim": None if claim is None else f"#{claim}"}
    return await reply(ctx, line(["post"], given, [text]), (), workspace, agent)


async def update_post(
    ctx: Context,
    id: Annotated[str, Field(description="The post's id.")],
    status: Annotated[Literal["open", "taken", "done", "dropped"] | None, Field(description="Its new status.")] = None,
    text: Annotated[str, Field(description="Its new text; with take, a word to its author.")] = "",
    action: Annotated[
        Literal["update", "take", "remove"],
        Field(description="take: take on somebody else's post; update or remove: one of yours, or one you took."),
    ] = "update",
    workspace: Workspace = None,
    agent: AgentName = None,
) -> Annotated[CallToolResult, models.PostAnswer]:
    """Change a post of yours, take on one of another agent's, or remove one."""
    return await reply(ctx, line(["post", action], {"status": status}, [id], text), (), workspace, agent)


async def list_posts(
    ctx: Context,
    all: Annotated[bool, Field(description="Also what is done or dropped.")] = False,
    addressee: Annotated[str | None, Field(description="Only what is for this agent; me for you.")] = None,
    unread: Annotated[bool, Field(description="Only what you were not shown yet.")] = False,
    local: Local = False,
    workspace: Workspace = None,
    agent: AgentName = None,
) -> Annotated[CallToolResult, models.PostsAnswer]:
    """List what the agents posted, the oldest first."""
    given = {"all": all, "for": addressee, "unread": unread, "local": local}
    return await reply(ctx, line(["posts"], given), (), workspace, agent)


async def takeover(
    ctx: Context,
    files: Files,
    reason: Annotated[str, Field(description="Why, one line; the old holder reads it.")] = "",
    purpose: OneLine = None,
    globs: Globs = [],
    all_items: Annotated[bool, Field(description="Everything those claims hold, not only what is named.")] = False,
    dry_run: Annotated[bool, Field(description="Only show whether it may be taken over.")] = False,
    workspace: Workspace = None,
    agent: AgentName = None,
) -> Annotated[CallToolResult, models.ClaimAnswer]:
    """Take over claims whose holder is gone: its lease is over, it is silent, and nothing of it is new.

    The refusal says which of these does not hold, and when it may. Ask a person before you use it.
    """
    given = {"purpose": purpose, "glob": globs, "all-items": all_items, "dry-run": dry_run}
    return await reply(ctx, line(["takeover"], given, files, reason), files, workspace, agent)


async def status(
    ctx: Context, local: Local = False, workspace: Workspace = None, agent: AgentName = None
) -> Annotated[CallToolResult, models.StatusAnswer]:
    """Show everything at once: agents, claims, who waits, and posts."""
    return await reply(ctx, line(["status"], {"local": local}), (), workspace, agent)


TOOLS = (
    (claim_files, WRITES),
    (release_files, WRITES),
    (check_files, READS),
    (list_claims, READS),
    (who_am_i, READS),
    (rejoin_agent, WRITES),
    (set_presence, WRITES),
    (post_intention, WRITES),
    (update_post, WRITES),
    (list_posts, READS),
    (takeover, TAKES),
    (status, READS),
)


def add_tools(server: MCPServer[Any]) -> None:
    """Register the tools."""
    for tool, hints in TOOLS:
        server.add_tool(tool, annotations=hints)
