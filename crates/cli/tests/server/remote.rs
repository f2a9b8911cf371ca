//! Tests that `query --server` prints the same output as `query`.

use std::io::{Read, Write};

use serde_json::{Value, json};

use crate::common::http::Server;
use crate::common::program::TestDir;
use crate::common::{clustered, needles};
use crate::server::queries::desk_of;

#[test]
fn the_output_is_that_of_a_store() {
    let records = clustered(4000, 21);
    let dir = desk_of(&records);
    let socket = format!("unix:{}", dir.path("s.sock").display());
    let by_socket = Server::begin(&dir, &["--listen", &socket]);
    let server = Server::start(&dir, &["--max-batch", "7", "--max-answer", "4KiB"]);
    let url = format!("http://{}/", server.address);
    let needles = needles(&records, 60, 3, 5);
    let hex: Vec<String> = needles.iter().map(|needle| format!("{needle:016x}")).collect();
    dir.write_fingerprints("queries.tsv", needles.iter().copied());
    dir.write("bare.txt", hex.join("\n"));
    let (a, b, c) = (hex[2].as_str(), hex[3].as_str(), hex[4].as_str());
    let lines = hex.join("\n");
    for (args, input) in [
        (&[a][..], ""),
        (&[a, b, c, "-k", "8"], ""),
        (&[a, "-k", "0", "--format", "json"], ""),
        (&[a, b, "--limit", "1", "-k", "12"], ""),
        (&[a, "--limit", "1", "-k", "12", "--format", "json"], ""),
        (&[a, c, "--nearest", "4"], ""),
        (&[a, c, "--nearest", "1", "--format", "json"], ""),
        (&["7777777777777777", "--nearest", "1", "-k", "0", "--format", "json"], ""),
        (&["123456789", "--radix", "dec"], ""),
        (&["7777777777777777", "-k", "0"], ""),
        (&["-"], lines.as_str()),
        (&["-", "--format", "json", "-k", "5"], &lines),
        (&["--from", "queries.tsv"], ""),
        (&["--from", "queries.tsv", "--format", "json", "-k", "6"], ""),
        (&["--from", "bare.txt", "--nearest", "2"], ""),
        (&["--from", "-", "-k", "4"], &lines),
    ] {
        let local = dir.output(&[&["query", "-s", "store.fps"], args].concat(), input);
        for server in [url.as_str(), &socket] {
            let remote = dir.output(&[&["query", "--server", server], args].concat(), input);
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            assert_eq!(
                text(&remote.stdout),
                text(&local.stdout),
                "{args:?}: {}",
                text(&remote.stderr)
            );
            assert_eq!(remote.status, local.status, "{args:?}");
        }
    }
    drop(by_socket);
}

#[test]
fn texts_and_files_are_asked_by_the_recipe_of_the_server() {
    let dir = TestDir::new();
    let words =
        |seed: u64| -> String { (0..200).map(|n| format!("w{} ", n * seed % 89)).collect() };
    dir.write("docs/a.txt", words(7));
    dir.write("docs/b.html", format!("<title>b</title><p>{}</p>", words(11)));
    dir.ok(&["build", "--docs", "docs", "-s", "store.fps", "-q"], "");
    let server = Server::start(&dir, &[]);
    let url = format!("http://{}", server.address);
    for args in [
        &["--file", "docs/a.txt", "--file", "docs/b.html"][..],
        &["--file", "docs/b.html", "--html", "full", "--nearest", "2"],
        &["--text", "w7 w14 w21 w28 w35 and some more words", "-k", "30", "--format", "json"],
    ] {
        let local = dir.output(&[&["query", "-s", "store.fps"], args].concat(), "");
        let remote = dir.output(&[&["query", "--server", &url], args].concat(), "");
        assert_eq!(remote.stdout, local.stdout, "{args:?}: {:?}", String::from_utf8(remote.stderr));
        assert_eq!(remote.status, local.status, "{args:?}");
    }
}

#[test]
fn an_answer_that_the_server_cut_is_said_so() {
    let dir = desk_of(&clustered(2000, 21));
    let server = Server::start(&dir, &["--max-matches", "5"]);
    let url = format!("http://{}", server.address);
    let (out, err) = dir.run(&["query", "--server", &url, "1", "-k", "40", "-q"], 0);
    assert_eq!(out.lines().count(), 5);
    assert!(err.contains("cut to 5 matches by the --max-matches of the server"), "{err}");
    let (out, err) = dir.run(&["query", "--server", &url, "1", "-k", "40", "--format", "json"], 0);
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["cut"], true);
    assert!(err.contains("cut to 5"), "{err}");
    let (_, err) = dir.run(&["query", "--server", &url, "1", "--limit", "6"], 2);
    assert!(err.contains("--max-matches 5"), "{err}");
}

#[test]
fn what_a_server_cannot_do_is_refused_before_it_is_asked() {
    let dir = desk_of(&clustered(200, 21));
    dir.write("token", "t".repeat(16));
    let secret = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(dir.path("token"), secret).unwrap();
    let server = Server::begin(&dir, &["--listen", "127.0.0.1:0", "--token-file", "token"]);
    let url = format!("http://{}", server.address);
    for args in [
        &["1", "-s", "store.fps"][..],
        &["1", "--explain"],
        &["--id", "3"],
        &["-", "--refresh"],
        &["1", "--access", "memory"],
        &["--text", "a", "--confirm", "0.5"],
        &["--from", "a.tsv", "--docs"],
    ] {
        let output = dir.output(&[&["query", "--server", &url], args].concat(), "");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
    }
    let (_, err) = dir.run(&["query", "--server", &url, "1"], 2);
    assert!(err.contains("no-token"), "{err}");
    dir.run(&["query", "--server", &url, "--token-file", "token", "1", "-k", "40"], 0);
    for (url, part) in [
        ("https://127.0.0.1:1", "TLS is not supported"),
        ("127.0.0.1:1", "expected http://"),
        ("http://127.0.0.1:1", "cannot connect"),
        ("unix:nothing", "cannot connect"),
    ] {
        let (_, err) = dir.run(&["query", "--server", url, "1"], 2);
        assert!(err.contains(part), "{err}");
    }
    // A service that is not fpstore listens at the address.
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", other.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = other.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno");
    });
    let (_, err) = dir.run(&["query", "--server", &url, "1"], 2);
    assert!(err.contains("404"), "{err}");
}

/// A server can send any bytes: invalid responses are errors and are not printed.
#[test]
fn a_server_that_answers_with_anything_does_not_reach_the_output() {
    let dir = desk_of(&clustered(200, 21));
    let server = Server::start(&dir, &[]);
    let info = server.get("/v1/info").body;
    let (own, evil) = ("0000000000000001", "\u{1b}[2J\u{1b}[31mroot#");
    let answer = |query: &str, fingerprint: &str| {
        let found = json!({"fingerprint": fingerprint, "distance": 0, "ids": ["7"]});
        json!({"query": query, "matches": [found]}).to_string()
    };
    for (answer, status) in [
        (answer(own, own), 0),
        (answer(evil, own), 2),
        (answer(own, evil), 2),
        (answer(own, "1\t2"), 2),
        (json!({"query": own, "matches": evil}).to_string(), 2),
    ] {
        let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", other.local_addr().unwrap());
        let bodies = [info.clone(), answer.clone().into_bytes()];
        std::thread::spawn(move || {
            let (mut stream, _) = other.accept().unwrap();
            for body in bodies {
                let _ = stream.read(&mut [0; 1 << 16]);
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all(&[head.as_bytes(), &body].concat());
            }
        });
        let (out, err) = dir.run(&["query", "--server", &url, "1"], status);
        let expected = format!("{own}\t{own}\t0\t7\n");
        assert_eq!(out, if status == 0 { expected.as_str() } else { "" }, "{answer}: {err}");
    }
}
