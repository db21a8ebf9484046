//! JSON with holes: `{msisdn|isdn}` in a string stands for a value that is known when it is sent.
//!
//! A string that is nothing but a hole becomes the value itself, with its type; `{null}` is NULL;
//! two braces are one.

use crate::filter::{FILTERS, Filter, text_of};
use serde_json::Value;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Name {
    /// A value of the file.
    Constant(Value),
    /// What the play has captured, by its number.
    Captured(usize),
    /// A column of the row that the play has, by both their numbers.
    Column(usize, usize),
    /// The number of the play, from 0.
    Count,
}

/// Where names have their values.
pub(crate) trait Scope {
    /// The value; none: nothing was captured.
    fn value(&self, name: &Name) -> Option<Value>;
}

/// What names mean.
pub(crate) type Names<'a> = &'a dyn Fn(&str) -> Option<Name>;

#[derive(Debug, Clone, PartialEq)]
struct Hole {
    /// As it is written, for who reads what went wrong.
    word: String,
    name: Name,
    filters: Vec<Filter>,
}

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    /// JSON as it stands.
    Text(String),
    /// A value with its type.
    Whole(Hole),
    /// A value within a string.
    Inside(Hole),
}

/// JSON with holes.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
}

impl Hole {
    fn value(&self, scope: &dyn Scope) -> Result<Value, String> {
        let value = scope.value(&self.name);
        let mut value = value.ok_or_else(|| format!("`{}` has no value yet", self.word))?;
        for filter in &self.filters {
            let next = filter.apply(&value);
            value = next.ok_or_else(|| format!("`{}`: not of {}", self.word, text_of(&value)))?;
        }
        Ok(value)
    }

    fn read(word: &str, names: Names<'_>) -> Result<Self, String> {
        let mut words = word.split('|');
        let first = words.next().unwrap_or_default().trim();
        let name = names(first).ok_or_else(|| format!("nothing is called `{first}` here"))?;
        let filter = |word: &str| {
            let known = || FILTERS.map(|it| it.0).join(", ");
            let found = Filter::named(word.trim());
            found.ok_or_else(|| format!("no filter `{}`: there are {}", word.trim(), known()))
        };
        let filters = words.map(filter).collect::<Result<_, String>>()?;
        Ok(Self { word: word.to_owned(), name, filters })
    }
}

/// A string cut at its braces.
enum Cut {
    Text(String),
    Hole(String),
}

fn cut(text: &str) -> Result<Vec<Cut>, String> {
    let (mut cuts, mut plain, mut rest) = (Vec::new(), String::new(), text);
    while let Some(at) = rest.find(['{', '}']) {
        plain.push_str(&rest[..at]);
        let brace = &rest[at..];
        if brace.starts_with("{{") || brace.starts_with("}}") {
            plain.push_str(&brace[..1]);
            rest = &brace[2..];
            continue;
        }
        let end = brace.find('}').filter(|_| brace.starts_with('{'));
        let end = end.ok_or_else(|| format!("a brace alone in `{text}`; two are one"))?;
        if !plain.is_empty() {
            cuts.push(Cut::Text(core::mem::take(&mut plain)));
        }
        cuts.push(Cut::Hole(brace[1..end].to_owned()));
        rest = &brace[end + 1..];
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        cuts.push(Cut::Text(plain));
    }
    Ok(cuts)
}

fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

/// What stands between the quotation marks.
fn escaped(text: &str) -> String {
    if text.bytes().all(|it| it.is_ascii_alphanumeric()) {
        return text.to_owned();
    }
    let quoted = quoted(text);
    quoted[1..quoted.len() - 1].to_owned()
}

impl Template {
    /// Reads what a file has; names that are constants are filled in.
    pub(crate) fn new(value: &Value, names: Names<'_>) -> Result<Self, String> {
        let mut template = Self::default();
        template.add(value, names)?;
        Ok(template)
    }

    /// A text alone.
    pub(crate) fn of_text(text: &str, names: Names<'_>) -> Result<Self, String> {
        Self::new(&Value::String(text.to_owned()), names)
    }

    fn text(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
    }

    fn add(&mut self, value: &Value, names: Names<'_>) -> Result<(), String> {
        match value {
            Value::String(text) => self.add_string(text, names)?,
            Value::Array(all) => {
                self.text("[");
                for (at, it) in all.iter().enumerate() {
                    self.text(if at > 0 { "," } else { "" });
                    self.add(it, names)?;
                }
                self.text("]");
            }
            Value::Object(members) => {
                self.text("{");
                for (at, (name, it)) in members.iter().enumerate() {
                    self.text(if at > 0 { "," } else { "" });
                    self.text(&format!("{}:", quoted(name)));
                    self.add(it, names)?;
                }
                self.text("}");
            }
            other => self.text(&other.to_string()),
        }
        Ok(())
    }

    fn add_string(&mut self, text: &str, names: Names<'_>) -> Result<(), String> {
        let cuts = cut(text)?;
        if let [Cut::Hole(word)] = &cuts[..] {
            if word == "null" {
                self.text("null");
                return Ok(());
            }
            return self.hole(Hole::read(word, names)?, Piece::Whole, |it| it.to_string());
        }
        self.text("\"");
        for cut in cuts {
            match cut {
                Cut::Text(text) => self.text(&escaped(&text)),
                Cut::Hole(word) => {
                    let hole = Hole::read(&word, names)?;
                    self.hole(hole, Piece::Inside, |it| escaped(&text_of(it)))?;
                }
            }
        }
        self.text("\"");
        Ok(())
    }

    /// A hole, or what fills it where that is known already.
    fn hole(
        &mut self,
        hole: Hole,
        piece: fn(Hole) -> Piece,
        write: impl FnOnce(&Value) -> String,
    ) -> Result<(), String> {
        struct Nobody;
        impl Scope for Nobody {
            fn value(&self, name: &Name) -> Option<Value> {
                match name {
                    Name::Constant(value) => Some(value.clone()),
                    _ => None,
                }
            }
        }
        if let Name::Constant(_) = hole.name {
            let value = hole.value(&Nobody)?;
            self.text(&write(&value));
        } else {
            self.pieces.push(piece(hole));
        }
        Ok(())
    }

    /// Whether nothing is left to be filled in.
    pub(crate) fn is_fixed(&self) -> bool {
        self.pieces.iter().all(|it| matches!(it, Piece::Text(_)))
    }

    /// Which names are left.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Name> {
        self.pieces.iter().filter_map(|it| match it {
            Piece::Whole(hole) | Piece::Inside(hole) => Some(&hole.name),
            Piece::Text(_) => None,
        })
    }

    /// Appends the JSON.
    ///
    /// # Errors
    /// What has no value, or none that its filters take.
    pub(crate) fn render(&self, scope: &dyn Scope, out: &mut String) -> Result<(), String> {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Whole(hole) => out.push_str(&hole.value(scope)?.to_string()),
                Piece::Inside(hole) => out.push_str(&escaped(&text_of(&hole.value(scope)?))),
            }
        }
        Ok(())
    }

    /// What fills the holes, in their order: as it stands in the JSON, but for the quotation marks
    /// of what is a string by itself.
    ///
    /// # Errors
    /// As [`Template::render`]; none where a value is no string.
    pub(crate) fn values(&self, scope: &dyn Scope) -> Result<Option<Vec<String>>, String> {
        let mut values = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(_) => {}
                Piece::Whole(hole) => match hole.value(scope)? {
                    Value::String(text) => values.push(escaped(&text)),
                    _ => return Ok(None),
                },
                Piece::Inside(hole) => values.push(escaped(&text_of(&hole.value(scope)?))),
            }
        }
        Ok(Some(values))
    }

    /// The JSON with these values in its holes.
    pub(crate) fn filled(&self, values: &[String]) -> String {
        let (mut out, mut values) = (String::with_capacity(256), values.iter());
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Whole(_) => {
                    out.push('"');
                    out.push_str(values.next().map_or("", String::as_str));
                    out.push('"');
                }
                Piece::Inside(_) => out.push_str(values.next().map_or("", String::as_str)),
            }
        }
        out
    }

    /// The value that it becomes.
    pub(crate) fn value(&self, scope: &dyn Scope) -> Result<Value, String> {
        let mut text = String::new();
        self.render(scope, &mut text)?;
        serde_json::from_str(&text).map_err(|wrong| wrong.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    struct Play;

    impl Scope for Play {
        fn value(&self, name: &Name) -> Option<Value> {
            match name {
                Name::Captured(0) => Some(json!({"a": 1})),
                Name::Count => Some(json!(7)),
                _ => None,
            }
        }
    }

    fn known(name: &str) -> Option<Name> {
        Some(match name {
            "msisdn" => Name::Constant(json!("447700900123")),
            "object" => Name::Captured(0),
            "late" => Name::Captured(1),
            "n" => Name::Count,
            _ => return None,
        })
    }

    #[test]
    fn holes_are_filled_with_their_types_and_constants_at_once() {
        let fixed = Template::new(&json!({"a": "{msisdn|isdn}", "b": "{null}"}), &known);
        assert!(fixed.as_ref().is_ok_and(Template::is_fixed), "{fixed:?}");
        let cases = [
            (json!({"a": "{object}", "b": [true, 1]}), json!({"a": {"a": 1}, "b": [true, 1]})),
            (json!("{n}"), json!(7)),
            (json!("no. {n|pad:3} \" {{x}}"), json!("no. 007 \" {x}")),
            (json!("{msisdn}"), json!("447700900123")),
            (json!("{null}"), json!(null)),
        ];
        for (from, becomes) in cases {
            let template = Template::new(&from, &known);
            let value = template.and_then(|it| it.value(&Play));
            assert_eq!(value, Ok(becomes), "{from}");
        }
    }

    #[test]
    fn what_cannot_be_filled_says_why() {
        let read = |text: &str| Template::new(&json!(text), &known);
        for (text, says) in [
            ("{nobody}", "nothing is called `nobody`"),
            ("{msisdn|wrong}", "no filter `wrong`"),
            ("{msisdn", "a brace alone"),
            ("}", "a brace alone"),
            ("{msisdn|from_gsm7|int}", "not of"),
        ] {
            assert!(read(text).is_err_and(|it| it.contains(says)), "{text}");
        }
        let late = read("{late}").and_then(|it| it.value(&Play));
        assert!(late.is_err_and(|it| it.contains("no value yet")));
    }
}
