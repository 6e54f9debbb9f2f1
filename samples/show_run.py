#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What came of a run: accuracies, the reward curve as text, three generations.

    python3 samples/show_run.py RUN_DIRECTORY
"""
import json
import pathlib
import sys

BARS = " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"


def records(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def curve(values, width=60):
    """One character a bucket of steps, its height the mean from 0 to 1."""
    if not values:
        return "(no steps)"
    width = min(width, len(values))
    out = ""
    for i in range(width):
        part = values[i * len(values) // width:(i + 1) * len(values) // width]
        mean = sum(part) / len(part)
        out += BARS[round(max(0.0, min(1.0, mean)) * (len(BARS) - 1))]
    return out


def main():
    run = pathlib.Path(sys.argv[1])
    summary = json.loads((run / "summary.json").read_text())
    metrics = summary["metrics"]

    def percent(when):
        value = metrics.get(f"eval/{when}_accuracy")
        return "    -" if value is None else f"{100 * value:5.1f} %"

    print("\nexact answers on held-out sums")
    print(f"  untrained           {percent('start')}")
    print(f"  after the warm-up   {percent('after_warmup')}")
    print(f"  after GRPO          {percent('final')}")
    rewards = [r["reward/mean"] for r in records(run / "metrics.jsonl")
               if "reward/mean" in r]
    print(f"\nmean reward over {len(rewards)} GRPO steps "
          f"({rewards[0]:.2f} to {rewards[-1]:.2f})\n  |{curve(rewards)}|")
    print("\nthree generations of the last steps")
    for group in records(run / "rollouts.jsonl")[-3:]:
        sample = group["samples"][0]
        print(f"  {group['prompt']}{sample['completion']}   "
              f"(answer {group['answer']}, reward {sample['reward']:g})")
    print(f"\nrun directory: {run.resolve()}")
    print(f"  look into it:  build/bin/troupe inspect actors {run}")


if __name__ == "__main__":
    main()
