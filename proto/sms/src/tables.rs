//! The tables of the documentation.

use crate::alphabet::Language;
use crate::header::{Element, Width};
use crate::names::{Cause, Command, FailureCause, Status};
use crate::rp;
use crate::tpdu::{Kind, Parameter, Place};
use core::fmt::Write as _;

fn place(place: Place) -> String {
    match place {
        Place::Bit(bit) => format!(" (bit {bit})"),
        Place::Always => String::new(),
        Place::IfMore | Place::Indicated(_) => " (optional)".to_owned(),
    }
}

fn numbered(title: &str, rows: impl Iterator<Item = (u8, &'static str, &'static str)>) -> String {
    let mut text = format!("\n## {title}\n\n| number | name | section |\n|---|---|---|\n");
    for (number, name, spec) in rows {
        let _ = writeln!(text, "| {number} | {name} | {spec} |");
    }
    text
}

/// TPDUs, parameters, elements of headers, RP messages and causes as tables in Markdown.
#[must_use]
pub fn tables() -> String {
    let mut text = "## TPDUs\n\n| name | parameters | octets of data | section |\n".to_owned();
    text.push_str("|---|---|---|---|\n");
    for kind in Kind::ALL {
        let of = |it: &crate::Field| format!("{}{}", it.parameter.name(), place(it.place));
        let fields: Vec<_> = kind.fields().iter().map(of).collect();
        let (name, max, spec) = (kind.name(), kind.data_octets_max(), kind.spec());
        let _ = writeln!(text, "| {name} | {} | {max} | {spec} |", fields.join(", "));
    }
    text.push_str("\n## Parameters\n\n| name | value | section |\n|---|---|---|\n");
    for it in Parameter::ALL {
        let _ = writeln!(text, "| {} | {:?} | {} |", it.name(), it.shape(), it.spec());
    }
    text.push_str("\n## Elements of the user data header\n\n");
    text.push_str("| identifier | name | fields | section |\n|---|---|---|---|\n");
    for it in Element::ALL {
        let fields = it.fields().iter().map(|field| match field.width {
            Width::Bits(count) => format!("{} ({count})", field.name),
            Width::Address | Width::Rest => field.name.to_owned(),
        });
        let fields = fields.collect::<Vec<_>>().join(", ");
        let _ =
            writeln!(text, "| {:02x} | {} | {fields} | {} |", it.number(), it.name(), it.spec());
    }
    text.push_str("\n## RP messages\n\n| type | name | elements | section |\n|---|---|---|---|\n");
    for it in rp::Kind::ALL {
        let elements = it.elements().iter().map(|(element, form)| match form {
            rp::Form::Length => element.name().to_owned(),
            rp::Form::Optional(_) => format!("{} (optional)", element.name()),
        });
        let elements = elements.collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "| {} | {} | {elements} | {} |", it.number(), it.name(), it.spec());
    }
    let of = |it: &Cause| (it.number(), it.name(), it.spec());
    text.push_str(&numbered("RP-Cause", Cause::ALL.iter().map(of)));
    let of = |it: &FailureCause| (it.number(), it.name(), it.spec());
    text.push_str(&numbered("TP-FCS", FailureCause::ALL.iter().map(of)));
    let of = |it: &Status| (it.number(), it.name(), it.spec());
    text.push_str(&numbered("TP-ST", Status::ALL.iter().map(of)));
    let of = |it: &Command| (it.number(), it.name(), it.spec());
    text.push_str(&numbered("TP-CT", Command::ALL.iter().map(of)));
    let of = |it: &Language| (it.number(), it.name(), it.spec());
    text.push_str(&numbered("National languages", Language::ALL.iter().map(of)));
    text
}
