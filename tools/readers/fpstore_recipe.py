#!/usr/bin/env python3
"""Fingerprints of texts by a recipe, written only from docs/recipe-spec.md to verify that document.
Far slower than the program.

    fpstore_recipe.py RECIPE < LINES

RECIPE contains the lines of a recipe, as printed by 'fpstore fingerprint -v'; LINES has one text per
line, as JSON. Prints a fingerprint for each, or - for a text without features.

Segments that need a dictionary, lists and tables are not supported. The segment 'words' needs the
package 'uniseg'. Unicode tables come from Python and from that package: texts with newer characters
may be split differently.
"""

import hashlib
import json
import sys
import unicodedata

MASK = (1 << 64) - 1
# Signs and letters of scripts without spaces. In a recipe without the line letter-ngram,
# FIRST_LETTERS count as signs, MORE_SIGNS and MORE_LETTERS as letters of words.
SIGNS = [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x3005, 0x3007), (0xF900, 0xFAFF), (0x20000, 0x3FFFF),
         (0x3041, 0x3096), (0x309D, 0x309F)]
MORE_SIGNS = [(0xA000, 0xA48C), (0x12000, 0x12399), (0x12400, 0x1246E), (0x12480, 0x12543),
              (0x13000, 0x1342F), (0x13460, 0x143FA), (0x14400, 0x14646)]
FIRST_LETTERS = [(0x0E01, 0x0E3A), (0x0E40, 0x0E4E), (0x0E81, 0x0ECD), (0x0EDC, 0x0EDF), (0x1000, 0x103F),
                 (0x1050, 0x108F), (0x1780, 0x17D3)]
MORE_LETTERS = [(0x0ECE, 0x0ECE), (0x109A, 0x109D), (0xA9E0, 0xA9EF), (0xA9FA, 0xA9FE), (0xAA60, 0xAA76),
                (0xAA7A, 0xAA7F), (0x17D7, 0x17D7), (0x17DC, 0x17DD), (0x1950, 0x1974), (0x1980, 0x19C9),
                (0x1A20, 0x1A7C), (0x1AA7, 0x1AA7), (0xAA80, 0xAAC2), (0xAADB, 0xAADD), (0x11700, 0x1172B),
                (0x11740, 0x11746), (0x1B00, 0x1B4C), (0xA980, 0xA9C0), (0xA9CF, 0xA9CF), (0x1A00, 0x1A1B)]

# Default_Ignorable_Code_Point of Unicode.
IGNORABLES = [(0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
              (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F),
              (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A),
              (0xE0000, 0xE0FFF)]
APOSTROPHES = "\u02bb\u02bc\u055a\u05f3\u1fbd\u1fbf\u2018\u2019\u201b\uff07"

VOWEL_MARKS = [(0x591, 0x5BD), (0x5BF, 0x5BF), (0x5C1, 0x5C2), (0x5C4, 0x5C5), (0x5C7, 0x5C7), (0x610, 0x61A),
               (0x640, 0x640), (0x64B, 0x65F), (0x670, 0x670), (0x6D6, 0x6DC), (0x6DF, 0x6E4), (0x6E7, 0x6E8),
               (0x6EA, 0x6ED)]


def is_in(c, ranges):
    return any(first <= ord(c) <= last for first, last in ranges)


def line_of(c, recipe):
    """The recipe line with the length of features that start at this character, if the character is a
    token by itself: ngram or letter-ngram; None for a letter of a word."""
    if "letter-ngram" not in recipe:
        return "ngram" if is_in(c, SIGNS + FIRST_LETTERS) else None
    if is_in(c, FIRST_LETTERS + MORE_LETTERS):
        return "letter-ngram"
    return "ngram" if is_in(c, SIGNS + MORE_SIGNS) else None


def is_letter(c):
    return unicodedata.category(c)[0] in "LMN"


def tokens(text, recipe):
    """The tokens, each with the recipe line for features that start at it."""
    segment = recipe["segment"]
    if segment == "letters":
        return [(c, line_of(c, recipe) or "shingle") for c in text if is_letter(c)]
    if segment == "characters":
        return [(c, "ngram") for c in text if is_letter(c)]
    if segment == "python-characters":
        return [(c, "ngram") for c in text if unicodedata.category(c)[0] in "LN" or c == "_"]
    if segment == "code":
        found, name = [], ""
        for c in text + " ":
            if is_letter(c) or c == "_":
                name += c
                continue
            found += [(name, "shingle")] if name else []
            name = ""
            found += [] if c.isspace() else [(c, "shingle")]
        return found
    if segment == "words":
        return words(text, recipe)
    sys.exit(f"segment={segment} is not implemented here")


def words(text, recipe):
    """Words by UAX #29 that contain a letter or digit; runs of single characters are split first."""
    from uniseg.wordbreak import words as cut

    found, run = [], ""
    for c in text + "\u4e00":
        line = line_of(c, recipe)
        if not line:
            run += c
            continue
        for word in cut(run):
            if any(c.isalnum() for c in word):
                found.append((word, "shingle"))
        run = ""
        found.append((c, line))
    return found[:-1]


def seen(text, recipe):
    if recipe.get("ignorables") == "dropped":
        text = "".join(c for c in text if not is_in(c, IGNORABLES))
    if recipe.get("apostrophes") == "folded":
        text = "".join("'" if c in APOSTROPHES else c for c in text)
    return text


def features(text, recipe):
    text = seen(text, recipe)
    if recipe["nfkc"] == "yes":
        text = seen(unicodedata.normalize("NFKC", text), recipe)
    if recipe["vowel-marks"] == "dropped":
        text = "".join(c for c in text if not is_in(c, VOWEL_MARKS))
    if recipe["case"] == "lower":
        text = text.lower()
    if recipe["case"] == "folded":
        text = "".join(c.lower() for c in "".join(c.upper() for c in text))
    cut = tokens(text, recipe)
    spaced = recipe["segment"] != "letters"

    def joined(part):
        text = part[0][0]
        for (_, before), (token, line) in zip(part, part[1:]):
            text += (" " if spaced and "shingle" in (before, line) else "") + token
        return text

    found = []
    for at, (_, line) in enumerate(cut):
        length = int(recipe[line])
        if at + length <= len(cut):
            found.append(joined(cut[at:at + length]))
    if not found and cut:
        found = [joined(cut)]
    if not found and recipe["empty"] == "feature":
        found = [""]
    if not found and recipe["empty"] == "text" and text.strip():
        found = [text.strip()]
    return found


def rotated(value, bits):
    return (value << bits | value >> 64 - bits) & MASK


def siphash(key, data, rounds, final_rounds):
    """SipHash of Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012."""
    k0, k1 = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    a, b = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D
    c, d = k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573

    def mixed(a, b, c, d, count):
        for _ in range(count):
            a, c = (a + b) & MASK, (c + d) & MASK
            b, d = rotated(b, 13) ^ a, rotated(d, 16) ^ c
            a = rotated(a, 32)
            c, a = (c + b) & MASK, (a + d) & MASK
            b, d = rotated(b, 17) ^ c, rotated(d, 21) ^ a
            c = rotated(c, 32)
        return a, b, c, d

    data += bytes(7 - len(data) % 8) + bytes([len(data) & 255])
    for at in range(0, len(data), 8):
        word = int.from_bytes(data[at:at + 8], "little")
        a, b, c, d = mixed(a, b, c, d ^ word, rounds)
        a ^= word
    a, b, c, d = mixed(a, b, c ^ 255, d, final_rounds)
    return a ^ b ^ c ^ d


def hash_of(feature, spelled):
    data = feature.encode()
    name, _, key = spelled.partition(" ")
    if name == "md5-low-64":
        return int.from_bytes(hashlib.md5(data).digest()[8:], "big")
    if name == "fnv-1":
        value = 0xCBF29CE484222325
        for byte in data:
            value = value * 0x100000001B3 & MASK ^ byte
        return value
    rounds = {"siphash-1-3": (1, 3), "siphash-2-4": (2, 4)}[name]
    return siphash(bytes.fromhex(key), data, *rounds)


def mix(z):
    z = ((z & MASK) ^ (z & MASK) >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def minima(hashes, bits, hash_in_round):
    """The minimum of each of 2^bits bins, with the low bits set to 0."""
    least, number = [None] * (1 << bits), 0
    while None in least:
        empty = [value is None for value in least]
        for h in hashes:
            g = hash_in_round(h, number)
            place = g >> 64 - bits if number < 64 else number - 64
            if empty[place]:
                value = g << bits & MASK
                least[place] = value if least[place] is None else min(least[place], value)
        number += 1
    return least


def minhash(hashes):
    def in_round(h, number):
        return h if number == 0 else mix(h + number * 0x9E3779B97F4A7C15)

    return sum((value >> 6 & 1) << bit for bit, value in enumerate(minima(hashes, 6, in_round)))


def sketch(hashes, length):
    def in_round(h, number):
        return mix(h + ((1 << 32) + number) * 0x9E3779B97F4A7C15)

    bits = length.bit_length() - 1
    return bytes(value >> bits & 0xFF for value in minima(hashes, bits, in_round))


def log2_steps(number):
    """log2 of a whole number in steps of 2^-24, rounded down, digit by digit."""
    steps, mantissa = number.bit_length() - 1, number << 64 - number.bit_length()
    for _ in range(24):
        mantissa = mantissa * mantissa >> 63
        digit = mantissa >> 64
        mantissa >>= digit
        steps = steps << 1 | digit
    return steps


def simhash(counts, recipe):
    def weight(count):
        """The weight of a feature in steps of 2^-16."""
        if recipe["count"] == "once":
            return 1 << 16
        return (1 << 16) + (log2_steps(count) >> 8) if recipe["count"] == "log" else count << 16

    if recipe["factor"] != "none":
        sys.exit("weights by lists and tables are not implemented here")
    weights = [(weight(count), h) for h, count in counts.items()]
    if recipe["top"] != "all":
        weights = sorted(weights, key=lambda of: (-of[0], of[1]))[:int(recipe["top"])]
    total = sum(weight for weight, _ in weights)
    tie = recipe["tie"] == "one"
    value = 0
    for bit in range(64):
        ones = sum(weight for weight, h in weights if h >> bit & 1)
        value |= (2 * ones > total or tie and 2 * ones == total) << bit
    return value


def fingerprint(text, recipe, sketch_len=0):
    """The fingerprint or the sketch of a text; None for a text without features."""
    if recipe.get("stop", "none") != "none":
        sys.exit("stop words are not implemented here")
    counts = {}
    for feature in features(text, recipe):
        h = hash_of(feature, recipe["hash"])
        counts[h] = counts.get(h, 0) + 1
    if not counts:
        return None
    if sketch_len:
        return sketch(counts, sketch_len).hex()
    return minhash(counts) if recipe["method"] == "minhash" else simhash(counts, recipe)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        recipe = dict(line.strip().split("=", 1) for line in file if line.strip())
    if recipe.get("fpstore-text") != "1":
        sys.exit(f"{sys.argv[1]}: expected a recipe that starts with fpstore-text=1")
    sketch_len = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    for line in sys.stdin:
        value = fingerprint(json.loads(line), recipe, sketch_len)
        print("-" if value is None else value if sketch_len else f"{value:016x}")


if __name__ == "__main__":
    main()
