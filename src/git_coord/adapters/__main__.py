"""`python -m git_coord.adapters settle`, or `join TOOL KEY`: what an edit hook starts beside itself."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    from .settle import join, run

    sys.exit(join(sys.argv[2], sys.argv[3]) if sys.argv[1] == "join" else run())
