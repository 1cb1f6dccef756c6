"""The two flat files that the guard reads: `claims.snap`, all live items, and `policy.snap`, the team's rules.

Both are bytes in lines. Whatever is not exactly in this form decodes to None, and then the full program decides.
"""

CLAIMS_FILE = "claims.snap"
POLICY_FILE = "policy.snap"
_CLAIMS_HEAD = b"git-coord-snap 1\nfold "
_POLICY_HEAD = b"git-coord-policy 1\nfold "

LiveItem = tuple[bytes, bytes, bytes, bytes, int | None, int]
"""Folded path, `P` or `G`, `r` or `e`, agent, token (None: unconfirmed), when the lease ends."""
Rule = tuple[bytes, bytes, bytes]
"""`R` (a claim is required) or `X` (exempt), `P` or `G`, folded path."""
Claims = tuple[bytes, bytes, list[bytes], bool]
"""How names compare, the refs it was made from as `git for-each-ref` lists them, sorted lines of items, any globs?"""
Rules = tuple[bytes, list[Rule]]
"""How names compare, and the rules."""


def escape(path: bytes) -> bytes:
    """Return the path without newlines and tabs; its slashes stay."""
    if b"\n" in path or b"\t" in path or b"\\" in path:
        return path.replace(b"\\", b"\\\\").replace(b"\n", b"\\n").replace(b"\t", b"\\t")
    return path


def unescape(text: bytes) -> bytes:
    """Return the path that `escape` was given."""
    if b"\\" not in text:
        return text
    parts = text.split(b"\\\\")
    return b"\\".join(part.replace(b"\\n", b"\n").replace(b"\\t", b"\t") for part in parts)


def encode_claims(fold: str, refs: bytes, items: list[LiveItem]) -> bytes:
    """Return the file for these items; `refs` are lines exactly as `git for-each-ref` prints them."""
    lines = [
        b"%s\t%s\t%s\t%s\t%s\t%d" % (escape(path), kind, intent, agent, b"-" if token is None else b"%d" % token, end)
        for path, kind, intent, agent, token, end in items
    ]
    lines.sort()
    head = b"%s%s\nrefs %d\n%s" % (_CLAIMS_HEAD, fold.encode("ascii"), refs.count(b"\n"), refs)
    return b"%sitems %d\n%s" % (head, len(lines), b"".join(line + b"\n" for line in lines))


def decode_claims(data: bytes) -> Claims | None:
    """Return what `encode_claims` was given, its items still as lines: 1,000 of them are split in 20 microseconds."""
    if not data.startswith(_CLAIMS_HEAD):
        return None
    fold, _, rest = data[len(_CLAIMS_HEAD) :].partition(b"\nrefs ")
    head, found, rest = rest.partition(b"items ")  # neither an object id nor a ref name of ours contains that
    refs_count, _, refs = head.partition(b"\n")
    count, _, body = rest.partition(b"\n")
    lines = body.split(b"\n")
    if not found or lines.pop() or count != b"%d" % len(lines) or refs_count != b"%d" % refs.count(b"\n"):
        return None
    return fold, refs, lines, b"\tG\t" in body


def stamp(size: int, mtime: int, inode: int) -> bytes:
    """Return what tells one version of the rules file from another; times in nanoseconds."""
    return b"%d %d %d" % (size, mtime, inode)


NO_FILE = b"-"
"""The stamp of a worktree that has no rules file."""


def encode_policy(fold: str, stamped: bytes, rules: list[Rule]) -> bytes:
    """Return the file for these rules."""
    lines = [b"%s\t%s\t%s\n" % (sort, kind, escape(path)) for sort, kind, path in rules]
    head = b"%s%s\nstamp %s\nrules %d\n" % (_POLICY_HEAD, fold.encode("ascii"), stamped, len(lines))
    return head + b"".join(lines)


def decode_policy(data: bytes, stamped: bytes) -> Rules | None:
    """Return the rules if the file is whole and was made from the version that has this stamp."""
    if not data.startswith(_POLICY_HEAD):
        return None
    lines = data[len(_POLICY_HEAD) :].split(b"\n")
    if len(lines) < 4 or lines.pop() or lines[1] != b"stamp " + stamped or lines[2] != b"rules %d" % (len(lines) - 3):
        return None
    return lines[0], [_rule(line) for line in lines[3:]]


def _rule(line: bytes) -> Rule:
    sort, kind, path = line.split(b"\t")
    return sort, kind, unescape(path)
