//! The table of routes, for dispatching requests and for the labels of metrics.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use http_body_util::Either;
use hyper::header::{DATE, HOST, HeaderName, ORIGIN};
use hyper::http::uri::Authority;
use hyper::{Method, Response, StatusCode, Version};

use super::access_log::{Noted, forwarded_for};
use super::address::{is_local_name, name_of};
use super::date;
use super::failure::{Failure, FaultCode};
use super::request::{HttpRequest, HttpResponse, HttpResult};
use super::slow_clients::BusyGuard;
use super::tokens::Right;
use crate::api::question::QueryKind;
use crate::api::{changes, check_and_add, files, find_id, info, page, price, query, text};
use crate::state::shared::Shared;

/// The routes that a listener serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    All,
    /// Serves only `/metrics`, `/healthz` and `/readyz`, without tokens.
    Metrics,
}

/// A route: a method, a path, the needed right, and the handler.
#[derive(Debug)]
struct Route {
    method: &'static str,
    path: &'static str,
    right: Right,
    to: To,
}

/// The handler of a route.
#[derive(Clone, Copy, Debug)]
enum To {
    Query(QueryKind),
    Text,
    CheckAndAdd,
    Files,
    FindId,
    DeleteIds,
    Replace,
    Expire,
    Label,
    Compact,
    Import,
    Refresh,
    Info,
    Plan,
    Healthy,
    Ready,
    Metrics,
    Page(page::File),
}

impl Route {
    /// Whether a path matches the route. `{name}` at the end of a route matches any text without a
    /// slash.
    fn is_at(&self, path: &str) -> bool {
        match self.path.strip_suffix("{name}") {
            Some(start) => path.strip_prefix(start).is_some_and(|name| !name.contains('/')),
            None => self.path == path,
        }
    }
}

const fn route(method: &'static str, path: &'static str, right: Right, to: To) -> Route {
    Route { method, path, right, to }
}

/// The header in which browsers state how the site of a requesting page relates to this server.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// All routes. Methods are in capitals, as in hyper.
const ROUTES: [Route; 24] = [
    route("GET", "/v1/query", Right::Read, To::Query(QueryKind::Near)),
    route("POST", "/v1/query", Right::Read, To::Query(QueryKind::Near)),
    route("GET", "/v1/nearest", Right::Read, To::Query(QueryKind::Nearest)),
    route("POST", "/v1/nearest", Right::Read, To::Query(QueryKind::Nearest)),
    route("POST", "/v1/text", Right::Read, To::Text),
    route("POST", "/v1/check-and-add", Right::Write, To::CheckAndAdd),
    route("GET", "/v1/ids", Right::Read, To::FindId),
    route("DELETE", "/v1/ids", Right::Write, To::DeleteIds),
    route("PUT", "/v1/ids", Right::Write, To::Replace),
    route("POST", "/v1/expire", Right::Write, To::Expire),
    route("POST", "/v1/label", Right::Write, To::Label),
    route("POST", "/v1/compact", Right::Write, To::Compact),
    route("POST", "/v1/import", Right::Write, To::Import),
    route("GET", "/v1/info", Right::Read, To::Info),
    route("GET", "/v1/plan", Right::Read, To::Plan),
    route("POST", "/v1/refresh", Right::Read, To::Refresh),
    route("GET", "/v1/files/{name}", Right::Read, To::Files),
    route("GET", "/healthz", Right::Open, To::Healthy),
    route("GET", "/readyz", Right::Open, To::Ready),
    route("GET", "/metrics", Right::Read, To::Metrics),
    route("GET", "/openapi.json", Right::Open, To::Page(page::File::OpenApi)),
    route("GET", "/", Right::Open, To::Page(page::File::Page)),
    route("GET", "/page.css", Right::Open, To::Page(page::File::Style)),
    route("GET", "/page.js", Right::Open, To::Page(page::File::Script)),
];

/// Answers a request. It never fails: a failure is an answer too.
pub(crate) async fn handle(
    server: &Arc<Shared>,
    request: HttpRequest,
    door: Door,
    client: Option<IpAddr>,
    busy: BusyGuard,
) -> HttpResponse {
    let start = Instant::now();
    let found = find(request.method(), request.uri().path());
    let at = found.as_ref().ok().copied();
    let client = match server.behind_proxy {
        true => forwarded_for(&request),
        false => client,
    };
    let noted = Noted::of(&request, client, server.access_log.as_ref());
    let answered = match found {
        Ok(at) => answer(server, &ROUTES[at], door, request, busy).await,
        Err(failure) => Err(failure),
    };
    let code = answered.as_ref().err().map(|failure| failure.code);
    let mut response = answered.unwrap_or_else(Response::from);
    // A stream gets no headers of a snapshot, because its lines come from several snapshots.
    if matches!(response.body(), Either::Left(_)) {
        server.live.opened().witness.sign(response.headers_mut());
    }
    response.headers_mut().insert(DATE, date::now());
    let code = code.or_else(|| response.extensions().get().map(|FaultCode(code)| *code));
    let time = start.elapsed();
    server.live.metrics.answered(at, response.status(), time);
    if let Some(noted) = noted {
        noted.answered(&mut response, code, time);
    }
    response
}

/// The method and the path of each route, in the order of the table.
pub(crate) fn names() -> Vec<(&'static str, &'static str)> {
    ROUTES.iter().map(|route| (route.method, route.path)).collect()
}

/// The position of the route of a request.
fn find(method: &Method, path: &str) -> Result<usize, Failure> {
    // The answer to HEAD is the head of the answer to GET.
    let method = if method == Method::HEAD { "GET" } else { method.as_str() };
    let is_there = |route: &&Route| route.is_at(path);
    if let Some(at) = ROUTES.iter().position(|route| route.method == method && route.is_at(path)) {
        return Ok(at);
    }
    let allowed: Vec<&str> = ROUTES.iter().filter(is_there).map(|route| route.method).collect();
    if allowed.is_empty() {
        let message =
            format!("there is no '{}'; /openapi.json lists all routes", path.escape_debug());
        return Err(Failure::new(StatusCode::NOT_FOUND, "not-found", message));
    }
    let allowed = allowed.join(", ");
    let message = format!("{path} takes {allowed}");
    let failure = Failure::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", message);
    Err(Failure { allow: Some(allowed.into()), ..failure })
}

async fn answer(
    server: &Arc<Shared>,
    route: &Route,
    door: Door,
    request: HttpRequest,
    busy: BusyGuard,
) -> HttpResult {
    if door == Door::Metrics {
        return match route.to {
            To::Healthy => Ok(info::healthy()),
            To::Ready => info::ready(server, request.uri()),
            To::Metrics => Ok(info::metrics(server)),
            _ => {
                let message = "this address has only /metrics, /healthz and /readyz";
                Err(Failure::new(StatusCode::NOT_FOUND, "not-found", message))
            }
        };
    }
    check_origin(server, route.right, &request)?;
    server.tokens().check(route.right, request.headers()).inspect_err(|failure| {
        server.live.metrics.denied(failure.code);
    })?;
    match route.to {
        To::Query(wanted) => query::answer(server, wanted, request, busy).await,
        To::Text => text::answer(server, request).await,
        To::CheckAndAdd => check_and_add::answer(server, request).await,
        To::Files => files::answer(server, request, busy).await,
        To::FindId => find_id::answer(server, request).await,
        To::DeleteIds => changes::delete(server, request).await,
        To::Replace => changes::replace(server, request).await,
        To::Expire => changes::expire(server, request).await,
        To::Label => changes::label(server, request).await,
        To::Compact => changes::compact(server, request).await,
        To::Import => changes::import(server, request).await,
        To::Refresh => info::refresh(server, request.uri()).await,
        To::Plan => price::plan(server, request.uri()),
        To::Info => info::info(server, request.uri()),
        To::Healthy => Ok(info::healthy()),
        To::Ready => info::ready(server, request.uri()),
        To::Metrics => Ok(info::metrics(server)),
        To::Page(file) => Ok(page::answer(file)),
    }
}

/// Refuses requests of foreign web pages: a page in a browser on this machine could reach the
/// server, change it, or keep it busy.
fn check_origin(server: &Shared, right: Right, request: &HttpRequest) -> Result<(), Failure> {
    let headers = request.headers();
    let forbidden = |code, message: String| Failure::new(StatusCode::FORBIDDEN, code, message);
    let named = host_of(request)?;
    let authority = request.uri().authority().map(Authority::as_str);
    let host = named.or(authority);
    // A request line with a full URL contains a second host name. Both names are checked.
    for host in [named, authority].into_iter().flatten() {
        let Some(allowed) = &server.hosts else { break };
        let name = name_of(host);
        if !is_local_name(host) && !allowed.iter().any(|it| it.eq_ignore_ascii_case(name)) {
            let name = name.escape_debug();
            let message = format!(
                "'{name}' is not a name of this server; to accept it, start the server with --host \
                 {name}"
            );
            return Err(forbidden("wrong-host", message));
        }
    }
    if right == Right::Open {
        return Ok(());
    }
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let is_foreign =
        text(ORIGIN).is_some_and(|origin| origin.split_once("://").map(|(_, host)| host) != host);
    // Browsers send this header also with a GET request for a picture or a script, which has no
    // `Origin`.
    if is_foreign || text(FETCH_SITE) == Some("cross-site") {
        return Err(forbidden(
            "cross-origin",
            "requests from pages of other sites are not allowed".into(),
        ));
    }
    Ok(())
}

/// The header `Host`: at most one, in ASCII. An HTTP/1.1 request must contain it, unless a frontend
/// received the request.
fn host_of(request: &HttpRequest) -> Result<Option<&str>, Failure> {
    let bad = |what: &str| {
        let message = format!("{what}, expected one header Host with the name of this server");
        Err(Failure::bad("bad-host", message))
    };
    let mut values = request.headers().get_all(HOST).iter();
    match (values.next(), values.next()) {
        (Some(_), Some(_)) => bad("the request has several headers Host"),
        (Some(host), None) => match host.to_str() {
            Ok(host) => Ok(Some(host)),
            Err(_) => bad("the header Host is not ASCII"),
        },
        (None, _) => {
            let is_own = matches!(request.body(), Either::Left(_));
            match is_own && request.version() == Version::HTTP_11 {
                true => bad("the request has no header Host"),
                false => Ok(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    #[test]
    fn the_description_has_every_route_and_no_other() {
        let described: Value = serde_json::from_str(page::OPEN_API).unwrap();
        let paths = described["paths"].as_object().unwrap();
        let mut listed = BTreeSet::new();
        for (path, methods) in paths {
            for (method, operation) in methods.as_object().unwrap() {
                listed.insert((method.to_uppercase(), path.clone()));
                let responses = &operation["responses"];
                let has_success = responses["200"].is_object() || responses["202"].is_object();
                assert!(has_success, "{method} {path}");
                assert!(operation["operationId"].is_string(), "{method} {path}");
                let is_open = operation["security"].as_array().is_some_and(Vec::is_empty);
                let at = find(&method.to_uppercase().parse().unwrap(), path).unwrap();
                assert_eq!(is_open, ROUTES[at].right == Right::Open, "{method} {path}");
            }
        }
        // The HTML page is not part of the interface for programs.
        let routes = ROUTES
            .iter()
            .filter(|route| !matches!(route.to, To::Page(file) if file != page::File::OpenApi));
        let routes: BTreeSet<(String, String)> =
            routes.map(|route| (route.method.into(), route.path.into())).collect();
        assert_eq!(listed, routes);
        for wanted in [QueryKind::Near, QueryKind::Nearest] {
            let path = if wanted == QueryKind::Near { "/v1/query" } else { "/v1/nearest" };
            let listed = paths[path]["get"]["parameters"].as_array().unwrap();
            let name = |it: &Value| {
                let place = &it["$ref"].as_str().unwrap()[1..];
                described.pointer(place).unwrap()["name"].as_str().unwrap().to_string()
            };
            let listed: Vec<String> = listed.iter().map(name).collect();
            assert_eq!(listed, [&["fingerprint"], wanted.params()].concat(), "{path}");
        }
    }

    #[test]
    fn an_unknown_place_is_told_from_a_wrong_method() {
        assert_eq!(find(&Method::GET, "/v2/query").unwrap_err().code, "not-found");
        let wrong = find(&Method::PUT, "/v1/query").unwrap_err();
        assert_eq!((wrong.code, wrong.allow.as_deref()), ("method-not-allowed", Some("GET, POST")));
        assert_eq!(
            find(&Method::HEAD, "/healthz").unwrap(),
            find(&Method::GET, "/healthz").unwrap()
        );
    }
}
