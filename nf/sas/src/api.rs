//! The HTTP routes below `/api/v1/sas`, with their part of the API's description.

use crate::answer::SasStatus;
use crate::archive::{self, Archive, AskFn, SasError};
use crate::detail::Detail;
use crate::ladder::Extent;
use crate::tail::Change;
use crate::trail::TrailView;
use crate::{import, ladder, pcapng};
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use core::convert::Infallible;
use futures_util::stream;
use pcap::FILE_BYTES_MAX;
use runtime::Ask;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use utoipa::ToSchema;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Searches and reads that run at once; the others wait.
const READERS_MAX: usize = 4;
/// Live tails at once.
const TAILS_MAX: usize = 32;

/// The media type of a drawn ladder.
const TEXT: &str = "text/plain; charset=utf-8";

/// What the handlers share.
#[derive(Clone)]
struct Api {
    archive: Arc<Archive>,
    ask: AskFn,
    readers: Arc<Semaphore>,
    tails: Arc<Semaphore>,
}

/// The routes and their description. `ask` reaches the function that fills the archive.
pub fn router(archive: Arc<Archive>, ask: AskFn) -> (Router, OpenApi) {
    let readers = Arc::new(Semaphore::new(READERS_MAX));
    let tails = Arc::new(Semaphore::new(TAILS_MAX));
    routes().with_state(Api { archive, ask, readers, tails }).split_for_parts()
}

/// The description of the routes alone.
#[must_use]
pub fn description() -> OpenApi {
    routes().into_openapi()
}

fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(trails))
        .routes(routes!(worst))
        .routes(routes!(trail))
        .routes(routes!(download))
        .routes(routes!(tail))
        .routes(routes!(status))
        .merge(
            OpenApiRouter::new().routes(routes!(read)).layer(DefaultBodyLimit::max(FILE_BYTES_MAX)),
        )
}

/// A page of trails.
#[derive(Debug, Serialize, ToSchema)]
struct Trails {
    /// Newest first.
    trails: Vec<TrailView>,
    /// Give it as `cursor` for the next page; null on the last one.
    next: Option<String>,
    /// Microseconds that the search took.
    took_us: u64,
    /// How many there are in all, where that is known without counting them.
    total_known: Option<usize>,
}

/// The trails of a capture file.
#[derive(Debug, Serialize, ToSchema)]
struct Drawn {
    /// Oldest first.
    trails: Vec<Detail>,
}

impl IntoResponse for SasError {
    fn into_response(self) -> Response {
        let (status, code) = match &self {
            Self::BadParameter(_) => (StatusCode::BAD_REQUEST, "bad-parameter"),
            Self::BadFile(_) => (StatusCode::UNPROCESSABLE_ENTITY, "bad-file"),
            Self::NotFound(_) => (StatusCode::NOT_FOUND, "not-found"),
            Self::Unreachable => (StatusCode::SERVICE_UNAVAILABLE, "unreachable"),
            Self::Store(_) => (StatusCode::INTERNAL_SERVER_ERROR, "store"),
        };
        let message = self.to_string();
        let error = json!({ "code": code, "message": message, "details": [] });
        (status, Json(json!({ "error": error }))).into_response()
    }
}

impl Api {
    /// Does `work`, which reads the disk, beside the other requests.
    async fn beside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Archive, &AskFn) -> Result<T, SasError> + Send + 'static,
    ) -> Result<T, SasError> {
        let permit = Arc::clone(&self.readers).acquire_owned().await;
        let permit = permit.map_err(|_| SasError::Unreachable)?;
        let (archive, ask) = (Arc::clone(&self.archive), Arc::clone(&self.ask));
        let done = tokio::task::spawn_blocking(move || {
            let result = work(&archive, &ask);
            drop(permit);
            result
        });
        done.await.map_err(|_| SasError::Unreachable)?
    }
}

/// Searches trails, newest first.
///
/// All parameters must match. Numbers match from their end, whatever prefix either side has;
/// `4930*` matches from the beginning.
#[utoipa::path(get, path = "/api/v1/sas/trails", tag = "sas", params(
    ("q" = Option<String>, Query, description = "number, URI, name, Call-ID or address; \
        and conditions: `MOS < 3.5`, `loss > 1` (percent), `jitter > 30` (ms), `codec opus`, \
        `one-way`, `media-timeout`, `srtp-failure`"),
    ("number" = Option<String>, Query, description = "digits as typed; * at either end"),
    ("call_id" = Option<String>, Query, description = "Call-ID of any leg"),
    ("address" = Option<String>, Query, description = "IP address, with or without port"),
    ("method" = Option<String>, Query, description = "method of the first request"),
    ("status" = Option<String>, Query, description = "486, or 4xx"),
    ("kind" = Option<String>, Query, description = "call, registration, …"),
    ("without" = Option<String>, Query, description = "a kind that is left out"),
    ("outcome" = Option<String>, Query, description = "answered, busy, …"),
    ("from_us" = Option<u64>, Query, description = "earliest start"),
    ("to_us" = Option<u64>, Query, description = "latest start"),
    ("limit" = Option<usize>, Query, description = "1 to 500, 50 when absent"),
    ("cursor" = Option<String>, Query, description = "`next` of the page before")),
    responses((status = 200, body = Trails), (status = 400, description = "bad parameter")))]
async fn trails(
    State(api): State<Api>,
    Query(params): Query<BTreeMap<String, String>>,
) -> Result<Json<Trails>, SasError> {
    let answer = api.beside(move |archive, ask| {
        let began_us = archive.store().clock_us();
        let page = archive::search(archive, ask, params)?;
        let took_us = archive.store().clock_us() - began_us;
        archive.searched(took_us);
        let trails: Vec<_> = page.trails.iter().map(crate::trail::Trail::view).collect();
        Ok(Trails { trails, next: page.next, took_us, total_known: None })
    });
    Ok(Json(answer.await?))
}

/// The calls with the worst media.
#[derive(Debug, Serialize, ToSchema)]
struct Worst {
    /// The worst first: by the MOS of their worst stream over the whole.
    trails: Vec<TrailView>,
    /// Microseconds that the search took.
    took_us: u64,
}

/// The calls with the lowest MOS, the worst first.
///
/// Those that a search with the same parameters finds, of the last 24 hours unless `from_us` says
/// otherwise.
#[utoipa::path(get, path = "/api/v1/sas/worst", tag = "sas", params(
    ("q" = Option<String>, Query, description = "as of a search: `codec opus`, a number, …"),
    ("address" = Option<String>, Query, description = "IP address, with or without port"),
    ("from_us" = Option<u64>, Query, description = "earliest start"),
    ("to_us" = Option<u64>, Query, description = "latest start"),
    ("limit" = Option<usize>, Query, description = "1 to 100, 20 when absent")),
    responses((status = 200, body = Worst), (status = 400, description = "bad parameter")))]
async fn worst(
    State(api): State<Api>,
    Query(params): Query<BTreeMap<String, String>>,
) -> Result<Json<Worst>, SasError> {
    let answer = api.beside(move |archive, ask| {
        let began_us = archive.store().clock_us();
        let found = archive::worst(archive, ask, params)?;
        let took_us = archive.store().clock_us() - began_us;
        archive.searched(took_us);
        Ok(Worst { trails: found.iter().map(crate::trail::Trail::view).collect(), took_us })
    });
    Ok(Json(answer.await?))
}

/// One trail with all its messages.
#[utoipa::path(get, path = "/api/v1/sas/trails/{id}", tag = "sas",
    params(("id" = String, Path,
        description = "16 hexadecimal digits, a call's `trail`, a Call-ID")),
    responses((status = 200, body = Detail), (status = 404, description = "no such trail")))]
async fn trail(State(api): State<Api>, Path(id): Path<String>) -> Result<Json<Detail>, SasError> {
    let page = api.beside(move |archive, ask| archive::read(archive, ask, &id));
    Ok(Json(page.await?.0))
}

/// One trail as a file: `pcapng`, `text`, `ladder` or `json`.
#[utoipa::path(get, path = "/api/v1/sas/trails/{id}/{format}", tag = "sas",
    params(("id" = String, Path,
            description = "16 hexadecimal digits, a call's `trail`, a Call-ID"),
           ("format" = String, Path, description = "pcapng, text, ladder (text without the \
               messages in full) or json")),
    responses((status = 200, description = "the file", content(
                  (Vec<u8> = "application/x-pcapng"), (String = "text/plain"),
                  (Detail = "application/json"))),
              (status = 404, description = "no such trail or format")))]
async fn download(
    State(api): State<Api>,
    Path((id, format)): Path<(String, String)>,
) -> Result<Response, SasError> {
    let number = id.clone();
    let page = api.beside(move |archive, ask| archive::read(archive, ask, &number));
    let (detail, entries) = page.await?;
    let (kind, body) = match format.as_str() {
        "pcapng" => ("application/x-pcapng", pcapng::write(&entries)),
        "text" => (TEXT, ladder::draw(&detail, Extent::Whole).into_bytes()),
        "ladder" => (TEXT, ladder::draw(&detail, Extent::Ladder).into_bytes()),
        "json" => ("application/json", serde_json::to_vec_pretty(&detail).unwrap_or_default()),
        _ => return Err(SasError::NotFound(format!("{id} as {format}"))),
    };
    let extension = if kind == TEXT { "txt" } else { &format };
    let name = format!("attachment; filename=\"trail-{id}.{extension}\"");
    let headers = [(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, name)];
    Ok((headers, body).into_response())
}

/// Trails as they begin, change and end: server-sent events, at most 20 a second. `dropped`
/// counts what was left out.
#[utoipa::path(get, path = "/api/v1/sas/tail", tag = "sas",
    responses((status = 200, description = "events; the data of each is", body = TailEvent,
                   content_type = "text/event-stream"),
              (status = 503, description = "too many tails")))]
async fn tail(State(api): State<Api>) -> Result<Response, SasError> {
    let permit = Arc::clone(&api.tails).try_acquire_owned();
    let permit = permit.map_err(|_| SasError::Unreachable)?;
    let state = (api.archive.tail().subscribe(), 0u64, permit);
    Ok(Sse::new(stream::unfold(state, next_change))
        .keep_alive(KeepAlive::default())
        .into_response())
}

/// A trail as it changes.
#[derive(Debug, Serialize, ToSchema)]
struct TailEvent {
    #[serde(flatten)]
    trail: TrailView,
    /// Changes that were left out so far.
    dropped: u64,
}

type TailState = (Receiver<Change>, u64, OwnedSemaphorePermit);

async fn next_change(state: TailState) -> Option<(Result<Event, Infallible>, TailState)> {
    let (mut receiver, mut missed, permit) = state;
    loop {
        match receiver.recv().await {
            Ok(change) => {
                let trail = TrailView::clone(&change.trail);
                let data = TailEvent { trail, dropped: change.dropped + missed };
                let data = serde_json::to_string(&data).unwrap_or_default();
                let event = Event::default().event("trail").data(data);
                return Some((Ok(event), (receiver, missed, permit)));
            }
            Err(RecvError::Lagged(n)) => missed += n,
            Err(RecvError::Closed) => return None,
        }
    }
}

/// Draws a capture file (pcap, pcapng, 32 MiB at most) without keeping it.
#[utoipa::path(post, path = "/api/v1/sas/read", tag = "sas",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, body = Drawn), (status = 413, description = "too large"),
              (status = 422, description = "not a capture file, or no SIP in it")))]
async fn read(State(api): State<Api>, body: Bytes) -> Result<Json<Drawn>, SasError> {
    let trails = api.beside(move |_, _| import::read(&body)).await?;
    Ok(Json(Drawn { trails }))
}

/// What is kept, how much of what may be, since when.
#[utoipa::path(get, path = "/api/v1/sas/status", tag = "sas",
    responses((status = 200, description = "counts and limits", body = SasStatus)))]
async fn status(State(api): State<Api>) -> Result<Json<serde_json::Value>, SasError> {
    let ask = Ask { path: "status".to_owned(), ..Ask::default() };
    let answer = api.beside(move |_, question| question(ask).map_err(SasError::from));
    Ok(Json(answer.await?))
}
