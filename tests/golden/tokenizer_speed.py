# SPDX-License-Identifier: Apache-2.0
"""Times Troupe's tokenizer beside Hugging Face's `tokenizers` on one thread,
in CPU seconds, on the same texts, in turns.

    python3 tokenizer_speed.py PROBE [RATIO]

Prints MB/s of encoding and decoding for each style of tokenizer_styles.py, and
the seconds of a line of 1 MB without spaces. With RATIO, fails if Troupe is
slower than RATIO times `tokenizers`, or the long line takes a second; that is
skipped (77) without TROUPE_FULL. Exits 77 without the tests' venv, too.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import venv_of_tests as venv

NUM_TURNS = 3


def time_reference(reference, texts):
    begin = time.process_time()
    ids = [reference.encode(text).ids for text in texts]
    encoded = time.process_time()
    for one in ids:
        reference.decode(one)
    return {"encode": encoded - begin, "decode": time.process_time() - encoded}


def time_troupe(probe, folder, texts):
    file = folder / "texts.json"
    file.write_text(json.dumps(texts), encoding="utf-8")
    done = subprocess.run([probe, str(folder), "--speed", str(file)], text=True,
                          stdout=subprocess.PIPE, timeout=300, check=True)
    return json.loads(done.stdout)


def best(run):
    """Returns the least seconds of each part, over turns."""
    runs = [run() for _ in range(NUM_TURNS)]
    return {part: min(one[part] for one in runs) for part in runs[0]}


def main():
    venv.enter()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    import tokenizers
    import tokenizer_golden
    import tokenizer_styles
    import tokenizer_texts
    probe, *ratio = sys.argv[1:]
    if ratio and not tokenizer_golden.FULL:
        print("skipped: it takes half a minute; set TROUPE_FULL=1")
        sys.exit(venv.SKIPPED)
    rng = random.Random(1)
    lines = tokenizer_texts.Lines(rng)
    texts = ["\n".join(lines.prose() for _ in range(12)) for _ in range(700)]
    texts += ["\n".join(lines.sources[i:i + 30])
              for i in range(0, min(len(lines.sources), 21000), 30)]
    num_mb = sum(len(text.encode()) for text in texts) / 1e6
    long_lines = {"letters": "".join(rng.choice("abcdefghij") for _ in range(10**6)),
                  "one letter": "a" * 10**6, "CJK": "".join(
                      rng.choice("\u6771\u4eac\u5927\u962a") for _ in range(333_333))}
    is_slow = False
    print(f"{num_mb:.1f} MB; MB/s of Troupe | tokenizers {tokenizers.__version__}")
    for name in ["smollm2", *tokenizer_styles.STYLES]:
        with tempfile.TemporaryDirectory(prefix=f"{name}_") as folder:
            folder = pathlib.Path(folder)
            if name == "smollm2":
                tokenizer_golden.smollm2_folder(folder)
            else:
                made = tokenizer_styles.STYLES[name](lines.corpus(4000))
                made.save(str(folder / "tokenizer.json"))
            file = str(folder / "tokenizer.json")
            ours = best(lambda: time_troupe(probe, folder, texts))
            theirs = best(lambda: time_reference(
                tokenizers.Tokenizer.from_file(file), texts))
            long = {kind: time_troupe(probe, folder, [text])["encode"]
                    for kind, text in long_lines.items()}
        print(f"{name:18} " + ", ".join(
            f"{part} {num_mb / ours[part]:.1f} | {num_mb / theirs[part]:.1f}"
            for part in theirs)
            + f", with spans {num_mb / ours['spans']:.1f}; 1 MB "
            + ", ".join(f"{kind} {seconds:.2f} s" for kind, seconds in long.items()),
            flush=True)
        is_slow |= max(long.values()) > 1
        if ratio:
            is_slow |= any(ours[part] > theirs[part] / float(ratio[0])
                           for part in theirs)
    sys.exit(is_slow)


if __name__ == "__main__":
    main()
