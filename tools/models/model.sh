#!/bin/sh
# Runs the model of tests/library/model with new seeds: random operations on stores, and after each of
# them all ways to read compared with a scan. Prints a line for each finding, and what was done.
#
#     tools/models/model.sh [SECONDS] [FIRST_SEED]
#
# The command that repeats a finding and prints the fewest steps that fail is
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
