#!/bin/sh
# Type-checks fpstore with all its features for each platform.
#
#     sh tools/platforms.sh                              # all platforms of docs/platforms.md
#     sh tools/platforms.sh aarch64-apple-darwin         # one or more
#
# Needs rustup, python3 and the network: the standard library of each target is added by rustup, and
# `zig cc`, of the Python package ziglang in target/zig, compiles the C of dependencies for it.
# Nothing is linked or run; a warning is an error.
set -eu

cd "$(dirname "$0")/.."
zig=$PWD/target/zig

if [ $# -eq 0 ]; then
    set -- x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu \
        x86_64-unknown-linux-musl aarch64-unknown-linux-musl \
        aarch64-apple-darwin x86_64-apple-darwin x86_64-pc-windows-gnu x86_64-unknown-freebsd
fi

[ -x "$zig/bin/python" ] || python3 -m venv "$zig"
"$zig/bin/pip" install --quiet --disable-pip-version-check ziglang==0.17.1

failed=
for target in "$@"; do
    rustup --quiet target add "$target"
    # The names of zig have no vendor, and say macos for darwin.
    case $target in
    *-apple-darwin) zig_target=${target%%-*}-macos ;;
    *-pc-windows-gnu) zig_target=${target%%-*}-windows-gnu ;;
    *-unknown-freebsd) zig_target=${target%%-*}-freebsd ;;
    *) zig_target=$(echo "$target" | sed 's/-unknown//') ;;
    esac
    for tool in cc ar; do
        own=$zig/bin/$target-$tool
        case $tool in
        # cc passes the name of Rust, which zig does not know.
        cc) cat >"$own" <<END
#!/bin/sh
for argument; do
    shift
    case \$argument in --target=*) ;; *) set -- "\$@" "\$argument" ;; esac
done
exec "$zig/bin/python" -m ziglang cc -target $zig_target "\$@"
END
            ;;
        ar) printf '#!/bin/sh\nexec "%s" -m ziglang ar "$@"\n' "$zig/bin/python" >"$own" ;;
        esac
        chmod +x "$own"
    done
    name=$(echo "$target" | tr - _)
    echo "== $target"
    said=target/platforms/$target.log
    mkdir -p target/platforms
    # All that touches the code of this repository is said again, also if nothing has changed.
    if ! env "CC_$name=$zig/bin/$target-cc" "AR_$name=$zig/bin/$target-ar" \
        cargo check --locked --features full --target "$target" --target-dir target/platforms \
        >"$said" 2>&1 || grep -q '^warning' "$said"; then
        grep -A12 -E '^(warning|error)' "$said" || cat "$said"
        failed="$failed $target"
    fi
done
if [ -n "$failed" ]; then
    echo "these do not pass:$failed" >&2
    exit 1
fi
