"""Writes docs/cli.md and the man page docs/git-coord.1 from the commands themselves; `make docs` runs it."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from git_coord import __version__
from git_coord.cli.main import COMMANDS, HIDDEN, root
from git_coord.lean import NamedTuple

DOCS = Path(__file__).resolve().parent
EXITS = (
    ("0", "ok", "free, mine, granted, done"),
    ("1", "error", "something else is wrong"),
    ("2", "usage", "the command line is wrong"),
    ("3", "conflict", "held by somebody else"),
    ("4", "lost", "not yours, or not any more"),
    ("5", "unknown", "the remote gave no answer, or not a young enough one"),
    ("6", "untrusted", "a record or the ledger cannot be believed"),
    ("7", "stale", "the holder's lease is over, the claim still blocks; of preflight: ask a person"),
    ("8", "blocked", "a task that somebody has blocked"),
    ("75", "timeout", "waited in vain"),
    ("130", "", "interrupted; by SIGTERM 143, by SIGHUP 129"),
)
"""Status, the `code` of --json, meaning."""

ENVIRONMENT = (
    ("GIT_COORD_AGENT", "The agent to act as; counts before coord.agent. Empty counts as unset."),
    ("GIT_COORD_SESSION", "The session to act in, instead of the one kept in the worktree's git directory."),
    ("GIT_COORD_RUN", "Set by run for its command: what is claimed under it is given back when that ends."),
    ("GIT_COORD_TOKENS", "Set by run for its command: the tokens of its claims, with commas between them."),
    ("GIT_COORD_MODE", "What the hooks do about a violation: block, warn or off; counts before coord.mode."),
    ("GIT_COORD_BYPASS", "1 lets one commit or push pass the hooks. It is recorded."),
)

SETTINGS = (
    ("coord.agent", "The agent's name, written by init for this worktree; what is shared names the main one's."),
    ("coord.agentWorktree", "Whose name coord.agent is, written by init: git copies it into new worktrees."),
    ("coord.autoInit", "true: post-checkout sets up, as init does, each worktree that git worktree add makes."),
    ("coord.repo", "The ledger's UUID, written by init."),
    ("coord.remote", "The remote that has the ledger, when there are several; '.' for none."),
    ("coord.key", "The agent's private key, instead of a generated one."),
    ("coord.policyKey", "The private key that break and policy sign with."),
    ("coord.freshness", "How old a picture may be to answer without a fetch; 60s."),
    ("coord.commitWait", "How long a commit by an older picture waits for the remote; 2s, 0 for never."),
    ("coord.fetchTimeout", "How long a fetch may take; 10s."),
    ("coord.pushTimeout", "How long a push may take; 30s."),
    ("coord.offline", "deny (default) or allow: whether a claim may stand unconfirmed."),
    (
        "coord.presence.share",
        "What presence tells others: none (a heartbeat only), basic (default: no host, no absolute path), full.",
    ),
    ("coord.minTtl", "The shortest lease; 5m with a remote, 1s without."),
    ("coord.clockSkew", "How much earlier than others the holder itself takes a lease for over; 60s."),
    ("coord.mode", "What the hooks do about a violation: block (default), warn or off."),
    (
        "coord.autoClaim",
        "What an edit hook does about a file that nobody holds: local (default: claims it here, a sync confirms it), "
        "confirmed (waits for the remote), off (only checks).",
    ),
    (
        "coord.autoRelease",
        "When edit hooks give back what they claimed: stop (default: the turn's end), edit (at once), end (see onEnd).",
    ),
    ("coord.subagents", "apart: each subagent of a coding agent's session is an agent of its own."),
    (
        "coord.onEnd",
        "What becomes of claims made by edit hooks, or through mcp, when the session or the connection ends: release "
        "(default of the hooks), keep, will (default of mcp: keep, and say offline), handover:AGENT.",
    ),
    ("coord.refPrefix", "Where the refs are on the remote; refs/heads/coord for hosts that take only branches."),
)

CONFLICT = (
    '"holder", "path", "held", "intent", "purpose", "claimed_at", "lease_until", "holder_stale", "token", '
    '"waiting", "caller_stamps": [STAMP]'
)
SHAPES = {
    "CONFLICT": f"{{{CONFLICT}}}",
    "ITEM": '{"path", "intent", "match", "blob"}',
    "STAMP": '{"name", "value"}',
    "CLAIM": (
        '{"token", "confirmed", "agent", "items": [ITEM], "purpose", "lease", "ttl", "claimed_at", "lease_until", '
        '"holder_stale", "unattended", "stamps": [STAMP]}'
    ),
    "WAITER": '{"agent", "items": [ITEM], "purpose", "since", "until", "confirmed", "behind": [CONFLICT]}',
    "AGENT": (
        '{"agent", "state", "since", "at", "ttl", "task", "note", "queue", "branch", "will", "host", "place", '
        '"future", "advice": "send|queue|hold", "timeout"}'
    ),
    "BLOCK": '{"blocked_by", "since", "reason", "tasks"}',
    "POST": '{"id", "agent", "status", "text", "to", "claim", "at", "taken_by", "taker_says"}',
    "GATES": (
        '{"token", "holder", "lease_until", "gates": [{"gate": "lease|presence|commits|watched", "passed", "text", '
        '"at", "passes_at"}]}'
    ),
    "an error": '{"ok": false, "code", "message", "next"}, and what else is known',
    "SIMILAR": '{"path", "similar"}: what nothing has, or matches, yet, and the nearest that exists, or null',
    "claim, granted": (
        '{"token", "agent", "confirmed", "items": [ITEM], "lease_until", "new": [SIMILAR], "stamps": [STAMP], '
        '"warnings"}'
    ),
    "claim, for less than one has": (
        '{"token", "agent", "confirmed", "items": [ITEM], "lease_until", "new": [SIMILAR], "stamps": [STAMP], '
        '"warnings", "kept": '
        '[{"path", "held", "intent", "token"}]}: the own edits that stay as they are'
    ),
    "claim, refused": f'{{"ok": false, "code": "conflict", {CONFLICT}, "conflicts": [{{the same fields}}], "next"}}',
    "claim, waited in vain": 'the same with "code": "timeout", and who is in the way at last',
    "claim, deadlock": '{"code": "deadlock", "cycle": [{"agent", "waits_for", "path"}], "message", "next"}',
    "release, renew, break": (
        '{"confirmed", "claims": [CLAIM], "granted": [{"token", "agent", "items": [ITEM]}]}; "items" of CLAIM are '
        'those given back, or those renewed; "granted" are those who were waiting'
    ),
    "release --to": 'the same, of the claims that the receiver has now, and in each the old token "given" and "to"',
    "takeover": (
        '{"token", "agent", "confirmed", "items": [ITEM], "lease_until", "freed": [ITEM], "claims": [GATES], '
        '"warnings"}; with --dry-run {"dry_run", "items": [ITEM], "claims": [GATES]}'
    ),
    "rejoin": (
        '{"agent", "session", "confirmed", "claims": [CLAIM and {"state": "intact|at risk", "risks": [{"kind": '
        '"lease|takeover|changed|waited", "text", "at"}]}], "lost": [{"token", "items": [ITEM], "how", "by", "at", '
        '"reason"}], "posts": [POST]}'
    ),
    "takeover, refused": (
        '{"ok": false, "code", "message", "next", "holder", "token", "may_pass_at", "claims": [GATES]}; beside the '
        "codes of the exit statuses: branch_active, roster_disagrees, presence_unknown, takeover_off (exit 7), "
        "shared_checkout, foreign_changes (exit 3)"
    ),
    "check": (
        '{"code", "resources": [{"path", "status": "free|mine|held|stale|blocked|unknown", "holder"}], "as_of", '
        '"new": [SIMILAR]}; of '
        'what is held also "held", "intent", "token", "confirmed", "purpose", "claimed_at", "lease_until", '
        '"holder_stale"'
    ),
    "check, a blocked task": (
        '{"code", "resources": [{"path", "status", "holder", BLOCK}], "next", "as_of", "new": [SIMILAR]}'
    ),
    "block, unblock": '{"confirmed", "tasks", "still_blocked", "blocks": [BLOCK]}',
    "preflight": (
        '{"code", "decision": "go|wait|ask", "reasons": [{"kind", "text", "agent"}], "branch", "dirty", '
        '"agents": [AGENT], "shared_with", "worktree", "resources": [{"changed", and the fields of check: "path", '
        '"status", "holder", "held", "intent", "token", "confirmed", "purpose", "claimed_at", "lease_until", '
        '"holder_stale"}], "next", "as_of", "new": [SIMILAR]}'
    ),
    "status": (
        '{"agents": [AGENT], "claims": [CLAIM], "waiting": [WAITER], "blocked": [BLOCK], "posts": [POST], '
        '"synced_at", "as_of", "warnings"}'
    ),
    "presence": '{"agents": [AGENT], "as_of"}',
    "posts": '{"posts": [POST], "as_of"}',
    "post": "POST",
    "post, presence set, not sent": '{"ok": true, the same fields, "sent": false, "why"}',
    "status, not all sent": '{the same fields, "not_sent": {"posts", "presence", "operations"}}',
    "sync": '{"code", "remote", "head", "moved", "placed", "lost", "settled", "pushed", "as_of"}',
    "verify": (
        '{"code", "commits", "violations": [{"commit", "path", "holder", "token", "since", "kind"}], "as_of"}, and more'
    ),
    "watch": (
        'a line an event: {"id", "kind", "at", "agent", "message", "cursor"}; of claims also "token", "items", '
        '"purpose", "by", "reason", "holders", "position"; of waits "since", "until"; of blocked tasks "tasks", '
        '"reason", "blocked_by"; of presence "state", "before", "advice", "timeout", "note", "task", "will"; of posts '
        '"post", "status", "text", "to", "claim", "taken_by", "taker_says"; of a rejected ledger "commit", "next"'
    ),
    "a claim that waits for a branch": 'the fields of CLAIM, and "landed": {"commit", "branch", "waits_for"}',
    "settled, of sync": '{"token", "agent", "paths", "commit", "branch", "waits_for"}',
    "warnings, of claim": '{"code": "stale_base", "agent", "branch", "commit", "paths", "next"}',
    "log": '{"events": [{"commit", "at", "agent", "kind", "text", "reason"}], "as_of"}',
    "init": '{"agent", "session", "key", "repo", "remote", "ledger", "joined"}',
    "whoami": '{"agent", "session", "current_session", "key", "repo", "remote", "member"}',
    "policy": '{"join", "listed", "admins", "max_lease", "restore_hold", "takeover", "void", "fold", "skew"}',
    "doctor": '{"findings": [{"level", "text", "next"}]}',
    "hooks status": '{"hooks": [{"hook", "path", "worktree", "fires"}]}',
}
"""What --json prints, beside `"ok"`; a test compares the names with real answers."""

ABOUT_JSON = (
    'Every command takes --json: stdout is then one object with "ok", also for an error; stderr is talk. Times are '
    'RFC 3339, UTC. A path that is not UTF-8 is {"b64": base64}. "notices" holds what you were not told yet: posts for '
    "you, what others ended or handed over of your claims, what came to you, who waits for what you hold. More fields "
    "may come."
)


class Page(NamedTuple):
    """One command as it is described."""

    name: str
    synopsis: str
    paragraphs: list[str]
    options: list[tuple[str, str]]


def pages() -> Iterator[Page]:
    """Yield every visible command and subcommand, in the order of the help."""
    top = click.Context(root, info_name="git coord")
    for name in COMMANDS:
        command = root.get_command(top, name)
        if name in HIDDEN or command is None:
            continue
        yield _page(command, name)
        for sub in command.commands.values() if isinstance(command, click.Group) else ():
            yield _page(sub, f"{name} {sub.name}")


def _page(command: click.Command, name: str) -> Page:
    # Spelled here and not by click, whose versions differ.
    synopsis = " ".join(["git coord", name, "[OPTIONS]", *map(_argument, command.params)]).strip()
    if isinstance(command, click.Group):
        synopsis += " [COMMAND]" if command.invoke_without_command else " COMMAND"
    paragraphs = [" ".join(part.split()) for part in inspect.cleandoc(command.help or "").split("\n\n")]
    options = [_option(param) for param in command.params if isinstance(param, click.Option)]
    return Page(name, " ".join(synopsis.split()), paragraphs, [*options, ("-h", "Show the help of the command.")])


def _argument(param: click.Parameter) -> str:
    if not isinstance(param, click.Argument):
        return ""
    word = param.metavar or str(param.name).upper()
    word = word if param.required or word.startswith("[") else f"[{word}]"
    return f"{word}..." if param.nargs == -1 and " | " not in word else word


def _option(param: click.Option) -> tuple[str, str]:
    words = ", ".join(param.opts)
    if not param.is_flag:
        choices = getattr(param.type, "choices", None)
        words += f" {param.metavar or ('|'.join(choices) if choices else param.type.name.upper())}"
    return words, param.help or ""


def markdown() -> str:
    """Return docs/cli.md."""
    lines = ["# Command line", "", "Generated by `make docs` from the commands; `git help coord` shows the same.", ""]
    lines += [f"- [`git coord {page.name}`](#git-coord-{page.name.replace(' ', '-')})" for page in pages()]
    for page in pages():
        lines += ["", f"## git coord {page.name}", "", "```", page.synopsis, "```"]
        lines += [line for text in page.paragraphs for line in ("", text)]
        lines += ["", "| option | meaning |", "|---|---|"]
        lines += [f"| `{_cell(option)}` | {_cell(text)} |" for option, text in page.options]
    lines += ["", "## Exit status", "", "| status | `code` | meaning |", "|---|---|---|"]
    lines += [f"| {status} | {f'`{code}`' if code else ''} | {text} |" for status, code, text in EXITS]
    lines += ["", "## JSON", "", ABOUT_JSON, "", "| answer | object |", "|---|---|"]
    lines += [f"| {name} | `{_cell(shape)}` |" for name, shape in SHAPES.items()]
    for title, rows in (("Environment", ENVIRONMENT), ("Configuration", SETTINGS)):
        lines += ["", f"## {title}", "", "| name | meaning |", "|---|---|"]
        lines += [f"| `{name}` | {text} |" for name, text in rows]
    return "\n".join([*lines, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def manual() -> str:
    """Return the man page."""
    lines = [f'.TH GIT\\-COORD 1 "" "git\\-coord {__version__}" "Git Manual"', ".SH NAME"]
    lines += ["git\\-coord \\- who is working on what in this repository, and may I touch this file?", ".SH SYNOPSIS"]
    lines += [".nf", *(_roff(page.synopsis) for page in pages()), ".fi", ".SH DESCRIPTION"]
    lines += [
        "Agents and people claim files and tasks, show presence and post intentions. Everything lives in the git",
        "repository they already share, under refs/coord; the remote they already have is the only exchange. Every",
        "record is signed.",
        ".SH COMMANDS",
    ]
    for page in pages():
        lines += [f'.SS "{_roff(page.synopsis)}"']
        lines += [line for text in page.paragraphs for line in (_roff(text), ".PP")][:-1]
        lines += _terms(page.options)
    lines += [".SH EXIT STATUS", *_terms((f"{status} {code}".strip(), text) for status, code, text in EXITS)]
    lines += [".SH JSON", _roff(ABOUT_JSON), *_terms(SHAPES.items())]
    lines += [".SH ENVIRONMENT", *_terms(ENVIRONMENT), ".SH CONFIGURATION", *_terms(SETTINGS)]
    lines += [".SH SEE ALSO", "git(1), git\\-notes(1), githooks(5), ssh\\-keygen(1)"]
    return "\n".join([*lines, ""])


def _terms(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, text in rows:
        yield from (".TP", f"\\fB{_roff(term)}\\fR", _roff(text))


def _roff(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    text = "".join(char if char.isascii() else f"\\[u{ord(char):04X}]" for char in text)
    return f"\\&{text}" if text.startswith((".", "'")) else text


def main() -> None:
    """Write both pages."""
    (DOCS / "cli.md").write_text(markdown())
    (DOCS / "git-coord.1").write_text(manual())


if __name__ == "__main__":
    main()
