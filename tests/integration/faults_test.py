# SPDX-License-Identifier: Apache-2.0
"""Signals, kills and freezes at every phase of a job."""
import os
import pathlib
import re
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support.job import JobTest, troupe  # noqa: E402

# Generates for many seconds: no stop token before the budget ends.
LONG = {"train.steps": 3, "model.fresh.max_positions": 20000,
        "rollout.sampling.max_new_tokens": 16000,
        "rollout.sampling.min_new_tokens": 16000, "eval.max_prompts": 1,
        "eval.sampling.min_new_tokens": 0}


NO_EVAL = {"data.eval.file": None, "eval.max_prompts": None,
           "eval.sampling.max_new_tokens": None}


class Signals(JobTest):
    def drained(self, job, checkpoint="step-0"):
        self.assertEqual(job.end(), 0, job.errors())
        job.await_nothing_left()
        if checkpoint:
            self.assertIn(checkpoint, job.checkpoints())
        self.assertTrue(job.checkpoints())
        self.assertEqual(job.summary()["status"], "stopped")
        self.assert_journal_is_legal(job)

    def test_once_while_loading(self):
        job = self.start(**{"train.steps": 5000})
        job.wait_for_record('"kind":"job"', '"to":"joining"')
        job.signal()
        # The signal may come when loading is over.
        self.drained(job, checkpoint=None)

    def test_once_while_generating(self):
        job = self.start(**LONG)
        job.wait_for_record('"kind":"slot"', '"to":"decoding"',
                            process="rank-0")
        job.wait_for("heldout_accuracy")
        job.wait_for_record('"kind":"group"', '"to":"generating"')
        job.signal()
        self.drained(job)

    def test_once_while_rewarding(self):
        reward = pathlib.Path(self.folder) / "slow.py"
        reward.write_text("import time\n"
                          "def f(completions, **_):\n"
                          "    time.sleep(1)\n"
                          "    return [0.5] * len(completions)\n")
        job = self.start(**{"train.steps": 50, "reward.kind": "python",
                            "reward.python": f"{reward}:f", **NO_EVAL})
        job.wait_for_record('"kind":"group"', '"to":"rewarding"')
        job.signal()
        self.assertEqual(job.end(), 0, job.errors())
        job.await_nothing_left()
        self.assertEqual(job.summary()["status"], "stopped")
        self.assertTrue(job.checkpoints())

    def test_once_while_training(self):
        job = self.start(**{"train.steps": 5000})
        job.wait_for_record('"kind":"weights"', '"to":"training"',
                            process="rank-0")
        job.signal()
        self.assertEqual(job.end(), 0, job.errors())
        job.await_nothing_left()
        self.assertEqual(job.summary()["status"], "stopped")
        self.assertTrue(job.checkpoints())
        self.assert_journal_is_legal(job)

    def test_once_while_saving(self):
        job = self.start(**{"train.steps": 5000, "run.save_every_steps": 1})
        job.wait_for_record('"kind":"checkpoint"', '"to":"writing"')
        job.signal()
        self.assertEqual(job.end(), 0, job.errors())
        job.await_nothing_left()
        self.assertEqual(job.summary()["status"], "stopped")
        self.assertTrue(job.checkpoints())

    def test_once_to_another_process_than_the_launcher(self):
        for process in ("coordinator", "rank-0"):
            with self.subTest(process):
                job = self.start(**LONG, **{"run.directory":
                                            f"{self.folder}/{process}"})
                job.directory = pathlib.Path(self.folder) / process
                job.wait_for("heldout_accuracy")
                job.wait_for_record('"kind":"group"', '"to":"generating"')
                os.kill(job.pid_of(process), signal.SIGTERM)
                self.drained(job)
                self.assertEqual(job.errors(), "")

    def test_once_to_every_process(self):
        """As systemd and schedulers do; the workers grade on."""
        reward = pathlib.Path(self.folder) / "slow.py"
        reward.write_text("import time\n"
                          "def f(completions, **_):\n"
                          "    time.sleep(1)\n"
                          "    return [0.5] * len(completions)\n")
        job = self.start(**{"train.steps": 50, "reward.kind": "python",
                            "reward.on_error": "stop",
                            "reward.python": f"{reward}:f", **NO_EVAL})
        job.wait_for_record('"kind":"group"', '"to":"rewarding"')
        everyone = job.tree()
        self.assertGreaterEqual(len(everyone), 5)  # with keeper and worker
        for pid in everyone[1:] + everyone[:1]:
            os.kill(pid, signal.SIGTERM)
        self.drained(job, checkpoint=None)
        self.assertEqual(job.errors(), "")

    def test_twice_aborts(self):
        reward = pathlib.Path(self.folder) / "slow.py"
        reward.write_text("import time\n"
                          "def f(completions, **_):\n"
                          "    time.sleep(60)\n")
        job = self.start(**{"train.steps": 50, "reward.kind": "python",
                            "reward.python": f"{reward}:f", **NO_EVAL})
        job.wait_for_record('"kind":"group"', '"to":"rewarding"')
        job.signal()
        job.signal()
        started = time.monotonic()
        self.assertEqual(job.end(), 130)
        self.assertLess(time.monotonic() - started, 10)
        self.assertIn("aborted by the operator", job.errors())
        job.await_nothing_left()

    def test_three_times_is_gone_at_once(self):
        job = self.start(**LONG)
        job.wait_for("heldout_accuracy")
        os.kill(job.pid_of("coordinator"), signal.SIGSTOP)
        for _ in range(3):
            job.signal()
        self.assertEqual(job.end(deadline=10), 3)
        job.await_nothing_left()


class Losses(JobTest):
    def running(self):
        job = self.start(**{"train.steps": 100000, "run.save_every_steps": 2,
                            "eval.max_prompts": 1})
        job.wait_for(" 5/")
        return job

    def ended(self, job):
        started = time.monotonic()
        code = job.end(deadline=20)
        self.assertLess(time.monotonic() - started, 5)
        self.assertEqual(code, 1)
        job.await_nothing_left()

    def assert_checkpoint_is_intact(self, job):
        newest = max(job.checkpoints(), key=lambda n: int(n.split("-")[1]))
        step = int(newest.split("-")[1])
        resumed = self.start("--resume", **{
            "train.steps": step + 1, "run.save_every_steps": 2,
            "eval.max_prompts": 1})
        self.assertEqual(resumed.end(), 0, resumed.errors())
        self.assertEqual(resumed.summary()["steps"], step + 1)

    def test_a_killed_rank_is_named_with_its_last_state(self):
        job = self.running()
        os.kill(job.pid_of("rank-0"), signal.SIGKILL)
        self.ended(job)
        newest = max(job.checkpoints(), key=lambda n: int(n.split("-")[1]))
        self.assertRegex(
            job.errors(),
            r"\Atroupe: rank-0 \(pid \d+\) was killed by signal 9 "
            r"\(SIGKILL\); it was running; last state: .*; last error: .*\n"
            r"  what to do: if nobody killed it, memory ran out \(see dmesg\); "
            rf"continue from {newest} with --resume\n\Z")
        self.assert_journal_is_legal(job)
        # If the loop hears of the closed connection before the launcher's word
        # comes, the ordered way down has begun.
        self.assert_in_order(
            self.chain_of(job, "shutdown", event="peer_lost"),
            ["shutdown aborting -> done  by peer_lost",
             "-> aborting  by peer_lost",
             "rank ready -> lost  by process_lost",
             "because: down rank-0 was killed by"])
        self.assert_in_order(
            self.chain_of(job, "job", event="shutdown_finished"),
            ["job closing -> failed", "rank ready -> lost"])
        self.assertEqual(job.summary()["status"], "failed")
        self.assert_checkpoint_is_intact(job)

    def test_a_killed_coordinator_is_named_with_its_last_state(self):
        job = self.running()
        os.kill(job.pid_of("coordinator"), signal.SIGKILL)
        self.ended(job)
        self.assertRegex(
            job.errors(),
            r"\Atroupe: coordinator \(pid \d+\) was killed by signal 9 "
            r"\(SIGKILL\) before it could report; it was running; last state: "
            r".*\n  what to do: .*; continue from step-\d+ with --resume\n\Z")
        self.assert_checkpoint_is_intact(job)

    def test_a_killed_launcher_takes_all_with_it(self):
        job = self.running()
        job.process.kill()
        job.end()
        job.await_nothing_left()
        seen = troupe("inspect", "processes", job.directory)
        self.assertEqual(seen.returncode, 0)
        self.assertIn("rank-0", seen.stdout)
        self.assertIn("gone", seen.stdout)
        self.assert_checkpoint_is_intact(job)

    def test_a_frozen_rank_can_be_read(self):
        job = self.running()
        rank = job.pid_of("rank-0")
        os.kill(rank, signal.SIGSTOP)
        while " T " not in pathlib.Path(f"/proc/{rank}/stat").read_text():
            pass # the kernel stops it at its next scheduling
        processes = troupe("inspect", "processes", job.directory)
        actors = troupe("inspect", "actors", job.directory)
        os.kill(rank, signal.SIGCONT)
        self.assertIn("1 stopped", processes.stdout)
        self.assertIn("rollout/dp=0/tp=0", actors.stdout)
        job.signal()
        self.assertEqual(job.end(), 0, job.errors())

    def test_inspect_of_an_empty_folder_says_what_was_searched(self):
        seen = troupe("inspect", cwd=self.folder)
        self.assertNotEqual(seen.returncode, 0)
        self.assertIn(self.folder, seen.stderr + seen.stdout)


class Rewards(JobTest):
    def with_reward(self, text, **overrides):
        path = pathlib.Path(self.folder) / "reward.py"
        path.write_text(text)
        return self.start(**{"reward.kind": "python",
                             "reward.python": f"{path}:f", "train.steps": 2,
                             **NO_EVAL, **overrides})

    def test_constant_reward_trains_nothing_and_says_so(self):
        job = self.with_reward("def f(completions, **_):\n"
                               "    return [1.0] * len(completions)\n")
        self.assertEqual(job.end(), 0, job.errors())
        self.assertTrue(any("constant reward in every group" in line
                            for line in job.lines), job.lines)
        for record in job.metrics():
            self.assertNotIn("nan", map(str, record.values()))

    def test_a_function_that_forks_leaves_no_grandchild(self):
        job = self.with_reward(
            "import subprocess, sys\n"
            "def f(completions, **_):\n"
            f"    subprocess.Popen(['sleep', '1000', '{self.folder}'],"
            " start_new_session=True)\n"
            "    return [0.0] * len(completions)\n")
        self.assertEqual(job.end(), 0, job.errors())
        for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = entry.read_bytes()
            except OSError:
                continue
            self.assertFalse(line.startswith(b"sleep\x001000\x00"
                                             + self.folder.encode()))

    def test_a_worker_that_dies_costs_its_samples_only(self):
        job = self.with_reward(
            "import os, random\n"
            "calls = 0\n"
            "def f(completions, **_):\n"
            "    global calls\n"
            "    calls += 1\n"
            "    if calls == 2:\n"
            "        os._exit(7)\n"
            "    return [float(i) for i in range(len(completions))]\n")
        self.assertEqual(job.end(), 0, job.errors())
        failed = [r["reward/failed_fraction"] for r in job.metrics()
                  if "reward/failed_fraction" in r]
        self.assertTrue(any(0 < f < 1 for f in failed), failed)

    def test_dropped_groups_leave_no_columns_behind(self):
        job = self.with_reward(
            "calls = 0\n"
            "def f(completions, **_):\n"
            "    global calls\n"
            "    calls += 1\n"
            "    if calls % 4 == 1:\n"
            "        raise ValueError('no opinion')\n"
            "    return [float(i) for i in range(len(completions))]\n",
            **{"reward.on_error": "drop", "reward.workers": 1,
               "train.steps": 3})
        self.assertEqual(job.end(), 0, job.errors())
        failed = [r["reward/failed_fraction"] for r in job.metrics()]
        self.assertEqual(failed, [0.25] * 3)
        consumed = [r["d"] for r in job.records("rank-0")
                    if r["event"] == "groups_consumed"]
        self.assertEqual([d["groups"] for d in consumed], [1, 3] * 3)
        self.assertEqual([d["groups_left"] for d in consumed], [3, 0] * 3)
        # The trainer may hold its lease a moment longer than its answer takes.
        self.assertLessEqual(consumed[-1]["bytes_left"],
                             consumed[0]["bytes_left"])
        self.assert_journal_is_legal(job)

    def test_hundreds_of_long_errors_in_one_step_cost_their_samples_only(self):
        job = self.with_reward(
            "def f(completions, **_):\n"
            "    raise ValueError('no opinion ' + 'x' * 2000)\n",
            **{"reward.on_error": "zero", "train.steps": 1,
               "train.prompts_per_step": 64, "train.samples_per_prompt": 8})
        self.assertEqual(job.end(), 0, job.errors())
        self.assertEqual(job.metrics()[0]["reward/failed_fraction"], 1.0)
        text = "\n".join(job.lines)
        told = re.findall(r"^reward of group (\S+): ", text, re.MULTILINE)
        self.assertEqual(len(told), 8, text)
        self.assertEqual(len(set(told)), 8, told)
        self.assertIn("504 more rewards of this step failed", text)

    def test_a_function_that_does_not_return_is_ended(self):
        job = self.with_reward(
            "import time\n"
            "def f(completions, **_):\n"
            "    while True: time.sleep(1)\n",
            **{"reward.timeout_s": 0.5, "reward.on_error": "stop"})
        self.assertEqual(job.end(), 1)
        self.assertIn("reward.on_error is stop", job.errors())


if __name__ == "__main__":
    unittest.main()
