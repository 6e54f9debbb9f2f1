# SPDX-License-Identifier: Apache-2.0
"""One GRPO step of TRL and of Troupe, measured in turns; see grpo_step.sh."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import troupe_grpo

HERE = pathlib.Path(__file__).parent
TEXT = ("Count the letters of this sentence, then say what the weather is "
        "like in the town by the sea today, and why it matters to anyone. ")
PROMPT_TOKENS = 32


def write_prompts(model, path):
    """Writes the pieces of the text that are exactly 32 tokens when read."""
    from transformers import AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(model)

    def encode(text):
        return tokenizer(text, add_special_tokens=False).input_ids

    ids = encode(TEXT * 8)
    pieces = [tokenizer.decode(ids[i:i + PROMPT_TOKENS]) for i in range(128)]
    rows = [p for p in pieces if len(encode(p)) == PROMPT_TOKENS]
    assert len(rows) >= 16, len(rows)
    path.write_text("".join(
        json.dumps({"prompt": row, "answer": ""}) + "\n" for row in rows))


def run_trl(model, prompts, num_steps):
    out = subprocess.run(
        [sys.executable, str(HERE / "trl_grpo.py"), str(model), str(prompts),
         str(num_steps)], check=True, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True)
    return json.loads(out.stdout.splitlines()[-1])


def describe(name, rounds):
    steps = [s for r in rounds for s in r["steps"]]
    peak = max(r["peak_mib"] for r in rounds)
    phases = ", ".join(
        f"{key} {statistics.median(s[key] for s in steps):.3f}"
        for key in steps[0] if key != "step")
    times = [s["step"] for s in steps]
    print(f"  {name}: step {statistics.median(times):.3f} s (least "
          f"{min(times):.3f}, {len(times)} steps), {phases}; peak "
          f"{peak:.0f} MiB", flush=True)
    return statistics.median(times), min(times), peak


def compare(name, model, arguments, num_steps, wanted):
    with tempfile.TemporaryDirectory() as folder:
        prompts = pathlib.Path(folder) / "prompts.jsonl"
        write_prompts(model, prompts)
        trl, ours = [], []
        for _ in range(arguments.rounds):
            trl.append(run_trl(model, prompts, num_steps))
            print("TRL:", trl[-1]["steps"], flush=True)
            ours.append(troupe_grpo.measure(
                arguments.troupe, model, prompts, num_steps))
            print("Troupe:", ours[-1]["steps"], flush=True)
    print(f"{name} ({trl[0]['engine']}), {arguments.rounds} rounds:")
    median, least, peak = describe("TRL, peak RSS", trl)
    our_median, our_least, our_peak = describe("Troupe, peak PSS", ours)
    print(f"  Troupe is {median / our_median:.2f} times as fast by the median, "
          f"{least / our_least:.2f} by the least (wanted: {wanted}), with "
          f"{100 * our_peak / peak:.0f} % of the memory (wanted: 65)")
    return median / our_median >= wanted and our_peak <= 0.65 * peak


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--troupe", required=True)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--smollm2", required=True,
                        help="folder of SmolLM2-135M")
    parser.add_argument("--smollm2-steps", type=int, default=3,
                        help="0: none")
    parser.add_argument("--tiny-steps", type=int, default=20,
                        help="0: none")
    arguments = parser.parse_args()
    reached = True
    if arguments.tiny_steps > 0:
        with tempfile.TemporaryDirectory() as tiny:
            subprocess.run([sys.executable, str(HERE / "make_tiny.py"), tiny],
                           check=True, stderr=subprocess.DEVNULL)
            reached &= compare("tiny Llama, 0.92 M", tiny, arguments,
                               arguments.tiny_steps, 2)
    if arguments.smollm2_steps > 0:
        reached &= compare("SmolLM2-135M", arguments.smollm2, arguments,
                           arguments.smollm2_steps, 1.5)
    sys.exit(not reached)


if __name__ == "__main__":
    main()
