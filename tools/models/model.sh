#!/bin/sh
# Runs the model test of tests/library/model with new seeds: it makes random operations on stores,
# and after each operation compares all ways to read with a scan. Prints a line for each failure,
# and a summary.
#
#     tools/models/model.sh [SECONDS] [FIRST_SEED]
#
# To repeat a failure and print the smallest failing sequence of steps:
#
#     FPSTORE_MODEL_SEED=SEED cargo test --package fpstore library::model -- --nocapture
set -eu
cd "$(dirname "$0")/../.."

FPSTORE_MODEL_SECONDS=${1:-300}
export FPSTORE_MODEL_SECONDS
[ $# -lt 2 ] || export FPSTORE_MODEL_SEED="$2"
memory=/dev/shm
[ -d "$memory" ] && [ -w "$memory" ] || memory=${TMPDIR:-/tmp}
TMPDIR=$(mktemp -d "$memory/fpstore-model.XXXXXX")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 130' INT TERM

status=0
cargo test --locked --quiet --package fpstore --test all library::model:: -- --nocapture \
    > "$TMPDIR/found" 2> "$TMPDIR/log" || status=$?
grep -E '^(finding|slow|done): ' "$TMPDIR/found" || tail -40 "$TMPDIR/log" >&2
exit "$status"
