//! Any octets as BER: nothing panics, whatever is read lies within the message, and what passes the
//! check of a type is found by its rows.

use ber::{Any, Boolean, Described, Element, Integer, OctetString, Reader, SequenceOf, Utf8String};

ber::choice! {
    /// A node of a tree.
    pub enum Leaf = "Leaf", "FUZZ §1" {
        Number = "number", Integer<{ i64::MIN }, { i64::MAX }> [0];
        Text = "text", Utf8String<0, 20> [40 explicit];
        Flag = "flag", Boolean;
        ...
    }
}

ber::sequence! {
    /// Leaves and whatever else.
    pub enum Tree = "Tree", "FUZZ §2" {
        Name = "name", OctetString<0, 64>;
        Leaves = "leaves", SequenceOf<Leaf, 0, 16> [1], optional;
        Only = "only", Leaf [2], optional;
        Rest = "rest", Any [3], optional;
        ...
    }
}

pub fn run(bytes: &[u8]) {
    for element in Reader::new(bytes) {
        match element {
            Ok(element) => touch(&element),
            Err(violation) => assert!(violation.at <= bytes.len()),
        }
    }
    let Ok(element) = Element::only(bytes) else { return };
    if let Ok(tree) = Tree::read(element) {
        assert!(tree.octets(Tree::Name).is_some_and(|name| name.len() <= 64));
        assert!(tree.list(Tree::Leaves).all(|leaf| Leaf::read(leaf).is_ok()));
        assert!(tree.get(Tree::Only).is_none_or(|leaf| Leaf::read(leaf).is_ok()));
        assert!(Tree::TYPE.check(&element).is_ok());
    }
}

/// Reads an element in every way, and those within it.
fn touch(element: &Element<'_>) {
    let _ = (element.integer(), element.boolean(), element.null());
    if let Ok(octets) = element.octets() {
        assert_eq!(octets.iter().count(), octets.len());
    }
    if let Ok(bits) = element.bits() {
        assert!(bits.octets().count() * 8 >= bits.len());
    }
    if let Ok(oid) = element.oid() {
        assert!(oid.arcs().count() >= 2);
    }
    for child in element.children().into_iter().flatten().flatten() {
        assert!(child.at() >= element.contents_at());
        touch(&child);
    }
}
