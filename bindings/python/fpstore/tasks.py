"""Tasks that any engine can spread over processes and machines.

Spark, Ray, Dask, datatrove, Slurm or `xargs` start tasks, retry them and move their data. This
module contains the functions of these tasks: they take Arrow data and return Arrow data or a
receipt, their arguments can be pickled, and their only state is in files. `fpstore.spark` uses
them.

| to | in each task | in one process |
|---|---|---|
| build a store | `write_segment` | `commit` its receipts |
| find all pairs of a store | `join_share` | `JoinPlan.of(store, k)` |
| find all pairs of a data frame | `scatter`, then `join_group` | `JoinPlan(k, groups)` |
| query a store of many segments | `query_segment` | |
| find clusters | `forest` of the pairs of a task | `forest` of all forests |
| clean documents | `describe_documents`; then `fpstore.clean` of some groups | `group_documents` |

By default a task uses one thread and 256 MiB of memory, see `threads` and `memory`, because engines
run one task for each core. Larger data is written to temporary files in `temp_dir`.

All tasks that read a store must read the same snapshot. Pass an open `Store`, which is pickled as
its path and generation, or a path with `generation`; another generation raises `StaleStoreError`. A
job of hours should read a copy: `fpstore.export(store, path, hard_link=True)`.

>>> from fpstore import tasks
>>> how = {"recipe": None, "scheme": "blocks-4"}
>>> parts = [tasks.write_segment(folder / f"part-{n}.fps", [n, n + 7], **how) for n in (0, 248)]
>>> tasks.commit(folder / "whole.fps", parts).added
2
>>> whole = fpstore.open(folder / "whole.fps")
>>> plan = tasks.JoinPlan.of(whole, 3)
>>> plan.reads
'ranges'
>>> found = [tasks.join_share(whole, plan, number, 4).read_all() for number in range(4)]
>>> sorted(sum((rows.to_pylist() for rows in found), []))
[(0, 7, 3), (248, 255, 3)]
"""

import os
from typing import NamedTuple

from ._fpstore import (
    JoinPlan,
    _receipt_of_file,
    _receipt_of_text,
    commit,
    describe_documents,
    forest,
    group_documents,
    has_run,
    join_group,
    join_share,
    query_segment,
    scatter,
    write_segment,
)
from ._types import SegmentsCommitted as SegmentsCommitted

__all__ = [
    "JoinPlan",
    "Receipt",
    "SegmentsCommitted",
    "commit",
    "describe_documents",
    "forest",
    "group_documents",
    "has_run",
    "join_group",
    "join_share",
    "query_segment",
    "scatter",
    "write_segment",
]


class Receipt(NamedTuple):
    """The description of a segment file before its commit to a store. It can be a row of a data
    frame.

    `str(receipt)` is the line that `fpstore build --segment-file` prints, and that `fpstore commit`
    and `Receipt.parse` read.
    """

    path: str
    """The absolute path of the file."""
    digest: str
    """The digest of the file, 32 hex digits. Files of equal records have equal digests."""
    file_len: int
    fingerprints: int
    """The number of distinct fingerprints."""
    ids: int
    sketch_len: int
    masks: list[str]
    """The masks of the tables, 16 hex digits each. Shares read ranges if all segments have the same
    masks."""
    recipe: str

    def __str__(self) -> str:
        masks = "+".join(self.masks)
        return (
            f"segment 1 digest={self.digest} bytes={self.file_len} "
            f"fingerprints={self.fingerprints} ids={self.ids} sketch={self.sketch_len} "
            f"masks={masks} recipe={_escaped(self.recipe.encode())} "
            f"path={_escaped(os.fsencode(self.path))}"
        )

    @classmethod
    def parse(cls, text: str) -> "Receipt":
        """Reads a receipt from its text form.

        >>> part = fpstore.tasks.write_segment(folder / "part.fps", [1], recipe=None)
        >>> fpstore.tasks.Receipt.parse(str(part)) == part
        True
        """
        return _receipt_of_text(text)

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> "Receipt":
        """Reads the receipt from the header of a segment file."""
        return _receipt_of_file(path)


def _escaped(text: bytes) -> str:
    """Converts bytes to text without spaces: printable ASCII; any other byte is % and two hex
    digits."""
    plain = (chr(of) if 0x21 <= of <= 0x7E and of != 0x25 else f"%{of:02x}" for of in text)
    return "".join(plain)
