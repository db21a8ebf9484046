//! Files of rules for global titles: comma-separated values, a line a rule, for more of them than a
//! site file should have.
//!
//! A million of them are kept as the text that they were read from, and what each title is looked
//! up by is made where the files are read: a shard takes another set of rules by its pointer.

use crate::section::{TargetChoice, TargetRouting, Translation, TranslationOf, TranslationTarget};
use crate::validate::Node;
use config::Issue;
use m3ua_stack::config::PointCodeFormat;
use sccp::codec::{Digits, Title};
use sccp::{Pattern, RULES_MAX, Rules};
use std::borrow::Cow;
use std::sync::Arc;

/// Files at most.
pub(crate) const FILES_MAX: usize = 64;
/// Lines that are told of one file, at most.
const TOLD_MAX: usize = 20;
const HINT: &str = "the first line names the columns: digits,targets and other keys of a \
    translation; a target is POINT-CODE/SUBSYSTEM, with *WEIGHT or :title behind it";

/// How a cell is put into a rule; whether it can be.
type Put = fn(&mut Translation, &str) -> bool;

/// The columns.
const COLUMNS: &[(&str, Put)] = &[
    ("name", |it, text| {
        text.clone_into(&mut it.name);
        !text.is_empty()
    }),
    ("of", |it, text| {
        it.of = if text == "calling" { TranslationOf::Calling } else { TranslationOf::Called };
        matches!(text, "called" | "calling")
    }),
    ("digits", |it, text| {
        text.clone_into(&mut it.digits);
        true
    }),
    ("indicator", |it, text| put(&mut it.indicator, text)),
    ("translation_type", |it, text| put(&mut it.translation_type, text)),
    ("numbering_plan", |it, text| put(&mut it.numbering_plan, text)),
    ("nature_of_address", |it, text| put(&mut it.nature_of_address, text)),
    ("encoding_scheme", |it, text| put(&mut it.encoding_scheme, text)),
    ("strip", |it, text| text.parse().map(|number| it.strip = number).is_ok()),
    ("prepend", |it, text| {
        text.clone_into(&mut it.prepend);
        true
    }),
    ("new_translation_type", |it, text| put(&mut it.new_translation_type, text)),
    ("new_numbering_plan", |it, text| put(&mut it.new_numbering_plan, text)),
    ("new_nature_of_address", |it, text| put(&mut it.new_nature_of_address, text)),
    ("choice", |it, text| {
        it.choice = if text == "share" { TargetChoice::Share } else { TargetChoice::Backup };
        matches!(text, "backup" | "share")
    }),
    ("targets", |it, text| {
        let targets: Option<Vec<_>> = text.split_ascii_whitespace().map(target).collect();
        targets.map(|targets| it.target = targets).is_some()
    }),
];

fn put(into: &mut Option<u8>, text: &str) -> bool {
    text.parse().map(|number| *into = Some(number)).is_ok()
}

/// A target as a line has it: `2-100-3/6*2`, `here/8`, `2-100-4:title`.
fn target(text: &str) -> Option<TranslationTarget> {
    let (text, routing) = match text.strip_suffix(":title") {
        Some(text) => (text, TargetRouting::Title),
        None => (text, TargetRouting::Subsystem),
    };
    let (text, weight) = match text.split_once('*') {
        Some((text, weight)) => (text, weight.parse().ok()?),
        None => (text, 1),
    };
    let (place, subsystem) = match text.split_once('/') {
        Some((place, subsystem)) => (place, Some(subsystem.parse().ok()?)),
        None => (text, None),
    };
    let point_code = (place != "here").then(|| place.to_owned());
    Some(TranslationTarget { point_code, subsystem, routing, weight })
}

/// A file, and the columns that its first line names, as places in [`COLUMNS`].
#[derive(Debug)]
struct File {
    name: String,
    columns: Vec<usize>,
    text: String,
}

/// A rule of a file: what titles are held against, and where its line is.
#[derive(Debug)]
struct Line {
    pattern: Pattern,
    of: TranslationOf,
    file: u32,
    number: u32,
    begin: u32,
}

/// The rules of all files, as they were read.
#[derive(Debug, Default)]
struct Lines {
    files: Vec<File>,
    lines: Vec<Line>,
}

/// The rules of files, and what all rules of a section became.
#[derive(Debug, Clone, Default)]
pub struct Filed {
    all: Arc<Lines>,
    compiled: Option<Arc<Rules>>,
}

impl PartialEq for Filed {
    fn eq(&self, other: &Self) -> bool {
        let (own, others) = (&self.all.files, &other.all.files);
        Arc::ptr_eq(&self.all, &other.all)
            || own.len() == others.len()
                && own.iter().zip(others).all(|(a, b)| a.name == b.name && a.text == b.text)
    }
}

impl File {
    fn new(name: String, text: String) -> Result<Self, String> {
        let head = text.lines().next().unwrap_or_default();
        // What stands there is not said: it may be a file of keys, named by who may not read it.
        let place = |(n, name): (usize, &str)| {
            let place = COLUMNS.iter().position(|it| it.0 == name.trim());
            place.ok_or_else(|| format!("line 1: column {} is none of a rule", n + 1))
        };
        let columns = head.split(',').enumerate().map(place).collect::<Result<Vec<_>, _>>()?;
        let has = |name: &str| columns.iter().any(|it| COLUMNS[*it].0 == name);
        match has("digits") {
            true => Ok(Self { name, columns, text }),
            false => Err("line 1: there is no column `digits`".into()),
        }
    }

    /// The rule of a line.
    fn rule(&self, number: u32, line: &str) -> Result<Translation, String> {
        let mut it = Translation { name: format!("{}:{number}", self.name), ..Default::default() };
        let mut cells = line.trim_end().split(',');
        for (name, put) in self.columns.iter().map(|it| COLUMNS[*it]) {
            let cell = cells.next().ok_or_else(|| format!("`{name}` is missing"))?.trim();
            if !cell.is_empty() && !put(&mut it, cell) {
                return Err(format!("{name}: `{cell}` cannot be read"));
            }
        }
        match cells.next() {
            Some(cell) => Err(format!("`{cell}` is in no column")),
            None => Ok(it),
        }
    }

    /// Reads the lines of the file of that number.
    fn read(&self, n: usize, node: &Node, into: &mut Vec<Line>, issues: &mut Vec<Issue>) {
        let at = format!("translation_files[{n}]");
        let (mut begin, mut wrong) = (0, 0);
        for (line, text) in self.text.split_inclusive('\n').enumerate() {
            let (number, first) = (line + 1, begin);
            begin += text.len();
            if line == 0 || text.trim().is_empty() {
                continue;
            }
            // One too many says that there are too many: those behind it take no memory.
            if into.len() > RULES_MAX {
                break;
            }
            let mut faults = Vec::new();
            let number_of = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
            let read = self.rule(number_of(number), text).map_err(|what| (what, HINT.to_owned()));
            let read = read.and_then(|rule| {
                node.validate_filed(&rule, &mut faults);
                match faults.into_iter().next() {
                    None => Ok(rule),
                    Some(it) => Err((format!("{}: {}", it.path, it.what), it.hint)),
                }
            });
            match read.map(|rule| (Pattern::parse(&rule.digits), rule.of)) {
                Ok((Some(pattern), of)) => {
                    let (file, begin) = (number_of(n), number_of(first));
                    into.push(Line { pattern, of, file, number: number_of(number), begin });
                }
                Ok((None, _)) => wrong += 1,
                Err((what, hint)) => {
                    wrong += 1;
                    if wrong <= TOLD_MAX {
                        let what = format!("{}, line {number}: {what}", self.name);
                        issues.push(Issue::new(at.clone(), what, hint));
                    }
                }
            }
        }
        if wrong > TOLD_MAX {
            let what = format!("{}: {} more lines cannot be used", self.name, wrong - TOLD_MAX);
            issues.push(Issue::new(at, what, HINT));
        }
    }
}

impl Lines {
    /// The rule of a line, which could be read once.
    fn row(&self, line: &Line) -> Translation {
        let file = self.files.get(line.file as usize);
        let text = file.and_then(|it| it.text.get(line.begin as usize..)?.lines().next());
        let row = file.zip(text).and_then(|(file, text)| file.rule(line.number, text).ok());
        row.unwrap_or_default()
    }
}

impl Filed {
    /// Takes the texts of files, in order, and makes of all rules, `own` of the section first, what
    /// titles are looked up by. What is wrong with lines comes back; then nothing of the files is
    /// kept.
    pub fn take(
        &mut self,
        texts: Vec<(String, String)>,
        own: &[Translation],
        node: &Node,
    ) -> Vec<Issue> {
        let (mut all, mut issues) = (Lines::default(), Vec::new());
        for (n, (name, text)) in texts.into_iter().enumerate() {
            let at = format!("translation_files[{n}]");
            let shown = name.clone();
            let file = match File::new(name, text) {
                Ok(file) => file,
                Err(what) => {
                    issues.push(Issue::new(at, format!("{shown}, {what}"), HINT));
                    continue;
                }
            };
            file.read(n, node, &mut all.lines, &mut issues);
            all.files.push(file);
        }
        if own.len() + all.lines.len() > RULES_MAX {
            let what = format!("more than {RULES_MAX} translations");
            let hint = format!("use {RULES_MAX} or fewer");
            issues.push(Issue::new("translation_files", what, hint));
        }
        if issues.is_empty() {
            *self = Self { all: Arc::new(all), compiled: None };
            self.compiled = self.compile(own, node.format);
            if self.compiled.is_none() {
                let what = "patterns with choices are too many, or of too many kinds";
                let hint = "let `?` and the ends of ranges stand in the same places";
                issues.push(Issue::new("translation_files", what, hint));
            }
        }
        issues
    }

    /// Makes what titles are looked up by; `None` where patterns are too many.
    fn compile(&self, own: &[Translation], format: PointCodeFormat) -> Option<Arc<Rules>> {
        let of = |which: TranslationOf| {
            let rows = self.all(own).filter(|it| it.of == which);
            Rules::new(rows.filter_map(|it| it.rule(format)).collect()).ok()
        };
        let called = of(TranslationOf::Called)?;
        let is_calling = self.all(own).any(|it| it.of == TranslationOf::Calling);
        Some(Arc::new(match is_calling {
            true => called.with_calling(of(TranslationOf::Calling)?),
            false => called,
        }))
    }

    /// All rules: those of the section, then those of its files.
    pub fn all<'a>(&'a self, own: &'a [Translation]) -> impl Iterator<Item = Cow<'a, Translation>> {
        let filed = self.all.lines.iter().map(|it| Cow::Owned(self.all.row(it)));
        own.iter().map(Cow::Borrowed).chain(filed)
    }

    /// The rules of one kind whose digits a title begins with, with their places among all.
    pub fn beginning<'a>(
        &'a self,
        own: &'a [Translation],
        of: TranslationOf,
        title: &Title,
    ) -> impl Iterator<Item = (usize, Cow<'a, Translation>)> + use<'a> {
        let (text, digits): (String, Digits) = (title.digits.to_string(), title.digits);
        let of_section = own.iter().enumerate().filter(move |(_, it)| {
            let first = text.get(..it.digits.len());
            let is_it = first.is_some_and(|first| first.eq_ignore_ascii_case(&it.digits));
            let has_choices = || it.digits.contains(['?', '[', '.']);
            let matches = || Pattern::parse(&it.digits).is_some_and(|it| it.matches(&digits));
            it.of == of && (is_it || has_choices() && matches())
        });
        let of_section = of_section.map(|(at, it)| (at, Cow::Borrowed(it)));
        // Among a million rules of files few begin so: the others cost a comparison.
        let lines = self.all.lines.iter().enumerate();
        let found = lines.filter(move |it| it.1.of == of && it.1.pattern.matches(&digits));
        let first = own.len();
        of_section.chain(found.map(move |(at, it)| (first + at, Cow::Owned(self.all.row(it)))))
    }

    /// What titles are looked up by.
    #[must_use]
    pub fn rules(&self, own: &[Translation], format: PointCodeFormat) -> Arc<Rules> {
        match &self.compiled {
            Some(rules) => Arc::clone(rules),
            // In a simulation nobody has read files.
            None => self.compile(own, format).unwrap_or_default(),
        }
    }

    /// Whether files were read, be it none.
    #[must_use]
    pub const fn is_read(&self) -> bool {
        self.compiled.is_some()
    }

    /// A number for the texts of files: nodes of a cluster have the same ones.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let texts = self.all.files.iter().map(|it| it.text.as_bytes());
        texts.fold(0, machine::identity::hash_combine)
    }
}
