//! Counters, their history, the live stream, alarms.

use super::error::{ApiError, ErrorBody, Params};
use crate::alarm::Alarm;
use crate::core::Core;
use crate::exposition::{CONTENT_TYPE, CounterRow, prometheus, rows};
use crate::history::{Excerpt, POINTS_MAX};
use crate::metrics::OamMetric;
use crate::ticker::Pulse;
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use serde::Deserialize;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, watch};
use utoipa::IntoParams;

/// Metrics for Prometheus. Needs the token unless `oam.metrics_open` is set.
#[utoipa::path(get, path = "/metrics", tag = "metrics",
    responses((status = 200, description = "text format 0.0.4", body = String,
        content_type = "text/plain")))]
pub async fn exposition(State(core): State<Arc<Core>>) -> Response {
    let mut text = prometheus(&core.metrics());
    text.push_str(&crate::process::exposition(&core.name, core.version));
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response()
}

/// Every metric of every shard.
#[utoipa::path(get, path = "/api/v1/counters", tag = "metrics",
    responses((status = 200, body = Vec<CounterRow>)))]
pub async fn counters(State(core): State<Arc<Core>>) -> Json<Vec<CounterRow>> {
    Json(rows(&core.metrics()))
}

/// Which series, how far back.
#[derive(Debug, Deserialize, IntoParams)]
pub struct HistoryQuery {
    /// Names, separated by commas; all if absent.
    name: Option<String>,
    /// Seconds back, at most 3600.
    since_s: Option<usize>,
}

/// The last hour of the metrics, a point a second. Counters are per second; of histograms there
/// are `NAME` (values per second), `NAME:p50` and `NAME:p99`.
#[utoipa::path(get, path = "/api/v1/metrics/history", tag = "metrics", params(HistoryQuery),
    responses((status = 200, body = Excerpt)))]
pub async fn history(
    State(core): State<Arc<Core>>,
    Params(query): Params<HistoryQuery>,
) -> Json<Excerpt> {
    let name = query.name.unwrap_or_default();
    let names: Vec<&str> = name.split(',').map(str::trim).filter(|n| !n.is_empty()).collect();
    let since_s = query.since_s.unwrap_or(POINTS_MAX).min(POINTS_MAX);
    Json(core.history().excerpt(&names, since_s))
}

/// An open stream, counted for as long as it lives.
struct Stream {
    core: Arc<Core>,
    pulse: watch::Receiver<Arc<str>>,
    first: bool,
    _place: OwnedSemaphorePermit,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.core.metrics.shift(OamMetric::Streams, -1);
    }
}

async fn next(mut stream: Stream) -> Option<(Result<Event, Infallible>, Stream)> {
    if !stream.first {
        stream.pulse.changed().await.ok()?;
    }
    stream.first = false;
    let text = stream.pulse.borrow_and_update().to_string();
    Some((Ok(Event::default().data(text)), stream))
}

/// The site's pulse as server-sent events, one a second: rates, gauges, alarms, functions.
#[utoipa::path(get, path = "/api/v1/live", tag = "metrics",
    responses((status = 200, description = "an event stream; the data of each is", body = Pulse,
            content_type = "text/event-stream"),
        (status = 429, description = "too many streams", body = ErrorBody)))]
pub async fn live(State(core): State<Arc<Core>>) -> Result<Response, ApiError> {
    let place = Arc::clone(&core.streams).try_acquire_owned().map_err(|_| {
        ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too-many", "too many live streams")
    })?;
    core.metrics.shift(OamMetric::Streams, 1);
    let pulse = core.live.subscribe();
    let stream = Stream { core, pulse, first: true, _place: place };
    let events = stream::unfold(stream, next);
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

/// Which alarms.
#[derive(Debug, Deserialize, IntoParams)]
pub struct AlarmQuery {
    /// The cleared ones as well.
    history: Option<bool>,
}

/// The alarms that stand, worst first.
#[utoipa::path(get, path = "/api/v1/alarms", tag = "alarms", params(AlarmQuery),
    responses((status = 200, body = Vec<Alarm>)))]
pub async fn alarms(
    State(core): State<Arc<Core>>,
    Params(query): Params<AlarmQuery>,
) -> Json<Vec<Alarm>> {
    Json(core.alarms().list(query.history.unwrap_or(false)))
}
