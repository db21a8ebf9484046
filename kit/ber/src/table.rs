//! The table of a type for the documentation.

use crate::types::{Presence, Shape, Type};
use core::fmt::Write as _;

/// A table in Markdown: name, tag, type and presence of every component; nothing for a type that
/// has none.
#[must_use]
pub fn table(of: &Type) -> String {
    let (Shape::Sequence { fields, is_extensible }
    | Shape::Set { fields, is_extensible }
    | Shape::Choice { fields, is_extensible }) = of.shape
    else {
        return String::new();
    };
    let mut text =
        format!("{} ({})\n\n| component | tag | type | |\n|---|---|---|---|\n", of.name, of.spec);
    for field in fields {
        let tag = field.tag.or(field.kind.tag());
        let tag = tag.map_or_else(String::new, |tag| tag.to_string());
        let presence = if field.presence == Presence::Optional { "optional" } else { "" };
        let _ = writeln!(text, "| {} | {tag} | {} | {presence} |", field.name, field.kind.name);
    }
    if is_extensible {
        text.push_str("| … | | | |\n");
    }
    text
}
