"""Cleans Parquet files of texts with Spark.

    spark-submit spark_clean.py SOURCE TARGET [RULES]

SOURCE has the columns id and text. The kept rows are written to TARGET/kept with all columns, the
ids of removed rows to TARGET/removed, each with the id of the row kept instead. RULES select the
row to keep of near rows, such as newest:date,longest; the default is the smallest id.
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
