"""`git coord preflight`: one look before work: go, wait, or ask."""

from __future__ import annotations

import os
from typing import Any

import click

from git_coord.app import App
from git_coord.domain.items import Item, file_item
from git_coord.errors import CoordError, Kind
from git_coord.service.exchange.restored import wait_of
from git_coord.service.members.read_only import limits
from git_coord.service.preflight import ASK, GO, UNKNOWN, WAIT, Preflight, look_around
from git_coord.service.remote_ledger import ROSTER_FAMILIES
from git_coord.service.sessions import nobody
from git_coord.service.sync import freshen
from git_coord.service.tasks import way_out

from . import options, render, resources
from .check_command import answer_lines, answer_object
from .status_command import agent_line, agent_object

SHOWN = 6
"""Changed files named for people, at most."""
EXIT = {GO: 0, "wait": Kind.CONFLICT.exit_status, ASK: Kind.STALE.exit_status, UNKNOWN: Kind.UNKNOWN.exit_status}


@click.command("preflight", context_settings=options.HELP)
@click.argument("resource", nargs=-1, metavar="[PATH]")
@resources.glob
@options.local
@options.common
def command(resource: tuple[str, ...], globs: tuple[str, ...], is_local: bool, as_json: bool, agent: str | None) -> int:
    """Look around before work on PATHs: branch and changed files, who is here, what is in the way; then decide.

    Exit 0 go; 3 wait: a path, or a file changed here, is held (8 if it is a task that is blocked); 7 ask a person: a
    holder's lease is over, another live agent works in this checkout, or this session is not the agent's current one,
    or nobody is set up here; 5 unknown: the remote cannot be asked, or lost the ledger and who was ahead may hold it.
    """
    app, output = options.means(as_json, agent)
    asked = resources.asked(app, resource, globs)
    items = asked.items
    # What was true a minute ago is good enough to look at, not to begin work on: the remote is asked every time.
    app.coord.settings = app.coord.settings._replace(freshness=0)
    try:
        age = freshen(app.coord, is_local=is_local, families=ROSTER_FAMILIES)
    except CoordError as trouble:
        if trouble.kind is not Kind.UNKNOWN:
            raise
        step = " ".join(["git coord preflight", *_typed(app, items), "--local"])
        raise CoordError(trouble.kind, trouble.message, next=step, data={"decision": "unknown"}) from None
    app.refresh_snapshot()
    branch, dirty = app.branch(), app.worktree.uncommitted(["."])
    found = look_around(app.coord, items, [file_item(name) for name in dirty])
    asked = asked.unless({answer.asked for answer in found.asked if answer.held is not None})
    steps = _steps(app, found)
    if output.is_json:
        output.object(
            {
                **_object(found),
                "branch": branch,
                "dirty": [render.json_name(name) for name in dirty],
                "next": steps[0] if steps else None,
                "worktree": _worktree(app) if found.shared_with else None,
                "new": asked.new_objects,
                "as_of": render.as_of_stamp(age),
            },
            ok=found.decision == GO,
        )
    else:
        output.lines([*_lines(found, asked, branch, dirty, steps), render.as_of(age, app.remote_name)])
    return _exit(found)


def _exit(found: Preflight) -> int:
    blocked = any(reason.kind == "blocked" for reason in found.reasons)
    return Kind.BLOCKED.exit_status if blocked else EXIT[found.decision]


def _object(found: Preflight) -> dict[str, Any]:
    kinds = {kind.exit_status: kind.code for kind in Kind}
    rows = [answer_object(answer, answer.status) | {"changed": False} for answer in found.asked]
    rows += [answer_object(answer, answer.status) | {"changed": True} for answer in found.changed]
    return {
        "code": kinds.get(_exit(found), "ok"),
        "decision": found.decision,
        "reasons": [reason._asdict() for reason in found.reasons],
        "agents": [agent_object(seen, found.now.now) for seen in found.here],
        "shared_with": [seen.agent for seen in found.shared_with],
        "resources": rows,
    }


def _lines(
    found: Preflight, asked: resources.Asked, branch: str | None, dirty: list[str], steps: list[str]
) -> list[str]:
    more = f"  +{len(dirty) - SHOWN}" if len(dirty) > SHOWN else ""
    changed = f"{len(dirty)} changed: {'  '.join(dirty[:SHOWN])}{more}" if dirty else "nothing changed"
    rows = [("branch", f"{branch or 'detached'}, {changed}")]
    rows += [("here", agent_line(seen, found.now.now)) for seen in found.here] or [("here", "nobody else")]
    if answers := [*found.asked, *found.changed]:
        rows += [("paths", line) for line in answer_lines(answers, found.now, asked)]
    rows += [(found.decision, reason.text) for reason in found.reasons] or [(GO, "")]
    rows += [("next", step) for step in steps]
    titles = [title if i == 0 or title != rows[i - 1][0] else "" for i, (title, _) in enumerate(rows)]
    return [f"{title:9} {text}".rstrip() for title, (_, text) in zip(titles, rows, strict=True)]


def _steps(app: App, found: Preflight) -> list[str]:
    """Return the commands to go on with, the most useful first; a read-only clone can only look again."""
    if limits(app.coord.files):
        return [] if found.decision == GO else [" ".join(["git coord check", *_typed(app, _asked(found))])]
    here = nobody(app.coord)
    steps = [here.step] if here is not None else []
    if here is None and any(reason.kind == "setup" for reason in found.reasons):
        steps.append("git coord init")
    named: set[str] = set()
    for reason in found.reasons:
        if reason.kind in ("held", "stale") and reason.agent is not None and reason.agent not in named:
            named.add(reason.agent)
            need = ", ".join(other.text.split(" is held")[0] for other in found.reasons if other.agent == reason.agent)
            steps.append(f"git coord post --to {reason.agent} {render.quoted([f'need {need}'[:400]])}")
    wanted = tuple(answer.asked for answer in found.asked if answer.status in ("held", "stale", "free", "unknown"))
    if found.decision == UNKNOWN:
        wait = wait_of(found.now.state, found.now.now)
        steps.append(" ".join(["git coord claim", *_typed(app, wanted), f"--wait {wait}"]))
    if found.decision == WAIT and any(answer.status == "held" for answer in found.asked):
        steps.append(" ".join(["git coord claim", *_typed(app, wanted), "--wait 10m"]))
    me = app.coord.actor
    steps += [way_out(one.blocks[0], one.asked.name, me) for one in found.asked if one.blocks]
    if found.shared_with:
        steps.append(_worktree(app))
    free = tuple(answer.asked for answer in found.asked if answer.status == "free")
    if found.decision == GO and free:
        steps.append(" ".join(["git coord claim", *_typed(app, free)]))
    return steps


def _asked(found: Preflight) -> tuple[Item, ...]:
    return tuple(answer.asked for answer in [*found.asked, *found.changed])


def _typed(app: App, items: tuple[Item, ...]) -> list[str]:
    return [render.typed(item, app.location.prefix) for item in items]


def _worktree(app: App) -> str:
    """Return the line that gives the agent a checkout of its own, beside this one, on a branch of its own."""
    top, name = app.location.top or app.location.common_dir, str(app.coord.me.agent)
    for suffix in ("", *(f"-{n}" for n in range(2, 100))):
        folder, branch = f"{top}-{name}{suffix}", f"{name}{suffix}"
        if not os.path.exists(folder) and not app.git.run(["branch", "--list", branch], check=False).out:
            break
    return f"git worktree add -b {branch} {render.quoted([folder])}"
