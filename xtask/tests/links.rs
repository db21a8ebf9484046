//! Links of the pages lead somewhere: to files that are there, to headings that they have; and so
//! do the pages of the house where they name files and functions.
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

/// The pages that say where things stand in the code.
const OF_THE_HOUSE: [&str; 2] = ["ARCHITECTURE.md", "CONTRIBUTING.md"];

/// Every tracked or new file, as a path below the root.
fn files() -> Vec<String> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output();
    let listed = String::from_utf8(listed.expect("git lists the files").stdout).expect("names");
    listed.lines().filter(|path| root().join(path).exists()).map(str::to_owned).collect()
}

/// Whether a word of code names a file of sources, or something below one of the floors.
fn is_place(word: &str) -> bool {
    let floors = ["kit", "proto", "plane", "node", "stack", "nf", "lab", "tandem", "xtask"];
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let is_source = [".rs", ".toml", ".c", ".o", ".ts"].iter().any(|it| word.ends_with(it));
    let is_below = word.split_once('/').is_some_and(|(first, _)| floors.contains(&first));
    word.chars().all(is_plain) && (is_source || is_below)
}

/// The files that a place names: one, some of that name, or those of a folder.
fn named<'f>(files: &'f [String], place: &str) -> Vec<&'f String> {
    let place = place.trim_end_matches('/');
    let is_there = |path: &str| path == place || path.ends_with(&format!("/{place}"));
    let is_in = |path: &str| path.starts_with(&format!("{place}/"));
    files.iter().filter(|path| is_there(path) || is_in(path)).collect()
}

/// What a line of a page names that is not there: files, and functions in brackets behind a file.
fn astray(files: &[String], line: &str) -> Vec<String> {
    let (mut astray, mut last, mut depth) = (Vec::new(), Vec::new(), 0);
    for (at, part) in line.split('`').enumerate() {
        if at % 2 == 0 {
            let brackets = part.chars().map(|c| i32::from(c == '(') - i32::from(c == ')'));
            depth += brackets.sum::<i32>();
        } else if is_place(part) {
            last = named(files, part);
            astray.extend(last.is_empty().then(|| part.to_owned()));
        } else if depth > 0 && part.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
            let mut sources = last.iter().filter(|path| path.ends_with(".rs")).peekable();
            let is_said = |path: &&String| {
                fs::read_to_string(root().join(path)).is_ok_and(|text| text.contains(part))
            };
            let is_lost = sources.peek().is_some() && !sources.any(is_said);
            astray.extend(is_lost.then(|| format!("{part} in {}", last[0])));
        }
    }
    astray
}

#[test]
fn files_and_functions_that_the_pages_of_the_house_name_are_there() {
    let files = files();
    for page in OF_THE_HOUSE {
        let text = fs::read_to_string(root().join(page)).expect("it is text");
        let wrong: Vec<String> = prose(&text).flat_map(|line| astray(&files, line)).collect();
        assert!(wrong.is_empty(), "{page} names what is not there: {wrong:?}");
    }
    let is_seen = |line: &str| astray(&files, line).len();
    assert_eq!(is_seen("`nf/ssc/src/lib.rs` (`message`, `arrived`) → `write.rs`, a `rule`"), 0);
    assert_eq!(is_seen("`nf/ssc/src/nowhere.rs` → `nf/none`"), 2);
    assert_eq!(is_seen("`nf/ssc/src/lib.rs` (`sails_away`)"), 1);
}

#[test]
fn every_crate_stands_on_its_floor_in_the_drawing() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("it is text");
    let drawing = text.split("```").nth(1).expect("the drawing of the floors");
    let drawn: BTreeSet<&str> = drawing.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let missing: Vec<String> = files()
        .into_iter()
        .filter_map(|path| path.strip_suffix("/Cargo.toml").map(str::to_owned))
        .filter(|folder| folder.split('/').count() == 2)
        .filter(|folder| !folder.starts_with("tandem/") && !folder.starts_with("clients/"))
        .filter(|folder| !drawn.contains(folder.split('/').nth(1).unwrap_or_default()))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
