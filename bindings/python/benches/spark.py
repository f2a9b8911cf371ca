"""fpstore.spark on two executors of one core each, compared with one process and other packages.

        python spark.py texts 200            # MB of synthetic texts to fingerprint
    python spark.py pairs 1e7            # all pairs of fingerprints: ways of dividing the join
    python spark.py rivals docs.jsonl.zst near.tsv.zst 20000
                                         # against MinHashLSH of pyspark.ml and datasketch

The compared ways run alternately, FPSTORE_BENCH_ROUNDS times; figures are medians. CPU seconds are
measured for this process and its children, so other load on the machine changes them little. The
number of shuffled bytes is the one that Spark reports.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import labelled
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
import fpstore  # noqa: E402
from fpstore import spark as fs  # noqa: E402
from fpstore import tasks  # noqa: E402

MASTER = os.environ.get("FPSTORE_SPARK_MASTER", "local-cluster[2,1,3072]")
ROUNDS = int(os.environ.get("FPSTORE_BENCH_ROUNDS", "3"))
FOLDER = Path(tempfile.mkdtemp(dir=os.environ.get("FPSTORE_BENCH_FOLDER")))


def session() -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(MASTER).config("spark.executor.memory", "2g")
    builder = builder.config("spark.driver.memory", "3g").config("spark.local.dir", str(FOLDER))
    builder = builder.config("spark.sql.shuffle.partitions", "32")
    os.environ["SPARK_WORKER_DIR"] = str(FOLDER / "work")
    made = builder.config("spark.ui.port", "4567").getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


def shuffled(spark: Any) -> int:
    """Bytes written to shuffles by all stages so far."""
    context = spark.sparkContext
    url = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages"
    with urllib.request.urlopen(url) as answer:
        return sum(stage["shuffleWriteBytes"] for stage in json.load(answer))


def processes() -> dict[int, int]:
    """The CPU ticks of this process and of each descendant, including their ended children."""
    ticks, parents = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                of = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(of[1])
            ticks[int(entry.name)] = sum(map(int, of[11:15]))
    own = {os.getpid()}
    while more := {of for of, parent in parents.items() if parent in own} - own:
        own |= more
    return {of: ticks.get(of, 0) for of in own}


def cpu_seconds() -> float:
    """The CPU time of this process and its descendants."""
    return sum(processes().values()) / os.sysconf("SC_CLK_TCK")


def rows(title: str, ways: dict[str, Callable[[], Any]], spark: Any, size: float = 0.0) -> None:
    print(f"\n{title}\n\n| way | CPU seconds | least to most | seconds | shuffled, MB | result |")
    print("|---|---:|---:|---:|---:|---:|", flush=True)
    cpu: dict[str, list[float]] = {name: [] for name in ways}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    moved: dict[str, int] = {}
    results: dict[str, Any] = {}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            before = shuffled(spark)
            start, start_cpu = time.perf_counter(), cpu_seconds()
            results[name] = way()
            seconds[name].append(time.perf_counter() - start)
            cpu[name].append(cpu_seconds() - start_cpu)
            moved[name] = shuffled(spark) - before
            print(f"{name}: {cpu[name][-1]:.1f} s of CPU, {results[name]}", file=sys.stderr)
    for name, of in cpu.items():
        median = statistics.median(of)
        speed = f" ({size / median:.1f} MB/s)" if size else ""
        spread = f"{min(of):.1f} to {max(of):.1f}"
        passed = f"{statistics.median(seconds[name]):.1f} | {moved[name] / 1e6:.0f}"
        print(f"| {name} | {median:.1f}{speed} | {spread} | {passed} | {results[name]} |")


def made_up(megabytes: float, parts: int = 16) -> tuple[Path, float, list[str]]:
    """Synthetic texts of 100 to 300 words, from a vocabulary in which few words are frequent."""
    random = np.random.default_rng(5)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = np.array(
        ["".join(random.choice(letters, size)) for size in random.integers(2, 11, 50000)]
    )
    shares = 1 / np.arange(2, len(words) + 2)
    folder, size, texts = FOLDER / "texts", 0.0, []
    folder.mkdir()
    for part in range(parts):
        of_part: list[str] = []
        len_of_part = 0
        while len_of_part < megabytes * 1e6 / parts:
            chosen = random.choice(words, 200 * 256, p=shares / shares.sum())
            ends = np.cumsum(random.integers(100, 301, 300))
            for text in np.split(chosen, ends[ends < len(chosen)]):
                of_part.append(" ".join(text.tolist()))
                len_of_part += len(of_part[-1])
        ids = pa.array(np.arange(len(of_part)) + part * 10**8)
        pq.write_table(pa.table({"id": ids, "text": of_part}), folder / f"{part:02}.parquet")
        size += len_of_part / 1e6
        texts += of_part
    return folder, size, texts


def bench_texts(megabytes: float) -> None:
    folder, size, texts = made_up(megabytes)
    spark = session()
    fs.check(spark)
    df = spark.read.parquet(str(folder))

    def written(column: Any) -> Callable[[], Any]:
        def run() -> Any:
            target = str(FOLDER / "fingerprints")
            column().write.mode("overwrite").parquet(target)
            return f"{spark.read.parquet(target).count()} rows"

        return run

    recipe = fpstore.Recipe()
    ways: dict[str, Callable[[], Any]] = {
        'fingerprint(keep=["id"])': written(lambda: fs.fingerprint(df, recipe=recipe, keep=["id"])),
        "fingerprint(), texts written, too": written(lambda: fs.fingerprint(df, recipe=recipe)),
        "texts read and written by Spark alone": written(lambda: df),
        "one process, one thread, in memory": lambda: len(recipe.fingerprints(texts, threads=1)),
        "one process, two threads, in memory": lambda: len(recipe.fingerprints(texts, threads=2)),
    }
    rows(f"{len(texts)} made-up documents, {size:.0f} MB, to Parquet", ways, spark, size)
    spark.stop()


def clustered(count: int) -> Any:
    random = np.random.default_rng(1)
    values = random.integers(0, 2**64, count, dtype=np.uint64)
    chosen = np.flatnonzero(random.random(count) < 0.2)[1:]
    flips = np.zeros(len(chosen), np.uint64)
    for _ in range(6):
        bit = np.uint64(1) << random.integers(0, 64, len(chosen)).astype(np.uint64)
        flips ^= np.where(random.random(len(chosen)) < 0.5, bit, np.uint64(0))
    values[chosen] = values[(random.random(len(chosen)) * chosen).astype(np.int64)] ^ flips
    return values


def bench_pairs(count: int) -> None:
    values = clustered(count)
    parts, folder = 32, FOLDER / "fps"
    folder.mkdir()
    for number, part in enumerate(np.array_split(values.view(np.int64), parts)):
        pq.write_table(pa.table({"fingerprint": part}), folder / f"{number:02}.parquet")
    receipts = [
        tasks.write_segment(
            FOLDER / f"{number}.fps", part, recipe=None, scheme="blocks-4", memory=1 << 30
        )
        for number, part in enumerate(np.array_split(values, 4))
    ]
    path = FOLDER / "store.fps"
    tasks.commit(path, receipts, remove=True)
    store = fpstore.open(path)
    spark = session()
    fs.check(spark)
    df = spark.read.parquet(str(folder))

    def summed(pairs: Any) -> str:
        row = pairs.selectExpr("count(*)", "bit_xor(xxhash64(first, second, distance))").first()
        return f"{row[0]} ({row[1]})"

    def one_process() -> str:
        return str(sum(len(of) for of in fpstore.near_pairs(values, k=3, threads=1)))

    plan = tasks.JoinPlan.of(store, 3)

    def shares_in_turn() -> str:
        found = 0
        for number in range(200):
            found += sum(len(of) for of in tasks.join_share(store, plan, number, 200))
        return str(found)

    ways: dict[str, Callable[[], Any]] = {
        "one process, one thread, in memory": one_process,
        "one process, store.pairs, one thread": lambda: str(
            sum(len(of) for of in store.pairs(3, threads=1, memory=2 << 30))
        ),
        "200 shares one after the other, no Spark": shares_in_turn,
        "pairs(store): one task": lambda: summed(fs.pairs(store, 3, memory=1 << 30)),
        "pairs(store, shares=16)": lambda: summed(fs.pairs(store, 3, shares=16)),
        "pairs(store, shares=200)": lambda: summed(fs.pairs(store, 3, shares=200)),
        "pairs(DataFrame)": lambda: summed(fs.pairs(df, 3)),
        "clusters(DataFrame)": lambda: fs.clusters(df, 3).count(),
        "clusters(store, shares=16)": lambda: fs.clusters(store, 3, shares=16).count(),
        "build(DataFrame), 4 segments": lambda: (
            fs.build(
                df,
                FOLDER / f"b{time.monotonic_ns()}.fps",
                recipe=None,
                scheme="blocks-4",
                segments=4,
            ).fingerprints
        ),
    }
    if count <= 10**6:
        ways["plain SQL: 4 keys, self-join"] = lambda: summed(plain_sql(df))
    rows(f"{count} clustered fingerprints, k = 3, {parts} files, 4 segments", ways, spark)
    spark.stop()


def plain_sql(df: Any) -> Any:
    from pyspark.sql import functions as F

    keyed = df.distinct().selectExpr(
        "fingerprint",
        "posexplode(transform(sequence(0, 3), "
        "b -> shiftrightunsigned(fingerprint, 16 * b) & 65535)) as (b, v)",
    )
    other = keyed.withColumnRenamed("fingerprint", "second")
    joined = keyed.withColumnRenamed("fingerprint", "first").join(other, ["b", "v"])
    near = joined.where(
        "bit_count(first ^ second) <= 3 and "
        "(first ^ (-9223372036854775807 - 1)) < (second ^ (-9223372036854775807 - 1))"
    )
    return (
        near.withColumn("distance", F.expr("bit_count(first ^ second)").cast("int"))
        .select("first", "second", "distance")
        .distinct()
    )


def bench_rivals(documents: str, near: str, most: int) -> None:
    given = labelled.read(documents, near, most)
    texts = given.texts

    def scored(pairs: set[tuple[int, int]]) -> str:
        recall, precision = given.scores(pairs)
        return f"recall {recall:.3f}, precision {precision:.3f}"

    spark = session()
    fs.check(spark)
    table = pa.table({"id": np.arange(len(texts)), "text": texts})
    pq.write_table(table, FOLDER / "documents.parquet")
    df = spark.read.parquet(str(FOLDER / "documents.parquet")).repartition(4).persist()
    df.count()

    def by_fpstore(recipe: fpstore.Recipe, k: int) -> Callable[[], str]:
        def run() -> str:
            prints = fs.fingerprint(df, recipe=recipe, keep=["id"]).persist()
            pairs = fs.pairs(prints, k).select("first", "second")
            equal = prints.selectExpr("fingerprint as first", "fingerprint as second").distinct()
            near = pairs.union(equal.where("first is not null"))
            one = prints.toDF("a", "first")
            other = prints.toDF("b", "second")
            named = near.join(one, "first").join(other, "second").where("a <> b")
            found = {tuple(sorted(row)) for row in named.select("a", "b").collect()}
            prints.unpersist()
            return scored(found)

        return run

    def by_ml() -> str:
        from pyspark.ml.feature import HashingTF, MinHashLSH, NGram, RegexTokenizer

        tokens = RegexTokenizer(inputCol="text", outputCol="words", pattern="\\W+").transform(df)
        grams = NGram(n=2, inputCol="words", outputCol="grams").transform(tokens)
        features = HashingTF(
            inputCol="grams", outputCol="features", binary=True, numFeatures=1 << 18
        )
        vectors = features.transform(grams).where("size(grams) > 0").select("id", "features")
        model = MinHashLSH(inputCol="features", outputCol="hashes", numHashTables=16, seed=1).fit(
            vectors
        )
        found = model.approxSimilarityJoin(vectors, vectors, 0.2, "jaccard")
        pairs = found.where("datasetA.id < datasetB.id").selectExpr("datasetA.id", "datasetB.id")
        return scored({(row[0], row[1]) for row in pairs.collect()})

    def by_datasketch() -> str:
        sys.path.insert(0, str(Path(__file__).parent))
        from texts import datasketch

        return scored(datasketch(texts)[1])

    ways: dict[str, Callable[[], Any]] = {
        "fpstore.spark, minhash, k = 7": by_fpstore(fpstore.Recipe(), 7),
        "fpstore.spark, simhash, k = 10": by_fpstore(fpstore.Recipe("simhash"), 10),
        "pyspark.ml MinHashLSH, 16 tables, 0.8": by_ml,
        "datasketch MinHashLSH(128), one process": by_datasketch,
    }
    size = sum(len(text.encode()) for text in texts) / 1e6
    title = f"{len(texts)} documents, {size:.1f} MB, {len(given.duplicates)} labelled duplicates"
    rows(f"{Path(documents).parent.name}: {title}", ways, spark)
    spark.stop()


def main() -> None:
    what, *args = sys.argv[1:]
    if what == "texts":
        bench_texts(float(args[0]))
    elif what == "pairs":
        bench_pairs(int(float(args[0])))
    else:
        bench_rivals(args[0], args[1], int(args[2]) if len(args) > 2 else 10**9)


if __name__ == "__main__":
    main()
