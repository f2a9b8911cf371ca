//! Tests the server and the client as libraries, embedded in a program with its own runtime.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fpstore::{Builder, Error, Fingerprint, Store};
use fpstore_client::{AddBody, AddItem, AddStatus, Client, ClientError, QueryOptions};
use fpstore_server::{ServeSettings, Server, WritingOptions};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use serde_json::{Value, json};

fn store(folder: &Path, value: u64) -> PathBuf {
    let path = folder.join(format!("{value}.fps"));
    let mut builder = Builder::new(&path).unwrap();
    builder.push(Fingerprint::new(value), format!("id {value}").as_str()).unwrap();
    builder.finish().unwrap();
    path
}

fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Passes a request, which the embedding program received, to the server. Returns the status and
/// the body of the response.
async fn ask(server: &Server, request: Request<Full<Bytes>>) -> (u16, Value) {
    let response = server.handle(request).await;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap())
}

async fn wait_until_ready(server: &Server) {
    while ask(server, Request::get("/readyz").body(Full::default()).unwrap()).await.0 != 200 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn servers_of_one_thread_do_not_mix_their_stores() {
    let folder = tempfile::tempdir().unwrap();
    let open = |value| {
        let server = Server::open(store(folder.path(), value), ServeSettings::default());
        (server.unwrap(), value)
    };
    let servers = [open(1), open(1 << 40)];
    within(async {
        for (server, _) in &servers {
            wait_until_ready(server).await;
        }
        for (server, value) in servers.iter().cycle().take(6) {
            let body = json!({ "fingerprint": format!("{value:016x}"), "k": 1 }).to_string();
            let request = Request::post("/v1/query").header("content-type", "application/json");
            let (status, answer) = ask(server, request.body(body.into()).unwrap()).await;
            assert_eq!(status, 200, "{answer}");
            assert_eq!(answer["matches"][0]["ids"], json!([format!("id {value}")]));
            assert_eq!(answer["matches"].as_array().unwrap().len(), 1);
        }
    });
}

#[test]
fn a_client_gets_typed_answers_from_a_server_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = store(folder.path(), 7);
    let settings =
        ServeSettings { writing: Some(WritingOptions::default()), ..ServeSettings::default() };
    let server = Server::open(&path, settings).unwrap();
    let second = Server::open(
        &path,
        ServeSettings { writing: Some(WritingOptions::default()), ..ServeSettings::default() },
    );
    assert!(matches!(second.err(), Some(Error::Locked { .. })));
    within(async {
        let listener = server.bind(&"127.0.0.1:0".parse().unwrap()).unwrap();
        let mut client = Client::new(&listener.address().to_string()).unwrap();
        let running = tokio::spawn(server.clone().run(listener));
        let info = client.info().await.unwrap();
        assert_eq!((info.store.fingerprints, info.writable), (1, true));
        assert_eq!(info.store.segments[0].id_kind, fpstore::IdKind::Text);
        while !client.ready().await.unwrap().ready {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(!client.refresh().await.unwrap().changed);
        assert_eq!(info.limits.deadline, Duration::from_secs(10));

        let item = |fingerprint: &'static str, id: &'static str| AddItem {
            fingerprint: Some(fingerprint.into()),
            id: Some(id.into()),
            text: None,
        };
        let items = [item("6", "near 7"), item("ff00000000000000", "far"), item("zz", "bad")];
        let body = |count| AddBody { items: items[..count].to_vec(), ..AddBody::default() };
        let added = client.check_and_add(&body(2)).await.unwrap();
        let status: Vec<AddStatus> = added.results.iter().map(|item| item.status).collect();
        assert_eq!(status, [AddStatus::Near, AddStatus::New]);
        assert_eq!(
            added.results[0].near.as_ref().unwrap().fingerprint.fingerprint,
            Fingerprint::new(7)
        );
        assert_eq!((added.added, added.durable), (1, true));
        let refused = client.check_and_add(&body(3)).await.unwrap_err();
        let is_bad = |code: &str| code == "bad-fingerprint";
        assert!(matches!(refused, ClientError::Refused { code, .. } if is_bad(&code)));

        let needles = [Fingerprint::new(5), Fingerprint::new(0xff << 56)];
        let near = QueryOptions { k: Some(1), ..QueryOptions::default() };
        let answers = client.query_many(&needles, &near).await.unwrap();
        assert_eq!(answers[0].matches[0].distance, 1);
        assert_eq!(answers[1].matches[0].ids, Some(vec!["far".to_string()]));
        assert_eq!(answers[0].generation, Some(added.generation));
        let many: Vec<Fingerprint> = (0..25_000).map(Fingerprint::new).collect();
        let exact = QueryOptions { k: Some(0), ..QueryOptions::default() };
        let mut found = Vec::new();
        let all = client.query_all(&many, &exact, |answer| {
            found.push(answer);
            Ok::<(), ClientError>(())
        });
        all.await.unwrap();
        assert_eq!(found.len(), many.len());
        assert!(found.iter().zip(&many).all(|(answer, &query)| answer.query == query.into()));
        assert!(found.iter().all(|it| it.matches.len() == usize::from(it.query == many[7].into())));
        let nearest = QueryOptions { count: Some(2), ..QueryOptions::default() };
        let answer = client.query(needles[1], &nearest).await.unwrap();
        assert_eq!((answer.query, answer.matches.len()), (needles[1].into(), 2));

        let found = client.find_id("far").await.unwrap();
        assert_eq!((found.id.as_str(), found.fingerprints), ("far", vec![needles[1].into()]));
        assert!(client.find_id("n\u{f6} & one?").await.unwrap().fingerprints.is_empty());
        let deleted = client.delete_ids(vec!["far".into(), "none".into()]).await.unwrap();
        assert_eq!((deleted.wanted, deleted.found, deleted.ids), (2, 1, 1));
        assert!(client.query(needles[1], &near).await.unwrap().matches.is_empty());
        server.shutdown();
        running.await.unwrap().unwrap();
        assert!(matches!(client.info().await, Err(ClientError::Connection { .. })));
    });
    assert_eq!(Store::open(&path).unwrap().info().fingerprint_count(), 1);
    drop(fpstore::Writer::open(&path).unwrap());
}
