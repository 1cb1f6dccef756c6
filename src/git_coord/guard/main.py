"""Where a hook's shim enters: `python -I -S main.py [--settings=TEXT] HOOK ARGS...`, without site-packages.

Kept to a few lines: a file that is run, unlike one that is imported, is compiled anew each time.
"""

import os
import sys

if __name__ == "__main__":
    # Only our own folder: looking through all of site-packages' neighbours for three modules would take longer.
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    from git_coord.guard.fast import run

    run(sys.argv[1:])
