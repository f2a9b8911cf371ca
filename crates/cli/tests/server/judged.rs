//! Tests `serve --pairs`: an item does not count as near a record if people judged the two
//! different.

use std::time::Duration;

use serde_json::{Value, json};

use crate::common::http::{Server, wait_for};
use crate::common::program::TestDir;

fn add(server: &Server, items: &[(&str, &str)], k: u32) -> Vec<Value> {
    let item = |(hex, id): &(&str, &str)| json!({ "fingerprint": hex, "id": id });
    let items: Vec<Value> = items.iter().map(item).collect();
    let body = json!({ "k": k, "items": items }).to_string();
    let answer = server.post("/v1/check-and-add", "application/json", &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["results"].as_array().unwrap().clone()
}

#[test]
fn judged_pairs_are_obeyed_and_read_again_on_a_signal() {
    let dir =
        TestDir::with("in.tsv", "000000000000000f\ta\n000000000000000f\tb\n00000000000000ff\tc\n");
    dir.ok(&["build", "in.tsv", "-s", "store.fps", "-q"], "");
    dir.write("labels.tsv", "new\ta\t0\nnew\ttwin\t0\nx\ty\t1\n");
    let server = Server::start(&dir, &["--writable", "--pairs", "labels.tsv"]);
    // Of the records with the near fingerprint, a was judged different from the item and b was not,
    // so the item is near b.
    let near = add(&server, &[("0f", "new")], 3);
    assert_eq!((&near[0]["status"], &near[0]["near"]["ids"]), (&json!("near"), &json!(["b"])));
    dir.write("labels.tsv", "new\ta\t0\nb\tnew\t0\nnew\ttwin\t0\n");
    server.signal("HUP");
    wait_for("the pairs were read again", || {
        add(&server, &[("0f", "new")], 3)[0]["status"] == "new"
    });
    // Repeated, the item is near its own stored record. The judgement does not apply to other
    // items.
    let own = add(&server, &[("0f", "new"), ("0f", "other")], 3);
    assert_eq!(own[0]["near"]["ids"], json!(["new"]));
    assert_eq!(own[1]["near"]["ids"], json!(["a", "b", "new"]));
    // The judgement also applies to an uncommitted item of the same request.
    let both = add(&server, &[("0f00000000000000", "new"), ("0f00000000000000", "twin")], 3);
    assert_eq!([&both[0]["status"], &both[1]["status"]], ["new", "new"]);
    let twin = add(&server, &[("0f0000000000000f", "twin")], 8);
    assert_eq!(twin[0]["near"]["ids"], json!(["a", "b"]), "of three, one is judged different");
    // If the file of judged pairs has become invalid, SIGHUP keeps the old pairs.
    dir.write("labels.tsv", "new\ta\t0\na\tnew\t1\n");
    server.signal("HUP");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(add(&server, &[("0f", "new")], 3)[0]["near"]["ids"], json!(["new"]));
    let (_, err) = server.end();
    assert!(err.contains("the old judged pairs remain in use: labels.tsv: line 1"), "{err}");
}

#[test]
fn pairs_that_cannot_be_obeyed_are_refused() {
    let dir = TestDir::with("in.tsv", "000000000000000f\ta\n");
    dir.ok(&["build", "in.tsv", "-s", "store.fps", "-q"], "");
    dir.write("labels.tsv", "a\tb\t0\nb\ta\t1\n");
    let args = ["serve", "-s", "store.fps", "--listen", "127.0.0.1:0", "--pairs"];
    for (more, why) in [
        (&["labels.tsv", "--writable"][..], "labels.tsv: line 1: 'a' and 'b'"),
        (&["-", "--writable"], "name a file"),
        (&["none.tsv", "--writable"], "none.tsv"),
    ] {
        let (_, err) = dir.run(&[&args[..], more].concat(), 2);
        assert!(err.contains(why), "{err}");
    }
    let args = ["serve", "-s", "store.fps", "--pairs", "labels.tsv"];
    let output = dir.output(&args, "");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && err.contains("--writable"), "{err}");
}
