//! Tests what operators of a server use: metrics of routes and of the process, the access log, and
//! the delay before a server ends.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::http::{Connection, Server, wait_for};
use crate::common::program::signal;
use crate::common::{clustered, root};
use crate::server::queries::desk_of;

#[test]
fn times_are_counted_by_route_and_the_process_is_described() {
    let dir = desk_of(&clustered(50, 1));
    let server = Server::start(&dir, &[]);
    let before = server.get("/metrics");
    let text = String::from_utf8(before.body).unwrap();
    assert!(!text.contains("route=\"/v1/query\""), "a route that nobody asked has no times");
    for _ in 0..3 {
        server.get("/v1/query?fingerprint=1");
    }
    let text = String::from_utf8(server.get("/metrics").body).unwrap();
    let labels = "method=\"GET\",route=\"/v1/query\"";
    assert!(text.contains(&format!("fpstore_request_seconds_count{{{labels}}} 3\n")), "{text}");
    let last = format!("fpstore_request_seconds_bucket{{{labels},le=\"+Inf\"}} 3\n");
    assert!(text.contains(&last), "{text}");
    let version = format!("fpstore_build_info{{version=\"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&version), "{text}");
    let info = server.get("/v1/info").json();
    assert_eq!(info["version"], env!("CARGO_PKG_VERSION"));
    let formats = fpstore::FORMAT_VERSIONS;
    assert_eq!(info["format_versions"], serde_json::json!([formats.start(), formats.end()]));
    assert_eq!(info["store"]["segments"][0]["format_version"], *formats.start());
    assert!(server.metric("process_resident_memory_bytes") > 1e6);
    assert!(server.metric("process_start_time_seconds") > 1e9);
    // The type of each metric is declared once, before its values.
    let families: Vec<&str> = text.lines().filter(|line| line.starts_with("# TYPE ")).collect();
    let mut distinct = families.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), families.len());
}

#[test]
fn each_request_is_a_line_of_the_access_log() {
    let dir = desk_of(&clustered(50, 1));
    let log = std::fs::File::create(dir.path("access.log")).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_fpstore"))
        .args(["serve", "-s", "store.fps", "--listen", "unix:log.sock", "--access-log"])
        .current_dir(dir.path("."))
        .stdout(Stdio::from(log))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let socket = dir.path("log.sock");
    wait_for("it listens", || std::os::unix::net::UnixStream::connect(&socket).is_ok());
    let stream = std::os::unix::net::UnixStream::connect(&socket).unwrap();
    let mut connection = Connection::new(stream);
    let named = [("X-Request-Id", "mine-1")];
    let answer = connection.ask("GET", "/v1/query?fingerprint=1&k=3", &named, b"");
    assert_eq!(answer.header("x-request-id"), Some("mine-1"));
    let len = answer.body.len();
    let bad = [("X-Request-Id", "two words")];
    let refused = connection.ask("GET", "/v1/query?fingerprint=zz", &bad, b"");
    let given = refused.header("x-request-id").unwrap().to_string();
    assert!(given.len() > 16 && !given.contains(' '), "{given}");
    let written = || std::fs::read_to_string(dir.path("access.log")).unwrap();
    wait_for("both lines are written", || written().lines().count() == 2);
    let _ = child.kill();
    let _ = child.wait();
    let log = written();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [first, second] = lines.as_slice() else { panic!("{log}") };
    assert_eq!((&first["request_id"], &first["status"]), (&"mine-1".into(), &200.into()));
    assert_eq!((&first["method"], &first["path"]), (&"GET".into(), &"/v1/query".into()));
    assert_eq!(first["bytes"], len);
    assert!(first["code"].is_null() && first["client"].is_null());
    let time = first["time"].as_str().unwrap();
    assert!(time.starts_with("20") && time.ends_with('Z'), "{time}");
    assert_eq!((&second["request_id"], &second["status"]), (&given.into(), &400.into()));
    assert_eq!(second["code"], "bad-fingerprint");
}

/// Makes requests until the log has more lines than fit into a pipe and the queue of the server.
fn fill_log(connection: &mut Connection<TcpStream>, lines: usize) {
    let path = format!("/{}", "x".repeat(16_000));
    for _ in 0..lines {
        assert_eq!(connection.ask("GET", &path, &[], b"").status, 404);
    }
}

#[test]
fn a_log_that_nobody_reads_stops_no_request() {
    let dir = desk_of(&clustered(50, 1));
    // The test does not read the access log, and the server must not wait for the reader.
    let mut child = dir
        .command(&["serve", "-s", "store.fps", "--listen", "127.0.0.1:0", "--access-log"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let address = line.trim().rsplit_once("http://").unwrap().1;
    let mut connection = Connection::new(TcpStream::connect(address).unwrap());
    fill_log(&mut connection, 800);
    assert_eq!(connection.ask("GET", "/healthz", &[], b"").status, 200);
    let text = String::from_utf8(connection.ask("GET", "/metrics", &[], b"").body).unwrap();
    let lost = text.lines().find_map(|line| line.strip_prefix("fpstore_access_log_lost_total "));
    assert!(lost.unwrap().parse::<u64>().unwrap() > 0, "{text}");
    line.clear();
    stderr.read_line(&mut line).unwrap();
    assert!(line.contains("access log: lines are lost"), "{line}");
    // When the test reads the output, it gets all lines that were not dropped.
    let stdout = child.stdout.take().unwrap();
    let lines = BufReader::new(stdout).lines().take(100);
    assert!(lines.map(|line| line.unwrap()).all(|line| line.contains("\"status\":404")));
    signal(&child, "KILL");
    child.wait().unwrap();
}

#[test]
fn a_full_device_under_the_access_log_is_told_once() {
    let dir = desk_of(&clustered(50, 1));
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let serve = ["serve", "-s", "store.fps", "--listen", "127.0.0.1:0", "--access-log"];
    let mut child = dir.command(&serve).stdout(Stdio::from(full)).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let address = line.trim().rsplit_once("http://").unwrap().1;
    let mut connection = Connection::new(TcpStream::connect(address).unwrap());
    fill_log(&mut connection, 5);
    wait_for("the lines are counted", || {
        let text = connection.ask("GET", "/metrics", &[], b"").body;
        let text = String::from_utf8(text).unwrap();
        let lost = text.lines().find_map(|it| it.strip_prefix("fpstore_access_log_lost_total "));
        lost.unwrap().parse::<u64>().unwrap() >= 5
    });
    signal(&child, "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut told = String::new();
    stderr.read_to_string(&mut told).unwrap();
    assert_eq!(told.matches("access log: lines are lost").count(), 1, "{told}");
}

#[test]
fn the_client_in_the_log_is_the_one_that_the_proxy_names() {
    let dir = desk_of(&clustered(50, 1));
    let log = std::fs::File::create(dir.path("access.log")).unwrap();
    let serve = ["serve", "-s", "store.fps", "--listen", "127.0.0.1:0", "--access-log"];
    let mut child = dir
        .command(&[&serve[..], &["--behind-proxy"]].concat())
        .stdout(Stdio::from(log))
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().rsplit_once("http://").unwrap().1;
    let mut connection = Connection::new(TcpStream::connect(address).unwrap());
    // The proxy added only the last address; the client can have sent the other ones itself.
    let forwarded = [("X-Forwarded-For", "127.0.0.1, 198.51.100.7, 2001:db8::7")];
    assert_eq!(connection.ask("GET", "/healthz", &forwarded, b"").status, 200);
    assert_eq!(connection.ask("GET", "/healthz", &[], b"").status, 200);
    let written = || std::fs::read_to_string(dir.path("access.log")).unwrap();
    wait_for("the lines are written", || written().lines().count() == 2);
    let log = written();
    assert!(log.lines().next().unwrap().contains("\"client\":\"2001:db8::7\""), "{log}");
    assert!(log.lines().nth(1).unwrap().contains("\"client\":null"), "{log}");
    signal(&child, "KILL");
    child.wait().unwrap();
}

#[test]
fn metrics_have_a_listener_of_their_own_without_tokens() {
    let dir = desk_of(&clustered(50, 1));
    dir.write("token", "t".repeat(20));
    let rights = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(dir.path("token"), rights).unwrap();
    let serve = ["serve", "-s", "store.fps", "--listen", "127.0.0.1:0", "--token-file", "token"];
    let limits = ["--metrics-listen", "unix:metrics.sock", "--max-connections", "1"];
    let server = Server::begin_as(&dir, &[&serve[..], &limits].concat());
    let _only = server.connect();
    wait_for("the only place is taken", || server.get("/readyz").status == 503);
    let ask = |path: &str| {
        let stream = std::os::unix::net::UnixStream::connect(dir.path("metrics.sock")).unwrap();
        // At this address any `Host` is accepted, such as the name by which Prometheus knows the
        // machine.
        Connection::new(stream).ask("GET", path, &[("Host", "fps.example")], b"")
    };
    let metrics = String::from_utf8(ask("/metrics").body).unwrap();
    assert!(metrics.contains("fpstore_ready "), "{metrics}");
    assert_eq!(ask("/healthz").status, 200);
    wait_for("it is ready", || ask("/readyz").status == 200);
    for path in ["/v1/query?fingerprint=1", "/v1/info", "/v1/files/MANIFEST", "/"] {
        let refused = ask(path);
        assert_eq!((refused.status, refused.code().as_str()), (404, "not-found"), "{path}");
    }
    assert_eq!(server.end().0.code(), Some(0));
    assert!(!dir.path("metrics.sock").exists());
}

#[test]
fn a_draining_server_says_so_and_goes_on_to_answer() {
    let dir = desk_of(&clustered(50, 1));
    let server = Server::start(&dir, &["--drain-delay", "1h"]);
    let mut connection = server.connect();
    server.signal("TERM");
    wait_for("it says so", || server.get("/readyz").status == 503);
    assert_eq!(server.get("/readyz").json()["error"]["code"], "draining");
    assert_eq!(connection.ask("GET", "/v1/query?fingerprint=1", &[], b"").status, 200);
    assert_eq!(server.get("/v1/query?fingerprint=1").status, 200, "new connections, too");
    server.signal("TERM");
    assert_eq!(server.wait().0.code(), Some(130));
    let server = Server::start(&dir, &["--drain-delay", "1ms"]);
    assert_eq!(server.end().0.code(), Some(0));
}

/// Queries detect a damaged page only when they read it; a scrub, which reads the whole store,
/// detects it earlier.
#[test]
fn a_scrub_counts_what_it_reads_and_finds_damage_that_no_query_met() {
    let dir = desk_of(&clustered(5000, 2));
    let server = Server::start(&dir, &["--scrub-every", "1ms", "--scrub-rate", "1GB/s"]);
    wait_for("a pass is done", || server.metric("fpstore_scrub_passes_total") >= 1.0);
    assert_eq!(server.metric("fpstore_scrub_faults"), 0.0);
    assert!(server.metric("fpstore_scrub_last_pass_timestamp_seconds") > 1e9);
    assert!(server.metric("fpstore_scrub_pages_total") >= 10.0);
    let read = server.metric("fpstore_scrub_bytes_total");
    assert!(read >= server.metric("fpstore_store_bytes"), "{read}");
    assert!(server.get("/readyz").json()["scrub"].is_null());

    let segment = dir.path("store.fps/segment-0000000000000001.fps");
    let mut bytes = std::fs::read(&segment).unwrap();
    let sound = bytes.clone();
    let place = bytes.len() / 2;
    bytes[place] ^= 1;
    let put = |bytes: &[u8]| {
        // Changes the file in place, like disk damage: the server has mapped it.
        let mut rights = std::fs::metadata(&segment).unwrap().permissions();
        rights.set_mode(0o600);
        std::fs::set_permissions(&segment, rights).unwrap();
        let file = std::fs::File::options().write(true).open(&segment).unwrap();
        file.write_all_at(&bytes[place..=place], place as u64).unwrap();
    };
    put(&bytes);
    wait_for("the damage is found", || server.metric("fpstore_scrub_faults") >= 1.0);
    let ready = server.get("/readyz");
    assert_eq!(ready.status, 200, "all answers are right as before");
    let found = ready.json();
    assert!(found["scrub"]["message"].as_str().unwrap().contains("is corrupt at byte"), "{found}");
    put(&sound);
    wait_for("it is mended", || server.metric("fpstore_scrub_faults") == 0.0);
    assert!(server.get("/readyz").json()["scrub"].is_null());
    let (status, log) = server.end();
    assert_eq!(status.code(), Some(0));
    assert!(log.contains("scrub: ") && log.contains("'fpstore verify -s store.fps'"), "{log}");
}

#[test]
fn a_slow_scrub_does_not_hold_up_the_end() {
    let dir = desk_of(&clustered(5000, 2));
    let server = Server::start(&dir, &["--scrub-every", "1h", "--scrub-rate", "100kB/s"]);
    wait_for("it reads", || server.metric("fpstore_scrub_bytes_total") > 0.0);
    assert_eq!(server.metric("fpstore_scrub_passes_total"), 0.0);
    assert_eq!(server.end().0.code(), Some(0));
}

/// With a misspelt metric, an alert would silently never fire.
#[test]
fn the_shipped_alerts_and_the_dashboard_ask_for_metrics_that_exist() {
    let dir = desk_of(&clustered(50, 1));
    let server = Server::start(&dir, &["--writable"]);
    server.get("/v1/query?fingerprint=1");
    let metrics = String::from_utf8(server.get("/metrics").body).unwrap();
    let metrics = metrics + &String::from_utf8(server.get("/metrics").body).unwrap();
    let url = format!("http://{}", server.address);
    let follow = ["serve", "-s", "copy.fps", "--follow", &url, "--listen", "127.0.0.1:0"];
    let follower = Server::begin_as(&dir, &follow);
    follower.wait_until_ready();
    let metrics = metrics + &String::from_utf8(follower.get("/metrics").body).unwrap();
    let names: BTreeSet<&str> = metrics
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(['{', ' ']).next().unwrap())
        .collect();
    let mut seen = 0;
    for file in ["alerts.yml", "alerts_test.yml", "dashboard.json"] {
        let path = root().join("tools/operations").join(file);
        let text = std::fs::read_to_string(path).unwrap();
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for name in words.filter(|it| it.starts_with("fpstore_") || it.starts_with("process_")) {
            assert!(names.contains(name), "{file}: {name}");
            seen += 1;
        }
    }
    assert!(seen > 30);
}
