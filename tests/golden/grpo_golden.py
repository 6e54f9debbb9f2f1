# SPDX-License-Identifier: Apache-2.0
"""Loss and gradients of a policy step against torch autograd:

    python3 tests/golden/grpo_golden.py PROBE

The reference is a padded batch (prompts left, completions right) through a
tiny Llama of transformers in double, and the objective as TRL's GRPOTrainer
defines it: loss_type "bnpo" (here token_mean) and "grpo" (sequence_mean), an
asymmetric clip, the k3 estimate of the KL divergence to a reference model.
Code 77: the tests' venv is missing.
"""
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

import venv_of_tests

TOLERANCE = 1e-5  # relative; of tensors by their norms
VOCABULARY, PAD = 64, 0

venv_of_tests.enter()

import torch  # noqa: E402: of the venv
from safetensors.torch import load_file  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM  # noqa: E402


def make_model(seed):
    torch.manual_seed(seed)
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=48, intermediate_size=96,
        num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=2,
        max_position_embeddings=128, tie_word_embeddings=True,
        initializer_range=0.2, pad_token_id=PAD, bos_token_id=1,
        eos_token_id=2))


def make_samples(generator):
    """Groups of prompts and completions of unlike lengths, as token ids."""
    def draw(low, high):
        count = int(torch.randint(low, high, (), generator=generator))
        return torch.randint(3, VOCABULARY, (count,), generator=generator)
    return [(draw(2, 12), [draw(1, 14) for _ in range(4)]) for _ in range(3)]


def pad(rows, side):
    width = max(len(row) for row in rows)
    ids = torch.full((len(rows), width), PAD)
    mask = torch.zeros(len(rows), width, dtype=torch.long)
    for i, row in enumerate(rows):
        where = slice(width - len(row), width) if side == "left" else slice(
            0, len(row))
        ids[i, where] = row
        mask[i, where] = 1
    return ids, mask


def make_batch(groups):
    prompts = [prompt for prompt, samples in groups for _ in samples]
    completions = [s for _, samples in groups for s in samples]
    return (*pad(prompts, "left"), *pad(completions, "right"))


def token_logprobs(model, batch, temperature):
    prompt_ids, prompt_mask, completion_ids, completion_mask = batch
    ids = torch.cat([prompt_ids, completion_ids], 1)
    mask = torch.cat([prompt_mask, completion_mask], 1)
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    logits = model(input_ids=ids, attention_mask=mask,
                   position_ids=positions).logits
    count = completion_ids.shape[1]
    logits = logits[:, -count - 1:-1] / temperature
    return logits.log_softmax(-1).gather(
        2, completion_ids.unsqueeze(2)).squeeze(2)


def objective(case, model, reference, batch, rollout_logprobs, advantages):
    mask = batch[3]
    logprobs = token_logprobs(model, batch, case["temperature"])
    ratio = torch.exp(logprobs - rollout_logprobs)
    clipped = ratio.clamp(1 - case["clip_low"], 1 + case["clip_high"])
    by_sample = advantages.unsqueeze(1)
    token_loss = -torch.min(ratio * by_sample, clipped * by_sample)
    if case["kl_coefficient"] > 0:
        with torch.no_grad():
            wanted = token_logprobs(reference, batch, case["temperature"])
        gap = wanted - logprobs
        token_loss = token_loss + case["kl_coefficient"] * (
            torch.exp(gap) - gap - 1)
    if case["loss_aggregation"] == "token_mean":
        return (token_loss * mask).sum() / mask.sum()
    return ((token_loss * mask).sum(1) / mask.sum(1)).mean()


def make_cases():
    table = itertools.product(
        ("token_mean", "sequence_mean"), (0.0, 0.2),
        ((0.2, 0.2, 1.0, 4096, 256), (0.1, 0.35, 0.7, 24, 5)))
    names = ("clip_low", "clip_high", "temperature", "microbatch_tokens",
             "logit_chunk_tokens")
    return [{"loss_aggregation": aggregation, "kl_coefficient": beta,
             **dict(zip(names, rest))} for aggregation, beta, rest in table]


def main(probe):
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(1)
    model, reference = make_model(0), make_model(5)
    groups = make_samples(generator)
    batch = make_batch(groups)
    with torch.no_grad():
        rollout = token_logprobs(model, batch, 1.0)
    rollout = rollout + 0.3 * torch.randn(rollout.shape, generator=generator)
    rewards = torch.rand(len(groups), 4, generator=generator)
    advantages = ((rewards - rewards.mean(1, keepdim=True))
                  / (rewards.std(1, keepdim=True) + 1e-4)).reshape(-1)
    cases = make_cases()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model.save_pretrained(folder / "model")
        reference.save_pretrained(folder / "reference")
        rows = iter(rollout.tolist())
        (folder / "cases.json").write_text(json.dumps({
            "model": str(folder / "model"),
            "reference": str(folder / "reference"),
            "groups": [{"prompt_ids": prompt.tolist(), "samples": [
                {"completion_ids": s.tolist(),
                 "rollout_logprobs": next(rows)[:len(s)]} for s in samples]}
                for prompt, samples in groups],
            "advantages": advantages.tolist(), "cases": cases}))
        out = subprocess.run(
            [probe, str(folder / "cases.json"), name], check=True,
            stdout=subprocess.PIPE, text=True).stdout.splitlines()
        found = [(json.loads(line), load_file(folder / f"{i}.safetensors"))
                 for i, line in enumerate(out)]
    assert len(found) == len(cases), (len(found), len(cases))
    model, reference = model.double(), reference.double()
    worst = 0.0
    for case, (metrics, gradients) in zip(cases, found):
        model.zero_grad()
        loss = objective(case, model, reference, batch, rollout.double(),
                         advantages.double())
        loss.backward()
        off = {"loss": abs(metrics["train/loss"] - loss.item())
               / abs(loss.item())}
        for key, p in model.named_parameters():
            got = gradients.pop(key + ".first").double()
            off[key] = ((got - p.grad).norm() / p.grad.norm()).item()
        rest = [key for key in gradients if key.endswith(".first")]
        assert not rest, f"gradients of no parameter: {rest}"
        key = max(off, key=off.get)
        worst = max(worst, off[key])
        if not off[key] <= TOLERANCE:
            print(f"{case}\n  {key} is off by {off[key]:.2e}, allowed "
                  f"{TOLERANCE}")
            return 1
    print(f"{len(cases)} cases, largest relative difference {worst:.1e}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
