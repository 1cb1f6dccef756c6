"""`python -m git_coord.adapters settle`, `depart` or `join TOOL KEY`: what an edit hook starts beside itself."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    from .settle import depart, join, run

    if sys.argv[1] == "join":
        sys.exit(join(sys.argv[2], sys.argv[3]))
    sys.exit(depart() if sys.argv[1] == "depart" else run())
