# SPDX-License-Identifier: Apache-2.0
"""What transformers computes in float32, for golden_decoder to compare with.

    decoder_reference.py OUT [MODEL]

OUT/model is MODEL, or else a tiny untied Llama with grouped heads, made here.
OUT/reference.safetensors: logits of 64 prompts of 1 to 64 tokens in one left-padded batch
(all rows of the tiny model, last rows otherwise), greedy continuations of 64 tokens, the
loss of a prompt-masked batch. OUT/gradients.safetensors: the gradients of that loss.
    decoder_reference.py --same OUT
exits 0 if transformers loads OUT/saved and finds the tensors of OUT/model there.
"""
import os, pathlib, sys, time
import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, GenerationConfig, LlamaConfig, LlamaForCausalLM

torch.manual_seed(11)
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 2)))


def load(folder):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")


def make_tiny(folder):
    LlamaForCausalLM(LlamaConfig(
        vocab_size=512, hidden_size=128, intermediate_size=384, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=512, tie_word_embeddings=False, initializer_range=0.1,
        pad_token_id=0, bos_token_id=1, eos_token_id=2)).save_pretrained(folder)


def left_padded(prompts):
    longest = max(map(len, prompts))
    ids = torch.tensor([[0] * (longest - len(p)) + p for p in prompts])
    mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in prompts])
    return ids, mask, (mask.cumsum(-1) - 1).clamp(min=0)


def greedy(model, prompt, num_tokens):
    ids = torch.tensor([prompt])
    never_ends = GenerationConfig(do_sample=False, max_new_tokens=num_tokens, pad_token_id=0)
    return model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=never_ends)[0].tolist()


def main(out, source=None):
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    if source is None:
        make_tiny(out / "model")
    elif not (out / "model").exists():
        (out / "model").symlink_to(pathlib.Path(source).resolve())
    model = load(out / "model")
    draw = lambda n: torch.randint(3, model.config.vocab_size, (n,)).tolist()
    i32 = lambda values: torch.tensor(values, dtype=torch.int32)

    prompts = [draw(n) for n in range(1, 65)]
    ids, mask, positions = left_padded(prompts)
    with torch.no_grad():
        logits = model(ids, attention_mask=mask, position_ids=positions, logits_to_keep=0 if source is None else 1).logits
    if source is None:
        rows = list(range(sum(map(len, prompts))))
        logits = torch.cat([logits[i, -len(p):] for i, p in enumerate(prompts)])
    else:
        rows = (torch.tensor([len(p) for p in prompts]).cumsum(0) - 1).tolist()
        logits = logits[:, -1]
    with torch.no_grad():
        continued = [greedy(model, p, 64) for p in (prompts[4], prompts[31], prompts[63])]

    # Eight rows of 96 tokens, of which the first 10 to 45 are the prompt.
    batch = torch.tensor([draw(96) for _ in range(8)])
    labels = batch.clone()
    for row in range(8):
        labels[row, :10 + 5 * row] = -100
    for attempt in range(2):  # the second is timed: memory is there
        model.zero_grad()
        start, processor_start = time.perf_counter(), time.process_time()
        loss = model(batch, labels=labels).loss
        loss.backward()
        print(f"transformers: forward and backward of 768 tokens on {torch.get_num_threads()} threads: "
              f"{time.perf_counter() - start:.3f} s, of processors {time.process_time() - processor_start:.3f} s")
    save_file({
        "ids": i32(sum(prompts, [])), "lengths": i32([len(p) for p in prompts]),
        "rows": i32(rows), "logits": logits.contiguous(),
        "continued": i32(sum(continued, [])), "continued_lengths": i32([len(c) for c in continued]),
        "sft_ids": i32(batch.flatten().tolist()), "sft_labels": i32(labels.flatten().tolist()),
        "sft_loss": loss.detach().reshape(1)}, out / "reference.safetensors")
    save_file({name: p.grad.contiguous() for name, p in model.named_parameters()}, out / "gradients.safetensors")


def same(out):
    out = pathlib.Path(out)
    wanted, found = load(out / "model").state_dict(), load(out / "saved").state_dict()
    assert wanted.keys() == found.keys(), wanted.keys() ^ found.keys()
    for name, tensor in wanted.items():
        assert torch.equal(tensor, found[name]), name
    print(f"transformers: {len(found)} tensors of the saved folder are equal")


if sys.argv[1] == "--same":
    same(sys.argv[2])
else:
    main(*sys.argv[1:])
