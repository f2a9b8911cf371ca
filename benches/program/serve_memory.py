#!/usr/bin/env python3
"""Measures the memory of `fpstore serve` with slow clients and one normal client.

    python3 benches/program/serve_memory.py                 # one minute

The store is the same as in benches/program/serve.py. With `bodies`, each slow client sends all but the
last byte of a batch of 16 MiB; with `answers`, it requests a batch with a long answer and reads none of
it. All clients stay connected until the memory no longer grows. Memory is that of the process, without
mapped files (RssAnon); meanwhile a normal client queries one fingerprint after the other.
"""

import argparse
import json
import pathlib
import socket
import subprocess
import tempfile
import threading
import time

import serve

BODY = 16 << 20
BATCH = 100_000


def anonymous(pid):
    """MiB of anonymous memory of the process."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("this system does not report RssAnon")


def open_socket(server):
    host, port = server.address.rsplit(":", 1)
    return socket.create_connection((host, int(port)))


def head(path, length, kind):
    return (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
            f"Content-Length: {length}\r\n\r\n").encode()


def send(client, data, counts):
    """Sends as much data as the server accepts; an early answer is a refusal."""
    client.settimeout(5)
    try:
        client.sendall(data)
        counts["sent"] += 1
    except OSError:
        counts["not taken"] += 1


def slow_clients(server, kind, count, stored):
    if kind == "bodies":
        data = head("/v1/query", BODY, "application/octet-stream") + b"\0" * (BODY - 1)
    else:
        asked = [f"{stored[at % len(stored)]:016x}" for at in range(BATCH)]
        body = json.dumps({"k": 3, "fingerprints": asked}).encode()
        data = head("/v1/query", len(body), "application/json") + body
    clients = [open_socket(server) for _ in range(count)]
    counts = {"sent": 0, "not taken": 0}
    threads = [threading.Thread(target=send, args=(client, data, counts)) for client in clients]
    for thread in threads:
        thread.start()
    return clients, threads, counts


def watch(server, stored, until):
    """Queries until the given time. Returns the peak memory, and the times of the queries."""
    connection, most, times, refused = server.connect(), 0, [], 0
    at = 0
    while time.time() < until():
        most = max(most, anonymous(server.process.pid))
        start = time.perf_counter()
        connection.request("GET", f"/v1/query?fingerprint={stored[at % len(stored)]:016x}&k=3")
        answer = connection.getresponse()
        answer.read()
        refused += answer.status != 200
        times.append((time.perf_counter() - start) * 1000)
        at += 1
        time.sleep(0.005)
    return most, sorted(times), refused


def measure(server, kind, count, stored, seconds):
    before = anonymous(server.process.pid)
    clients, threads, counts = slow_clients(server, kind, count, stored)
    # The end of the measurement. It becomes earlier once the slow clients have sent their requests.
    end = [time.time() + 600]

    def ended():
        if end[0] > time.time() + seconds and not any(thread.is_alive() for thread in threads):
            end[0] = time.time() + seconds
        return end[0]

    most, times, refused = watch(server, stored, ended)
    for client in clients:
        client.close()
    time.sleep(2)
    after = anonymous(server.process.pid)
    p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
    print(f"| {kind} | {count} | {before:.0f} | {most:.0f} | {after:.0f} | {counts['sent']} | "
          f"{counts['not taken']} | {p50:.2f} | {p99:.2f} | {refused} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="target/release/fpstore")
    parser.add_argument("-n", type=int, default=1_000_000, help="records of the store")
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=15, help="seconds after everything was sent")
    parser.add_argument("options", nargs="*", help="options of the server, after --")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="target") as name:
        folder = pathlib.Path(name)
        stored = serve.values(options.n, serve.SEED)
        (folder / "in.tsv").write_text("".join(f"{v:016x}\t{at}\n" for at, v in enumerate(stored)))
        store = folder / "store.fps"
        subprocess.run([options.program, "build", str(folder / "in.tsv"), "-s", str(store), "-q"],
                       check=True)
        print("| slow | clients | MiB before | most | after | whole | cut short | p50 ms beside | p99 "
              "| refused |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
        for kind in ("bodies", "answers"):
            server = serve.Server(options.program, str(store), "--threads", "2", *options.options)
            measure(server, kind, options.clients, stored, options.seconds)
            server.process.kill()


if __name__ == "__main__":
    main()
