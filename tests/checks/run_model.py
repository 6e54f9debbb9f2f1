#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_model.py DRAW_MACHINES MODEL [-DNAME...] MACHINE... [to|without ...]

Generates Promela from the machines' tables, puts it below tests/checks/models/
MODEL.pml, and lets spin search all of it. With a spoiled row (see
draw_machines.cpp) an error must be found, otherwise none. Skipped (77) without
spin or a C compiler.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MODELS = pathlib.Path(__file__).resolve().parent / "models"
SECONDS = 600


def run(folder, *command):
    out = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                         timeout=SECONDS)
    if out.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{out.stdout}{out.stderr}")
    return out.stdout


def search(folder, draw, model, defines, tables):
    pathlib.Path(folder, "machines.pml").write_text(
        run(folder, draw, "promela", *tables))
    shutil.copy(MODELS / f"{model}.pml", folder)
    run(folder, "spin", *defines, "-a", f"{model}.pml")
    run(folder, "cc", "-O1", "-w", "-DSAFETY", "-DVECTORSZ=1024", "-o", "pan",
        "pan.c")
    out = run(folder, "./pan", "-m20000", "-w22")
    if "max search depth too small" in out or "errors:" not in out:
        sys.exit(f"the search was not complete:\n{out}")
    num_errors = int(re.search(r"errors: (\d+)", out).group(1))
    trail = run(folder, "spin", *defines, "-t", f"{model}.pml") \
        if num_errors else ""
    states = re.search(r"(\S+) states, stored", out).group(1)
    print(f"{model}: {states} states, {num_errors} errors")
    return num_errors, out + trail


def main(draw, model, *words):
    for tool in ("spin", "cc"):
        if not shutil.which(tool):
            print(f"skipped: {tool} is missing (Debian packages: spin, gcc)")
            return 77
    defines = [w for w in words if w.startswith("-D")]
    tables = [w for w in words if not w.startswith("-D")]
    is_spoiled = bool({"to", "without"} & set(tables))
    with tempfile.TemporaryDirectory() as folder:
        num_errors, details = search(folder, str(pathlib.Path(draw).resolve()),
                                     model, defines, tables)
    if is_spoiled and not num_errors:
        print("the spoiled table was not noticed")
        return 1
    if num_errors and not is_spoiled:
        print(details)
        return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
