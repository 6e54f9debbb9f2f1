# SPDX-License-Identifier: Apache-2.0
"""The files that checks look at: what git tracks, or, outside a repository,
all files below the root."""
import pathlib
import subprocess
import sys

BUILD_FOLDERS = {"build", ".git", "__pycache__"}


def files(root):
    """Returns paths relative to the root, sorted."""
    root = pathlib.Path(root)
    if (root / ".git").exists():
        out = subprocess.run(
            ["git", "-C", root, "ls-files", "-z", "--cached", "--others",
             "--exclude-standard"], check=True, capture_output=True).stdout
        paths = [pathlib.Path(p) for p in out.decode().split("\0") if p]
        return sorted(p for p in paths if (root / p).is_file())
    return sorted(p.relative_to(root) for p in root.rglob("*")
                  if p.is_file() and not BUILD_FOLDERS & set(p.parts))


def report(problems):
    """Prints each problem and ends the process: 1 if there is one."""
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)
