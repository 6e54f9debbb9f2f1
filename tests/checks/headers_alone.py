#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headers_alone.py COMPILER ROOT FOLDER [FLAG...]: every header of the folder
compiles alone."""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

import tree


def compile_alone(compiler, root, header, flags):
    run = subprocess.run(
        [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
         "-I", root, *flags, "-include", header, "-x", "c++", os.devnull],
        cwd=root, capture_output=True, text=True, timeout=300)
    if run.returncode == 0:
        return []
    return [f"{header}: does not compile alone\n{run.stderr[:600]}"]


def check(compiler, root, folder, flags):
    headers = [p for p in tree.files(root)
               if p.suffix == ".hpp" and p.as_posix().startswith(folder + "/")]
    if not headers:
        return [f"{folder}/ has no headers"]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(
            lambda h: compile_alone(compiler, root, h, flags), headers)
        return [problem for result in results for problem in result]


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit("usage: headers_alone.py COMPILER ROOT FOLDER [FLAG...]")
    tree.report(check(sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3],
                      sys.argv[4:]))
