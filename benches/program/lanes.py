#!/usr/bin/env python3
"""Measures the latency of quick requests to `fpstore serve` during slow ones.

    python3 benches/program/lanes.py --beside OLDER      # another program, in turns: four minutes
    python3 benches/program/lanes.py --crowd             # 200 connections of four kinds, by wrk
    python3 benches/program/lanes.py --faults --seconds 20    # the crowd, with a slow disk and others

The store is the same as in benches/program/serve.py. A quick query has one fingerprint within 3 bits
and runs on the thread that reads the request; a medium one is within 8 bits and runs on another
thread. A quick addition has one item within 3 bits. Each slow client sends batches of 200
fingerprints within 16 bits, one after the other; in cases with additions it sends check-and-adds.
Each client has its own connection and waits for the answer. A refused request is one with status 503,
after which the client waits 0.1 s.

With --crowd 120 connections send one query within 3 bits, 40 additions of 5 items, 20 search the
nearest within 12 bits, and 20 delete one id, all without pauses; an error is any other status than 200.

With --faults the crowd comes to a server without a fault, to one whose syncs take 500 ms each (by
strace, Debian package strace), to one whose access log nobody reads, and, with queries and `nearest`
alone, to a follower, and to a follower whose primary was killed.
"""

import argparse
import concurrent.futures
import functools
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import tempfile
import threading
import time

import serve

SLOW_K = 16
SLOW_COUNT = 200
TURNS = 3


def batch(source, path):
    drawn = [f"{source.getrandbits(64):016x}" for _ in range(SLOW_COUNT)]
    if path == "/v1/query":
        return json.dumps({"k": SLOW_K, "limit": 1, "ids": 0, "fingerprints": drawn})
    return json.dumps({"k": SLOW_K, "items": [{"fingerprint": it, "id": it} for it in drawn]})


def slow(server, path, seed, stop, counts):
    source = random.Random(seed)
    connection = server.connect()
    while not stop.is_set():
        connection.request("POST", path, batch(source, path), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        counts["slow" if answer.status == 200 else "slow refused"] += 1
        if answer.status != 200:
            time.sleep(0.1)


def requests_of(kind, stored, source):
    """An endless sequence of requests of one kind: method, path and body of each."""
    while True:
        value = source.choice(stored) ^ 1 << source.randrange(64)
        if kind == "addition":
            drawn = f"{source.getrandbits(64):016x}"
            yield "POST", "/v1/check-and-add", json.dumps(
                {"k": 3, "durable": False, "items": [{"fingerprint": drawn, "id": drawn}]})
        else:
            k = 3 if kind == "quick" else 8
            yield "GET", f"/v1/query?k={k}&fingerprint={value:016x}", None


def measure(server, kind, stored, beside, seconds):
    """The sorted times of the answered requests in milliseconds, and counts of requests."""
    stop, counts = threading.Event(), {"slow": 0, "slow refused": 0, "refused": 0}
    path = "/v1/check-and-add" if kind == "addition" else "/v1/query"
    askers = [threading.Thread(target=slow, args=(server, path, seed, stop, counts))
              for seed in range(beside)]
    for asker in askers:
        asker.start()
    time.sleep(0.3 if askers else 0)
    connection, times = server.connect(), []
    end = time.time() + seconds
    for method, path, body in requests_of(kind, stored, random.Random(7)):
        if time.time() >= end:
            break
        start = time.perf_counter()
        connection.request(method, path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        took = (time.perf_counter() - start) * 1000
        if answer.status == 200:
            times.append(took)
        else:
            counts["refused"] += 1
            time.sleep(0.1)
        time.sleep(0.002)
    stop.set()
    for asker in askers:
        asker.join()
    return sorted(times), counts


def scripts_of(folder, stored, source):
    """The wrk scripts of the kinds of requests in a crowd, with their numbers of connections."""
    needles = ",".join(f'"{value:016x}"' for value in serve.needles(stored, 30_000))
    value = lambda: f"{source.getrandbits(64):016x}"
    items = lambda: [{"fingerprint": value(), "id": f"n{value()}"} for _ in range(5)]
    add = lambda: json.dumps({"k": 3, "durable": False, "items": items()}).encode()
    ids = source.sample(range(len(stored)), 4000)
    delete = [json.dumps({"ids": [str(at)]}).encode() for at in ids]
    post = lambda path, bodies: serve.post(folder, "application/json", path, bodies)
    texts = {
        "one query": (120, serve.GET % (needles, "/v1/query?k=3&fingerprint=")),
        "5 items": (40, post("/v1/check-and-add", [add() for _ in range(20_000)])),
        "nearest": (20, serve.GET % (needles, "/v1/nearest?k=12&count=1&fingerprint=")),
        "deletion": (20, post("/v1/ids", delete).replace('"POST"', '"DELETE"')),
    }
    for name, (_, text) in texts.items():
        (folder / f"{name}.lua").write_text(text)
    return {name: (str(folder / f"{name}.lua"), count) for name, (count, _) in texts.items()}


def crowd(server, scripts, seconds):
    """For each kind of requests of a crowd: requests a second, p50, p99 in milliseconds, errors."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = {name: pool.submit(serve.load, server, script, count, seconds)
                for name, (script, count) in scripts.items()}
        return {name: (*run.result()[:3], run.result()[4]) for name, run in runs.items()}


SLOW_SYNCS = ("strace -D -f --seccomp-bpf -qq -o /dev/null -e trace=fsync,fdatasync "
              "-e inject=fsync,fdatasync:delay_exit=500000").split()


def faults(folder, start, scripts, seconds):
    """Yields the name of each fault, the crowd's figures, and what `/readyz` answered then."""
    def case(name, server, kinds):
        found = crowd(server, {kind: scripts[kind] for kind in kinds}, seconds)
        return name, found, server.get("/readyz")

    def writing(name, **options):
        server = start(*options.pop("more", ()), **options)
        yield case(name, server, scripts)
        server.process.kill()
        server.process.wait()

    yield from writing("none")
    yield from writing("each sync 500 ms", tracer=SLOW_SYNCS)
    reader, writer = os.pipe()
    yield from writing("a log that nobody reads", more=["--access-log"], output=writer)
    reads = ("one query", "nearest")
    primary = start()
    shutil.rmtree(folder / "copy.fps", ignore_errors=True)
    follower = serve.Server(primary.program, str(folder / "copy.fps"), "--threads", "2",
                            "--follow", f"http://{primary.address}", "--max-lag", "2s")
    yield case("a follower", follower, reads)
    primary.process.kill()
    primary.process.wait()
    time.sleep(4)
    yield case("a follower, its primary dead", follower, reads)
    follower.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="target/release/fpstore")
    parser.add_argument("--beside", metavar="PROGRAM", nargs="+", default=[],
                        help="other programs, measured in turns")
    parser.add_argument("--crowd", action="store_true", help="200 connections of four kinds")
    parser.add_argument("--faults", action="store_true", help="the crowd, with faults")
    parser.add_argument("--clients", type=int, nargs="+", default=[0, 1, 2, 10],
                        help="the numbers of slow clients")
    parser.add_argument("-n", type=int, default=1_000_000, help="records of the store")
    parser.add_argument("--seconds", type=float, default=3, help="seconds of each case and turn")
    options = parser.parse_args()
    programs = {**{path: path for path in options.beside}, "this": options.program}
    with tempfile.TemporaryDirectory(dir="target") as name:
        folder = pathlib.Path(name)
        stored = serve.values(options.n, serve.SEED)
        (folder / "in.tsv").write_text("".join(f"{v:016x}\t{at}\n" for at, v in enumerate(stored)))

        def start(program, *more, **options):
            store = folder / "store.fps"
            subprocess.run([program, "build", str(folder / "in.tsv"), "-s", str(store), "-q",
                            "--scheme", "2", "--force", "--id-type", "text"], check=True)
            return serve.Server(
                program, str(store), "--threads", "2", "--writable", *more, **options)

        if options.faults:
            scripts = scripts_of(folder, stored, random.Random(serve.SEED + 3))
            print("| fault | program | a request | a second | p50 ms | p99 ms | errors | readyz |")
            print("|---|---|---|---:|---:|---:|---:|---|")
            for which, program in programs.items():
                starting = functools.partial(start, program)
                for name, found, ready in faults(folder, starting, scripts, round(options.seconds)):
                    for kind, (rate, half, most, errors) in found.items():
                        print(f"| {name} | {which} | {kind} | {rate:.1f} | {half:.2f} | {most:.2f} | "
                              f"{errors} | {ready[0]} {ready[1].decode().strip()[:60]} |", flush=True)
            return
        if options.crowd:
            scripts = scripts_of(folder, stored, random.Random(serve.SEED + 3))
            found = {which: [] for which in programs}
            for turn in range(TURNS):
                for which, program in programs.items():
                    server = start(program)
                    found[which].append(crowd(server, scripts, round(options.seconds)))
                    server.end()
            print("| a request | program | a second | p50 ms | p99 ms | errors |")
            print("|---|---|---:|---:|---:|---:|")
            for kind in scripts:
                for which, turns in found.items():
                    rate, half, most, errors = (statistics.median(turn[kind][at] for turn in turns)
                                                for at in range(4))
                    print(f"| {kind} | {which} | {rate:.0f} | {half:.2f} | {most:.2f} | {errors} |")
            return
        print("| a request | program | slow askers | p50 ms | p99 ms | answered | refused | slow/s |")
        print("|---|---|---:|---:|---:|---:|---:|---:|")
        for kind in ("quick", "medium", "addition"):
            for beside in options.clients:
                found = {which: ([], []) for which in programs}
                for turn in range(TURNS):
                    for which, program in programs.items():
                        server = start(program)
                        times, counts = measure(server, kind, stored, beside, options.seconds)
                        server.process.kill()
                        server.process.wait()
                        found[which][0].append(times)
                        found[which][1].append(counts)
                for which, (turns, counts) in found.items():
                    times = sorted(sum(turns, []))
                    of = lambda share: times[int(len(times) * share)] if times else float("nan")
                    total = lambda name: sum(count[name] for count in counts)
                    print(f"| {kind} | {which} | {beside} | {of(0.5):.2f} | {of(0.99):.2f} | "
                          f"{len(times)} | {total('refused')} | "
                          f"{total('slow') / TURNS / options.seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
