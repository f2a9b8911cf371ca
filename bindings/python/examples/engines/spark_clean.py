"""Cleans Parquet files of texts with Spark.

    spark-submit spark_clean.py SOURCE TARGET [RULES]

SOURCE has the columns id and text. TARGET/kept gets the kept rows with all columns, TARGET/removed the
ids of the removed rows, each with the row kept in its place. RULES select the row to keep among near
rows, such as newest:date,longest; the default is the smallest id.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

from fpstore import spark as fs


def main() -> None:
    source, target = sys.argv[1:3]
    keep = sys.argv[3] if len(sys.argv) > 3 else "first"
    spark = SparkSession.builder.appName("clean texts").getOrCreate()
    texts = spark.read.parquet(source)
    cleaned = fs.clean(texts, keep=keep).persist()
    cleaned.where("keep").select(texts.columns).write.parquet(f"{target}/kept")
    removed = cleaned.where("not keep").select("id", "near_id", "similarity", "reason")
    removed.write.parquet(f"{target}/removed")
    print(f"{cleaned.count()} rows, {removed.count()} removed")
    spark.stop()


if __name__ == "__main__":
    main()
