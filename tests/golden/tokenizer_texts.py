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


def is_settled(character):
    """False for marks and compatibility forms since Unicode 3.2: the crate that
    normalizes for `tokenizers` knows 9 at most."""
    return (unicodedata.ucd_3_2_0.category(character) != "Cn"
            or not (unicodedata.category(character).startswith("M")
                    or unicodedata.decomposition(character)))


def assigned():
    """Characters of Unicode 14 or before, which this Python, PCRE2 10.42 and
    Oniguruma all know, but private ones."""
    return [c for c in map(chr, range(0x110000))
            if unicodedata.category(c) not in ("Cn", "Cs", "Co")
            and is_settled(c)]


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
