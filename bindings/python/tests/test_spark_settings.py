"""The resources of a task for various Spark options, and the errors of tasks. Needs no Spark."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest

import fpstore
from fpstore.spark import _jobs, _settings
from fpstore.spark._settings import MIB, Settings, bytes_of, settings_of


def test_the_package_imports_no_engine() -> None:
    code = "import fpstore.spark, sys; assert not {'pyspark', 'pyarrow'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_tasks_of_a_local_cluster_have_the_usual_memory() -> None:
    assert settings_of("local[4]", {}) == Settings(1, 256 * MIB, 4, 1024 * MIB, None)
    assert settings_of("local[3,2]", {}).cores == 3
    assert settings_of("local", {}).cores == 1 and settings_of("local[*]", {}).cores >= 1
    found = settings_of("local-cluster[2,3,2048]", {"spark.task.cpus": "2"})
    assert found == Settings(2, 512 * MIB, 3, 768 * MIB, None)
    # On a standalone cluster a task may use all cores of its worker; only the worker knows their
    # number.
    assert settings_of("spark://node:7077", {}).cores == 0
    alone = _settings.limits(settings_of("spark://node:7077", {}), None, None, alone=True)
    assert alone["threads"] == 0 and _settings.resolved(alone)["threads"] >= 1
    assert _settings.limits(found, 7, 9) == {"threads": 7, "memory": 9}


def test_old_keywords_work_with_a_warning() -> None:
    @_settings.renamed(id="id_field", text="text_field")
    def call(*, id_field: str = "id", text_field: str = "text") -> tuple[str, str]:
        return id_field, text_field

    assert call(text_field="body") == ("id", "body")
    old: dict[str, str] = {"id": "url", "text": "body"}
    with pytest.warns(DeprecationWarning, match="the keyword id of call is id_field now"):
        assert call(**old) == ("url", "body")
    assert _settings.limits(settings_of("local", {}), None, "2g")["memory"] == 2048 * MIB


def test_memory_beside_the_heap_is_divided_by_tasks() -> None:
    options = {"spark.executor.cores": "4", "spark.executor.memoryOverhead": "4g"}
    found = settings_of("yarn", options)
    assert found.memory == 1024 * MIB - _settings.INTERPRETER and found.cores == 4
    assert found.executor_memory == 4096 * MIB - _settings.INTERPRETER
    with pytest.warns(UserWarning, match=r"spark.executor.memoryOverhead=1024m or more"):
        little = settings_of("k8s://https://host", {"spark.executor.cores": "4"})
    assert little.memory == _settings.LEAST
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        big = {"spark.executor.cores": "2", "spark.executor.memory": "20g"}
        assert settings_of("yarn", big).memory == 1024 * MIB - _settings.INTERPRETER


def test_a_limit_of_addresses_that_would_abort_is_refused() -> None:
    options = {"spark.executor.pyspark.memory": "512m", "spark.executor.cores": "2"}
    with pytest.raises(fpstore.errors.InputError, match="leaves 256 MiB .* set at least 1024m"):
        settings_of("yarn", options)
    settings = settings_of("local[2]", {"spark.executor.pyspark.memory": "4g"})
    assert settings.address_space == 2048 * MIB
    _settings.check_maps(settings, 100 * MIB, "small.fps")
    with pytest.raises(fpstore.FpstoreError, match="map of large.fps does not fit"):
        _settings.check_maps(settings, 3000 * MIB, "large.fps")


def test_a_driver_on_the_loopback_address_is_refused_by_a_cluster() -> None:
    options = {"spark.driver.host": "127.0.0.1"}
    for master in ("local[2]", "local-cluster[2,1,1024]", "spark://127.0.0.1:7077"):
        _settings._check_loopback(master, options)
    for master in ("yarn", "spark://node:7077", "k8s://https://10.0.0.1"):
        with pytest.raises(fpstore.errors.InputError, match="SPARK_LOCAL_IP"):
            _settings._check_loopback(master, options)
        _settings._check_loopback(master, {"spark.driver.host": "10.0.0.7"})


def test_amounts_of_memory_are_read_as_spark_reads_them() -> None:
    assert bytes_of("384") == 384 * MIB and bytes_of("2g") == 2 << 30 and bytes_of("7KB") == 7168
    assert bytes_of("100b") == 100
    with pytest.raises(fpstore.errors.InputError, match="'much' is not an amount of memory"):
        bytes_of("much")


def test_errors_of_tasks_come_back_as_what_they_were() -> None:
    text = (
        "org.apache.spark...\n  File x\nfpstore.errors.InputError: partition 3: id number 7\n  at"
    )
    found = _jobs.own_error(RuntimeError(text))
    assert isinstance(found, fpstore.errors.InputError) and str(found) == "partition 3: id number 7"
    assert _jobs.own_error(RuntimeError("fpstore.errors.os: no")) is None
    assert _jobs.own_error(RuntimeError("some other error")) is None
    for text, remedy in [
        ("ModuleNotFoundError: No module named 'fpstore'", "spark.archives"),
        ("[PYTHON_VERSION_MISMATCH] Python in worker", "version differs"),
        ('Cannot run program "python9"', "cannot run"),
    ]:
        assert remedy in str(_settings._explained(RuntimeError(text)))
