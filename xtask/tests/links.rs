//! Links of the pages lead somewhere: to files that are there, to headings that they have.
//!
//! A program of its own: `make test` runs the checks of the house one by one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The pages that the repository keeps.
fn pages() -> Vec<PathBuf> {
    let listed = Command::new("git").args(["ls-files", "*.md"]).current_dir(root()).output();
    let listed = String::from_utf8(listed.expect("git lists the pages").stdout).expect("names");
    listed.lines().map(|path| root().join(path)).filter(|path| path.exists()).collect()
}

/// The lines of a page that are no code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The name that a heading has in the address of a page, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = |c: char| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c.to_ascii_lowercase()),
        _ => None,
    };
    heading.trim().chars().filter_map(kept).collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#'))).collect()
}

/// What the links of a line lead to.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next())
}

/// Why a link of a page leads nowhere.
fn dead(page: &Path, text: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, wanted) = target.split_once('#').map_or((target, None), |(f, a)| (f, Some(a)));
    let path = page.parent().expect("a page is in a folder").join(file);
    if !file.is_empty() && !path.exists() {
        return Some(format!("there is no {file}"));
    }
    let wanted = wanted.filter(|_| file.is_empty() || file.ends_with(".md"))?;
    let other = if file.is_empty() { text.to_owned() } else { fs::read_to_string(path).ok()? };
    (!anchors(&other).contains(wanted)).then(|| format!("no heading is #{wanted}"))
}

#[test]
fn every_link_of_a_page_leads_to_a_file_and_a_heading_that_are_there() {
    let mut wrong = Vec::new();
    let pages = pages();
    assert!(pages.len() > 20, "{}", pages.len());
    for page in pages {
        let text = fs::read_to_string(&page).expect("it is text");
        for target in prose(&text).flat_map(targets) {
            let why = dead(&page, &text, target);
            wrong.extend(why.map(|why| format!("{}: {target}: {why}", page.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_dead_link_is_seen() {
    let page = root().join("README.md");
    let text = "# One\n## What may come, from a `peer`?\n```\n# no heading\n```\n";
    let dead = |target| dead(&page, text, target).is_some();
    assert!(!dead("#what-may-come-from-a-peer") && !dead("LICENSE") && !dead("https://x.example"));
    assert!(dead("#no-heading") && dead("nowhere.md") && dead("docs/lab.md#attacks-of-none"));
}
