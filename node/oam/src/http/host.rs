//! For whom a request is: a name that an attacker lets point to us is not ours (DNS rebinding).

use super::connections::Connection;
use super::error::ApiError;
use crate::core::Core;
use crate::metrics::OamMetric;
use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use std::net::IpAddr;
use std::sync::Arc;

/// Whether a host is an address or a name that only this machine gives itself: a page of another
/// site never has it for its own.
fn is_local(name: &str) -> bool {
    let literal = name.trim_start_matches('[').trim_end_matches(']');
    literal.parse::<IpAddr>().is_ok() || name.eq_ignore_ascii_case("localhost")
}

fn is_ours(core: &Core, authority: &str) -> bool {
    authority.parse::<Authority>().is_ok_and(|authority| {
        let host = authority.host();
        is_local(host) || core.is_own_name(host)
    })
}

/// Lets a request through that names this site, or no host at all (HTTP/1.0: no browser).
pub async fn own(State(core): State<Arc<Core>>, request: Request, next: Next) -> Response {
    let hosts = request.headers().get_all(header::HOST).iter();
    let named = hosts.map(|host| host.to_str().unwrap_or_default());
    let target = request.uri().authority().map(Authority::as_str);
    let Some(other) = named.chain(target).find(|authority| !is_ours(&core, authority)) else {
        return next.run(request).await;
    };
    core.metrics.add(OamMetric::Misdirected, 1);
    let source = request.extensions().get::<Arc<Connection>>().map(|connection| connection.source);
    let status = StatusCode::MISDIRECTED_REQUEST.as_u16();
    core.log_refused(source, status, &format!("for the host {other}"));
    let message = "the request names a host that is not this site; add the name to `hosts` of \
        [oam], or use the address";
    ApiError::new(StatusCode::MISDIRECTED_REQUEST, "unknown-host", message).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_localhost_are_ours_and_no_other_name() {
        for ours in ["127.0.0.1", "[::1]", "192.0.2.7", "localhost", "LOCALHOST"] {
            assert!(is_local(ours), "{ours}");
        }
        for other in ["example.com", "127.0.0.1.example.com", "localhost.example.com", ""] {
            assert!(!is_local(other), "{other}");
        }
    }
}
