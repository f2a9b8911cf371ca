//! The HTML page, and the OpenAPI description.

use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue, X_CONTENT_TYPE_OPTIONS};

use crate::protocol::request::{HttpResponse, JSON, response};

/// The OpenAPI description.
pub(crate) const OPEN_API: &str = include_str!("openapi.json");

/// The files of the page, and the OpenAPI description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum File {
    Page,
    Style,
    Script,
    OpenApi,
}

/// The content security policy: it allows scripts and styles from this server, requests to this
/// server, and pictures from anywhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src http: https: data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

pub(crate) fn answer(file: File) -> HttpResponse {
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
