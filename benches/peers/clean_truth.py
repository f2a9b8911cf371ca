"""The true near-duplicates of a corpus, and the recall and precision of a cleaning tool."""

import json
import subprocess

import numpy as np

# The number of words in the vocabulary of a synthetic corpus.
WORDS = 60_000
# The similarity threshold of near documents.
NEAR = 0.8


def similarity(one, other):
    """The Jaccard similarity of the three-word shingles of two texts, given as word numbers."""
    sets = [
        np.unique((words[:-2] * WORDS + words[1:-1]) * WORDS + words[2:]) for words in (one, other)
    ]
    shared = len(np.intersect1d(*sets, assume_unique=True))
    return shared / max(1, len(sets[0]) + len(sets[1]) - shared)


def near_copies(folder, families):
    """The copies so similar to their originals that every tool should find them."""
    texts, number_of = {}, {}
    number = lambda word: number_of.setdefault(word, len(number_of))
    wanted = set(families) | {original for original, _ in families.values()}
    for path in sorted(folder.iterdir()):
        for line in path.open():
            record = json.loads(line)
            if int(record["id"]) in wanted:
                words = map(number, record["text"].split())
                texts[int(record["id"])] = np.fromiter(words, dtype=np.uint32)
    return {
        copy
        for copy, (original, _) in families.items()
        if similarity(texts[copy].astype(np.int64), texts[original].astype(np.int64)) >= 0.85
    }


class MadeUp:
    """The truth about a synthetic corpus."""

    def __init__(self, folder, families):
        self.near = near_copies(folder, families)
        self.copies = set(families)
        self.originals = {copy: original for copy, (original, _) in families.items()}
        self.members = self.copies | set(self.originals.values())

    def __str__(self):
        return f"{len(self.copies)} copies, {len(self.near)} with a similarity of 0.85 or more"

    def measure(self, kept, removed):
        """Recall and precision. A tool may keep any one document of each family."""
        family_of = lambda number: self.originals.get(number, number)
        left = {}
        for number in kept:
            left.setdefault(family_of(number), []).append(number)
        found = 0
        for copy in self.near:
            others = [one for one in left.get(family_of(copy), []) if one != copy]
            found += copy in removed or not others
        right = sum(family_of(number) in left and number in self.members for number in removed)
        return found / max(1, len(self.near)), right / max(1, len(removed))


class Labelled:
    """The truth from labelled pairs."""

    def __init__(self, path, number_of):
        self.near, self.grey = [], set()
        for line in lines_of(path):
            one, other, label = line.split("\t")[:3]
            if one in number_of and other in number_of:
                pair = number_of[one], number_of[other]
                if label == "1":
                    self.near.append(pair)
                elif label == "-1":
                    self.grey.update(pair)

    def __str__(self):
        return f"{len(self.near)} near pairs"

    def measure(self, kept, removed):
        """Recall and precision. Documents in ignored pairs are not counted."""
        found = sum(one not in kept or other not in kept for one, other in self.near)
        members = {number for pair in self.near for number in pair}
        counted = [number for number in removed if number in members or number not in self.grey]
        right = sum(number in members for number in counted)
        return found / max(1, len(self.near)), right / max(1, len(counted))


def lines_of(path):
    """The lines of a plain or compressed file."""
    command = ["zstd", "-dcq", path] if path.endswith(".zst") else ["cat", path]
    out = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    return out.decode().rstrip("\n").split("\n")


class Exact:
    """All pairs of documents whose word pairs have a Jaccard similarity of 0.8 or more, found and
    compared exactly.

    Two documents with this similarity share one of their rarest features: of n features, it
    suffices to look up the n - 0.8 n + 1 rarest (Chaudhuri and others, "A Primitive Operator for
    Similarity Joins in Data Cleaning", ICDE 2006).
    """

    def __init__(self, folder):
        number_of, sets, numbers = {}, [], []
        for path in sorted(folder.iterdir(), key=lambda it: int(it.stem.split("-")[1])):
            for line in path.open():
                record = json.loads(line)
                words = record["text"].lower().split()
                pairs = set(zip(words, words[1:])) or set(words)
                found = [number_of.setdefault(pair, len(number_of)) for pair in pairs]
                sets.append(np.unique(np.array(found, np.int64)))
                numbers.append(int(record["id"]))
        counts = np.bincount(np.concatenate(sets), minlength=len(number_of))
        with_feature, self.near = {}, []
        for at, features in enumerate(sets):
            rare = features[np.lexsort((features, counts[features]))]
            rare = rare[: len(rare) - int(np.ceil(NEAR * len(rare) - 1e-9)) + 1].tolist()
            others = {other for feature in rare for other in with_feature.get(feature, [])}
            for other in others:
                shared = len(np.intersect1d(features, sets[other], assume_unique=True))
                if shared >= NEAR * (len(features) + len(sets[other]) - shared) - 1e-9:
                    self.near.append((numbers[other], numbers[at]))
            for feature in rare:
                if counts[feature] > 1:
                    with_feature.setdefault(feature, []).append(at)

    def __str__(self):
        return f"{len(self.near)} pairs with a similarity of {NEAR} or more"

    def measure(self, kept, removed):
        """The share of near pairs that lost at least one document, and the share of removed documents
        that belong to a near pair."""
        found = sum(one not in kept or other not in kept for one, other in self.near)
        members = {number for pair in self.near for number in pair}
        right = sum(number in members for number in removed)
        return found / max(1, len(self.near)), right / max(1, len(removed))
