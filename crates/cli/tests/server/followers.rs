//! Followers: serving the files of a snapshot over HTTP, and folders that mirror the newest
//! snapshot.

use std::process::{Command, Stdio};

use fpstore::writer::BackupOptions;
use fpstore::{IdRef, Store, Writer};
use fpstore_client::{Client, backup};

use crate::common::http::{Server, wait_for};
use crate::common::program::Desk;
use crate::common::{clustered, records_of};
use crate::server::queries::desk_of;

/// A store with four segments; two of them have deletions.
fn desk() -> Desk {
    let desk = desk_of(&clustered(3000, 5));
    let mut writer = Writer::open(desk.path("store.fps")).unwrap();
    for number in 0..2_u64 {
        writer.push((number << 40).into(), IdRef::Text(&format!("late {number}"))).unwrap();
        writer.commit_alone().unwrap();
    }
    let some: Vec<_> =
        clustered(3000, 5).into_iter().take(9).map(|(value, _)| value.into()).collect();
    writer.delete_fingerprints(&some).unwrap();
    desk
}

#[test]
fn files_have_ranges_and_tags_that_proxies_understand() {
    let desk = desk();
    let server = Server::start(&desk, &[]);
    let mut connection = server.connect();
    let manifest = connection.ask("GET", "/v1/files/MANIFEST", &[], b"");
    assert_eq!(manifest.body, std::fs::read(desk.path("store.fps/MANIFEST")).unwrap());
    assert_eq!(manifest.header("cache-control"), Some("no-cache"));
    let mut seen = 0;
    for file in std::fs::read_dir(desk.path("store.fps")).unwrap() {
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
    let desk = desk();
    let server = Server::start(&desk, &["--writable", "--refresh-every", "10ms"]);
    let mut client = Client::new(&format!("http://{}", server.address)).unwrap();
    let to = desk.path("copy.fps");
    let options = BackupOptions::default();
    let first = backup(&mut client, &to, &options).unwrap();
    assert_eq!((first.copied, first.kept, first.is_new), (4, 0, true));
    let (source, copy) = (Store::open(desk.path("store.fps")).unwrap(), Store::open(&to).unwrap());
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
    // A folder that contains another store is not changed.
    let other = desk.path("other.fps");
    desk.ok(&["build", "-", "-s", "other.fps", "-q"], "0000000000000007\tx\n");
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
    let desk = desk();
    let listen = ["--writable", "--refresh-every", "10ms"];
    let server = Server::start(&desk, &listen);
    let url = format!("http://{}", server.address);
    let mut follower = Command::new(env!("CARGO_BIN_EXE_fpstore"))
        .args(["backup", "copy.fps", "--server", &url, "--every", "20ms"])
        .current_dir(desk.path("."))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let count = |id: &str| {
        let copy = Store::open(desk.path("copy.fps")).ok();
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
    let server = Server::begin(&desk, &["--writable", "--listen", &address]);
    let item = serde_json::json!({ "fingerprint": "0f0f0f0f00000000", "id": "y" });
    let body = serde_json::json!({ "items": [item], "k": 0 });
    assert_eq!(server.post_json("/v1/check-and-add", &body).json()["added"], 1);
    wait_for("it follows again", || count("y") == 1);
    assert!(follower.try_wait().unwrap().is_none(), "it is still there");
    follower.kill().unwrap();
    follower.wait().unwrap();
}
