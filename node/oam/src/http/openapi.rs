//! The API's description: the routes of this crate, those that functions bring along, and a path
//! for each question of each kind of function, with its parameters and the schema of its answer.

use super::error::ErrorBody;
use crate::core::Core;
use crate::managed::{Described, Registry};
use axum::extract::State;
use question::{Does, Parameter, Question};
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema as _;

/// Below which the questions of functions stand.
const FUNCTIONS: &str = "/api/v1/functions/{name}/";
/// Where schemas stand in the description.
const SCHEMAS: &str = "/components/schemas";

/// The API's description: every route, those of functions included.
#[utoipa::path(get, path = "/api/v1/openapi.json", tag = "site",
    responses((status = 200, body = Document, description = "OpenAPI 3.1")))]
pub async fn openapi(State(core): State<Arc<Core>>) -> axum::Json<Value> {
    axum::Json(document(&core.registry))
}

/// A description in the words of OpenAPI 3.1.
#[derive(utoipa::ToSchema)]
#[allow(dead_code, reason = "its fields say what stands there")]
pub struct Document {
    /// Version of the specification.
    openapi: String,
    /// Of what, and of which version.
    #[schema(value_type = BTreeMap<String, serde_json::Value>)]
    info: (),
    /// The routes: by path, then by method.
    #[schema(value_type = BTreeMap<String, serde_json::Value>)]
    paths: (),
}

/// The description of everything that the registry knows of: the kinds and routes that the program
/// has, and those of functions that run beside.
#[must_use]
pub fn document(registry: &Registry) -> Value {
    let described = registry.described();
    let own: Vec<String> = described.paths().cloned().collect();
    let Described { mut kinds, routes } = described;
    for function in registry.functions() {
        if kinds.iter().all(|(kind, _)| *kind != function.kind()) {
            kinds.push((function.kind(), function.questions()));
        }
    }
    let mut openapi = super::description();
    for extra in routes.into_iter().chain(registry.extras().into_iter().map(|it| it.openapi)) {
        openapi.merge(extra);
    }
    let mut document = serde_json::to_value(openapi).unwrap_or_default();
    for path in &own {
        let operations = document["paths"][path].as_object_mut();
        operations.into_iter().flatten().for_each(|(_, it)| may_be_absent(path, it));
    }
    let (paths, schemas) = asked(&kinds);
    put(&mut document["paths"], paths);
    put(&mut document["components"]["schemas"], schemas);
    document
}

/// Why routes are not there that a function of the site would bring: by their prefix, which is its
/// section.
#[must_use]
pub fn absent(prefix: &str) -> String {
    format!("no function of this site answers: `[{prefix}]` does not stand in its site file")
}

/// Says of a route of a function that it is not there without it.
fn may_be_absent(path: &str, operation: &mut Value) {
    let Some(prefix) = prefix_of(path) else { return };
    let known = operation["responses"]["404"]["description"].as_str();
    let known = known.map(|text| format!("{text}; or ")).unwrap_or_default();
    operation["responses"]["404"] = refused(&(known + &absent(prefix)));
}

/// What the routes of one function begin with: `sas` of `/api/v1/sas/trails`.
pub fn prefix_of(path: &str) -> Option<&str> {
    path.strip_prefix("/api/v1/")?.split('/').next()
}

/// Adds paths or schemas. Two that have one name are a fault of the program: one is to be renamed.
fn put(into: &mut Value, more: Map<String, Value>) {
    match into {
        Value::Object(known) => {
            let twice = more.keys().find(|name| known.contains_key(*name));
            debug_assert_eq!(twice, None, "the API's description has two of them");
            known.extend(more);
        }
        absent => *absent = Value::Object(more),
    }
}

/// Questions of one path and method, each with the kind of function that answers it.
type Asked<'k> = BTreeMap<(&'static str, &'static str), Vec<(&'static str, &'k Question)>>;

/// The paths of these questions, and the schemas of their answers by name.
fn asked(kinds: &[(&'static str, Vec<Question>)]) -> (Map<String, Value>, Map<String, Value>) {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut generator = settings.with(|it| it.definitions_path = SCHEMAS.into()).into_generator();
    let mut all = Asked::new();
    for (kind, questions) in kinds {
        for question in questions {
            let method = match question.does {
                Does::Ask => "get",
                Does::Act => "post",
                Does::Internal => continue,
            };
            all.entry((question.path, method)).or_default().push((kind, question));
        }
    }
    let mut paths = Map::new();
    for ((path, method), by) in all {
        let operation = operation(method, path, &by, &mut generator);
        let entry = paths.entry(format!("{FUNCTIONS}{path}")).or_insert_with(|| json!({}));
        entry[method] = operation;
    }
    (paths, generator.take_definitions(true))
}

fn operation(
    method: &str,
    path: &str,
    by: &[(&'static str, &Question)],
    generator: &mut SchemaGenerator,
) -> Value {
    let kinds: Vec<&str> = by.iter().map(|(kind, _)| *kind).collect();
    let (summary, more) = text(by[0].1.about);
    let mut answers: Vec<Value> = Vec::new();
    let mut known: Vec<Parameter> = Vec::new();
    for (_, question) in by {
        let answer = (question.answer)(generator).to_value();
        if !answers.contains(&answer) {
            answers.push(answer);
        }
        let is_new = |it: &&Parameter| known.iter().all(|other| other.name != it.name);
        let new: Vec<Parameter> = question.parameters.iter().filter(is_new).copied().collect();
        known.extend(new);
    }
    let answer = match answers.len() {
        1 => answers.remove(0),
        _ => json!({ "anyOf": answers }),
    };
    let is_post = method == "post";
    let mut parameters = vec![json!({
        "name": "name", "in": "path", "required": true, "schema": { "type": "string" },
        "description": format!("name of a function of the kind {}", kinds.join(", ")),
    })];
    parameters.extend(known.iter().filter(|_| !is_post).map(|it| {
        json!({
            "name": it.name, "in": "query", "required": it.is_required,
            "description": it.about, "schema": it.schema(),
        })
    }));
    let mut operation = json!({
        "tags": kinds,
        "operationId": format!("{method}-{}", path.replace('/', "-")),
        "summary": summary,
        "parameters": parameters,
        "responses": responses(answer),
    });
    if let Some(more) = more {
        operation["description"] = more.into();
    }
    if is_post {
        operation["requestBody"] = body(&known);
    }
    operation
}

/// What is to be sent with an action. Every parameter may stand in the query as well.
fn body(parameters: &[Parameter]) -> Value {
    let properties: Map<String, Value> = parameters
        .iter()
        .map(|it| {
            let mut schema = it.schema().to_value();
            schema["description"] = it.about.into();
            (it.name.to_owned(), schema)
        })
        .collect();
    let required: Vec<&str> =
        parameters.iter().filter(|it| it.is_required).map(|it| it.name).collect();
    let schema = json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    });
    json!({
        "required": !required.is_empty(),
        "content": { "application/json": { "schema": schema } },
    })
}

/// A response that refuses.
fn refused(what: &str) -> Value {
    let error = json!({ "$ref": format!("#{SCHEMAS}/{}", ErrorBody::name()) });
    json!({ "description": what, "content": { "application/json": { "schema": error } } })
}

fn responses(answer: Value) -> Value {
    let content = json!({ "application/json": { "schema": answer } });
    json!({
        "200": { "description": "the answer", "content": content },
        "400": refused("a parameter is wrong"),
        "404": refused("no function of that name runs, or it knows of none"),
        "503": refused("the function does not answer"),
    })
}

/// A doc comment: its first paragraph, and the others.
fn text(about: &str) -> (String, Option<String>) {
    let lines: Vec<&str> = about.lines().map(str::trim).collect();
    let mut paragraphs = lines.split(|line| line.is_empty()).map(|lines| lines.join(" "));
    let summary = paragraphs.next().unwrap_or_default();
    let more = paragraphs.filter(|it| !it.is_empty()).collect::<Vec<_>>().join("\n\n");
    (summary, Some(more).filter(|more| !more.is_empty()))
}
