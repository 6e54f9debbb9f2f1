# SPDX-License-Identifier: Apache-2.0
"""Steps of `troupe run` with the settings of trl_grpo.py: the time between
two records of metrics.jsonl, so with all that a step costs, and the largest
sum of PSS over the run's processes.
"""
import json
import os
import pathlib
import subprocess
import tempfile
import time
import uuid

REWARD = pathlib.Path(__file__).with_name("letter_share.py")
JOB = """\
run: {{directory: {folder}/run}}
model: {{path: {model}}}
data: {{train: {{file: {prompts}}}}}
rollout:
  slots: 32
  max_prompt_tokens: 32
  sampling: {{max_new_tokens: 64, min_new_tokens: 64}}
reward: {{kind: python, python: "{reward}:letter_share"}}
train:
  steps: {steps}
  prompts_per_step: 4
  samples_per_prompt: 8
  microbatch_tokens: 536 # 8 samples: 32 rows of their prompt, 63 of each
  optimizer: {{learning_rate: 0.000001, schedule: linear}}
"""


def pss_mib(mark):
    """Returns the PSS of all processes that have the mark in their
    environment."""
    total = 0
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes():
                text = (process / "smaps_rollup").read_text()
                total += int(text.split("\nPss:")[1].split()[0])
        except (OSError, IndexError):
            pass  # it has ended, or it is the kernel's
    return total / 1024


def num_records(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def watch(process, metrics, mark):
    """Returns the times at which records came, and the peak of the PSS."""
    arrivals, peak, next_sample = [], 0.0, time.perf_counter()
    while process.poll() is None:
        now = time.perf_counter()
        arrivals += [now] * (num_records(metrics) - len(arrivals))
        if now >= next_sample:
            peak = max(peak, pss_mib(mark))
            next_sample = now + 0.5
        time.sleep(0.002)
    return arrivals, peak


def measure(troupe, model, prompts, num_steps):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        job = folder / "job.yaml"
        job.write_text(JOB.format(folder=folder, model=model, prompts=prompts,
                                  reward=REWARD, steps=num_steps))
        mark = f"TROUPE_RIVALS={uuid.uuid4()}"
        with open(folder / "output", "w") as output:
            process = subprocess.Popen(
                [troupe, "run", str(job)], stdout=output, stderr=output,
                env={**os.environ, mark.split("=")[0]: mark.split("=")[1]})
            metrics = folder / "run/metrics.jsonl"
            arrivals, peak = watch(process, metrics, mark.encode())
        if process.returncode != 0:
            raise SystemExit((folder / "output").read_text())
        records = [json.loads(line)
                   for line in metrics.read_text().splitlines()]
    assert len(arrivals) == num_steps, (arrivals, num_steps)
    assert all(r["rollout/completion_tokens_mean"] == 64
               and r["rollout/prompt_tokens_mean"] == 32 for r in records)
    return {"peak_mib": peak, "steps": [
        {"step": after - before, "generate": r["time/generate_s"],
         "train": r["time/train_s"], "grade": r["time/grade_s"]}
        for before, after, r in zip(arrivals, arrivals[1:], records[1:])]}
