"""Sixteen jobs of a data engineer, each checked, compared with other packages for the same job.

    python benches/jobs.py [--documents 30000] [--only clean,night] [--threads 1]

Each job runs in a separate process. The report contains for each job the number of lines of its
function, and the CPU seconds of its process and child processes. The truth is exact: all pairs of
documents whose sets of word pairs have a Jaccard similarity of 0.8 or more, found by their rarest
word pairs. The job functions pass `mypy --strict`.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import inspect
import json
import multiprocessing
import os
import pickle
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import fpstore

U64 = npt.NDArray[np.uint64]
Notes = dict[str, float | int | str]
SIMILARITY = 0.8


# The documents, and the true near-duplicates among them.


def made_documents(count: int, seed: int = 5) -> list[str]:
    """Documents of 60 to 300 words: 60 % are new, 25 % are edited copies, 5 % are copies with other
    case and punctuation, 10 % are made from templates in which one word changes."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{at}" for at in range(50_000)])
    ranks = np.arange(1, len(words) + 1) ** -1.05
    ranks /= ranks.sum()

    def fresh() -> list[str]:
        return [str(word) for word in rng.choice(words, int(rng.integers(60, 300)), p=ranks)]

    base = [fresh() for _ in range(count * 6 // 10)]
    texts = [" ".join(words) for words in base]
    for _ in range(count // 4):
        edited = list(base[rng.integers(len(base))])
        for _ in range(max(1, int(len(edited) * rng.uniform(0.005, 0.12)))):
            edited[rng.integers(len(edited))] = f"e{rng.integers(10**9)}"
        texts.append(" ".join(edited))
    for _ in range(count // 20):
        copied = texts[rng.integers(len(texts))].split()
        texts.append(", ".join(word.upper() if rng.random() < 0.2 else word for word in copied) + ".")
    templates = [fresh() for _ in range(max(1, count // 1000))]
    while len(texts) < count:
        filled = list(templates[rng.integers(len(templates))])
        filled[rng.integers(len(filled))] = f"t{rng.integers(10**9)}"
        texts.append(" ".join(filled))
    return [texts[at] for at in rng.permutation(len(texts))]


def word_pairs(text: str) -> set[str]:
    words = [word.strip(".,").lower() for word in text.split()]
    return {f"{one} {other}" for one, other in zip(words, words[1:])}


def true_removals(texts: list[str]) -> list[bool]:
    """Whether each document is similar to an earlier kept document."""
    sets = [word_pairs(text) for text in texts]
    counts = Counter(pair for features in sets for pair in features)
    posted: dict[str, list[int]] = {}
    removed = []
    for row, features in enumerate(sets):
        rarest = sorted(features, key=lambda pair: (counts[pair], pair))
        prefix = rarest[: len(features) - -int(-SIMILARITY * len(features) // 1) + 1]
        near = {other for pair in prefix for other in posted.get(pair, ())}
        is_near = any(
            len(features & sets[other]) >= SIMILARITY * len(features | sets[other])
            for other in near
            if SIMILARITY * len(features) <= len(sets[other]) <= len(features) / SIMILARITY
        )
        removed.append(is_near)
        if not is_near:
            for pair in prefix:
                posted.setdefault(pair, []).append(row)
    return removed


def quality(kept: npt.NDArray[np.bool_], truth: list[bool]) -> Notes:
    removed, wanted = ~kept, np.array(truth)
    right = int((removed & wanted).sum())
    return {
        "precision": round(right / max(1, int(removed.sum())), 4),
        "recall": round(right / max(1, int(wanted.sum())), 4),
    }


@dataclasses.dataclass
class World:
    """The input of the jobs."""

    folder: Path
    texts: list[str]
    truth: list[bool]

    def frame(self) -> Any:
        import pandas

        return pandas.DataFrame({"id": range(len(self.texts)), "text": self.texts})


# The jobs.


def clean(world: World) -> Notes:
    frame = world.frame()
    cleaned = fpstore.clean(frame, threads=1)
    frame[cleaned.keep].to_parquet(world.folder / "clean.parquet")
    return quality(cleaned.keep, world.truth)


def tables(world: World) -> Notes:
    import polars
    import pyarrow

    frame = world.frame()
    arrow = pyarrow.Table.from_pandas(frame)
    records = ({"id": at, "text": text} for at, text in enumerate(world.texts))
    given: list[Any] = [frame, polars.DataFrame(frame), arrow, arrow.to_reader(1000), frame["text"], records]
    kept = [fpstore.clean(table, threads=1).kept for table in given]
    assert len(set(kept)) == 1
    return {"kinds": len(given)}


def folder(world: World) -> Notes:
    lines = [json.dumps({"id": at, "text": text}) + "\n" for at, text in enumerate(world.texts)]
    (world.folder / "in").mkdir()
    for at in range(10):
        (world.folder / "in" / f"{at}.jsonl").write_text("".join(lines[at::10]))
    fractions: list[float] = []
    fpstore.clean(
        world.folder / "in",
        world.folder / "out",
        threads=1,
        progress=lambda progress: fractions.append(progress.fraction),
    )
    assert fractions == sorted(fractions)
    order = [at for start in range(10) for at in range(start, len(world.texts), 10)]
    kept = {json.loads(line)["id"] for path in (world.folder / "out").iterdir() for line in path.open()}
    truth = true_removals([world.texts[at] for at in order])
    return quality(np.array([at in kept for at in order]), truth)


def night(world: World) -> Notes:
    frame = world.frame()
    store = fpstore.build(world.folder / "nights.fps", [], recipe="minhash", sketch=True)
    kept = []
    for number in range(5):
        day = frame[number * len(frame) // 5 : (number + 1) * len(frame) // 5]
        with fpstore.clean(day, store=store.path, within=True, add=True, run=f"{number}", commit=False, threads=1) as cleaned:
            day[cleaned.keep].to_parquet(world.folder / f"{number}.parquet")
        kept.append(cleaned.keep)
    return quality(np.concatenate(kept), world.truth)


def pictures(world: World) -> Notes:
    found = fpstore.images(made_pictures(world), threads=1)
    store = fpstore.build(None, found)
    page = store.clusters_page(images=world.folder / "pictures")
    assert page.html().count("data:image/jpeg") > 10
    return {"clusters": len(set(store.clusters().read_all()["cluster"].tolist()))}


def queries(world: World) -> Notes:
    values, needles = made_queries()
    store = fpstore.build(None, values, k=3, threads=1)
    rows = store.query_many(needles, 3, threads=1)
    near = int(store.has_near(needles[:2000], 3).sum())
    assert near == len(set(rows["query"][rows["query"] < 2000].tolist()))
    return {"matches of the first 10^5": int((rows["query"] < 100_000).sum())}


def join(world: World) -> Notes:
    frame = world.frame()
    half = len(frame) // 2
    found = fpstore.pairs(frame[:half], frame[half:], confirm=SIMILARITY, threads=1)
    sets = [word_pairs(text) for text in world.texts]
    right = sum(
        len(sets[row.first] & sets[half + row.second]) >= SIMILARITY * len(sets[row.first] | sets[half + row.second])
        for row in found
    )
    return {"pairs": len(found), "precision": round(right / max(1, len(found)), 4)}


def counted(store: fpstore.Store, values: list[int]) -> int:
    return len(store.query_many(np.array(values, np.uint64), 3, threads=1))


def processes(world: World) -> Notes:
    store = fpstore.build(world.folder / "shared.fps", range(1000), k=3)
    parts = [list(range(at, 1000, 4)) for at in range(4)]
    expected = [counted(store, part) for part in parts]
    ways = 0
    for method in ("fork", "spawn", "forkserver"):
        with ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
            assert list(pool.map(counted, [store] * 4, parts)) == expected
            ways += 1
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(counted, [store] * 4, parts)) == expected

    async def by_threads() -> list[int]:
        return await asyncio.gather(*(asyncio.to_thread(counted, store, part) for part in parts))

    assert asyncio.run(by_threads()) == expected
    return {"ways": ways + 2}


def service(world: World) -> Notes:
    store = fpstore.build(None, fpstore.Documents(world.frame()[:1000]), recipe="minhash")

    def answer(text: str) -> str:
        return json.dumps([dataclasses.asdict(match) for match in store.query_text(text, limit=3)])

    answers = [json.loads(answer(text)) for text in world.texts[:500]]
    assert all(matches[0]["distance"] == 0 for matches in answers)
    return {"requests": len(answers)}


def pickles(world: World) -> Notes:
    recipe = fpstore.Recipe()
    store = fpstore.build(world.folder / "pickled.fps", [1, 2], ["a", "b"])
    things = [
        store, fpstore.open([store.path]), recipe, recipe.fingerprints(["a b"]), store.info(), store.query(1),
        store.query_many([1]), store.query_many([1])[0], fpstore.clean({"text": ["a b"]}).rows,
        recipe.df_table(texts=["a b"], min_df=1), fpstore.tasks.JoinPlan(3), fpstore.plan(1000),
        fpstore.errors.InputError("no"), recipe.compare("a b", "a c"), recipe.compare_page("a b", "a c"),
        store.verify(),
    ]  # fmt: skip
    copies = [pickle.loads(pickle.dumps(thing)) for thing in things]
    assert [type(copy) for copy in copies] == [type(thing) for thing in things]
    return {"kinds": len(things)}


def notebook(world: World) -> Notes:
    import nbclient
    import nbformat

    cells = [
        "import fpstore, pandas",
        "frame = pandas.DataFrame({'id': ['a', 'b'], 'text': ['one two three', 'one two three']})",
        "cleaned = fpstore.clean(frame); cleaned",
        "fpstore.build(None, fpstore.Documents(frame), recipe='minhash').clusters_page(texts=frame)",
        "fpstore.plan(10**6)",
    ]
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])  # type: ignore[no-untyped-call]
    nbclient.NotebookClient(made).execute()
    shown = [output for cell in made.cells for output in cell.outputs if "text/html" in output.get("data", {})]
    return {"shown": len(shown)}


def spark(world: World) -> Notes:
    from pyspark.sql import SparkSession

    import fpstore.spark

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    session: Any = SparkSession.builder.master("local[2]").config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
    df = session.createDataFrame(world.frame()).repartition(8)
    kept = {row.id for row in fpstore.spark.clean(df).where("keep").select("id").collect()}
    session.stop()
    return quality(np.array([at in kept for at in range(len(world.texts))]), world.truth)


def contamination(world: World) -> Notes:
    items, texts = made_items(world)
    found = fpstore.contamination({"text": texts}, {"text": items}, threads=1)
    return {"found": len(set(found.found["item"].tolist())), "items": len(items)}


def evaluation(world: World) -> Notes:
    prints = fpstore.Recipe().fingerprints(world.texts, threads=1)
    pairs = fpstore.pairs(world.texts, confirm=SIMILARITY, threads=1)
    found = fpstore.evaluate(prints, pairs["first"], pairs["second"], np.ones(len(pairs), bool), unlisted_differ=True)
    return {"best k": found.best.k, "F1": round(found.best.f1, 3)}


def serving(world: World) -> Notes:
    path = world.folder / "served.fps"
    with fpstore.Builder(path, recipe="minhash") as builder:
        builder.add_documents(world.frame()[:1000])
    with fpstore.serve(path) as server, fpstore.Client(server.url) as client:
        store = fpstore.open(path)
        assert client.query_text(world.texts[0]) == store.query_text(world.texts[0])
        assert client.query_many(store.fingerprints()).to_pylist() == store.query_many(store.fingerprints()).to_pylist()
    return {"ids": store.info().ids}


def arrays(world: World) -> Notes:
    import pyarrow

    rng = np.random.default_rng(1)
    values = rng.integers(0, 2**63, 3000, dtype=np.uint64)
    values[1500:] = values[:1500] ^ np.uint64(1) << rng.integers(0, 60, 1500).astype(np.uint64)
    store = fpstore.build(None, values, k=3)
    forms: list[Any] = [values, values.tolist(), values.view(np.int64), values.astype(">u8"), values[::1],
                        pyarrow.array(values), values.view(np.uint8).reshape(-1, 8), fpstore.to_hex(values)]  # fmt: skip
    bits = np.bitwise_count(values[:, None] ^ values[None, :])
    for k in (0, 1, 3, 7, 11):
        expected = (bits <= k).any(1).tolist()
        assert all(store.has_near(form, k).tolist() == expected for form in forms)
    return {"forms": len(forms)}


# Functions that do the same jobs with other packages.


def rensa_clean(world: World) -> Notes:
    from rensa import RMinHash, RMinHashLSH

    lsh = RMinHashLSH(threshold=SIMILARITY, num_perm=128, num_bands=16)
    kept = []
    for row, text in enumerate(world.texts):
        minhash = RMinHash(num_perm=128, seed=1)
        minhash.update(list(word_pairs(text)))
        kept.append(not lsh.query(minhash))
        if kept[-1]:
            lsh.insert(row, minhash)
    return quality(np.array(kept), world.truth)


def datasketch_clean(world: World) -> Notes:
    from datasketch import MinHash, MinHashLSH

    lsh = MinHashLSH(threshold=SIMILARITY, num_perm=128)
    kept = []
    for row, text in enumerate(world.texts):
        minhash = MinHash(num_perm=128)
        minhash.update_batch([pair.encode() for pair in word_pairs(text)])
        kept.append(not lsh.query(minhash))
        if kept[-1]:
            lsh.insert(row, minhash)
    return quality(np.array(kept), world.truth)


def imagehash_pictures(world: World) -> Notes:
    import imagehash
    from PIL import Image

    paths = sorted(made_pictures(world).iterdir())
    return {"hashes": len({str(imagehash.phash(Image.open(path))) for path in paths})}


def faiss_queries(world: World) -> Notes:
    import faiss

    values, needles = made_queries()
    faiss.omp_set_num_threads(1)
    index = faiss.IndexBinaryMultiHash(64, 4, 16)
    index.nflip = 0
    index.add(values.view(np.uint8).reshape(-1, 8))
    limits, _, _ = index.range_search(needles[:100_000].view(np.uint8).reshape(-1, 8), 4)
    return {"matches of the first 10^5": int(limits[-1]), "queries": 100_000}


def grams_contamination(world: World) -> Notes:
    items, texts = made_items(world)

    def grams(text: str) -> Iterator[tuple[str, ...]]:
        words = text.split()
        return zip(*(words[at:] for at in range(13)))

    known = {gram: number for number, item in enumerate(items) for gram in grams(item)}
    return {"found": len({known[gram] for text in texts for gram in grams(text) if gram in known}), "items": len(items)}


# Inputs that two job functions share.


def made_pictures(world: World) -> Path:
    from PIL import Image

    folder = world.folder / "pictures"
    if not folder.exists():
        folder.mkdir()
        rng = np.random.default_rng(3)
        for at in range(250):
            picture = Image.fromarray(rng.integers(0, 256, (12, 16, 3), dtype=np.uint8)).resize((640, 480))
            for copy, scale in enumerate((1.0, 0.9, 0.75, 0.6)):
                size = (int(640 * scale), int(480 * scale))
                picture.resize(size).save(folder / f"{at:03}-{copy}.jpg", quality=90 - 10 * copy)
    return folder


def made_queries() -> tuple[U64, U64]:
    rng = np.random.default_rng(2)
    values = rng.integers(0, 2**64, 5_000_000, dtype=np.uint64)
    needles = rng.integers(0, 2**64, 1_000_000, dtype=np.uint64)
    flips = np.uint64(1) << rng.integers(0, 63, 500_000).astype(np.uint64)
    needles[::2] = values[rng.integers(0, len(values), 500_000)] ^ flips
    return values, needles


def made_items(world: World) -> tuple[list[str], list[str]]:
    """Items of 30 words, and documents that contain 90 % of the items; in a third of these a word
    is changed."""
    rng = np.random.default_rng(4)
    items = [" ".join(f"i{rng.integers(20_000)}" for _ in range(30)) for _ in range(1000)]
    texts = list(world.texts[:10_000])
    for number, item in enumerate(items[:900]):
        words = item.split()
        if number % 3 == 0:
            words[15] = "changed"
        at = int(rng.integers(len(texts)))
        texts[at] = f"{texts[at]} {' '.join(words)} end"
    return items, texts


Job = Callable[[World], Notes]
JOBS: list[tuple[Job, list[tuple[str, Job]]]] = [
    (clean, [("rensa", rensa_clean), ("datasketch", datasketch_clean)]),
    (tables, []),
    (folder, []),
    (night, [("rensa", rensa_clean), ("datasketch", datasketch_clean)]),
    (pictures, [("imagehash", imagehash_pictures)]),
    (queries, [("FAISS", faiss_queries)]),
    (join, []),
    (processes, []),
    (service, []),
    (pickles, []),
    (notebook, []),
    (spark, []),
    (contamination, [("13-grams in Python", grams_contamination)]),
    (evaluation, []),
    (serving, []),
    (arrays, []),
]


def measured(job: Job, folder: Path) -> str:
    """Runs a job in a separate process and returns a row of the table of results."""
    command = [sys.executable, __file__, "--run", job.__name__, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return "failed: " + (done.stderr.strip().splitlines() or ["?"])[-1][:90]
    return done.stdout.strip().splitlines()[-1]


def run(name: str, folder: Path) -> None:
    world: World = pickle.loads((folder / "world").read_bytes())
    with tempfile.TemporaryDirectory() as own:
        job: Job = globals()[name]
        world.folder = Path(own)
        if name.endswith("pictures"):
            made_pictures(world)
        if name.endswith("queries"):
            made_queries()
        before = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        notes = job(world)
        after = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(b.ru_utime + b.ru_stime - a.ru_utime - a.ru_stime for a, b in zip(before, after))
    shown = ", ".join(f"{key} {value}" for key, value in notes.items())
    lines = [line for line in inspect.getsource(job).splitlines()[1:] if line.strip()]
    print(f"{len(lines)} | {seconds:.2f} | {after[0].ru_maxrss >> 10} | {shown}")


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--documents", type=int, default=30_000)
    arguments.add_argument("--only", default="")
    arguments.add_argument("--run")
    arguments.add_argument("--folder", type=Path)
    given = arguments.parse_args()
    if given.run:
        run(given.run, given.folder)
        return
    only = set(filter(None, given.only.split(",")))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        texts = made_documents(given.documents)
        (folder / "world").write_bytes(pickle.dumps(World(folder, texts, true_removals(texts))))
        print("| job | with | lines | CPU s | MB | result |\n|---|---|---:|---:|---:|---|")
        for job, others in JOBS:
            if only and job.__name__ not in only:
                continue
            for name, one in [("fpstore", job), *others]:
                print(f"| {job.__name__} | {name} | {measured(one, folder)} |", flush=True)


if __name__ == "__main__":
    main()
