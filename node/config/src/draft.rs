//! A site file as it would be without its mistakes, so that what is right in it is judged all the
//! same: one wrong key hides nothing that stands beside it.
//!
//! ```text
//! text ─→ look ─→ mistakes ─→ mend: a wrong value goes, a missing key gets a placeholder ─┐
//!           ↑                                                                             │
//!           └──────────────── until types fit, a few rounds at most ←─────────────────────┘
//!                    then the section's own validation; what it says of a mend is left out
//! ```

use crate::schema::{self, Correction};
use crate::site::{self, Site};
use crate::source::{Node, Source, Step, steps};
use crate::{Diagnostic, Issue};
use serde_json::Value as Json;
use toml_edit::{DocumentMut, Item, TableLike, Value};

/// Rounds of mending at most.
const ROUNDS_MAX: usize = 40;

/// A site as it would be without the mistakes of its file.
pub struct Corrected<S> {
    /// The site. Values of its own stand where its author's were wrong or missing.
    pub site: S,
    draft: Draft,
}

impl<S> Corrected<S> {
    /// Whether an issue is of what was mended, not of what stands in the file.
    #[must_use]
    pub fn explains(&self, issue: &Issue) -> bool {
        self.draft.explains(issue)
    }
}

/// Everything that is wrong with a text of which `first` is known already, and the site that it
/// would be, if that can be known.
pub(crate) fn judge<S: Site>(
    source: &Source,
    root: &Json,
    first: Vec<schema::Found>,
) -> (Vec<Diagnostic>, Option<Corrected<S>>) {
    let mut found: Vec<Diagnostic> = Vec::new();
    let Ok(document) = source.text().parse::<DocumentMut>() else {
        return (first.into_iter().map(|it| it.diagnostic).collect(), None);
    };
    let mut draft = Draft { document, touched: Vec::new() };
    let mut mistakes = first;
    for _ in 0..ROUNDS_MAX {
        let mut is_corrected = false;
        for schema::Found { diagnostic, correction } in mistakes {
            let is_known = match &correction {
                // It was there, and wrong.
                Correction::Add { table, key, .. } => draft.is_touched(&joined(table, key)),
                _ => draft.is_touched(&diagnostic.path),
            };
            is_corrected |= draft.correct(correction);
            if !is_known {
                found.push(diagnostic);
            }
        }
        let text = draft.document.to_string();
        let Ok(now) = Source::parse(&text) else { break };
        mistakes = schema::look(&now, root);
        if !mistakes.is_empty() {
            if is_corrected {
                continue;
            }
            break;
        }
        match toml::from_str::<S>(&text) {
            Ok(site) => {
                let issues = site::objections(&site).into_iter();
                let apt = issues.filter(|issue| !draft.explains(issue));
                found.extend(site::locate(source, apt.collect()));
                return (found, Some(Corrected { site, draft }));
            }
            Err(error) => {
                let Some(path) = error.span().and_then(|span| path_at(&now, span.start)) else {
                    found.push(source.locate(site::refusal(&error, String::new())));
                    break;
                };
                if draft.is_touched(&path) {
                    break;
                }
                let diagnostic = source.locate(site::refusal(&error, path.clone()));
                let replacement = schema::placeholder_at(root, &path);
                mistakes = vec![schema::Found {
                    diagnostic,
                    correction: Correction::Replace(path, replacement),
                }];
            }
        }
    }
    (found, None)
}

struct Draft {
    document: DocumentMut,
    /// Paths of what is not what its author wrote.
    touched: Vec<String>,
}

impl Draft {
    /// Whether something that is not its author's stands there.
    fn is_touched(&self, path: &str) -> bool {
        self.touched.iter().any(|touched| is_below(path, touched))
    }

    /// Whether an issue is of what was mended, not of what stands in the file.
    fn explains(&self, issue: &Issue) -> bool {
        let says = |key: &str| {
            let (quoted, written) = (format!("`{key}`"), format!("{key} = "));
            [&issue.what, &issue.hint]
                .iter()
                .any(|text| text.contains(&quoted) || text.contains(&written))
        };
        let is_word = |text: &str| {
            let other = |it: char| !it.is_alphanumeric() && it != '_';
            text.split(other).any(|word| word == schema::PLACEHOLDER)
        };
        is_word(&issue.what)
            || is_word(&issue.hint)
            || self.touched.iter().any(|touched| {
                let (table, key) = touched.rsplit_once('.').unwrap_or(("", touched));
                let key = key.split('[').next().unwrap_or_default();
                let is_near =
                    || is_below(&issue.path, table) || issue.hint.contains(&header(table));
                is_below(&issue.path, touched) || (says(key) && is_near())
            })
    }

    /// Whether that changed something.
    fn correct(&mut self, correction: Correction) -> bool {
        match correction {
            Correction::Add { table, key, value } => {
                let Some(value) = read(&value) else { return false };
                let path = joined(&table, &key);
                let place = self.place(&steps(&table)).and_then(Place::table);
                let Some(table) = place.filter(|table| !table.contains_key(&key)) else {
                    return false;
                };
                table.insert(&key, Item::Value(value));
                self.touched.push(path);
                true
            }
            Correction::Rename { table, key, to } => {
                let Some(found) = self.place(&steps(&table)).and_then(Place::table) else {
                    return false;
                };
                let Some(value) = found.remove(&key) else { return false };
                if !found.contains_key(&to) {
                    found.insert(&to, value);
                    self.touched.push(joined(&table, &to));
                }
                self.touched.push(joined(&table, &key));
                true
            }
            Correction::Replace(path, replacement) => {
                let all = steps(&path);
                let Some((last, above)) = all.split_last() else { return false };
                let replacement = replacement.as_deref().and_then(read);
                let Some(parent) = self.place(above) else { return false };
                let done = match last {
                    Step::Key(key) => {
                        parent.table().is_some_and(|table| table.remove(key).is_some())
                    }
                    Step::Index(at) => match (parent.element(*at), replacement) {
                        (Some(element), Some(value)) => {
                            *element = value;
                            true
                        }
                        _ => false,
                    },
                };
                self.touched.push(path);
                done
            }
        }
    }

    fn place(&mut self, steps: &[Step]) -> Option<Place<'_>> {
        let root = Place::Table(self.document.as_table_mut());
        steps.iter().try_fold(root, Place::child)
    }
}

/// A node that may be changed, in any spelling of TOML.
enum Place<'a> {
    Table(&'a mut dyn TableLike),
    Item(&'a mut Item),
    Value(&'a mut Value),
}

impl<'a> Place<'a> {
    fn child(self, step: &Step) -> Option<Self> {
        match (self, step) {
            (Self::Item(Item::ArrayOfTables(tables)), Step::Index(at)) => {
                tables.get_mut(*at).map(|table| Self::Table(table))
            }
            (place, Step::Index(at)) => place.element(*at).map(Self::Value),
            (Self::Value(value), Step::Key(key)) => {
                value.as_inline_table_mut()?.get_mut(key).map(Self::Value)
            }
            (place, Step::Key(key)) => place.table()?.get_mut(key).map(Self::Item),
        }
    }

    fn table(self) -> Option<&'a mut dyn TableLike> {
        match self {
            Self::Table(table) => Some(table),
            Self::Item(item) => item.as_table_like_mut(),
            Self::Value(value) => Some(value.as_inline_table_mut()?),
        }
    }

    fn element(self, at: usize) -> Option<&'a mut Value> {
        match self {
            Self::Item(item) => item.as_array_mut()?.get_mut(at),
            Self::Value(value) => value.as_array_mut()?.get_mut(at),
            Self::Table(_) => None,
        }
    }
}

/// The path of the innermost node that is written at an offset.
fn path_at(source: &Source, offset: usize) -> Option<String> {
    let mut found = None;
    let mut open = vec![(String::new(), source.root())];
    while let Some((path, node)) = open.pop() {
        let is_here = node.span().is_some_and(|span| span.contains(&offset));
        if is_here && !path.is_empty() {
            found = Some(path.clone());
        }
        // A table is written in places of its own: its span is that of its header.
        if !is_here && node.value().is_some() {
            continue;
        }
        if let Some(entries) = node.entries() {
            open.extend(entries.into_iter().map(|(key, child)| (joined(&path, key), child)));
        } else if let Some(elements) = node.elements() {
            let numbered = elements.into_iter().enumerate();
            open.extend(
                numbered.map(|(at, child): (usize, Node<'_>)| (format!("{path}[{at}]"), child)),
            );
        }
    }
    found
}

fn joined(table: &str, key: &str) -> String {
    if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") }
}

/// Whether `path` is that of `above`, or of something in it.
fn is_below(path: &str, above: &str) -> bool {
    above.is_empty()
        || path
            .strip_prefix(above)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// A table of an array as its header is written: `[[msc.interface]]` of `msc[0].interface[1]`.
fn header(table: &str) -> String {
    let names = table.split('.').map(|part| part.split('[').next().unwrap_or_default());
    format!("[[{}]]", names.collect::<Vec<_>>().join("."))
}

fn read(value: &str) -> Option<Value> {
    value.parse().ok()
}
