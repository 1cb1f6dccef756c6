"""`git coord verify`: CI's door."""

from __future__ import annotations

import os
from typing import Any

import click

from git_coord.app import App
from git_coord.domain.commits import Described
from git_coord.domain.evidence import Violation
from git_coord.domain.timestamps import format_stamp
from git_coord.errors import Kind
from git_coord.hooks import breaches
from git_coord.service.verify import Verified, verify

from . import options, render
from .output import Output


@click.command("verify", context_settings=options.HELP)
@click.argument("range", required=False, metavar="[A..B]")
@click.option("--github", "is_github", is_flag=True, help="Also print annotations, as GitHub Actions reads them.")
@options.local
@options.common
def command(range: str | None, is_github: bool, is_local: bool, as_json: bool, agent: str | None) -> int:  # noqa: A002
    """Judge commits against the claims of their time.

    Without a range: what CI checked out, a merge against its first parent, a branch against where it left the default
    branch. Exit 0 nothing found, 3 violations, 5 unknown (no answer, or too shallow a history), 6 untrusted ledger.
    """
    app, output = options.means(as_json, agent)
    if app.config.get("coord.repo") is not None and not is_local:
        app.settle_receipts()
    done = verify(app.coord, app.history(), range, is_local=is_local)
    now = app.coord.clock.now()
    reader = _reader(app, done)
    if is_github or os.environ.get("GITHUB_ACTIONS") == "true":
        _annotate(output, done, reader)
    if output.is_json:
        output.object(_object(done, reader), ok=not done.violations)
    else:
        output.lines([*_lines(done, now, reader), render.as_of(done.age, app.remote_name)])
    return Kind.CONFLICT.exit_status if done.violations else 0


def _reader(app: App, done: Verified) -> breaches.Reader:
    """Return who may mend it: an agent only in a clone that was set up, where somebody types `verify`."""
    me = app.coord.actor if app.config.get("coord.repo") is not None else None
    if not done.violations:
        return breaches.Reader(me, None, None)
    history = app.history()
    head = history.resolve(["HEAD"])[0]
    return breaches.Reader(me, head, done.onto, done.is_on_default)


def _object(done: Verified, reader: breaches.Reader) -> dict[str, Any]:
    return {
        "code": "conflict" if done.violations else "ok",
        "commits": done.commits,
        "violations": [_violation(one, done.about.get(one.commit), reader) for one in done.violations],
        "as_of": render.as_of_stamp(done.age),
    }


def _violation(one: Violation, about: Described | None, reader: breaches.Reader) -> dict[str, Any]:
    return {
        "commit": one.commit,
        "author": about.author if about else None,
        "subject": about.subject if about else None,
        "agents": list(one.agents),
        "next": breaches.way_out(one, reader),
        "path": render.json_name(one.path),
        "holder": one.claim.holder if one.claim else None,
        "token": one.claim.token if one.claim else None,
        "since": format_stamp(one.claim.at) if one.claim else None,
        "kind": one.kind.value,
    }


def _lines(done: Verified, now: int, reader: breaches.Reader) -> list[str]:
    count = len(done.violations)
    commits = f"{done.commits} commit{'s' * (done.commits != 1)}"
    if not count:
        return [f"no violations in {commits}"]
    rows = breaches.rows(done.violations, now, done.about)
    steps = [f"{'' if n else 'next':4}   {step}" for n, step in enumerate(breaches.steps(done.violations, reader))]
    return [f"{count} violation{'s' * (count != 1)} in {commits}", *rows, *steps]


def _annotate(output: Output, done: Verified, reader: breaches.Reader) -> None:
    """Say each violation as a workflow command; beside `--json` on stderr, where a runner reads them too."""
    lines = [_annotation(one, done.about.get(one.commit), reader) for one in done.violations]
    if output.is_json:
        for line in lines:
            output.talk(line)
    else:
        output.lines(lines)


def _annotation(one: Violation, about: Described | None, reader: breaches.Reader) -> str:
    words = breaches.WORDS[one.kind]
    by = f"held by {one.claim.holder} #{one.claim.token}" if one.claim else "held by nobody"
    whose = f' ("{breaches.cut(about.subject)}" by {breaches.cut(about.author)})' if about else ""
    what = f"{one.commit[: breaches.SHORT]}{whose} changes {one.path}: {by}, {words}"
    message = f"{what}\n{breaches.way_out(one, reader)}"
    return f"::error file={_property(one.path)},title=git coord::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
