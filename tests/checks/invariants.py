#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""invariants.py [ROOT]: every invariant id of the sources is named by a test,
its prefix stands in docs/glossary.md, and no id is defined in two files (a
definition reads "GS-1 (columns never change): ...")."""
import pathlib
import re
import sys

import tree

SOURCES = ("protocols", "kernels", "runtime", "actors")
CODE = {".hpp", ".cpp", ".cu", ".cuh"}
ID = re.compile(r"\b([A-Z]{2}-\d+)\b")
# The shutdown's ids have no dash: "I1: ..." in a table, an assertion.
SHUTDOWN_ID = re.compile(r"(?:\"|//[^\n]*\b)(I\d+)\b(?=[:\s])")
DEFINITION = re.compile(r"\b([A-Z]{2}-\d+) \(")


def check(root):
    named, ids, definitions, problems = "", {}, {}, []
    prefixes = set(re.findall(
        r"\b[A-Z]{1,2}\b",
        "".join(line.split("|")[1] for line in
                (root / "docs/glossary.md").read_text().split("\n")
                if re.match(r"\| [A-Z]{1,2}(, [A-Z]{1,2})* \|", line))))
    for path in tree.files(root):
        if path.parts[0] == "tests":
            if path.parts[:2] != ("tests", "checks") or "models" in path.parts:
                named += (root / path).read_text(errors="replace")
        elif path.parts[0] in SOURCES and path.suffix in CODE:
            text = (root / path).read_text(errors="replace")
            found = ID.findall(text)
            if path.parts[0] in ("protocols", "actors"):
                found += SHUTDOWN_ID.findall(text)
            for name in found:
                ids.setdefault(name, path)
            for name in DEFINITION.findall(text):
                definitions.setdefault(name, set()).add(path.as_posix())
    for name, path in sorted(ids.items()):
        if re.match("[A-Z]+", name).group() not in prefixes:
            continue # no id of ours: UTF-8
        if not re.search(rf"\b{name}\b", named):
            problems.append(f"{path}: no test names {name}")
    for name, paths in sorted(definitions.items()):
        if len(paths) > 1:
            problems.append(f"{name} is defined in {', '.join(sorted(paths))}")
    return problems


if __name__ == "__main__":
    tree.report(check(pathlib.Path(*sys.argv[1:2])))
