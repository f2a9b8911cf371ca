//! Tests that slow, numerous, disconnected or malicious clients do not prevent `fpstore serve` from
//! answering other clients.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::json;

use crate::common::clustered;
use crate::common::http::{Connection, Server, wait_for};
use crate::common::program::TestDir;
use crate::server::queries::desk_of;

const QUERY: &str = "/v1/query?fingerprint=1";

fn dir() -> TestDir {
    desk_of(&clustered(500, 2))
}

#[test]
fn a_head_that_drips_is_ended_and_an_idle_connection_is_not() {
    let dir = dir();
    let server = Server::start(&dir, &["--header-timeout", "400ms", "--idle-timeout", "1h"]);
    let mut idle = server.connect();
    let mut after_one = server.connect();
    assert_eq!(after_one.ask("GET", QUERY, &[], b"").status, 200);
    let mut slow = server.connect();
    let start = Instant::now();
    slow.stream.write_all(b"GET /healthz HT").unwrap();
    // The timeout for the head of a request does not start again with each byte.
    let mut writer = slow.stream.try_clone().unwrap();
    std::thread::spawn(move || {
        while writer.write_all(b"T").is_ok() {
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    assert!(slow.has_ended());
    assert!(start.elapsed() >= Duration::from_millis(400));
    // The timeout also applies to the second request of a connection.
    let mut again = server.connect();
    assert_eq!(again.ask("GET", QUERY, &[], b"").status, 200);
    again.stream.write_all(b"GET /heal").unwrap();
    assert!(again.has_ended());
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(idle.ask("GET", QUERY, &[], b"").status, 200);
    assert_eq!(after_one.ask("GET", QUERY, &[], b"").status, 200);
}

#[test]
fn a_connection_that_is_idle_for_too_long_is_ended() {
    let dir = dir();
    let server = Server::start(&dir, &["--idle-timeout", "300ms"]);
    assert!(server.connect().has_ended());
    let mut after_one = server.connect();
    assert_eq!(after_one.ask("GET", QUERY, &[], b"").status, 200);
    assert!(after_one.has_ended());
}

#[test]
fn a_body_that_does_not_come_is_refused() {
    let dir = dir();
    let server = Server::start(&dir, &["--body-timeout", "300ms"]);
    let head = "POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let mut slow = server.connect();
    slow.stream.write_all(format!("{head}Content-Length: 100\r\n\r\n{{").as_bytes()).unwrap();
    let answer = slow.answer();
    assert_eq!((answer.status, answer.code().as_str()), (408, "slow-body"));
    assert!(slow.has_ended());
    // The answers to a slow stream end with a line that reports the timeout.
    let mut slow = server.connect();
    let head = head.replace("application/json", "application/x-ndjson");
    slow.stream.write_all(format!("{head}Content-Length: 100\r\n\r\n\"1\"\n").as_bytes()).unwrap();
    let answer = slow.answer();
    let body = String::from_utf8(answer.body).unwrap();
    let lines: Vec<&str> = body.lines().collect();
    assert_eq!(lines.len(), 2, "{body}");
    assert!(lines[1].contains("slow-body"), "{body}");
}

#[test]
fn a_body_over_the_limit_is_answered_though_the_client_writes_first() {
    let dir = dir();
    let server = Server::start(&dir, &["--max-body", "64KiB"]);
    for len in [65537, 400_000, 4_000_000] {
        let mut connection = server.connect();
        let answer = connection.ask(
            "POST",
            "/v1/query",
            &[("Content-Type", "application/json")],
            &vec![b' '; len],
        );
        assert_eq!((answer.status, answer.code().as_str()), (413, "body-over-limit"));
        assert_eq!(answer.header("connection"), Some("close"));
        assert!(connection.has_ended());
    }
    // A client that sends `Expect: 100-continue` gets the error before it sends the body.
    let mut careful = server.connect();
    careful
        .stream
        .write_all(
            b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
              Expect: 100-continue\r\nContent-Length: 99999\r\n\r\n",
        )
        .unwrap();
    assert_eq!(careful.answer().status, 413);
    // The limit also applies to a chunked body, whose length is not announced.
    let mut chunked = server.connect();
    let head = b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                 Transfer-Encoding: chunked\r\n\r\n";
    chunked.stream.write_all(head).unwrap();
    for _ in 0..20 {
        chunked.stream.write_all(format!("1000\r\n{}\r\n", " ".repeat(4096)).as_bytes()).unwrap();
    }
    chunked.stream.write_all(b"0\r\n\r\n").unwrap();
    assert_eq!(chunked.answer().code(), "body-over-limit");
}

#[test]
fn a_coding_of_the_transfer_that_is_not_read_is_refused() {
    let dir = dir();
    let server = Server::start(&dir, &[]);
    for content_type in ["application/json", "application/x-ndjson"] {
        for codings in ["gzip, chunked", "identity, chunked", "Chunked"] {
            let mut connection = server.connect();
            let head = format!(
                "POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content_type}\r\n\
                 Transfer-Encoding: {codings}\r\n\r\n4\r\n\"1\"\n\r\n0\r\n\r\n"
            );
            connection.stream.write_all(head.as_bytes()).unwrap();
            let answer = connection.answer();
            match codings {
                "Chunked" => assert_ne!(answer.status, 501),
                _ => assert_eq!((answer.status, &*answer.code()), (501, "bad-transfer-encoding")),
            }
        }
    }
}

#[test]
fn a_client_that_has_said_all_still_gets_its_answers() {
    let dir = dir();
    let server = Server::start(&dir, &[]);
    let mut half = server.connect();
    half.send("GET", "/v1/query?fingerprint=1&k=64&ids=0&limit=400", &[], b"");
    half.send("POST", "/v1/query", &[("Content-Type", "application/x-ndjson")], b"\"1\"\n\"2\"\n");
    half.send("HEAD", "/readyz", &[], b"");
    half.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(half.answer().json()["matches"].as_array().unwrap().len(), 400);
    assert_eq!(String::from_utf8(half.answer().body).unwrap().lines().count(), 2);
    let rest = half.rest();
    assert!(rest.starts_with("HTTP/1.1 200 OK\r\n") && rest.ends_with("\r\n\r\n"), "{rest}");
}

#[test]
fn a_client_that_reads_no_answers_is_not_read_from_and_is_ended() {
    let dir = dir();
    let server = Server::start(&dir, &["--body-timeout", "1s"]);
    let mut greedy = server.connect();
    greedy.stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    let head = b"POST /v1/query?k=64 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\
                 Content-Type: application/x-ndjson\r\n\r\n";
    greedy.stream.write_all(head).unwrap();
    // Each line of the request has an answer of tens of kilobytes, so the answers fill all buffers.
    let chunk = format!("500\r\n{}\r\n", "\"1\"\n".repeat(320));
    let mut is_ended = false;
    for _ in 0..100_000 {
        if greedy.stream.write_all(chunk.as_bytes()).is_err() {
            is_ended = true;
            break;
        }
    }
    assert!(is_ended);
    let memory = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = memory.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kib < 500_000, "{line}");
    assert_eq!(server.get(QUERY).status, 200);
}

#[test]
fn two_thousand_connections_are_served_and_those_over_the_limit_are_told() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
    let dir = dir();
    let server = Server::start(&dir, &["--max-connections", "2000"]);
    let open = || server.metric("fpstore_open_connections");
    wait_for("the connections so far have ended", || open() <= 1.0);
    let mut connections: Vec<Connection<TcpStream>> = (0..2000).map(|_| server.connect()).collect();
    for connection in &mut connections {
        connection.send("GET", QUERY, &[], b"");
    }
    for connection in &mut connections {
        assert_eq!(connection.answer().status, 200);
    }
    let mut surplus = server.connect();
    let answer = surplus.answer();
    assert_eq!((answer.status, answer.code().as_str()), (503, "busy"));
    assert!(answer.header("retry-after").is_some());
    assert_eq!(answer.json()["error"]["limit"]["name"], "max-connections");
    assert!(surplus.has_ended());
    // Connections accepted before the limit was reached are still served.
    assert_eq!(connections[7].ask("GET", QUERY, &[], b"").status, 200);
    drop(connections);
    wait_for("there is room again", || server.get(QUERY).status == 200);
}

/// Of very many connections beyond the limit, only some get a 503 response, which needs a file
/// descriptor and memory; all are closed.
#[test]
fn of_a_crowd_over_the_limit_some_are_told_and_the_others_are_closed() {
    let dir = dir();
    let server = Server::start(&dir, &["--max-connections", "1"]);
    // The connection with which the test waited for the server may still occupy the only slot.
    let mut first = loop {
        let mut one = server.connect();
        if one.ask("GET", QUERY, &[], b"").status == 200 {
            break one;
        }
    };
    let crowd: Vec<TcpStream> =
        (0..150).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    let mut told = 0;
    for mut stream in crowd {
        // The error is ignored, because a connection that is closed at once can end with a reset.
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        if !answer.is_empty() {
            assert!(answer.starts_with(b"HTTP/1.1 503 "), "{}", String::from_utf8_lossy(&answer));
            told += 1;
        }
    }
    assert!(told >= 64, "{told}");
    let metrics = String::from_utf8(first.ask("GET", "/metrics", &[], b"").body).unwrap();
    let refused =
        metrics.lines().find_map(|it| it.strip_prefix("fpstore_connections_refused_total "));
    assert!(refused.unwrap().parse::<u32>().unwrap() >= 150);
}

/// A single search is not divided into slices, between which the server could stop, so only its
/// deadline ends it.
#[test]
fn one_search_that_takes_too_long_is_ended_by_the_deadline() {
    let dir = desk_of(&clustered(300_000, 5));
    let server = Server::start(&dir, &["--threads", "1", "--deadline", "1ms"]);
    for path in ["/v1/query?fingerprint=1&k=30&ids=0", "/v1/nearest?fingerprint=1&count=1000&ids=0"]
    {
        let answer = server.get(path);
        assert_eq!(answer.status, 200);
        assert_eq!(answer.json()["cut_by"], "deadline", "{path}");
    }
    let answer = server.get("/v1/query?fingerprint=1&k=0");
    assert_eq!((answer.status, &answer.json()["cut"]), (200, &serde_json::Value::Null));
}

/// Sends a request that occupies a search thread for long, and waits until the search runs.
fn search_slowly(server: &Server) -> Connection<TcpStream> {
    let slow = json!({ "fingerprints": vec!["1"; 100_000], "k": 30, "ids": 0, "limit": 1 });
    let searched = || server.metric("fpstore_slow_total");
    let before = searched();
    let mut busy = server.connect();
    busy.send(
        "POST",
        "/v1/query",
        &[("Content-Type", "application/json")],
        slow.to_string().as_bytes(),
    );
    // The request may also be rejected at once, because the slow lane is still full.
    wait_for("it is searched for", || searched() > before || busy.is_answered());
    busy
}

#[test]
fn a_search_that_takes_long_holds_nobody_up_and_its_lane_is_bounded() {
    let dir = desk_of(&clustered(300_000, 5));
    let args = ["--threads", "1", "--queue-timeout", "1ms", "--deadline", "2s"];
    let server = Server::start(&dir, &args);
    let mut answer = None;
    wait_for("one is refused while the other is searched for", || {
        let mut busy = search_slowly(&server);
        // Cheap requests are answered on the thread that reads requests.
        assert_eq!(server.get(QUERY).status, 200);
        // Further expensive requests are rejected, because the slow lane is full, unless they
        // arrive between two slices.
        let mut refused = None;
        while refused.is_none() && !busy.is_answered() {
            let body = json!({ "fingerprints": vec!["1"; 300], "k": 30, "ids": 0, "limit": 1 });
            let answer = server.post_json("/v1/query", &body);
            refused = Some(answer).filter(|answer| answer.status == 503);
        }
        if let Some(refused) = &refused {
            assert_eq!(refused.code(), "busy");
            assert!(refused.header("retry-after").is_some());
        }
        // On a heavily loaded machine the busy request itself may exceed its deadline: try again.
        answer = Some(busy.answer()).filter(|it| refused.is_some() && it.status != 503);
        answer.is_some()
    });
    let answer = answer.unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["answers"][99_999]["cut_by"], "deadline");
}

#[test]
fn the_end_waits_for_what_is_under_way() {
    let dir = desk_of(&clustered(300_000, 5));
    let server = Server::start(&dir, &["--deadline", "1s", "--writable"]);
    let mut busy = search_slowly(&server);
    let mut idle = server.connect();
    let address = server.address.clone();
    let ended = std::thread::spawn(move || server.end());
    assert!(idle.has_ended());
    assert_eq!(busy.answer().status, 200);
    let (status, stderr) = ended.join().unwrap();
    assert_eq!(status.code(), Some(0), "{stderr}");
    assert!(TcpStream::connect(address).is_err());
}

/// The metrics count the lines of all streams, and the open connections.
#[test]
fn an_error_of_a_later_part_of_a_stream_has_the_number_of_its_line() {
    let dir = dir();
    let server = Server::start(&dir, &[]);
    let mut stream = server.connect();
    let head = "POST /v1/query HTTP/1.1\r\nHost: localhost\r\n\
        Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.stream.write_all(head.as_bytes()).unwrap();
    for (number, part) in [(1.0, "4\r\n\"1\"\n\r\n"), (2.0, "4\r\n\"2\"\n\r\n")] {
        stream.stream.write_all(part.as_bytes()).unwrap();
        let answered = || server.metric("fpstore_queries_total") >= number;
        wait_for("the part is answered", answered);
    }
    // Two connections are open: the stream, and the one that requests the metrics.
    let open = server.metric("fpstore_open_connections");
    assert!((2.0..10.0).contains(&open), "{open}");
    stream.stream.write_all(b"9\r\nnonsense\n\r\n0\r\n\r\n").unwrap();
    let answer = stream.answer();
    assert!(answer.header("date").is_some_and(|date| date.ends_with(" GMT")), "{answer:?}");
    let text = String::from_utf8(answer.body).unwrap();
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert!(last["error"]["message"].as_str().unwrap().starts_with("line 3: "), "{text}");
}

/// A server that ends closes an endless stream, after the answers to all lines that it received.
#[test]
fn a_stream_is_told_that_the_server_ends_after_the_answers_to_what_was_sent() {
    let dir = dir();
    let server = Server::start(&dir, &["--drain-timeout", "1m"]);
    let mut stream = server.connect();
    let head = "POST /v1/query HTTP/1.1\r\nHost: localhost\r\n\
        Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.stream.write_all(head.as_bytes()).unwrap();
    let line = |stream: &mut Connection<TcpStream>| {
        stream.stream.write_all(b"4\r\n\"1\"\n\r\n").unwrap();
    };
    line(&mut stream);
    wait_for("the stream is answered", || server.metric("fpstore_queries_total") >= 1.0);
    let mut idle = server.connect();
    assert_eq!(idle.ask("GET", QUERY, &[], b"").status, 200);
    let ended = std::thread::spawn(move || server.end());
    assert!(idle.has_ended());
    line(&mut stream);
    let answer = stream.answer();
    let text = String::from_utf8(answer.body).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[..2].iter().all(|line| line["query"] == "0000000000000001"), "{text}");
    let message = lines[2]["error"]["message"].as_str().unwrap();
    assert_eq!(message, "the server is shutting down; send the remaining lines again");
    let (status, stderr) = ended.join().unwrap();
    assert_eq!(status.code(), Some(0), "{stderr}");
}

#[test]
fn a_unix_socket_is_for_its_owner_and_is_removed() {
    let dir = dir();
    let path = dir.path("near.sock");
    let listen = format!("unix:{}", path.display());
    let server = Server::begin(&dir, &["--listen", &listen]);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let mut connection = Connection::new(UnixStream::connect(&path).unwrap());
    assert_eq!(connection.ask("GET", QUERY, &[], b"").status, 200);
    let (_, err) = dir.run(&["serve", "-s", "store.fps", "--listen", &listen], 2);
    assert!(err.contains("another process listens there"), "{err}");
    // The second server failed to start, and did not remove the socket of the first.
    let mut later = Connection::new(UnixStream::connect(&path).unwrap());
    assert_eq!(later.ask("GET", QUERY, &[], b"").status, 200);
    let (status, _) = server.end();
    assert_eq!(status.code(), Some(0));
    assert!(!path.exists());
    // A server that ends does not remove a newer socket of another server with the same name.
    let first = Server::begin(&dir, &["--listen", &listen]);
    std::fs::remove_file(&path).unwrap();
    let second = Server::begin(&dir, &["--listen", &listen]);
    assert_eq!(first.end().0.code(), Some(0));
    let mut later = Connection::new(UnixStream::connect(&path).unwrap());
    assert_eq!(later.ask("GET", QUERY, &[], b"").status, 200);
    assert_eq!(second.end().0.code(), Some(0));
    assert!(!path.exists());
    // A server replaces the leftover socket of a killed server, but no file of another kind.
    Server::begin(&dir, &["--listen", &listen, "--socket-mode", "660"]).kill();
    let server = Server::begin(&dir, &["--listen", &listen, "--socket-mode", "660"]);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o660);
    drop(server);
    std::fs::remove_file(&path).unwrap();
    dir.write("near.sock", "precious");
    let (_, err) = dir.run(&["serve", "-s", "store.fps", "--listen", &listen], 2);
    assert!(err.contains("is not a socket"), "{err}");
    assert_eq!(dir.read("near.sock"), "precious");
}

/// Unfinished bodies of all clients together are limited, so that they cannot exhaust the memory.
#[test]
fn bodies_of_all_requests_share_a_budget() {
    let dir = desk_of(&clustered(50, 1));
    // A long --body-timeout, so that the unfinished body does not time out on a slow machine.
    let args = ["--max-body", "1MiB", "--max-bodies", "1MiB", "--body-timeout", "1h"];
    let server = Server::start(&dir, &args);
    let body = format!("{{\"fingerprint\":\"1\"{}}}", " ".repeat(700_000));
    let mut slow = server.connect();
    let head = format!(
        "POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    slow.stream.write_all(head.as_bytes()).unwrap();
    slow.stream.write_all(&body.as_bytes()[..600_000]).unwrap();
    let kind = "application/json";
    wait_for("the part is there", || server.metric("fpstore_body_bytes") >= 600_000.0);
    let refused = server.post("/v1/query", kind, &body);
    assert_eq!(refused.code(), "bodies-over-limit");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(server.post("/v1/query", kind, "{\"fingerprint\":\"1\"}").status, 200);
    // The limit also applies to an unfinished line of a stream.
    let stream = server.post("/v1/query", "application/x-ndjson", &body);
    assert_eq!(stream.code(), "bodies-over-limit");
    slow.stream.write_all(&body.as_bytes()[600_000..]).unwrap();
    assert_eq!(slow.answer().status, 200);
    assert_eq!(server.post("/v1/query", kind, &body).status, 200);
}

/// Unread answers count in the same limit, so that they cannot exhaust the memory either.
#[test]
fn long_answers_that_nobody_reads_share_the_budget_of_bodies() {
    let dir = desk_of(&clustered(1000, 1));
    let args = ["--max-bodies", "1MiB", "--max-body", "1MiB", "--body-timeout", "1h", "--threads"];
    let server = Server::start(&dir, &[&args[..], &["2"]].concat());
    // The answer is longer than the socket buffers of the system.
    let body = json!({ "fingerprints": vec!["1"; 1000], "k": 64 }).to_string();
    let kind = [("Content-Type", "application/json")];
    let mut deaf = server.connect();
    deaf.send("POST", "/v1/query", &kind, body.as_bytes());
    wait_for("its answer is held", || server.metric("fpstore_body_bytes") > 2e6);
    let refused = server.post("/v1/query", kind[0].1, &body);
    assert_eq!((refused.status, refused.code().as_str()), (503, "bodies-over-limit"));
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(server.get(QUERY).status, 200, "short answers need no room");
    let answer = deaf.answer();
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["answers"].as_array().unwrap().len(), 1000);
    wait_for("it is given back", || server.metric("fpstore_body_bytes") == 0.0);
    assert_eq!(server.post("/v1/query", kind[0].1, &body).status, 200);
}

/// At the limit of open files the server accepts no connections. On Linux the clients get no
/// errors, because the system completes connections before the server accepts them.
#[cfg(target_os = "linux")]
#[test]
fn a_server_without_files_to_open_says_so_once_and_recovers() {
    const FILES: usize = 64;
    let dir = dir();
    let script = format!("ulimit -n {FILES}; exec \"$0\" serve -s store.fps --listen unix:s.sock");
    let mut child = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_fpstore")])
        .current_dir(dir.path("."))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let ask = || Connection::new(UnixStream::connect(dir.path("s.sock")).unwrap());
    wait_for("it listens", || UnixStream::connect(dir.path("s.sock")).is_ok());
    wait_for("it is ready", || ask().ask("GET", "/readyz", &[], b"").status == 200);
    let idle: Vec<UnixStream> =
        (0..FILES).map(|_| UnixStream::connect(dir.path("s.sock")).unwrap()).collect();
    let line = lines.find(|line| line.contains("cannot accept")).unwrap();
    assert!(line.contains("'ulimit -n NUMBER' allows more"), "{line}");
    // The wording of glibc, and of musl.
    let said = ["Too many open files", "No file descriptors available"];
    assert!(said.iter().any(|of| line.contains(of)) && !line.contains("uncategorized"), "{line}");
    drop(idle);
    // The next message, so the failure was reported only once.
    assert!(lines.next().unwrap().ends_with("connections are accepted again"));
    let metrics = ask().ask("GET", "/metrics", &[], b"").body;
    let metrics = String::from_utf8(metrics).unwrap();
    let failures =
        metrics.lines().find_map(|line| line.strip_prefix("fpstore_accept_failures_total "));
    assert!(failures.unwrap().parse::<u64>().unwrap() >= 1);
    assert_eq!(ask().ask("GET", QUERY, &[], b"").status, 200);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_full_server_is_alive() {
    let dir = dir();
    let server = Server::start(&dir, &["--max-connections", "2"]);
    // Tries again, because a closed connection may still count for a while.
    let hold = || loop {
        let mut one = server.connect();
        if one.ask("GET", QUERY, &[], b"").status == 200 {
            break one;
        }
    };
    let mut held = vec![hold(), hold()];
    assert_eq!(server.get("/readyz").code(), "busy");
    let alive = server.get("/healthz");
    assert_eq!((alive.status, alive.json()["alive"].as_bool()), (200, Some(true)));
    assert_eq!(server.get(QUERY).code(), "busy");
    held.clear();
    wait_for("there is room again", || server.get(QUERY).status == 200);
}

/// The server does not store values of unknown fields, and counts lists before it parses them.
#[test]
fn wrong_bodies_take_little_more_than_their_length() {
    let dir = dir();
    let server = Server::start(&dir, &["--writable"]);
    let zeros = |head: &str, one: &str, tail: &str| {
        let count = (15 << 20) / (one.len() + 1);
        format!("{head}{}{tail}", vec![one; count].join(","))
    };
    for (path, kind, body, code) in [
        ("/v1/query", "application/json", zeros("{\"x\":[", "0", "]}"), "bad-json"),
        (
            "/v1/query",
            "application/json",
            zeros("{\"fingerprints\":[", "\"0\"", "]}"),
            "batch-over-limit",
        ),
        ("/v1/nearest", "application/json", zeros("{\"k\":[", "[]", "]}"), "bad-json"),
        (
            "/v1/check-and-add",
            "application/json",
            zeros("{\"items\":[", "{}", "]}"),
            "items-over-limit",
        ),
        ("/v1/import", "application/json", zeros("{\"from\":[", "\"\"", "]}"), "items-over-limit"),
        ("/v1/query", "application/x-ndjson", zeros("{\"x\":[", "0", "]}\n"), "bad-json"),
    ] {
        let answer = server.post(path, kind, &body);
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(text.contains(code), "{path} {kind}: {text}");
    }
    let memory = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = memory.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    // The peak is the memory for one body, and freed memory that the allocator keeps.
    assert!(kib < 150_000, "{line}");
    // A long list of valid values is not rejected.
    let many: Vec<String> = (0..20_000).map(|value| format!("{value:016x}")).collect();
    let answer = server.post_json("/v1/query", &json!({ "fingerprints": many, "k": 0 }));
    assert_eq!(answer.json()["answers"].as_array().unwrap().len(), 20_000);
}
