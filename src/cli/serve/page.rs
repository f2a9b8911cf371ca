//! The page for people, and the description of the interface for programs.

use clap::Args;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::{Response, StatusCode};
use serde::Serialize;

use super::request::{Body, JSON, response};

/// The description of the interface.
pub(super) const OPEN_API: &str = include_str!("openapi.json");

/// Files of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum File {
    Page,
    Style,
    Script,
    OpenApi,
}

/// How the page shows what an id stands for.
#[derive(Args, Clone, Debug, Serialize)]
#[command(next_help_heading = "Page")]
pub(super) struct Templates {
    /// Where the page leads from an id, such as https://example.org/{id}; {id} alone if ids are
    /// addresses
    #[arg(long, value_name = "TEMPLATE", value_parser = template)]
    link: Option<String>,
    /// The picture that the page shows for an id
    #[arg(long, value_name = "TEMPLATE", value_parser = template)]
    image: Option<String>,
}

fn template(text: &str) -> Result<String, String> {
    if text.contains("{id}") { Ok(text.into()) } else { Err("expected {id} in it".into()) }
}

/// The page runs its own script and style, speaks with this server, and shows pictures.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src http: https: data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

pub(super) fn answer(file: File) -> Response<Body> {
    let (kind, text) = match file {
        File::Page => ("text/html; charset=utf-8", include_str!("page/page.html")),
        File::Style => ("text/css; charset=utf-8", include_str!("page/page.css")),
        File::Script => ("text/javascript; charset=utf-8", include_str!("page/page.js")),
        File::OpenApi => (JSON, OPEN_API),
    };
    let mut response = response(StatusCode::OK, kind, text);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert("referrer-policy", HeaderValue::from_static("no-referrer"));
    response
}
