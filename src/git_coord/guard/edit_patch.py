"""The files that an `apply_patch` envelope names: added, updated, deleted, moved to."""

BEGIN = "*** Begin Patch"
HEADERS = ("*** Update File:", "*** Add File:", "*** Delete File:", "*** Move to:")


def patched(text: str) -> list[str]:
    """Return every path of a patch's headers, which may be indented; a patch without headers names none."""
    lines = [line.strip() for line in text.splitlines()]
    found = [line[len(header) :].strip() for line in lines for header in HEADERS if line.startswith(header)]
    return list(dict.fromkeys(path for path in found if path))
