//! Tests that a server of several stores gives the same answers as the program with these stores.

use serde_json::{Value, json};

use crate::common::http::Server;
use crate::common::program::{TestDir, text};
use crate::common::{clustered, record_lines};

/// A folder with three stores, of which two share records; and the fingerprints of all stores.
fn dir() -> (TestDir, Vec<u64>) {
    let dir = TestDir::new();
    let records = clustered(300, 901);
    for (name, range) in [("one.fps", 0..120), ("two.fps", 110..300), ("none.fps", 0..0)] {
        dir.write("part.tsv", record_lines(&records[range]));
        dir.run(&["build", "part.tsv", "-s", name, "-q"], 0);
    }
    dir.write("all.tsv", record_lines(&records));
    (dir, records.iter().map(|record| record.0).collect())
}

const STORES: [&str; 6] = ["-s", "one.fps", "-s", "two.fps", "-s", "none.fps"];

fn serve(dir: &TestDir) -> Server {
    let args = [&["serve"], &STORES[..], &["--listen", "127.0.0.1:0"]].concat();
    let server = Server::begin_as(dir, &args);
    server.wait_until_ready();
    server
}

#[test]
fn a_server_of_several_stores_answers_as_the_program_does() {
    let (dir, values) = dir();
    let server = serve(&dir);
    let url = format!("http://{}", server.address);
    let number = |value: u64| format!("{value:016x}");
    for (value, k) in values.iter().step_by(7).zip([0, 3, 3, 12].into_iter().cycle()) {
        let (hex, k) = (number(*value), k.to_string());
        let mut local = dir.json(&[&["query", &hex, "-k", &k], &STORES[..]].concat());
        let asked = format!("/v1/query?fingerprint={hex}&k={k}");
        let mut answer = server.get(&asked).json();
        let generation = answer.as_object_mut().unwrap().remove("generation");
        assert_eq!(generation, Some(json!(3)), "the sum of three");
        assert_eq!(answer, local);
        let nearest = server.get(&format!("/v1/nearest?fingerprint={hex}&k=64&count=5")).json();
        local = dir.json(&[&["query", &hex, "--nearest", "5"], &STORES[..]].concat());
        assert_eq!(nearest["matches"], local["matches"]);
    }
    let shared = server.get(&format!("/v1/query?fingerprint={}&k=0", number(values[115]))).json();
    let stores: Vec<&Value> =
        shared["matches"].as_array().unwrap().iter().map(|found| &found["store"]).collect();
    assert_eq!(stores, ["one.fps", "two.fps"]);
    // `query --server` prints the same as `query` with these stores, in each output format.
    for form in
        [&["--format", "tsv"][..], &["--header"], &["--format", "csv"], &["--format", "json"]]
    {
        let asked = [&["query", "--from", "all.tsv", "-k", "3", "-q"], form].concat();
        let remote = dir.ok(&[&asked[..], &["--server", &url]].concat(), "");
        let local = dir.ok(&[&asked[..], &STORES[..]].concat(), "");
        assert!(remote.contains("two.fps"), "{form:?}");
        assert_eq!(remote, local, "{form:?}");
    }
    let found = server.get("/v1/ids?id=115").json();
    assert_eq!(found["fingerprints"], json!([number(values[115]), number(values[115])]));
    let info = server.get("/v1/info").json();
    assert_eq!(info["stores"], json!(["one.fps", "two.fps", "none.fps"]));
    assert_eq!(info["store"]["ids"], json!(310));
    let files = server.get("/v1/files/MANIFEST");
    assert_eq!((files.status, files.code().as_str()), (404, "several-stores"));
    assert!(server.end().0.success());
}

#[test]
fn a_server_of_several_stores_follows_each_of_them_and_writes_to_none() {
    let (dir, _) = dir();
    let server = serve(&dir);
    let asked = "/v1/query?fingerprint=00000000000000ff&k=0";
    assert_eq!(server.get(asked).json()["matches"], json!([]));
    for (name, found) in [("two.fps", 1), ("none.fps", 2)] {
        dir.run_on(&["add", "-", "-s", name, "-q"], format!("00000000000000ff\tin {name}\n"), 0);
        let shown = server.post("/v1/refresh", "text/plain", "").json();
        assert_eq!(shown["changed"], true);
        let answer = server.get(asked).json();
        let matches = answer["matches"].as_array().unwrap();
        assert_eq!(matches.len(), found);
        assert_eq!(matches[found - 1]["ids"], json!([format!("in {name}")]));
        assert_eq!(matches[found - 1]["store"], name);
    }
    assert_eq!(server.post("/v1/refresh", "text/plain", "").json()["changed"], false);
    assert!(server.end().0.success());
    for option in [&["--writable"][..], &["--scrub-every", "1h"]] {
        let output = dir.output(&[&["serve"], &STORES[..], option].concat(), "");
        assert_eq!(output.status.code(), Some(2));
        let err = text(output.stderr);
        assert!(err.contains(&format!("{} takes one store, and -s names 3", option[0])), "{err}");
    }
}
