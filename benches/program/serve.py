#!/usr/bin/env python3
"""Measures `fpstore serve` on loopback with the load tool wrk (Debian package wrk).

    python3 benches/program/serve.py                        # requests, batches, additions: three minutes
    python3 benches/program/serve.py --mixed 10             # ten minutes of queries during writes

The store holds clustered fingerprints (a fifth are copies of an earlier one with 0 to 6 flipped bits)
with u64 ids, in two halves, from a fixed seed. Of the queries a third are stored, a third are stored
with 1 to 3 flipped bits, a third are random; k is 3. The server has one thread, wrk another one. CPU
is the processor time of the server, from /proc, for each request or query; on a busy machine it is
more reliable than the rate. Items to check and add are random; each turn begins with a copy of the
store, so that all items are new until the requests repeat.
"""

import argparse
import atexit
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

TICKS = os.sysconf("SC_CLK_TCK")
SEED = 20261122
# The numbers of connections, and the number of measurements of each case.
COUNTS = (1, 16, 128)
TURNS = 3


def values(count, seed):
    """Clustered fingerprints."""
    source = random.Random(seed)
    made = []
    for _ in range(count):
        if made and source.random() < 0.2:
            made.append(flipped(source, source.choice(made), source.randrange(7)))
        else:
            made.append(source.getrandbits(64))
    return made


def flipped(source, value, count):
    for bit in source.sample(range(64), count):
        value ^= 1 << bit
    return value


def needles(stored, count):
    source = random.Random(SEED + 1)
    made = []
    for at in range(count):
        value = source.choice(stored)
        near = flipped(source, value, source.randrange(1, 4))
        made.append((value, near, source.getrandbits(64))[at % 3])
    return made


class Server:
    """A running server. `tracer` is a command that runs it, with the same process number."""

    def __init__(self, program, store, *options, tracer=(), output=None):
        self.program = program
        command = [*tracer, program, "serve", "-s", store, "--listen", "127.0.0.1:0", *options]
        self.process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)
        line = self.process.stderr.readline().strip()
        self.address = line.rsplit(" at http://", 1)[-1]
        if ":" not in self.address:
            sys.exit(f"serve: {line}")
        while self.get("/readyz")[0] != 200:
            time.sleep(0.05)

    def connect(self):
        host, port = self.address.rsplit(":", 1)
        return http.client.HTTPConnection(host, int(port), timeout=60)

    def get(self, path, method="GET"):
        connection = self.connect()
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def cpu(self):
        """Processor seconds of the server so far."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self):
        """MB of private resident memory of the process (without the mapping of the store)."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"RssAnon:\s+(\d+)", text)[1]) / 1000

    def end(self):
        self.process.terminate()
        return self.process.wait()


class Simd(Server):
    """The server of go-simstore, limited to one processor like fpstore."""

    def __init__(self, program, records):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [program, "-p", str(port), "-f", records, "-size", "3", "-vptree=false", "-cpus=1"]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        atexit.register(self.process.kill)
        self.address = f"127.0.0.1:{port}"
        while True:
            try:
                self.get("/")
                break
            except ConnectionError:
                time.sleep(0.1)


# The requests are prepared before the load starts, so that their preparation is not measured.
GET = """
local needles = {%s}
local requests = {}
init = function()
  for at, needle in ipairs(needles) do
    requests[at] = wrk.format("GET", "%s" .. needle)
  end
end
local at = 0
request = function()
  at = at %% #requests + 1
  return requests[at]
end
"""
PAUSE = """
delay = function() return %d end
"""
HEALTH = """
init = function()
  health = wrk.format("GET", "/healthz")
end
request = function() return health end
"""
POST = """
local bodies = {}
for at = 1, %d do
  local file = io.open("%s/" .. at, "rb")
  bodies[at] = file:read("*a")
  file:close()
end
local requests = {}
wrk.headers["Content-Type"] = "%s"
init = function()
  for at, body in ipairs(bodies) do
    requests[at] = wrk.format("POST", "%s", nil, body)
  end
end
local at = 0
request = function()
  at = at %% #requests + 1
  return requests[at]
end
"""


def load(server, script, connections, seconds):
    """Runs wrk. Returns requests a second, p50 and p99 in milliseconds, CPU us of the server for
    each request, and errors."""
    before = server.cpu()
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "60s", "--latency"]
    command += ["-s", script]
    text = subprocess.run(
        [*command, f"http://{server.address}"], capture_output=True, text=True, check=True
    ).stdout
    spent = server.cpu() - before
    total = int(re.search(r"(\d+) requests in", text)[1])
    units = {"us": 1e-3, "ms": 1, "s": 1e3}
    share = lambda name: (lambda m: float(m[1]) * units[m[2]])(
        re.search(rf"{name}%\s+([\d.]+)(us|ms|s)", text)
    )
    errors = sum(map(int, re.findall(r"(?:connect|read|write|timeout|responses:) (\d+)", text)))
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])
    return rate, share("50"), share("99"), spent / max(total, 1) * 1e6, errors


def write_scripts(folder, queries, pause):
    """The load scripts by name, each with the number of queries per request."""
    scripts = {}

    def add(name, count, text):
        path = folder / f"{len(scripts)}.lua"
        path.write_text(text)
        scripts[name] = (str(path), count)

    needles = ",".join(f'"{value:016x}"' for value in queries[:30_000])
    single = GET % (needles, "/v1/query?k=3&fingerprint=")
    add("one", 1, single)
    add("one of go-simstore", 0, GET % (needles, "/search?sig="))
    add("one with pauses", 0, single + (PAUSE % pause if pause else ""))
    add("no search", 0, HEALTH)
    for name, count, kind, path, encode in [
        ("100 in JSON", 100, "application/json", "", encode_json),
        ("1 000 in JSON", 1000, "application/json", "", encode_json),
        ("1 000 in binary", 1000, "application/octet-stream", "?k=3", encode_binary),
        ("10 000 in binary", 10_000, "application/octet-stream", "?k=3", encode_binary),
    ]:
        parts = [queries[at : at + count] for at in range(0, len(queries) - count + 1, count)][:50]
        add(name, count, post(folder, kind, f"/v1/query{path}", [encode(part) for part in parts]))
    return scripts


def post(folder, kind, path, bodies):
    """A load script that sends these bodies in turn."""
    inner = pathlib.Path(tempfile.mkdtemp(dir=folder))
    for at, body in enumerate(bodies, 1):
        (inner / str(at)).write_bytes(body)
    return POST % (len(bodies), inner, kind, path)


def encode_json(part):
    return json.dumps({"k": 3, "fingerprints": [f"{value:016x}" for value in part]}).encode()


def encode_binary(part):
    return struct.pack(f"<{len(part)}Q", *part)


def requests(server, simd, scripts, seconds):
    print("| a request, connections | requests/s | p50 ms | p99 ms | CPU us | errors |")
    print("|---|---:|---:|---:|---:|---:|")
    cases = [("/healthz, no search", "no search", server, [16]), ("one query", "one", server, COUNTS)]
    if simd:
        cases.append(("one query, go-simstore", "one of go-simstore", simd, COUNTS))
    for name, script, of, counts in cases:
        for count in counts:
            turns = [load(of, scripts[script][0], count, seconds) for _ in range(TURNS)]
            # The turn with the median rate, because other load on the machine varies.
            rate, half, most, spent, errors = sorted(turns)[TURNS // 2]
            print(f"| {name}, {count} | {rate:.0f} | {half:.2f} | {most:.2f} | {spent:.1f} | {errors} |")
    print("\n| batches, 4 connections | queries/s | CPU us a query | errors |")
    print("|---|---:|---:|---:|")
    for name, (script, count) in scripts.items():
        if count > 1:
            turns = [load(server, script, 4, seconds) for _ in range(TURNS)]
            rate, _, _, spent, errors = sorted(turns)[TURNS // 2]
            print(f"| {name} | {rate * count:.0f} | {spent / count:.2f} | {errors} |")


def additions(program, store, folder, seconds):
    print("\n| check-and-add, connections | items/s | p50 ms | p99 ms | CPU us an item | errors |")
    print("|---|---:|---:|---:|---:|---:|")
    source = random.Random(SEED + 2)
    for count, requests, connections, durable in [
        (1, 20_000, 16, True),
        (100, 1000, 4, True),
        (100, 1000, 4, False),
    ]:
        bodies = []
        for _ in range(requests):
            items = [{"fingerprint": f"{source.getrandbits(64):016x}", "id": str(source.getrandbits(40))}
                     for _ in range(count)]
            bodies.append(json.dumps({"k": 3, "items": items, "durable": durable}).encode())
        script = folder / f"add-{count}-{durable}.lua"
        script.write_text(post(folder, "application/json", "/v1/check-and-add", bodies))
        turns = []
        for _ in range(TURNS):
            copy = folder / "copy.fps"
            shutil.copytree(store, copy)
            server = Server(program, str(copy), "--threads", "1", "--writable")
            turns.append(load(server, str(script), connections, seconds))
            server.end()
            shutil.rmtree(copy)
        rate, half, most, spent, errors = sorted(turns)[TURNS // 2]
        name = f"{count} {'items' if count > 1 else 'item'}{'' if durable else ', not durable'}"
        print(f"| {name}, {connections} | {rate * count:.0f} | {half:.2f} | {most:.2f} | "
              f"{spent / count:.1f} | {errors} |", flush=True)


def latencies(server, queries):
    """The microseconds of each of many single queries, one after the other over one connection."""
    host, port = server.address.rsplit(":", 1)
    link = socket.create_connection((host, int(port)))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    times = []
    for value in queries:
        text = f"GET /v1/query?fingerprint={value:016x}&k=3 HTTP/1.1\r\nHost: localhost\r\n\r\n"
        start = time.perf_counter()
        link.sendall(text.encode())
        answer = link.recv(1 << 16)
        times.append((time.perf_counter() - start) * 1e6)
        assert answer.startswith(b"HTTP/1.1 200")
    link.close()
    return sorted(times)


def refreshes(program, server, store, folder, stored, queries):
    """p99 of 1 000 queries: in steady state, and right after a merge and refresh of the store."""
    steady, fresh = [], []
    for turn in range(5):
        steady.append(latencies(server, queries[turn * 1000 : (turn + 1) * 1000])[989])
        more = folder / "more.tsv"
        more.write_text("".join(f"{value:016x}\t{at}\n" for at, value in enumerate(stored[:1000])))
        subprocess.run([program, "add", str(more), "-s", store, "-q", "--no-compact"], check=True)
        subprocess.run([program, "compact", "--one", "-s", store, "-q"], check=True)
        assert json.loads(server.get("/v1/refresh", "POST")[1])["changed"]
        fresh.append(latencies(server, queries[turn * 1000 : (turn + 1) * 1000])[989])
    print("\np99 of 1 000 queries over one connection, us, medians of 5 turns: "
          f"steady {statistics.median(steady):.0f}, right after a merge of everything "
          f"{statistics.median(fresh):.0f}")


def mixed(program, store, scripts, minutes):
    """Queries by wrk during check-and-adds of two clients; reports memory and errors."""
    server = Server(program, store, "--threads", "1", "--writable")
    end = time.time() + minutes * 60
    counts = {"new": 0, "near": 0, "errors": 0}

    def write(seed):
        source = random.Random(seed)
        connection = server.connect()
        while time.time() < end:
            items = [{"fingerprint": f"{source.getrandbits(64):016x}", "id": str(source.getrandbits(40))}
                     for _ in range(20)]
            items[-1]["fingerprint"] = items[0]["fingerprint"]
            connection.request("POST", "/v1/check-and-add", json.dumps({"items": items}),
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            body = json.loads(answer.read())
            if answer.status != 200:
                counts["errors"] += 1
                continue
            for result in body["results"]:
                counts[result["status"]] += 1
            time.sleep(0.05)

    writers = [threading.Thread(target=write, args=(seed,)) for seed in (1, 2)]
    for writer in writers:
        writer.start()
    print("\n| minute | requests/s | p50 ms | p99 ms | CPU us | wrk errors | own memory MB | segments |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    minute = 0
    while time.time() < end:
        minute += 1
        seconds = max(1, min(60, int(end - time.time())))
        rate, half, most, spent, errors = load(server, scripts["one with pauses"][0], 16, seconds)
        segments = len(json.loads(server.get("/v1/info")[1])["store"]["segments"])
        print(f"| {minute} | {rate:.0f} | {half:.2f} | {most:.2f} | {spent:.1f} | {errors} | "
              f"{server.memory():.1f} | {segments} |", flush=True)
    for writer in writers:
        writer.join()
    metrics = server.get("/metrics")[1].decode()
    number = lambda name: float(re.search(rf"^fpstore_{name} (\S+)$", metrics, re.M)[1])
    print(f"\nwriters: {counts['new']} new, {counts['near']} near, {counts['errors']} errors; "
          f"{number('commits_total'):.0f} commits of "
          f"{number('commit_seconds_total') / max(1, number('commits_total')) * 1e3:.0f} ms, "
          f"{number('merges_total'):.0f} merges; exit status {server.end()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="target/release/fpstore")
    parser.add_argument("-n", type=int, default=1_000_000, help="records of the store")
    parser.add_argument("--seconds", type=int, default=10, help="seconds of each case")
    parser.add_argument("--go-simstore", metavar="PROGRAM", help="the server simd, for comparison")
    parser.add_argument("--mixed", type=float, default=0, metavar="MINUTES")
    parser.add_argument("--pause", type=int, default=0, metavar="MS",
                        help="with --mixed, pause of each of the 16 connections between requests")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="target") as name:
        folder = pathlib.Path(name)
        stored = values(options.n, SEED)
        (folder / "in.tsv").write_text("".join(f"{v:016x}\t{at}\n" for at, v in enumerate(stored)))
        store = str(folder / "store.fps")
        subprocess.run([options.program, "build", str(folder / "in.tsv"), "-s", store, "-q",
                        "--scheme", "2"], check=True)
        queries = needles(stored, 300_000)
        scripts = write_scripts(folder, queries, options.pause)
        if options.mixed:
            mixed(options.program, store, scripts, options.mixed)
            return
        server = Server(options.program, store, "--threads", "1", "--refresh-every", "10h")
        simd = None
        if options.go_simstore:
            records = folder / "simd.txt"
            records.write_text("".join(f"{at} {v:016x}\n" for at, v in enumerate(stored)))
            simd = Simd(options.go_simstore, str(records))
        requests(server, simd, scripts, options.seconds)
        refreshes(options.program, server, store, folder, stored, queries)
        server.end()
        additions(options.program, store, folder, options.seconds)


if __name__ == "__main__":
    main()
