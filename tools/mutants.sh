#!/bin/bash
# Changes the library in small ways, one at a time, and says which changes no test notices. Each
# of those is answered by a test, or by a reason in tools/mutants/argued.tsv.
#
#     tools/mutants.sh [OPTION]... [PATH]...
#
# PATH is a file or folder in src, such as src/writing/writer; without any, all of src is changed.
#
#     --since BASE   only what differs from a commit or branch, such as main
#     --minutes N    stop judging after N minutes; what was judged until then is a sample of all
#                    files, in an order that is the same each time
#     --seconds N    judge each change by tests of N seconds of processor time at most, the quickest
#                    first [default: 30]
#     --jobs N       judge N changes at a time [default: 1]
#     --missed       judge again what was missed before
#     --all-tests    judge by the tests in tests/, too, which start the program
#     --list         list the changes, and build nothing
#
# Changes that no test reaches are named apart from those that were missed; argued ones are not
# judged again. All verdicts are in
# target/mutants/results.tsv, what nothing noticed in target/mutants/missed.txt. The status is 2 if
# something was missed.
#
# Run it before a change lands: `tools/mutants.sh --since main --minutes 5`. The hosted CI does so for
# what a pull request touches. It is no part of .ci/run, which knows no base to compare with: it builds
# the library once more and runs each test by itself before it judges, which takes longer than the
# judging.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --quiet --locked --manifest-path tools/mutants/Cargo.toml \
    --target-dir target/mutants/tool
unset RUST_BACKTRACE
exec target/mutants/tool/debug/fpstore-mutants "$@"
