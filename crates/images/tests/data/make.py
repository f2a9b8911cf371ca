"""Writes the pictures of tests/data and their hashes, computed by imagehash."""
import io, random, sys
from pathlib import Path
import imagehash
from PIL import Image, ImageDraw, ImageOps

out = Path(sys.argv[1]); out.mkdir(parents=True, exist_ok=True)
rnd = random.Random(34)

def draw(width, height):
    picture = Image.new("RGB", (width, height), tuple(rnd.randrange(256) for _ in range(3)))
    canvas = ImageDraw.Draw(picture)
    for _ in range(12):
        xs = sorted(rnd.randrange(width + 1) for _ in range(2)); ys = sorted(rnd.randrange(height + 1) for _ in range(2))
        box = (xs[0], ys[0], xs[1], ys[1])
        shape = rnd.choice([canvas.ellipse, canvas.rectangle])
        shape(box, fill=tuple(rnd.randrange(256) for _ in range(3)))
    return picture

def save(name, picture, **options):
    picture.save(out / name, **options)

save("wide.png", draw(97, 41)); save("tall.png", draw(30, 133)); save("small.png", draw(11, 7))
save("exact.png", draw(32, 32)); save("nine.png", draw(9, 8))
save("gray.png", draw(64, 48).convert("L")); save("palette.png", draw(60, 50).quantize(16))
alpha = draw(50, 60); alpha.putalpha(draw(50, 60).convert("L")); save("alpha.png", alpha)
save("bits.png", draw(70, 55).convert("1"))
save("drawn.gif", draw(48, 40).quantize(32)); save("drawn.bmp", draw(45, 39)); save("drawn.tif", draw(41, 37))
save("packed.tif", draw(44, 33), compression="tiff_lzw"); save("lossless.webp", draw(52, 46), lossless=True)
save("lossy.webp", draw(90, 70), quality=80)
turned = draw(80, 60); exif = Image.Exif(); exif[0x112] = 6
save("turned.jpg", turned, quality=85, exif=exif); save("plain.jpg", draw(100, 75), quality=90)
save("progressive.jpg", draw(120, 90), quality=60, progressive=True)
save("gray.jpg", draw(66, 77).convert("L"))
save("cmyk.jpg", draw(66, 60).convert("CMYK"))
for grey in (0, 7, 255): save(f"flat{grey}.png", Image.new("L", (50, 40), grey))
half = draw(60, 90); mirrored = Image.new("RGB", (120, 90)); mirrored.paste(half, (0, 0)); mirrored.paste(ImageOps.mirror(half), (60, 0))
save("mirrored.png", mirrored); save("flipped.png", mirrored.transpose(Image.Transpose.ROTATE_90))
save("gradient.png", Image.linear_gradient("L").resize((70, 64)))
split = Image.new("L", (60, 40), 3); split.paste(250, (0, 0, 30, 40)); save("split.png", split)
checks = Image.new("L", (64, 64), 20)
for square in range(8): checks.paste(200, (square % 4 * 16, square // 4 * 32 + square % 2 * 16, square % 4 * 16 + 16, square // 4 * 32 + square % 2 * 16 + 16))
save("checks.png", checks)
diagonal = Image.new("L", (64, 64)); diagonal.putdata([x + y for y in range(64) for x in range(64)]); save("diagonal.png", diagonal)
for number in range(3): save(f"narrow{number}.png", draw(20 + number, 90 + 40 * number))
rows = []
for path in sorted(out.iterdir()):
    if path.suffix in {".png", ".gif", ".bmp", ".tif", ".webp", ".jpg"}:
        stored = Image.open(path); upright = ImageOps.exif_transpose(stored)
        rows.append("\t".join([path.name, str(imagehash.phash(upright)), str(imagehash.dhash(upright)), str(imagehash.phash(stored)), str(imagehash.dhash(stored))]))
(out / "hashes.tsv").write_text("# file, phash, dhash, and both as the pixels are stored: imagehash 4.3.2, Pillow 13.0.0\n" + "\n".join(rows) + "\n")
