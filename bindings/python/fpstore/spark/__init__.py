"""Near-duplicates in Spark: DataFrames in and out, for pyspark 3.5 and 4.

| to | call |
|---|---|
| clean documents: find the rows to keep, and the duplicate of each other row | `clean` |
| make fingerprints of texts | `fingerprint` |
| build a store of fingerprints and ids | `build` |
| query a store | `query` |
| find all near pairs, of a store or of a DataFrame | `pairs` |
| find the connected components of near pairs | `clusters`, `components` |
| keep one row of each cluster of fingerprints, with all columns | `dedup` |
| compare today's rows with yesterday's store, and add the kept rows | `add` |
| print, parse and compare fingerprints | `to_hex`, `from_hex`, `distance` |
| check the settings of a session | `check` |

A fingerprint is a `bigint` with the same 64 bits, because Spark has no unsigned numbers: half of
them print as negative, and `<` orders them differently than fpstore. Do not add them up.

Stores are directories of files that are mapped into memory. Executors and driver must reach them
by the same path: on a shared file system, or on one machine.

`fingerprint`, `query` and `pairs` are lazy like other DataFrames; `clean`, `build`, `clusters`,
`dedup` and `add` run jobs, with descriptions in the user interface of Spark. See docs/spark.md.
"""

from __future__ import annotations

from ._build import build as build
from ._clean import clean as clean
from ._columns import distance as distance
from ._columns import from_hex as from_hex
from ._columns import to_hex as to_hex
from ._dedup import Added as Added
from ._dedup import add as add
from ._dedup import dedup as dedup
from ._joins import clusters as clusters
from ._joins import components as components
from ._joins import pairs as pairs
from ._rows import fingerprint as fingerprint
from ._rows import query as query
from ._settings import Settings as Settings
from ._settings import check as check
