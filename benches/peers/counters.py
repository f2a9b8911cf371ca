#!/usr/bin/env python3
"""Counts instructions and cache misses of a query, for each contender.

    cargo build --release --locked && python3 counters.py              # 10^6 and 10^7
    python3 counters.py --n 1e8 --only fpstore-2,raw-ahead             # half an hour

If `perf stat` can read the counters of the processor, the counts come from it. Virtual machines often
have no counters; then callgrind simulates a processor with two caches, once with a second cache of
1 MiB and once with one of 32 MiB. callgrind supports AVX2 but not AVX-512. It ignores prefetches, so
a prefetched line counts as a miss too, and it does not simulate address translation.
Each contender first answers half of the queries as a warm-up, which is not counted.
"""

import argparse
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = HERE / "target" / "release" / "fpstore-peers"
EVENTS = ["instructions", "cycles", "branch-misses", "L1-dcache-load-misses", "cache-misses", "dTLB-load-misses"]
# Size, associativity and line length of the simulated caches; the second cache differs in each run.
FIRST = "32768,8,64"
SECOND = {"1 MiB": "1048576,16,64", "32 MiB": "33554432,16,64"}


class Steps:
    """Runs the Rust harness step by step."""

    def __init__(self, command):
        self.command = command
        self.process = subprocess.Popen(
            command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def until(self, word):
        found = self.process.stdout.readline().strip()
        if found != word:
            self.process.stdin.close()
            said = self.process.stderr.read().splitlines()
            # Shows the error of the harness without the output of the simulator.
            reasons = [line for line in said if line.startswith("fpstore-peers: ")] or said
            sys.exit("\n".join(["counters.py: the harness ended before it was " + word, *reasons]))

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        """Waits for the end and returns the lines of standard error."""
        return self.process.communicate()[1]


def harness(name, n, arguments):
    """Starts the harness with twice the queries: the first half is the warm-up."""
    queries = str(2 * arguments.queries)
    return [
        *[str(PROGRAM), "--n", n, "--data", arguments.data, "--memory", str(arguments.memory)],
        *["--in-steps", queries, "--only", name],
    ]


def perf_works():
    if not shutil.which("perf"):
        return False
    command = ["perf", "stat", "-x,", "-e", "instructions", "true"]
    done = subprocess.run(command, text=True, capture_output=True)
    return done.returncode == 0 and "not supported" not in done.stderr


def by_perf(name, n, arguments):
    steps = Steps(harness(name, n, arguments))
    steps.until("built")
    steps.go_on()
    steps.until("warm")
    command = ["perf", "stat", "-x,", "-e", ",".join(EVENTS), "-p", str(steps.process.pid)]
    counting = subprocess.Popen(command, text=True, stderr=subprocess.PIPE)
    steps.go_on()
    steps.until("asked")
    counting.send_signal(signal.SIGINT)
    lines = counting.communicate()[1].splitlines()
    steps.go_on()
    steps.end()
    counts = {}
    for line in lines:
        fields = line.split(",")
        if len(fields) > 2 and fields[0].isdigit():
            counts[fields[2].split(":")[0]] = int(fields[0])
    return counts


def by_callgrind(name, n, arguments):
    counts = {}
    for size, cache in SECOND.items():
        with tempfile.TemporaryDirectory() as scratch:
            valgrind = [
                *["valgrind", "--tool=callgrind", "--cache-sim=yes", f"--D1={FIRST}", f"--LL={cache}"],
                # Instrumentation starts later: without it the program runs ten times as fast.
                *["--instr-atstart=no", "--toggle-collect=*counted_asks*"],
                f"--callgrind-out-file={scratch}/out",
            ]
            steps = Steps(valgrind + harness(name, n, arguments))
            steps.until("built")
            switch = ["callgrind_control", "-i", "on", str(steps.process.pid)]
            subprocess.run(switch, check=True, capture_output=True)
            for word in ["warm", "asked"]:
                steps.go_on()
                steps.until(word)
            steps.go_on()
            said = steps.end()
        events = re.search(r"Events *: (.*)", said).group(1).split()
        numbers = map(int, re.search(r"Collected *: (.*)", said).group(1).split())
        # callgrind omits trailing zeros.
        found = dict.fromkeys(events, 0) | dict(zip(events, numbers))
        counts["instructions"] = found["Ir"]
        counts["reads and writes"] = found["Dr"] + found["Dw"]
        counts["beyond 32 KiB"] = found["D1mr"] + found["D1mw"]
        counts[f"beyond {size}"] = found["DLmr"] + found["DLmw"]
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = lambda text: text.split(",")
    parser.add_argument("--n", type=names, default=["1e6", "1e7"], help="N,N")
    parser.add_argument("--data", default="clustered")
    parser.add_argument("--only", type=names, default=["fpstore-2", "raw-ahead"], help="NAME,NAME")
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--memory", type=float, default=14, help="GiB, passed to the harness")
    parser.add_argument("--simulate", action="store_true", help="use callgrind even if perf works")
    arguments = parser.parse_args()
    if not PROGRAM.exists():
        sys.exit("counters.py: no harness yet: cargo build --release --locked")
    perf = not arguments.simulate and perf_works()
    if not perf and not shutil.which("valgrind"):
        sys.exit("counters.py: perf reads no counters here, and there is no valgrind")
    print("counted by", "perf" if perf else "callgrind, which simulates", end="; a query:\n\n")
    head = None
    for n in arguments.n:
        for name in arguments.only:
            counts = (by_perf if perf else by_callgrind)(name, n, arguments)
            if head is None:
                head = list(counts)
                print("| n | contender |", " | ".join(head), "|")
                print("|---|---|" + "---:|" * len(head))
            shares = [f"{counts[event] / arguments.queries:.1f}" if event in counts else "" for event in head]
            print(f"| {n} | {name} |", " | ".join(shares), "|", flush=True)


if __name__ == "__main__":
    main()
