"""Postgres as a contender of peers.py: its own cluster and socket in a temporary folder.

The server refuses to run as root, so root starts it as the user `postgres`; other users start it
under their own name.
"""

import atexit
import os
import pathlib
import pwd
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

BLOCKS = range(4)
MASK = (1 << 64) - 1
SERVER_USER = "postgres"
MIB = 1 << 20
# The fastest settings for a read-only store.
SETTINGS = {
    "listen_addresses": "",
    "autovacuum": "off",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "32GB",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "0",
    "maintenance_work_mem": "1GB",
    "work_mem": "1GB",
    "random_page_cost": "1.0",
    "plan_cache_mode": "force_generic_plan",
}


def programs():
    """The folder of the newest initdb and pg_ctl; None if Postgres is not installed."""
    found = shutil.which("initdb")
    if found:
        return pathlib.Path(found).resolve().parent
    versions = pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = max(versions, key=lambda path: float(path.parts[-3]), default=None)
    return newest.parent if newest else None


def obstacle():
    """The reason why Postgres cannot take part, or None."""
    if programs() is None:
        return "install the server (Debian: postgresql)"
    if os.geteuid() == 0:
        try:
            pwd.getpwnam(SERVER_USER)
        except KeyError:
            return f"root cannot run it, and there is no user {SERVER_USER}"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "pip install 'psycopg[binary]'"
    return None


def server_version():
    shown = run_server(["postgres", "--version"]).stdout
    return re.search(r"\d[\d.]*", shown).group(0)


def run_server(command, **more):
    """Runs a program of the server, as another user if this one is root."""
    command = [str(programs() / command[0]), *map(str, command[1:])]
    if os.geteuid() == 0:
        command = ["runuser", "-u", SERVER_USER, "--", *command]
    # The server fails if its user may not enter the working directory.
    done = subprocess.run(command, text=True, capture_output=True, cwd="/", **more)
    if done.returncode != 0:
        sys.exit(f"peers.py: {' '.join(command)} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done


class PostgresContender:
    """A table with a covering index for each block."""

    package = "postgres"

    def __init__(self, k, with_ids):
        self.k = k
        self.columns = ["v", "id"] if with_ids else ["v"]
        self.name = "postgres-ids" if with_ids else "postgres"
        inside = ", ".join(self.columns)
        self.settings = (
            f"one table, an index on each block that includes ({inside}); index-only scans, prepared; "
            "in shared buffers; asked through a unix socket"
        )
        self.folder = self.connection = None

    def build(self, values, folder):
        """Bytes of the table and its indexes."""
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="peers-postgres-"))
        atexit.register(self.close)
        if os.geteuid() == 0:
            shutil.chown(self.folder, SERVER_USER, SERVER_USER)
        quick = ["--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C"]
        run_server(["initdb", "-D", self.data(), "-U", SERVER_USER, *quick])
        # Memory for the whole table: 160 to 230 bytes a fingerprint, and some for the server itself.
        pages = 128 * MIB + 260 * len(values)
        most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
        buffers = f"{min(pages, most) // MIB}MB"
        lines = [f"{name} = '{value}'" for name, value in SETTINGS.items()]
        lines += [f"shared_buffers = '{buffers}'", f"unix_socket_directories = '{self.folder}'"]
        settings = self.folder / "peers.conf"
        settings.write_text("\n".join(lines) + "\n")
        settings.chmod(0o644)
        self.start()
        base = self.connect()
        columns = ", ".join(f"{name} int8 NOT NULL" for name in self.columns)
        with base.transaction():
            base.execute(f"CREATE TABLE f ({columns}) WITH (fillfactor = 100)")
            with base.cursor().copy(f"COPY f ({', '.join(self.columns)}) FROM STDIN BINARY") as copy:
                for part in copy_binary(values, len(self.columns)):
                    copy.write(part)
        for block in BLOCKS:
            base.execute(
                f"CREATE INDEX i{block} ON f (({block_of('v', block)})) "
                f"INCLUDE ({', '.join(self.columns)}) WITH (fillfactor = 100)"
            )
        # Index-only scans need the visibility map.
        base.execute("VACUUM (ANALYZE, FREEZE) f")
        base.execute("CHECKPOINT")
        taken = base.execute("SELECT pg_total_relation_size('f')").fetchone()[0]
        base.close()
        self.stop()
        return taken

    def data(self):
        return self.folder / "data"

    def start(self):
        log = self.folder / "log"
        config = f"-c config_file={self.folder / 'peers.conf'} -c hba_file={self.data() / 'pg_hba.conf'}"
        run_server(["pg_ctl", "-D", self.data(), "-l", log, "-w", "-o", config, "start"])

    def stop(self):
        run_server(["pg_ctl", "-D", self.data(), "-w", "-m", "fast", "stop"])

    def connect(self):
        import psycopg

        return psycopg.connect(
            host=str(self.folder), user=SERVER_USER, dbname="postgres", autocommit=True
        )

    def finish(self, folder):
        """Seconds to start the server and connect. Then loads the whole table into shared buffers."""
        start = time.perf_counter()
        self.start()
        self.connection = self.connect()
        self.connection.execute("SELECT 1").fetchall()
        seconds = time.perf_counter() - start
        self.connection.execute("CREATE EXTENSION pg_prewarm")
        for relation in ["f", *(f"i{block}" for block in BLOCKS)]:
            self.connection.execute(f"SELECT pg_prewarm('{relation}')")
        self.backend = self.connection.info.backend_pid
        answer = ", ".join(self.columns)
        near = f"bit_count(({{}} # {{}})::bit(64)) <= {self.k}"
        parts = [
            f"SELECT {answer} FROM f WHERE {block_of('v', block)} = %({block})s::int4 "
            f"AND {near.format('v', '%(v)s::int8')}"
            for block in BLOCKS
        ]
        self.one = " UNION ".join(parts)
        parts = [
            f"SELECT q.v AS qv, f.{', f.'.join(self.columns)} FROM q JOIN f "
            f"ON {block_of('f.v', block)} = {block_of('q.v', block)} WHERE {near.format('f.v', 'q.v')}"
            for block in BLOCKS
        ]
        self.many = f"SELECT count(*) FROM ({' UNION '.join(parts)}) AS found"
        self.connection.execute("CREATE TEMP TABLE q (v int8 NOT NULL)")
        self.cursor = self.connection.cursor(binary=True)
        self.check_plan()
        self.settings += f"; {self.passage() * 1e6:.0f} us of a query pass in Python and on the socket"
        return seconds

    def check_plan(self):
        """Fails unless the plan has index-only scans, without which Postgres would be slower."""
        needle = self.prepare(numpy.zeros(1, dtype=numpy.uint64))[0]
        plan = self.cursor.execute(f"EXPLAIN {self.one}", needle).fetchall()
        plan = "\n".join(line.decode() if isinstance(line, bytes) else line for (line,) in plan)
        if plan.count("Index Only Scan") != len(BLOCKS):
            sys.exit(f"peers.py: Postgres does not answer from the indexes alone:\n{plan}")

    def passage(self):
        """Seconds of a query without any look-up."""
        needle, times = self.prepare(numpy.zeros(1, dtype=numpy.uint64))[0], []
        for _ in range(1000):
            start = time.perf_counter()
            self.cursor.execute("SELECT %(v)s::int8", needle, prepare=True).fetchall()
            times.append(time.perf_counter() - start)
        return statistics.median(times)

    def prepare(self, needles):
        blocks = [
            (needles >> numpy.uint64(48 - 16 * block) & numpy.uint64(0xFFFF)).tolist()
            for block in BLOCKS
        ]
        signed = needles.view(numpy.int64).tolist()
        names = [*map(str, BLOCKS), "v"]
        return [dict(zip(names, row)) for row in zip(*blocks, signed)]

    def ask(self, needle):
        return len(self.cursor.execute(self.one, needle, prepare=True).fetchall())

    def found(self, needle):
        rows = self.cursor.execute(self.one, needle, prepare=True).fetchall()
        return [row[0] & MASK for row in rows]

    def ask_many(self, needles):
        self.connection.execute("TRUNCATE q")
        with self.connection.cursor().copy("COPY q FROM STDIN BINARY") as copy:
            for part in copy_binary(needles, 1):
                copy.write(part)
        self.connection.execute("ANALYZE q")
        return self.connection.execute(self.many).fetchone()[0]

    def processor_time(self):
        """CPU seconds of this process and of the server process that answers it."""
        with open(f"/proc/{self.backend}/schedstat") as file:
            return time.process_time() + int(file.read().split()[0]) / 1e9

    def close(self):
        if self.folder is None:
            return
        if self.connection is not None:
            self.connection.close()
        if (self.data() / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.folder)
        self.folder = None


def block_of(value, block):
    return f"({value} >> {48 - 16 * block} & 65535)::int4"


def copy_binary(values, column_count):
    """The input of COPY, in parts: values, and with two columns also their positions."""
    kind = [("count", ">i2"), ("v_len", ">i4"), ("v", ">i8"), ("id_len", ">i4"), ("id", ">i8")]
    yield b"PGCOPY\n\xff\r\n\0" + bytes(8)
    step = 1 << 18
    for start in range(0, len(values), step):
        part = values[start : start + step]
        rows = numpy.empty(len(part), dtype=kind[: 1 + 2 * column_count])
        rows["count"], rows["v_len"], rows["v"] = column_count, 8, part.view(numpy.int64)
        if column_count == 2:
            rows["id_len"], rows["id"] = 8, numpy.arange(start, start + len(part))
        yield rows.tobytes()
    yield b"\xff\xff"
