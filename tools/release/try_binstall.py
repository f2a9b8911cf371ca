#!/usr/bin/env python3
"""Installs the program with `cargo binstall`, as from a published release, into an empty folder.

    python3 tools/release/try_binstall.py DIST

DIST is the folder made by tools/release/release.sh. A local server offers its files at the paths of a
release, over HTTPS with a self-signed certificate, and Cargo.toml uses that server as the URL of the
project: this tests `[package.metadata.binstall]` and the layout of the archives. Needs cargo-binstall
and openssl. Nothing is compiled and no other server is contacted.
"""

import contextlib
import functools
import http.server
import pathlib
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def certificate(folder):
    """A certificate for `localhost`, and its key."""
    files = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE",
         "-out", files[0], "-keyout", files[1]],
        check=True, capture_output=True)
    return files


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files without logging."""

    def log_message(self, *_):
        pass

    def copyfile(self, source, outputfile):
        # The first request of cargo-binstall for an archive only checks that it exists, and closes
        # the connection during the answer.
        with contextlib.suppress(OSError):
            super().copyfile(source, outputfile)


def serve(folder, files):
    """A server of the files in a folder, on a thread."""
    handler = functools.partial(Handler, directory=folder)
    server = http.server.ThreadingHTTPServer(("localhost", 0), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    dist = pathlib.Path(sys.argv[1])
    if shutil.which("cargo-binstall") is None:
        sys.exit("try_binstall: no cargo-binstall here: cargo install --locked cargo-binstall")
    manifest = (ROOT / "crates/cli/Cargo.toml").read_text()
    version = tomllib.loads(manifest)["package"]["version"]
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        files = certificate(work)
        release = work / "site" / "fpstore" / "releases" / "download" / f"v{version}"
        release.parent.mkdir(parents=True)
        release.symlink_to(dist.resolve())
        server = serve(work / "site", files)
        place = f"https://localhost:{server.server_port}/fpstore"
        lines = [line for line in manifest.splitlines() if not line.startswith("repository")]
        lines.insert(lines.index("[package]") + 1, f'repository = "{place}"')
        source = work / "source"
        (source / "src").mkdir(parents=True)
        (source / "src" / "main.rs").touch()
        (source / "Cargo.toml").write_text("\n".join(lines) + "\n")
        git = ["git", "-C", source, "-c", "user.name=try", "-c", "user.email=try@localhost"]
        for arguments in ["init --quiet", "add --all", "commit --quiet --message release"]:
            subprocess.run([*git, *arguments.split()], check=True)
        subprocess.run(
            ["cargo-binstall", "--git", source.as_uri(), "--root", work / "root", "--no-confirm", "--no-track",
             "--strategies", "crate-meta-data", "--disable-telemetry", "--root-certificates", files[0],
             "--log-level", "warn", "fpstore-cli"],
            check=True)
        program = work / "root" / "bin" / "fpstore"
        said = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
        if not said.startswith(f"fpstore {version}"):
            sys.exit(f"try_binstall: the program printed {said!r}")
        print(f"try_binstall: cargo binstall has installed {said.splitlines()[0]}")


if __name__ == "__main__":
    main()
