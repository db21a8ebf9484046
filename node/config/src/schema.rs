//! The first look at a site file: every key and every value against the JSON schema that the
//! section types carry, so that all mistakes are reported at once, each at its own place.

use crate::source::{Node, Source, Step, steps};
use crate::{Diagnostic, Issue, nearest};
use serde_json::{Map, Value as Json};
use std::ops::Range;
use toml_edit::Value;

/// Deepest nesting of tables and arrays that is looked into.
const DEPTH_MAX: usize = 16;
/// Most diagnostics that one look reports.
pub(crate) const DIAGNOSTICS_MAX: usize = 100;
/// Keys that are listed where none is like the one that is unknown.
const KEYS_SHOWN_MAX: usize = 8;

/// The text that stands where some has to be.
pub(crate) const PLACEHOLDER: &str = "_";

/// A mistake, and what lets the rest of the text be judged.
pub(crate) struct Found {
    pub(crate) diagnostic: Diagnostic,
    pub(crate) correction: Correction,
}

/// What makes a text one that can be judged.
pub(crate) enum Correction {
    /// What stands at that path is left out; an element of an array is replaced, so that those
    /// behind it keep their numbers.
    Replace(String, Option<String>),
    /// A misspelt key is what was meant.
    Rename { table: String, key: String, to: String },
    /// A missing key has some value.
    Add { table: String, key: String, value: String },
}

/// Everything in `source` that the schema refuses, in the order of the text.
pub(crate) fn look(source: &Source, schema: &Json) -> Vec<Found> {
    let mut walk = Walk { source, root: schema, found: Vec::new() };
    walk.node(source.root(), schema, "", None, 0);
    walk.found.sort_by_key(|it| (it.diagnostic.line, it.diagnostic.column));
    walk.found.truncate(DIAGNOSTICS_MAX);
    walk.found
}

/// A value, as TOML writes it, that fits the schema of a path; `None` where nobody can know.
pub(crate) fn placeholder_at(root: &Json, path: &str) -> Option<String> {
    let mut schema = resolve(root, root);
    for step in steps(path) {
        let next = match &step {
            Step::Key(key) => schema
                .pointer("/properties")
                .and_then(|known| known.get(key))
                .or_else(|| schema.get("additionalProperties").filter(|it| it.is_object())),
            Step::Index(_) => schema.get("items"),
        };
        schema = resolve(root, next?);
    }
    placeholder(schema)
}

fn placeholder(schema: &Json) -> Option<String> {
    if let Some(word) = words(schema).first() {
        return Some(format!("\"{word}\""));
    }
    if has_alternatives(schema) {
        return None;
    }
    Some(match *types(schema).first()? {
        "object" => "{}".to_owned(),
        "array" => "[]".to_owned(),
        "string" => match schema.get("format").and_then(Json::as_str) {
            Some("ip" | "ipv4") => "\"192.0.2.1\"".to_owned(),
            Some("ipv6") => "\"2001:db8::1\"".to_owned(),
            _ => format!("\"{PLACEHOLDER}\""),
        },
        "integer" => {
            let least = schema.get("minimum").and_then(Json::as_i64).unwrap_or(0);
            least.max(1).to_string()
        }
        "number" => "1.0".to_owned(),
        "boolean" => "false".to_owned(),
        _ => return None,
    })
}

/// Follows `$ref`, and an `Option`'s `anyOf [T, null]` to its `T`.
fn resolve<'a>(root: &'a Json, schema: &'a Json) -> &'a Json {
    let mut schema = schema;
    for _ in 0..DEPTH_MAX {
        if let Some(name) = schema.get("$ref").and_then(Json::as_str) {
            let target = name.strip_prefix('#').and_then(|at| root.pointer(at));
            let Some(target) = target else { return schema };
            schema = target;
        } else if let Some(only) = only_alternative(schema) {
            schema = only;
        } else {
            return schema;
        }
    }
    schema
}

struct Walk<'a> {
    source: &'a Source,
    root: &'a Json,
    found: Vec<Found>,
}

impl<'a> Walk<'a> {
    fn report(&mut self, span: Option<Range<usize>>, path: &str, what: String, hint: String) {
        let replacement = path.ends_with(']').then(|| placeholder_at(self.root, path)).flatten();
        self.corrected(span, path, what, hint, Correction::Replace(path.to_owned(), replacement));
    }

    fn corrected(
        &mut self,
        span: Option<Range<usize>>,
        path: &str,
        what: String,
        hint: String,
        correction: Correction,
    ) {
        let diagnostic = self.source.at(span, Issue::new(path, what, hint));
        self.found.push(Found { diagnostic, correction });
    }

    fn resolve(&self, schema: &'a Json) -> &'a Json {
        resolve(self.root, schema)
    }

    fn node(
        &mut self,
        node: Node<'a>,
        schema: &'a Json,
        path: &str,
        span: Option<Range<usize>>,
        depth: usize,
    ) {
        let schema = self.resolve(schema);
        if depth > DEPTH_MAX || has_alternatives(schema) {
            return; // serde decides, and says where
        }
        let wanted = types(schema);
        if let Some(entries) = node.entries() {
            if self.takes(&wanted, "object", "a table", span, path) {
                self.table(node, entries, schema, path, depth);
            }
        } else if let Some(elements) = node.elements() {
            if self.takes(&wanted, "array", "an array", span, path)
                && let Some(items) = schema.get("items")
            {
                for (index, element) in elements.into_iter().enumerate() {
                    let path = format!("{path}[{index}]");
                    self.node(element, items, &path, element.span(), depth + 1);
                }
            }
        } else if let Some(value) = node.value() {
            self.scalar(value, schema, &wanted, path);
        }
    }

    fn takes(
        &mut self,
        wanted: &[&str],
        kind: &str,
        is: &str,
        span: Option<Range<usize>>,
        path: &str,
    ) -> bool {
        if wanted.is_empty() || wanted.contains(&kind) {
            return true;
        }
        let what = format!("this is {is}, not {}", wording(wanted));
        let mut hint = format!("write {}", wording(wanted));
        if kind == "object" && wanted == ["array"] {
            let names = steps(path).into_iter().filter_map(|step| match step {
                Step::Key(name) => Some(name),
                Step::Index(_) => None,
            });
            let names: Vec<String> = names.collect();
            hint = format!("there may be several: write `[[{}]]`", names.join("."));
        }
        self.report(span, path, what, hint);
        false
    }

    fn table(
        &mut self,
        node: Node<'a>,
        entries: Vec<(&'a str, Node<'a>)>,
        schema: &'a Json,
        path: &str,
        depth: usize,
    ) {
        let none = Map::new();
        let known = schema.get("properties").and_then(Json::as_object);
        let closed = schema.get("additionalProperties") == Some(&Json::Bool(false));
        let mut meant = Vec::new();
        for &(key, child) in &entries {
            let below = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            if let Some(schema) = known.and_then(|known| known.get(key)) {
                let span = child.span().or_else(|| node.key_span(key));
                self.node(child, schema, &below, span, depth + 1);
            } else if let Some(schema) =
                schema.get("additionalProperties").filter(|s| s.is_object())
            {
                self.node(child, schema, &below, child.span(), depth + 1);
            } else if closed {
                let names = known.unwrap_or(&none).keys().map(String::as_str);
                let hint = unknown_hint(key, names.clone());
                let what = format!("unknown key `{key}`");
                let correction = match nearest(key, names) {
                    Some(near) => {
                        meant.push(near);
                        let (table, to) = (path.to_owned(), near.to_owned());
                        Correction::Rename { table, key: key.to_owned(), to }
                    }
                    None => Correction::Replace(below.clone(), None),
                };
                self.corrected(node.key_span(key), &below, what, hint, correction);
            }
        }
        self.lacking(node, &entries, schema, path, &meant);
    }

    /// Keys that have to be there and are not; one that is misspelt is not missing as well.
    fn lacking(
        &mut self,
        node: Node<'a>,
        entries: &[(&'a str, Node<'a>)],
        schema: &'a Json,
        path: &str,
        meant: &[&str],
    ) {
        let known = schema.get("properties").and_then(Json::as_object);
        let required = schema.get("required").and_then(Json::as_array);
        for name in required.into_iter().flatten().filter_map(Json::as_str) {
            if meant.contains(&name) || entries.iter().any(|(key, _)| *key == name) {
                continue;
            }
            let place = if path.is_empty() { "the file" } else { path };
            let what = format!("`{name}` is missing in {place}");
            let wanted = known.and_then(|known| known.get(name));
            let value = wanted.and_then(|it| placeholder(self.resolve(it)));
            let (table, key) = (path.to_owned(), name.to_owned());
            let correction = Correction::Add { table, key, value: value.unwrap_or_default() };
            let hint = format!("add `{name} = …` here");
            self.corrected(node.span(), path, what, hint, correction);
        }
    }

    fn scalar(&mut self, value: &Value, schema: &Json, wanted: &[&str], path: &str) {
        let (kind, is) = match value {
            Value::String(_) => ("string", "text"),
            Value::Integer(_) => ("integer", "a whole number"),
            Value::Float(_) => ("number", "a number"),
            Value::Boolean(_) => ("boolean", "true or false"),
            _ => ("string", "a date"),
        };
        let fits = wanted.contains(&kind) || (kind == "integer" && wanted.contains(&"number"));
        if !fits {
            self.takes(wanted, kind, is, value.span(), path);
            return;
        }
        if let Some(text) = value.as_str() {
            self.word(text, schema, value, path);
        }
        if let Some(number) = value.as_integer() {
            self.range(number, schema, value, path);
        }
    }

    fn word(&mut self, text: &str, schema: &Json, value: &Value, path: &str) {
        let words = words(schema);
        if words.is_empty() || words.contains(&text) {
            return;
        }
        let hint = match nearest(text, words.iter().copied()) {
            Some(near) => format!("did you mean `{near}`? Possible: {}", words.join(", ")),
            None => format!("write one of: {}", words.join(", ")),
        };
        self.report(value.span(), path, format!("`{text}` is not possible here"), hint);
    }

    fn range(&mut self, number: i64, schema: &Json, value: &Value, path: &str) {
        let bound = |key: &str| schema.get(key).and_then(Json::as_f64);
        let least = bound("minimum");
        let most = bound("maximum").or_else(|| format_maximum(schema));
        let number_f = number as f64;
        if least.is_some_and(|least| number_f < least) || most.is_some_and(|most| number_f > most) {
            let hint = match (least, most) {
                (Some(least), Some(most)) => format!("write a number from {least} to {most}"),
                (Some(least), None) => format!("write a number of at least {least}"),
                (_, most) => format!("write a number of at most {}", most.unwrap_or(f64::MAX)),
            };
            self.report(value.span(), path, format!("{number} is out of range"), hint);
        }
    }
}

fn unknown_hint<'k>(key: &str, known: impl Iterator<Item = &'k str> + Clone) -> String {
    if let Some(near) = nearest(key, known.clone()) {
        return format!("did you mean `{near}`?");
    }
    let mut names: Vec<&str> = known.collect();
    names.sort_unstable();
    let shown = names.iter().take(KEYS_SHOWN_MAX).copied().collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => "remove it".into(),
        count if count <= KEYS_SHOWN_MAX => format!("known here: {shown}"),
        count => {
            format!("known here: {shown} and {} more (docs/configuration)", count - KEYS_SHOWN_MAX)
        }
    }
}

/// The largest value of schemars' `format` of unsigned types, which carry no `maximum`.
fn format_maximum(schema: &Json) -> Option<f64> {
    match schema.get("format").and_then(Json::as_str)? {
        "uint8" => Some(f64::from(u8::MAX)),
        "uint16" => Some(f64::from(u16::MAX)),
        "uint32" => Some(f64::from(u32::MAX)),
        _ => None,
    }
}

fn alternatives(schema: &Json) -> impl Iterator<Item = &Json> {
    let list = |key| schema.get(key).and_then(Json::as_array);
    list("anyOf").or_else(|| list("oneOf")).into_iter().flatten()
}

/// The one alternative of an `anyOf` that is not `null`.
fn only_alternative(schema: &Json) -> Option<&Json> {
    let mut real =
        alternatives(schema).filter(|s| s.get("type").and_then(Json::as_str) != Some("null"));
    let first = real.next()?;
    real.next().is_none().then_some(first)
}

/// Whether the shape depends on the content; an enumeration of words does not.
fn has_alternatives(schema: &Json) -> bool {
    alternatives(schema).next().is_some() && words(schema).is_empty()
}

/// The words that a string may be: `enum`, or `oneOf` of constants (one with a doc comment each).
fn words(schema: &Json) -> Vec<&str> {
    let direct = schema.get("enum").and_then(Json::as_array).into_iter().flatten();
    let mut words: Vec<&str> = direct.chain(schema.get("const")).filter_map(Json::as_str).collect();
    for one in alternatives(schema) {
        let constant = one.get("const").and_then(Json::as_str);
        let listed = one.get("enum").and_then(Json::as_array).into_iter().flatten();
        let before = words.len();
        words.extend(constant.into_iter().chain(listed.filter_map(Json::as_str)));
        if words.len() == before {
            return Vec::new(); // one alternative is no word
        }
    }
    words
}

fn types(schema: &Json) -> Vec<&str> {
    match schema.get("type") {
        Some(Json::String(one)) => vec![one],
        Some(Json::Array(many)) => {
            many.iter().filter_map(Json::as_str).filter(|t| *t != "null").collect()
        }
        _ if !words(schema).is_empty() => vec!["string"],
        _ => vec!["object", "array", "string", "integer", "number", "boolean"],
    }
}

fn wording(types: &[&str]) -> String {
    let name = |kind: &&str| match *kind {
        "object" => "a table",
        "array" => "an array `[…]`",
        "string" => "text in quotes",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        _ => "another value",
    };
    types.iter().map(name).collect::<Vec<_>>().join(" or ")
}
