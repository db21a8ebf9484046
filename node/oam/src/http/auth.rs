//! Token or session before every route of the API, and the role that the route needs.

use super::connections::Connection;
use super::error::{ApiError, Body, ErrorBody};
use super::rights;
use crate::core::Core;
use crate::metrics::OamMetric;
use crate::session::SESSION_LIFE;
use crate::token::{Principal, Role};
use axum::Json;
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};
use std::future::ready;
use std::sync::Arc;
use utoipa::ToSchema;

/// The cookie without TLS, and with: the browser then takes it from this host alone, for all of
/// its paths (RFC 6265bis §4.1.3.2).
const COOKIE: &str = "tandem_session";
const COOKIE_OVER_TLS: &str = "__Host-tandem_session";

/// How the caller proved who it is.
enum Proof {
    Token(Principal),
    Session(Principal),
    None,
}

impl Proof {
    const fn principal(&self) -> Option<&Principal> {
        match self {
            Self::Token(principal) | Self::Session(principal) => Some(principal),
            Self::None => None,
        }
    }
}

/// Whether a proxy before us speaks TLS with the browser.
fn is_over_tls(headers: &HeaderMap) -> bool {
    headers.get("x-forwarded-proto").is_some_and(|proto| proto == "https")
}

fn cookie_name(headers: &HeaderMap) -> &'static str {
    if is_over_tls(headers) { COOKIE_OVER_TLS } else { COOKIE }
}

fn session(headers: &HeaderMap) -> Option<&str> {
    let name = cookie_name(headers);
    let cookies = headers.get_all(header::COOKIE).iter();
    let mut pairs = cookies.filter_map(|value| value.to_str().ok()).flat_map(|c| c.split(';'));
    pairs.find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}

/// A token counts before what the kernel says of the caller: it may be one with fewer rights.
fn proof(core: &Core, headers: &HeaderMap, connection: Option<&Arc<Connection>>) -> Proof {
    let user = connection.and_then(|connection| connection.user.as_ref());
    if let Some(user) = user.filter(|_| !headers.contains_key(header::AUTHORIZATION)) {
        return Proof::Token(user.clone());
    }
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = bearer.and_then(|value| value.strip_prefix("Bearer "));
    if let Some(principal) = token.and_then(|token| core.authenticator.authenticate(token.trim())) {
        return Proof::Token(principal);
    }
    let Some(number) = session(headers) else { return Proof::None };
    let found = core.sessions().find(core.steady(), number);
    match found {
        Some(principal) if core.authenticator.is_valid(&principal) => Proof::Session(principal),
        Some(_) => {
            core.sessions().close(number);
            Proof::None
        }
        None => Proof::None,
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

/// Lets a request through that carries a token, or a session, with the role that the route needs.
pub async fn require(State(core): State<Arc<Core>>, request: Request, next: Next) -> Response {
    let connection = request.extensions().get::<Arc<Connection>>();
    let proof = proof(&core, request.headers(), connection);
    connection.inspect(|connection| connection.prove(proof.principal()));
    let principal = match proof {
        Proof::Session(_) if foreign(request.method(), request.headers()) => {
            core.metrics.add(OamMetric::Unauthorized, 1);
            let message = "the request comes from a page of another origin";
            let status = StatusCode::FORBIDDEN;
            log_refused(&core, connection, status, &asked(&request));
            return ApiError::new(status, "foreign-origin", message).into_response();
        }
        Proof::Token(principal) | Proof::Session(principal) => principal,
        Proof::None if is_guess(request.headers()) && !may_guess(&core, connection) => {
            log_refused(&core, connection, StatusCode::TOO_MANY_REQUESTS, &asked(&request));
            return guessed(&core);
        }
        Proof::None => {
            log_refused(&core, connection, StatusCode::UNAUTHORIZED, &asked(&request));
            return unauthorized(&core, request.headers());
        }
    };
    let needed = rights::needed(request.method(), request.uri().path());
    if principal.role < needed {
        return forbidden(&core, &principal, needed, &request);
    }
    answer(core, principal, request, next).await
}

/// Method and path, for the log.
fn asked(request: &Request) -> String {
    format!("{} {}", request.method(), request.uri().path())
}

fn log_refused(core: &Core, connection: Option<&Arc<Connection>>, status: StatusCode, of: &str) {
    core.log_refused(connection.map(|connection| connection.source), status.as_u16(), of);
}

/// Has the request answered, and says in the log who changed what.
async fn answer(
    core: Arc<Core>,
    principal: Principal,
    mut request: Request,
    next: Next,
) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    request.extensions_mut().insert(principal.clone());
    let response = next.run(request).await;
    if !method.is_safe() {
        let (who, role, status) =
            (&*principal.name, principal.role.name(), response.status().as_u16());
        tracing::info!(target: "audit", who, role, %method, path, status, "a request to change");
    }
    let kind = response.headers().get(header::CONTENT_TYPE);
    if kind.is_none_or(|kind| kind != "text/event-stream") {
        return response;
    }
    // A stream may stand for days: it ends with the token that opened it.
    let (parts, body) = response.into_parts();
    let body =
        body.into_data_stream().take_while(move |_| ready(core.authenticator.is_valid(&principal)));
    Response::from_parts(parts, axum::body::Body::from_stream(body))
}

fn unauthorized(core: &Core, headers: &HeaderMap) -> Response {
    core.metrics.add(OamMetric::Unauthorized, 1);
    let unknown = "this token is not known: it is another site's, mistyped or revoked \
        (`tandem token list SITE.toml` names those that hold)";
    let none = "send `Authorization: Bearer TOKEN`, or open a session with POST \
        /api/v1/session; the first token is in the file `token` of the site's directory, and \
        `tandem token` makes others";
    let message = if headers.contains_key(header::AUTHORIZATION) { unknown } else { none };
    let error = ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", message);
    let mut response = error.into_response();
    let scheme = HeaderValue::from_static("Bearer");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
    response
}

fn forbidden(core: &Core, principal: &Principal, needed: Role, request: &Request) -> Response {
    core.metrics.add(OamMetric::Forbidden, 1);
    let (who, role, path) = (&*principal.name, principal.role.name(), request.uri().path());
    let method = request.method();
    tracing::warn!(target: "audit", who, role, %method, path, needed = needed.name(), "refused");
    let message = format!("the token `{who}` is of the role {role}; this needs {needed}");
    ApiError::new(StatusCode::FORBIDDEN, "forbidden", message).into_response()
}

/// Whether a request that proves nothing tried to.
fn is_guess(headers: &HeaderMap) -> bool {
    headers.contains_key(header::AUTHORIZATION) || session(headers).is_some()
}

fn may_guess(core: &Core, connection: Option<&Arc<Connection>>) -> bool {
    connection.is_none_or(|connection| core.may_guess(connection.source))
}

/// The answer to one wrong token too many: it ends the connection.
fn guessed(core: &Core) -> Response {
    core.metrics.add(OamMetric::Guessed, 1);
    let message = "too many wrong tokens came from this source; a right one is taken";
    let error = ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too-many-wrong-tokens", message);
    let mut response = error.into_response();
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The token for a new session.
#[derive(Deserialize, ToSchema)]
pub struct Credentials {
    /// A token of the site.
    token: String,
}

/// Opens a session with the role of the token: the answer sets the cookie `tandem_session`,
/// `__Host-tandem_session` behind a TLS proxy.
#[utoipa::path(post, path = "/api/v1/session", tag = "session", request_body = Credentials,
    security(()),
    responses((status = 204, description = "the session is open"),
        (status = 401, description = "wrong token", body = ErrorBody),
        (status = 429, description = "too many", body = ErrorBody)))]
pub async fn open(
    State(core): State<Arc<Core>>,
    connection: Option<Extension<Arc<Connection>>>,
    headers: HeaderMap,
    Body(credentials): Body<Credentials>,
) -> Result<Response, ApiError> {
    let Some(principal) = core.authenticator.authenticate(credentials.token.trim()) else {
        let of = "POST /api/v1/session";
        if !may_guess(&core, connection.as_deref()) {
            log_refused(&core, connection.as_deref(), StatusCode::TOO_MANY_REQUESTS, of);
            return Ok(guessed(&core));
        }
        log_refused(&core, connection.as_deref(), StatusCode::UNAUTHORIZED, of);
        core.metrics.add(OamMetric::Unauthorized, 1);
        return Err(ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "wrong token"));
    };
    connection.inspect(|connection| connection.prove(Some(&principal)));
    let (who, role) = (Arc::clone(&principal.name), principal.role.name());
    let opened = core.sessions().open(core.steady(), principal);
    let number = opened.map_err(|error| ApiError::internal(error.to_string()))?;
    tracing::info!(target: "audit", who = &*who, role, "a session was opened");
    Ok(with_cookie(&number, SESSION_LIFE.as_secs(), &headers))
}

/// Whose token it is.
#[derive(Debug, Serialize, ToSchema)]
pub struct Whoami {
    /// Name of the token.
    name: String,
    /// What it may do.
    role: Role,
}

/// Who the caller is to the site.
#[utoipa::path(get, path = "/api/v1/session", tag = "session",
    responses((status = 200, body = Whoami), (status = 401, body = ErrorBody)))]
pub async fn who(Extension(principal): Extension<Principal>) -> Json<Whoami> {
    Json(Whoami { name: principal.name.to_string(), role: principal.role })
}

/// Ends the session of the cookie.
#[utoipa::path(delete, path = "/api/v1/session", tag = "session",
    responses((status = 204, description = "the session is over")))]
pub async fn close(State(core): State<Arc<Core>>, headers: HeaderMap) -> Response {
    if let Some(number) = session(&headers) {
        core.sessions().close(number);
    }
    with_cookie("", 0, &headers)
}

/// Sets the cookie; `Secure` where a proxy before us speaks TLS with the browser.
fn with_cookie(session: &str, age_s: u64, headers: &HeaderMap) -> Response {
    let (name, secure) = (cookie_name(headers), if is_over_tls(headers) { "; Secure" } else { "" });
    let cookie =
        format!("{name}={session}; HttpOnly; SameSite=Strict; Path=/; Max-Age={age_s}{secure}");
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}
