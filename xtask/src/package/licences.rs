//! The licences of the crates in the binary, as their authors ask: a list, and the text of each.

use super::{Release, said};
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

/// How the names of files with a licence begin.
const NAMES: &[&str] = &["COPYING", "COPYRIGHT", "LICENCE", "LICENSE", "NOTICE", "UNLICENSE"];
const TARGET: &str = "x86_64-unknown-linux-gnu";
const ROOT_PACKAGE: &str = "tandem";

/// Every crate of others that the binary is made of, with its licence, and then the texts; crates
/// with the same text stand together.
pub fn of_dependencies(release: &Release) -> Result<String> {
    let words = ["metadata", "--format-version", "1", "--locked", "--filter-platform", TARGET];
    let metadata = said(Command::new("cargo").args(words).current_dir(&release.root))?;
    let metadata: Value = serde_json::from_slice(&metadata)?;
    let wanted = reached(&metadata).context("cargo metadata is not read")?;
    let packages = metadata["packages"].as_array().context("there are packages")?;
    let mut rows = BTreeSet::new();
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in packages.iter().filter(|it| !it["source"].is_null()) {
        if !package["id"].as_str().is_some_and(|id| wanted.contains(id)) {
            continue;
        }
        let word = |key: &str| package[key].as_str().unwrap_or_default();
        let name = format!("{} {}", word("name"), word("version"));
        rows.insert(format!("{name}: {}", word("license")));
        let folder = Path::new(word("manifest_path")).parent().context("a folder")?;
        for text in texts_in(folder)? {
            texts.entry(text).or_default().insert(name.clone());
        }
    }
    let mut page = "The crates in /usr/bin/tandem and their licences.\n\n".to_owned();
    rows.iter().for_each(|row| page += &format!("{row}\n"));
    let mut texts: Vec<_> = texts.into_iter().map(|(text, of)| (of, text)).collect();
    texts.sort();
    for (of, text) in texts {
        let of: Vec<String> = of.into_iter().collect();
        page += &format!("\n==== {}\n\n{}\n", of.join(", "), text.trim_end());
    }
    Ok(page)
}

/// The packages that a program is made of: what it needs to run, not to be built or tested.
fn reached(metadata: &Value) -> Option<BTreeSet<&str>> {
    let nodes = metadata["resolve"]["nodes"].as_array()?.iter();
    let nodes: BTreeMap<&str, &Value> =
        nodes.filter_map(|node| Some((node["id"].as_str()?, node))).collect();
    let mut packages = metadata["packages"].as_array()?.iter();
    let own = packages.find(|it| it["name"] == ROOT_PACKAGE && it["source"].is_null())?;
    let mut waiting = vec![own["id"].as_str()?];
    let mut reached = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if !reached.insert(id) {
            continue;
        }
        for dependency in nodes.get(id)?["deps"].as_array()? {
            let mut kinds = dependency["dep_kinds"].as_array()?.iter();
            if kinds.any(|it| it["kind"].is_null()) {
                waiting.push(dependency["pkg"].as_str()?);
            }
        }
    }
    Some(reached)
}

fn texts_in(folder: &Path) -> Result<BTreeSet<String>> {
    let mut texts = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        if entry.file_type()?.is_file() && NAMES.iter().any(|start| name.starts_with(start)) {
            texts.insert(String::from_utf8_lossy(&fs::read(entry.path())?).into_owned());
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_only_builds_or_tests_a_program_is_no_part_of_it() {
        let node = |id: &str, deps: &[(&str, Value)]| {
            let deps =
                deps.iter().map(|(id, kind)| json!({ "pkg": id, "dep_kinds": [{ "kind": kind }] }));
            json!({ "id": id, "deps": deps.collect::<Vec<_>>() })
        };
        let metadata = json!({
            "packages": [{ "name": "tandem", "id": "t", "source": null }],
            "resolve": { "nodes": [
                node("t", &[("a", Value::Null), ("b", json!("dev")), ("c", json!("build"))]),
                node("a", &[("d", Value::Null)]),
                node("b", &[]), node("c", &[]), node("d", &[("a", Value::Null)]),
            ]},
        });
        assert_eq!(reached(&metadata), Some(BTreeSet::from(["a", "d", "t"])));
    }
}
