//! The keys of a schema as Markdown: the doc comments of the types of a site file.

use serde_json::Value;
use std::fmt::Write as _;

/// Deepest nesting of sections, far above what the site file has.
const DEPTH_MAX: usize = 8;

/// Appends a table of the plain keys, then a section for each key that holds tables of its own. The
/// sections `apart` become a row of a table of functions and a page each, which it returns by name.
pub fn describe(out: &mut String, schema: &Value, apart: &[&str]) -> Vec<(String, String)> {
    let mut site = schema.clone();
    let mut pages = Vec::new();
    out.push_str("\n## Functions\n\n| section | what |\n|---|---|\n");
    for name in apart {
        let keys = site["properties"].as_object_mut();
        let Some(value) = keys.and_then(|keys| keys.remove(*name)) else { continue };
        let Some((inner, many)) = table(schema, &value) else { continue };
        let heading = if many { format!("[[{name}]]") } else { format!("[{name}]") };
        let what = line(schema, &value);
        let _infallible = writeln!(out, "| [`{heading}`](configuration/{name}.md) | {what} |");
        let mut page = format!(
            "# The site file: `{heading}`\n\n{what} What all functions share, and how paths are \
             read, is in\n[configuration.md](../configuration.md).\n\n## `{heading}`\n"
        );
        section(&mut page, schema, inner, name, 1);
        pages.push((format!("configuration/{name}.md"), page));
    }
    section(out, schema, &site, "", 0);
    pages
}

/// A table of an object's plain keys, then a section for each key that holds tables of its own.
fn section(out: &mut String, schema: &Value, object: &Value, path: &str, depth: usize) {
    let Some(properties) = object["properties"].as_object() else { return };
    let required = object["required"].as_array().map_or(&[][..], Vec::as_slice);
    let (nested, plain): (Vec<_>, Vec<_>) =
        properties.iter().partition(|(_, value)| table(schema, value).is_some());
    if !plain.is_empty() {
        out.push_str("\n| key | type | default | what |\n|---|---|---|---|\n");
    }
    for (key, value) in plain {
        let default = match value.get("default") {
            Some(Value::Null) | None if required.iter().any(|name| name == key) => {
                "required".into()
            }
            Some(Value::Null) | None => String::new(),
            Some(default) => format!("`{default}`"),
        };
        let (kind, what) = (kind(schema, value), line(schema, value));
        let _infallible = writeln!(out, "| `{key}` | {kind} | {default} | {what} |");
    }
    for (key, value) in nested {
        let Some((inner, list)) = table(schema, value) else { continue };
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let heading = if list { format!("[[{path}]]") } else { format!("[{path}]") };
        let _infallible = writeln!(out, "\n## `{heading}`\n\n{}", line(schema, value));
        if depth < DEPTH_MAX {
            section(out, schema, inner, &path, depth + 1);
        }
    }
}

/// The object behind a value, and whether it is a list of them; `None` for plain values.
fn table<'s>(schema: &'s Value, value: &'s Value) -> Option<(&'s Value, bool)> {
    let list = is_list(value);
    let inner = resolve(schema, if list { &value["items"] } else { value });
    inner["properties"].is_object().then_some((inner, list))
}

/// Whether a value is a list, or may be left out and is one.
fn is_list(value: &Value) -> bool {
    let types = value["type"].as_array().map_or(&[][..], Vec::as_slice);
    value["type"] == "array" || types.iter().any(|kind| kind == "array")
}

/// Follows a reference, also one inside "this or nothing".
fn resolve<'s>(schema: &'s Value, value: &'s Value) -> &'s Value {
    let value = value["anyOf"].get(0).unwrap_or(value);
    match value["$ref"].as_str().and_then(|name| name.strip_prefix('#')) {
        Some(pointer) => schema.pointer(pointer).unwrap_or(value),
        None => value,
    }
}

fn kind(schema: &Value, value: &Value) -> String {
    let inner = resolve(schema, value);
    if let Some(choices) = choices(inner) {
        return choices.join(" or ");
    }
    match &inner["type"] {
        _ if is_list(inner) => format!("list of {}", kind(schema, &inner["items"])),
        Value::String(name) => name.clone(),
        Value::Array(names) => names
            .iter()
            .filter_map(Value::as_str)
            .find(|name| *name != "null")
            .unwrap_or("any")
            .to_owned(),
        _ => "any".to_owned(),
    }
}

/// The words of an enumeration.
fn choices(inner: &Value) -> Option<Vec<String>> {
    let word = |value: &Value| value.as_str().map(|word| format!("`\"{word}\"`"));
    if let Some(words) = inner["enum"].as_array() {
        return words.iter().map(word).collect();
    }
    inner["oneOf"].as_array()?.iter().map(|one| word(&one["const"])).collect()
}

/// The description as one line of a table.
fn line(schema: &Value, value: &Value) -> String {
    let own = value["description"].as_str();
    let text = own.or_else(|| resolve(schema, value)["description"].as_str()).unwrap_or_default();
    text.replace('\n', " ").replace('|', "\\|")
}
