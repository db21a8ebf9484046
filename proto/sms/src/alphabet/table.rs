//! A table of 128 characters.

/// The septet that leads to the other table (TS 23.038 §6.2.1).
pub(super) const ESCAPE: u8 = 0x1b;
/// What stands where a table has no character.
const NONE: char = '\u{fffd}';

/// Characters by their septet.
#[derive(Debug)]
pub(super) struct Table([char; 128]);

impl Table {
    /// The table that a text of 128 characters is.
    pub(super) const fn of(text: &str) -> Self {
        let (octets, mut table, mut at, mut septet) = (text.as_bytes(), [NONE; 128], 0, 0);
        while at < octets.len() {
            let count = match octets[at] {
                0..0x80 => 1,
                0x80..0xe0 => 2,
                _ => 3,
            };
            let mut number = match count {
                1 => octets[at] as u32,
                2 => octets[at] as u32 & 0x1f,
                _ => octets[at] as u32 & 0xf,
            };
            let mut more = 1;
            while more < count {
                number = number << 6 | octets[at + more] as u32 & 0x3f;
                more += 1;
            }
            if let Some(character) = char::from_u32(number) {
                table[septet] = character;
            }
            (at, septet) = (at + count, septet + 1);
        }
        assert!(septet == 128, "a table has 128 characters");
        Self(table)
    }

    /// The character of a septet.
    pub(super) fn character(&self, septet: u8) -> Option<char> {
        self.0.get(usize::from(septet)).copied().filter(|it| *it != NONE)
    }

    /// The septet of a character.
    pub(super) fn septet(&self, character: char) -> Option<u8> {
        let septet = self.0.iter().position(|it| *it == character && *it != NONE)?;
        u8::try_from(septet).ok()
    }
}
