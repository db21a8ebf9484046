//! Everything that the program may run, for the API's description.

use super::{Kind, functions};
use oam::{Described, OpenApi};
use question::Question;

macro_rules! kinds {
    ($($(#[$doc:meta])* $key:ident: $many:ident<$kind:ty>,)*) => {
        [$((stringify!($key), questions::<$kind>(), <$kind as Kind>::routes()),)*]
    };
}

/// What functions of a kind may be asked, under supervision and in a pair.
fn questions<K: Kind>() -> Vec<Question> {
    let mut all = K::questions();
    all.push(supervise::RELOADS);
    if K::PAIRED {
        all.extend(crate::paired::QUESTIONS);
    }
    all
}

/// The kinds of functions with their questions and routes, and what a site runs beside them.
pub fn described() -> Described {
    let mut kinds: Vec<(&str, Vec<Question>)> = Vec::new();
    let mut routes: Vec<OpenApi> = Vec::new();
    for (kind, questions, its_own) in functions!(kinds) {
        kinds.push((kind, questions));
        routes.extend(its_own);
    }
    kinds.push((services::arbiter::ARBITER, services::arbiter::questions()));
    kinds.push((services::pool::POOL, services::pool::questions()));
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
}
