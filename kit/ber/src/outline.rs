//! What a value of a type looks like in JSON, for people: the components with their words, and the
//! smallest value.

use crate::element::Element;
use crate::types::{Field, Presence, Shape, Size, Type};
use crate::writer::Writer;
use core::fmt::Write as _;

/// Names of an ENUMERATED that are written out.
const NAMES_MAX: usize = 12;

impl Type {
    /// A line a component, or one line for a type that has none: its name, whether it may lack, its
    /// type, and what it looks like in JSON. What is inside follows indented, `depth` levels deep.
    #[must_use]
    pub fn outline(&'static self, depth: usize) -> String {
        let mut text = String::new();
        match self.parts() {
            Some(fields) => components(fields, depth, 1, &mut text),
            None => line(format_args!("  {}", self.words()), &mut text),
        }
        text
    }

    /// The smallest value in JSON: nothing that may lack, the first alternative of each choice, the
    /// lowest numbers.
    #[must_use]
    pub fn smallest(&self) -> String {
        let (mut octets, mut text) = (Vec::new(), String::new());
        self.sample(None, &mut || 0, &mut Writer::new(&mut octets));
        match Element::only(&octets).and_then(|element| self.to_json(&element, &mut text)) {
            Ok(()) => text,
            Err(_) => String::new(),
        }
    }

    /// The components of what is written as an object, or of the elements of a list.
    const fn parts(&'static self) -> Option<&'static [Field]> {
        match self.shape {
            Shape::Sequence { fields, .. }
            | Shape::Set { fields, .. }
            | Shape::Choice { fields, .. } => Some(fields),
            Shape::List(_, of, _) => of.parts(),
            _ => None,
        }
    }

    /// What a value looks like in JSON.
    fn words(&self) -> String {
        match self.shape {
            Shape::Null => "null".into(),
            Shape::Boolean => "true or false".into(),
            Shape::Integer(i64::MIN, _) | Shape::Integer(_, i64::MAX) => "a number".into(),
            Shape::Integer(min, max) => format!("a number, {min} to {max}"),
            Shape::Enumerated { names, .. } => enumerated(names),
            Shape::Octets(size) => format!("hexadecimal digits of {} octets", count(size)),
            Shape::Text(_, size) => format!("{} characters", count(size)),
            Shape::Bits(size) if size.min == size.max => {
                format!("hexadecimal digits of {} bits", count(size))
            }
            Shape::Bits(size) => {
                format!(
                    "{{\"value\":\"80\",\"length\":1}}: hexadecimal digits, {} bits",
                    count(size)
                )
            }
            Shape::Oid => "numbers with dots between them".into(),
            Shape::List(_, of, size) => format!("a list of {}: {}", count(size), of.words()),
            Shape::Sequence { .. } | Shape::Set { .. } => "an object".into(),
            Shape::Choice { .. } => "an object with one of".into(),
            Shape::Any => "hexadecimal digits of a whole element".into(),
        }
    }
}

fn enumerated(names: &[(i64, &str)]) -> String {
    let mut words: Vec<_> =
        names.iter().take(NAMES_MAX).map(|(_, name)| format!("\"{name}\"")).collect();
    if names.len() > NAMES_MAX {
        words.push(format!("{} more", names.len() - NAMES_MAX));
    }
    words.join(", ")
}

fn count(size: Size) -> String {
    match size {
        Size { min, max } if min == max => min.to_string(),
        Size { min, max } if max > 1 << 20 => format!("{min} or more"),
        Size { min, max } => format!("{min} to {max}"),
    }
}

fn components(fields: &'static [Field], depth: usize, level: usize, text: &mut String) {
    let width = fields.iter().map(|field| field.name.len()).max().unwrap_or_default();
    for field in fields {
        let presence = if field.presence == Presence::Optional { "optional" } else { "" };
        let (kind, words) = (field.kind.name, field.kind.words());
        let indent = level * 2;
        line(
            format_args!("{:indent$}{:width$}  {presence:8}  {kind}: {words}", "", field.name),
            text,
        );
        match field.kind.parts() {
            Some(inner) if depth > 0 => components(inner, depth - 1, level + 1, text),
            _ => {}
        }
    }
}

fn line(words: core::fmt::Arguments<'_>, text: &mut String) {
    writeln!(text, "{words}").expect("a string takes whatever is written");
}
