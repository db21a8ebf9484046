//! The rules of the house that a machine can check: which way dependencies point, where `unsafe`
//! may stand, how long a file and a function may be, and words that do not belong.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

const FILE_LINES_MAX: usize = 800;
const FUNCTION_LINES_MAX: usize = 70;
const LINE_COLUMNS_MAX: usize = 100;
const CRATE_LINES_MAX: usize = 12_000;
const FORBIDDEN_FILE_NAMES: &[&str] = &["utils", "util", "common", "helper", "helpers", "misc"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask stands in the root").to_path_buf()
}

/// The floor of a crate by its folder below the root; `None` for what stands beside the house.
fn floor(folder: &str) -> Option<u8> {
    match folder.split('/').next()? {
        "kit" => Some(0),
        "proto" | "plane" => Some(1),
        "node" => Some(2),
        "stack" => Some(3),
        "nf" => Some(4),
        "lab" => Some(5),
        "tandem" => Some(6),
        _ => None,
    }
}

/// What cargo says of every package of the workspace.
fn metadata() -> Vec<serde_json::Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    metadata["packages"].as_array().expect("packages is a list").clone()
}

/// The folder of a package below the root.
fn folder(package: &serde_json::Value) -> String {
    let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
    let folder = manifest.parent().expect("a folder").strip_prefix(root());
    folder.expect("below the root").to_string_lossy().into_owned()
}

/// Package name → (folder below the root, names of the packages it depends on).
fn packages() -> BTreeMap<String, (String, Vec<String>)> {
    metadata()
        .iter()
        .map(|package| {
            let needs = package["dependencies"].as_array().expect("a list").iter();
            let needs = needs.filter_map(|d| d["name"].as_str()).map(str::to_owned).collect();
            let name = package["name"].as_str().expect("a name").to_owned();
            (name, (folder(package), needs))
        })
        .collect()
}

/// Why a crate in `from` may not depend on one in `to`.
fn violation(from: &str, to: &str) -> Option<&'static str> {
    let (Some(upper), Some(lower)) = (floor(from), floor(to)) else { return None };
    match () {
        () if lower > upper => Some("points up"),
        () if from.starts_with("nf/") && to.starts_with("nf/") => Some("functions may not meet"),
        () if from.starts_with("node/") && to.starts_with("proto/") => {
            Some("node names no protocol")
        }
        () => None,
    }
}

#[test]
fn dependencies_point_down() {
    let packages = packages();
    assert!(packages.len() > 10, "the workspace was read");
    let mut violations = Vec::new();
    for (name, (from, needs)) in &packages {
        for (to, _) in needs.iter().filter_map(|need| packages.get(need)) {
            if let Some(why) = violation(from, to) {
                violations.push(format!("{name} ({from}) → {to}: {why}"));
            }
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn the_check_of_dependencies_can_fail() {
    assert_eq!(violation("kit/machine", "node/runtime"), Some("points up"));
    assert_eq!(violation("nf/ssc", "nf/sas"), Some("functions may not meet"));
    assert_eq!(violation("stack/sctp", "nf/sgc"), Some("points up"));
    assert_eq!(violation("node/runtime", "stack/sctp"), Some("points up"));
    assert_eq!(violation("node/runtime", "proto/sctp"), Some("node names no protocol"));
    assert_eq!(violation("stack/m3ua", "stack/sctp"), None);
    assert_eq!(violation("nf/sgc", "stack/sctp"), None);
    assert_eq!(violation("nf/ssc", "proto/sip"), None);
}

/// Every tracked or new Rust file, as a path below the root.
fn rust_files() -> Vec<String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "*.rs"])
        .current_dir(root())
        .output()
        .expect("git runs");
    let text = String::from_utf8(output.stdout).expect("paths are UTF-8");
    let files = text.lines().filter(|path| root().join(path).exists()).map(str::to_owned);
    files.collect()
}

fn is_test_file(path: &str) -> bool {
    ["/tests/", "/benches/", "/examples/"].iter().any(|part| path.contains(part))
        || path.ends_with("/tests.rs")
}

/// Finds functions that are too long and code under `#[cfg(test)]`.
#[derive(Default)]
struct Reading {
    long: Vec<(String, usize)>,
    test_lines: usize,
    unsafe_lines: Vec<usize>,
}

impl Reading {
    fn measure(&mut self, name: &syn::Ident, whole: proc_macro2::Span) {
        let lines = whole.end().line + 1 - whole.start().line;
        if lines > FUNCTION_LINES_MAX {
            self.long.push((name.to_string(), lines));
        }
    }
}

fn is_test_only(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

impl<'ast> Visit<'ast> for Reading {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if is_test_only(&item.attrs) {
            let span = item.span();
            self.test_lines += span.end().line + 1 - span.start().line;
            return;
        }
        visit::visit_item_mod(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.measure(&item.sig.ident, item.block.span());
        if let Some(word) = item.sig.unsafety {
            self.unsafe_lines.push(word.span.start().line);
        }
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.measure(&item.sig.ident, item.block.span());
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_expr_unsafe(&mut self, expression: &'ast syn::ExprUnsafe) {
        self.unsafe_lines.push(expression.unsafe_token.span.start().line);
        visit::visit_expr_unsafe(self, expression);
    }
}

fn may_be_unsafe(path: &str) -> bool {
    let plays_a_peer = path == "lab/fuzz/src/memif_peer.rs";
    path.starts_with("node/driver/")
        || path.starts_with("node/ports/")
        || path.starts_with("plane/")
        || path.starts_with("kit/cipher/")
        || plays_a_peer
        || is_test_file(path)
}

#[test]
fn files_functions_and_crates_stay_within_their_limits() {
    let mut violations = Vec::new();
    let mut crates: BTreeMap<String, usize> = BTreeMap::new();
    for path in rust_files().into_iter().filter(|path| !path.starts_with("fuzz/")) {
        let text = fs::read_to_string(root().join(&path)).expect("a tracked file is readable");
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut reading = Reading::default();
        reading.visit_file(&parsed);
        let lines = text.lines().count() - reading.test_lines.min(text.lines().count());
        if !is_test_file(&path) {
            let folder: Vec<&str> = path.split('/').take_while(|part| *part != "src").collect();
            *crates.entry(folder.join("/")).or_default() += lines;
            if lines > FILE_LINES_MAX {
                violations.push(format!("{path}: {lines} lines"));
            }
            for (name, lines) in &reading.long {
                violations.push(format!("{path}: {name} has {lines} lines"));
            }
        }
        if !may_be_unsafe(&path) {
            violations.extend(reading.unsafe_lines.iter().map(|at| format!("{path}:{at}: unsafe")));
        }
        let wide = text.lines().position(|line| line.chars().count() > LINE_COLUMNS_MAX);
        violations.extend(wide.map(|at| format!("{path}:{}: too wide", at + 1)));
        let name = Path::new(&path).file_stem().expect("a file has a name").to_string_lossy();
        if FORBIDDEN_FILE_NAMES.contains(&name.as_ref()) {
            violations.push(format!("{path}: a name that says nothing"));
        }
    }
    let heavy = crates.iter().filter(|(_, lines)| **lines > CRATE_LINES_MAX);
    violations.extend(heavy.map(|(name, lines)| format!("{name}: {lines} lines in one crate")));
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

/// Whether a source file holds an example that rustdoc compiles.
fn has_example(source: &str) -> bool {
    let comments = source.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("//!").or_else(|| line.strip_prefix("///"))
    });
    let fences = comments.filter_map(|line| line.trim_start().strip_prefix("```"));
    // Every second one closes a block.
    fences.step_by(2).any(|words| {
        let word = words.split(',').next().unwrap_or_default().trim();
        ["", "rust", "no_run", "should_panic", "compile_fail"].contains(&word)
    })
}

/// Whether a source file holds tests of its own.
fn has_tests(source: &str) -> bool {
    source.lines().any(|line| ["#[test]", "#[cfg(test)]"].contains(&line.trim()))
}

/// Says which libraries are not built as `setting` in their manifest wants, where their files are
/// what `is_so` finds.
fn libraries_that_differ(setting: &str, is_so: fn(&str) -> bool) -> Vec<String> {
    let files = rust_files();
    let mut violations = Vec::new();
    for package in metadata() {
        let targets = package["targets"].as_array().expect("a list");
        let Some(library) = targets.iter().find(|it| it["kind"][0] == "lib") else { continue };
        let sources = format!("{}/src/", folder(&package));
        let mut sources = files.iter().filter(|path| path.starts_with(&sources));
        let has = sources.any(|path| {
            is_so(&fs::read_to_string(root().join(path)).expect("a tracked file is readable"))
        });
        if library[setting] != has {
            violations
                .push(format!("{}: `{setting}` under [lib] says otherwise", folder(&package)));
        }
    }
    violations
}

#[test]
fn rustdoc_runs_for_those_crates_alone_that_have_examples() {
    let violations = libraries_that_differ("doctest", has_example);
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

/// Otherwise a crate is compiled twice for nothing, or its tests do not run.
#[test]
fn a_library_is_built_as_a_test_program_where_its_files_have_tests() {
    let violations = libraries_that_differ("test", has_tests);
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn a_file_with_tests_is_told_from_one_without() {
    assert!(has_tests("fn f() {}\n\n    #[test]\n    fn t() {}\n"));
    assert!(has_tests("#[cfg(test)]\nmod tests;\n"));
    assert!(!has_tests("#![cfg_attr(test, allow(clippy::unwrap_used))]\n// #[test]\n"));
}

#[test]
fn an_example_is_told_from_other_blocks() {
    assert!(has_example("//! ```\n//! f();\n//! ```\n"));
    assert!(has_example("/// ```text\n/// a\n/// ```\n    /// ```no_run\n    /// ```\n"));
    assert!(!has_example("/// ```text\n/// a\n/// ```\n// ```\n"));
}

/// The folder of the crate that this file is a test program of.
fn crate_of_program(path: &str) -> Option<&str> {
    let (folder, file) = path.split_once("/tests/")?;
    let is_program = !file.contains('/') || file.ends_with("/main.rs");
    (is_program && !folder.ends_with("/src")).then_some(folder)
}

/// What the head of a test program says that stands beside another of its crate.
const OF_ITS_OWN: &str = "//! A program of its own";

#[test]
fn a_crate_has_one_test_program() {
    let mut programs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in rust_files() {
        if let Some(folder) = crate_of_program(&path) {
            let text = fs::read_to_string(root().join(&path)).expect("a tracked file is readable");
            if !text.lines().take(10).any(|line| line.starts_with(OF_ITS_OWN)) {
                programs.entry(folder.to_owned()).or_default().push(path);
            }
        }
    }
    let many: Vec<_> = programs.into_values().filter(|files| files.len() > 1).collect();
    assert!(many.is_empty(), "modules of tests/it/main.rs? {many:#?}");
}

#[test]
fn a_test_program_is_known() {
    assert_eq!(crate_of_program("nf/ssc/tests/call.rs"), Some("nf/ssc"));
    assert_eq!(crate_of_program("nf/ssc/tests/it/main.rs"), Some("nf/ssc"));
    assert_eq!(crate_of_program("nf/ssc/tests/it/call.rs"), None);
    assert_eq!(crate_of_program("nf/ssc/src/call.rs"), None);
    assert_eq!(crate_of_program("nf/ssc/src/tests/call.rs"), None);
}

#[test]
fn a_function_past_the_limit_is_seen() {
    let body = "let x = 1;\n".repeat(FUNCTION_LINES_MAX + 1);
    let parsed = syn::parse_file(&format!("fn long() {{\n{body}}}")).expect("it is Rust");
    let mut reading = Reading::default();
    reading.visit_file(&parsed);
    assert_eq!(reading.long.len(), 1);
}

#[test]
fn every_library_of_the_pure_floors_is_held_to_the_bans() {
    for floor in ["kit", "proto", "plane", "nf"] {
        let rules = fs::read_to_string(root().join(floor).join("clippy.toml")).expect("rules");
        for banned in ["Instant::now", "SystemTime::now", "UdpSocket", "thread::spawn"] {
            assert!(rules.contains(banned), "{floor}/clippy.toml no longer bans {banned}");
        }
    }
    for (name, (folder, _)) in packages() {
        let manifest = fs::read_to_string(root().join(&folder).join("Cargo.toml")).expect("there");
        let inherits = manifest.contains("[lints]\nworkspace = true");
        assert!(inherits, "{name} does not take the workspace's lints");
    }
}

/// What of the rules for lengths and memory the text of a library lacks.
fn lacks(library: &str, source: &str) -> Vec<&'static str> {
    let has = |attribute: &str| source.lines().any(|line| line == attribute);
    let is_faced =
        ["proto/", "stack/", "nf/", "node/", "plane/"].iter().any(|it| library.starts_with(it));
    let mut lacks = Vec::new();
    if is_faced && !has("#![warn(clippy::cast_possible_truncation)]") {
        lacks.push("cast_possible_truncation");
    }
    let is_forbidden = has("#![forbid(unsafe_code)]");
    // The targets of fuzzing have a peer in shared memory.
    if !is_forbidden && !may_be_unsafe(library) && library != "lab/fuzz/src/lib.rs" {
        lacks.push("forbid(unsafe_code)");
    }
    lacks
}

#[test]
fn every_library_that_faces_a_network_looks_at_casts_and_none_is_unsafe_but_those_that_may() {
    let libraries = rust_files().into_iter().filter(|path| path.ends_with("/src/lib.rs"));
    let violations: Vec<_> = libraries
        .filter_map(|path| {
            let source = fs::read_to_string(root().join(&path)).expect("there");
            let found = lacks(&path, &source);
            (!found.is_empty()).then_some((path, found))
        })
        .collect();
    assert!(violations.is_empty(), "{violations:?}");
}

#[test]
fn a_library_without_the_rules_is_seen() {
    let whole = "#![forbid(unsafe_code)]\n#![warn(clippy::cast_possible_truncation)]\n";
    assert_eq!(lacks("proto/x/src/lib.rs", whole), Vec::<&str>::new());
    assert_eq!(lacks("proto/x/src/lib.rs", "").len(), 2);
    assert_eq!(lacks("kit/x/src/lib.rs", ""), ["forbid(unsafe_code)"]);
}

/// Where the units are.
const UNITS: &str = "packaging/systemd";

/// A unit that is installed, as systemd would load it; its program is one that every machine has.
fn unit(folder: &Path, name: &str) -> PathBuf {
    let text = fs::read_to_string(root().join(UNITS).join(name)).expect("the unit is there");
    let path = folder.join(name);
    fs::write(&path, text.replace("/usr/bin/tandem ", "/bin/true ")).expect("written");
    path
}

/// What `systemd-analyze` says, and whether it is content.
fn analyzed(words: &[&str], unit: &Path) -> (bool, String) {
    let run = Command::new("systemd-analyze").args(words).arg(unit).output();
    let run = run.expect("systemd-analyze runs: it is in the Debian package systemd");
    let said = [run.stdout, run.stderr].concat();
    (run.status.success(), String::from_utf8_lossy(&said).into_owned())
}

/// An exposure of 5.0 is systemd's own border between what is confined and what is not.
const EXPOSURE: [&str; 4] = ["security", "--offline=yes", "--threshold=49", "--no-pager"];
const VERIFY: [&str; 2] = ["verify", "--man=no"];

#[test]
fn the_units_are_valid_and_confined_and_forwarders_outlive_the_control() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["tandem@.service", "tandem-forwarder@.service"] {
        let unit = unit(folder.path(), name);
        let (valid, said) = analyzed(&VERIFY, &unit);
        assert!(valid && said.trim().is_empty(), "{name}: {said}");
        let (confined, said) = analyzed(&EXPOSURE, &unit);
        assert!(confined, "{name}: {said}");
    }
    let control = root().join(UNITS).join("tandem@.service");
    let control = fs::read_to_string(control).expect("there");
    assert!(control.lines().any(|line| line == "KillMode=process"));
}

#[test]
fn a_unit_that_is_wrong_or_open_is_seen() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("open.service");
    fs::write(&path, "[Service]\nExecStart=/bin/true\nKilMode=process\n").expect("written");
    assert!(!analyzed(&VERIFY, &path).1.trim().is_empty());
    assert!(!analyzed(&EXPOSURE, &path).0);
}
