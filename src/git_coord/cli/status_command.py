"""`git coord status`: agents, claims, posts."""

from __future__ import annotations

from typing import Any

import click

from git_coord.app.persons import reminder
from git_coord.domain.durations import show_age
from git_coord.domain.restoring import hold_end
from git_coord.domain.state import Block
from git_coord.domain.timestamps import format_stamp
from git_coord.service import query
from git_coord.service.claiming import hold_error
from git_coord.service.exchange.send import unsent
from git_coord.service.leases import warnings
from git_coord.service.members.read_only import limits
from git_coord.service.posts import Posted
from git_coord.service.presence import Seen
from git_coord.service.remote_ledger import ROSTER_FAMILIES
from git_coord.service.sync import freshen
from git_coord.service.tasks import block_object
from git_coord.service.unread import mark_read

from . import options, render


@click.command("status", context_settings=options.HELP)
@options.local
@options.common
def command(is_local: bool, as_json: bool, agent: str | None) -> int:
    """Show who is here, what is claimed, and what was posted."""
    app, output = options.means(as_json, agent)
    age = freshen(app.coord, is_local=is_local, families=ROSTER_FAMILIES)
    app.refresh_snapshot()
    shown = query.status(app.coord)
    mark_read(app.coord, shown.posts)
    now = app.coord.clock.now()
    why, left = limits(app.coord.files), unsent(app.coord)
    reminded = reminder(app)
    nobody = options.nobody_here(app)
    if output.is_json:
        output.object(
            {
                "agents": [agent_object(seen, now) for seen in shown.agents],
                "claims": [render.claim_object(held) for held in shown.claims],
                "waiting": [_waiting_object(waiting, shown.picture) for waiting in shown.waiting],
                "blocked": [block_object(found) for found in shown.blocks],
                "posts": [post_object(posted) for posted in shown.posts],
                **({"not_sent": left._asdict()} if left.words() else {}),
                "synced_at": render.as_of_stamp(age),
                "as_of": render.as_of_stamp(age),
                **({"read_only": why} if why else {}),
                "warnings": [
                    *shown.warnings,
                    *warnings(app.coord, app.coord.known.state),
                    *_once(reminded),
                    *([nobody] if nobody else []),
                ],
                **_restored_object(shown.picture),
            }
        )
        return 0
    options.tell_nobody(app, output)
    if why:
        later = "" if app.coord.identity else "; once you may write there: git coord init"
        output.lines([f"read-only {why}{later}"])
    output.lines(_section("agents", [agent_line(seen, now) for seen in shown.agents]))
    output.lines(_section("claims", _claim_lines(shown.claims, now)))
    if shown.waiting:
        output.lines(_section("waiting", render.table([_waiting_row(waiting, now) for waiting in shown.waiting])))
    if shown.blocks:
        output.lines(_section("blocked", [_block_line(found, now) for found in shown.blocks]))
    output.lines(_section("posts", [post_line(posted, now) for posted in shown.posts]))
    held_back = hold_error(shown.picture.state, now)
    output.lines([f"on hold   {held_back.message}"] if held_back is not None else [])
    if left.words():
        output.lines([f"not sent  {left.words()}      git coord sync"])
    output.lines([*(f"warning   {text}" for text in shown.warnings), render.as_of(age, app.remote_name)])
    if reminded is not None:
        output.lines([f"remember  {reminded[0]}", f"next      {reminded[1]}"])
    return 0


def _restored_object(now: query.Picture) -> dict[str, Any]:
    """Return who put a lost ledger back last, and until when nothing is granted after that; nothing if nobody did."""
    restored, end = now.state.restored, hold_end(now.state)
    if restored is None or end is None or not restored.position:
        return {}
    found = {"by": restored.agent, "at": format_stamp(restored.at), "hold_until": format_stamp(end)}
    return {"restored": found | {"on_hold": now.now < end}}


def _once(reminded: tuple[str, str] | None) -> list[str]:
    return [f"{reminded[0]}: {reminded[1]}"] if reminded is not None else []


def _section(title: str, rows: list[str]) -> list[str]:
    return [f"{title if i == 0 else '':9} {row}" for i, row in enumerate(rows)] or [f"{title:9} none"]


def agent_line(seen: Seen, now: int) -> str:
    """Return one line of the roster."""
    if seen.at is None:
        return f"{seen.agent:12} not seen"
    age = show_age(max(0, now - seen.at)) if not seen.is_future else "in the future"
    branch = seen.record.branch if seen.record is not None else None
    parts = [f"{seen.agent:12} {seen.state:8} {age:>6}", branch or "", (seen.said.note if seen.said else None) or ""]
    if seen.state == "unknown" and seen.said is not None and seen.said.will:
        parts.append(f'will: "{seen.said.will}"')
    return "  ".join(part for part in parts if part)


def agent_object(seen: Seen, now: int) -> dict[str, Any]:
    """Return one agent as `--json` shows it; `timeout` (seconds) says how long the advice is good."""
    entry: dict[str, Any] = {"agent": seen.agent, "state": seen.state or "unknown", "future": seen.is_future}
    entry["advice"], entry["timeout"] = seen.advice(now)
    record, said = seen.record, seen.said
    if seen.at is not None:
        entry["at"] = format_stamp(seen.at)
    if record is not None:
        since = seen.at if said is None and seen.at is not None else record.since
        entry |= {"since": format_stamp(since), "ttl": record.ttl, "branch": record.branch}
        entry |= {"host": record.host, "place": record.place, "queue": said.queue if said else 0}
        entry |= {name: getattr(said, name) if said else None for name in ("task", "note", "will")}
    return entry


def _claim_lines(claims: list[query.Held], now: int) -> list[str]:
    if not claims:
        return []
    rows = render.table([_claim_row(held, now) for held in claims])
    return [line for held, row in zip(claims, rows, strict=True) for line in (row, *_remedy(held))]


def _claim_row(held: query.Held, now: int) -> list[str]:
    claim = held.claim
    items = [item for _, item in claim.live()]
    intents = "/".join(sorted({item.intent.value for item in items}))
    names = "  ".join(render.shown(item) for item in items[:6]) + (f"  +{len(items) - 6}" if len(items) > 6 else "")
    purpose = f'   "{claim.purpose}"' if claim.purpose else ""
    token = render.token(claim, is_confirmed=held.is_confirmed)
    return [token, claim.holder, intents, render.lease(held, now), f" {names}{purpose}"]


def _waiting_row(waiting: query.Waiting, now: int) -> list[str]:
    op = waiting.waiter.op
    intents = "/".join(sorted({item.intent.value for item in op.items}))
    names = "  ".join(render.shown(item) for item in op.items[:6])
    more = f"  +{len(op.items) - 6}" if len(op.items) > 6 else ""
    ahead = list(dict.fromkeys(render.whose(conflict.claim) for conflict in waiting.behind))
    behind = f"behind {', '.join(ahead[:5])}" if ahead else "next"
    until = render.clock_time(op.wait_until or op.at, now)
    purpose = f'   "{op.purpose}"' if op.purpose else ""
    return [op.agent, intents, f"{names}{more}", behind, f"until {until}{purpose}"]


def _waiting_object(waiting: query.Waiting, now: query.Picture) -> dict[str, Any]:
    op = waiting.waiter.op
    return {
        "agent": op.agent,
        "items": [render.item_object(item) for item in op.items],
        "purpose": op.purpose,
        "since": format_stamp(op.at),
        "until": format_stamp(op.wait_until or op.at),
        "confirmed": waiting.is_confirmed,
        "behind": [render.conflict_object(conflict, now) for conflict in waiting.behind],
    }


def _remedy(held: query.Held) -> list[str]:
    if held.is_unattended:
        return ["       came while its holder was not acting: needs a sign of life by then"]
    if not held.is_stale or held.claim.settling is not None:
        return []
    return [f"       still blocks; a maintainer: git coord break {held.claim.token} -m abandoned"]


def _block_line(found: Block, now: int) -> str:
    names = "  ".join(f"task:{name}" for name in found.tasks[:6])
    more = f"  +{len(found.tasks) - 6}" if len(found.tasks) > 6 else ""
    return f'{names}{more}   by {found.agent} since {render.clock_time(found.at, now)}   "{found.reason}"'


def post_line(posted: Posted, now: int) -> str:
    """Return one post for people."""
    to = f" to {posted.post.to}" if posted.post.to else ""
    about = f" about #{posted.token}" if posted.token is not None else ""
    age = show_age(now - posted.post.at)
    says = ", who says done" if posted.taking is not None and posted.taking.status == "done" else ""
    by = f" by {posted.taker}{says}" if posted.taker and posted.status == "taken" else ""
    return f"{posted.post.id}  {posted.agent}{to}{about}  {posted.status}{by}  {age}   {posted.post.text}"


def post_object(posted: Posted) -> dict[str, Any]:
    """Return one post as `--json` shows it."""
    post = posted.post
    return {
        "id": post.id,
        "agent": posted.agent,
        "status": posted.status,
        "text": post.text,
        "to": post.to,
        "claim": posted.token,
        "taken_by": posted.taker,
        "taker_says": posted.taking.status if posted.taking else None,
        "at": format_stamp(post.at),
    }
