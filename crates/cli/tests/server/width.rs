//! Tests a server of a store of 32-bit fingerprints: it returns 8 digits, and rejects longer
//! values.

use fpstore::Fingerprint;
use serde_json::json;

use crate::common::http::Server;
use crate::common::program::TestDir;

#[test]
fn a_store_of_32_bits_is_served_in_8_digits() {
    let dir = TestDir::with("a.tsv", "deadbeef\ta\ndeadbeee\tb\n00000001\tc\n");
    dir.run(&["build", "a.tsv", "-s", "store.fps", "--bits", "32", "-q"], 0);
    let server = Server::start(&dir, &["--writable"]);
    assert_eq!(server.get("/v1/info").json()["store"]["bits"], 32);
    let near = json!([
        {"fingerprint": "deadbeef", "distance": 0, "ids": ["a"]},
        {"fingerprint": "deadbeee", "distance": 1, "ids": ["b"]},
    ]);
    // Extra leading zeros are accepted.
    for asked in ["deadbeef", "00000000deadbeef"] {
        let answer = server.get(&format!("/v1/query?fingerprint={asked}")).json();
        assert_eq!((&answer["query"], &answer["matches"]), (&json!("deadbeef"), &near));
    }
    let answer = server.get("/v1/query?fingerprint=1deadbeef");
    assert_eq!((answer.status, answer.code().as_str()), (400, "bad-fingerprint"));
    let lines = "\"deadbeef\"\n\"1deadbeef\"\n\"00000001\"\n";
    let answer = server.post("/v1/query?k=0", "application/x-ndjson", lines);
    let text = String::from_utf8(answer.body).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("{\"query\":\"deadbeef\""), "{text}");
    assert!(lines[1].contains("bad-fingerprint"), "{text}");
    assert!(lines[2].starts_with("{\"query\":\"00000001\""), "{text}");
    assert_eq!(server.get("/v1/ids?id=c").json()["fingerprints"], json!(["00000001"]));
    let added = |hex: &str| {
        let body = json!({"items": [{"fingerprint": hex, "id": "n"}], "k": 1});
        server.post_json("/v1/check-and-add", &body)
    };
    assert_eq!(added("beef0000beef").code(), "bad-fingerprint");
    assert_eq!(added("beefbeef").json()["results"][0]["fingerprint"], "beefbeef");
    let near = added("deadbeef").json();
    assert_eq!(near["results"][0]["near"]["fingerprint"], "deadbeef");
    // `query --server` sends 16 digits, and prints as many digits as the store has.
    let url = format!("http://{}", server.address);
    let out = dir.ok(&["query", "beefbeef", "--server", &url], "");
    assert_eq!(out, "beefbeef\tbeefbeef\t0\tn\n");
    assert_eq!(server.end().0.code(), Some(0));
    let store = fpstore::Store::open(dir.path("store.fps")).unwrap();
    assert_eq!(store.query(Fingerprint::new(0xbeef_beef), 0).unwrap().len(), 1);
}
