//! Tests that the server follows changes of its store, reports its health, and authenticates
//! clients.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use fpstore::info::SectionInfo;
use fpstore::{Section, Store};
use serde_json::json;

use crate::common::clustered;
use crate::common::http::{Server, wait_for};
use crate::common::program::{TestDir, names_in};
use crate::server::queries::desk_of;

const MARK: &str = "ffff00000000ffff\tmark\n";
const MARKED: &str = "/v1/query?fingerprint=ffff00000000ffff&k=0";

fn dir() -> TestDir {
    desk_of(&clustered(2000, 3))
}

fn add_mark(dir: &TestDir) {
    dir.run_on(&["add", "-", "-s", "store.fps", "-q"], MARK, 0);
}

fn shows_mark(server: &Server) -> bool {
    server.get(MARKED).json()["matches"][0]["ids"] == json!(["mark"])
}

#[test]
fn a_newer_state_is_shown_by_time_by_signal_and_by_request() {
    let dir = dir();
    let by_time = Server::start(&dir, &["--refresh-every", "50ms"]);
    let by_signal = Server::start(&dir, &["--refresh-every", "10h"]);
    let by_request = Server::start(&dir, &["--refresh-every", "10h", "--warm", "hot"]);
    let never = Server::start(&dir, &["--refresh-every", "10h", "--warm", "none"]);
    add_mark(&dir);
    wait_for("the interval has passed", || shows_mark(&by_time));
    assert!(!shows_mark(&by_signal) && !shows_mark(&by_request));
    by_signal.signal("HUP");
    wait_for("the signal was heeded", || shows_mark(&by_signal));
    let answer = by_request.post("/v1/refresh", "text/plain", "").json();
    assert_eq!(answer["changed"], true);
    assert!(shows_mark(&by_request));
    let again = by_request.post("/v1/refresh", "text/plain", "").json();
    assert_eq!((&again["changed"], &again["generation"]), (&json!(false), &answer["generation"]));
    assert!(!shows_mark(&never));
    // If another store replaces the served one, the server serves it.
    dir.run_on(&["build", "-", "-s", "store.fps", "-q", "--force"], "0000000000000007\tother\n", 0);
    wait_for("the other store is shown", || {
        by_time.get("/v1/nearest?fingerprint=0").json()["matches"][0]["ids"] == json!(["other"])
    });
}

#[test]
fn a_vanished_or_damaged_store_keeps_its_state_and_readiness_says_so() {
    for is_damage in [false, true] {
        let dir = dir();
        let args = ["--refresh-every", "30ms", "--stale-after", "1ms"];
        let server = Server::start(&dir, &args);
        let patient = Server::start(&dir, &["--refresh-every", "30ms"]);
        let before = server.get("/v1/query?fingerprint=1&k=20").json();
        let manifest = fs::read(dir.path("store.fps/MANIFEST")).unwrap();
        if is_damage {
            let mut bytes = manifest.clone();
            bytes[40] ^= 1;
            fs::remove_file(dir.path("store.fps/MANIFEST")).unwrap();
            fs::write(dir.path("store.fps/MANIFEST"), bytes).unwrap();
        } else {
            fs::rename(dir.path("store.fps"), dir.path("away.fps")).unwrap();
        }
        wait_for("readiness says so", || server.get("/readyz").status == 503);
        let ready = server.get("/readyz").json();
        assert_eq!(ready["error"]["code"], "refresh-failing", "{ready}");
        assert_eq!(server.get("/healthz").status, 200);
        assert_eq!(server.get("/v1/query?fingerprint=1&k=20").json(), before);
        let refused = server.post("/v1/refresh", "text/plain", "");
        assert_eq!((refused.status, refused.code().as_str()), (503, "refresh-failed"));
        assert!(server.metric("fpstore_refresh_failures_total") > 0.0);
        wait_for("a patient one mentions it", || {
            patient.get("/readyz").json()["refresh"]["message"].is_string()
        });
        assert_eq!(patient.get("/readyz").status, 200);
        // When the store is valid again, the server recovers without a restart.
        if is_damage {
            fs::write(dir.path("store.fps/MANIFEST"), manifest).unwrap();
        } else {
            fs::rename(dir.path("away.fps"), dir.path("store.fps")).unwrap();
        }
        wait_for("it is ready again", || server.get("/readyz").status == 200);
        let (status, stderr) = server.end();
        assert_eq!(status.code(), Some(0));
        assert!(stderr.contains("the earlier snapshot is still served"), "{stderr}");
        assert!(stderr.contains("can be read again"), "{stderr}");
    }
}

#[test]
fn damage_that_a_search_or_the_warming_meets_is_an_error_and_readiness_says_so() {
    let dir = dir();
    let info = Store::open(dir.path("store.fps")).unwrap().info();
    let segment = &info.segments[0];
    let is_heads = |place: &&SectionInfo| matches!(place.section, Section::Heads(_));
    let heads = segment.sections.iter().find(is_heads).unwrap();
    let segment = &segment.path;
    let mut bytes = fs::read(segment).unwrap();
    bytes[heads.offset as usize..][..heads.len as usize].iter_mut().for_each(|byte| *byte ^= 0x55);
    fs::remove_file(segment).unwrap();
    fs::write(segment, bytes).unwrap();
    let args = ["--listen", "127.0.0.1:0", "--warm"];
    let cold = Server::begin(&dir, &[&args[..], &["none"]].concat());
    cold.wait_until_ready();
    let answer = cold.get("/v1/query?fingerprint=1&k=30");
    assert_eq!((answer.status, answer.code().as_str()), (500, "store-damaged"), "{answer:?}");
    assert_eq!(cold.get("/readyz").json()["error"]["code"], "store-damaged");
    let warm = Server::begin(&dir, &[&args[..], &["all"]].concat());
    wait_for("the damage is met", || {
        warm.get("/readyz").json()["error"]["code"] == "store-damaged"
    });
}

/// If a request of any route reads a damaged page, /readyz reports the damage.
#[test]
fn damage_that_a_look_up_meets_is_told_by_readiness() {
    let dir = dir();
    let segment = Store::open(dir.path("store.fps")).unwrap().info().segments[0].clone();
    let records = segment.sections.iter().find(|of| of.section.to_string() == "id records");
    let (offset, len) = records.map(|of| (of.offset as usize, of.len as usize)).unwrap();
    let mut bytes = fs::read(&segment.path).unwrap();
    bytes[offset..][..len].iter_mut().for_each(|byte| *byte ^= 0x55);
    fs::remove_file(&segment.path).unwrap();
    fs::write(&segment.path, bytes).unwrap();
    let server = Server::begin(&dir, &["--listen", "127.0.0.1:0", "--warm", "none"]);
    server.wait_until_ready();
    assert_eq!(server.get("/v1/ids?id=7").code(), "store-damaged");
    assert_eq!(server.get("/readyz").code(), "store-damaged");
}

/// A newer snapshot with the damaged file is not ready either; a snapshot without the file is
/// ready.
#[test]
fn a_server_is_ready_again_once_the_damaged_file_is_in_use_no_more() {
    let dir = dir();
    let segment = Store::open(dir.path("store.fps")).unwrap().info().segments[0].clone();
    let of_second = |place: &&SectionInfo| place.section.to_string() == "heads of table 1";
    let heads = segment.sections.iter().find(of_second).unwrap();
    let mut bytes = fs::read(&segment.path).unwrap();
    bytes[heads.offset as usize..][..heads.len as usize].iter_mut().for_each(|byte| *byte ^= 0x55);
    fs::remove_file(&segment.path).unwrap();
    fs::write(&segment.path, bytes).unwrap();
    let server = Server::begin(&dir, &["--listen", "127.0.0.1:0", "--warm", "all"]);
    let code = || server.get("/readyz").json()["error"]["code"].clone();
    wait_for("the damage is met", || code() == "store-damaged");
    dir.ok(&["add", "-", "-s", "store.fps", "--no-compact", "-q"], "0000000000000077\tmore\n");
    // The new snapshot is not served, because reading it into memory meets the damage.
    assert!(server.post("/v1/refresh", "", "").status >= 500);
    assert_eq!(code(), "store-damaged");
    dir.ok(&["compact", "--rewrite", "-s", "store.fps", "-q"], "");
    assert_eq!(server.post("/v1/refresh", "", "").json()["changed"], true);
    assert_eq!(server.get("/readyz").status, 200);
}

#[test]
fn tokens_guard_reading_and_writing_apart() {
    let dir = dir();
    let (reader, writer) = ("r".repeat(20), "w".repeat(20));
    secret(&dir, "read", &format!("# for reading\n\n{reader}\n"));
    secret(&dir, "write", &writer);
    let args = ["--writable", "--token-file", "read", "--write-token-file", "write"];
    let server = Server::begin(&dir, &[&["--listen", "0.0.0.0:0"], &args[..]].concat());
    server.wait_until_ready();
    let ask = |method: &str, path: &str, token: &str, body: &str| {
        let bearer = format!("Bearer {token}");
        let headers: &[(&str, &str)] =
            &[("Authorization", &bearer), ("Content-Type", "application/json")];
        let headers = if token.is_empty() { &headers[1..] } else { headers };
        server.connect().ask(method, path, headers, body.as_bytes()).status
    };
    let read = [
        ("GET", "/v1/query?fingerprint=1", ""),
        ("POST", "/v1/query", "{\"fingerprint\":\"1\"}"),
        ("GET", "/v1/nearest?fingerprint=1", ""),
        ("GET", "/v1/info", ""),
        ("GET", "/metrics", ""),
        ("POST", "/v1/refresh", ""),
    ];
    for (method, path, body) in read {
        assert_eq!(ask(method, path, "", body), 401, "{path}");
        assert_eq!(ask(method, path, &"x".repeat(20), body), 401, "{path}");
        assert_eq!(ask(method, path, &reader, body), 200, "{path}");
        assert_eq!(ask(method, path, &writer, body), 200, "{path}");
    }
    for (method, path, body) in
        [("POST", "/v1/check-and-add", "{\"items\":[]}"), ("DELETE", "/v1/ids", "{\"ids\":[]}")]
    {
        assert_eq!(ask(method, path, "", body), 401, "{path}");
        assert_eq!(ask(method, path, &reader, body), 403, "{path}");
        assert_eq!(ask(method, path, &writer, body), 200, "{path}");
    }
    for path in ["/", "/page.css", "/page.js", "/healthz", "/readyz", "/openapi.json"] {
        assert_eq!(ask("GET", path, "", ""), 200, "{path}");
    }
    let refused = server.get("/v1/info");
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
}

#[test]
fn other_machines_are_let_in_with_tokens_alone() {
    let dir = dir();
    secret(&dir, "token", &"t".repeat(16));
    secret(&dir, "short", "secret");
    secret(&dir, "none", "# nothing\n");
    dir.write("open", "t".repeat(16));
    fs::set_permissions(dir.path("open"), fs::Permissions::from_mode(0o644)).unwrap();
    for (args, part) in [
        (&["--listen", "0.0.0.0:0"][..], "--token-file"),
        (&["--listen", "[::]:0"], "--token-file"),
        (&["--listen", "0.0.0.0:0", "--writable", "--token-file", "token"], "--write-token-file"),
        (&["--listen", "0.0.0.0:0", "--writable", "--write-token-file", "token"], "--token-file"),
        (&["--writable", "--token-file", "token"], "--write-token-file"),
        (&["--write-token-file", "token"], "--writable"),
        (&["--token-file", "short"], "line 1 is not a token"),
        (&["--token-file", "none"], "contains no token"),
        (&["--token-file", "missing"], "cannot read missing"),
        (&["--token-file", "open"], "chmod o-rwx open"),
        // --no-auth allows reading without a token, but not writing.
        (&["--listen", "0.0.0.0:0", "--writable", "--no-auth"], "--anyone-may-write"),
        (&["--listen", "0.0.0.0:0", "--writable", "--no-auth"], "--write-token-file"),
        (&["--listen", "0.0.0.0:0", "--writable", "--anyone-may-write"], "--token-file"),
        (&["--anyone-may-write"], "--writable"),
        (&["--listen", "7700"], "expected ADDRESS:PORT"),
        (&["--label", "x"], "--writable"),
        (&["--wait"], "--writable"),
        (&["--link", "https://example.org"], "{id}"),
        (&["--deadline", "0s"], "expected a time above 0"),
    ] {
        let output = dir.output(&[&["serve", "-s", "store.fps"], args].concat(), "");
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {err}");
        assert!(err.contains(part), "{args:?}: {err}");
    }
    let (_, err) = dir.run(&["serve", "-s", "nothing.fps", "--listen", "127.0.0.1:0"], 2);
    assert!(err.contains("nothing.fps"), "{err}");
    let open = Server::begin(&dir, &["--listen", "0.0.0.0:0", "--no-auth"]);
    assert_eq!(open.get("/v1/query?fingerprint=1").status, 200);
    let args = ["--listen", "0.0.0.0:0", "--no-auth", "--writable", "--anyone-may-write"];
    let open = Server::begin(&dir, &args);
    assert_eq!(open.post_json("/v1/check-and-add", &json!({ "items": [] })).status, 200);
}

/// Writes a file of tokens that only its owner and group can read.
fn secret(dir: &TestDir, name: &str, text: &str) {
    dir.write(name, text);
    fs::set_permissions(dir.path(name), fs::Permissions::from_mode(0o640)).unwrap();
}

#[test]
fn a_hang_up_has_tokens_read_again_and_keeps_the_old_ones_if_the_files_are_bad() {
    let dir = dir();
    let [old, new] = ["o", "n"].map(|letter| letter.repeat(20));
    secret(&dir, "token", &old);
    let server = Server::begin(&dir, &["--listen", "127.0.0.1:0", "--token-file", "token"]);
    let ask = |token: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", bearer.as_str())];
        server.connect().ask("GET", "/v1/info", &headers, b"").status
    };
    assert_eq!((ask(&old), ask(&new)), (200, 401));
    secret(&dir, "token", &new);
    server.signal("HUP");
    wait_for("the new token is known", || ask(&new) == 200);
    assert_eq!(ask(&old), 401);
    for bad in ["", "short"] {
        secret(&dir, "token", bad);
        server.signal("HUP");
        assert_eq!(ask(&new), 200);
    }
    // The metrics count rejected requests by reason.
    let bearer = format!("Bearer {new}");
    let headers = [("Authorization", bearer.as_str())];
    let text = || server.connect().ask("GET", "/metrics", &headers, b"").body;
    let text = String::from_utf8(text()).unwrap();
    assert!(text.contains("fpstore_denied_total{code=\"wrong-token\"} "), "{text}");
    assert!(text.contains("fpstore_denied_total{code=\"no-token\"} 0\n"), "{text}");
}

#[test]
fn the_name_of_the_server_is_checked_in_one_way() {
    let dir = dir();
    let server = Server::start(&dir, &[]);
    let ask = |head: &str| {
        let mut connection = server.connect();
        let head = head.as_bytes().iter().map(|&byte| if byte == b'~' { 0xe9 } else { byte });
        let bytes: Vec<u8> = head.chain(*b"\r\n").collect();
        std::io::Write::write_all(&mut connection.stream, &bytes).unwrap();
        let answer = connection.answer();
        (answer.status, answer.code())
    };
    let get = "GET /v1/query?fingerprint=1 HTTP/1.1\r\n";
    let bad = (400, "bad-host".to_string());
    let wrong = (403, "wrong-host".to_string());
    assert_eq!(ask(&format!("{get}Host: localhost\r\n")).0, 200);
    assert_eq!(ask(get), bad);
    assert_eq!(ask(&format!("{get}Host: localhost\r\nHost: localhost\r\n")), bad);
    assert_eq!(ask(&format!("{get}Host: localhost\r\nHost: evil.example\r\n")), bad);
    assert_eq!(ask(&format!("{get}Host: ~vil.example\r\n")), bad);
    assert_eq!(ask(&format!("{get}Host: \r\n")), wrong);
    assert_eq!(ask(&format!("{get}Host: evil.example\r\n")), wrong);
    let whole = "GET http://evil.example/v1/query?fingerprint=1 HTTP/1.1\r\n";
    assert_eq!(ask(&format!("{whole}Host: localhost\r\n")), wrong);
    // HTTP/1.0 requires no `Host` header.
    assert_eq!(ask("GET /v1/query?fingerprint=1 HTTP/1.0\r\n").0, 200);
}

#[test]
fn pages_of_other_sites_cannot_ask_through_a_browser() {
    let dir = dir();
    let server = Server::start(&dir, &["--writable", "--host", "near.example"]);
    let ask = |method: &str, headers: &[(&str, &str)]| {
        let path = if method == "GET" { "/v1/query?fingerprint=1" } else { "/v1/refresh" };
        server.connect().ask(method, path, headers, b"").status
    };
    let port = server.address.rsplit_once(':').unwrap().1.to_string();
    let own = format!("localhost:{port}");
    assert_eq!(ask("GET", &[("Host", &own)]), 200);
    assert_eq!(ask("GET", &[("Host", "[::1]")]), 200);
    assert_eq!(ask("GET", &[("Host", "near.example:80")]), 200);
    // A request with a foreign name is rejected, even if the name resolves to this server.
    assert_eq!(ask("GET", &[("Host", "evil.example")]), 403);
    assert_eq!(ask("POST", &[("Host", &own), ("Origin", &format!("http://{own}"))]), 200);
    assert_eq!(ask("POST", &[("Host", &own)]), 200);
    assert_eq!(ask("POST", &[("Host", &own), ("Origin", "https://evil.example")]), 403);
    assert_eq!(ask("POST", &[("Host", &own), ("Origin", "null")]), 403);
    // Requests from a page of another site are rejected, with an invalid token and without one.
    let foreign = ("Origin", "https://evil.example");
    assert_eq!(ask("POST", &[("Host", &own), foreign, ("Authorization", "x")]), 403);
    assert_eq!(ask("GET", &[("Host", &own), foreign]), 403);
    assert_eq!(ask("GET", &[("Host", &own), ("Sec-Fetch-Site", "cross-site")]), 403);
    for site in ["same-origin", "none"] {
        assert_eq!(ask("GET", &[("Host", &own), ("Sec-Fetch-Site", site)]), 200, "{site}");
    }
    // A link from another site to the server's web page is allowed.
    let link = [("Host", own.as_str()), ("Sec-Fetch-Site", "cross-site")];
    assert_eq!(server.connect().ask("GET", "/", &link, b"").status, 200);
}

/// A truncated file of a mapped store ends the process by SIGBUS; its handler prints a message.
#[cfg(target_os = "linux")]
#[test]
fn a_server_whose_file_was_cut_short_says_why_it_ended() {
    use std::io::Write;
    use std::os::unix::process::ExitStatusExt;

    let dir = desk_of(&clustered(3000, 2));
    let server = Server::start(&dir, &["--warm", "none"]);
    for name in names_in(&dir.path("store.fps")).iter().filter(|name| name.ends_with(".fps")) {
        let path = dir.path("store.fps").join(name);
        let mut rights = std::fs::metadata(&path).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut rights, 0o600);
        std::fs::set_permissions(&path, rights).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_len(4096).unwrap();
    }
    let mut connection = server.connect();
    let request = b"GET /v1/query?fingerprint=1&k=9 HTTP/1.1\r\nHost: localhost\r\n\r\n";
    connection.stream.write_all(request).unwrap();
    let (status, told) = server.wait();
    assert_eq!(status.signal(), Some(7), "{told}");
    assert!(told.contains("ended by SIGBUS: a file of the store was cut short"), "{told}");
    assert!(told.contains("--access memory"), "{told}");
}
