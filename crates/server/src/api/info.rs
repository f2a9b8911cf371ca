//! The settings, the health and the metrics of the server.

use std::sync::Arc;

use hyper::{StatusCode, Uri};
use serde_json::json;

use crate::protocol::failure::{Failure, FaultCode, chain};
use crate::protocol::line_queue::LineQueue;
use crate::protocol::params::{no_options, pairs};
use crate::protocol::request::{HttpResponse, HttpResult, JSON, json_response, response};
use crate::state::lanes::blocking;
use crate::state::shared::Shared;
use fpstore::FORMAT_VERSIONS;
use fpstore_client::{NeedsToken, ServerInfo};

/// The answer of `/healthz`.
pub(crate) const ALIVE: &str = "{\"alive\":true}\n";
/// The text format of Prometheus.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Answers `/v1/info`.
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

/// `/healthz`: answers as long as the process runs.
pub(crate) fn healthy() -> HttpResponse {
    response(StatusCode::OK, JSON, ALIVE)
}

/// `/readyz`: whether the server should receive queries, or with `for=writes` changes.
pub(crate) fn ready(server: &Shared, uri: &Uri) -> HttpResult {
    let mut for_writes = false;
    for (name, value) in pairs(uri)? {
        for_writes = match (&*name, &*value) {
            ("for", "reads") => false,
            ("for", "writes") => true,
            ("for", other) => {
                let message = format!("for='{}', expected reads or writes", other.escape_debug());
                return Err(Failure::bad("bad-parameter", message));
            }
            (other, _) => {
                let message = format!("parameter is '{}', expected 'for'", other.escape_debug());
                return Err(Failure::bad("unknown-parameter", message));
            }
        };
    }
    let no_writer = || Some(("not-writable", "this server is read-only".to_string()));
    let of_writes = || match server.writing {
        Some(_) => server.live.health.writing_fault(),
        None => no_writer(),
    };
    let fault = server.live.fault().or_else(|| for_writes.then(of_writes).flatten());
    let status = match fault {
        None => StatusCode::OK,
        Some(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    let generation = server.live.opened().generation;
    let mut answer = json!({ "ready": fault.is_none(), "generation": generation });
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
    if let Some(following) = &server.live.following {
        answer["follow"] = following.report(generation);
    }
    let mut response = json_response(status, &answer);
    if let Some((code, _)) = fault {
        response.extensions_mut().insert(FaultCode(code));
    }
    Ok(response)
}

/// Answers `/metrics`.
pub(crate) fn metrics(server: &Shared) -> HttpResponse {
    let lost = server.access_log.as_ref().map_or(0, LineQueue::lost);
    response(StatusCode::OK, METRICS, server.live.metrics_text(server.bodies.held(), lost))
}

/// `/v1/refresh`: switches to the newest generation of the store now.
pub(crate) async fn refresh(server: &Arc<Shared>, uri: &Uri) -> HttpResult {
    no_options(uri)?;
    let live = Arc::clone(&server.live);
    let Ok(one) = Arc::clone(&server.refreshes).try_acquire_owned() else {
        return Err(server.live.refused("another refresh is running"));
    };
    let work = move || {
        let refreshed = live.refresh();
        drop(one);
        refreshed
    };
    let changed = blocking(work).await?.map_err(|error| {
        let message = format!("the earlier snapshot is still served: {}", chain(&error));
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, "refresh-failed", message)
    })?;
    let answer = json!({ "changed": changed, "generation": server.live.opened().generation });
    Ok(json_response(StatusCode::OK, &answer))
}
