//! The settings, the health and the metrics of the server.

use std::sync::Arc;

use hyper::{StatusCode, Uri};
use serde_json::json;

use crate::protocol::failure::{Failure, FaultCode, chain};
use crate::protocol::params::no_options;
use crate::protocol::request::{HttpResponse, HttpResult, JSON, json_response, response};
use crate::state::lanes::blocking;
use crate::state::shared::Shared;
use fpstore::FORMAT_VERSIONS;
use fpstore_client::{NeedsToken, ServerInfo};

/// The text format of Prometheus.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// `/v1/info`.
pub(crate) fn info(server: &Shared, uri: &Uri) -> HttpResult {
    no_options(uri)?;
    let opened = server.live.opened();
    let tokens = server.tokens();
    let guards_reading = tokens.guard_reading();
    let answer = ServerInfo {
        version: env!("CARGO_PKG_VERSION").into(),
        format_versions: [*FORMAT_VERSIONS.start(), *FORMAT_VERSIONS.end()],
        store: server.live.store().info(),
        stores: server.live.stores(),
        takes_texts: opened.hasher.is_ok(),
        writable: server.writing.is_some(),
        needs_token: NeedsToken {
            to_read: guards_reading,
            to_write: guards_reading || tokens.guard_writing(),
        },
        templates: server.templates.clone(),
        limits: server.limits.clone(),
    };
    Ok(json_response(StatusCode::OK, &answer))
}

/// `/healthz`: the process answers.
pub(crate) fn healthy() -> HttpResponse {
    response(StatusCode::OK, JSON, "{\"alive\":true}\n")
}

/// `/readyz`: whether the server should receive requests.
pub(crate) fn ready(server: &Shared) -> HttpResponse {
    let fault = server.live.health.fault();
    let status = match fault {
        None => StatusCode::OK,
        Some(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut answer =
        json!({ "ready": fault.is_none(), "generation": server.live.opened().generation });
    if let Some((code, message)) = &fault {
        answer["error"] = json!({ "code": code, "message": message });
    }
    if let Some((why, seconds)) = server.live.health.failing_refresh() {
        answer["refresh"] = json!({ "failing_seconds": seconds, "message": why });
    }
    if let Some((why, seconds)) = server.live.health.failing_commit() {
        answer["commits"] = json!({ "failing_seconds": seconds, "message": why });
    }
    if let Some((faults, first)) = server.live.scrubbed.found() {
        answer["scrub"] = json!({ "faults": faults, "message": first });
    }
    let mut response = json_response(status, &answer);
    if let Some((code, _)) = fault {
        response.extensions_mut().insert(FaultCode(code));
    }
    response
}

/// `/metrics`.
pub(crate) fn metrics(server: &Shared) -> HttpResponse {
    response(StatusCode::OK, METRICS, server.live.metrics_text(server.bodies.held()))
}

/// `/v1/refresh`: switches to the newest state of the store now.
pub(crate) async fn refresh(server: &Arc<Shared>, uri: &Uri) -> HttpResult {
    no_options(uri)?;
    let live = Arc::clone(&server.live);
    let Ok(one) = Arc::clone(&server.refreshes).try_acquire_owned() else {
        return Err(server.live.refused("another refresh is under way"));
    };
    let work = move || {
        let refreshed = live.refresh();
        drop(one);
        refreshed
    };
    let changed = blocking(work).await?.map_err(|error| {
        let message = format!("the state before is still shown: {}", chain(&error));
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, "refresh-failed", message)
    })?;
    let answer = json!({ "changed": changed, "generation": server.live.opened().generation });
    Ok(json_response(StatusCode::OK, &answer))
}
