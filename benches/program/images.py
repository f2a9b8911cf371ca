#!/usr/bin/env python3
"""Measures which edits of pictures are found within k bits, for several k.

Needs Pillow and imagehash (`pip install pillow imagehash`) and the program `fpstore`:

    FPSTORE_BIN=target/release/fpstore python3 benches/program/images.py [PICTURES]

It draws pictures (600 by default), edits each, builds a store of the originals, and queries every
edit. For each edit and k a table has the share of edited pictures whose original is found, and the
number of wrong originals per query. It also compares the hashes with imagehash.

Other hashes are measured if they are available: imagededup (`pip install imagededup`), and czkawka if
RIVAL_BIN is the path of the program built from `benches/picture_rival`.
"""

import functools
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import imagehash
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter, ImageOps

BIN = os.environ.get("FPSTORE_BIN", "fpstore")
# The Python functions that compute the same hashes as fpstore.
SAME = {"phash": imagehash.phash, "dhash": imagehash.dhash}
DISTANCES = [0, 2, 3, 4, 6, 8, 10, 12, 16]


def drawn(rnd: random.Random) -> Image.Image:
    """A picture with a soft background, shapes and fine texture."""
    size = (rnd.choice([640, 800, 480]), rnd.choice([480, 600, 640]))
    coarse = Image.new("RGB", (rnd.randrange(3, 9), rnd.randrange(3, 9)))
    coarse.putdata([tuple(rnd.randrange(256) for _ in range(3)) for _ in range(coarse.width * coarse.height)])
    picture = coarse.resize(size, Image.Resampling.BICUBIC)
    canvas = ImageDraw.Draw(picture)
    for _ in range(rnd.randrange(4, 20)):
        left, top = rnd.randrange(size[0]), rnd.randrange(size[1])
        box = (left, top, left + rnd.randrange(10, size[0] // 2), top + rnd.randrange(10, size[1] // 2))
        shape = rnd.choice([canvas.ellipse, canvas.rectangle])
        shape(box, fill=tuple(rnd.randrange(256) for _ in range(3)))
    noise = Image.effect_noise(size, 40).convert("RGB")
    return Image.blend(picture, noise, 0.1).filter(ImageFilter.GaussianBlur(1))


def cropped(picture: Image.Image, share: float) -> Image.Image:
    x, y = int(picture.width * share), int(picture.height * share)
    return picture.crop((x, y, picture.width - x, picture.height - y))


def turned(picture: Image.Image, degrees: float) -> Image.Image:
    return picture.rotate(degrees, Image.Resampling.BICUBIC)


def scaled(picture: Image.Image, share: float) -> Image.Image:
    size = (int(picture.width * share), int(picture.height * share))
    return picture.resize(size, Image.Resampling.BICUBIC)


EDITS = {
    "PNG, half as wide": (lambda p: scaled(p, 0.5), {"format": "PNG"}),
    "PNG, a tenth as wide": (lambda p: scaled(p, 0.1), {"format": "PNG"}),
    "JPEG 90": (lambda p: p, {"format": "JPEG", "quality": 90}),
    "JPEG 30": (lambda p: p, {"format": "JPEG", "quality": 30}),
    "JPEG 10": (lambda p: p, {"format": "JPEG", "quality": 10}),
    "half as wide, JPEG 60": (lambda p: scaled(p, 0.5), {"format": "JPEG", "quality": 60}),
    "brighter by 30 %": (lambda p: ImageEnhance.Brightness(p).enhance(1.3), {"format": "PNG"}),
    "grey": (lambda p: p.convert("L"), {"format": "PNG"}),
    "cropped by 1 % on each side": (lambda p: cropped(p, 0.01), {"format": "PNG"}),
    "cropped by 3 % on each side": (lambda p: cropped(p, 0.03), {"format": "PNG"}),
    "cropped by 5 % on each side": (lambda p: cropped(p, 0.05), {"format": "PNG"}),
    "turned by 1 degree": (lambda p: turned(p, 1), {"format": "PNG"}),
    "turned by 3 degrees": (lambda p: turned(p, 3), {"format": "PNG"}),
    "turned by 90 degrees": (lambda p: p.rotate(90, expand=True), {"format": "PNG"}),
    "mirrored": (ImageOps.mirror, {"format": "PNG"}),
}


def dump(folder: Path, name: str) -> dict[str, int]:
    """The fingerprints of the pictures in a folder."""
    with tempfile.TemporaryDirectory() as scratch:
        store = str(Path(scratch) / "store.fps")
        subprocess.run([BIN, "build", "--images", str(folder), "--image-hash", name, "-s", store, "-q"], check=True)
        rows = subprocess.run([BIN, "dump", store], check=True, capture_output=True, text=True).stdout
    return {row.split("\t")[1]: int(row.split("\t")[0], 16) for row in rows.splitlines()}


def of_imagededup(folder: Path) -> dict[str, int]:
    """The hashes of the pictures in a folder, with the default options of imagededup."""
    from imagededup.methods.hashing import PHash

    hasher = PHash(verbose=False)
    return {path.name: int(hasher.encode_image(str(path)), 16) for path in folder.iterdir()}


def of_czkawka(folder: Path) -> dict[str, int]:
    done = subprocess.run([os.environ["RIVAL_BIN"], str(folder)], check=True, capture_output=True, text=True)
    return {row.split("\t")[1]: int(row.split("\t")[0], 16) for row in done.stdout.splitlines()}


def rivals() -> dict[str, Callable[[Path], dict[str, int]]]:
    """The available rivals, each a function from a folder to the hashes of its pictures."""
    found: dict[str, Callable[[Path], dict[str, int]]] = {}
    try:
        import imagededup.methods.hashing  # noqa: F401

        found["imagededup's PHash"] = of_imagededup
    except ImportError as missing:
        print(f"without imagededup: {missing}", file=sys.stderr)
    if "RIVAL_BIN" in os.environ:
        found["czkawka's Gradient, 8 by 8"] = of_czkawka
    return found


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    rnd = random.Random(64)
    with tempfile.TemporaryDirectory() as scratch:
        originals = Path(scratch) / "originals"
        originals.mkdir()
        folders = {edit: Path(scratch) / f"edit{number}" for number, edit in enumerate(EDITS)}
        for folder in folders.values():
            folder.mkdir()
        for number in range(count):
            picture = drawn(rnd)
            picture.save(originals / f"{number}.png")
            for edit, (change, options) in EDITS.items():
                ending = "jpg" if options["format"] == "JPEG" else "png"
                change(picture).save(folders[edit] / f"{number}.{ending}", **options)
        makers = {name: functools.partial(dump, name=name) for name in SAME} | rivals()
        for name, hashes in makers.items():
            stored = hashes(originals)
            print(f"\n{name}, {count} pictures: found within k, and wrong ones a query\n")
            print("| edit | " + " | ".join(f"k={k}" for k in DISTANCES) + " |")
            print("|---|" + "---:|" * len(DISTANCES))
            differing: dict[str, list[int]] = {"png": [], "jpg": []}
            wrong = [0] * len(DISTANCES)
            for edit, folder in folders.items():
                edited = hashes(folder)
                found = [0] * len(DISTANCES)
                for id_, value in edited.items():
                    own = id_.split(".")[0]
                    near = (value ^ stored[f"{own}.png"]).bit_count()
                    others = [(value ^ it).bit_count() for key, it in stored.items() if key != f"{own}.png"]
                    for at, k in enumerate(DISTANCES):
                        found[at] += near <= k
                        wrong[at] += sum(distance <= k for distance in others)
                print(f"| {edit} | " + " | ".join(f"{it / count:.2f}" for it in found) + " |")
                for id_ in list(edited)[: count // 4] if name in SAME else []:
                    with Image.open(folder / id_) as picture:
                        theirs = int(str(SAME[name](picture)), 16)
                    differing[id_.split(".")[1]].append((theirs ^ edited[id_]).bit_count())
            queries = count * len(EDITS)
            print("| wrong ones a query | " + " | ".join(f"{it / queries:.4f}" for it in wrong) + " |")
            for ending, bits in differing.items() if name in SAME else []:
                same = sum(it == 0 for it in bits)
                print(f"compared with imagehash, .{ending}: {same} of {len(bits)} equal, at most {max(bits)} bits differ")


if __name__ == "__main__":
    main()
