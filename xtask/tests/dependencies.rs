//! What Tandem depends on is held to `deny.toml` without a network and without another tool:
//! the licence of each package, where it comes from, and what is banned. `cargo deny check`, which
//! reads the same file, adds the advisories (`make deny`).
//!
//! A program of its own: `make lint` asks for it alone.

use serde_json::Value;
use spdx::Expression;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask stands in the root").to_path_buf()
}

fn rules() -> toml::Table {
    let text = std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml is there");
    text.parse().expect("deny.toml is well-formed")
}

/// The packages that are built for the targets of `deny.toml`, ours and others'.
fn packages(rules: &toml::Table) -> Vec<Value> {
    let targets = rules["graph"]["targets"].as_array().expect("a list");
    let filters = targets.iter().filter_map(toml::Value::as_str);
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--all-features"])
        .args(filters.flat_map(|target| ["--filter-platform", target]))
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    metadata["packages"].as_array().expect("a list").clone()
}

fn words(list: &toml::Value) -> Vec<String> {
    let list = list.as_array().expect("a list").iter();
    list.filter_map(toml::Value::as_str).map(str::to_owned).collect()
}

/// Why a package's licence is not one of those allowed.
fn licence_violation(expression: Option<&str>, allowed: &[String]) -> Option<String> {
    let Some(text) = expression else { return Some("has no licence".to_owned()) };
    let expression = match Expression::parse_mode(text, spdx::ParseMode::LAX) {
        Ok(expression) => expression,
        Err(error) => return Some(format!("{text}: {error}")),
    };
    let is_allowed = |wanted: &spdx::LicenseReq| allowed.contains(&wanted.to_string());
    (!expression.evaluate(is_allowed)).then(|| format!("{text} is not allowed"))
}

fn banned(rules: &toml::Table) -> Vec<String> {
    let list = rules["bans"]["deny"].as_array().expect("a list").iter();
    list.filter_map(|row| row["crate"].as_str()).map(str::to_owned).collect()
}

#[test]
fn every_dependency_has_an_allowed_licence_a_known_source_and_is_not_banned() {
    let rules = rules();
    let (allowed, banned) = (words(&rules["licenses"]["allow"]), banned(&rules));
    let packages = packages(&rules);
    assert!(packages.len() > 200, "the dependencies were read");
    let mut violations = Vec::new();
    for package in &packages {
        let name = package["name"].as_str().expect("a name");
        let licence = licence_violation(package["license"].as_str(), &allowed);
        violations.extend(licence.map(|what| format!("{name}: {what}")));
        let source = package["source"].as_str();
        if source.is_some_and(|source| !source.starts_with("registry+")) {
            violations.push(format!("{name}: comes from {source:?}, not from the registry"));
        }
        if banned.iter().any(|word| word == name) {
            violations.push(format!("{name}: is banned"));
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn the_check_of_licences_can_fail() {
    let allowed = ["MIT".to_owned(), "Apache-2.0".to_owned()];
    assert_eq!(licence_violation(Some("MIT OR GPL-3.0-only"), &allowed), None);
    assert_eq!(licence_violation(Some("MIT/Apache-2.0"), &allowed), None);
    assert!(licence_violation(Some("MIT AND GPL-3.0-only"), &allowed).is_some());
    assert!(licence_violation(None, &allowed).is_some());
}
