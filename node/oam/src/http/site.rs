//! The site as a whole: what runs, health, drain, log levels, the API's own description.

use super::error::{ApiError, Body, ErrorBody};
use crate::core::Core;
use crate::managed::{Managed, PortRow, State};
use axum::Json;
use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// What runs.
#[derive(Debug, Serialize, ToSchema)]
pub struct SiteRow {
    /// The site's name.
    name: String,
    /// Version of the program.
    version: String,
    /// When the process started, microseconds since the UNIX epoch.
    started_at_us: u64,
    /// Whether it finishes what runs, takes nothing new, and then ends.
    draining: bool,
    /// Its functions.
    functions: Vec<FunctionRow>,
}

/// A function.
#[derive(Debug, Serialize, ToSchema)]
pub struct FunctionRow {
    /// Its name.
    name: String,
    /// What it is.
    kind: String,
    /// Where it is in its life.
    state: State,
    /// Number of shards.
    shards: u16,
    /// Seconds since it was started.
    uptime_s: u64,
    /// Its ports as bound.
    ports: Vec<PortRow>,
}

fn function_row(now_us: u64, function: &Arc<dyn Managed>) -> FunctionRow {
    FunctionRow {
        name: function.name(),
        kind: function.kind().to_owned(),
        state: function.state(),
        shards: function.shards(),
        uptime_s: now_us.saturating_sub(function.started_at_us()) / 1_000_000,
        ports: function.ports(),
    }
}

/// The site and its functions.
#[utoipa::path(get, path = "/api/v1/site", tag = "site",
    responses((status = 200, body = SiteRow)))]
pub async fn site(Shared(core): Shared<Arc<Core>>) -> Json<SiteRow> {
    let now_us = core.now().as_micros();
    let functions = core.registry.functions();
    Json(SiteRow {
        name: core.name.clone(),
        version: core.version.to_owned(),
        started_at_us: core.started.as_micros(),
        draining: core.phase.is_draining(),
        functions: functions.iter().map(|function| function_row(now_us, function)).collect(),
    })
}

/// Health, as a probe reads it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    /// `ok`, or why not.
    status: String,
    /// Functions that do not run, with their state.
    functions: Vec<FunctionState>,
}

/// A function and its state.
#[derive(Debug, Serialize, ToSchema)]
pub struct FunctionState {
    /// Its name.
    name: String,
    /// Where it is in its life.
    state: State,
}

/// Whether the process lives: 503 when its ticker is stuck, start it again then.
#[utoipa::path(get, path = "/livez", tag = "health", security(()),
    responses((status = 200, body = Health), (status = 503, body = Health)))]
pub async fn livez(Shared(core): Shared<Arc<Core>>) -> Response {
    let alive = core.is_alive();
    let status = if alive { "ok" } else { "the management side is stuck" };
    health(alive, status, Vec::new())
}

/// Whether the site serves: 503 while it starts, drains, or a function has failed.
#[utoipa::path(get, path = "/readyz", tag = "health", security(()),
    responses((status = 200, body = Health), (status = 503, body = Health)))]
pub async fn readyz(Shared(core): Shared<Arc<Core>>) -> Response {
    let functions = core.registry.functions();
    let states = functions.iter().map(|f| FunctionState { name: f.name(), state: f.state() });
    let others = states.filter(|f| f.state != State::Running).collect();
    let ready = core.is_ready();
    health(ready, if ready { "ok" } else { "not ready" }, others)
}

fn health(well: bool, status: &str, functions: Vec<FunctionState>) -> Response {
    let code = if well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, Json(Health { status: status.to_owned(), functions })).into_response()
}

/// Drains the site as SIGTERM does: functions finish what runs and take nothing new, then the
/// process ends.
#[utoipa::path(post, path = "/api/v1/drain", tag = "site",
    responses((status = 202, description = "the site drains")))]
pub async fn drain(Shared(core): Shared<Arc<Core>>) -> StatusCode {
    core.phase.drain();
    (core.hooks.drain)();
    StatusCode::ACCEPTED
}

/// Levels by target.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct LogFilter {
    /// As in `info,ssc=debug`.
    filter: String,
}

/// The log levels.
#[utoipa::path(get, path = "/api/v1/log", tag = "log",
    responses((status = 200, body = LogFilter)))]
pub async fn log(Shared(core): Shared<Arc<Core>>) -> Json<LogFilter> {
    Json(LogFilter { filter: core.levels.text() })
}

/// Sets the log levels until the next start or commit that changes them. Without a level of its
/// own for all (`ssc=debug`) it changes those of the targets that it names; the answer has all.
#[utoipa::path(put, path = "/api/v1/log", tag = "log", request_body = LogFilter,
    responses((status = 200, body = LogFilter), (status = 400, body = ErrorBody)))]
pub async fn set_log(
    Shared(core): Shared<Arc<Core>>,
    Body(wanted): Body<LogFilter>,
) -> Result<Json<LogFilter>, ApiError> {
    core.levels.adjust(&wanted.filter).map_err(ApiError::bad)?;
    tracing::info!(target: "oam", filter = wanted.filter, "log levels changed");
    Ok(Json(LogFilter { filter: core.levels.text() }))
}
