#!/bin/sh
# Mutation tests of changed code: cargo-mutants modifies it in small ways, one at a time, and lists
# the mutants that no test notices. Each needs a new test, or a reason in .cargo/mutants.toml.
#
#     tools/mutants.sh BASE [MINUTES]
#
# Tests the code that differs from BASE, a commit or branch such as main, in a random order and for
# at most MINUTES, 45 by default. The status is 2 if a mutant was missed; all results are in
# target/mutants.out. For other code, use `cargo mutants --file PATH`.
set -eu
cd "$(dirname "$0")/.."
command -v cargo-mutants >/dev/null || cargo install --locked cargo-mutants
mkdir -p target
git diff "$1" -- '*.rs' >target/mutants.diff
status=0
timeout --signal=INT "${2:-45}m" \
    cargo mutants --workspace --in-diff target/mutants.diff --shuffle || status=$?
# 3: a test took too long, which counts as noticing the mutant. 124: MINUTES are over.
case $status in
    3) ;;
    124) [ ! -s target/mutants.out/missed.txt ] || exit 2 ;;
    *) exit $status ;;
esac
