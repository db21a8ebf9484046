//! The console: files of `console/dist`, built into the binary (`build.rs`), text packed with gzip
//! (RFC 1952). They are sent as they are to whoever takes that, as every browser does.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};

/// Nothing from elsewhere, nothing inline but what the page computes as style.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; manifest-src 'self'; \
    worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Files whose name carries a hash of their content never change.
const FOREVER: &str = "public, max-age=31536000, immutable";

const ABSENT: &str = "<!doctype html><meta charset=utf-8><title>Tandem</title>\
    <p>This binary was built without the console. Build it with <code>make console</code>, then \
    build Tandem again. The API is at <code>/api/v1/openapi.json</code>.";

/// Octets of gzip's header as `build.rs` writes it, and of its trailer (RFC 1952 §2.3).
const GZIP_HEADER: usize = 10;
const GZIP_TRAILER: usize = 8;

/// A file of the console.
struct File {
    /// Its path, `assets/page.js`.
    name: &'static str,
    /// Of its content.
    tag: &'static str,
    is_packed: bool,
    octets: &'static [u8],
}

static FILES: &[File] = &include!(concat!(env!("OUT_DIR"), "/console.rs"));

fn file(name: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.name == name)
}

impl File {
    /// The content, unpacked.
    fn unpacked(&self) -> Body {
        let end = self.octets.len().saturating_sub(GZIP_TRAILER);
        let deflated = self.octets.get(GZIP_HEADER..end).unwrap_or_default();
        let content = miniz_oxide::inflate::decompress_to_vec(deflated);
        Body::from(content.expect("build.rs has packed it"))
    }
}

/// Whether a client takes gzip (RFC 9110 §12.5.3).
fn takes_gzip(headers: &HeaderMap) -> bool {
    let said = headers.get_all(header::ACCEPT_ENCODING).iter();
    let mut codings = said.filter_map(|value| value.to_str().ok()).flat_map(|it| it.split(','));
    codings.any(|coding| {
        let mut words = coding.split(';').map(str::trim);
        let is_it = words.next().is_some_and(|it| it.eq_ignore_ascii_case("gzip") || it == "*");
        let weight = words.find_map(|word| word.strip_prefix("q=")).map(str::parse::<f32>);
        is_it && !matches!(weight, Some(Ok(0.0)))
    })
}

/// Answers a request for a file of the console; unknown paths without an extension are the
/// console's own pages.
pub async fn serve(uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    let name = if path.is_empty() { "index.html" } else { path };
    if let Some(file) = file(name) {
        return found(file, &headers);
    }
    let is_page =
        !name.rsplit('/').next().unwrap_or_default().contains('.') || name == "index.html";
    match file("index.html") {
        Some(file) if is_page => found(file, &headers),
        None if is_page => {
            let response = (StatusCode::OK, Body::from(ABSENT)).into_response();
            dressed(response, "text/html; charset=utf-8", "no-cache")
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn found(file: &'static File, headers: &HeaderMap) -> Response {
    let is_packed = file.is_packed && takes_gzip(headers);
    let tag = format!("\"{}{}\"", file.tag, if is_packed { "-gzip" } else { "" });
    let cache = if file.name.starts_with("assets/") { FOREVER } else { "no-cache" };
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known == tag.as_str());
    let kind = mime_guess::from_path(file.name).first_or_octet_stream();
    let mut response = if known {
        StatusCode::NOT_MODIFIED.into_response()
    } else if file.is_packed && !is_packed {
        (StatusCode::OK, file.unpacked()).into_response()
    } else {
        (StatusCode::OK, Body::from(file.octets)).into_response()
    };
    if is_packed && !known {
        let gzip = HeaderValue::from_static("gzip");
        response.headers_mut().insert(header::CONTENT_ENCODING, gzip);
    }
    let vary = HeaderValue::from_static("accept-encoding");
    response.headers_mut().insert(header::VARY, vary);
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
