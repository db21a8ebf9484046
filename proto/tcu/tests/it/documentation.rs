//! The tables of tagged fields in the documentation are those of the rows.

use std::fmt::Write as _;
use tcu::{Kind, Tag};

#[test]
fn the_page_has_every_kind_and_field() {
    let mut table = "| kind | message |\n|---|---|\n".to_owned();
    for kind in Kind::ALL {
        writeln!(table, "| 0x{:02x} | `{}` |", kind.number(), kind.name()).unwrap();
    }
    table += "\n| tag | field |\n|---|---|\n";
    for tag in Tag::ALL {
        writeln!(table, "| {} | {} |", tag.number(), tag.name()).unwrap();
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/applications.md");
    let page = std::fs::read_to_string(path).unwrap();
    assert!(page.ends_with(&table), "the page is to end with:\n{table}");
}
