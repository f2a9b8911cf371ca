//! What the server says of itself: what it holds, whether it is well, what it has counted.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use serde_json::json;

use super::failure::Failure;
use super::params::{Params, pairs};
use super::request::{Body, JSON, response};
use super::server::{Server, chain};

/// The text format of Prometheus.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Refuses parameters where there are none.
fn no_params(request: &Request<Incoming>) -> Result<(), Failure> {
    Params::from_pairs(pairs(request.uri())?, &[], "").map(drop)
}

/// `/v1/info`.
pub(super) fn info(
    server: &Server,
    request: &Request<Incoming>,
) -> Result<Response<Body>, Failure> {
    no_params(request)?;
    let info = server.store().info();
    let shown = server.shown();
    let id: String = info.store_id.iter().map(|byte| format!("{byte:02x}")).collect();
    let answer = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "store": {
            "path": server.path.display().to_string(),
            "id": id,
            "generation": info.generation,
            "segments": info.segments.len(),
            "fingerprints": info.fingerprint_count(),
            "ids": info.id_count(),
            "bytes": info.file_len(),
            "k": shown.tuned_k,
            "sketch_bytes": shown.sketch_len,
            "recipe": server.store().recipe().map(|recipe| recipe.text().to_string()),
        },
        "takes_texts": shown.hasher.is_ok(),
        "writable": server.writing.is_some(),
        "needs_token": {
            "to_read": server.tokens.guard_reading(),
            "to_write": server.tokens.guard_reading() || server.tokens.guard_writing(),
        },
        "templates": server.templates,
        "limits": server.limits.shown(),
    });
    Ok(response(StatusCode::OK, JSON, format!("{answer}\n")))
}

/// `/healthz`: the process answers.
pub(super) fn healthy() -> Response<Body> {
    response(StatusCode::OK, JSON, "{\"alive\":true}\n")
}

/// `/readyz`: whether requests should come here.
pub(super) fn ready(server: &Server) -> Response<Body> {
    let fault = server.health().fault();
    let status = match fault {
        None => StatusCode::OK,
        Some(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut answer = json!({ "ready": fault.is_none(), "generation": server.shown().generation });
    if let Some((code, message)) = fault {
        answer["error"] = json!({ "code": code, "message": message });
    }
    if let Some((why, seconds)) = server.health().failing_refresh() {
        answer["refresh"] = json!({ "failing_seconds": seconds, "message": why });
    }
    response(status, JSON, format!("{answer}\n"))
}

/// `/metrics`.
pub(super) fn metrics(server: &Server) -> Response<Body> {
    response(StatusCode::OK, METRICS, server.metrics.text(server))
}

/// `/v1/refresh`: shows the newest state now.
pub(super) async fn refresh(
    server: &Arc<Server>,
    request: &Request<Incoming>,
) -> Result<Response<Body>, Failure> {
    no_params(request)?;
    let of = Arc::clone(server);
    let Ok(one) = Arc::clone(&server.refreshes).try_acquire_owned() else {
        return Err(refused(server, "another refresh is under way"));
    };
    let work = move || {
        let refreshed = of.refresh();
        drop(one);
        refreshed
    };
    let refreshed = tokio::task::spawn_blocking(work).await.map_err(|_| Failure::broken())?;
    let changed = refreshed.map_err(|error| {
        let message = format!("the state before is still shown: {}", chain(&error));
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, "refresh-failed", message)
    })?;
    let answer = json!({ "changed": changed, "generation": server.shown().generation });
    Ok(response(StatusCode::OK, JSON, format!("{answer}\n")))
}

/// Keeps the count of requests that were refused.
pub(super) fn refused(server: &Server, message: impl std::fmt::Display) -> Failure {
    server.metrics.refused.fetch_add(1, Relaxed);
    Failure::busy(message)
}
