//! Questions and actions that a function answers itself: those of its table, and no other path.

use super::error::{ApiError, Body, Params};
use crate::core::Core;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use question::{Does, Question};
use runtime::Ask;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Parameters of one question at most.
const PARAMETERS_MAX: usize = 32;

type Parameters = BTreeMap<String, String>;

/// Asks a function one of its questions.
pub async fn ask(
    State(core): State<Arc<Core>>,
    Path((name, path)): Path<(String, String)>,
    Params(params): Params<Parameters>,
) -> Result<Json<Value>, ApiError> {
    forward(core, name, Ask { path, params }, false).await
}

/// Tells a function to do something. Parameters stand in the query or in a JSON object.
pub async fn act(
    State(core): State<Arc<Core>>,
    Path((name, path)): Path<(String, String)>,
    Params(mut params): Params<Parameters>,
    Body(body): Body<BTreeMap<String, Value>>,
) -> Result<Json<Value>, ApiError> {
    for (key, value) in body {
        let text = match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        params.insert(key, text);
    }
    forward(core, name, Ask { path, params }, true).await
}

/// Why a function has no answer, in words of its kind.
fn unanswered(name: &str, kind: &str, path: &str) -> String {
    match path {
        "switchover" | "replica" => format!("`{name}` is not one of a pair"),
        path => format!("`{name}` is a function of the kind {kind}: it has no `{path}`"),
    }
}

async fn forward(
    core: Arc<Core>,
    name: String,
    ask: Ask,
    acts: bool,
) -> Result<Json<Value>, ApiError> {
    let Some(function) = core.registry.function(&name) else {
        let known: Vec<String> = core.registry.functions().iter().map(|f| f.name()).collect();
        let message = format!("no function is called `{name}`; there are: {}", known.join(", "));
        return Err(ApiError::not_found(message));
    };
    let questions = function.questions();
    let is_asked = |it: &&Question| it.path == ask.path && it.does != Does::Internal;
    let Some(question) = questions.iter().find(is_asked) else {
        return Err(ApiError::not_found(unanswered(&name, function.kind(), &ask.path)));
    };
    if (question.does == Does::Act) != acts {
        let method = if acts { "GET" } else { "POST" };
        let message = format!("`{}` takes {method}", ask.path);
        let status = StatusCode::METHOD_NOT_ALLOWED;
        return Err(ApiError::new(status, "method-not-allowed", message));
    }
    if ask.params.len() > PARAMETERS_MAX {
        return Err(ApiError::bad(format!("at most {PARAMETERS_MAX} parameters")));
    }
    let answer = tokio::task::spawn_blocking(move || function.ask(ask)).await;
    let answer = answer.map_err(|error| ApiError::internal(error.to_string()))?;
    Ok(Json(answer?))
}
