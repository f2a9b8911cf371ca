#!/usr/bin/env python3
"""Measures a follower of `fpstore serve` while a writer adds at full speed.

    python3 benches/program/follower.py                     # one minute

One client sends check-and-adds of 1 000 random items, each durable before it sends the next one.
Meanwhile a folder follows the server by `fpstore backup --server --every`. The lag of the folder is
measured in generations and in seconds since the server published the generation of the folder. Then
the writer stops, and the time until the folder has the newest generation is measured. `copied` is the
number of bytes written by the follower, `added` the length of all segments of the final store,
`written` the number of bytes written by the server, merges included (both from /proc/PID/io).
"""

import argparse
import json
import pathlib
import random
import struct
import subprocess
import tempfile
import threading
import time

import serve

ITEMS = 1000


def generation_of(folder):
    """The generation of the manifest in a folder; 0 without a manifest."""
    try:
        return struct.unpack_from("<Q", (folder / "MANIFEST").read_bytes(), 16)[0]
    except FileNotFoundError:
        return 0


def written(pid):
    """Bytes that a process has written."""
    lines = pathlib.Path(f"/proc/{pid}/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar:"))


def write(server, stop, counts):
    source, connection = random.Random(serve.SEED), server.connect()
    while not stop.is_set():
        items = [{"fingerprint": f"{source.getrandbits(64):016x}", "id": f"{counts['items'] + at}"}
                 for at in range(ITEMS)]
        connection.request("POST", "/v1/check-and-add", json.dumps({"k": 3, "items": items}),
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        body = json.loads(answer.read())
        if answer.status != 200:
            raise SystemExit(f"{answer.status}: {body}")
        counts["items"] += ITEMS
        counts["shown"].append((body["generation"], time.time()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="target/release/fpstore")
    parser.add_argument("-n", type=int, default=1_000_000, help="initial records of the store")
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--every", default="200ms", help="the polling interval of the follower")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="target") as name:
        folder = pathlib.Path(name)
        stored = serve.values(options.n, serve.SEED)
        (folder / "in.tsv").write_text("".join(f"{v:016x}\t{at}\n" for at, v in enumerate(stored)))
        store, copy = folder / "store.fps", folder / "copy.fps"
        subprocess.run([options.program, "build", str(folder / "in.tsv"), "-s", str(store), "-q",
                        "--id-type", "text"], check=True)
        first = sum(file.stat().st_size for file in store.glob("segment-*"))
        server = serve.Server(options.program, str(store), "--threads", "2", "--writable")
        follower = subprocess.Popen(
            [options.program, "backup", str(copy), "--server", f"http://{server.address}",
             "--every", options.every, "-q"])
        while generation_of(copy) == 0:
            time.sleep(0.02)
        copied_before, written_before = written(follower.pid), written(server.process.pid)
        stop, counts = threading.Event(), {"items": 0, "shown": []}
        writer = threading.Thread(target=write, args=(server, stop, counts))
        start = time.time()
        writer.start()
        behind, seconds = [], []
        while time.time() < start + options.seconds:
            time.sleep(0.1)
            there, now = generation_of(copy), time.time()
            shown = list(counts["shown"])
            if not shown:
                continue
            newer = [when for generation, when in shown if generation > there]
            behind.append(shown[-1][0] - there if newer else 0)
            seconds.append(now - newer[0] if newer else 0.0)
        stop.set()
        writer.join()
        end = time.time()
        # Merges continue after the last addition.
        while generation_of(copy) != generation_of(store) or time.time() < end + 5:
            if generation_of(copy) < counts["shown"][-1][0]:
                caught_up = time.time()
            time.sleep(0.02)
            if time.time() > end + 120:
                raise SystemExit("the follower does not catch up")
        caught_up = locals().get("caught_up", end)
        copied = written(follower.pid) - copied_before
        made = written(server.process.pid) - written_before
        added = sum(file.stat().st_size for file in store.glob("segment-*")) - first
        follower.kill()
        follower.wait()
        verified = subprocess.run([options.program, "verify", "-s", str(copy), "-q"]).returncode
        behind.sort(), seconds.sort()
        middle, high = len(seconds) // 2, len(seconds) * 99 // 100
        print(f"items {counts['items']}, a second {counts['items'] / (end - start):.0f}")
        print(f"generations behind: median {behind[middle]}, p99 {behind[high]}, most {behind[-1]}")
        print(f"seconds behind: median {seconds[middle]:.2f}, p99 {seconds[high]:.2f}, "
              f"most {seconds[-1]:.2f}")
        print(f"caught up after the last addition: {max(caught_up - end, 0):.2f} s")
        print(f"added {added / 1e6:.1f} MB, written by the server {made / 1e6:.1f} MB, copied "
              f"{copied / 1e6:.1f} MB ({copied / max(added, 1):.2f} of the added bytes)")
        print(f"the copy is {'sound' if verified == 0 else 'damaged'}")
        server.process.kill()


if __name__ == "__main__":
    main()
