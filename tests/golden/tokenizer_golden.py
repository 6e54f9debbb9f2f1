# SPDX-License-Identifier: Apache-2.0
"""Holds Troupe's tokenizer against Hugging Face's `tokenizers`.

    python3 tokenizer_golden.py PROBE addition|smollm2

PROBE is the binary of tokenizer_probe.cpp. Exits 77 (skipped) without the
tests' venv.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata

import venv_of_tests as venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPECIAL = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<pad>", "<eos>"]


def make_texts(rng):
    """Returns the kinds of text, each with its number in what fails."""
    # Unicode 14, which this Python, PCRE2 10.42 and Oniguruma all know.
    assigned = [c for c in map(chr, range(0x110000))
                if unicodedata.category(c) not in ("Cn", "Cs")]
    spaces = [c for c in assigned if c.isspace()]
    letters = "abcxyzABCXYZ'sdmtreve"
    out = ["", " ", "'", "a", "\n", "\u180e x", " \u180e", "x" * 5000,
           " " * 3000 + "x", "\n" * 2000, "ab" * 4000, "1" * 300]

    def add(count, make):
        out.extend(make() for _ in range(count))

    def mix(alphabet, most):
        return "".join(rng.choice(alphabet) for _ in range(rng.randrange(most)))

    add(300, lambda: rng.randbytes(rng.randrange(60)).decode("utf-8", "replace"))
    add(200, lambda: rng.randbytes(rng.randrange(60)).decode("latin-1"))
    add(500, lambda: mix(assigned, 40))
    add(300, lambda: mix(spaces + ["a", "1", "."], 30))
    add(300, lambda: mix(" \t\n\r" + letters, 40))
    add(300, lambda: mix("0123456789 ½²①Ⅷ٣४.,-+=", 40))
    add(200, lambda: mix("àéîõüçßñÀÉ̸̂́ abc", 40))
    add(200, lambda: mix("東京大阪日本語の言葉中文字符한국어 ，。", 40))
    add(200, lambda: mix("🙂👍🏽👩‍👩‍👧‍👦🇩🇪❤️ ok!", 20))
    add(300, lambda: "".join(
        rng.choice(SPECIAL + [" ", "x", "user\n", "<|", "|>", "<pad", "7"])
        for _ in range(rng.randrange(12))))
    for path in sorted(pathlib.Path(os.__file__).parent.glob("*.py"))[:80]:
        source = path.read_text(encoding="utf-8", errors="replace")
        out += [source[i:i + 2000] for i in range(0, min(len(source), 20000), 2000)]
    return out


def make_id_lists(rng, vocab_size):
    return [[rng.randrange(vocab_size) for _ in range(rng.randrange(1, 20))]
            for _ in range(1000)]


def smollm2_folder(folder):
    sys.path.insert(0, str(ROOT / "samples/smollm2"))
    import prepare
    _, keys = prepare.open_gguf()
    prepare.write_tokenizer(keys, folder)
    return folder


def compare(probe, folder):
    import tokenizers
    reference = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    seed = int(os.environ.get("TROUPE_TEST_SEED", "1"))
    rng = random.Random(seed)
    requests = make_texts(rng)
    requests += make_id_lists(rng, reference.get_vocab_size())
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run([probe, str(folder)], input=lines, text=True,
                          encoding="utf-8", stdout=subprocess.PIPE, timeout=280,
                          check=True)
    answers = done.stdout.split("\n")[:-1]
    assert len(answers) == len(requests), (len(answers), len(requests))
    num_wrong = 0
    num_tokens = 0
    for request, line in zip(requests, answers):
        answer = json.loads(line)
        is_text = isinstance(request, str)
        ids = reference.encode(request).ids if is_text else request
        num_tokens += len(ids)
        skipped = reference.decode(ids, skip_special_tokens=True)
        expected = {"ids": ids, "skipped": skipped, "streamed": skipped,
                    "kept": reference.decode(ids, skip_special_tokens=False)}
        if answer != expected:
            num_wrong += 1
            if num_wrong <= 5:
                print(f"differs: {ascii(request)[:300]}\n  expected "
                      f"{ascii(expected)[:500]}\n  found    {ascii(answer)[:500]}")
    print(f"{folder.name}: {len(requests)} texts and id lists, {num_tokens} "
          f"tokens, {num_wrong} differ (seed {seed})")
    return num_wrong == 0


def main():
    venv.enter()
    probe, kind = sys.argv[1:]
    if kind == "addition":
        sys.exit(not compare(probe, ROOT / "samples/addition"))
    with tempfile.TemporaryDirectory(prefix="smollm2_") as folder:
        sys.exit(not compare(probe, smollm2_folder(pathlib.Path(folder))))


if __name__ == "__main__":
    main()
