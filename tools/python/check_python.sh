#!/bin/sh
# Tests the Python package: builds the wheel, installs it into a clean environment, and runs its tests
# there, with the examples of the docstrings and the README, the scripts of examples/, and all type
# checks. Reads no input. FPSTORE_BIN is the path of the program, which must write the same bytes.
set -eu
cd "$(dirname "$0")/../.."
FPSTORE_BIN=${FPSTORE_BIN:-$PWD/target/debug/fpstore}
export FPSTORE_BIN
. tools/python/python_package.sh
environment=$PWD/target/tools/python-package
wheels=$PWD/target/tools/wheels

rm -rf "$environment"
python3 -m venv "$environment"
PATH=$environment/bin:$PATH
pip install --quiet --disable-pip-version-check -r bindings/python/requirements-test.txt

install_package "$wheels"
copy_tests
cd "$copy/bindings/python"
python -m pytest
python -m mypy.stubtest fpstore --mypy-config-file pyproject.toml \
    --allowlist tests/stubtest.allow
mypy tests examples benches/jobs.py
mypy --package fpstore
pyright --pythonpath "$environment/bin/python" tests examples
