//! Catches the loss of the compiler switch in `.cargo/config.toml` (rust-lang/rust#158206): from
//! opt-level 2 on, which this crate has in tests too (`Cargo.toml` of the workspace), rustc 1.95
//! without it drops a comparison whose result an inlined function adds up and hands back to a
//! caller that branches on it.
//!
//! The shape matters: of a comparison that is added up and branched on in one function, the
//! compiler makes a copy, and nothing is lost.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Octet {
    Comma,
    Space,
    Other,
}

/// Eight octets, so that the place needs no check that would keep the functions apart.
type Text = [Octet; 8];

struct Cursor {
    at: u32,
}

impl Cursor {
    fn octet(&self, text: &Text) -> Octet {
        text[self.at as usize % 8]
    }

    fn is_at(&self, text: &Text, wanted: Octet) -> bool {
        self.octet(text) == wanted
    }

    #[inline]
    fn takes(&mut self, text: &Text, wanted: Octet) -> bool {
        let is_there = self.is_at(text, wanted);
        self.at += is_there as u32;
        is_there
    }

    #[inline]
    fn takes_from(&mut self, text: &Text, wanted: Octet) -> bool {
        let is_there = self.is_at(text, wanted);
        self.at += u32::from(is_there);
        is_there
    }
}

#[inline(never)]
fn behind_comma(text: &Text, mut cursor: Cursor) -> Option<Octet> {
    if !cursor.takes(text, Octet::Comma) {
        return None;
    }
    Some(cursor.octet(text))
}

#[inline(never)]
fn behind_comma_from(text: &Text, mut cursor: Cursor) -> Option<Octet> {
    if !cursor.takes_from(text, Octet::Comma) {
        return None;
    }
    Some(cursor.octet(text))
}

#[test]
fn a_comparison_is_added_up_even_when_a_caller_branches_on_it() {
    let mut text = [Octet::Other; 8];
    text[..2].copy_from_slice(&[Octet::Comma, Octet::Space]);
    let text = std::hint::black_box(text);
    for behind in [behind_comma as fn(&Text, Cursor) -> Option<Octet>, behind_comma_from] {
        let found = behind(&text, Cursor { at: 0 });
        assert_eq!(found, Some(Octet::Space), "an addition is lost: see .cargo/config.toml");
        assert_eq!(behind(&text, Cursor { at: 1 }), None);
    }
}
