#!/usr/bin/env python3
"""Runs the files of tools/operations together: the unit's server, nginx, Caddy, and Prometheus.

    python3 -B tools/checks/check_proxies.py target/debug/fpstore

The command of fpstore.service, the configurations of nginx and Caddy, and prometheus.yml run with other
paths, ports and names, but are otherwise unchanged. If this script runs as root, the server and the
proxies run as different users, so that the group must open the socket. Through each proxy, over TLS, the
script queries with and without a token, adds, streams lines, and looks for the client in the access log.
It counts the connections that a thousand requests need, makes a follower with the command of follower.conf
copy the store through the plain listener, and checks that Prometheus reads the metrics. Programs that are
not installed (Debian packages nginx, caddy, prometheus, curl, openssl) are skipped with a message.
"""

import http.client
import json
import os
import pathlib
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time

from check_unit import DATA, settings

OPERATIONS = pathlib.Path(__file__).resolve().parent.parent / "operations"
# The longest wait in seconds; only a failure reaches it.
PATIENCE = 60
SERVER, PROXY, GROUP = 64001, 64002, 64001
NAME = "near.example.org"
READ, WRITE = "r" * 32, "w" * 32


def as_user(user, command):
    """The command, run as another user in the group of the socket. Only root can change users."""
    if os.getuid() != 0:
        return command
    return ["setpriv", f"--reuid={user}", f"--regid={user}", f"--groups={GROUP}", *command]


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Connection(http.client.HTTPConnection):
    """A connection to the proxy. It connects again if the proxy has closed it."""

    def connect(self):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        stream = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        self.sock = context.wrap_socket(stream, server_hostname=NAME)


class Place:
    """A folder with the store, the tokens and the certificate, in place of the installed
    folders."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.tls, self.plain, self.metrics, self.follower = (free_port() for _ in range(4))
        self.running = []
        for name, token in (("read", READ), ("write", WRITE)):
            (folder / f"{name}.token").write_text(token + "\n")
            (folder / f"{name}.token").chmod(0o640)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj",
                        f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}",
                        "-keyout", folder / f"{NAME}.key", "-out", folder / f"{NAME}.pem"],
                       check=True, capture_output=True)
        subprocess.run([program, "build", DATA, "-s", folder / "pages.fps", "--quiet"], check=True)
        self.give(SERVER)
        (folder / f"{NAME}.key").chmod(0o640)
        folder.chmod(0o750)

    def give(self, user):
        if os.getuid() == 0:
            for path in [self.folder, *self.folder.rglob("*")]:
                os.chown(path, user, GROUP)

    def adapted(self, text):
        """A configuration with the paths, ports and names of this folder."""
        for old, new in (("/srv/fpstore", self.folder), ("/run/fpstore", self.folder),
                         ("/etc/fpstore", self.folder), ("/usr/bin/fpstore", self.program),
                         ("127.0.0.1:7701", f"127.0.0.1:{self.metrics}"),
                         ("127.0.0.1:7700", f"127.0.0.1:{self.plain}"),
                         ("http://192.0.2.7:7700", f"http://127.0.0.1:{self.plain}")):
            text = text.replace(old, str(new))
        return text

    def start(self, user, command, **options):
        process = subprocess.Popen(as_user(user, [str(word) for word in command]), **options)
        self.running.append(process)
        return process

    def end(self, process=None):
        for process in [process] if process else self.running:
            if process.poll() is None:
                process.terminate()
                process.wait(PATIENCE)

    def serve(self):
        [command] = settings(OPERATIONS / "fpstore.service", "ExecStart")
        with open(self.folder / "access.log", "wb") as log:
            self.start(SERVER, shlex.split(self.adapted(command)), stdout=log)
        self.wait("the server is ready", lambda: self.metric("fpstore_ready") == 1)

    def metric(self, name, port=None):
        """The value of a metric, requested from the listener for metrics, without a token."""
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port or self.metrics, timeout=PATIENCE)
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
        except OSError:
            return None
        found = re.search(rf"^{name} (\S+)$", text, re.MULTILINE)
        return float(found[1]) if found else None

    def wait(self, what, is_done):
        start = time.monotonic()
        while not is_done():
            assert time.monotonic() - start < PATIENCE, f"waited until {what}"
            time.sleep(0.05)

    def connect(self):
        """A connection to the proxy, by TLS."""
        return Connection(NAME, self.tls, timeout=PATIENCE)

    def ask(self, connection, method, path, body=None, token=READ):
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def is_open(self):
        try:
            return self.ask(self.connect(), "GET", "/healthz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False


def check_proxy(place, name, number):
    """Checks all kinds of requests through the running proxy."""
    place.wait(f"{name} answers", place.is_open)
    connection = place.connect()
    query = "/v1/query?fingerprint=838a482fd44c5ac9"
    assert place.ask(connection, "GET", query)[0] == 200
    assert place.ask(connection, "GET", query, token=None)[0] == 401
    item = json.dumps({"k": 0, "items": [{"fingerprint": f"{number:016x}", "id": name}]})
    # After a refusal before the body was read, a proxy may close the connection.
    assert place.ask(place.connect(), "POST", "/v1/check-and-add", item)[0] == 403
    status, answer = place.ask(connection, "POST", "/v1/check-and-add", item, WRITE)
    assert status == 200 and json.loads(answer)["added"] == 1, answer
    # The stream uses HTTP/2, because Caddy stops reading an HTTP/1.1 body once a part of the answer
    # is sent.
    stream = ["curl", "-skN", "--http2", "-XPOST", "--resolve", f"{NAME}:{place.tls}:127.0.0.1",
              "-H", f"Authorization: Bearer {READ}", "-H", "Content-Type: application/x-ndjson",
              f"https://{NAME}:{place.tls}/v1/query?k=3"]
    line = '"838a482fd44c5ac9"\n'
    # nginx does not read a body while it writes an answer, so it blocks long streams.
    count = 20_000 if name == "caddy" else 200
    answer = subprocess.run([*stream, "--data-binary", "@-"], input=line * count, text=True, check=True,
                            capture_output=True).stdout
    assert answer.count("\n") == count, (answer.count("\n"), answer[-300:])
    if name == "caddy":
        check_dialogue([*stream, "-T."], line)
    before = place.metric("fpstore_connections_total")
    for _ in range(1000):
        assert place.ask(connection, "GET", query)[0] == 200
    opened = place.metric("fpstore_connections_total") - before
    # `opened` includes two connections for the metrics.
    assert opened < 20, f"{name}: {opened} connections for 1000 requests"
    log = lambda: (place.folder / "access.log").read_text().splitlines()
    asked = lambda: [line for line in map(json.loads, log()) if line["path"] == "/v1/query"]
    place.wait("the access log is written", lambda: len(asked()) > 1000)
    assert asked()[-1]["client"] == "127.0.0.1", asked()[-1]
    check_follower(place, name)
    print(f"{name}: TLS, tokens, streams, the client in the log, {opened:.0f} connections for 1000 requests, "
          "a follower")


def check_dialogue(stream, line):
    """Checks that each line is answered before the next is sent. nginx reads the whole body first."""
    with subprocess.Popen(stream, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as dialogue:
        for _ in range(3):
            dialogue.stdin.write(line)
            dialogue.stdin.flush()
            assert "8302482fd44c5ac9" in dialogue.stdout.readline()
        dialogue.stdin.close()
        assert dialogue.wait(PATIENCE) == 0


def check_follower(place, name):
    [_, command] = settings(OPERATIONS / "follower.conf", "ExecStart")
    command = command.replace("pages.fps", f"{name}.fps").replace("serve.sock", "follower.sock")
    command = command.replace("127.0.0.1:7701", f"127.0.0.1:{place.follower}")
    follower = place.start(SERVER, shlex.split(place.adapted(command)), stdout=subprocess.DEVNULL)
    generation = place.metric("fpstore_generation")
    place.wait("the follower has the newest state",
               lambda: place.metric("fpstore_generation", place.follower) == generation)
    assert place.metric("fpstore_follow_lag_generations", place.follower) == 0
    place.end(follower)


def check_nginx(place):
    text = place.adapted((OPERATIONS / "nginx.conf").read_text())
    text = text.replace("listen 443 ssl", f"listen 127.0.0.1:{place.tls} ssl")
    inside = place.folder / "nginx"
    inside.mkdir()
    paths = "".join(f"{kind}_temp_path {inside}/{kind};\n"
                    for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (inside / "nginx.conf").write_text(
        f"daemon off;\npid {inside}/pid;\nerror_log {inside}/error.log;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{paths}{text}}}\n")
    for path in [inside, *inside.iterdir()]:
        if os.getuid() == 0:
            os.chown(path, PROXY, GROUP)
    nginx = place.start(PROXY, ["nginx", "-e", inside / "error.log", "-c", inside / "nginx.conf"])
    check_proxy(place, "nginx", 1 << 40)
    place.end(nginx)


def check_caddy(place):
    text = place.adapted((OPERATIONS / "Caddyfile").read_text())
    # Caddy uses the certificate of this folder, and no administration port, which may be in use.
    text = text.replace(f"{NAME} {{\n", f"https://{NAME}:{place.tls} {{\n\ttls {place.folder}/{NAME}.pem "
                        f"{place.folder}/{NAME}.key\n", 1)
    inside = place.folder / "caddy"
    inside.mkdir()
    (inside / "Caddyfile").write_text("{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + text)
    if os.getuid() == 0:
        os.chown(inside, PROXY, GROUP)
    environment = {**os.environ, "HOME": str(inside), "XDG_DATA_HOME": str(inside),
                   "XDG_CONFIG_HOME": str(inside)}
    caddy = place.start(PROXY, ["caddy", "run", "--config", inside / "Caddyfile"], env=environment,
                        stderr=open(inside / "log", "wb"))
    check_proxy(place, "caddy", 2 << 40)
    place.end(caddy)


def check_prometheus(place):
    inside = place.folder / "prometheus"
    inside.mkdir()
    text = place.adapted((OPERATIONS / "prometheus.yml").read_text())
    (inside / "prometheus.yml").write_text(text.replace("scrape_interval: 15s", "scrape_interval: 1s"))
    shutil.copy(OPERATIONS / "alerts.yml", inside)
    if os.getuid() == 0:
        for path in [inside, *inside.iterdir()]:
            os.chown(path, PROXY, GROUP)
    port = free_port()
    prometheus = place.start(PROXY, ["prometheus", f"--config.file={inside}/prometheus.yml",
                                     f"--storage.tsdb.path={inside}/data",
                                     f"--web.listen-address=127.0.0.1:{port}"],
                             stderr=open(inside / "log", "wb"), cwd=inside)

    def value(query):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            connection.request("GET", f"/api/v1/query?query={query}")
            found = json.loads(connection.getresponse().read())["data"]["result"]
        except (OSError, ValueError, KeyError):
            return None
        return found[0]["value"][1] if found else None

    place.wait("Prometheus reads the metrics", lambda: value("up") == "1")
    place.wait("Prometheus has them", lambda: value("fpstore_ready") == "1")
    place.end(prometheus)
    print("prometheus: it reads the metrics of the unit's server")


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="proxies-") as folder:
        place = Place(program, pathlib.Path(folder))
        try:
            place.serve()
            for name, check in (("nginx", check_nginx), ("caddy", check_caddy),
                                ("prometheus", check_prometheus)):
                if shutil.which(name):
                    check(place)
                else:
                    print(f"{name} is not installed: it was not tried")
        finally:
            place.end()
        subprocess.run([program, "verify", "-s", place.folder / "pages.fps", "--quiet"], check=True)


if __name__ == "__main__":
    main()
