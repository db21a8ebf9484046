//! What the program knows of every kind of functions by its row: for the description of the API,
//! the page of metrics, completion, and `tandem ctl wait`.

use super::{Kind, functions};
use crate::metrics::Part;
use clap::Subcommand;
use client::Client;
use oam::{Described, OpenApi};
use question::Question;

/// A kind of functions without a section: what its row makes known to the whole program.
pub struct Row {
    /// The key of the row.
    pub key: &'static str,
    /// What its functions may be asked, under supervision and in a pair.
    pub questions: fn() -> Vec<Question>,
    /// Its routes beside those.
    pub routes: fn() -> Option<OpenApi>,
    /// Every metric that it can have.
    pub metrics: fn() -> Vec<Part>,
    /// The commands of `tandem ctl` that are its own.
    pub commands: fn() -> Vec<String>,
    /// The question that lists its peers, and the key of a peer's name.
    pub peers: Option<(&'static str, &'static str)>,
    /// Why a function that runs does not serve yet.
    pub awaited: fn(&Client, &str) -> Option<String>,
}

const fn row<K: Kind>(key: &'static str) -> Row {
    Row {
        key,
        questions: questions::<K>,
        routes: K::routes,
        metrics: K::metrics,
        commands: commands::<K>,
        peers: K::PEERS,
        awaited: K::awaited,
    }
}

macro_rules! rows {
    ($($(#[$doc:meta])* $key:ident: $many:ident<$kind:ty>,)*) => {
        &[$(row::<$kind>(stringify!($key)),)*]
    };
}

/// All kinds.
pub const ROWS: &[Row] = functions!(rows);

fn questions<K: Kind>() -> Vec<Question> {
    let mut all = K::questions();
    all.push(supervise::RELOADS);
    if K::PAIRED {
        all.extend(crate::paired::QUESTIONS);
    }
    all
}

fn commands<K: Kind>() -> Vec<String> {
    let ctl = <K::Words as Subcommand>::augment_subcommands(clap::Command::new("ctl"));
    ctl.get_subcommands().map(|it| it.get_name().to_owned()).collect()
}

/// The kinds of functions with their questions and routes, and what a site runs beside them.
pub fn described() -> Described {
    let mut kinds: Vec<_> = ROWS.iter().map(|row| (row.key, (row.questions)())).collect();
    kinds.push((services::arbiter::ARBITER, services::arbiter::questions()));
    kinds.push((services::pool::POOL, services::pool::questions()));
    let routes = ROWS.iter().filter_map(|row| (row.routes)()).collect();
    Described { kinds, routes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use question::Does;
    use serde_json::Value;
    use std::collections::BTreeSet;

    fn document() -> Value {
        let registry = oam::Registry::new();
        registry.describe(described());
        oam::http::openapi::document(&registry)
    }

    /// Whether a schema says what an answer holds: no bare object, no bare list.
    fn is_typed(schemas: &Value, schema: &Value, depth: usize) -> bool {
        if let Some(name) = schema["$ref"].as_str() {
            let name = name.strip_prefix("#/components/schemas/").unwrap();
            return depth < 8 && is_typed(schemas, &schemas[name], depth + 1);
        }
        let any = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema[*key].as_array());
        if let Some(any) = any {
            return any.iter().all(|it| is_typed(schemas, it, depth + 1));
        }
        match schema["type"].as_str() {
            Some("array") => is_typed(schemas, &schema["items"], depth + 1),
            Some("object") => {
                schema["properties"].is_object() || schema["additionalProperties"].is_object()
            }
            Some("null") => true,
            other => other.is_some() || schema["type"].is_array() || schema["enum"].is_array(),
        }
    }

    #[test]
    fn every_question_of_every_kind_is_described_with_parameters_and_typed_answers() {
        let document = document();
        let schemas = &document["components"]["schemas"];
        let mut paths = BTreeSet::new();
        for (kind, questions) in described().kinds {
            for question in questions.iter().filter(|it| it.does != Does::Internal) {
                let path = format!("/api/v1/functions/{{name}}/{}", question.path);
                let method = if question.does == Does::Act { "post" } else { "get" };
                let operation = &document["paths"][&path][method];
                let tags = operation["tags"].as_array().unwrap_or_else(|| panic!("{path}"));
                assert!(tags.iter().any(|tag| tag == kind), "{kind} {path}");
                assert!(operation["summary"].as_str().is_some_and(|it| !it.is_empty()), "{path}");
                let body = &operation["requestBody"]["content"]["application/json"]["schema"];
                for parameter in question.parameters {
                    let in_query = operation["parameters"].as_array().unwrap().iter();
                    let in_query = in_query.clone().find(|it| it["name"] == parameter.name);
                    let schema = match method {
                        "get" => in_query.map(|it| &it["schema"]),
                        _ => body["properties"].get(parameter.name),
                    };
                    assert!(
                        schema.is_some_and(|it| it["type"].is_string()),
                        "{path} {parameter:?}"
                    );
                }
                paths.insert(path);
            }
        }
        assert!(paths.len() > 55, "{paths:?}");
        // The routes beside those of functions as well: whatever is there is typed.
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let Some(contents) = operation["responses"]["200"]["content"].as_object() else {
                    let is_empty = ["201", "202", "204"]
                        .iter()
                        .any(|status| operation["responses"][*status].is_object());
                    assert!(is_empty, "{method} {path} answers with nothing that is described");
                    continue;
                };
                for (mime, content) in contents {
                    let schema = &content["schema"];
                    assert!(is_typed(schemas, schema, 0), "{method} {path} {mime}: {schema}");
                }
            }
        }
    }

    #[test]
    fn what_a_shell_completes_by_is_asked_of_a_kind_that_answers_it() {
        for row in ROWS {
            let asked = (row.questions)();
            let lists = |path: &str| asked.iter().any(|it| it.path == path && it.does == Does::Ask);
            assert!(row.peers.is_none_or(|(path, _)| lists(path)), "{}", row.key);
        }
        let of = |key: &str| (ROWS.iter().find(|row| row.key == key).unwrap().commands)();
        assert_eq!(of("rr"), ["bgp"]);
        assert!(of("ssc").iter().any(|word| word == "registrations"));
    }

    #[test]
    fn routes_of_a_function_say_that_they_may_be_absent() {
        let document = document();
        let of = |path: &str| {
            let operation = &document["paths"][path]["get"];
            operation["responses"]["404"]["description"].as_str().unwrap_or_default().to_owned()
        };
        let absent = "no function of this site answers: `[sas]` does not stand in its site file";
        assert_eq!(of("/api/v1/sas/trails"), absent);
        assert_eq!(of("/api/v1/sas/trails/{id}"), format!("no such trail; or {absent}"));
    }

    #[test]
    fn what_the_description_refers_to_is_there_and_no_name_was_taken_twice() {
        let document = document();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let text = document.to_string();
        for part in text.split("\"#/components/schemas/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(schemas.contains_key(name), "{name}");
        }
        // A type of another crate that has the name of one gets a number: rename one.
        let numbered = |name: &&String| {
            let plain = name.trim_end_matches(|it: char| it.is_ascii_digit());
            plain.len() < name.len() && schemas.contains_key(plain)
        };
        assert_eq!(schemas.keys().filter(numbered).collect::<Vec<_>>(), Vec::<&String>::new());
    }

    #[test]
    fn the_console_has_a_name_for_every_kind() {
        let kinds = include_str!("../../../console/src/lib/kinds.ts");
        for row in ROWS.iter().filter(|row| row.key != "echo") {
            assert!(kinds.contains(&format!("\n  {}: {{ name: ", row.key)), "{}", row.key);
        }
    }
}
