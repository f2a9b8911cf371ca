//! Tests check-and-add requests: of several near items exactly one is new, and items answered as
//! new are not lost.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fpstore::{Fingerprint, Store};
use serde_json::{Value, json};

use crate::common::http::{Connection, Server, wait_for};
use crate::common::program::TestDir;
use crate::common::{Random, clustered};
use crate::server::queries::desk_of;

const ADD: &str = "/v1/check-and-add";

fn empty_desk() -> TestDir {
    let dir = TestDir::new();
    dir.ok(&["build", "-", "-s", "store.fps", "-q"], "");
    dir
}

fn add(connection: &mut Connection<std::net::TcpStream>, items: Value, durable: bool) -> Value {
    let body = json!({ "k": 3, "items": items, "durable": durable }).to_string();
    let answer =
        connection.ask("POST", ADD, &[("Content-Type", "application/json")], body.as_bytes());
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn item(value: u64, id: impl ToString) -> Value {
    json!({ "fingerprint": format!("{value:016x}"), "id": id.to_string() })
}

fn statuses(answer: &Value) -> Vec<&str> {
    let results = answer["results"].as_array().unwrap();
    results.iter().map(|result| result["status"].as_str().unwrap()).collect()
}

/// All ids of the store.
fn stored_ids(dir: &TestDir) -> HashSet<String> {
    let mut ids = HashSet::new();
    let store = Store::open(dir.path("store.fps")).unwrap();
    store
        .for_each(|hit| -> fpstore::Result<()> {
            for id in hit.ids() {
                assert!(ids.insert(id?.to_string()), "an id is there twice");
            }
            Ok(())
        })
        .unwrap();
    ids
}

#[test]
fn an_item_is_new_once_and_is_found_at_once() {
    let dir = desk_of(&clustered(500, 9));
    let server = Server::start(&dir, &["--writable"]);
    let stored = Store::open(dir.path("store.fps")).unwrap();
    let first = stored.query(clustered(1, 9)[0].0.into(), 0).unwrap().remove(0);
    let mut connection = server.connect();
    let value = 0x1234_5678_9abc_def0;
    let known = first.fingerprint.value();
    let items =
        json!([item(value, "a"), item(value ^ 1, "b"), item(known ^ 2, "c"), item(!value, "d")]);
    let answer = add(&mut connection, items, true);
    assert_eq!(statuses(&answer), ["new", "near", "near", "new"]);
    assert_eq!((&answer["added"], &answer["durable"]), (&json!(2), &json!(true)));
    let near = &answer["results"][1]["near"];
    assert_eq!(
        (&near["ids"], &near["distance"], &near["pending"]),
        (&json!(["a"]), &json!(1), &json!(true))
    );
    let near = &answer["results"][2]["near"];
    assert_eq!(near["fingerprint"], first.fingerprint.to_string());
    assert_eq!(near["ids"][0], first.ids[0].to_string());
    // Later queries find the item, both through the server and in the store on disk.
    let found =
        connection.ask("GET", &format!("/v1/query?fingerprint={value:016x}"), &[], b"").json();
    assert_eq!(found["matches"][0]["ids"], json!(["a"]));
    assert!(stored_ids(&dir).contains("a") && !stored_ids(&dir).contains("b"));
    // If a client repeats a request whose response it lost, its own item is reported as near.
    let again = add(&mut connection, json!([item(value, "a")]), true);
    let near = &again["results"][0]["near"];
    assert_eq!((&near["distance"], &near["ids"]), (&json!(0), &json!(["a"])));
    assert_eq!(near["pending"], Value::Null);
    // Items without an id can be added, too.
    assert_eq!(statuses(&add(&mut connection, json!([{ "fingerprint": "7777" }]), true)), ["new"]);
    assert_eq!(statuses(&add(&mut connection, json!([{ "fingerprint": "7777" }]), true)), ["near"]);
}

#[test]
fn of_near_twins_that_come_together_exactly_one_is_new() {
    let dir = empty_desk();
    let server = Server::start(&dir, &["--writable"]);
    const THREADS: u64 = 4;
    const ROUNDS: usize = 100;
    const ITEMS: u64 = 100;
    // Each thread sends a variant of each of 10 000 fingerprints. The variants of a fingerprint
    // differ in two bits.
    let news = Mutex::new(vec![0_u32; ROUNDS * ITEMS as usize]);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (server, news) = (&server, &news);
            scope.spawn(move || {
                let mut connection = server.connect();
                let mut random = Random::new(99);
                for round in 0..ROUNDS {
                    let values: Vec<u64> = (0..ITEMS).map(|_| random.next()).collect();
                    let twin = |(at, value): (usize, &u64)| {
                        item(value ^ 1 << thread, format!("{round}-{at}-{thread}"))
                    };
                    let items: Vec<Value> = values.iter().enumerate().map(twin).collect();
                    let answer = add(&mut connection, json!(items), true);
                    let mut news = news.lock().unwrap();
                    for (at, status) in statuses(&answer).into_iter().enumerate() {
                        news[round * ITEMS as usize + at] += u32::from(status == "new");
                    }
                }
            });
        }
    });
    let news = news.into_inner().unwrap();
    assert!(news.iter().all(|&count| count == 1), "{:?}", news.iter().find(|&&count| count != 1));
    assert_eq!(stored_ids(&dir).len(), news.len());
    // Segments were merged while items were added.
    wait_for("segments are merged", || server.metric("fpstore_segments") < 40.0);
    let (status, stderr) = server.end();
    assert_eq!(status.code(), Some(0), "{stderr}");
    dir.ok(&["verify", "-s", "store.fps"], "");
}

#[test]
fn what_was_answered_as_new_survives_a_kill_at_any_instant() {
    let dir = empty_desk();
    let mut random = Random::new(4);
    let promised: Arc<Mutex<HashSet<String>>> = Arc::default();
    for round in 0..12_u64 {
        let server = Arc::new(Server::start(&dir, &["--writable"]));
        let is_over = Arc::new(AtomicBool::new(false));
        let clients: Vec<_> = (0..4_u64)
            .map(|client| {
                let (server, promised) = (Arc::clone(&server), Arc::clone(&promised));
                let is_over = Arc::clone(&is_over);
                std::thread::spawn(move || {
                    let mut random = Random::new(round << 8 | client);
                    let mut stream = std::net::TcpStream::connect(&server.address).unwrap();
                    for number in 0.. {
                        let ids: Vec<String> =
                            (0..3).map(|at| format!("{round}-{client}-{number}-{at}")).collect();
                        let items: Vec<Value> =
                            ids.iter().map(|id| item(random.next(), id)).collect();
                        let Some(answer) = ask_until_killed(&mut stream, &json!(items)) else {
                            return;
                        };
                        let mut promised = promised.lock().unwrap();
                        for (id, status) in ids.into_iter().zip(statuses(&answer)) {
                            if status == "new" {
                                promised.insert(id);
                            }
                        }
                        if is_over.load(Ordering::Relaxed) {
                            return;
                        }
                    }
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(50 + random.below(400)));
        let id = server.id().to_string();
        let killed = std::process::Command::new("kill").args(["-s", "KILL", &id]).status().unwrap();
        assert!(killed.success());
        is_over.store(true, Ordering::Relaxed);
        clients.into_iter().for_each(|client| client.join().unwrap());
        drop(server);
        let stored = stored_ids(&dir);
        let promised = promised.lock().unwrap();
        let lost: Vec<&String> = promised.difference(&stored).collect();
        assert!(lost.is_empty(), "round {round}: {lost:?} of {}", promised.len());
    }
    assert!(promised.lock().unwrap().len() > 100);
    dir.ok(&["verify", "-s", "store.fps"], "");
}

/// The response, or `None` if the server was killed before the response was complete.
fn ask_until_killed(stream: &mut std::net::TcpStream, items: &Value) -> Option<Value> {
    use std::io::{Read, Write};
    let body = json!({ "k": 3, "items": items }).to_string();
    let head = format!(
        "POST {ADD} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).ok()?;
    let mut text = String::new();
    let mut buffer = [0; 4096];
    // The response is complete when it ends with the newline of its JSON object.
    while !text.ends_with("}\n") {
        let count = stream.read(&mut buffer).ok().filter(|&count| count > 0)?;
        text.push_str(str::from_utf8(&buffer[..count]).unwrap());
    }
    assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
    serde_json::from_str(text.split_once("\r\n\r\n")?.1).ok()
}

#[test]
fn what_is_not_durable_yet_is_said_so_is_known_and_is_committed_in_time_and_at_the_end() {
    let dir = empty_desk();
    let server = Server::start(&dir, &["--writable", "--commit-every", "300ms"]);
    let mut connection = server.connect();
    let answer = add(&mut connection, json!([item(0xabcd, "a")]), false);
    assert_eq!((&answer["durable"], &answer["added"]), (&json!(false), &json!(1)));
    let twin = add(&mut connection, json!([item(0xabcf, "b")]), false);
    assert_eq!(statuses(&twin), ["near"]);
    wait_for("it is durable", || stored_ids(&dir).contains("a"));
    let known = add(&mut connection, json!([item(0xabcd, "c")]), false);
    assert_eq!((statuses(&known), &known["durable"]), (vec!["near"], &json!(true)));
    drop(server);
    let server = Server::start(&dir, &["--writable", "--commit-every", "1h"]);
    let mut connection = server.connect();
    add(&mut connection, json!([item(0xffff_0000, "late")]), false);
    assert_eq!(server.metric("fpstore_pending"), 1.0);
    // A request for durable items also commits items of other requests.
    add(&mut connection, json!([item(0xffff_ffff_0000, "waits")]), true);
    assert_eq!(server.metric("fpstore_pending"), 0.0);
    add(&mut connection, json!([item(0xf0f0_f0f0_f0f0, "last")]), false);
    let (status, stderr) = server.end();
    assert_eq!(status.code(), Some(0), "{stderr}");
    let expected: HashSet<String> = ["a", "late", "waits", "last"].map(String::from).into();
    assert_eq!(stored_ids(&dir), expected);
}

#[test]
fn deleted_ids_are_gone_at_once_also_those_that_wait_for_their_commit() {
    let dir = desk_of(&[]);
    let server = Server::start(&dir, &["--writable", "--commit-every", "1h"]);
    let mut connection = server.connect();
    add(&mut connection, json!([item(1 << 40, "a"), item(0xffff, "7")]), true);
    add(&mut connection, json!([item(0xffff << 32, "b")]), false);
    let body = json!({ "ids": ["a", "b", "7", "none"] }).to_string();
    let json = [("Content-Type", "application/json")];
    let answer = connection.ask("DELETE", "/v1/ids", &json, body.as_bytes()).json();
    assert_eq!(
        (&answer["wanted"], &answer["found"], &answer["ids"]),
        (&json!(4), &json!(3), &json!(3))
    );
    let none = connection.ask("GET", "/v1/nearest?fingerprint=1", &[], b"").json();
    assert_eq!(none["matches"], json!([]));
    // After its deletion the item is new again.
    assert_eq!(statuses(&add(&mut connection, json!([item(1 << 40, "a")]), true)), ["new"]);
    assert_eq!(stored_ids(&dir), HashSet::from(["a".to_string()]));
}

#[test]
fn there_is_one_writer_and_a_reader_does_not_write() {
    let dir = desk_of(&clustered(50, 1));
    let server = Server::start(&dir, &["--writable"]);
    let (_, err) =
        dir.run(&["serve", "-s", "store.fps", "--writable", "--listen", "127.0.0.1:0"], 2);
    assert!(err.contains(&server.id().to_string()), "{err}");
    dir.run(&["delete", "--id", "1", "-s", "store.fps"], 2);
    let reader = Server::start(&dir, &[]);
    let body = json!({ "items": [item(1, "a")] });
    let refused = reader.post_json(ADD, &body);
    assert_eq!((refused.status, refused.code().as_str()), (403, "not-writable"));
    // A second server, which only reads, soon finds an item that the first one added.
    add(&mut server.connect(), json!([item(0x77 << 50, "new")]), true);
    let path = format!("/v1/query?k=0&fingerprint={:x}", 0x77_u64 << 50);
    wait_for("the reader shows it", || {
        reader.get(&path).json()["matches"][0]["ids"] == json!(["new"])
    });
}

#[test]
fn texts_are_added_by_the_recipe_of_the_store_with_their_sketches() {
    let words = |from: u64| -> String {
        let mut random = Random::new(from);
        (0..300).map(|_| format!("w{} ", random.below(5000))).collect()
    };
    for sketch in [&[][..], &["--sketch=64"]] {
        let dir = TestDir::new();
        dir.write("docs/a.txt", words(1));
        dir.ok(&[&["build", "--docs", "docs", "-s", "store.fps", "-q"], sketch].concat(), "");
        let server = Server::start(&dir, &["--writable"]);
        let edited = words(1).replacen("w1", "w2", 1);
        let items = json!([{ "text": words(2), "id": "b" }, { "text": edited, "id": "c" }]);
        let answer = server.post_json(ADD, &json!({ "k": 8, "items": items })).json();
        assert_eq!(statuses(&answer), ["new", "near"], "{answer}");
        let found = server.post("/v1/text", "text/plain", words(2)).json();
        assert_eq!(found["matches"][0]["ids"], json!(["b"]));
        // In a store with sketches, an item without an id is rejected.
        let nameless = server.post_json(ADD, &json!({ "items": [{ "text": words(3) }] }));
        let code = if sketch.is_empty() { "" } else { "no-id" };
        assert_eq!(nameless.code(), code, "{nameless:?}");
        // An item with a fingerprint instead of a text is rejected: it has no sketch, and its
        // recipe is unknown.
        let bare = json!({ "items": [item(77, "x")] });
        let code = if sketch.is_empty() { "recipe-not-said" } else { "needs-text" };
        let refused = server.post_json(ADD, &bare);
        assert_eq!((refused.status, refused.code().as_str()), (409, code));
        let said = json!({ "items": [item(77, "x")], "same_recipe": true });
        let status = if sketch.is_empty() { 200 } else { 409 };
        assert_eq!(server.post_json(ADD, &said).status, status);
        if !sketch.is_empty() {
            dir.write("query.txt", words(2));
            let args = ["query", "--file", "query.txt", "-s", "store.fps", "--confirm", "0.9"];
            assert!(dir.ok(&args, "").contains("\tb\n"));
        }
    }
}

#[test]
fn a_bad_item_is_named_and_takes_nothing_with_it() {
    let dir = desk_of(&clustered(50, 1));
    let server = Server::start(&dir, &["--writable"]);
    for (items, code) in [
        (json!([item(1, "a"), { "fingerprint": "g" }]), "bad-fingerprint"),
        (json!([item(1, "a"), { "id": "b" }]), "bad-json"),
        (json!([item(1, "a"), { "fingerprint": "1", "text": "a" }]), "bad-json"),
        (json!([item(1, "a"), item(2, "")]), "bad-id"),
        (json!([item(1, "a"), item(2, "a\nb")]), "bad-id"),
        (json!([item(1, "a"), { "fingerprint": "1", "id": 5 }]), "bad-json"),
        (json!([item(1, "a"), { "text": "words" }]), "no-recipe"),
    ] {
        let answer = server.post_json(ADD, &json!({ "items": items }));
        assert_eq!(answer.code(), code, "{answer:?}");
    }
    for (body, code) in [
        (json!({}), "bad-json"),
        (json!({ "items": [], "k": 65 }), "bad-k"),
        (json!({ "items": [], "durably": true }), "bad-json"),
    ] {
        assert_eq!(server.post_json(ADD, &body).code(), code);
    }
    assert!(!stored_ids(&dir).contains("a"));
    assert_eq!(server.post_json(ADD, &json!({ "items": [] })).json()["added"], 0);
    let fingerprint = Fingerprint::new(1);
    assert!(Store::open(dir.path("store.fps")).unwrap().query(fingerprint, 0).unwrap().is_empty());
}

/// While the server runs, its store is moved away and another store takes its path.
#[test]
fn a_server_does_not_write_to_a_store_that_was_put_in_the_place_of_its_own() {
    let dir = desk_of(&clustered(50, 1));
    let server = Server::start(&dir, &["--writable", "--commit-every", "1h"]);
    add(&mut server.connect(), json!([item(1 << 40, "pending")]), false);
    dir.ok(&["build", "-", "-s", "new.fps", "-q"], "0000000077777777\tother\n");
    let before = std::fs::read(dir.path("new.fps/MANIFEST")).unwrap();
    std::fs::rename(dir.path("store.fps"), dir.path("old.fps")).unwrap();
    std::fs::rename(dir.path("new.fps"), dir.path("store.fps")).unwrap();
    // A refresh detects the replacement, and the server then refuses to write.
    assert_eq!(server.post("/v1/refresh", "", "").status, 200);
    let ready = server.get("/readyz");
    assert_eq!(ready.code(), "commits-failing");
    assert!(String::from_utf8_lossy(&ready.body).contains("was moved or replaced"), "{ready:?}");
    let body = json!({ "items": [item(0xff << 50, "late")] });
    for _ in 0..2 {
        let refused = server.post_json(ADD, &body);
        assert_eq!((refused.status, refused.code().as_str()), (503, "not-written"), "{refused:?}");
        let why = refused.json()["error"]["message"].to_string();
        assert!(why.contains("was moved or replaced"), "{why}");
    }
    assert_eq!(server.get("/readyz").json()["error"]["code"], "commits-failing");
    assert_eq!(std::fs::read(dir.path("store.fps/MANIFEST")).unwrap(), before);
    let names = std::fs::read_dir(dir.path("store.fps")).unwrap().count();
    assert_eq!(names, 2, "a manifest and a segment");
    // Meanwhile another server can write to the new store.
    drop(Server::start(&dir, &["--writable"]));
    // The server's own store is moved back.
    std::fs::rename(dir.path("store.fps"), dir.path("new.fps")).unwrap();
    std::fs::rename(dir.path("old.fps"), dir.path("store.fps")).unwrap();
    wait_for("the server writes again", || server.get("/readyz").status == 200);
    add(&mut server.connect(), json!([item(0xff << 50, "late")]), true);
    assert!(["pending", "late"].iter().all(|id| stored_ids(&dir).contains(*id)));
}

/// A copy made of hard links (`cp -al`) contains the lock file, so both stores share one lock.
#[test]
fn a_server_starts_beside_a_copy_of_links_that_was_made_while_it_was_killed() {
    let dir = desk_of(&clustered(50, 1));
    let server = Server::start(&dir, &["--writable"]);
    std::fs::create_dir(dir.path("kept.fps")).unwrap();
    for file in std::fs::read_dir(dir.path("store.fps")).unwrap() {
        let file = file.unwrap();
        let to = dir.path("kept.fps").join(file.file_name());
        std::fs::hard_link(file.path(), to).unwrap();
    }
    // While one server holds the lock, a server of the copy cannot start.
    dir.run(&["serve", "-s", "store.fps", "--writable", "--listen", "127.0.0.1:0"], 2);
    server.kill();
    let server = Server::start(&dir, &["--writable"]);
    add(&mut server.connect(), json!([item(1 << 50, "late")]), true);
    drop(server);
    assert!(stored_ids(&dir).contains("late"));
    dir.run(&["delete", "--id", "none", "-s", "kept.fps"], 1);
}

#[cfg(unix)]
#[test]
fn a_terminated_server_ends_at_once_on_an_interrupt() {
    let dir = desk_of(&clustered(50, 1));
    let server = Server::start(&dir, &["--drain-timeout", "1h"]);
    // A request whose body never arrives, for which the ending server waits.
    let mut connection = server.connect();
    let head = "POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Content-Length: 10\r\nExpect: 100-continue\r\n\r\n";
    std::io::Write::write_all(&mut connection.stream, head.as_bytes()).unwrap();
    assert!(connection.read_more());
    server.signal("TERM");
    wait_for("it takes no more connections", || {
        std::net::TcpStream::connect(&server.address).is_err()
    });
    server.signal("INT");
    let (status, _) = server.wait();
    assert_eq!(status.code(), Some(130));
}
