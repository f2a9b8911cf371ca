#!/bin/bash
# Changes the program in small ways, one at a time, in the lines that differ from a base, and says
# which changes no unit test of the library notices. Those are answered by a test, or by a reason.
#
#     tools/mutants.sh BASE [MINUTES] [TEST]...
#
# BASE is a commit or branch, such as main. It stops after 10 minutes, or after MINUTES; what was
# not tried until then is not named. TEST is a part of the names of tests, as for cargo test; without
# any, the tests of the modules around the changed files run. Those that fail or kill at each
# operation are left out: they take minutes, and a change that only they notice is named here, too.
# Which files are changed says .cargo/mutants.toml.
#
# The results are in target/mutants/mutants.out: missed.txt, caught.txt, timeout.txt. Needs
# cargo-mutants, which it installs below target/tools.
set -euo pipefail
cd "$(dirname "$0")/.."

base=${1:?usage: tools/mutants.sh BASE [MINUTES] [TEST]...}
minutes=${2:-10}
shift $(($# > 1 ? 2 : 1))

version=27.1.0
tool=target/tools/bin/cargo-mutants
[ -x "$tool" ] && "$tool" mutants --version | grep -qF "$version" ||
    cargo install --locked --quiet --debug --root target/tools "cargo-mutants@$version"

mkdir -p target/mutants
changes=target/mutants/changes.diff
git diff "$base" -- src >"$changes"
if [ ! -s "$changes" ]; then
    echo "nothing in src differs from $base"
    exit 0
fi
slow=(--skip whichever_operation --skip that_dies_at --skip power_loss)
if [ $# -eq 0 ]; then
    # src/writing/directory/lock.rs: the tests of writing::directory.
    mapfile -t folders < <(sed -n 's,^+++ b/src/\(.*\)/[^/]*\.rs$,\1,p' "$changes" |
        sed 's,/tests$,,' | sort -u)
    set -- "${folders[@]//\//::}"
fi
echo "tests: $*"

# In a copy of the tree, so that work goes on meanwhile. The dependencies are built once.
export CARGO_TARGET_DIR="$PWD/target/mutants/build"
unset RUST_BACKTRACE
status=0
timeout --signal=INT "${minutes}m" "$tool" mutants --in-diff "$changes" --output target/mutants \
    --cap-lints=true -- --lib -- "$@" "${slow[@]}" || status=$?
missed=target/mutants/mutants.out/missed.txt
case $status in
    0) echo "every change was noticed" ;;
    2 | 3) echo "changes that nothing noticed are in $missed" ;;
    124 | 130)
        echo "stopped after $minutes minutes; what nothing noticed so far is in $missed"
        [ -s "$missed" ] || status=0
        ;;
esac
exit "$status"
