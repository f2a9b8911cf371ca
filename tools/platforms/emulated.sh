#!/bin/sh
# Builds tests for another platform, and runs them here.
#
#     sh tools/platforms/emulated.sh x86_64-unknown-linux-musl     # all tests, without an emulator
#     sh tools/platforms/emulated.sh aarch64-unknown-linux-musl    # tests of the library, under qemu
#     sh tools/platforms/emulated.sh s390x-unknown-linux-gnu       # the same, with big-endian numbers
#     sh tools/platforms/emulated.sh x86_64-pc-windows-gnu         # tests of library and program, under wine
#     sh tools/platforms/emulated.sh TARGET --test all golden      # any arguments of `cargo test`
#     sh tools/platforms/emulated.sh TARGET --write-golden         # writes the golden stores, compares bytes
#     sh tools/platforms/emulated.sh TARGET --console              # runs tools/checks/check_console.py
#
# docs/platforms.md lists passing and skipped tests. The requirements are listed in
# tools/platforms/cross.sh and tools/platforms/emulators.sh. Needs several gigabytes of disk; the first
# build takes at least ten minutes.
set -eu
cd "$(dirname "$0")/../.."
. tools/platforms/cross.sh
. tools/platforms/emulators.sh

target=${1:?the name of a target; see the head of this script}
shift
cross_add "$target"
emulator_add "$target"
name=$(echo "$target" | tr a-z- A-Z_)
[ -z "$emulator" ] || export "CARGO_TARGET_${name}_RUNNER=$emulator"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/emulated"

if [ "${1:-}" = --write-golden ]; then
    made=$(mktemp -d)
    trap 'rm -rf "$made"' EXIT
    cross_cargo run --locked --target "$target" --package fpstore \
        --example make_golden "$made"
    for store in "$made"/*.fps; do
        rm -f "$store/LOCK" "$store/PUBLISH"
        diff -r "$store" "tests/golden/${store##*/}"
        echo "${store##*/} has the bytes of tests/golden"
    done
    exit 0
fi
check_console() {
    cross_cargo build --locked --target "$target" --bin fpstore
    program=$CARGO_TARGET_DIR/$target/debug/fpstore
    [ ! -e "$program.exe" ] || program=$program.exe
    # shellcheck disable=SC2086  # words, to be split
    python3 -B tools/checks/check_console.py $emulator "$program"
}

if [ "${1:-}" = --console ]; then
    check_console
    exit 0
fi
after=true
if [ $# -eq 0 ]; then
    case $target in
    x86_64-unknown-linux-musl) set -- --workspace --lib --tests ;;
    # Under wine, starting programs is slow, and so is each of the many file operations in the tests
    # that make every operation fail. See docs/platforms.md.
    x86_64-pc-windows-gnu)
        after=check_console
        cross_cargo test --locked --target "$target" --workspace --lib -- \
            --skip whichever_operation --skip power_loss --skip that_failed --skip dies_at --skip places
        set -- --workspace --test all -- every_system store::access library::append \
            library::architecture library::backup store::build library::cluster library::commit \
            library::compactor library::copies store::corpus library::doctor doors:: \
            library::errors library::exact library::format_spec library::golden store::history \
            library::join library::judged library::life library::many_segments store::nearest \
            library::planner library::real_data library::refresh store::repair library::replace \
            store::resources library::salvage library::sampled library::searcher \
            library::segments library::shares library::sketches library::stores \
            library::syndromes library::versions library::width program::
        ;;
    # shellcheck disable=SC2086  # words, to be split
    *) set -- --lib --package fpstore --package fpstore-corpus -- $emulator_skips ;;
    esac
fi
cross_cargo test --locked --target "$target" "$@"
$after
