"""Which files a shell command line writes, by idioms that can be recognised; what cannot be told is left out."""

import os

from .edit_tokens import tokens

MAX_MATCHES = 20_000
"""Files that a pattern comes to; of more than one claim can have the full program says so, held ones are found."""
MAX_DEPTH = 4
"""How deep commands inside commands are looked into (`sh -c "$(…)"`)."""
PREFIXES = frozenset(
    [
        "command",
        "nohup",
        "time",
        "exec",
        "builtin",
        "setsid",
        "!",
        "{",
        "if",
        "then",
        "elif",
        "else",
        "while",
        "until",
        "do",
    ]
)
"""Words after which a command begins."""
WRAPPERS = {
    "sudo": ("CDghpRTUu", 0),
    "doas": ("Cu", 0),
    "env": ("CSu", 0),
    "nice": ("n", 0),
    "ionice": ("cnp", 0),
    "stdbuf": ("eio", 0),
    "timeout": ("ks", 1),
    "xargs": ("adEILnPs", 0),
}
"""Programs that run a command: their options that take the next word, and how many words of their own come after."""
SHELLS = ("sh", "bash", "zsh", "dash", "ksh")

Word = tuple[str, bool]
"""Text with the quotes taken off, and whether it is certain: nothing in it is replaced when the command runs."""
Target = tuple[str, bool]
"""A path as the command names it, against the folder it stands in; whether a link itself is meant, not its target."""


def targets(line: str, cwd: str, depth: int = 0) -> list[Target]:
    """Return what a command line writes, moves or removes; it stands in `cwd`. Never raises for any text."""
    found: list[Target] = []
    words: list[Word] = []
    for kind, text, certain in [*tokens(line), ("end", "\n", True)]:
        if kind == "sub" and depth < MAX_DEPTH:
            found += targets(text, cwd, depth + 1)
        elif kind == "write" and certain:
            found.append((os.path.join(cwd, text), False))
        elif kind == "word":
            words.append((text, certain))
        elif kind == "pattern":
            words += [(name, True) for name in _matches(text, cwd)]
        elif kind == "end":
            command, words = _command(words), []
            if command[:1] == ["cd"] and len(command) == 2:
                cwd = os.path.join(cwd, os.path.expanduser(command[1]))
            elif command and os.path.basename(command[0]) in SHELLS and depth < MAX_DEPTH:
                found += _inner(command, cwd, depth)
            elif command[:1] == ["eval"] and depth < MAX_DEPTH:
                found += targets(" ".join(command[1:]), cwd, depth + 1)
            else:
                found += [(os.path.join(cwd, name), is_link) for name, is_link in _written(command, cwd)]
    return found


def _matches(pattern: str, cwd: str) -> list[str]:
    """Return what a pattern comes to in a folder; one that matches nothing stays as it is, as in a shell."""
    from glob import escape, glob  # takes as long as the rest: only for a command that has a pattern

    parts = pattern.split("\0")  # odd parts were quoted
    text = "".join(escape(part) if n % 2 else part for n, part in enumerate(parts))
    return sorted(glob(text, root_dir=cwd))[:MAX_MATCHES] or ["".join(parts)]


def _inner(command: list[str], cwd: str, depth: int) -> list[Target]:
    for at, word in enumerate(command[1:-1], 1):
        if word.startswith("-") and word.endswith("c") and not word.startswith("--"):
            return targets(command[at + 1], cwd, depth + 1)
    return []


def _command(words: list[Word]) -> list[str]:
    """Return the words of a command without what stands before its name; a word that is not certain is dropped."""
    at = 0
    while at < len(words):
        name = os.path.basename(words[at][0])
        if name in WRAPPERS:
            at = _past_options(words, at + 1, *WRAPPERS[name])
        elif words[at][0] in PREFIXES or _is_assignment(words[at][0]):
            at += 1
        else:
            break
    # The place of an uncertain word matters (`sed -i "$script" file`), so it stays as one that names nothing.
    return [text if certain else "\0" for text, certain in words[at:]]


def _past_options(words: list[Word], at: int, valued: str, operands: int) -> int:
    """Return where the command begins that a wrapper runs."""
    while at < len(words) and words[at][0].startswith("-"):
        word = words[at][0]
        at += 2 if len(word) == 2 and word[1] in valued else 1
        if word == "--":
            break
    return at + operands


def _is_assignment(text: str) -> bool:
    name, equals, _ = text.partition("=")
    return bool(equals) and name.isidentifier()


def _written(command: list[str], cwd: str) -> list[Target]:
    if not command:
        return []
    name, rest = os.path.basename(command[0]), command[1:]
    if name == "git":
        return _by_git(rest, cwd)
    if name not in _IDIOMS:
        return []
    return [(path, is_link) for path, is_link in _IDIOMS[name](rest, cwd) if path and "\0" not in path]


def _split(words: list[str], valued: tuple[str, ...] = ()) -> tuple[list[str], list[str]]:
    """Return options (with the values of those that take the next word left out) and operands."""
    options, operands, rest = [], [], iter(words)
    for word in rest:
        if word == "--":
            operands += list(rest)
        elif word.startswith("-") and word != "-":
            options.append(word)
            if word in valued:
                next(rest, None)
        else:
            operands.append(word)
    return options, operands


def _all(words: list[str], _cwd: str) -> list[Target]:
    return [(path, False) for path in _split(words, ("-s", "-r"))[1]]


def _removed(words: list[str], _cwd: str) -> list[Target]:
    return [(path, True) for path in _split(words)[1]]


def _copied(words: list[str], cwd: str) -> list[Target]:
    names, into = _operands(words)
    return [(path, False) for path in _landing(names, into, cwd)]


def _moved(words: list[str], cwd: str) -> list[Target]:
    names, into = _operands(words)
    sources = names if into is not None else names[:-1]
    return [(path, True) for path in [*sources, *_landing(names, into, cwd)]]


def _operands(words: list[str]) -> tuple[list[str], str | None]:
    """Return what `mv` and `cp` name, and the folder given by `-t`."""
    into = None
    plain = []
    rest = iter(words)
    for word in rest:
        if word in ("-t", "--target-directory"):
            into = next(rest, None)
        elif word.startswith("--target-directory="):
            into = word.partition("=")[2]
        else:
            plain.append(word)
    return _split(plain, ("-S",))[1], into


def _landing(names: list[str], into: str | None, cwd: str) -> list[str]:
    """Return where things land: in a folder under their own names, or under the name given."""
    if into is None:
        if len(names) < 2:
            return []
        *names, into = names
        if not os.path.isdir(os.path.join(cwd, into)):
            return [into]
    return [os.path.join(into, os.path.basename(name.rstrip("/"))) for name in names if "\0" not in name]


def _in_place(words: list[str], _cwd: str) -> list[Target]:
    """`sed -i` and `perl -i`: the first operand is the script, unless an option gave one."""
    options, operands = _split(words, ("-e", "-f", "--expression", "--file"))
    if not any(word.startswith("--in-place") or (word[1:2] != "-" and "i" in word) for word in options):
        return []
    has_script = any(
        word.startswith(("--expression", "--file")) or (word[1:2] != "-" and word[-1] in "ef") for word in options
    )
    return [(path, False) for path in (operands if has_script else operands[1:])]


def _dd(words: list[str], _cwd: str) -> list[Target]:
    return [(word[3:], False) for word in words if word.startswith("of=")]


def _last(words: list[str], cwd: str) -> list[Target]:
    return [(path, True) for path in _landing(_split(words)[1], None, cwd)]


_IDIOMS = {
    "tee": _all,
    "touch": _all,
    "truncate": _all,
    "sed": _in_place,
    "perl": _in_place,
    "mv": _moved,
    "cp": _copied,
    "install": _copied,
    "ln": _last,
    "rm": _removed,
    "unlink": _removed,
    "rmdir": _removed,
    "dd": _dd,
}


def _by_git(words: list[str], cwd: str) -> list[Target]:
    """`git checkout|restore|rm|mv`, as they change files of the worktree."""
    folder = ""
    while words and words[0].startswith("-"):
        valued = words[0] in ("-C", "-c", "--git-dir", "--work-tree")
        if words[0] == "-C" and len(words) > 1:
            folder = os.path.join(folder, words[1])
        words = words[2:] if valued else words[1:]
    if not words or "\0" in folder:
        return []
    name, rest = words[0], words[1:]
    if name not in ("checkout", "restore", "rm", "mv") or "--cached" in rest or _only_stages(name, rest):
        return []
    valued_options = ("-s", "--source", "-b", "-B", "--orphan", "--pathspec-from-file")
    if "--" in rest:
        paths = rest[rest.index("--") + 1 :] + (_split(rest[: rest.index("--")])[1] if name in ("rm", "mv") else [])
    else:
        paths = _split(rest, valued_options)[1]
        if name == "checkout":  # a branch may be called as a file is; what exists as neither changes no file here
            paths = [path for path in paths if os.path.lexists(os.path.join(cwd, folder, path))]
    return [(os.path.join(folder, path), True) for path in paths if "\0" not in path and not path.startswith(":")]


def _only_stages(name: str, words: list[str]) -> bool:
    return name == "restore" and bool({"--staged", "-S"} & {*words}) and not {"--worktree", "-W"} & {*words}
