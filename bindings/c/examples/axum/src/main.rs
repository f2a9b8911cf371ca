//! A search frontend: `fpstore-axum STORE ADDRESS`, then `GET /near?fingerprint=HEX&k=3`.

use std::cell::RefCell;
use std::error::Error;
use std::time::{Duration, Instant};

use axum::extract::{Query, State};
use axum::{Json, Router, http::StatusCode, routing::get};
use fpstore::{Fingerprint, Limits, Searcher, Store, Warm};
use serde::{Deserialize, Serialize};

thread_local! {
    /// The searcher of this thread, which keeps its memory from query to query.
    static SEARCHER: RefCell<Option<Searcher>> = const { RefCell::new(None) };
}

/// Longer searches run on another thread, because they would delay the other requests of this one.
const IN_PLACE_NANOS: f64 = 20_000.0;

#[derive(Deserialize)]
struct Asked {
    fingerprint: String,
    k: u32,
}

#[derive(Serialize)]
struct Match {
    fingerprint: String,
    distance: u32,
    ids: Vec<String>,
}

fn search(store: &Store, needle: Fingerprint, k: u32) -> fpstore::Result<Vec<Match>> {
    SEARCHER.with_borrow_mut(|searcher| {
        let searcher = searcher.get_or_insert_with(|| store.searcher());
        searcher.follow(store);
        let limits = Limits::default().limit(100).deadline(Instant::now() + Duration::from_secs(1));
        let answer = searcher.search_with(needle, k, &limits)?;
        let row = |hit: fpstore::Hit<'_>| {
            let ids: fpstore::Result<_> = hit.ids().map(|id| id.map(|id| id.to_string())).collect();
            let fingerprint = hit.fingerprint().to_string();
            Ok(Match { fingerprint, distance: hit.distance(), ids: ids? })
        };
        answer.hits().map(row).collect()
    })
}

async fn near(
    State(store): State<Store>,
    Query(Asked { fingerprint, k }): Query<Asked>,
) -> Result<Json<Vec<Match>>, (StatusCode, String)> {
    let bad = |error: &dyn Error| (StatusCode::BAD_REQUEST, error.to_string());
    let needle = fingerprint.parse().map_err(|error| bad(&error))?;
    let found = if store.expected_nanos(k).map_err(|error| bad(&error))? < IN_PLACE_NANOS {
        search(&store, needle, k)
    } else {
        let searched = tokio::task::spawn_blocking(move || search(&store, needle, k));
        searched.await.expect("a search does not panic")
    };
    found.map(Json).map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, path, address] = args.as_slice() else { return Err("STORE ADDRESS".into()) };
    let store = Store::open(path)?;
    store.warm(Warm::Hot)?;
    let newest = store.clone();
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_millis(200));
            let Err(error) = newest.refresh_warm(Warm::Hot) else { continue };
            eprintln!("the state before is still shown: {error}");
        }
    });
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, Router::new().route("/near", get(near)).with_state(store)).await?)
}
