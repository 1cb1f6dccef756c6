"""The environment every git and every `git coord` of the tests runs in: nothing of the machine shines through."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path

KEPT = ("TMPDIR", "COVERAGE_", "HYPOTHESIS_", "PYTEST_")
"""Prefixes of what stays of the outer environment. An allow-list: proxies, pagers, agents and CI variables all go."""

GITCONFIG = """\
[user]
	name = Test Person
	email = person@example.com
[init]
	defaultBranch = main
[protocol "file"]
	allow = always
[gc]
	autoDetach = false
[maintenance]
	autoDetach = false
"""
"""The whole global configuration. No gc in the background: it would race with the removal of the test's folder."""

UNSAFE_BUT_QUICK = "[core]\n\tfsync = none\n"
"""Test repositories need not survive a power cut. Not used by the benchmarks: users do pay for it."""


def sealed_env(home: Path, outer: Mapping[str, str]) -> dict[str, str]:
    """Return the sealed environment around a home directory made by `seal`."""
    kept = {name: value for name, value in outer.items() if name.startswith(KEPT)}
    return kept | {
        # The environment's own programs first, so that `git coord` is the one under test.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), outer.get("PATH", os.defpath)]),
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_STATE_HOME": str(home / ".local/state"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_RUNTIME_DIR": str(home / ".run"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
        "GIT_TEMPLATE_DIR": str(home / "template"),
        # Local transports only; a test that needs another one (`ext` for latency, say) adds it to its own copy.
        "GIT_ALLOW_PROTOCOL": "file:ssh:git:http",
        # An editor or a question nobody expected fails at once instead of waiting.
        "GIT_EDITOR": "false",
        "GIT_TERMINAL_PROMPT": "0",
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
    }


def seal(home: Path, outer: Mapping[str, str], *, quick: bool = True) -> dict[str, str]:
    """Make a home directory and return the environment that lives in it."""
    for folder in (".config", ".local/state", ".local/share", ".cache", ".run", "template"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    (home / ".run").chmod(0o700)
    (home / ".gitconfig").write_text(GITCONFIG + (UNSAFE_BUT_QUICK if quick else ""))
    return sealed_env(home, outer)


def replace_environ(environ: MutableMapping[str, str], env: Mapping[str, str]) -> None:
    """Make `environ` equal to `env`, except pytest's own bookkeeping, which changes while a test runs."""
    for name in [name for name in environ if name not in env and not name.startswith("PYTEST_")]:
        del environ[name]
    environ.update({name: value for name, value in env.items() if not name.startswith("PYTEST_")})
