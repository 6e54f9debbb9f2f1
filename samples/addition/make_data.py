# SPDX-License-Identifier: Apache-2.0
"""Makes the quickstart's rows: sums of two numbers from 0 to 99.

    python3 samples/addition/make_data.py

A pair of the held-out rows is in no training row, in neither order. The order
comes from a hash, so that every Python makes the same files. They are
committed: neither the quickstart nor the tests need this script.
"""
import hashlib
import json
import pathlib

NUM_EVAL = 500
NUM_TRAIN = 9000


def rank(pair):
    return hashlib.sha256(f"addition {pair}".encode()).digest()


def main():
    pairs = sorted(((a, b) for a in range(100) for b in range(100)), key=rank)
    held_out = pairs[:NUM_EVAL]
    forbidden = {tuple(sorted(pair)) for pair in held_out}
    train = [p for p in pairs if tuple(sorted(p)) not in forbidden][:NUM_TRAIN]
    here = pathlib.Path(__file__).parent
    for name, rows in [("eval.jsonl", held_out), ("train.jsonl", train)]:
        with (here / name).open("w", encoding="utf-8") as out:
            for a, b in rows:
                row = {"prompt": f"{a}+{b}=", "answer": str(a + b)}
                out.write(json.dumps(row, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
