# SPDX-License-Identifier: Apache-2.0
"""Mixed lines to tokenize, from a seed: prose, code, CJK, emoji with joiners,
combining marks, right-to-left, control characters, long runs, invalid UTF-8
and special tokens written out."""
import os
import pathlib
import unicodedata

SPECIAL = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<pad>", "<eos>",
           "<s>", "</s>", "<unk>", "<|begin_of_text|>", "<start_of_turn>",
           "<mask>", "<tool>", "\n\n"]
WORDS = ("the of and to in is that it was for on are as with his they at be "
         "this from I have or by one had not but what all were when we there "
         "can an your which their said if do will each about how up out them "
         "then she many some so these would other into has more her two like "
         "him see time could no make than first been its who now people my "
         "made over did down only way find use may water long little very "
         "after words called just where most know").split()
TAILS = [".", ",", "!", "?", ";", ":", "'s", "'LL", "'re", "n't", "...", " -",
         "\u2019s", ")", "\""]
COMPOSED = "\u00e0\u00e9\u00ee\u00f5\u00fc\u00e7\u00df\u00f1\u1e69\u01d6\uac01"
MARKS = "\u0300\u0301\u0307\u0323\u0327\u0338\u0345\u05b0\u064b\u093c\u0f71"
EMOJI = ["\U0001f642", "\U0001f44d\U0001f3fd", "\u2764\ufe0f",
         "\U0001f469\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea"]


# Marks and compatibility forms since Unicode 10, which are news to the crate
# that normalizes for `tokenizers`.
TOO_NEW = [(0x07fd, 0x07fd), (0x0898, 0x089f), (0x08b5, 0x08b5), (0x08be, 0x08d3),
           (0x09fe, 0x09fe), (0x0b55, 0x0b55), (0x0c3c, 0x0c3c), (0x0d3b, 0x0d3c),
           (0x0d81, 0x0d81), (0x0eba, 0x0eba), (0x1734, 0x1734), (0x180f, 0x180f),
           (0x1abf, 0x1ace), (0x1df6, 0x1dfa), (0xa7f2, 0xa7f4), (0xa82c, 0xa82c),
           (0x10780, 0x107ba), (0x10d24, 0x10d27), (0x10eab, 0x10eac),
           (0x10f46, 0x10f50), (0x10f82, 0x10f85), (0x11070, 0x11075),
           (0x110c2, 0x110c2), (0x111ce, 0x111cf), (0x1133b, 0x1133b),
           (0x1145e, 0x1145e), (0x11839, 0x1183a), (0x11900, 0x119ff),
           (0x11a34, 0x11a34), (0x11a47, 0x11a47), (0x11a99, 0x11a99),
           (0x11d42, 0x11d45), (0x11d97, 0x11d97), (0x16fe4, 0x16ff1),
           (0x1cf00, 0x1cf46), (0x1e130, 0x1e136), (0x1e2ae, 0x1e2ef),
           (0x1fbf0, 0x1fbf9)]


def assigned():
    """Characters of Unicode 14 or before, which this Python, PCRE2 10.42 and
    Oniguruma all know, without TOO_NEW and private ones."""
    skipped = {chr(c) for first, last in TOO_NEW for c in range(first, last + 1)}
    return [c for c in map(chr, range(0x110000))
            if unicodedata.category(c) not in ("Cn", "Cs", "Co")
            and c not in skipped]


def sources():
    out = []
    for path in sorted(pathlib.Path(os.__file__).parent.glob("*.py"))[:80]:
        out += path.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line for line in out if line]


class Lines:
    """Makes lines; `kinds` names what each is, for what fails."""

    def __init__(self, rng):
        self.rng = rng
        self.assigned = assigned()
        self.spaces = [c for c in self.assigned if c.isspace()]
        self.sources = sources()
        self.kinds = [self.prose, self.code, self.cjk, self.emoji, self.marks,
                      self.right_to_left, self.controls, self.run, self.special,
                      self.any_character, self.white, self.digits, self.broken]

    def mix(self, alphabet, most):
        return "".join(self.rng.choice(alphabet)
                       for _ in range(self.rng.randrange(most)))

    def prose(self):
        return " ".join(
            self.rng.choice([str, str.title, str.upper])(
                self.rng.choice(WORDS))
            + (self.rng.choice(TAILS) if self.rng.random() < 0.2 else "")
            for _ in range(self.rng.randrange(1, 16)))

    def code(self):
        line = self.rng.choice(self.sources)
        if self.rng.random() < 0.2:
            line += "\n" * self.rng.randrange(1, 4) + self.rng.choice(self.sources)
        return line

    def cjk(self):
        return self.mix("\u6771\u4eac\u5927\u962a\u65e5\u672c\u8a9e\u306e"
                        "\u8a00\u8449\u4e2d\u6587\u5b57\ud55c\uad6d\uc5b4"
                        "\u30ab\u30ac\uff0c\u3002\u3000 a1", 30)

    def emoji(self):
        return self.mix(EMOJI + [" ", "ok", "!"], 12)

    def marks(self):
        return self.mix(COMPOSED + MARKS + "eaoA \u1100\u1161\u11a8\ufb01\u0130", 25)

    def right_to_left(self):
        return self.mix(["\u05e9\u05dc\u05d5\u05dd", "\u0645\u0631\u062d\u0628",
                         "\u064b", "\u0644\u0627", " ", "\u200f", ".", "12",
                         "\u0663\u0664"], 15)

    def controls(self):
        return self.mix("".join(map(chr, range(32))) + "\x7f\x85\u200b\u2028\ufeff\ufffd ab", 25)

    def run(self):
        return (self.rng.choice(" a\n-=\u4e00\u00e90\t.\u2581\u0301")
                * self.rng.randrange(1, self.rng.choice([4, 40, 400])) + self.mix("ax ", 4))

    def special(self):
        return "".join(self.rng.choice(
            SPECIAL + [" ", "x", "user\n", "<|", "|>", "<pad", "7", "_", "\u00e9"])
            for _ in range(self.rng.randrange(10)))

    def any_character(self):
        return self.mix(self.assigned, 30)

    def white(self):
        return self.mix(self.spaces + ["a", "1", ".", " ", " ", "\u2581"], 25)

    def digits(self):
        return self.mix("0123456789 \u00bd\u00b2\u2460\u2167\u0663\u096a.,-+=", 30)

    def broken(self):
        """Bytes that are seldom UTF-8."""
        out = bytearray(self.any_character().encode())
        for _ in range(self.rng.randrange(4)):
            if out:
                out[self.rng.randrange(len(out))] = self.rng.randrange(256)
        return bytes(out)

    def make(self, count):
        return [self.kinds[i % len(self.kinds)]() for i in range(count)]

    def corpus(self, count):
        """Lines to train vocabularies on: text that people write."""
        kinds = [self.prose, self.code, self.code, self.prose, self.cjk, self.emoji,
                 self.digits, self.marks]
        return [kinds[i % len(kinds)]() for i in range(count)]
