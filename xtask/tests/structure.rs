//! The structure of the code that a machine can count: circles of files, types whose code is
//! spread over many files, types with many fields, parameters packed into tuples, heavy crates,
//! names that are no term of the field.
//!
//! What does not hold yet stands in `structure.toml`, a list that may only shrink: a number that
//! grows fails, and one that shrank wants to be written down.
//!
//! A program of its own: what is spread and heavy is asked for alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use syn::visit::{self, Visit};

/// Files of a crate that import each other in a circle.
const CIRCLE_MAX: usize = 3;
/// Files with an `impl` block of one type.
const IMPL_FILES_MAX: usize = 10;
/// Fields of a struct, but for the sections of a site file: those are lists of keys.
const FIELDS_MAX: usize = 20;
/// Parameters that are unpacked from a tuple, in a crate.
const TUPLES_MAX: usize = 0;
/// Items of a crate that are named after a picture, in place of the field's term.
const PICTURES_MAX: usize = 0;
/// Words of pictures. The terms in their place: policy table, lease, listener, replica, policer,
/// filter, message, worker, verdict, error, hint.
const PICTURES: [&str; 35] = [
    "befriend",
    "bury",
    "court",
    "desk",
    "door",
    "doors",
    "doorway",
    "doorways",
    "drawer",
    "employ",
    "errand",
    "fate",
    "fence",
    "fences",
    "flaw",
    "gate",
    "hands",
    "hatch",
    "judges",
    "limbo",
    "manner",
    "manners",
    "mend",
    "mirror",
    "parcel",
    "plant",
    "purse",
    "seat",
    "shield",
    "steward",
    "told",
    "veil",
    "warden",
    "weathered",
    "hindrance",
];
/// Lines of a crate without its tests: a third of the way to the limit of the house is left.
const CRATE_LINES_MAX: usize = 9_000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask stands in the root").to_path_buf()
}

/// The sources of every crate of the house: folder of the crate → (module path, text).
fn sources() -> BTreeMap<String, Vec<(Vec<String>, String)>> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "*.rs"])
        .current_dir(root())
        .output()
        .expect("git runs");
    let text = String::from_utf8(output.stdout).expect("paths are UTF-8");
    let mut crates: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for path in text.lines().filter(|path| root().join(path).exists()) {
        let Some((folder, file)) = path.split_once("/src/") else { continue };
        if folder.starts_with("fuzz") || file.ends_with("tests.rs") || file.contains("tests/") {
            continue;
        }
        let text = fs::read_to_string(root().join(path)).expect("a tracked file is readable");
        crates.entry(folder.to_owned()).or_default().push((module(file), text));
    }
    crates
}

/// The path of the module that a file below `src/` holds; empty for the root.
fn module(file: &str) -> Vec<String> {
    let mut parts: Vec<String> =
        file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        parts.pop();
    }
    parts
}

/// What is counted in a file.
#[derive(Default)]
struct Count {
    /// Paths that begin with `crate` or `super`, as they are written.
    paths: Vec<Vec<String>>,
    impls: BTreeSet<String>,
    fields: Vec<(String, usize)>,
    tuples: usize,
    pictures: usize,
    test_lines: usize,
}

/// Whether a word of a name, written in either case, is that of a picture.
fn is_picture(name: &str) -> bool {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() {
            words.push('_');
        }
        words.extend(letter.to_lowercase());
    }
    words.split('_').any(|word| PICTURES.contains(&word))
}

fn is_test_only(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

/// Whether it is read from a file, field by field.
fn is_section(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().filter(|it| it.path().is_ident("derive")).any(|it| {
        matches!(&it.meta, syn::Meta::List(list) if list.tokens.to_string().contains("Deserialize"))
    })
}

fn begins(path: &[String]) -> bool {
    matches!(path.first().map(String::as_str), Some("crate" | "super" | "self"))
}

/// The paths of a `use`.
fn flatten(tree: &syn::UseTree, before: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    match tree {
        syn::UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, paths);
            before.pop();
        }
        syn::UseTree::Group(group) => {
            group.items.iter().for_each(|tree| flatten(tree, before, paths));
        }
        syn::UseTree::Name(name) => paths.push([&before[..], &[name.ident.to_string()]].concat()),
        syn::UseTree::Rename(name) => paths.push([&before[..], &[name.ident.to_string()]].concat()),
        syn::UseTree::Glob(_) => paths.push(before.clone()),
    }
}

impl<'ast> Visit<'ast> for Count {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if is_test_only(&item.attrs) {
            let span = syn::spanned::Spanned::span(item);
            self.test_lines += span.end().line + 1 - span.start().line;
            return;
        }
        self.pictures += usize::from(is_picture(&item.ident.to_string()));
        visit::visit_item_mod(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.pictures += usize::from(is_picture(&item.ident.to_string()));
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.pictures += usize::from(is_picture(&item.ident.to_string()));
        visit::visit_item_trait(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut paths = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut paths);
        self.paths.extend(paths.into_iter().filter(|path| begins(path)));
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words: Vec<String> = path.segments.iter().map(|it| it.ident.to_string()).collect();
        if words.len() > 1 && begins(&words) {
            self.paths.push(words);
        }
        visit::visit_path(self, path);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if let (None, syn::Type::Path(of)) = (&item.trait_, &*item.self_ty)
            && let Some(last) = of.path.segments.last()
        {
            self.impls.insert(last.ident.to_string());
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        if !is_section(&item.attrs) {
            self.fields.push((item.ident.to_string(), item.fields.len()));
        }
        self.pictures += usize::from(is_picture(&item.ident.to_string()));
        visit::visit_item_struct(self, item);
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        let packed = signature.inputs.iter().filter(
            |input| matches!(input, syn::FnArg::Typed(it) if matches!(*it.pat, syn::Pat::Tuple(_))),
        );
        self.tuples += packed.count();
        self.pictures += usize::from(is_picture(&signature.ident.to_string()));
        visit::visit_signature(self, signature);
    }
}

fn count(text: &str) -> Count {
    let mut count = Count::default();
    count.visit_file(&syn::parse_file(text).expect("it is Rust"));
    count
}

/// The file that a path in `from` leads to: that of the longest module that it names.
fn target(files: &BTreeMap<Vec<String>, usize>, from: &[String], path: &[String]) -> Option<usize> {
    let mut whole = from.to_vec();
    for (at, word) in path.iter().enumerate() {
        match word.as_str() {
            "crate" if at == 0 => whole.clear(),
            "self" => {}
            "super" => drop(whole.pop()),
            _ => whole.push(word.clone()),
        }
    }
    (0..=whole.len()).rev().find_map(|length| files.get(&whole[..length]).copied())
}

/// Files by the numbers of those that they import; what comes out are circles of more than one.
fn circles(edges: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let reach: Vec<BTreeSet<usize>> = (0..edges.len())
        .map(|start| {
            let mut seen = BTreeSet::new();
            let mut next = vec![start];
            while let Some(at) = next.pop() {
                next.extend(edges[at].iter().copied().filter(|to| seen.insert(*to)));
            }
            seen
        })
        .collect();
    let mut known = BTreeSet::new();
    let mut circles = Vec::new();
    for start in 0..edges.len() {
        let circle: Vec<usize> =
            reach[start].iter().copied().filter(|to| reach[*to].contains(&start)).collect();
        if circle.len() > 1 && known.insert(circle.clone()) {
            circles.push(circle);
        }
    }
    circles
}

/// What is past its limit: `rule subject` → number.
fn measured() -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    let mut note = |rule: &str, subject: &str, number: usize, limit: usize| {
        if number > limit {
            found.insert(format!("{rule} {subject}"), number);
        }
    };
    for (folder, sources) in sources() {
        let files: BTreeMap<Vec<String>, usize> =
            sources.iter().enumerate().map(|(number, (path, _))| (path.clone(), number)).collect();
        let counts: Vec<Count> = sources.iter().map(|(_, text)| count(text)).collect();
        let edges: Vec<BTreeSet<usize>> = (sources.iter().zip(&counts).enumerate())
            .map(|(own, ((from, _), it))| {
                let to = it.paths.iter().filter_map(|path| target(&files, from, path));
                to.filter(|to| *to != own).collect()
            })
            .collect();
        let longest = circles(&edges).iter().map(Vec::len).max().unwrap_or(0);
        note("circle", &folder, longest, CIRCLE_MAX);
        let mut impls: BTreeMap<&String, usize> = BTreeMap::new();
        counts.iter().flat_map(|it| &it.impls).for_each(|of| *impls.entry(of).or_default() += 1);
        for (of, number) in impls {
            note("impl", &format!("{folder} {of}"), number, IMPL_FILES_MAX);
        }
        for (of, number) in counts.iter().flat_map(|it| &it.fields) {
            note("fields", &format!("{folder} {of}"), *number, FIELDS_MAX);
        }
        note("tuples", &folder, counts.iter().map(|it| it.tuples).sum(), TUPLES_MAX);
        note("pictures", &folder, counts.iter().map(|it| it.pictures).sum(), PICTURES_MAX);
        let lines = sources.iter().zip(&counts);
        let lines = lines.map(|((_, text), it)| text.lines().count().saturating_sub(it.test_lines));
        note("lines", &folder, lines.sum(), CRATE_LINES_MAX);
    }
    found
}

/// What differs between what is measured and the list.
fn differences(
    measured: &BTreeMap<String, usize>,
    listed: &BTreeMap<String, usize>,
) -> Vec<String> {
    let grown = measured.iter().filter_map(|(what, number)| match listed.get(what) {
        None => Some(format!("{what}: {number}, past its limit")),
        // A crate may still grow until the limit of the house.
        Some(_) if what.starts_with("lines") => None,
        Some(allowed) if number > allowed => Some(format!("{what}: {number} after {allowed}")),
        Some(allowed) if number < allowed => {
            Some(format!("{what} is {number} now: write that into the list"))
        }
        Some(_) => None,
    });
    let mended = listed.keys().filter(|what| !measured.contains_key(*what));
    grown.chain(mended.map(|what| format!("{what} holds now: take it off the list"))).collect()
}

#[test]
fn what_does_not_hold_yet_stands_in_a_list_that_shrinks() {
    let text = fs::read_to_string(root().join("xtask/tests/structure.toml")).expect("the list");
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let listed = lines.map(|line| {
        let (what, number) = line.split_once(" = ").expect("a line of the list: what = number");
        (what.trim_matches('"').to_owned(), number.parse().expect("a number"))
    });
    let differences = differences(&measured(), &listed.collect());
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn growth_and_what_was_mended_are_seen() {
    let list = |rows: &[(&str, usize)]| rows.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect();
    let listed = list(&[("circle a", 5), ("circle b", 5), ("circle c", 5)]);
    let now = list(&[("circle a", 6), ("circle b", 4), ("circle d", 4)]);
    assert_eq!(differences(&now, &listed).len(), 4);
    assert_eq!(differences(&listed, &listed), Vec::<String>::new());
}

#[test]
fn circles_packed_parameters_and_fields_are_counted() {
    let files = BTreeMap::from([(vec![], 0), (vec!["a".to_owned()], 1)]);
    let it = count("use crate::a::{B, c}; struct S { x: u8, y: u8 } fn f((a, b): (u8, u8)) {}");
    assert_eq!((it.tuples, it.fields[0].1), (1, 2));
    assert_eq!(it.paths.iter().map(|path| target(&files, &[], path)).max(), Some(Some(1)));
    let named = "enum MirrorState {} trait Seats {} fn bury_it() {} mod errand {} struct Told;";
    assert_eq!(count(named).pictures, 4, "a seat is one, seats are not in the list");
    let up = count("fn g() { super::h(); }");
    assert_eq!(target(&files, &["a".to_owned()], &up.paths[0]), Some(0));
    let edges = [[1].into(), [2].into(), [0].into(), BTreeSet::from([0])];
    assert_eq!(circles(&edges), [vec![0, 1, 2]]);
}
