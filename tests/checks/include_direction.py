#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""include_direction.py ROOT [BASE_SOURCES_FILE]: who may include whom.

actors -> runtime -> {protocols, kernels}, and nothing back. With the list of
the sources of targets that must not see LibTorch (one a line), their includes
are followed, too.
"""
import pathlib
import re
import sys

import tree

ALLOWED = {
    "protocols": {"protocols"},
    "kernels": {"kernels"},
    "runtime": {"runtime", "protocols", "kernels"},
    "actors": {"actors", "runtime", "protocols", "kernels"},
}
OURS = set(ALLOWED) | {"tests", "samples"}
TORCH = ("torch/", "ATen/", "c10/")
# Values of CAF that are no actors may be used by the runtime.
CAF_VALUES = {"caf/error.hpp", "caf/expected.hpp"}
CAF_HEADERS = {"messages.hpp", "message_types.hpp", "interfaces.hpp"}
CODE = {".hpp", ".cpp", ".cu", ".cuh"}


def includes(path):
    text = path.read_text(errors="replace")
    return [(text.count("\n", 0, m.start()) + 1, m.group(1))
            for m in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]',
                                 text, re.M)]


def refusal(path, target):
    """Says why this file must not include that, or nothing."""
    folder, first = path.parts[0], target.split("/")[0]
    if first in OURS and first not in ALLOWED[folder]:
        return f"{folder}/ may include {', '.join(sorted(ALLOWED[folder]))} only"
    if target.startswith(TORCH) and folder in ("protocols", "kernels"):
        return f"{folder}/ knows no LibTorch"
    if first != "caf" or folder == "actors" or target in CAF_VALUES:
        return None
    if folder == "protocols" and path.name in CAF_HEADERS:
        return None
    return "CAF only in actors/ and in the message headers of protocols/"


def direction(root):
    return [f"{path}:{number}: includes {target}: {why}"
            for path in tree.files(root)
            if path.parts[0] in ALLOWED and path.suffix in CODE
            for number, target in includes(root / path)
            if (why := refusal(path, target))]


def libtorch_reached(root, source):
    """Follows includes from a source; returns the first way to LibTorch."""
    seen, todo = set(), [(source, [source])]
    while todo:
        path, way = todo.pop()
        for _, target in includes(path):
            if target.startswith(TORCH):
                names = [str(p.relative_to(root)) for p in way] + [target]
                return " -> ".join(names)
            header = root / target
            if header.is_file() and header not in seen:
                seen.add(header)
                todo.append((header, way + [header]))
    return None


def without_libtorch(root, sources):
    return [f"{way}: this target must not see LibTorch"
            for source in sources
            if (way := libtorch_reached(root, source))]


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: include_direction.py ROOT [BASE_SOURCES_FILE]")
    top = pathlib.Path(sys.argv[1]).resolve()
    problems = direction(top)
    if len(sys.argv) == 3:
        lines = pathlib.Path(sys.argv[2]).read_text().split()
        if not lines:
            problems.append(f"{sys.argv[2]}: names no source")
        problems += without_libtorch(top, [top / line for line in lines])
    tree.report(problems)
