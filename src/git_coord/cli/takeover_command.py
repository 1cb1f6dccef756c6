"""`git coord takeover`: claims of holders who are gone, after gates that are all shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from git_coord.app import App
from git_coord.domain.items import Intent, Item
from git_coord.domain.lease import CLASSES, lease_end
from git_coord.domain.timestamps import format_stamp
from git_coord.errors import CoordError, Kind
from git_coord.service import takeover
from git_coord.service.claiming import Wanted
from git_coord.service.gates import Gate, Looked

from . import options, render, resources
from .claim_command import lease_of
from .output import Output


@click.command("takeover", context_settings=options.HELP)
@click.argument("resource", nargs=-1)
@resources.glob
@click.option("--all-items", is_flag=True, help="Everything that the claims in the way hold, not only what is named.")
@click.option("-m", "--reason", "reason", callback=options.clean_line, help="Why, one line; the old holder reads it.")
@click.option("--purpose", callback=options.clean_line, help="What for, one line; else that of the old claim.")
@click.option(
    "--lease", type=click.Choice(list(CLASSES)), help="quick 30 min, standard 2 h, long 4 h (with --purpose)."
)
@click.option("--ttl", callback=options.duration, metavar="DUR", help="Another length: 90s, 30m, 2h.")
@click.option("--dry-run", "is_dry", is_flag=True, help="Show the gates, and take nothing over.")
@options.common
def command(
    resource: tuple[str, ...],
    globs: tuple[str, ...],
    all_items: bool,
    reason: str | None,
    purpose: str | None,
    lease: str | None,
    ttl: int | None,
    is_dry: bool,
    as_json: bool,
    agent: str | None,
) -> int:
    """Take over what a holder who is gone still holds: paths, or #tokens with all that such a claim holds.

    Each gate is checked after a fetch, and shown: the lease is over, the holder's presence is not fresh, no commit of
    its own is new, and nothing changed while this clone watched for a full lease. A claim that stands in the way of a
    path ends whole; what of it is not asked for is free. What nobody holds is claimed with the rest.
    """
    app, output = options.means(as_json, agent)
    tokens, names = resources.tokens_and_names(resource)
    if not (resource or globs):
        raise CoordError(Kind.USAGE, "name at least one path or #token")
    began = takeover.look_again(app.coord)
    asked = resources.items(app, names, globs, Intent.EDIT).items if names or globs else ()
    typed = render.quoted([*resource, *(f"--glob={glob}" for glob in globs)])
    meant = takeover.meant(app.coord, tokens, asked, everything=all_items, typed=typed)
    looks = takeover.examine(app.coord, meant.claims, began)
    app.refresh_snapshot()
    shown = _Shown(app, output, looks, typed)
    if (closed := takeover.verdict(looks)) is not None:
        return shown.refused(*closed)
    takeover.check_checkout(app.coord, meant.claims, meant.items, app.worktree.uncommitted)
    if is_dry:
        return shown.open(meant.items)
    purpose = purpose if purpose is not None else meant.claims[0].purpose if len(meant.claims) == 1 else ""
    wanted = Wanted(
        items=_pinned(app, meant.items),
        purpose=purpose,
        lease=lease_of(lease, purpose),
        ttl=ttl or CLASSES[lease or "standard"],
        stamps=None,
        base=app.worktree.base(),
    )
    done = takeover.take_over(app.coord, wanted, looks, reason if reason is not None else takeover.silent_since(looks))
    app.refresh_snapshot()
    return shown.granted(done)


def _pinned(app: App, items: Sequence[Item]) -> tuple[Item, ...]:
    """Return the items as they are here: what the old holder pinned is of no use."""
    pins = app.worktree.pins([item.name for item in items if item.kind.is_file])
    return tuple(
        item._replace(blob=(blob := pins.get(item.name)), file=item.is_one_file and blob is None) for item in items
    )


class _Shown:
    """The gates of some claims, for people or as JSON; `typed` are the arguments as they were given."""

    def __init__(self, app: App, output: Output, looks: Sequence[Looked], typed: str) -> None:
        self._output, self._looks, self._typed = output, looks, typed
        self._now = app.coord.clock.now()

    def refused(self, kind: Kind, code: str, message: str) -> int:
        """Say which gates are closed, when they may open, and what to do meanwhile."""
        times = [each.passes_at for each in self._looks if each.failed]
        opens = max((at for at in times if at is not None), default=None) if None not in times else None
        first = next(each for each in self._looks if each.failed)
        steps = self._steps(first, opens, is_held=code == "conflict")
        if self._output.is_json:
            fields = {"code": code, "message": message, "next": steps[0][0], "holder": first.claim.holder}
            more = {"token": first.claim.token, "may_pass_at": _stamp(opens), "claims": self._objects()}
            self._output.object({**fields, **more}, ok=False)
            return kind.exit_status
        self._output.lines([f"refused, nothing taken over: {message}", *self._rows()])
        lines = [f"{step}{f'      ({remark})' if remark else ''}" for step, remark in steps]
        self._output.lines([f"{'next' if n == 0 else '':4}   {line}" for n, line in enumerate(lines)])
        return kind.exit_status

    def _steps(self, first: Looked, opens: int | None, *, is_held: bool) -> list[tuple[str, str]]:
        """Return commands, each with a remark."""
        claim = first.claim
        again = (f"git coord takeover {self._typed}", f"not before {self._clock(opens)}" if opens is not None else "")
        name = next((render.shown(item) for _, item in claim.live()), "")
        post = (f"git coord post --to {claim.holder} {render.quoted([f'need {name[:400]}'])}", "")
        free = (f"git coord break '#{claim.token}' -m TEXT", "with a policy key")
        if is_held:
            return [post, again]
        return [again, post] if opens is not None else [post, free]

    def open(self, items: Sequence[Item]) -> int:
        """Say that all gates are open."""
        if self._output.is_json:
            objects = [render.item_object(item) for item in items]
            self._output.object({"dry_run": True, "items": objects, "claims": self._objects()})
            return 0
        self._output.lines(["may be taken over", *self._rows(), f"next   git coord takeover {self._typed}"])
        return 0

    def granted(self, done: takeover.TakenOver) -> int:
        """Show the new claim, and what ended for it."""
        claim, until = done.claim, lease_end(done.claim, None)
        items = [item for _, item in claim.live()]
        if self._output.is_json:
            self._output.object(
                {
                    "token": claim.token,
                    "agent": claim.holder,
                    "confirmed": True,
                    "items": [render.item_object(item) for item in items],
                    "lease_until": format_stamp(until),
                    "freed": [render.item_object(item) for item in done.freed],
                    "claims": self._objects(),
                    "warnings": [],
                }
            )
            return 0
        shown = self._clock(until)
        lines = [f"#{claim.token}  yours until {shown}, longer while you are alive"]
        lines += [f"  {item.intent.value:4}   {render.shown(item)}" for item in items]
        lines += [f"  free   {render.shown(item)}" for item in done.freed]
        self._output.lines([*lines, *self._rows()])
        return 0

    def _rows(self) -> list[str]:
        rows = []
        for each in self._looks:
            claim = each.claim
            names = "  ".join(render.shown(item) for _, item in list(claim.live())[:3])
            purpose = f'   "{claim.purpose}"' if claim.purpose else ""
            rows.append(f"  #{claim.token}  {claim.holder}   {names}{purpose}")
            rows += [f"    {self._gate(gate)}" for gate in each.gates]
        return rows

    def _gate(self, gate: Gate) -> str:
        at = f" {self._clock(gate.at)}" if gate.at is not None else ""
        opens = f", not before {self._clock(gate.passes_at)}" if gate.passes_at is not None else ""
        return f"{'open' if gate.is_passed else 'closed':6}  {gate.name:8}  {gate.text}{at}{opens}"

    def _clock(self, stamp: int) -> str:
        return render.clock_time(stamp, self._now)

    def _objects(self) -> list[dict[str, Any]]:
        return [
            {
                "token": each.claim.token,
                "holder": each.claim.holder,
                "lease_until": format_stamp(each.lease_until),
                "gates": [
                    {
                        "gate": gate.name,
                        "passed": gate.is_passed,
                        "text": gate.text,
                        "at": _stamp(gate.at),
                        "passes_at": _stamp(gate.passes_at),
                    }
                    for gate in each.gates
                ],
            }
            for each in self._looks
        ]


def _stamp(at: int | None) -> str | None:
    return None if at is None else format_stamp(at)
