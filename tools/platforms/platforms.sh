#!/bin/sh
# Type-checks fpstore with all its features for each platform.
#
#     sh tools/platforms/platforms.sh                              # all platforms of docs/platforms.md
#     sh tools/platforms/platforms.sh aarch64-apple-darwin         # one or more
#
# The requirements are listed in tools/platforms/cross.sh. Nothing is linked or run; a warning is an error.
set -eu

cd "$(dirname "$0")/../.."
. tools/platforms/cross.sh

if [ $# -eq 0 ]; then
    set -- x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu s390x-unknown-linux-gnu \
        x86_64-unknown-linux-musl aarch64-unknown-linux-musl \
        aarch64-apple-darwin x86_64-apple-darwin x86_64-pc-windows-gnu x86_64-unknown-freebsd
fi
cross_add "$@"

failed=
for target in "$@"; do
    echo "== $target"
    said=target/platforms/$target.log
    mkdir -p target/platforms
    # cargo repeats warnings about this repository even if nothing has changed.
    if ! cross_cargo check --locked --target "$target" --target-dir target/platforms \
        >"$said" 2>&1 || grep -q '^warning' "$said"; then
        grep -A12 -E '^(warning|error)' "$said" || cat "$said"
        failed="$failed $target"
    fi
done
if [ -n "$failed" ]; then
    echo "failed:$failed" >&2
    exit 1
fi
