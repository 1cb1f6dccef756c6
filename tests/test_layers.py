"""The architecture as a test: imports point one way, and some words may be said in one place only."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.helpers.source import PACKAGE, Literal, Source, read_sources

SOURCES = read_sources()
Check = Callable[[list[Source]], list[str]]

# What each layer may import of ours, itself apart. A name covers what is below it; `.` is the package (its version).
CORE = ("errors", "clock", "lean", "domain")
BELOW_APP = (*CORE, "crypto", "guard", "service", "store.interface", "store.refnames")
BELOW_FRONT_ENDS = ("errors", "clock", "lean", "interrupts", "domain", "guard", "service", "app", ".")
ALLOWED: dict[str, tuple[str, ...]] = {
    "": (),
    "errors": (),
    "clock": (),
    "lean": (),
    "process": ("errors", "lean"),
    "interrupts": (),
    "domain": ("errors", "lean"),
    "crypto": ("errors", "lean", "process", "domain.ids"),
    "store": (*CORE, "process"),
    "guard": (),  # the fast path: not even the errors
    # The snapshot format belongs to the guard, which may import nothing; who moves the claims writes it.
    "service": (*CORE, "crypto", "guard", "store.interface", "store.refnames"),
    "app": (*BELOW_APP, "store", "."),
    "hooks": BELOW_FRONT_ENDS,
    "mcp": BELOW_FRONT_ENDS,
    "adapters": (*BELOW_FRONT_ENDS, "hooks"),  # an edit is judged and explained as a commit is
    "watch": BELOW_FRONT_ENDS,
    "run": BELOW_FRONT_ENDS,
    "cli": (
        *BELOW_FRONT_ENDS,
        "hooks",
        "mcp",
        "adapters",
        "watch",
        "run",
    ),  # `git coord hooks`, `git coord mcp` start them
    # Asks git before anything heavy is imported, and answers edit hooks before anything at all is.
    "__main__": ("cli", "store.ahead", "guard", "adapters", "interrupts"),
}
FRONT_ENDS = {"cli", "hooks", "guard", "mcp", "adapters", "watch", "run", "__main__"}
TALK = (
    "print",
    "input()",
    "exit()",
    "quit()",
    "sys.exit",
    "sys.stdout",
    "sys.stderr",
    "sys.stdin",
    "SystemExit",
    "os._exit",
)
SURROUNDINGS = (
    "os.environ",
    "os.environb",
    "os.getenv",
    "os.putenv",
    "os.chdir",
    "os.fchdir",
    "os.getcwd",
    "Path.cwd",
    "pathlib.Path.cwd",
)
APP_MAY = ("os.environ", "os.environb", "os.getenv")  # the composition root is where the environment is read
LONG_FILES: dict[str, str] = {}
"""Path -> why it may exceed 300 lines (click options of one command are the usual reason)."""


def wrong_imports(sources: list[Source]) -> list[str]:
    """Complain about imports of ours against the arrows."""
    known = {source.module for source in sources} | set(ALLOWED)
    return [
        f"{source.at(line)} {source.module or '.'} imports {target}"
        for source in sources
        for line, name in source.imports()
        if (target := _ours(name, known)) is not None and not _may_import(source, target)
    ]


def _ours(name: str, known: set[str]) -> str | None:
    """Return the module of ours that a dotted name means (`.` for the package), or None for others' modules."""
    head, *rest = name.split(".")
    if head != PACKAGE:
        return None
    # The last part may be a name inside the module: the longest known module counts.
    while rest and ".".join(rest) not in known:
        rest.pop()
    return ".".join(rest) or "."


def _may_import(source: Source, target: str) -> bool:
    assert source.layer in ALLOWED, f"{source.path}: a new layer; say in ALLOWED what it may import"
    allowed = (*ALLOWED[source.layer], source.layer)
    return any(target == name or target.startswith(f"{name}.") for name in allowed)


def concrete_stores(sources: list[Source]) -> list[str]:
    """Complain where the port imports an adapter (that nobody else does is a wrong import)."""
    ports = {"interface", "refnames", "codec"}
    return [
        f"{source.at(line)} {source.module} imports {name}"
        for source in sources
        if source.module in {"store", *(f"store.{port}" for port in ports)}
        for line, name in source.imports()
        if name.startswith(f"{PACKAGE}.store.") and name.split(".")[2] not in ports
    ]


def heavy_guard(sources: list[Source]) -> list[str]:
    """Complain about what the guard loads beyond os and sys, or ever takes from outside the standard library."""
    complaints = []
    for source in sources:
        if source.layer != "guard":
            continue
        quick = {"os", "sys", "__future__", PACKAGE} | ({"json"} if source.module.startswith("guard.edit") else set())
        for line, name in source.imports_on_load():
            if name.split(".")[0] not in quick:
                complaints.append(f"{source.at(line)} loads {name}")
        for line, name in source.imports():
            if name.split(".")[0] not in sys.stdlib_module_names | {PACKAGE}:
                complaints.append(f"{source.at(line)} imports {name}")
    return complaints


def manners(sources: list[Source]) -> list[str]:
    """Complain where something below the front ends talks, exits, or looks at its surroundings."""
    return [
        f"{source.at(line)} uses {name}"
        for source in sources
        if source.layer not in FRONT_ENDS
        for line, name in source.names()
        if name in (*TALK, *SURROUNDINGS) and not (source.layer == "app" and name in APP_MAY)
    ]


def ref_names(sources: list[Source]) -> list[str]:
    """Complain about `refs/` outside store.refnames and one module of the guard, which can import nothing."""
    found = [(source, word) for source in sources for word in source.literals() if "refs/" in word.text]
    guards = sorted({source.module for source, _ in found if source.layer == "guard"})
    homes = {"store.refnames", *guards[:1]}
    return [f"{source.at(word.line)} spells {word.text!r}" for source, word in found if source.module not in homes]


def git_options(sources: list[Source]) -> list[str]:
    """Complain about options that overwrite what nobody has seen, or cut history off; those of ours are not git's."""
    return [
        f"{source.at(word.line)} says {word.text!r}"
        for source in sources
        if source.layer != "cli"
        for word in source.literals()
        for option in word.text.split()
        if option in {"--force", "--force-with-lease", "--mirror"} or option.split("=")[0] == "--depth"
    ]


def forced_refspecs(sources: list[Source]) -> list[str]:
    """Complain about a `+` where something is pushed, and about `+` refspecs in what is not named after a fetch."""
    return [
        f"{source.at(word.line)} forces {word.text!r}"
        for source in sources
        for name, pushes, words in _scopes(source)
        for word in words
        if word.text.startswith("+") and (pushes or (_is_refspec(word.text) and "fetch" not in name.lower()))
    ]


def _scopes(source: Source) -> Iterator[tuple[str, bool, list[Literal]]]:
    """Yield name, whether `push` is said, and literals of each outermost function, method or statement."""
    bodies = [source.tree.body, *(node.body for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef))]
    for node in (node for body in bodies for node in body if not isinstance(node, ast.ClassDef)):
        words = list(source.literals(node))
        targets = [name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)]
        name = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else " ".join(targets)
        yield name, "push" in name.lower() or any(word.text == "push" for word in words), words


def _is_refspec(text: str) -> bool:
    return ":" in text or text.startswith("+refs")


NEW_LEDGER = {"membership._found", "epochs._moved", "repair._mend_here"}
"""What moves the ledger and places nothing that waited: a first commit, a checkpoint, what a person repairs."""


def losses(sources: list[Source]) -> list[str]:
    """Complain where this clone's ledger moves and nobody notes what was lost by it, and where services say that."""
    complaints = []
    for source in sources:
        if source.layer != "service":
            continue
        for name, calls, line in _functions(source):
            notes = calls & {"note_losses", "note_losses_of"}
            if (
                "RefUpdate(SEEN" in calls
                and not notes
                and f"{source.module.removeprefix('service.')}.{name}" not in NEW_LEDGER
            ):
                complaints.append(f"{source.at(line)} moves the ledger and notes no losses")
        for line, name in source.imports():
            if name.startswith(f"{PACKAGE}.service.telling"):
                complaints.append(f"{source.at(line)} leaves telling to callers")
    return complaints


def _functions(source: Source) -> Iterator[tuple[str, set[str], int]]:
    """Yield each function's name, what it calls (`RefUpdate` with its first argument), and where it begins."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef):
            yield node.name, set(_calls(node)), node.lineno


def _calls(node: ast.AST) -> Iterator[str]:
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            first = call.args[0].id if call.args and isinstance(call.args[0], ast.Name) else ""
            yield f"RefUpdate({first}" if call.func.id == "RefUpdate" else call.func.id


def long_files(sources: list[Source]) -> list[str]:
    """Complain about files over 300 lines, and about exceptions no longer needed."""
    lines = {source.path: source.text.count("\n") for source in sources}
    long = {path for path, count in lines.items() if count > 300}
    unneeded = [f"{path} is listed but not long" for path in sorted(LONG_FILES) if path in lines and path not in long]
    return [f"{path} has {lines[path]} lines" for path in sorted(long - set(LONG_FILES))] + unneeded


CHECKS: tuple[Check, ...] = (
    wrong_imports,
    concrete_stores,
    heavy_guard,
    manners,
    ref_names,
    git_options,
    forced_refspecs,
    losses,
    long_files,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_sources_keep_the_rule(check: Check) -> None:
    assert check(SOURCES) == []


# For each check the smallest sources that must be caught, and their complaint.
BAD: list[tuple[Check, str, str, list[str]]] = [
    (wrong_imports, "domain/x.py", "import git_coord.service.claims", ["domain.x imports service"]),
    (wrong_imports, "domain/x.py", "from git_coord import clock", ["domain.x imports clock"]),
    (wrong_imports, "domain/x.py", "from .. import store", ["domain.x imports store"]),
    (wrong_imports, "domain/__init__.py", "from ..crypto import sign", ["domain imports crypto"]),
    (
        wrong_imports,
        "domain/x.py",
        "import importlib\nimportlib.import_module('git_coord.app')",
        ["domain.x imports app"],
    ),
    (wrong_imports, "crypto/x.py", "from git_coord.domain.ledger import apply", ["crypto.x imports domain"]),
    (wrong_imports, "store/gitcli.py", "from git_coord.crypto import keys", ["store.gitcli imports crypto"]),
    (wrong_imports, "service/x.py", "def f():\n from git_coord.store import gitcli", ["service.x imports store"]),
    (wrong_imports, "service/x.py", "from git_coord.store.memory import M", ["service.x imports store"]),
    (wrong_imports, "service/x.py", "from git_coord import app", ["service.x imports app"]),
    (wrong_imports, "guard/x.py", "from git_coord.errors import Kind", ["guard.x imports errors"]),
    (wrong_imports, "app.py", "from .cli import main", ["app imports cli"]),
    (wrong_imports, "cli/x.py", "from git_coord.store.interface import Store", ["cli.x imports store"]),
    (wrong_imports, "hooks/x.py", "from git_coord.cli import render", ["hooks.x imports cli"]),
    (concrete_stores, "store/interface.py", "from . import gitcli", ["store.interface imports git_coord.store.gitcli"]),
    (heavy_guard, "guard/x.py", "import json", ["loads json"]),
    (heavy_guard, "guard/x.py", "try:\n import os\nexcept E:\n import re", ["loads re"]),
    (heavy_guard, "guard/x.py", "def f():\n import pygit2", ["imports pygit2"]),
    (manners, "domain/x.py", "print('hello')", ["uses print"]),
    (manners, "service/x.py", "import sys\nsys.exit(1)", ["uses sys.exit"]),
    (manners, "service/x.py", "raise SystemExit", ["uses SystemExit"]),
    (manners, "store/x.py", "import os\nos.environ.get('X')", ["uses os.environ"]),
    (manners, "store/x.py", "from os import environ", ["uses os.environ"]),
    (manners, "store/x.py", "os.chdir('/')", ["uses os.chdir"]),
    (manners, "app.py", "os.environ, os.getcwd()", ["uses os.getcwd"]),
    (manners, "crypto/x.py", "pathlib.Path.cwd()", ["uses pathlib.Path.cwd"]),
    (ref_names, "service/x.py", "f'refs/coord/{x}'", ["spells 'refs/coord/{}'"]),
    (ref_names, "service/x.py", "x = b'refs/heads'", ["spells 'refs/heads'"]),
    (git_options, "store/x.py", "['push', '--force']", ["says '--force'"]),
    (
        git_options,
        "store/x.py",
        "x = 'git push --force-with-lease origin'",
        ["says 'git push --force-with-lease origin'"],
    ),
    (git_options, "store/x.py", "f'--depth={n}'", ["says '--depth={}'"]),
    (git_options, "store/x.py", "'--depth', 1", ["says '--depth'"]),
    (forced_refspecs, "store/x.py", "def send():\n git('push', f'+{a}:{b}')", ["forces '+{}:{}'"]),
    (forced_refspecs, "store/x.py", "class A:\n def push(self): x = '+' + ref", ["forces '+'"]),
    (forced_refspecs, "store/x.py", "SPECS = ['+refs/coord/claims']", ["forces '+refs/coord/claims'"]),
    (losses, "service/x.py", "def f():\n swap([RefUpdate(SEEN, a, b)])", ["moves the ledger and notes no losses"]),
    (losses, "service/x.py", "def f():\n from .telling import lines", ["leaves telling to callers"]),
    (long_files, "store/x.py", "\n" * 301, ["has 301 lines"]),
]


@pytest.mark.parametrize(("check", "path", "text", "complaints"), BAD)
def test_a_bad_source_is_caught(check: Check, path: str, text: str, complaints: list[str]) -> None:
    assert [complaint.split(" ", 1)[1] for complaint in check([Source(path, text)])] == complaints


def test_every_check_has_a_bad_source() -> None:
    assert {check for check, *_ in BAD} == set(CHECKS)


GOOD = [
    Source("domain/x.py", "from git_coord.errors import Kind\nfrom .ids import Agent"),
    Source(
        "service/x.py", "from ..store.interface import Store\nfrom git_coord.store import refnames\nrun(input=input)"
    ),
    Source("service/y.py", "def f():\n note_losses(a)\n swap([RefUpdate(SEEN, a, b)])"),
    Source("store/interface.py", ""),
    Source("store/refnames.py", '"""refs/."""\nCLAIMS = "refs/coord/claims"\nFETCHED = [f"+{CLAIMS}:{REMOTE}"]'),
    Source("store/gitcli.py", "def push(ref): git('push', f'--force-with-lease={ref}:', f'{a}:{ref}', '--deepen=1')"),
    Source("guard/names.py", "import os, sys\ndef f():\n import json\nCLAIMS = b'refs/coord/claims'"),
    Source("guard/edit.py", "import json"),
    Source("app.py", "import os\nfrom .store import gitcli\nos.environ"),
    Source("cli/claim.py", "from git_coord import __version__, app, hooks\nprint(os.getcwd())"),
    Source("__main__.py", "def main():\n from git_coord.cli.main import run"),
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_good_program_passes(check: Check) -> None:
    assert check(GOOD) == []


def test_the_guard_has_one_place_for_ref_names() -> None:
    twice = [Source(f"guard/{name}.py", "X = 'refs/heads/'") for name in ("a", "b")]
    assert ref_names(twice) == ["guard/b.py:1 spells 'refs/heads/'"]


def test_an_unneeded_exception_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LONG_FILES, "store/x.py", "options")
    assert long_files([Source("store/x.py", "\n")]) == ["store/x.py is listed but not long"]


def test_a_new_layer_must_say_what_it_may_import() -> None:
    with pytest.raises(AssertionError, match=r"^new/x\.py: a new layer"):
        wrong_imports([Source("new/x.py", "import git_coord.app")])
