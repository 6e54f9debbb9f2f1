# SPDX-License-Identifier: Apache-2.0
"""Steps of TRL's GRPOTrainer on the CPU in float32, as one JSON object:

    python tests/rivals/trl_grpo.py MODEL PROMPTS.jsonl STEPS

4 prompts x 8 samples a step in 4 micro-batches of 8, 64 new tokens each. The
phases are those of TRL's own profiling contexts; what is left of a step is
backward, optimizer and bookkeeping.
"""
import collections
import json
import resource
import sys
import tempfile
import time

import torch
import transformers
import trl
from datasets import Dataset
from letter_share import letter_share
from transformers import (AutoModelForCausalLM, AutoTokenizer,
                          TrainerCallback)
from trl import GRPOConfig, GRPOTrainer
from trl.extras import profiling

NEW_TOKENS, SAMPLES, MICRO_BATCHES = 64, 8, 4

phases = collections.defaultdict(float)


def note(context, seconds):
    phases[context.name.removeprefix("GRPOTrainer.")] += seconds


class Clock(TrainerCallback):
    """Takes the time of each step and of its phases."""

    def __init__(self):
        self.steps = []

    def on_step_begin(self, *_args, **_kwargs):
        phases.clear()
        self.start = time.perf_counter()

    def on_step_end(self, *_args, **_kwargs):
        took = time.perf_counter() - self.start
        prepare, loss = phases["_prepare_inputs"], phases["compute_loss"]
        self.steps.append({
            "step": took, "generate": phases["transformers.generate"],
            "forward": loss, "backward and optimizer": took - prepare - loss})


def main(folder, prompts, num_steps):
    torch.set_num_threads(2)
    profiling.ProfilingContext._log_metrics = note
    with open(prompts, encoding="utf-8") as lines:
        rows = [{"prompt": json.loads(line)["prompt"]} for line in lines]
    clock = Clock()
    trainer = GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32),
        processing_class=AutoTokenizer.from_pretrained(folder),
        reward_funcs=letter_share, train_dataset=Dataset.from_list(rows),
        callbacks=[clock], args=GRPOConfig(
            output_dir=tempfile.mkdtemp(), use_cpu=True, bf16=False,
            fp16=False, gradient_checkpointing=False,
            per_device_train_batch_size=SAMPLES,
            gradient_accumulation_steps=MICRO_BATCHES,
            num_generations=SAMPLES, max_completion_length=NEW_TOKENS,
            max_steps=num_steps, learning_rate=1e-6, beta=0.0, report_to=[],
            save_strategy="no", logging_steps=1, disable_tqdm=True,
            dataloader_pin_memory=False,
            generation_kwargs={"min_new_tokens": NEW_TOKENS}))
    trainer.train()
    lengths = [x["completions/mean_length"] for x in trainer.state.log_history
               if "completions/mean_length" in x]
    assert set(lengths) == {NEW_TOKENS}, lengths
    print(json.dumps({
        "engine": f"trl {trl.__version__}, transformers "
                  f"{transformers.__version__}, torch {torch.__version__}",
        "steps": clock.steps[1:],
        "peak_mib": resource.getrusage(
            resource.RUSAGE_SELF).ru_maxrss / 1024}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
