# SPDX-License-Identifier: Apache-2.0
"""The tests' Python: drivers run again in it, or skip."""
import os
import pathlib
import sys

VENV = pathlib.Path(os.environ.get(
    "XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "troupe/venv"
SKIPPED = 77


def enter():
    """Returns in the venv; exits 77, which CTest counts as skipped, without."""
    python = VENV / "bin/python"
    if not python.exists():
        print(f"skipped: no {python}; tests/run.sh makes it")
        sys.exit(SKIPPED)
    if pathlib.Path(sys.prefix).resolve() != VENV.resolve():
        os.execv(python, [str(python), *sys.argv])
