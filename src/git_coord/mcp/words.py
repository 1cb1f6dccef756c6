"""Arguments of tools to the words of a command line: every value joined to its option, every name behind `--`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def option(name: str, value: object) -> list[str]:
    """Return `--name=value`; nothing for what is not given, the bare flag for True."""
    if value is None or value is False or value == "":
        return []
    return [f"--{name}"] if value is True else [f"--{name}={value}"]


def options(given: Mapping[str, object]) -> list[str]:
    """Return the words of several options; a list is an option given several times."""
    words: list[str] = []
    for name, value in given.items():
        for each in value if isinstance(value, list) else [value]:
            words += option(name, each)
    return words


def line(verbs: Iterable[str], given: Mapping[str, object], names: Iterable[str] = (), text: str = "") -> list[str]:
    """Return a whole command line; `text` is what `-m` says."""
    return [*verbs, *options(given), *([f"-m{text}"] if text else []), "--json", "--", *names]
