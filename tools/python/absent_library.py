"""Replaces a library without a wheel for a Python version, in tests with that Python.

Copied to the packages under the name of the library, and passed to pytest as a plugin (`-p NAME`):
tests that use the library are skipped, and the other tests run.
"""

import os
import unittest

import pytest

WHY = f"{__name__} is not there for this Python"


class Nothing:
    """The stand-in for any name that a test module imports from the library."""

    def __call__(self, *_, **__):
        # A call has the same result as an attribute: during import another stand-in; during a test
        # the test is skipped.
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
