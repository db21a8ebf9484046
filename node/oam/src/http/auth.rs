//! Token and sessions before every route of the API.

use super::connections::Seat;
use super::error::{ApiError, Body};
use crate::core::Core;
use crate::facts::OamFact;
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

const COOKIE: &str = "tandem_session";

/// How the caller proved who it is.
enum Proof {
    Token,
    Session,
    None,
}

fn session(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter();
    let mut pairs = cookies.filter_map(|value| value.to_str().ok()).flat_map(|c| c.split(';'));
    pairs.find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

fn proof(core: &Core, headers: &HeaderMap) -> Proof {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = bearer.and_then(|value| value.strip_prefix("Bearer "));
    if token.is_some_and(|token| core.gate().admits(token.trim())) {
        return Proof::Token;
    }
    match session(headers) {
        Some(session) if core.gate().knows(core.steady(), session) => Proof::Session,
        _ => Proof::None,
    }
}

/// A page of another origin on this machine shares our site: it must not change anything with
/// the operator's cookie.
fn foreign(method: &Method, headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN).and_then(|value| value.to_str().ok()) else {
        return false;
    };
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let authority = origin.split_once("://").map_or(origin, |(_, authority)| authority);
    !method.is_safe() && authority != host
}

/// Lets a request through that carries the token or a session.
pub async fn require(State(core): State<Arc<Core>>, request: Request, next: Next) -> Response {
    let seat = request.extensions().get::<Arc<Seat>>();
    let refused = match proof(&core, request.headers()) {
        Proof::Token => None,
        Proof::Session if foreign(request.method(), request.headers()) => Some((
            StatusCode::FORBIDDEN,
            "foreign-origin",
            "the request comes from a page of another origin",
        )),
        Proof::Session => None,
        Proof::None if is_guess(request.headers()) && !may_guess(&core, seat) => {
            return guessed(&core);
        }
        Proof::None => {
            let message = "send `Authorization: Bearer TOKEN`, or open a session with POST \
                /api/v1/session; the token is in the file `token` of the site's directory";
            Some((StatusCode::UNAUTHORIZED, "unauthorized", message))
        }
    };
    let Some((status, code, message)) = refused else {
        seat.inspect(|seat| seat.prove());
        return next.run(request).await;
    };
    core.facts.add(OamFact::Unauthorized, 1);
    let mut response = ApiError::new(status, code, message).into_response();
    let scheme = HeaderValue::from_static("Bearer");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
    response
}

/// Whether a request that proves nothing tried to.
fn is_guess(headers: &HeaderMap) -> bool {
    headers.contains_key(header::AUTHORIZATION) || session(headers).is_some()
}

fn may_guess(core: &Core, seat: Option<&Arc<Seat>>) -> bool {
    seat.is_none_or(|seat| core.may_guess(seat.source))
}

/// The answer to one wrong token too many: it ends the connection.
fn guessed(core: &Core) -> Response {
    core.facts.add(OamFact::Guessed, 1);
    let message = "too many wrong tokens came from this source; a right one is taken";
    let error = ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too-many-wrong-tokens", message);
    let mut response = error.into_response();
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The token of a new session.
#[derive(Deserialize, ToSchema)]
pub struct Credentials {
    /// The site's token.
    token: String,
}

/// Opens a session: the answer sets the cookie `tandem_session`.
#[utoipa::path(post, path = "/api/v1/session", tag = "session", request_body = Credentials,
    security(()),
    responses((status = 204, description = "the session is open"),
        (status = 401, description = "wrong token", body = super::error::ErrorBody),
        (status = 429, description = "too many", body = super::error::ErrorBody)))]
pub async fn open(
    State(core): State<Arc<Core>>,
    seat: Option<Extension<Arc<Seat>>>,
    headers: HeaderMap,
    Body(credentials): Body<Credentials>,
) -> Result<Response, ApiError> {
    let opened = core.gate().open(core.steady(), credentials.token.trim());
    let opened = opened.map_err(|error| ApiError::internal(error.to_string()))?;
    let Some(session) = opened else {
        if !may_guess(&core, seat.as_deref()) {
            return Ok(guessed(&core));
        }
        core.facts.add(OamFact::Unauthorized, 1);
        return Err(ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "wrong token"));
    };
    seat.inspect(|seat| seat.prove());
    Ok(with_cookie(&session, crate::token::SESSION_LIFE.as_secs(), &headers))
}

/// Ends the session of the cookie.
#[utoipa::path(delete, path = "/api/v1/session", tag = "session",
    responses((status = 204, description = "the session is over")))]
pub async fn close(State(core): State<Arc<Core>>, headers: HeaderMap) -> Response {
    if let Some(session) = session(&headers) {
        core.gate().close(session);
    }
    with_cookie("", 0, &headers)
}

/// Sets the cookie; `Secure` where a proxy before us speaks TLS with the browser.
fn with_cookie(session: &str, age_s: u64, headers: &HeaderMap) -> Response {
    let over_tls = headers.get("x-forwarded-proto").is_some_and(|proto| proto == "https");
    let secure = if over_tls { "; Secure" } else { "" };
    let cookie =
        format!("{COOKIE}={session}; HttpOnly; SameSite=Strict; Path=/; Max-Age={age_s}{secure}");
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}
