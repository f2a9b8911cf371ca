"""Determines the resources of a task in a Spark session, and checks them before the first job."""

from __future__ import annotations

import functools
import os
import re
import warnings
from typing import TYPE_CHECKING, Any, Callable, Iterator, NamedTuple, ParamSpec, TypeVar

from .._fpstore import __version__
from ..errors import FpstoreError, InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

P = ParamSpec("P")
R = TypeVar("R")
MIB = 1 << 20
# The memory that a Python interpreter with numpy and pyarrow takes.
INTERPRETER = 192 * MIB
LEAST = 64 * MIB
# The memory of a task if no option of the session limits it.
USUAL = 256 * MIB


class Settings(NamedTuple):
    """The resources that a task of fpstore may use in a Spark session."""

    threads: int
    """Cores of each task: `spark.task.cpus`."""
    memory: int
    """Bytes of memory of each task, in addition to the interpreter."""
    cores: int
    """Cores of an executor; 0 if the session does not set them, as in a standalone cluster."""
    executor_memory: int
    """Bytes of memory of a task that is alone in its executor."""
    address_space: int | None
    """The limit on the address space of a task, maps of stores included:
    `spark.executor.pyspark.memory`."""


_checked: dict[str, Settings] = {}


def check(spark: SparkSession | None = None) -> Settings:
    """Checks the settings of a session, and that its executors have this release of fpstore, once
    for each session. Other functions call it first.

    Raises `InputError` with the remedy for a session of Spark Connect, a driver that listens on the
    loopback address only, executors without fpstore, or too little memory.
    """
    spark = spark or _active()
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        message = "a session of Spark Connect is not supported: run the job on the cluster"
        raise InputError(message)
    context = spark.sparkContext
    key = context.applicationId
    if key in _checked:
        return _checked[key]
    major, minor = (int(of) for of in re.findall(r"\d+", spark.version)[:2])
    if (major, minor) < (3, 5):
        raise InputError(f"Spark {spark.version} is too old: 3.5 or newer is needed")
    options = dict(context.getConf().getAll())
    _check_loopback(context.master, options)
    settings = settings_of(context.master, options)
    _probe_executors(spark)
    _checked[key] = settings
    return settings


def _active() -> SparkSession:
    from pyspark.sql import SparkSession

    spark = SparkSession.getActiveSession()
    if spark is None:
        raise InputError("there is no active session of Spark: make one, or pass spark=")
    return spark


def _check_loopback(master: str, options: dict[str, str]) -> None:
    host = options.get("spark.driver.host", "")
    is_loopback = host == "localhost" or host.startswith("127.") or host == "::1"
    is_near = master.startswith("local") or re.match(r"spark://(localhost|127\.|\[?::1)", master)
    if is_loopback and not is_near:
        raise InputError(
            f"executors of {master} cannot reach the driver at {host}: unset SPARK_LOCAL_IP, or "
            "set spark.driver.host to an address of this machine"
        )


def settings_of(master: str, options: dict[str, str]) -> Settings:
    """Computes the resources of a task from the options of a session."""
    threads = int(options.get("spark.task.cpus", "1"))
    cores = _cores(master, options)
    slots = max(1, cores // threads)
    limit = options.get("spark.executor.pyspark.memory")
    if limit is not None:
        # Spark divides the limit by the cores, and sets the result as RLIMIT_AS of each worker.
        space = bytes_of(limit) // max(1, cores)
        memory = space // 2 - INTERPRETER
        if memory < LEAST:
            need = (LEAST + INTERPRETER) * 2 * max(1, cores) // MIB
            raise InputError(
                f"spark.executor.pyspark.memory={limit} leaves {space // MIB} MiB of address space "
                f"for a task, which would abort: unset it, or set at least {need}m"
            )
        return Settings(threads, memory, cores, memory, space)
    if not master.startswith(("yarn", "k8s")):
        return Settings(threads, USUAL * threads, cores, USUAL * max(1, cores), None)
    # The container is killed if it takes more memory than its heap and this overhead.
    overhead = _overhead(options)
    memory = overhead // slots - INTERPRETER
    whole = overhead - INTERPRETER
    if memory < LEAST:
        need = (LEAST + INTERPRETER) * slots // MIB
        warnings.warn(
            f"{overhead // MIB} MiB of memory outside of the heap are too little for {slots} tasks: the "
            f"container may be killed; set spark.executor.memoryOverhead={need}m or more",
            stacklevel=3,
        )
    return Settings(threads, max(memory, LEAST * threads), cores, max(whole, LEAST * cores), None)


def _cores(master: str, options: dict[str, str]) -> int:
    here = os.cpu_count() or 1
    local = re.fullmatch(r"local(?:\[(\d+|\*)(?:,.*)?\])?", master)
    if local:
        return here if local[1] == "*" else int(local[1] or 1)
    cluster = re.fullmatch(r"local-cluster\[\s*\d+\s*,\s*(\d+)\s*,.*\]", master)
    if cluster:
        return int(cluster[1])
    usual = "0" if master.startswith("spark:") else "1"
    return int(options.get("spark.executor.cores", usual))


def _overhead(options: dict[str, str]) -> int:
    given = options.get("spark.executor.memoryOverhead")
    if given is not None:
        # Spark reads this option in MiB if it has no unit.
        return bytes_of(given, MIB)
    factor = float(options.get("spark.executor.memoryOverheadFactor", "0.1"))
    heap = bytes_of(options.get("spark.executor.memory", "1g"), MIB)
    return max(384 * MIB, int(heap * factor))


def bytes_of(text: str, unit: int = MIB) -> int:
    """Parses an amount of memory in Spark's notation, such as `2g`, to bytes."""
    found = re.fullmatch(r"\s*(\d+)\s*([bkmgtp]?)b?\s*", text.lower())
    if not found:
        raise InputError(f"'{text}' is not an amount of memory")
    units = {"": unit, "b": 1, "k": 1 << 10, "m": MIB, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
    return int(found[1]) * units[found[2]]


def _probe(numbers: Iterator[int]) -> Iterator[tuple[str, str]]:
    import platform

    for _ in numbers:
        yield platform.node(), __version__


def _probe_executors(spark: SparkSession) -> None:
    from .._fpstore import __version__ as here
    from ._jobs import job

    context = spark.sparkContext
    tasks = min(context.defaultParallelism, 64)
    with job(spark, "check the executors"):
        try:
            found = set(context.parallelize(range(tasks), tasks).mapPartitions(_probe).collect())
        except Exception as error:
            raise _explained(error) from error
    for node, version in found:
        if version != here:
            message = f"executors on {node} have fpstore {version}, the driver has {here}"
            raise InputError(message)


def _explained(error: Exception) -> Exception:
    text = str(error)
    python = os.environ.get("PYSPARK_PYTHON", "python3")
    remedy = (
        "set PYSPARK_PYTHON to an interpreter that has fpstore on all machines, or ship a packed "
        "environment with spark.archives"
    )
    if "No module named 'fpstore" in text:
        return InputError(f"executors run {python}, which has no fpstore: {remedy}")
    if "PYTHON_VERSION_MISMATCH" in text or "different minor version" in text:
        return InputError(f"executors run {python}, whose version differs from the driver's: {remedy}")
    if "Cannot run program" in text:
        return InputError(f"executors cannot run {python}: {remedy}")
    return error


def renamed(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Makes a function accept keyword arguments under their old names, too, with a warning."""

    def of(call: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(call)
        def taking(*args: P.args, **given: P.kwargs) -> R:
            for old in names.keys() & given.keys():
                message = f"the keyword {old} of {call.__name__} is {names[old]} now"
                warnings.warn(message, DeprecationWarning, stacklevel=2)
                given[names[old]] = given.pop(old)
            return call(*args, **given)

        return taking

    return of


def limits(
    settings: Settings, threads: int | None, memory: int | str | None, *, alone: bool = False
) -> dict[str, Any]:
    """The limits of a task as keyword arguments. A task that is `alone` gets all cores of an
    executor."""
    memory = bytes_of(memory) if isinstance(memory, str) else memory
    cores = settings.cores or 0
    usual = (cores, settings.executor_memory) if alone else (settings.threads, settings.memory)
    return {
        "threads": usual[0] if threads is None else threads,
        "memory": usual[1] if memory is None else memory,
    }


def resolved(limits: dict[str, Any]) -> dict[str, Any]:
    """The limits as seen inside a task: if the session sets no cores, this counts them."""
    if limits["threads"]:
        return limits
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"threads": cores or 1, "memory": max(limits["memory"], USUAL * (cores or 1))}


def check_maps(settings: Settings, file_len: int, path: str) -> None:
    """Refuses a store whose map does not fit into the address space of a task."""
    space = settings.address_space
    if space is not None and file_len + settings.memory + INTERPRETER > space:
        need = (file_len + 2 * (settings.memory + INTERPRETER)) * max(1, settings.cores) // MIB
        raise FpstoreError(
            f"the map of {path} does not fit: spark.executor.pyspark.memory leaves a task "
            f"{space // MIB} MiB of address space; unset it, or set at least {need}m"
        )
