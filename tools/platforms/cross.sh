# Builds for other platforms. Scripts read this file with `.`, in the root of the project.
#
# `cross_add TARGET...` fetches the tools for builds of these Rust targets; `cross_cargo` then replaces
# cargo. The standard libraries come from rustup. zig, from the Python package ziglang, compiles and
# links C, and cargo-zigbuild makes cargo use it: both are installed in target/zig, or in the folder
# CROSS_TOOLS. Needs rustup, python3 and, the first time, the network.

cross_tools=${CROSS_TOOLS:-$PWD/target/zig}

cross_add() {
    [ -x "$cross_tools/bin/python" ] || python3 -m venv "$cross_tools"
    "$cross_tools/bin/pip" install --quiet --disable-pip-version-check \
        ziglang==0.17.1 cargo-zigbuild==0.24.1
    [ $# -eq 0 ] || rustup --quiet target add "$@"
}

cross_cargo() {
    PATH=$cross_tools/bin:$PATH cargo-zigbuild "$@"
}

# `cross_cc TARGET ARGUMENT...` compiles C for a target of zig.
cross_cc() {
    "$cross_tools/bin/python" -m ziglang cc -target "$@"
}

# `cross_frameworks FOLDER NAME...` writes stubs of macOS frameworks, which zig lacks, to a folder for
# `-F`. Programs linked to a stub load the framework at run time. The stubs contain no functions, so link
# with `-undefined dynamic_lookup`, which resolves functions at their first call, like those of Python.
cross_frameworks() {
    frameworks=$1
    shift
    for framework in "$@"; do
        mkdir -p "$frameworks/$framework.framework"
        cat >"$frameworks/$framework.framework/$framework.tbd" <<TBD
--- !tapi-tbd
tbd-version: 4
targets: [ x86_64-macos, arm64-macos ]
install-name: '/System/Library/Frameworks/$framework.framework/Versions/A/$framework'
exports: []
...
TBD
    done
}

# `cross_remap` prints flags that replace local source paths of the standard library by the paths used
# where the component rust-src is not installed.
cross_remap() {
    printf '%s' "--remap-path-prefix=$(rustc --print sysroot)/lib/rustlib/src/rust=/rustc/$(rustc -vV | sed -n 's/^commit-hash: //p')"
}
