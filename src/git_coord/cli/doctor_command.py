"""`git coord doctor`: report what is wrong here, and repair a broken ledger."""

from __future__ import annotations

import click

from git_coord.app import App
from git_coord.app.diagnosis import Finding, broken_refs, diagnose
from git_coord.domain.chain import Sealed
from git_coord.domain.timestamps import format_stamp
from git_coord.errors import Kind
from git_coord.service.repair import Repaired, repair

from . import options
from .output import Output


@click.command("doctor", context_settings=options.HELP)
@click.option("--repair-ledger", is_flag=True, help="Keep the remote's chain to its last good commit, replay ours.")
@click.option("--fix", "is_fixing", is_flag=True, help="Heal what lost its objects (a prune, a loss of power) first.")
@options.common
def command(repair_ledger: bool, is_fixing: bool, as_json: bool, agent: str | None) -> int:
    """Look at everything: program, ledger, membership, refs, locks, pending operations, remote, hooks.

    Exit 1 when something is wrong; each finding names the command that mends it.
    """
    app, output = options.means(as_json, agent)
    if repair_ledger:
        return _repair(app, output)
    found = [*(_fixed(app) if is_fixing else ()), *diagnose(app), *_hooks(app)]
    wrong = [finding for finding in found if finding.level == "wrong"]
    if output.is_json:
        rows = [{"level": one.level, "text": one.text, "next": one.next} for one in found]
        output.object({"findings": rows}, ok=not wrong)
    else:
        output.lines(_report(found))
    return Kind.ERROR.exit_status if wrong else 0


def _fixed(app: App) -> list[Finding]:
    from git_coord.service.upkeep.objects import heal

    done = heal(app.coord, lambda: broken_refs(app))
    return [Finding("fixed", line) for line in done] or [Finding("ok", "nothing to fix")]


def _report(found: list[Finding]) -> list[str]:
    """Return the findings as lines; what mends several in a row is said once, after the last."""
    lines = []
    for one, after in zip(found, [*found[1:], None], strict=True):
        lines.append(f"{one.level:5}  {one.text}")
        if one.next and (after is None or after.next != one.next):
            lines.append(f"       next   {one.next}")
    return lines


def _hooks(app: App) -> list[Finding]:
    from git_coord.hooks.install import status

    step = "git coord hooks install"
    return [
        Finding("ok" if hook.is_firing else "note", hook.text, None if hook.is_firing else step) for hook in status(app)
    ]


def _repair(app: App, output: Output) -> int:
    done = repair(app.coord)
    app.refresh_snapshot()
    if done is None:
        output.object({"repaired": False}) if output.is_json else output.lines(["the ledger needs no repair"])
        return 0
    if output.is_json:
        output.object(
            {
                "repaired": True,
                "head": done.head,
                "reason": done.fault,
                "replayed": [_line(sealed) for sealed in done.replayed],
                "lost": [_line(sealed) for sealed in done.lost],
                "void": list(done.void),
            }
        )
        return 0
    output.lines(_lines(done))
    return 0


def _lines(done: Repaired) -> list[str]:
    rows = [f"the ledger is at {done.head[:10]} now" + (f"; what was wrong: {done.fault}" if done.fault else "")]
    rows += [f"  replayed  {_line(sealed)}" for sealed in done.replayed]
    rows += [f"  lost      {_line(sealed)}" for sealed in done.lost]
    rows += [f"  dropped   {oid}" for oid in done.void]
    if done.void:
        words = " ".join(f"--void {oid}" for oid in done.void[:3]) + (" …" if len(done.void) > 3 else "")
        rows.append(f"next   git coord policy {words}   (a policy key; so that no clone takes them for lost)")
    return rows


def _line(sealed: Sealed) -> str:
    return f"{sealed.op.KIND} {sealed.op.seq} of {sealed.op.agent}, {format_stamp(sealed.op.at)}"
