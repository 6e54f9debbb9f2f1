# SPDX-License-Identifier: Apache-2.0
"""Each way down: in order, by abort, by a loss; who is terminal at its end."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support.job import TINY, TROUPE, JobTest, troupe  # noqa: E402

NO_EVAL = {"data.eval.file": None, "eval.max_prompts": None,
           "eval.sampling.max_new_tokens": None}


def records(job, process):
    path = job.directory / "journal" / f"{process}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def moves(job, process, kind, subject=None):
    """ "from -> to by event" of each move of a machine."""
    return [f"{r['from']} -> {r['to']} by {r['event']}"
            for r in records(job, process)
            if r["kind"] == kind and subject in (None, r["subj"])]


class WayDown(JobTest):
    def reward(self, text):
        path = pathlib.Path(self.folder) / "reward.py"
        path.write_text(text)
        return {"reward.kind": "python", "reward.python": f"{path}:f",
                **NO_EVAL}

    def test_in_order_a_child_is_terminal_before_its_owner(self):
        """I5, I9: the rollout ends stopped, each process by one record."""
        job = self.start(**{"train.steps": 1})
        self.assert_clean(job)
        self.assertEqual(moves(job, "rank-0", "rollout")[-1],
                         "ready -> stopped by stop_requested")
        lives = [r for r in records(job, "rank-0") if r["kind"] == "actor"
                 and r["to"] == "stopped"]
        self.assertEqual(lives[-1]["subj"], "rank_supervisor/dp=0/tp=0")
        self.assertIn("rollout/dp=0/tp=0", [r["subj"] for r in lives])
        self.assertEqual(moves(job, "coordinator", "shutdown")[-1],
                         "s9 -> done by phase_acked")

    def test_a_loop_that_gives_up_is_closed_in_order(self):
        job = self.start(**{
            "train.steps": 2, "reward.on_error": "stop",
            **self.reward("def f(completions, **_):\n"
                          "    raise ValueError('no')\n")})
        self.assertEqual(job.end(), 1)
        self.assertIn("running -> closing by loop_failed",
                      moves(job, "coordinator", "job"))
        self.assertEqual(moves(job, "coordinator", "job")[-1],
                         "closing -> failed by shutdown_finished")
        self.assertEqual(moves(job, "coordinator", "shutdown")[-1],
                         "s9 -> done by phase_acked")
        self.assert_journal_is_legal(job)

    def test_an_abort_tells_the_rank_and_is_done(self):
        job = self.start(**{
            "train.steps": 50,
            **self.reward("import time\n"
                          "def f(completions, **_):\n"
                          "    time.sleep(60)\n")})
        job.wait_for_record('"kind":"group"', '"to":"rewarding"')
        job.signal()
        job.signal()
        self.assertEqual(job.end(), 130)
        job.await_nothing_left()
        self.assertEqual(moves(job, "coordinator", "shutdown"),
                         ["idle -> aborting by abort_requested",
                          "aborting -> done by phase_acked"])
        self.assertEqual(moves(job, "coordinator", "job")[-1],
                         "closing -> failed by shutdown_finished")
        self.assertEqual(moves(job, "rank-0", "rank")[-1],
                         "ready -> stopped by abort_requested")
        self.assertEqual(moves(job, "rank-0", "rollout")[-1].split()[2],
                         "stopped")
        self.assert_journal_is_legal(job)

    def test_a_drain_drops_the_groups_under_way(self):
        job = self.start(**{
            "train.steps": 3, "model.fresh.max_positions": 20000,
            "rollout.sampling.max_new_tokens": 16000,
            "rollout.sampling.min_new_tokens": 16000, **NO_EVAL})
        job.wait_for_record('"kind":"slot"', '"to":"decoding"',
                            process="rank-0")
        job.signal()
        self.assertEqual(job.end(), 0, job.errors())
        groups = moves(job, "coordinator", "group")
        self.assertEqual(groups[-4:],
                         4 * ["generating -> dropped by drop_requested"])
        self.assert_journal_is_legal(job)

    def test_a_loss_is_recorded_for_each_actor_and_in_the_card(self):
        job = self.start(**{"train.steps": 100000, "eval.max_prompts": 1})
        job.wait_for(" 2/")
        os.kill(job.pid_of("rank-0"), signal.SIGKILL)
        self.assertEqual(job.end(), 1)
        lost = {r["subj"] for r in records(job, "coordinator")
                if r["kind"] == "actor" and r["to"] == "lost"}
        self.assertEqual(lost, {
            "rank_supervisor/dp=0/tp=0", "parameter_shard/dp=0/tp=0",
            "cache_owner/dp=0/tp=0", "rollout/dp=0/tp=0", "trainer/dp=0/tp=0"})
        self.assert_journal_is_legal(job)
        seen = troupe("inspect", "processes", job.directory).stdout
        line = next(x for x in seen.splitlines() if x.startswith("rank-0"))
        self.assertIn("signal 9 (SIGKILL)", line)

    def test_as_many_groups_are_graded_as_there_are_workers(self):
        marks = pathlib.Path(self.folder) / "marks"
        marks.mkdir()
        job = self.start(**{
            "train.steps": 1, "reward.workers": 2, "reward.timeout_s": 20,
            "reward.on_error": "stop",
            **self.reward(
                "import os, time\n"
                "def f(completions, **_):\n"
                f"    open('{marks}/' + str(os.getpid()), 'w').close()\n"
                "    until = time.monotonic() + 15\n"
                f"    while len(os.listdir('{marks}')) < 2:\n"
                "        if time.monotonic() > until:\n"
                "            raise RuntimeError('graded alone')\n"
                "    return [0.0] * len(completions)\n")})
        self.assertEqual(job.end(), 0, job.errors())


class Refusals(JobTest):
    def test_a_rank_of_another_build_is_refused_by_name(self):
        """A copy of both binaries, one with another build's name in it."""
        here = pathlib.Path(TROUPE).resolve().parent
        binaries = pathlib.Path(self.folder) / "bin"
        binaries.mkdir()
        shutil.copy(here / "troupe", binaries)
        text = (here / "troupe_rank").read_bytes()
        name = re.search(rb"\d+\.\d+\.\d+\+[0-9a-f]{12}\0", text).group()[:-1]
        other = name[:-4] + b"0bad"
        (binaries / "troupe_rank").write_bytes(text.replace(name, other))
        (binaries / "troupe_rank").chmod(0o755)
        ended = subprocess.run(
            [binaries / "troupe", "run", TINY, "train.steps=1",
             f"run.directory={self.folder}/run"],
            capture_output=True, text=True, timeout=60)
        self.assertEqual(ended.returncode, 2, ended.stderr)
        self.assertIn(f"is of build {other.decode()}, the coordinator of "
                      f"{name.decode()}: both binaries must come from one "
                      "build", ended.stderr)

    def test_a_rank_does_not_wait_for_a_coordinator_that_says_nothing(self):
        job = self.start(**{"train.steps": 1, "limits.deadline_scale": 0.3})
        self.assertEqual(job.end(), 0, job.errors())
        listening = socket.create_server(("127.0.0.1", 0)) # never accepts
        ours, theirs = socket.socketpair()
        port = listening.getsockname()[1]
        started = time.monotonic()
        ended = subprocess.run(
            ["sh", "-c", f'exec "$@" 3<&{theirs.fileno()}', "sh",
             pathlib.Path(TROUPE).resolve().parent / "troupe_rank",
             job.directory, "rank-0", f"127.0.0.1:{port}", "x", "train"],
            capture_output=True, text=True, timeout=60,
            pass_fds=[theirs.fileno()])
        self.assertEqual(ended.returncode, 1)
        self.assertIn(f"no connection to the coordinator at 127.0.0.1:{port} "
                      "within 3000 ms", ended.stderr)
        self.assertLess(time.monotonic() - started, 20)
        for s in (listening, ours, theirs):
            s.close()


if __name__ == "__main__":
    unittest.main()
