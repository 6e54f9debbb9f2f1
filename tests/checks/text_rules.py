#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""text_rules.py RULE [ROOT]: one rule about the text of our files.

A rule is (which files, what is wrong with a file's text). Rules about code
look at it without comments and strings.
"""
import pathlib
import re
import sys

import tree

CODE = {".hpp", ".cpp", ".cu", ".cuh", ".h", ".c"}
SOURCES = CODE | {".py", ".sh", ".cmake", ".pml", ".yaml", ".yml"}
UNIT_TESTS = ("tests/protocols/", "tests/kernels/", "tests/runtime/",
              "tests/actors/", "tests/conformance/")
MAX_BYTES = 500 * 1000


def is_source(path):
    return path.suffix in SOURCES or path.name == "CMakeLists.txt"


def without_comments(text):
    """Blanks out comments and literals, and keeps the lines."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])*\'',
        re.S)
    return pattern.sub(lambda m: "\n" * m.group().count("\n"), text)


def matching_lines(text, pattern, message):
    for number, line in enumerate(text.split("\n"), 1):
        if found := re.search(pattern, line):
            yield number, message.format(found.group())


def missing_spdx(data):
    head = data.decode(errors="replace").split("\n")[:3]
    if not any("SPDX-License-Identifier: Apache-2.0" in line for line in head):
        yield 1, "no 'SPDX-License-Identifier: Apache-2.0' in its first 3 lines"


def not_ascii(data):
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.isascii():
            yield number, "not ASCII; write other characters as escapes"


def sleeping(data):
    code = without_comments(data.decode(errors="replace"))
    yield from matching_lines(
        code, r"\b(sleep_for|sleep_until|usleep|nanosleep|system_clock)\b"
        r"|\bsleep\s*\(",
        "'{}' in a unit test; wait for a condition with a deadline, or inject "
        "a clock")


def bare_todo(data):
    yield from matching_lines(
        data.decode(errors="replace"),
        r"\b(TO"r"DO|FIX"r"ME|XX"r"X)\b(?!\(#\d+\): \w)",
        "'{0}' that names no issue; write it as {0}(#12): reason")


def floating(data):
    code = without_comments(data.decode(errors="replace"))
    yield from matching_lines(
        code, r"\b(float|double)\b",
        "'{}' in protocols/; send bit patterns or integers")


def too_big(data):
    if len(data) > MAX_BYTES:
        yield 1, f"{len(data)} bytes; at most {MAX_BYTES} are allowed"


RULES = {
    "spdx": (is_source, missing_spdx),
    # Golden scripts hold the texts that tokenizers are tried with.
    "ascii": (lambda p: is_source(p) and p.parts[:2] != ("tests", "golden"),
              not_ascii),
    "sleep": (lambda p: p.as_posix().startswith(UNIT_TESTS)
              and p.suffix in CODE, sleeping),
    "todo": (lambda p: is_source(p) or p.suffix == ".md", bare_todo),
    "float": (lambda p: p.parts[0] == "protocols" and p.suffix in CODE,
              floating),
    "size": (lambda p: True, too_big),
}


def check(rule, root):
    applies, problems = RULES[rule]
    return [f"{path}:{number}: {what}" for path in tree.files(root)
            if applies(path)
            for number, what in problems((root / path).read_bytes())]


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in RULES:
        sys.exit(f"usage: text_rules.py {'|'.join(RULES)} [ROOT]")
    tree.report(check(sys.argv[1], pathlib.Path(*sys.argv[2:3])))
