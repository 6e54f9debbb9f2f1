# SPDX-License-Identifier: Apache-2.0
"""Holds Troupe's tokenizer against Hugging Face's `tokenizers`: ids, spans,
decoded text, streamed text.

    python3 tokenizer_golden.py PROBE addition|smollm2|components|STYLE

PROBE is the binary of tokenizer_probe.cpp; STYLE is one of
tokenizer_styles.py. TROUPE_FULL compares 100,000 lines of each instead of
3,000. Exits 77 (skipped) without the tests' venv.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import venv_of_tests as venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
FULL = bool(os.environ.get("TROUPE_FULL"))
NUM_LINES = 100_000 if FULL else 3_000


def make_id_lists(rng, vocab_size, count):
    return [[rng.randrange(vocab_size) for _ in range(rng.randrange(1, 20))]
            for _ in range(count)]


def smollm2_folder(folder):
    sys.path.insert(0, str(ROOT / "samples/smollm2"))
    import prepare
    _, keys = prepare.open_gguf()
    prepare.write_tokenizer(keys, folder)
    return folder


def to_request(line):
    return {"hex": line.hex()} if isinstance(line, bytes) else line


def ask(probe, folder, requests):
    """Returns the probe's answer to each request."""
    lines = "".join(json.dumps(to_request(r)) + "\n" for r in requests)
    done = subprocess.run([probe, str(folder)], input=lines, text=True,
                          encoding="utf-8", stdout=subprocess.PIPE,
                          timeout=1500 if FULL else 100, check=True)
    answers = done.stdout.split("\n")[:-1]
    assert len(answers) == len(requests), (len(answers), len(requests))
    return map(json.loads, answers)


def expected_of(reference, requests):
    for request in requests:
        out = {"ids": request}
        if not isinstance(request, list):
            if isinstance(request, bytes):
                request = request.decode("utf-8", "replace")
            found = reference.encode(request)
            out["ids"] = found.ids
            out["spans"] = [place for span in found.offsets for place in span]
        out["skipped"] = reference.decode(out["ids"], skip_special_tokens=True)
        out["kept"] = reference.decode(out["ids"], skip_special_tokens=False)
        yield out


def compare(probe, folder, texts, rng, name, is_quiet=False):
    """Returns how many differ."""
    import tokenizers
    reference = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    requests = texts + make_id_lists(rng, reference.get_vocab_size(),
                                     len(texts) // 10)
    num_wrong = num_tokens = 0
    for request, answer, expected in zip(
            requests, ask(probe, folder, requests),
            expected_of(reference, requests)):
        num_tokens += len(expected["ids"])
        if answer != expected:
            num_wrong += 1
            if num_wrong <= 5:
                wrong = sorted(key for key in answer.keys() | expected.keys()
                               if answer.get(key) != expected.get(key))
                print(f"{name} differs in {wrong}: {ascii(request)[:300]}")
                for key in wrong:
                    print(f"  {key}\n    expected {ascii(expected.get(key))[:400]}"
                          f"\n    found    {ascii(answer.get(key))[:400]}")
    if not is_quiet or num_wrong:
        print(f"{name}: {len(requests)} texts and id lists, {num_tokens} tokens, "
              f"{num_wrong} differ")
    return num_wrong


def main():
    venv.enter()
    import tokenizer_texts
    probe, kind = sys.argv[1:]
    seed = int(os.environ.get("TROUPE_TEST_SEED", "1"))
    print(f"seed {seed}")
    rng = random.Random(seed)
    lines = tokenizer_texts.Lines(rng)
    if kind == "addition":
        texts = lines.make(NUM_LINES // 10)
        sys.exit(compare(probe, ROOT / "samples/addition", texts, rng, kind) > 0)
    with tempfile.TemporaryDirectory(prefix=f"{kind}_") as folder:
        folder = pathlib.Path(folder)
        if kind == "components":
            import tokenizer_components
            sys.exit(tokenizer_components.compare_all(
                lambda texts, name: compare(probe, folder, texts, rng, name, True),
                folder, lines, 400 if FULL else 60) > 0)
        if kind == "smollm2":
            smollm2_folder(folder)
        else:
            import tokenizer_styles
            made = tokenizer_styles.STYLES[kind](lines.corpus(4000))
            made.save(str(folder / "tokenizer.json"))
        texts = ["", " ", "'", "a", "\n", "\u180e x", " \u180e", "ab" * 4000,
                 "\n" * 2000, "x" * 5000, " " * 3000 + "x", "1" * 300]
        sys.exit(compare(probe, folder, texts + lines.make(NUM_LINES), rng, kind) > 0)


if __name__ == "__main__":
    main()
