# SPDX-License-Identifier: Apache-2.0
"""Jobs as real processes, for the integration tests: start one, read its
lines, signal its processes, look at what it left. Nothing here sleeps to wait
for something: reads block on the job's own output, waits have deadlines."""
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TROUPE = os.environ.get("TROUPE_BINARY", str(ROOT / "build/bin/troupe"))
TINY = ROOT / "tests/support/tiny.yaml"

# Keys that tests change; an override of a test wins, None takes one out.
DEFAULTS = {
    "data.eval.file": ROOT / "samples/addition/eval.jsonl",
    "model.fresh.max_positions": 64,
    "train.prompts_per_step": 4, "train.samples_per_prompt": 4,
    "eval.max_prompts": 8, "rollout.slots": 16,
    "rollout.sampling.max_new_tokens": 6, "eval.sampling.max_new_tokens": 6,
}


class Job:
    """One `troupe run` with its launcher, coordinator and rank."""

    def __init__(self, folder, *flags, **overrides):
        self.directory = pathlib.Path(folder) / "run"
        self.lines = []
        keys = {"run.directory": self.directory, **DEFAULTS, **overrides}
        arguments = [TROUPE, "run", str(TINY), *flags,
                     *(f"{k}={v}" for k, v in keys.items() if v is not None)]
        self.stderr = tempfile.TemporaryFile(mode="w+")
        self.process = subprocess.Popen(
            arguments, stdout=subprocess.PIPE, stderr=self.stderr,
            cwd=folder, start_new_session=True)
        self._rest = b""

    def wait_for(self, text, deadline=60):
        """Reads the job's lines until one holds `text`; returns it."""
        until = time.monotonic() + deadline
        while True:
            while b"\n" in self._rest:
                line, self._rest = self._rest.split(b"\n", 1)
                self.lines.append(line.decode())
                if text in self.lines[-1]:
                    return self.lines[-1]
            left = until - time.monotonic()
            ready, _, _ = select.select([self.process.stdout], [], [],
                                        max(0, left))
            if not ready:
                raise AssertionError(f"no line with {text!r} in {deadline} s; "
                                     f"got {self.lines[-5:]}, {self.errors()}")
            block = os.read(self.process.stdout.fileno(), 65536)
            if not block:
                raise AssertionError(f"the job ended before {text!r}: "
                                     f"{self.lines[-5:]}, {self.errors()}")
            self._rest += block

    def wait_for_record(self, *texts, process="coordinator", deadline=60):
        """Waits until the journal of a process has a record with all texts."""
        until = time.monotonic() + deadline
        path = self.directory / "journal" / f"{process}.jsonl"
        while time.monotonic() < until:
            if path.exists():
                for line in path.read_text(errors="replace").splitlines():
                    if all(text in line for text in texts):
                        return json.loads(line)
            # Wakes at the job's next output, or looks again.
            select.select([self.process.stdout], [], [], 0.005)
            if self.process.poll() is not None:
                raise AssertionError(f"ended before {texts}: {self.errors()}")
        raise AssertionError(f"no record with {texts} in {deadline} s")

    def end(self, deadline=60):
        """Waits for the end; returns the exit code."""
        out, _ = self.process.communicate(timeout=deadline)
        self.lines += (self._rest + out).decode().splitlines()
        self._rest = b""
        return self.process.returncode

    def errors(self):
        self.stderr.seek(0)
        return self.stderr.read()

    def signal(self, number=signal.SIGINT):
        """Sends a signal to the launcher and waits until it was taken: two
        that are pending at once count as one."""
        self.process.send_signal(number)
        status = pathlib.Path(f"/proc/{self.process.pid}/status")
        while self.process.poll() is None:
            pending = [line for line in status.read_text().splitlines()
                       if line.startswith(("SigPnd", "ShdPnd"))]
            if all(int(line.split()[1], 16) == 0 for line in pending):
                return

    def pid_of(self, process):
        """The pid of "coordinator" or "rank-0", from its command line."""
        word = {"coordinator": b"\0coordinator\0"}.get(
            process, b"\0" + process.encode() + b"\0")
        for pid in self.processes():
            line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
            if word in line:
                return pid
        raise AssertionError(f"no process {process}: {self.errors()}")

    def processes(self):
        """Pids of all processes that name the run directory, launcher
        included."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                line = (entry / "cmdline").read_bytes()
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue
            if str(self.directory).encode() in line and state[0] not in "ZX":
                found.append(int(entry.name))
        return found

    def tree(self):
        """Pids of the launcher and all below it, however they call
        themselves."""
        parents = {}
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    stat = (entry / "stat").read_text()
                except OSError:
                    continue
                parents[int(entry.name)] = int(stat.rsplit(")", 1)[1].split()[1])
        found = [self.process.pid]
        for pid in found:
            found += [child for child, parent in parents.items()
                      if parent == pid]
        return found

    def await_nothing_left(self, deadline=5):
        until = time.monotonic() + deadline
        while self.processes():
            if time.monotonic() > until:
                raise AssertionError(f"still there: {self.processes()}")
            select.select([], [], [], 0.01)

    # -- what it left ---------------------------------------------------------

    def summary(self):
        return json.loads((self.directory / "summary.json").read_text())

    def metrics(self):
        text = (self.directory / "metrics.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def records(self, process):
        """The journal of a process."""
        text = (self.directory / "journal" / f"{process}.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def checkpoints(self):
        folder = self.directory / "checkpoints"
        return sorted(p.name for p in folder.iterdir()
                      if p.name.startswith("step-") and p.suffix == "")


def troupe(*arguments, cwd=None, deadline=60):
    """Runs a command to its end."""
    return subprocess.run([TROUPE, *map(str, arguments)], cwd=cwd, text=True,
                          capture_output=True, timeout=deadline)


class JobTest(unittest.TestCase):
    """A test with a folder of its own and no survivors."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="troupe-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.jobs = []

    def tearDown(self):
        for job in self.jobs:
            if job.process.poll() is None:
                job.process.kill()
                job.process.wait()
            job.process.stdout.close()
            job.stderr.close()

    def start(self, *flags, **overrides):
        """Keys as in start(**{"train.steps": 3})."""
        self.jobs.append(Job(self.folder, *flags, **overrides))
        return self.jobs[-1]

    def assert_journal_is_legal(self, job):
        checked = troupe("journal", "check", job.directory)
        self.assertEqual(checked.returncode, 0, checked.stdout)
        self.assertIn("0 findings", checked.stdout)

    def chain_of(self, job, subject, event):
        """What `troupe journal why` says of the last such record."""
        last = None
        for process in ("coordinator", "rank-0"):
            for record in job.records(process):
                if (record["subj"], record["event"]) == (subject, event):
                    last = f"{record['proc']}/{record['seq']}"
        self.assertIsNotNone(last, f"no record {event} of {subject}")
        why = troupe("journal", "why", job.directory, last)
        self.assertEqual(why.returncode, 0, why.stdout)
        return why.stdout

    def assert_in_order(self, text, parts):
        at = 0
        for part in parts:
            found = text.find(part, at)
            self.assertGreaterEqual(found, 0, f"{part!r} is not in its place "
                                    f"in:\n{text}")
            at = found + len(part)

    def assert_clean(self, job, code=0):
        self.assertEqual(job.end(), code, job.errors())
        self.assertEqual(job.errors(), "")
        job.await_nothing_left()
        self.assert_journal_is_legal(job)


if __name__ == "__main__":
    sys.exit("tests/integration/*.py use this file")
