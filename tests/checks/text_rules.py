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
              "tests/actors/")
MAX_BYTES = 500 * 1000


def is_source(path):
    return path.suffix in SOURCES or path.name == "CMakeLists.txt"


COMMENT = r'//[^\n]*|/\*.*?\*/'
LITERAL = (r'R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'
           r"|(?<!\w)'(?:\\.|[^'\\\n])*'")
PYTHON_COMMENT = r'#[^\n]*|""".*?"""'


def blanked(text, kept, dropped):
    """Blanks out what `dropped` matches, except within what `kept` does."""
    return re.sub(f"(?P<kept>{kept})|{dropped}", lambda m: m["kept"]
                  if m["kept"] else "\n" * m.group().count("\n"), text,
                  flags=re.S)


def without_comments(text):
    return blanked(text, "(?!)", f"{COMMENT}|{LITERAL}")


def matching_lines(text, pattern, message):
    for number, line in enumerate(text.split("\n"), 1):
        if found := re.search(pattern, line):
            yield number, message.format(found.group())


def missing_spdx(path, data):
    head = data.decode(errors="replace").split("\n")[:3]
    if not any("SPDX-License-Identifier: Apache-2.0" in line for line in head):
        yield 1, "no 'SPDX-License-Identifier: Apache-2.0' in its first 3 lines"


def not_ascii(path, data):
    """Comments and code; a string may hold what it is about."""
    text = data.decode(errors="surrogateescape")
    if path.suffix in CODE:
        text = blanked(text, COMMENT, LITERAL)
    elif path.suffix == ".py":
        text = blanked(text, PYTHON_COMMENT, LITERAL)
    for number, line in enumerate(text.split("\n"), 1):
        if not line.isascii():
            yield number, "not ASCII outside of a string"


def sleeping(path, data):
    code = without_comments(data.decode(errors="replace"))
    yield from matching_lines(
        code, r"\b(sleep_for|sleep_until|usleep|nanosleep|system_clock)\b"
        r"|\bsleep\s*\(",
        "'{}' in a unit test; wait for a condition with a deadline, or inject "
        "a clock")


def bare_todo(path, data):
    yield from matching_lines(
        data.decode(errors="replace"),
        r"\b(TO"r"DO|FIX"r"ME|XX"r"X)\b(?!\(#\d+\): \w)",
        "'{0}' that names no issue; write it as {0}(#12): reason")


def floating(path, data):
    code = without_comments(data.decode(errors="replace"))
    yield from matching_lines(
        code, r"^(?!.*\bbit_cast\b).*\b(float|double)\b",
        "'{}': a floating type in protocols/; send its bit pattern")


def untabled_wait(path, data):
    """Pauses between two looks, up to 50 ms, are no deadlines."""
    code = without_comments(data.decode(errors="replace"))
    for unit, limit in (("milliseconds", 50), ("seconds", 0), ("minutes", 0)):
        for number, text in matching_lines(
                code, rf"\b{unit}\{{[\d']+\}}",
                "'{}' is a wait of its own; make it a row in "
                "runtime/config/deadlines.hpp"):
            if int(re.search(r"\{([\d']+)", text)[1].replace("'", "")) > limit:
                yield number, text


def unlistable(path, data):
    yield from matching_lines(
        data.decode(errors="replace"), r'TEST_CASE(_FIXTURE)?\([^"]*"[^"]*[;\[\]]',
        "'{}': CTest's list of tests breaks at ; [ and ] in a name")


def too_big(path, data):
    if len(data) > MAX_BYTES:
        yield 1, f"{len(data)} bytes; at most {MAX_BYTES} are allowed"


RULES = {
    "spdx": (is_source, missing_spdx),
    "ascii": (is_source, not_ascii),
    "sleep": (lambda p: p.as_posix().startswith(UNIT_TESTS)
              and p.suffix in CODE, sleeping),
    "todo": (lambda p: is_source(p) or p.suffix == ".md", bare_todo),
    "float": (lambda p: p.parts[0] == "protocols" and p.suffix in CODE,
              floating),
    "wait": (lambda p: p.parts[0] in ("runtime", "actors")
             and p.suffix in CODE and p.name != "deadlines.hpp",
             untabled_wait),
    "names": (lambda p: p.parts[0] == "tests" and p.suffix in CODE,
              unlistable),
    "size": (lambda p: True, too_big),
}


def check(rule, root):
    applies, problems = RULES[rule]
    return [f"{path}:{number}: {what}" for path in tree.files(root)
            if applies(path)
            for number, what in problems(path, (root / path).read_bytes())]


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in RULES:
        sys.exit(f"usage: text_rules.py {'|'.join(RULES)} [ROOT]")
    tree.report(check(sys.argv[1], pathlib.Path(*sys.argv[2:3])))
