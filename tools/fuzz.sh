#!/bin/sh
# Runs the fuzz targets of tools/fuzz, each for some seconds; by default all of them.
#
#     tools/fuzz.sh [SECONDS] [TARGET]...
#     tools/fuzz.sh --check      # only compiles the targets
#
# Coverage, which stable Rust can measure, guides the fuzzer. New inputs are written to
# target/fuzz/corpus; the seeds are in tools/fuzz/corpus. Failing inputs are written to
# target/fuzz/failures. To repeat a failure:
#
#     FPSTORE_FUZZ_TARGET=NAME target/fuzz/TRIPLE/release/fpstore-fuzz FILE
#
# FPSTORE_FUZZ_MINIMISE=1 copies the inputs that add coverage to tools/fuzz/corpus.
set -eu
cd "$(dirname "$0")/.."

if [ "${1:-}" = --check ]; then
    RUSTFLAGS="--cfg fuzzing" exec cargo check --locked --quiet \
        --manifest-path tools/fuzz/Cargo.toml --target-dir target/fuzz-check
fi
seconds=${1:-60}
[ $# -gt 0 ] && shift
units=1
if [ "$seconds" -lt 30 ]; then
    # These options halve the compile time, and reduce the speed of the fuzzer by at most a half.
    units=16
    export CARGO_PROFILE_RELEASE_OPT_LEVEL=1
fi
triple=$(rustc -vV | sed -n 's/^host: //p')
# Without --target the flags would also apply to build scripts, which are not linked to the fuzzer.
RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Ccodegen-units=$units
    -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
    -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares" \
    cargo build --locked --release --quiet --manifest-path tools/fuzz/Cargo.toml \
    --target "$triple" --target-dir target/fuzz
program=target/fuzz/$triple/release/fpstore-fuzz

all=$(ls tools/fuzz/corpus)
memory=/dev/shm
[ -d "$memory" ] && [ -w "$memory" ] || memory=${TMPDIR:-/tmp}
TMPDIR=$(mktemp -d "$memory/fpstore-fuzz.XXXXXX")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 130' INT TERM

mkdir -p target/fuzz/failures
failed=0
for target in ${@:-$all}; do
    seeds=tools/fuzz/corpus/$target
    found=target/fuzz/corpus/$target
    mkdir -p "$found"
    log=$TMPDIR/log
    export FPSTORE_FUZZ_TARGET="$target"
    if ! "$program" "$found" "$seeds" -max_total_time="$seconds" -max_len=131072 -timeout=20 \
        -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="target/fuzz/failures/$target-" \
        > "$log" 2>&1; then
        failed=1
        grep -v '^#' "$log" | tail -40
    fi
    # The last line of progress: "#N  DONE cov: .. ft: .. corp: .. exec/s: ..".
    progress=$(grep -E '^#[0-9]+' "$log" | tail -1 | tr -s '\t ' ' ' | sed 's/ lim:.*exec/ exec/')
    printf '%s %s: %s\n' "$(date -u +%H:%M:%S)" "$target" "$progress"
    if [ -n "${FPSTORE_FUZZ_MINIMISE:-}" ]; then
        "$program" -merge=1 "$seeds" "$found" > "$log" 2>&1 || tail -5 "$log"
    fi
done
exit "$failed"
