//! The console: files of `console/dist`, built into the binary.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use rust_embed::{EmbeddedFile, RustEmbed};
use std::borrow::Cow;

/// Nothing from elsewhere, nothing inline but what the page computes as style.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; manifest-src 'self'; \
    worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Files whose name carries a hash of their content never change.
const FOREVER: &str = "public, max-age=31536000, immutable";

const ABSENT: &str = "<!doctype html><meta charset=utf-8><title>Tandem</title>\
    <p>This binary was built without the console. Build it with <code>make console</code>, then \
    build Tandem again. The API is at <code>/api/v1/openapi.json</code>.";

#[derive(RustEmbed)]
#[folder = "../../console/dist"]
struct Dist;

/// Answers a request for a file of the console; unknown paths without an extension are the
/// console's own pages.
pub async fn serve(uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    let name = if path.is_empty() { "index.html" } else { path };
    if let Some(file) = Dist::get(name) {
        return found(name, &file, &headers);
    }
    let is_page =
        !name.rsplit('/').next().unwrap_or_default().contains('.') || name == "index.html";
    match Dist::get("index.html") {
        Some(file) if is_page => found("index.html", &file, &headers),
        None if is_page => {
            let response = (StatusCode::OK, Body::from(ABSENT)).into_response();
            dressed(response, "text/html; charset=utf-8", "no-cache")
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn found(name: &str, file: &EmbeddedFile, headers: &HeaderMap) -> Response {
    let hash: String =
        file.metadata.sha256_hash()[..16].iter().map(|b| format!("{b:02x}")).collect();
    let tag = format!("\"{hash}\"");
    let cache = if name.starts_with("assets/") { FOREVER } else { "no-cache" };
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known == tag.as_str());
    let kind = mime_guess::from_path(name).first_or_octet_stream();
    let mut response = if known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let body = match file.data.clone() {
            Cow::Borrowed(bytes) => Body::from(bytes),
            Cow::Owned(bytes) => Body::from(bytes),
        };
        (StatusCode::OK, body).into_response()
    };
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    let text = matches!(kind.type_().as_str(), "text") || kind.subtype() == "javascript";
    let kind = if text { format!("{kind}; charset=utf-8") } else { kind.to_string() };
    dressed(response, &kind, cache)
}

fn dressed(mut response: Response, kind: &str, cache: &'static str) -> Response {
    let headers = response.headers_mut();
    if let Ok(kind) = HeaderValue::from_str(kind) {
        headers.insert(header::CONTENT_TYPE, kind);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
