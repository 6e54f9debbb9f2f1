#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every check must fail when its rule is broken: each is run on a small tree
that breaks it and on one that does not."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
DRAW = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None
SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
HEADER = """enum class errc : int { none = 0, lost = 801, ///< gone
  late = 802 };"""
SOURCE = "bool is_retryable(errc c) { case errc::late: return true; }"
ROW = "| `{}` | {} | m | r | {} | d |\n"


def run(files, script, *arguments):
    """Writes the files into a folder and runs the check there."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return subprocess.run(
            [HERE / script if isinstance(script, str) else script[0],
             *arguments], cwd=folder, capture_output=True, text=True)


class checks(unittest.TestCase):
    def expect(self, files, complaint, script, *arguments):
        out = run(files, script, *arguments)
        self.assertEqual(out.returncode, 1 if complaint else 0,
                         out.stdout + out.stderr)
        self.assertIn(complaint, out.stdout + out.stderr)

    def rule(self, name, path, bad, good, complaint):
        self.expect({path: bad}, complaint, "text_rules.py", name)
        self.expect({path: good}, "", "text_rules.py", name)

    def test_text_rules(self):
        self.rule("spdx", "runtime/a.cpp", "int a;\n", SPDX, "a.cpp:1: no 'SPDX")
        self.rule("ascii", "kernels/a.hpp", 'auto s = "";  // "caf\u00e9"\n',
                  'auto s = "caf\u00e9";  // cafe\n', "a.hpp:1: not ASCII")
        self.rule("ascii", "tests/a.py", 's = 1  # caf\u00e9\n',
                  's = "caf\u00e9"  # cafe\n', "a.py:1: not ASCII")
        self.rule("sleep", "tests/runtime/a_test.cpp",
                  "void f() {\n  std::this_thread::sleep_for(1s); }",
                  "// sleep_for is not used\n", "a_test.cpp:2: 'sleep_for'")
        self.rule("names", "tests/actors/a_test.cpp",
                  'TEST_CASE("one; two") {}', 'TEST_CASE("one, two") {}',
                  "CTest's list")
        self.rule("sleep", "tests/actors/a_test.cpp", "{ sleep(1); }",
                  'const char* s = "sleep(1)";', "'sleep('")
        self.rule("sleep", "tests/runtime/b_test.cpp",
                  'auto s = R"(x)"; void f() { usleep(1); }',
                  'auto s = R"py(\ntime.sleep(9))py";', "'usleep'")
        self.rule("todo", "actors/a.cpp", "// TO" + "DO: later\n",
                  "// TO" + "DO(#12): drop with CAF 1.x\n", "names no issue")
        self.rule("float", "protocols/a.hpp", "int a;\ndouble x;\n",
                  "// no double here\nreal(double v) : b(std::bit_cast<u>(v)) {}",
                  "a.hpp:2: 'double': a floating type")
        self.rule("wait", "runtime/a.cpp",
                  "int a;\nauto t = std::chrono::seconds{3};\n",
                  "auto t = std::chrono::milliseconds{20}; // seconds{3}\n",
                  "a.cpp:2: 'seconds{3}' is a wait of its own")
        self.rule("wait", "actors/a.hpp", "constexpr milliseconds t{1};\n"
                  "auto u = milliseconds{5'000};", "", "a.hpp:2: 'millisec")
        self.rule("size", "tests/golden/a.bin", b"x" * 500001, b"x" * 500000,
                  "500001 bytes")

    def test_include_direction(self):
        bad = {"protocols/a.hpp": '#include "runtime/b.hpp"',
               "kernels/a.hpp": '#include "protocols/b.hpp"',
               "kernels/b.cpp": "#include <torch/types.h>",
               "runtime/a.hpp": '#include "actors/b.hpp"',
               "runtime/b.cpp": "#include <caf/actor.hpp>",
               "protocols/b.hpp": "#include <caf/actor.hpp>",
               "actors/a.cpp": '#include "tests/support/x.hpp"'}
        for name, text in bad.items():
            self.expect({name: text}, name + ":1: includes",
                        "include_direction.py", ".")
        self.expect({"actors/a.cpp": '#include "runtime/b.hpp"',
                     "runtime/c.cpp": "#include <caf/error.hpp>",
                     "protocols/messages.hpp": "#include <caf/all.hpp>"}, "",
                    "include_direction.py", ".")

    def test_libtorch_is_followed_through_headers(self):
        files = {"runtime/a.cpp": '#include "runtime/b.hpp"',
                 "runtime/b.hpp": '#include "runtime/c.hpp"',
                 "runtime/c.hpp": "#include <ATen/core/Tensor.h>",
                 "list": "runtime/a.cpp\n", "empty": ""}
        self.expect(files, "runtime/a.cpp -> runtime/b.hpp -> runtime/c.hpp -> "
                    "ATen/core/Tensor.h", "include_direction.py", ".", "list")
        self.expect(files, "names no source", "include_direction.py", ".",
                    "empty")
        files["runtime/c.hpp"] = ""
        self.expect(files, "", "include_direction.py", ".", "list")

    def test_doc_links(self):
        self.expect({"docs/a.md": "see [b](b.md)"}, "links to b.md",
                    "doc_links.py")
        self.expect({"docs/a.md": "[b](b.md#two)", "docs/b.md": "# One"},
                    "no such heading", "doc_links.py")
        self.expect({"a.md": "run `tests/run.sh`"}, "names tests/run.sh",
                    "doc_links.py")
        self.expect({"a.md": "[b](docs/b.md#one-two) [w](https://x.org/y)",
                     "docs/b.md": "# One two\n```\n[x](y)\n```"}, "",
                    "doc_links.py")

    def errors(self, table, complaint):
        self.expect({"protocols/failure.hpp": HEADER,
                     "protocols/failure.cpp": SOURCE, "docs/errors.md": table},
                    complaint, "error_table.py")

    def test_error_table(self):
        lost, late = ROW.format("lost", 801, "no"), ROW.format("late", 802, "yes")
        self.errors(lost + late, "")
        self.errors(lost, "0 rows for late")
        self.errors(lost + late + late, "2 rows for late")
        self.errors(lost + late + ROW.format("new", 9, "no"), "new is no code")
        self.errors(lost + ROW.format("late", 803, "yes"), "is 802, not 803")
        self.errors(lost + ROW.format("late", 802, "no"), "says otherwise")
        self.errors(lost + "| `late` | 802 | m | | yes | d |", "six filled")

    def test_invariants(self):
        files = {"docs/glossary.md": "| GS | group store |\n| I | shutdown |\n",
                 "runtime/a.hpp": "/// GS-1 (constant): a group is UTF-8.",
                 "protocols/a.hpp": '{e::late, "I8: who is missing"},'}
        tests = {"tests/a_test.cpp": '"GS-1: x" "I8: y"'}
        self.expect({**files, **tests}, "", "invariants.py")
        self.expect({**files, "tests/a_test.cpp": '"GS-11" "I8: y"'},
                    "runtime/a.hpp: no test names GS-1", "invariants.py")
        self.expect({**files, "tests/a_test.cpp": '"GS-1"'},
                    "protocols/a.hpp: no test names I8", "invariants.py")
        self.expect({**files, **tests, "kernels/b.hpp": "// GS-1 (again): b"},
                    "GS-1 is defined in kernels/b.hpp, runtime/a.hpp",
                    "invariants.py")

    def test_headers_alone(self):
        self.expect({"protocols/a.hpp": "#pragma once\nstd::string a();"},
                    "protocols/a.hpp: does not compile alone",
                    "headers_alone.py", "g++", ".", "protocols")
        self.expect({"protocols/a.hpp": "#pragma once\n#include <string>\n"
                     "std::string a();"}, "", "headers_alone.py", "g++", ".",
                    "protocols")

    def test_no_libtorch(self):
        self.assertEqual(run({}, "no_libtorch.sh", "absent").returncode, 77)
        self.expect({}, "", "no_libtorch.sh", "/bin/sh")
        fake = SPDX + "int torch_answer() { return 1; }"
        build = ("g++ -shared -fPIC -o libtorch_cpu.so a.cpp && "
                 "echo 'int torch_answer(); int main() { return torch_answer(); }'"
                 " > m.cpp && g++ m.cpp -o m -L. -ltorch_cpu && "
                 f"{HERE}/no_libtorch.sh ./m")
        self.expect({"a.cpp": fake}, "loads LibTorch", ["sh"], "-c", build)

    @unittest.skipUnless(DRAW, "draw_machines not given")
    def test_machine_drawings(self):
        docs = HERE.parents[1] / "docs/state_machines"
        files = {p.name: p.read_text() for p in docs.iterdir()}
        self.expect(files, "", [DRAW], "check", ".")
        for old, new in [("none --> writing", "none --> sealed"),
                         ("| CK-1: parts are missing |", "| fine |"),
                         ("<!-- end -->\n", "")]:
            self.assertIn(old, files["checkpoint.md"])
            bad = files["checkpoint.md"].replace(old, new, 1)
            self.expect({**files, "checkpoint.md": bad}, "checkpoint.md: ",
                        [DRAW], "check", ".")
        self.expect({**files, "ghost.md": ""}, "no such machine", [DRAW],
                    "check", ".")


if __name__ == "__main__":
    unittest.main()
