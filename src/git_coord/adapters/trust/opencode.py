"""opencode: plugins need no approval; a key of its other generation makes it leave out a whole configuration file."""

from __future__ import annotations

import os

from git_coord.adapters.findings import Finding, read_object, unsure, well, wrong

from . import Place

SWITCHES = ("OPENCODE_PURE", "OPENCODE_DISABLE_PROJECT_CONFIG")
"""Variables that leave out all plugins that are not built in, and everything of the project."""
FILES = ("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc")


def look(place: Place) -> list[Finding]:
    """Tell whether plugins are switched off, or the configuration beside them is one that cannot be used."""
    paths = [os.path.join(place.top, name) for name in FILES] + [os.path.join(place.home, name) for name in FILES[:2]]
    for name in SWITCHES:
        if place.env.get(name, "0").lower() in ("1", "true") and not (place.is_user and name == SWITCHES[1]):
            return [wrong("hooks", f"plugins are left out by {name} in this environment", f"unset {name}")]
    if any("plugins" in (read_object(path) or ()) for path in paths):
        text = "the configuration is that of opencode 2, which 1.x leaves out whole"
        return [unsure("hooks", text, "opencode --version")]
    return [well("trust", "it asks for no approval: the plugin runs")]
