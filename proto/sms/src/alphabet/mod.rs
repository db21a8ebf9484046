//! The alphabets of seven bits with those of national languages (TS 23.038 §6.2.1, §A), and how
//! septets stand in octets (§6.1.2.1).

mod locking;
mod septets;
mod single_shift;
mod table;

pub use septets::{Septets, pack, packed_octets};

use table::ESCAPE;

wire::rows! {
    /// A national language (TS 23.038 §6.2.1.2.4).
    pub enum Language: u8 {
        /// Single shift and locking shift.
        Turkish = 1, "Turkish", "TS 23.038 §A.2.1, §A.3.1";
        /// Single shift alone.
        Spanish = 2, "Spanish", "TS 23.038 §A.2.2";
        /// Single shift and locking shift.
        Portuguese = 3, "Portuguese", "TS 23.038 §A.2.3, §A.3.3";
        /// Single shift and locking shift.
        Bengali = 4, "Bengali", "TS 23.038 §A.2.4, §A.3.4";
        /// Single shift and locking shift.
        Gujarati = 5, "Gujarati", "TS 23.038 §A.2.5, §A.3.5";
        /// Single shift and locking shift.
        Hindi = 6, "Hindi", "TS 23.038 §A.2.6, §A.3.6";
        /// Single shift and locking shift.
        Kannada = 7, "Kannada", "TS 23.038 §A.2.7, §A.3.7";
        /// Single shift and locking shift.
        Malayalam = 8, "Malayalam", "TS 23.038 §A.2.8, §A.3.8";
        /// Single shift and locking shift.
        Oriya = 9, "Oriya", "TS 23.038 §A.2.9, §A.3.9";
        /// Single shift and locking shift.
        Punjabi = 10, "Punjabi", "TS 23.038 §A.2.10, §A.3.10";
        /// Single shift and locking shift.
        Tamil = 11, "Tamil", "TS 23.038 §A.2.11, §A.3.11";
        /// Single shift and locking shift.
        Telugu = 12, "Telugu", "TS 23.038 §A.2.12, §A.3.12";
        /// Single shift and locking shift.
        Urdu = 13, "Urdu", "TS 23.038 §A.2.13, §A.3.13";
    }
}

impl Language {
    /// Whether the language has a locking shift table.
    #[must_use]
    pub fn is_locking(self) -> bool {
        locking::LOCKING[usize::from(self.number())].is_some()
    }
}

/// The alphabet of a message: the default one, or with tables of national languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Alphabet {
    /// In place of the default alphabet.
    pub locking: Option<Language>,
    /// In place of the default extension.
    pub single_shift: Option<Language>,
}

impl Alphabet {
    /// The GSM 7 bit default alphabet and its extension.
    pub const DEFAULT: Self = Self { locking: None, single_shift: None };

    fn tables(self) -> (&'static table::Table, &'static table::Table) {
        // A language without a table of its own is read by the default (TS 23.038 §6.2.1.2.3).
        let of = |tables: &'static [Option<table::Table>; 14], it: Option<Language>| {
            let own = it.and_then(|it| tables[usize::from(it.number())].as_ref());
            own.or(tables[0].as_ref()).expect("the first row is the default alphabet")
        };
        (of(&locking::LOCKING, self.locking), of(&single_shift::SINGLE_SHIFT, self.single_shift))
    }

    /// The text of septets. What an extension does not know is shown by the main table, an escape
    /// that leads nowhere as a space (TS 23.038 §6.2.1), what no table knows as U+FFFD.
    #[must_use]
    pub fn decode(self, septets: impl Iterator<Item = u8>) -> String {
        let (main, extension) = self.tables();
        let (mut text, mut is_escaped) = (String::new(), false);
        for septet in septets {
            let found = match (is_escaped, septet) {
                (false, ESCAPE) => {
                    is_escaped = true;
                    continue;
                }
                (true, ESCAPE) => Some(' '),
                (true, _) => extension.character(septet).or_else(|| main.character(septet)),
                (false, _) => main.character(septet),
            };
            is_escaped = false;
            text.push(found.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        if is_escaped {
            text.push(' ');
        }
        text
    }

    /// Appends the septets of a character: one, or an escape and another; false if the alphabet
    /// has none.
    #[must_use]
    pub fn encode(self, character: char, septets: &mut Vec<u8>) -> bool {
        let (main, extension) = self.tables();
        if let Some(septet) = main.septet(character) {
            septets.push(septet);
            return true;
        }
        let found = extension.septet(character);
        septets.extend(found.map(|it| [ESCAPE, it]).iter().flatten());
        found.is_some()
    }

    /// The septets of a text, none if a character is not of the alphabet.
    #[must_use]
    pub fn septets(self, text: &str) -> Option<Vec<u8>> {
        let mut septets = Vec::with_capacity(text.len());
        text.chars().all(|it| self.encode(it, &mut septets)).then_some(septets)
    }
}
