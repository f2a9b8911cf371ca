"""Stands in the place of a library that has no wheel for a Python, in tests with that Python.

Copied into the packages under the name of the library, and given to pytest as a plugin (`-p NAME`):
a test that uses the library is skipped, and those beside it run.
"""

import os
import unittest

import pytest

WHY = f"{__name__} is not there for this Python"


class Nothing:
    """What a module of tests gets of the library."""

    def __call__(self, *_, **__):
        # As any attribute: nothing again, or the end of the test.
        return self.result

    def __getattr__(self, name):
        if name.startswith(("__", "pytest")):
            raise AttributeError(name)
        if "PYTEST_CURRENT_TEST" in os.environ:
            raise unittest.SkipTest(WHY)
        return self


def __getattr__(name):
    return getattr(Nothing(), name)


def pytest_collection_modifyitems(items):
    for item in items:
        of_test = getattr(item, "callspec", None)
        if of_test is not None and any(isinstance(it, Nothing) for it in of_test.params.values()):
            item.add_marker(pytest.mark.skip(WHY))
