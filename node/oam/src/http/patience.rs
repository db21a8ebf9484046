//! The time that the body of a request may take.

use super::error::ApiError;
use crate::core::Core;
use crate::metrics::OamMetric;
use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, stream};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tokio::time::{Instant, timeout_at};

/// A body that fails at `deadline` and says so by `late`.
fn until(deadline: Instant, body: Body, late: Arc<AtomicBool>) -> Body {
    let pieces =
        stream::unfold((Some(body.into_data_stream()), late), move |(data, late)| async move {
            let mut data = data?;
            match timeout_at(deadline, data.next()).await {
                Ok(piece) => Some((piece?, (Some(data), late))),
                Err(_) => {
                    late.store(true, Relaxed);
                    let error = axum::Error::new(io::Error::from(io::ErrorKind::TimedOut));
                    Some((Err(error), (None, late)))
                }
            }
        });
    Body::from_stream(pieces)
}

/// Answers with 408 what did not come in time, and ends its connection.
pub async fn timely(State(core): State<Arc<Core>>, request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let late = Arc::new(AtomicBool::new(false));
    let deadline = Instant::now() + core.limits.body;
    let request = request.map(|body| until(deadline, body, Arc::clone(&late)));
    let response = next.run(request).await;
    if !late.load(Relaxed) {
        return response;
    }
    core.metrics.add(OamMetric::Slow, 1);
    let message = format!("the body did not come within {} s", core.limits.body.as_secs());
    let error = ApiError::new(StatusCode::REQUEST_TIMEOUT, "too-slow", message);
    let mut response = error.into_response();
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}
