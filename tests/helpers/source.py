"""Python sources as the structure tests see them: module name, imports, uses of names, literals that are not prose."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
PACKAGE = "git_coord"


@dataclass(frozen=True)
class Literal:
    """A string or bytes literal that is data; each replacement field of an f-string shows as `{}`."""

    line: int
    text: str


@dataclass(frozen=True)
class Source:
    """One module: where it is and what it says. Paths are relative to `src/git_coord`."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed text."""
        return ast.parse(self.text)

    @cached_property
    def module(self) -> str:
        """The dotted name without the package: `store.interface`, `guard`, `` for the package itself."""
        return ".".join(self.path.removesuffix(".py").removesuffix("__init__").strip("/").split("/"))

    @property
    def layer(self) -> str:
        """The first component of the module's name."""
        return self.module.split(".")[0]

    def at(self, line: int) -> str:
        """Return the place as a complaint starts with it."""
        return f"{self.path}:{line}"

    def imports(self, root: ast.AST | None = None) -> Iterator[tuple[int, str]]:
        """Yield line and absolute dotted name of everything imported, also in functions and by `import_module`."""
        for node in ast.walk(root or self.tree):
            match node:
                case ast.Import():
                    yield from ((node.lineno, alias.name) for alias in node.names)
                case ast.ImportFrom():
                    base = self._absolute(node)
                    yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
                case ast.Call(func=func, args=[ast.Constant(value=str(name)), *_]) if _last(func) in {
                    "import_module",
                    "__import__",
                }:
                    yield node.lineno, name

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        here = [PACKAGE, *self.module.split(".")] if self.module else [PACKAGE]
        # A package's own `__init__` is one level further down than its name says.
        drop = node.level - self.path.endswith("__init__.py")
        return ".".join([*here[: len(here) - drop], *([node.module] if node.module else [])])

    def imports_on_load(self) -> Iterator[tuple[int, str]]:
        """Yield what importing the module imports: nothing in functions, nothing under `if TYPE_CHECKING`."""
        for node in _statements(self.tree.body):
            yield from self.imports(node)

    def names(self) -> Iterator[tuple[int, str]]:
        """Yield line and dotted name of every use: `os.environ` (also when imported from os), `print`, `print()`."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and (called := _dotted(node.func)):
                yield node.lineno, f"{called}()"
            if isinstance(node, ast.Attribute | ast.Name) and (dotted := _dotted(node)):
                yield node.lineno, dotted
        yield from self.imports()

    def literals(self, root: ast.AST | None = None) -> Iterator[Literal]:
        """Yield every string and bytes literal except those standing alone as documentation."""
        yield from _literals(root or self.tree)


def read_sources(folder: Path = SRC / PACKAGE) -> list[Source]:
    """Return all modules of the program."""
    return [Source(str(path.relative_to(folder)), path.read_text()) for path in sorted(folder.rglob("*.py"))]


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and _last(node.test) == "TYPE_CHECKING":
            yield from _statements(node.orelse)
            continue
        inner = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
        handlers = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.ExceptHandler)]
        if inner or handlers:
            yield from _statements(inner + [child for handler in handlers for child in handler.body])
        else:
            yield node


def _literals(node: ast.AST) -> Iterator[Literal]:
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return
        case ast.JoinedStr():
            parts = [str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values]
            yield Literal(node.lineno, "".join(parts))
            fields = [part for part in node.values if isinstance(part, ast.FormattedValue)]
            for part in fields:
                yield from _literals(part.value)
        case ast.Constant(value=str(text)):
            yield Literal(node.lineno, text)
        case ast.Constant(value=bytes(data)):
            yield Literal(node.lineno, data.decode("latin-1"))
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _literals(child)


def _dotted(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            return f"{base}.{attr}" if (base := _dotted(value)) else ""
    return ""


def _last(node: ast.expr) -> str:
    return _dotted(node).rsplit(".", 1)[-1]
