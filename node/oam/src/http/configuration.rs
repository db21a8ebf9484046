//! The configuration: what runs, the candidate, commit, confirm, rollback, history.

use super::error::{ApiError, Body, ErrorBody, Params};
use crate::core::Core;
use crate::metrics::OamMetric;
use crate::token::Principal;
use axum::Json;
use axum::extract::{Extension, State as Shared};
use axum::http::StatusCode;
use config::{Cause, Diagnostic, Entry, Order, State, Store};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use utoipa::{IntoParams, ToSchema};

/// What runs.
#[derive(Debug, Serialize, ToSchema)]
pub struct RunningConfig {
    /// The site file's text.
    text: String,
    /// Its revision.
    revision: u64,
    /// Since when it runs, microseconds since the UNIX epoch.
    since_us: u64,
    /// Seconds until an unconfirmed commit is taken back; null if none waits.
    confirm_within_s: Option<u64>,
    /// The revision that runs again then.
    back_to: Option<u64>,
}

/// The text being edited.
#[derive(Debug, Serialize, ToSchema)]
pub struct CandidateConfig {
    /// The text.
    text: String,
    /// The running revision that the edit began with.
    revision: u64,
    /// Whether it differs from what runs.
    changed: bool,
}

/// A mistake with its place.
#[derive(Debug, Serialize, ToSchema)]
pub struct Mistake {
    /// Line, from 1.
    line: usize,
    /// Column in characters, from 1.
    column: usize,
    /// Length of the offending text in characters.
    length: usize,
    /// Path of keys: `ssc[0].realm[1].listen[0]`.
    path: String,
    /// What is wrong.
    what: String,
    /// What to do about it.
    hint: String,
}

impl From<Diagnostic> for Mistake {
    fn from(d: Diagnostic) -> Self {
        let Diagnostic { line, column, length, path, what, hint } = d;
        Self { line, column, length, path, what, hint }
    }
}

/// All mistakes of the candidate.
#[derive(Debug, Serialize, ToSchema)]
pub struct Mistakes {
    /// Empty: a commit would be taken.
    issues: Vec<Mistake>,
}

/// A revision in the history.
#[derive(Debug, Serialize, ToSchema)]
pub struct RevisionRow {
    /// Its number.
    revision: u64,
    /// When it began to run, microseconds since the UNIX epoch.
    at_us: u64,
    /// Why it exists: `start`, `commit`, `commit-confirmed`, `rollback`, `expired`, `reload`.
    #[schema(value_type = String)]
    cause: Cause,
    /// The revision whose text it took up again.
    of: Option<u64>,
    /// Who wanted it: the name of a token; null for what nobody asked for.
    by: Option<String>,
    /// What they said to it.
    comment: Option<String>,
    /// What became of it: `active`, `pending` (active, and to be confirmed), `confirmed`,
    /// `rolled-back`, `not-confirmed`.
    state: &'static str,
    /// Why it exists, for people.
    note: String,
    /// Whether it runs now.
    running: bool,
}

/// What now runs.
#[derive(Debug, Serialize, ToSchema)]
pub struct Done {
    /// The revision that runs.
    revision: u64,
    /// Seconds within which it must be confirmed; null if it is for good.
    confirm_within_s: Option<u64>,
}

/// A commit.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CommitOrder {
    /// The running revision that the change is based on; another one running is a conflict.
    revision: u64,
    /// Take it back unless confirmed within this many seconds.
    confirm_s: Option<u64>,
    /// A line for the history.
    comment: Option<String>,
    /// Overwrite a site file that was edited by hand.
    #[serde(default)]
    force: bool,
}

/// A confirmation.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfirmOrder {
    /// Overwrite a site file that was edited by hand.
    #[serde(default)]
    force: bool,
}

/// A rollback.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RollbackOrder {
    /// The revision to take up again; absent: that before the pending commit, or the newest before
    /// the running one that was confirmed and has another text.
    to: Option<u64>,
    /// A line for the history.
    comment: Option<String>,
    /// Overwrite a site file that was edited by hand.
    #[serde(default)]
    force: bool,
}

/// A schema in the words of JSON Schema 2020-12.
#[derive(ToSchema)]
#[allow(dead_code, reason = "its fields say what stands there")]
pub struct SiteSchema {
    /// The dialect.
    #[schema(rename = "$schema")]
    dialect: String,
    /// The name of the type.
    title: String,
    /// Sections and keys.
    #[schema(value_type = std::collections::BTreeMap<String, serde_json::Value>)]
    properties: (),
    /// What they refer to.
    #[schema(rename = "$defs", value_type = std::collections::BTreeMap<String, serde_json::Value>)]
    definitions: (),
}

/// A kept revision.
#[derive(Debug, Deserialize, IntoParams)]
pub struct RevisionQuery {
    /// A kept revision in place of the running one.
    revision: Option<u64>,
}

/// What an edit is based on.
#[derive(Debug, Deserialize, IntoParams)]
pub struct EditQuery {
    /// The running revision that the edit began with; absent: whatever runs.
    revision: Option<u64>,
}

type Answer<T> = Result<Json<T>, ApiError>;

/// Works on the store on a thread that may block: a commit waits for functions and disk.
async fn with<T: Send + 'static>(
    core: &Arc<Core>,
    work: impl FnOnce(&mut Store, &Core) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let core = Arc::clone(core);
    let done = tokio::task::spawn_blocking(move || work(&mut core.store(), &core)).await;
    done.map_err(|error| ApiError::internal(error.to_string()))?
}

/// Seconds that are left to confirm, the one that has begun with them.
fn left_s(store: &Store, core: &Core) -> Option<u64> {
    let left = store.pending()?.until.since(core.steady());
    Some(left.as_secs() + u64::from(left.subsec_nanos() > 0))
}

fn done(store: &Store, core: &Core) -> Done {
    Done { revision: store.running().revision, confirm_within_s: left_s(store, core) }
}

/// The configuration that runs, or a kept revision.
#[utoipa::path(get, path = "/api/v1/config", tag = "config", params(RevisionQuery),
    responses((status = 200, body = RunningConfig), (status = 404, body = ErrorBody)))]
pub async fn running(
    Shared(core): Shared<Arc<Core>>,
    Params(query): Params<RevisionQuery>,
) -> Answer<RunningConfig> {
    with(&core, move |store, core| {
        let running = store.running().clone();
        let (revision, text) = match query.revision {
            Some(revision) => (revision, store.text_of(revision)?),
            None => (running.revision, running.text),
        };
        Ok(Json(RunningConfig {
            text,
            revision,
            since_us: running.since.as_micros(),
            confirm_within_s: left_s(store, core),
            back_to: store.pending().map(|pending| pending.back_to),
        }))
    })
    .await
}

/// The JSON schema of the site file.
#[utoipa::path(get, path = "/api/v1/config/schema", tag = "config",
    responses((status = 200, body = SiteSchema)))]
pub async fn schema(Shared(core): Shared<Arc<Core>>) -> Answer<serde_json::Value> {
    with(&core, |store, _| Ok(Json(store.schema()))).await
}

/// The text being edited; what runs, if nobody edits.
#[utoipa::path(get, path = "/api/v1/config/candidate", tag = "config",
    responses((status = 200, body = CandidateConfig)))]
pub async fn candidate(Shared(core): Shared<Arc<Core>>) -> Answer<CandidateConfig> {
    with(&core, |store, _| {
        let candidate = store.candidate();
        let changed = candidate.text != store.running().text;
        Ok(Json(CandidateConfig { text: candidate.text, revision: candidate.base, changed }))
    })
    .await
}

/// Replaces the candidate by the body, the text of a site file; it may still be wrong.
#[utoipa::path(put, path = "/api/v1/config/candidate", tag = "config", params(EditQuery),
    request_body(content = String, content_type = "application/toml"),
    responses((status = 204), (status = 409, body = ErrorBody)))]
pub async fn edit(
    Shared(core): Shared<Arc<Core>>,
    Params(query): Params<EditQuery>,
    text: String,
) -> Result<StatusCode, ApiError> {
    with(&core, move |store, _| {
        let base = query.revision.unwrap_or(store.running().revision);
        store.edit(base, text)?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// Throws the candidate away.
#[utoipa::path(delete, path = "/api/v1/config/candidate", tag = "config",
    responses((status = 204)))]
pub async fn discard(Shared(core): Shared<Arc<Core>>) -> Result<StatusCode, ApiError> {
    with(&core, |store, _| {
        store.discard();
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// Everything that would hinder a commit of the candidate.
#[utoipa::path(post, path = "/api/v1/config/candidate/check", tag = "config",
    responses((status = 200, body = Mistakes)))]
pub async fn check(Shared(core): Shared<Arc<Core>>) -> Answer<Mistakes> {
    with(&core, |store, _| {
        Ok(Json(Mistakes { issues: store.check().into_iter().map(Mistake::from).collect() }))
    })
    .await
}

/// What a commit of the candidate would interrupt, a sentence each: sessions, calls and
/// connections that end or begin again. What goes on is not named.
#[utoipa::path(get, path = "/api/v1/config/candidate/interruptions", tag = "config",
    responses((status = 200, body = Vec<Mistake>)))]
pub async fn interruptions(Shared(core): Shared<Arc<Core>>) -> Answer<Vec<Mistake>> {
    with(&core, |store, _| Ok(Json(store.interruptions().into_iter().map(Mistake::from).collect())))
        .await
}

/// What a commit would change, as a unified diff; a second one shows what somebody wrote into the
/// site file by hand.
#[utoipa::path(get, path = "/api/v1/config/candidate/compare", tag = "config",
    responses((status = 200, body = String, content_type = "text/plain")))]
pub async fn compare(Shared(core): Shared<Arc<Core>>) -> Result<String, ApiError> {
    with(&core, |store, _| Ok(store.compare())).await
}

/// Makes the candidate run.
#[utoipa::path(post, path = "/api/v1/config/candidate/commit", tag = "config",
    request_body = CommitOrder,
    responses((status = 200, body = Done), (status = 409, body = ErrorBody),
        (status = 422, body = ErrorBody)))]
pub async fn commit(
    Shared(core): Shared<Arc<Core>>,
    Extension(principal): Extension<Principal>,
    Body(order): Body<CommitOrder>,
) -> Answer<Done> {
    with(&core, move |store, core| {
        let confirm = order.confirm_s.map(Duration::from_secs);
        let wants = wants(&principal, order.comment.as_deref(), order.force);
        match store.commit(core.moment(), order.revision, confirm, wants) {
            Ok(revision) => {
                core.metrics.add(OamMetric::Committed, 1);
                let by = &*principal.name;
                let comment = order.comment.unwrap_or_default();
                tracing::info!(target: "config", revision, ?confirm, by, comment, "committed");
                Ok(Json(done(store, core)))
            }
            Err(refused) => {
                core.metrics.add(OamMetric::CommitRefused, 1);
                tracing::info!(target: "config", %refused, "commit refused");
                Err(refused.into())
            }
        }
    })
    .await
}

/// Confirms the pending commit.
#[utoipa::path(post, path = "/api/v1/config/confirm", tag = "config",
    request_body = ConfirmOrder,
    responses((status = 200, body = Done), (status = 409, body = ErrorBody)))]
pub async fn confirm(
    Shared(core): Shared<Arc<Core>>,
    Body(order): Body<ConfirmOrder>,
) -> Answer<Done> {
    with(&core, move |store, core| {
        let revision = store.confirm(order.force)?;
        tracing::info!(target: "config", revision, "confirmed");
        Ok(Json(done(store, core)))
    })
    .await
}

/// Makes an old revision run again.
#[utoipa::path(post, path = "/api/v1/config/rollback", tag = "config",
    request_body = RollbackOrder,
    responses((status = 200, body = Done), (status = 404, body = ErrorBody),
        (status = 422, body = ErrorBody)))]
pub async fn rollback(
    Shared(core): Shared<Arc<Core>>,
    Extension(principal): Extension<Principal>,
    Body(order): Body<RollbackOrder>,
) -> Answer<Done> {
    with(&core, move |store, core| {
        let wants = wants(&principal, order.comment.as_deref(), order.force);
        let revision = store.rollback(core.moment(), order.to, wants)?;
        core.metrics.add(OamMetric::RolledBack, 1);
        tracing::info!(target: "config", revision, by = &*principal.name, "rolled back");
        Ok(Json(done(store, core)))
    })
    .await
}

/// Every kept revision, newest first.
#[utoipa::path(get, path = "/api/v1/config/history", tag = "config",
    responses((status = 200, body = Vec<RevisionRow>)))]
pub async fn history(Shared(core): Shared<Arc<Core>>) -> Answer<Vec<RevisionRow>> {
    with(&core, |store, _| {
        let running = store.running().revision;
        Ok(Json(store.history().iter().rev().map(|entry| row(entry, running)).collect()))
    })
    .await
}

/// What the running configuration leaves open to others: no mistakes, but nothing to do
/// unknowingly.
#[utoipa::path(get, path = "/api/v1/config/exposures", tag = "config",
    responses((status = 200, body = Vec<Mistake>)))]
pub async fn exposures(Shared(core): Shared<Arc<Core>>) -> Answer<Vec<Mistake>> {
    with(&core, |store, core| {
        let found = (core.hooks.exposures)(&store.running().text);
        Ok(Json(found.into_iter().map(Mistake::from).collect()))
    })
    .await
}

fn row(entry: &Entry, running: u64) -> RevisionRow {
    let of = entry.of.unwrap_or_default();
    let note = match entry.cause {
        Cause::Start => "the site file at start".to_owned(),
        Cause::Commit => "commit".to_owned(),
        Cause::CommitConfirmed => "commit, to be confirmed".to_owned(),
        Cause::Rollback => format!("rollback to {of}"),
        Cause::Expired => format!("not confirmed: back to {of}"),
        Cause::Reload => "the site file was read again".to_owned(),
    };
    let is_running = entry.revision == running;
    let state = match entry.state {
        State::Pending => "pending",
        _ if is_running => "active",
        State::Confirmed => "confirmed",
        State::RolledBack => "rolled-back",
        State::NotConfirmed => "not-confirmed",
    };
    RevisionRow {
        revision: entry.revision,
        at_us: entry.at_us,
        cause: entry.cause,
        of: entry.of,
        by: entry.by.clone(),
        comment: entry.comment.clone(),
        state,
        note,
        running: is_running,
    }
}

fn wants<'a>(principal: &'a Principal, comment: Option<&'a str>, overwrites: bool) -> Order<'a> {
    Order { by: Some(&principal.name), comment, overwrites }
}
