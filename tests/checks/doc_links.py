#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""doc_links.py [ROOT]: links in our Markdown resolve, with their anchors, and
files that it names in backticks exist."""
import pathlib
import re
import sys

import tree

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
NAMED = re.compile(r"`((?:protocols|kernels|runtime|actors|tests|samples|docs)"
                   r"/[\w./-]*\.[a-z]+)`")


def anchors(text):
    """GitHub's: lower case, blanks to dashes, punctuation dropped."""
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
            for title in re.findall(r"^#+ (.*)$", text, re.M)}


def without_code_blocks(text):
    return re.sub(r"^```.*?^```", lambda m: "\n" * m.group().count("\n"), text,
                  flags=re.S | re.M)


def link_problem(root, path, target):
    if re.match(r"[a-z]+:", target):
        return None
    name, _, anchor = target.partition("#")
    there = root / path.parent / name if name else root / path
    if not there.exists():
        return f"links to {target}, which does not exist"
    if anchor and there.suffix == ".md" and anchor not in anchors(
            there.read_text()):
        return f"links to {target}, but there is no such heading"
    return None


def check(root):
    problems = []
    for path in tree.files(root):
        if path.suffix != ".md":
            continue
        text = without_code_blocks((root / path).read_text())
        for number, line in enumerate(text.split("\n"), 1):
            for match in LINK.finditer(line):
                if why := link_problem(root, path,
                                       match.group(1) or match.group(2)):
                    problems.append(f"{path}:{number}: {why}")
            for name in NAMED.findall(line):
                if not (root / name).exists():
                    problems.append(f"{path}:{number}: names {name}, which "
                                    "does not exist")
    return problems


if __name__ == "__main__":
    tree.report(check(pathlib.Path(*sys.argv[1:2])))
