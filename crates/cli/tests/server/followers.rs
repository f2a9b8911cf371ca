//! Tests followers: folders that copy each new snapshot of a served store over HTTP.

use std::process::{Command, Stdio};

use fpstore::writer::BackupOptions;
use fpstore::{IdRef, Store, Writer};
use fpstore_client::{Client, backup};

use crate::common::http::{Server, wait_for};
use crate::common::program::TestDir;
use crate::common::{clustered, records_of};
use crate::server::queries::desk_of;

/// A folder with a store of four segments; two of them have deletions.
fn dir() -> TestDir {
    let dir = desk_of(&clustered(3000, 5));
    let mut writer = Writer::open(dir.path("store.fps")).unwrap();
    for number in 0..2_u64 {
        writer.push((number << 40).into(), IdRef::Text(&format!("late {number}"))).unwrap();
        writer.commit_alone().unwrap();
    }
    let some: Vec<_> =
        clustered(3000, 5).into_iter().take(9).map(|(value, _)| value.into()).collect();
    writer.delete_fingerprints(&some).unwrap();
    dir
}

#[test]
fn files_have_ranges_and_tags_that_proxies_understand() {
    let dir = dir();
    let server = Server::start(&dir, &[]);
    let mut connection = server.connect();
    let manifest = connection.ask("GET", "/v1/files/MANIFEST", &[], b"");
    assert_eq!(manifest.body, std::fs::read(dir.path("store.fps/MANIFEST")).unwrap());
    assert_eq!(manifest.header("cache-control"), Some("no-cache"));
    let mut seen = 0;
    for file in std::fs::read_dir(dir.path("store.fps")).unwrap() {
        let (path, name) = file.map(|file| (file.path(), file.file_name())).unwrap();
        let name = name.to_str().unwrap();
        if !name.ends_with(".fps") && !name.ends_with(".fpd") {
            continue;
        }
        let bytes = std::fs::read(path).unwrap();
        let route = format!("/v1/files/{name}");
        let whole = connection.ask("GET", &route, &[], b"");
        assert_eq!((whole.status, &whole.body), (200, &bytes), "{name}");
        let tag = whole.header("etag").unwrap().to_string();
        assert!(whole.header("cache-control").unwrap().contains("immutable"));
        let part = connection.ask("GET", &route, &[("Range", "bytes=3-9")], b"");
        assert_eq!((part.status, part.body.as_slice()), (206, &bytes[3..10]));
        let range = format!("bytes 3-9/{}", bytes.len());
        assert_eq!(part.header("content-range"), Some(range.as_str()));
        let known = connection.ask("GET", &route, &[("If-None-Match", &tag)], b"");
        assert_eq!((known.status, known.body.len()), (304, 0));
        let other = [("Range", "bytes=3-9"), ("If-Range", "\"other\"")];
        assert_eq!(connection.ask("GET", &route, &other, b"").body, bytes);
        let beyond = format!("bytes={}-", bytes.len());
        let refused = connection.ask("GET", &route, &[("Range", &beyond)], b"");
        assert_eq!((refused.status, refused.code().as_str()), (416, "bad-range"));
        seen += 1;
    }
    assert_eq!(seen, 6);
    for name in ["LOCK", "segment-ffffffffffffffff.fps", "..%2FMANIFEST", "%2e%2e", ""] {
        let refused = connection.ask("GET", &format!("/v1/files/{name}"), &[], b"");
        assert_eq!((refused.status, refused.code().as_str()), (404, "no-such-file"), "{name}");
    }
    assert_eq!(connection.ask("GET", "/v1/files/a/b", &[], b"").code(), "not-found");
}

#[test]
fn a_folder_takes_from_a_server_only_what_it_lacks() {
    let dir = dir();
    let server = Server::start(&dir, &["--writable", "--refresh-every", "10ms"]);
    let mut client = Client::new(&format!("http://{}", server.address)).unwrap();
    let to = dir.path("copy.fps");
    let options = BackupOptions::default();
    let first = backup(&mut client, &to, &options).unwrap();
    assert_eq!((first.copied, first.kept, first.is_new), (4, 0, true));
    let (source, copy) = (Store::open(dir.path("store.fps")).unwrap(), Store::open(&to).unwrap());
    assert_eq!(records_of(&copy), records_of(&source));
    assert_eq!(copy.info().generation, source.info().generation);
    let again = backup(&mut client, &to, &options).unwrap();
    assert_eq!((again.copied, again.kept, again.is_new), (0, 4, false));
    let item = serde_json::json!({ "fingerprint": "7777000000000000", "id": "new" });
    let body = serde_json::json!({ "items": [item], "k": 0 });
    assert_eq!(server.post_json("/v1/check-and-add", &body).status, 200);
    let next = backup(&mut client, &to, &options).unwrap();
    assert_eq!((next.copied, next.kept, next.is_new), (1, 4, true));
    source.refresh().unwrap();
    copy.refresh().unwrap();
    assert_eq!(records_of(&copy), records_of(&source));
    // A backup into a folder with another store is refused.
    let other = dir.path("other.fps");
    dir.ok(&["build", "-", "-s", "other.fps", "-q"], "0000000000000007\tx\n");
    let before = std::fs::read(other.join("MANIFEST")).unwrap();
    let refused = backup(&mut client, &other, &options).unwrap_err().to_string();
    assert!(refused.contains("holds another store"), "{refused}");
    assert_eq!(std::fs::read(other.join("MANIFEST")).unwrap(), before);
    drop(server);
    let gone = backup(&mut client, &to, &options).unwrap_err();
    assert!(gone.to_string().contains("/v1/files/MANIFEST"), "{gone}");
    assert_eq!(records_of(&Store::open(&to).unwrap()), records_of(&source));
}

#[test]
fn a_follower_shows_what_was_added_and_goes_on_when_the_server_is_back() {
    let dir = dir();
    let listen = ["--writable", "--refresh-every", "10ms"];
    let server = Server::start(&dir, &listen);
    let url = format!("http://{}", server.address);
    let mut follower = Command::new(env!("CARGO_BIN_EXE_fpstore"))
        .args(["backup", "copy.fps", "--server", &url, "--every", "20ms"])
        .current_dir(dir.path("."))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let count = |id: &str| {
        let copy = Store::open(dir.path("copy.fps")).ok();
        let found = copy.map(|copy| copy.find_ids(&[IdRef::Text(id)], None).unwrap());
        found.map_or(0, |found| found[0].len())
    };
    wait_for("the first state is there", || count("late 0") == 1);
    for number in 1..4 {
        let item = serde_json::json!({ "fingerprint": format!("{:016x}", (number as u64) << 50), "id": "x" });
        let body = serde_json::json!({ "items": [item], "k": 0 });
        assert_eq!(server.post_json("/v1/check-and-add", &body).json()["added"], 1);
        wait_for("it follows", || count("x") == number);
    }
    let address = server.address.clone();
    drop(server);
    let server = Server::begin(&dir, &["--writable", "--listen", &address]);
    let item = serde_json::json!({ "fingerprint": "0f0f0f0f00000000", "id": "y" });
    let body = serde_json::json!({ "items": [item], "k": 0 });
    assert_eq!(server.post_json("/v1/check-and-add", &body).json()["added"], 1);
    wait_for("it follows again", || count("y") == 1);
    assert!(follower.try_wait().unwrap().is_none(), "it is still there");
    follower.kill().unwrap();
    follower.wait().unwrap();
}

/// Starts a server that follows the server at `url`, with its copy in `copy.fps`.
fn follower(dir: &TestDir, url: &str, args: &[&str]) -> Server {
    let serve = ["serve", "-s", "copy.fps", "--follow", url, "--listen", "127.0.0.1:0"];
    Server::begin_as(dir, &[&serve[..], &["--refresh-every", "20ms"], args].concat())
}

fn add(server: &Server, value: u64, id: &str) {
    let item = serde_json::json!({ "fingerprint": format!("{value:016x}"), "id": id });
    let body = serde_json::json!({ "items": [item], "k": 0 });
    assert_eq!(server.post_json("/v1/check-and-add", &body).json()["added"], 1, "{id}");
}

fn shows(server: &Server, id: &str) -> bool {
    let found = server.get(&format!("/v1/ids?id={id}")).json();
    !found["fingerprints"].as_array().unwrap().is_empty()
}

#[test]
fn a_follower_shows_each_state_and_is_not_ready_once_it_is_too_far_behind() {
    let dir = dir();
    let primary = Server::start(&dir, &["--writable", "--refresh-every", "10ms"]);
    let url = format!("http://{}", primary.address);
    let copy = follower(&dir, &url, &["--max-lag", "1s"]);
    copy.wait_until_ready();
    for number in 1..4 {
        add(&primary, number << 50, &format!("new-{number}"));
        wait_for("it follows", || shows(&copy, &format!("new-{number}")));
    }
    wait_for("nothing is behind", || copy.metric("fpstore_follow_lag_generations") == 0.0);
    assert!(copy.metric("fpstore_follow_bytes_total") > 0.0);
    let ready = copy.get("/readyz").json();
    assert_eq!((&ready["ready"], &ready["follow"]["from"]), (&true.into(), &url.clone().into()));
    // A second follower follows the first one.
    let chain = ["serve", "-s", "second.fps", "--listen", "127.0.0.1:0", "--refresh-every", "20ms"];
    let of_copy = format!("http://{}", copy.address);
    let second = Server::begin_as(&dir, &[&chain[..], &["--follow", &of_copy]].concat());
    wait_for("the second one follows", || shows(&second, "new-3"));
    // If the followed server ends, the follower answers from the last snapshot.
    let address = primary.address.clone();
    primary.kill();
    wait_for("it is too far behind", || copy.get("/readyz").status == 503);
    let ready = copy.get("/readyz").json();
    assert_eq!(ready["error"]["code"], "follow-lagging");
    let why = ready["error"]["message"].as_str().unwrap();
    assert!(why.contains(&url) && why.contains("cannot"), "{why}");
    assert!(shows(&copy, "new-3") && copy.get("/healthz").status == 200);
    assert_eq!(copy.metric("fpstore_ready"), 0.0);
    assert!(copy.metric("fpstore_follow_lag_seconds") > 1.0);
    assert!(copy.metric("fpstore_follow_failures_total") >= 1.0);
    assert_eq!(copy.post("/v1/refresh", "", "").code(), "refresh-failed");
    // After a restart, the reported lag counts from the last copied snapshot.
    drop(copy);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let copy = follower(&dir, &url, &["--max-lag", "1s"]);
    wait_for("it is loaded", || copy.get("/readyz").code() != "warming");
    assert_eq!(copy.get("/readyz").code(), "follow-lagging");
    let primary = Server::begin(&dir, &["--writable", "--listen", &address]);
    wait_for("it is ready again", || copy.get("/readyz").status == 200);
    add(&primary, 1 << 60, "late");
    wait_for("it follows again", || shows(&copy, "late"));
    assert_eq!(copy.get("/readyz?for=writes").code(), "not-writable");
    let (status, told) = copy.end();
    assert_eq!(status.code(), Some(0));
    // `told` lacks the lines before the address, so the message can be missing in it.
    assert!(told.matches("failed, the last state is kept").count() <= 1, "{told}");
    assert_eq!(told.matches("works again").count(), 1, "{told}");
}

/// A server process that is stopped by a signal: the system accepts connections, but nothing
/// answers.
#[test]
fn a_followed_server_that_hangs_is_noticed() {
    let dir = dir();
    let primary = Server::start(&dir, &["--writable"]);
    let copy = follower(&dir, &format!("http://{}", primary.address), &["--max-lag", "500ms"]);
    copy.wait_until_ready();
    primary.signal("STOP");
    wait_for("the lag is too long", || copy.get("/readyz").code() == "follow-lagging");
    assert!(shows(&copy, "late-0") || copy.get("/v1/info").status == 200);
    primary.signal("CONT");
    wait_for("it is ready again", || copy.get("/readyz").status == 200);
}

#[test]
fn writers_of_a_followed_store_are_refused_by_name() {
    let dir = dir();
    let primary = Server::start(&dir, &["--writable"]);
    let url = format!("http://{}", primary.address);
    drop(follower(&dir, &url, &[]));
    dir.ok(&["build", "-", "-s", "other.fps", "-q"], "0000000000000007\tx\n");
    let before = std::fs::read(dir.path("copy.fps/MANIFEST")).unwrap();
    let record = "00000000000000ff\tx\n";
    for args in [
        &["add", "-", "-s", "copy.fps"][..],
        &["dedup", "--add", "-", "-s", "copy.fps"],
        &["delete", "--id", "late 0", "-s", "copy.fps"],
        &["expire", "--before", "2026", "-s", "copy.fps"],
        &["compact", "-s", "copy.fps", "--all"],
        &["import", "other.fps", "-s", "copy.fps"],
        &["build", "-", "-s", "copy.fps", "--force"],
        &["serve", "-s", "copy.fps", "--writable", "--listen", "127.0.0.1:0"],
    ] {
        let output = dir.output(args, record);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {told}");
        assert!(told.contains(&format!("copy.fps follows {url}")), "{args:?}: {told}");
        assert!(told.contains("'fpstore promote copy.fps'"), "{args:?}: {told}");
    }
    assert_eq!(std::fs::read(dir.path("copy.fps/MANIFEST")).unwrap(), before);
    for args in [&["--writable"][..], &["-s", "other.fps"], &["--scrub-every", "0s"]] {
        let serve = ["serve", "-s", "copy.fps", "--follow", &url, "--listen", "127.0.0.1:0"];
        assert_eq!(dir.output(&[&serve, args].concat(), "").status.code(), Some(2), "{args:?}");
    }
    // A copy made by one `backup` is not a follower, so it can be changed.
    dir.ok(&["backup", "once.fps", "--server", &url, "-q"], "");
    dir.ok(&["add", "-", "-s", "once.fps", "-q"], record);
    let (_, told) = dir.run(&["promote", "once.fps"], 2);
    assert!(told.contains("follows no other store"), "{told}");
}

/// The failover described in docs/operations.md: a follower is promoted, then the old server
/// returns.
#[test]
fn a_promoted_follower_and_the_returned_primary_are_never_mixed() {
    let dir = dir();
    let primary = Server::start(&dir, &["--writable", "--refresh-every", "10ms"]);
    let (address, url) = (primary.address.clone(), format!("http://{}", primary.address));
    let copy = follower(&dir, &url, &[]);
    add(&primary, 1 << 50, "both");
    wait_for("it follows", || shows(&copy, "both"));
    let third = ["serve", "-s", "third.fps", "--listen", "127.0.0.1:0", "--refresh-every", "20ms"];
    drop(Server::begin_as(&dir, &[&third[..], &["--follow", &url]].concat()));
    copy.end();
    add(&primary, 2 << 50, "only-old");
    primary.kill();
    dir.ok(&["promote", "copy.fps", "-q"], "");
    let (_, told) = dir.run(&["promote", "copy.fps"], 2);
    assert!(told.contains("follows no other store"), "{told}");
    let promoted = ["serve", "-s", "copy.fps", "--writable", "--listen", "127.0.0.1:0"];
    let promoted = Server::begin_as(&dir, &promoted);
    add(&promoted, 4 << 50, "only-new");
    add(&promoted, 5 << 50, "only-new-too");
    // The old server returns, and both stores have changed: neither copies a snapshot of the other.
    let old = Server::begin(&dir, &["--writable", "--listen", &address]);
    add(&old, 8 << 50, "only-old-too");
    let new_url = format!("http://{}", promoted.address);
    for (folder, from) in [("copy.fps", &url), ("store.fps", &new_url), ("third.fps", &new_url)] {
        let (_, told) = dir.run(&["backup", folder, "--server", from], 2);
        assert!(
            told.contains("holds another store") || told.contains("is writing to"),
            "{folder}: {told}"
        );
    }
    old.end();
    let (_, told) = dir.run(&["backup", "store.fps", "--server", &new_url], 2);
    assert!(told.contains("holds another store"), "{told}");
    // `serve --follow` refuses the snapshots of the other store, too.
    let wrong =
        Server::begin_as(&dir, &[&third[..], &["--follow", &new_url, "--max-lag", "1ms"]].concat());
    wait_for("it is refused", || {
        wrong.get("/readyz").json()["error"]["message"]
            .as_str()
            .is_some_and(|why| why.contains("holds another store"))
    });
    assert!(shows(&wrong, "both") && !shows(&wrong, "only-new"));
    drop(wrong);
    let in_both = |id: &str| [&promoted].iter().all(|server| shows(server, id));
    assert!(in_both("both") && in_both("only-new") && in_both("only-new-too"));
    assert!(!in_both("only-old") && !in_both("only-old-too"));
    let (old, _) = dir.run(&["dump", "-s", "store.fps"], 0);
    assert!(old.contains("\tonly-old\n") && old.contains("\tonly-old-too\n"), "{old}");
    assert!(old.contains("\tboth\n") && !old.contains("only-new"), "{old}");
    // A follower with a new folder can follow the promoted store.
    let fourth = ["serve", "-s", "fourth.fps", "--listen", "127.0.0.1:0", "--follow", &new_url];
    let fourth = Server::begin_as(&dir, &fourth);
    assert!(shows(&fourth, "only-new-too"));
    // Records that only the old store has are added from its dump.
    let (new, _) = dir.run(&["dump", "-s", "copy.fps"], 0);
    let missing: String =
        old.lines().filter(|line| !new.contains(line)).map(|line| format!("{line}\n")).collect();
    assert_eq!(missing.lines().count(), 2, "{missing}");
    promoted.end();
    dir.ok(&["add", "-", "-s", "copy.fps", "-q"], &missing);
    let (new, _) = dir.run(&["dump", "-s", "copy.fps"], 0);
    assert!(old.lines().all(|line| new.contains(line)));
}
