//! Tests changes through the server other than additions: replaced and deleted records, expired
//! segments, labels, merges, imports.

use fpstore::{IdRef, Store};
use serde_json::{Value, json};

use crate::common::clustered;
use crate::common::http::{Answer, Server, wait_for};
use crate::common::program::TestDir;
use crate::server::queries::desk_of;

fn ask(server: &Server, method: &str, path: &str, body: &Value) -> Answer {
    let kind = [("Content-Type", "application/json")];
    server.connect().ask(method, path, &kind, body.to_string().as_bytes())
}

fn done(server: &Server, method: &str, path: &str, body: &Value) -> Value {
    let answer = ask(server, method, path, body);
    assert_eq!(answer.status / 100, 2, "{answer:?}");
    answer.json()
}

fn add(server: &Server, value: u64, id: &str) {
    let item = json!({ "fingerprint": format!("{value:016x}"), "id": id });
    let added = done(server, "POST", "/v1/check-and-add", &json!({ "items": [item], "k": 0 }));
    assert_eq!(added["added"], 1);
}

/// The fingerprints that the store on disk contains with this id.
fn stored(dir: &TestDir, id: &str) -> Vec<u64> {
    let store = Store::open(dir.path("store.fps")).unwrap();
    let found = store.find_ids(&[IdRef::Text(id)], None).unwrap();
    found[0].iter().map(|record| record.fingerprint.value()).collect()
}

fn labels(dir: &TestDir) -> Vec<String> {
    let store = Store::open(dir.path("store.fps")).unwrap();
    store.info().segments.iter().map(|segment| segment.label.clone()).collect()
}

/// Many deletions at the same time share one pass over the ids, and none is refused.
#[test]
fn deletions_share_a_pass_over_the_ids_and_none_is_refused() {
    let records = clustered(260_000, 1);
    let dir = desk_of(&records);
    let args = ["--writable", "--no-compact", "--threads", "1", "--queue-timeout", "10ms"];
    let server = Server::start(&dir, &args);
    let before = server.metric("fpstore_id_passes_total");
    std::thread::scope(|scope| {
        for number in 0..40 {
            let server = &server;
            scope.spawn(move || {
                let ids = json!({ "ids": [format!("{}", 1000 + number), "unknown"] });
                let answer = done(server, "DELETE", "/v1/ids", &ids);
                assert_eq!((&answer["wanted"], &answer["found"]), (&json!(2), &json!(1)));
            });
        }
    });
    let passes = server.metric("fpstore_id_passes_total") - before;
    assert!(passes < 40.0, "{passes} passes");
    let there = |number: u32| !stored(&dir, &number.to_string()).is_empty();
    assert!(there(999) && there(1040) && (1000..1040).all(|number| !there(number)));
}

/// The server reads the ids of a large store, which takes long, without blocking the writer.
#[test]
fn ids_of_a_large_store_are_read_before_the_turn_of_the_writer() {
    let records = clustered(260_000, 1);
    let dir = desk_of(&records);
    let server = Server::start(&dir, &["--writable", "--no-compact"]);
    let passes = || server.metric("fpstore_id_passes_total");
    let before = passes();
    add(&server, 1 << 40, "page");
    let answer = done(&server, "DELETE", "/v1/ids", &json!({ "ids": ["3", "page", "unknown"] }));
    assert_eq!((&answer["wanted"], &answer["found"]), (&json!(3), &json!(2)));
    assert_eq!(passes() - before, 1.0);
    assert!(stored(&dir, "3").is_empty() && stored(&dir, "page").is_empty());
    let items = json!([{ "fingerprint": "0000000000000007", "id": "259999" }]);
    let answer = done(&server, "PUT", "/v1/ids", &json!({ "items": items }));
    assert_eq!((&answer["found"], &answer["ids"]), (&json!(1), &json!(1)));
    assert_eq!(passes() - before, 2.0);
    assert_eq!(stored(&dir, "259999"), [7]);
    assert_eq!(stored(&dir, "258000").len(), 1);
}

#[test]
fn a_page_that_changed_is_replaced_in_one_step() {
    let dir = desk_of(&clustered(50, 1));
    let server = Server::start(&dir, &["--writable", "--commit-every", "1h"]);
    add(&server, 1 << 40, "page");
    add(&server, 1 << 50, "other");
    let items = json!([
        { "fingerprint": "0000000000000007", "id": "page" },
        { "fingerprint": "0000000000000008", "id": "fresh" },
        { "fingerprint": "0000000000000009", "id": "page" },
    ]);
    let answer = done(&server, "PUT", "/v1/ids", &json!({ "items": items }));
    assert_eq!((&answer["wanted"], &answer["found"]), (&json!(2), &json!(1)));
    assert_eq!((&answer["fingerprints"], &answer["ids"]), (&json!(1), &json!(1)));
    let shown = server.get("/v1/ids?id=page").json();
    assert_eq!(shown["fingerprints"], json!(["0000000000000009"]));
    // The generation can be greater, because segments may have been merged since.
    assert!(shown["generation"].as_u64() >= answer["generation"].as_u64());
    assert_eq!((stored(&dir, "page"), stored(&dir, "fresh")), (vec![9], vec![8]));
    assert_eq!(stored(&dir, "other"), [1 << 50]);
    assert_eq!(server.metric("fpstore_deleted_ids_total"), 1.0);
    // A replacement also replaces items that are not yet committed.
    let soon = json!({ "fingerprint": "00000f0000000000", "id": "soon" });
    let body = json!({ "items": [soon], "durable": false });
    done(&server, "POST", "/v1/check-and-add", &body);
    let changed = json!([{ "fingerprint": "0000f00000000000", "id": "soon" }]);
    let answer = done(&server, "PUT", "/v1/ids", &json!({ "items": changed }));
    assert_eq!(answer["found"], 1);
    assert_eq!(stored(&dir, "soon"), [0xf000_0000_0000]);
    for (items, code) in [
        (json!([{ "fingerprint": "1" }]), "no-id"),
        (json!([{ "fingerprint": "1", "id": "" }]), "bad-id"),
        (json!([{ "id": "page" }]), "bad-json"),
        (json!([{ "fingerprint": "x", "id": "page" }]), "bad-fingerprint"),
    ] {
        let refused = ask(&server, "PUT", "/v1/ids", &json!({ "items": items }));
        assert_eq!((refused.status, refused.code().as_str()), (400, code));
    }
    assert_eq!(stored(&dir, "page"), [9]);
}

#[test]
fn segments_expire_by_the_label_that_clients_set() {
    let dir = desk_of(&clustered(50, 1));
    let server = Server::start(&dir, &["--writable", "--label", "2026-09", "--no-compact"]);
    add(&server, 1 << 40, "september");
    let body = json!({ "label": "2026-10" });
    assert_eq!(done(&server, "POST", "/v1/label", &body)["label"], "2026-10");
    add(&server, 1 << 50, "october");
    assert_eq!(labels(&dir), ["", "", "2026-09", "2026-10"]);
    let mut body = json!({ "before": "2026-10", "dry_run": true });
    let shown = done(&server, "POST", "/v1/expire", &body);
    assert_eq!(shown["segments"][0]["label"], "2026-09");
    assert_eq!(
        (&shown["segments"][0]["fingerprints"], &shown["dry_run"]),
        (&json!(1), &json!(true))
    );
    assert_eq!(labels(&dir).len(), 4);
    body["dry_run"] = false.into();
    let expired = done(&server, "POST", "/v1/expire", &body);
    assert_eq!(expired["segments"], shown["segments"]);
    assert_eq!(
        (labels(&dir), stored(&dir, "september")),
        (vec!["".into(), "".into(), "2026-10".into()], vec![])
    );
    let today = done(&server, "POST", "/v1/label", &json!({ "label": "today" }));
    assert!(today["label"].as_str().unwrap().starts_with("20"), "{today}");
    for (body, part) in [
        (json!({ "before": "30d" }), "which is not in the form"),
        (json!({ "older_than": "30" }), "expected an age"),
        (json!({}), "either 'older_than' or 'before'"),
        (json!({ "older_than": "30d", "before": "2026" }), "either 'older_than' or 'before'"),
    ] {
        let refused = ask(&server, "POST", "/v1/expire", &body);
        let why = refused.json()["error"]["message"].to_string();
        assert!(refused.status == 400 && why.contains(part), "{body}: {refused:?}");
    }
    for label in ["a\tb", "foo", "2026/11/05"] {
        let refused = ask(&server, "POST", "/v1/label", &json!({ "label": label }));
        assert_eq!((refused.status, refused.code().as_str()), (400, "bad-parameter"), "{label}");
    }
    assert_eq!(labels(&dir).len(), 3);
}

#[test]
fn segments_are_merged_when_a_client_asks() {
    let dir = desk_of(&clustered(50, 1));
    let server = Server::start(&dir, &["--writable", "--no-compact"]);
    for number in 0..4 {
        add(&server, 0xff << (10 * number), &format!("late {number}"));
    }
    assert_eq!(labels(&dir).len(), 6);
    let body = json!({ "segments": "all" });
    assert_eq!(ask(&server, "POST", "/v1/compact", &body).status, 202);
    wait_for("segments are one", || labels(&dir).len() == 1);
    wait_for("it is counted", || server.metric("fpstore_merges_total") == 1.0);
    assert_eq!(stored(&dir, "late 3"), [0xff << 30]);
}

#[test]
fn a_deletion_can_be_tried_first() {
    let dir = desk_of(&clustered(50, 1));
    let server = Server::start(&dir, &["--writable"]);
    add(&server, 1 << 40, "page");
    let mut body = json!({ "ids": ["page", "nobody"], "dry_run": true });
    let shown = done(&server, "DELETE", "/v1/ids", &body);
    assert_eq!((&shown["wanted"], &shown["found"]), (&json!(2), &json!(1)));
    assert_eq!(stored(&dir, "page"), [1 << 40]);
    assert_eq!(server.metric("fpstore_deleted_ids_total"), 0.0);
    body["dry_run"] = false.into();
    let deleted = done(&server, "DELETE", "/v1/ids", &body);
    assert_eq!(deleted["ids"], shown["ids"]);
    assert!(stored(&dir, "page").is_empty());
}

#[test]
fn only_a_server_that_writes_changes_anything() {
    let dir = desk_of(&clustered(50, 1));
    let server = Server::start(&dir, &[]);
    let item = json!({ "fingerprint": "1", "id": "a" });
    for (method, path, body) in [
        ("PUT", "/v1/ids", json!({ "items": [item] })),
        ("POST", "/v1/expire", json!({ "before": "2026" })),
        ("POST", "/v1/label", json!({ "label": "x" })),
        ("POST", "/v1/compact", json!({})),
    ] {
        let refused = ask(&server, method, path, &body);
        assert_eq!((refused.status, refused.code().as_str()), (403, "not-writable"));
    }
}

/// While a server writes, the command line cannot change the store, but the server can import
/// segments from another store in the same folder.
#[test]
fn segments_of_stores_beside_the_served_one_are_imported() {
    let dir = desk_of(&clustered(50, 1));
    let server = Server::start(&dir, &["--writable", "--no-compact"]);
    dir.write("more.tsv", "00000000000000aa\tmore\n00000000000000ab\tmost\n");
    let (_, told) = dir.run(&["add", "more.tsv", "-s", "store.fps", "-q", "--id-type", "text"], 2);
    assert!(told.contains("is writing to store.fps"), "{told}");
    assert!(told.contains("POST /v1/import"), "the message names what works: {told}");
    dir.ok(&["build", "more.tsv", "-s", "more.fps", "-q", "--id-type", "text"], "");
    let import = |from: Value| ask(&server, "POST", "/v1/import", &json!({ "from": from }));
    let done = import(json!(["more.fps"]));
    assert_eq!(done.status, 200, "{done:?}");
    let done = done.json();
    assert_eq!((&done["segments"], &done["fingerprints"]), (&json!(1), &json!(2)));
    let found = server.get("/v1/query?fingerprint=aa&k=0").json();
    assert_eq!(found["matches"][0]["ids"], json!(["more"]));
    assert_eq!(found["generation"], done["generation"]);
    assert_eq!(stored(&dir, "most"), [0xab]);
    // Rejected: a repeated import, files that are not segments, and stores in other folders.
    assert_eq!(import(json!(["more.fps"])).code(), "bad-parameter");
    let before = server.get("/v1/info").json()["store"]["generation"].clone();
    for name in ["../more.fps", "/etc/passwd", "", ".", "..", "a/b", "more.fps/"] {
        assert_eq!(import(json!([name])).code(), "bad-name", "{name}");
    }
    // An invalid file to import is an error of the client, not damage of the served store.
    dir.write("page.txt", "one two three four five");
    dir.ok(&["build", "--docs", "page.txt", "-s", "texts.fps", "-q"], "");
    for (name, code) in
        [("missing.fps", "bad-source"), ("more.tsv", "bad-source"), ("texts.fps", "other-recipe")]
    {
        let refused = import(json!([name]));
        assert_eq!(refused.code(), code, "{refused:?}");
        assert!((400..500).contains(&refused.status), "{refused:?}");
        if code == "bad-source" {
            assert!(refused.json()["error"]["message"].as_str().unwrap().contains(name));
        }
        assert_eq!(server.get("/readyz").status, 200, "{name}");
        assert_eq!(server.metric("fpstore_commits_failing"), 0.0, "{name}");
    }
    assert_eq!(server.get("/v1/info").json()["store"]["generation"], before);
    // The server still accepts additions.
    add(&server, 1 << 44, "after");
}
