#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""error_table.py [ROOT]: docs/errors.md has one row for each code of
protocols/failure.hpp, with its number, and agrees with is_retryable()."""
import pathlib
import re
import sys

import tree


def enumerators(header):
    body = re.search(r"enum class errc[^{]*\{(.*?)\};", header, re.S).group(1)
    body = re.sub(r"//[^\n]*", "", body)
    return [(name, int(number))
            for name, number in re.findall(r"(\w+)\s*=\s*(\d+)", body)
            if name != "none"]


def retryable(source):
    body = source[source.index("bool is_retryable"):]
    body = body[:body.index("return true")]
    return set(re.findall(r"errc::(\w+)", body))


def rows(text):
    """Returns (name, number, retryable) and how many filled cells a row has."""
    for line in text.split("\n"):
        cells = [cell.strip() for cell in line.strip("| \n").split("|")]
        if cells and re.fullmatch(r"`\w+`", cells[0]):
            yield cells[0].strip("`"), cells


def check(root):
    codes = enumerators((root / "protocols/failure.hpp").read_text())
    may_retry = retryable((root / "protocols/failure.cpp").read_text())
    table = list(rows((root / "docs/errors.md").read_text()))
    names = [name for name, _ in table]
    problems = []
    numbers = [number for _, number in codes]
    for number in {n for n in numbers if numbers.count(n) > 1}:
        problems.append(f"errc: number {number} is used twice")
    for name, number in codes:
        if names.count(name) != 1:
            problems.append(f"docs/errors.md: {names.count(name)} rows for "
                            f"{name}; there must be one")
    for name, cells in table:
        known = dict(codes).get(name)
        if known is None:
            problems.append(f"docs/errors.md: {name} is no code")
        elif len(cells) != 6 or not all(cells):
            problems.append(f"docs/errors.md: {name} needs six filled cells")
        elif cells[1] != str(known):
            problems.append(f"docs/errors.md: {name} is {known}, not {cells[1]}")
        elif cells[4] != ("yes" if name in may_retry else "no"):
            problems.append(f"docs/errors.md: {name}: retryable is "
                            f"'{cells[4]}', is_retryable() says otherwise")
    return problems


if __name__ == "__main__":
    tree.report(check(pathlib.Path(*sys.argv[1:2])))
