#!/bin/sh
# Builds fpstore, makes a store of real fingerprints, and asks it for near-duplicates.
# The fingerprints are SimHashes of Tang poems in two editions, see tests/data/README.md.
set -eu
cd "$(dirname "$0")/.."
cargo build --release --locked

run() {
    printf '\n$ fpstore %s\n' "$*"
    # Status 1 says that nothing was found, which is an answer.
    target/release/fpstore "$@" || [ $? -eq 1 ]
}

# 8 000 poems of one edition, as lines of fingerprint, tab, id.
run build tests/data/tang_store.tsv.zst -s target/tour.fps --force
# Three poems of the other edition: which of the stored ones are nearly the same?
run query d6616c5086e8d3fa 838a482fd44c5ac9 49f4f95bd8ffeea7 -s target/tour.fps
# Farther than the store is tuned for: as exact, only slower; --explain says how.
run query e9ba6cd3be168840 -k 7 -s target/tour.fps --explain
run query e9ba6cd3be168840 -k 7 -s target/tour.fps --format json
run info -s target/tour.fps
# What the fingerprints look like: as even as random ones?
run stats -s target/tour.fps
run verify -s target/tour.fps
