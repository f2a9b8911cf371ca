#!/bin/bash
# Mutation tests: changes the library in small ways, one at a time, and reports the changes that no test
# notices. Each of them needs a new test, or a reason in tools/mutants/argued.tsv.
#
#     tools/mutants.sh [OPTION]... [PATH]...
#
# PATH is a file or folder in src, such as src/writing/writer; the default is all of src.
#
#     --since BASE   only code that differs from a commit or branch, such as main
#     --minutes N    stop judging after N minutes; the changes judged until then are a sample of all
#                    files, in a fixed order
#     --seconds N    judge each change by tests of at most N seconds of processor time, the quickest
#                    first [default: 30]
#     --jobs N       judge N changes at a time [default: 1]
#     --missed       judge the changes again that were missed before
#     --all-tests    judge by the tests in tests/, too, which start the program
#     --list         list the changes, and build nothing
#
# Changes that no test reaches are listed separately from missed changes; argued changes are not judged
# again. All verdicts are in target/mutants/results.tsv, unnoticed changes in
# target/mutants/missed.txt. The status is 2 if a change was missed.
#
# Run it before you submit a change: `tools/mutants.sh --since main --minutes 5`. The hosted CI runs it
# for the code changed by a pull request. It is not part of .ci/run, which has no base to compare with:
# it builds the library once more and runs each test separately before it judges, which takes longer
# than the judging.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --quiet --locked --manifest-path tools/mutants/Cargo.toml \
    --target-dir target/mutants/tool
unset RUST_BACKTRACE
exec target/mutants/tool/debug/fpstore-mutants "$@"
