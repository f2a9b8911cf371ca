#!/bin/sh
# Builds fpstore, makes a store of real fingerprints, and searches it for near-duplicates.
# FPSTORE_BIN is the path of a built program.
# The fingerprints are SimHashes of Tang poems in two editions, see tests/data/README.md.
set -eu
cd "$(dirname "$0")/.."
if [ -z "${FPSTORE_BIN:-}" ]; then
    cargo build --release --locked
fi
fpstore=${FPSTORE_BIN:-target/release/fpstore}
mkdir -p target

run() {
    printf '\n$ fpstore %s\n' "$*"
    # Exit status 1 means that nothing was found, which is a valid result.
    "$fpstore" "$@" || [ $? -eq 1 ]
}

# 8 000 poems of one edition, on lines of fingerprint, tab, id.
run build tests/data/tang_store.tsv.zst -s target/tour.fps --force
# Looks up three poems of the other edition: which stored poems are nearly the same?
run query d6616c5086e8d3fa 838a482fd44c5ac9 49f4f95bd8ffeea7 -s target/tour.fps
# A distance beyond the tuned distance of the store is as exact, but slower; see --explain.
run query e9ba6cd3be168840 -k 7 -s target/tour.fps --explain
run query e9ba6cd3be168840 -k 7 -s target/tour.fps --format json
run info -s target/tour.fps
# Are the fingerprints distributed as evenly as random ones?
run stats -s target/tour.fps
run verify -s target/tour.fps
