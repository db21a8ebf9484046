//! The HTTP API: its routes, each of them described, and the server under them.
//!
//! ```text
//!   /livez /readyz POST /api/v1/session      open
//!   /metrics                                 token, unless metrics_open
//!   /api/v1/…                                token or session with the role of `rights`
//!   /api/v1/PREFIX/… of a function           the same, routes the function brought along
//!   everything else                          the console
//! ```

pub mod auth;
pub mod configuration;
pub mod connections;
pub mod error;
pub mod functions;
pub mod guess;
pub mod host;
pub(crate) mod limits;
pub mod metrics;
pub mod openapi;
pub mod patience;
pub mod rights;
pub mod site;
pub mod stream;

use crate::console;
use crate::core::Core;
use crate::metrics::OamMetric;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use error::ApiError;
pub use limits::{CONNECTIONS_MAX, STREAMS_MAX};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use tower::ServiceExt as _;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Longest body of a request, octets, where a route does not say otherwise.
pub const BODY_BYTES_MAX: usize = config::SITE_BYTES_MAX + 1024;

#[derive(utoipa::OpenApi)]
#[openapi(
    info(title = "Tandem", description = "Operation and maintenance of a Tandem site"),
    modifiers(&Security),
    security(("token" = []), ("session" = []))
)]
struct Description;

struct Security;

impl utoipa::Modify for Security {
    fn modify(&self, openapi: &mut OpenApi) {
        use utoipa::openapi::security::{
            ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme,
        };
        let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        let cookie = ApiKey::Cookie(ApiKeyValue::new("tandem_session"));
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(bearer));
        components.add_security_scheme("session", SecurityScheme::ApiKey(cookie));
    }
}

/// The routes that need a token or a session.
fn closed() -> OpenApiRouter<Arc<Core>> {
    OpenApiRouter::new()
        .routes(routes!(openapi::openapi))
        .routes(routes!(site::site))
        .routes(routes!(site::drain))
        .routes(routes!(site::log, site::set_log))
        .routes(routes!(auth::who, auth::close))
        .routes(routes!(metrics::counters))
        .routes(routes!(metrics::history))
        .routes(routes!(metrics::live))
        .routes(routes!(metrics::alarms))
        .routes(routes!(configuration::running))
        .routes(routes!(configuration::schema))
        .routes(routes!(configuration::candidate, configuration::edit, configuration::discard))
        .routes(routes!(configuration::check))
        .routes(routes!(configuration::compare))
        .routes(routes!(configuration::interruptions))
        .routes(routes!(configuration::commit))
        .routes(routes!(configuration::confirm))
        .routes(routes!(configuration::rollback))
        .routes(routes!(configuration::history))
        .routes(routes!(configuration::exposures))
}

fn open() -> OpenApiRouter<Arc<Core>> {
    OpenApiRouter::new()
        .routes(routes!(site::livez))
        .routes(routes!(site::readyz))
        .routes(routes!(auth::open))
}

/// The description of the routes below, without those of functions: [`openapi::document`] has them.
pub fn description() -> OpenApi {
    let exposition = OpenApiRouter::<Arc<Core>>::new().routes(routes!(metrics::exposition));
    let mut openapi = Description::openapi();
    env!("CARGO_PKG_VERSION").clone_into(&mut openapi.info.version);
    for router in [open(), closed(), exposition] {
        openapi.merge(router.into_openapi());
    }
    openapi
}

/// Longest body of a request that needs no token, octets.
pub const OPEN_BODY_BYTES_MAX: usize = 4096;

/// Every route of the server.
pub fn router(core: &Arc<Core>) -> Router {
    let require = || from_fn_with_state(Arc::clone(core), auth::require);
    let (open, _) = open().split_for_parts();
    let open = open.layer(DefaultBodyLimit::max(OPEN_BODY_BYTES_MAX));
    let (closed, _) = closed().split_for_parts();
    // What is asked there is described by the questions of the functions, a path each.
    let closed = closed
        .route("/api/v1/functions/{name}/{*path}", get(functions::ask).post(functions::act))
        .route_layer(require());
    let guarded = Router::new()
        .route("/metrics", get(metrics::exposition))
        .route_layer(from_fn_with_state(Arc::clone(core), metrics_guard));
    let extras = Router::new().fallback(extra).layer(require()).with_state(Arc::clone(core));
    open.merge(closed)
        .merge(guarded)
        .fallback(move |uri: Uri, headers: HeaderMap, request: Request| async move {
            if uri.path().starts_with("/api/") {
                answer(extras, request).await
            } else {
                console::serve(uri, headers).await
            }
        })
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(from_fn_with_state(Arc::clone(core), patience::timely))
        .layer(from_fn_with_state(Arc::clone(core), host::own))
        .layer(from_fn_with_state(Arc::clone(core), measure))
        .with_state(Arc::clone(core))
}

async fn answer(router: Router, request: Request) -> Response {
    match router.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// Passes a request on to the routes of the function whose prefix it names.
async fn extra(State(core): State<Arc<Core>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let prefix = path.strip_prefix("/api/v1/").and_then(|rest| rest.split('/').next());
    match prefix.and_then(|prefix| core.registry.extra(prefix)) {
        Some(extra) => answer(extra.router, request).await,
        None => ApiError::not_found(nowhere(&core, &path, prefix)).into_response(),
    }
}

/// Why nothing answers at a path, and what would.
fn nowhere(core: &Core, path: &str, prefix: Option<&str>) -> String {
    match prefix {
        Some("functions") => "`GET /api/v1/site` lists the functions of the site; what one is \
            asked stands below /api/v1/functions/NAME/ (/api/v1/openapi.json)"
            .to_owned(),
        Some(prefix) if is_brought(core, prefix) => openapi::absent(prefix),
        _ => format!("no such path: {path}"),
    }
}

/// Whether a function that the program may run brings such routes.
fn is_brought(core: &Core, prefix: &str) -> bool {
    let described = core.registry.described();
    let mut prefixes = described.paths().filter_map(|path| openapi::prefix_of(path));
    prefixes.any(|known| known == prefix)
}

async fn wrong_method() -> ApiError {
    let message = "the path takes other methods; see /api/v1/openapi.json";
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", message)
}

async fn metrics_guard(State(core): State<Arc<Core>>, request: Request, next: Next) -> Response {
    if core.metrics_open.load(Relaxed) {
        return next.run(request).await;
    }
    auth::require(State(core), request, next).await
}

async fn measure(State(core): State<Arc<Core>>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let response = next.run(request).await;
    let us = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    core.metrics.add(OamMetric::Request, 1);
    core.metrics.observe(OamMetric::RequestTime, us);
    if response.status().is_server_error() {
        core.metrics.add(OamMetric::Failed, 1);
    }
    response
}
