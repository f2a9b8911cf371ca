//! Tests that answers of a server name their snapshot, and that a saved copy of the snapshot gives
//! the same answers later.

use std::process::Command;

use serde_json::json;

use crate::common::clustered;
use crate::common::http::{Answer, Server};
use crate::server::queries::desk_of;

const NAMES: [&str; 3] = ["fpstore-store-id", "fpstore-generation", "fpstore-manifest"];

/// The headers of an answer that name its snapshot.
fn state(answer: &Answer) -> [String; 3] {
    NAMES.map(|name| answer.header(name).unwrap_or_else(|| panic!("{name}: {answer:?}")).into())
}

#[test]
fn each_answer_names_its_state_and_a_kept_one_gives_the_same_bytes_again() {
    let dir = desk_of(&clustered(3000, 8));
    let server = Server::start(&dir, &["--writable"]);
    let ask = |of: &Server, value: u64| of.get(&format!("/v1/query?fingerprint={value:016x}&k=6"));
    let values: Vec<u64> = clustered(3000, 8).iter().step_by(100).map(|it| it.0).collect();
    let before: Vec<Answer> = values.iter().map(|value| ask(&server, *value)).collect();
    let info = server.get("/v1/info").json()["store"].clone();
    let named = [
        info["store_id"].as_str().unwrap().to_string(),
        info["generation"].to_string(),
        info["manifest_digest"].as_str().unwrap().to_string(),
    ];
    let list = json!({ "fingerprints": ["1", "2"] });
    let others = [
        server.post_json("/v1/query", &list),
        server.post_json("/v1/query", &json!({ "fingerprints": ["1"], "k": 40 })),
        server.post("/v1/query", "application/octet-stream", 1_u64.to_le_bytes()),
        server.get("/v1/nearest?fingerprint=1"),
        server.get("/v1/plan"),
        server.get("/v1/files/MANIFEST"),
        server.get("/readyz"),
        server.get("/v1/query?fingerprint=x"),
    ];
    for answer in before.iter().chain(&others) {
        assert_eq!(state(answer), named);
    }
    let info = dir.json(&["info", "-s", "store.fps"]);
    assert_eq!(info["manifest_digest"], named[2].as_str());
    assert!(dir.ok(&["info", "-s", "store.fps"], "").contains(&named[2]));
    let local = |store: &str, extra: &[&str]| {
        let hex: Vec<String> = values.iter().map(|value| format!("{value:016x}")).collect();
        let hex: Vec<&str> = hex.iter().map(String::as_str).collect();
        dir.output(&[&["query", "-k", "6", "-s", store], extra, &hex].concat(), "")
    };
    let first = local("store.fps", &["--as-of", &named[1]]).stdout;
    assert!(!first.is_empty());
    dir.ok(&["backup", "kept.fps", "-s", "store.fps", "-q"], "");
    // Changes the store, so that later answers differ.
    let item = |at: usize| json!({ "fingerprint": format!("{:016x}", values[at] ^ 6), "id": "x" });
    let items: Vec<_> = (0..values.len()).map(item).collect();
    let added = server.post_json("/v1/check-and-add", &json!({ "k": 0, "items": items }));
    assert_eq!(added.json()["added"], values.len());
    let now = ask(&server, values[0]);
    assert_ne!((&now.body, state(&now)), (&before[0].body, named.clone()));
    // With --as-of the earlier generation, the changed store refuses the query with a hint, and the
    // saved snapshot answers.
    let refused = local("store.fps", &["--as-of", &named[1]]);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(refused.stdout.is_empty() && told.contains("fpstore backup"), "{told}");
    assert_eq!(local("kept.fps", &["--as-of", &named[1]]).stdout, first);
    let again = dir.path("again");
    std::fs::create_dir(&again).unwrap();
    let copied =
        Command::new("cp").arg("-r").args([dir.path("kept.fps"), again.join("store.fps")]).status();
    assert!(copied.unwrap().success());
    let args = ["serve", "-s", "again/store.fps", "--listen", "127.0.0.1:0"];
    let server = Server::begin_as(&dir, &args);
    server.wait_until_ready();
    for (value, before) in values.iter().zip(&before) {
        let answer = ask(&server, *value);
        assert_eq!((&answer.body, state(&answer)), (&before.body, state(before)));
    }
}
