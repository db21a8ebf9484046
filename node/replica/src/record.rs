//! A record of a function's state as a delta: which slot it is about, then tagged fields, said
//! again only when it says something new.

use crate::field::{self, Fields};
use machine::identity::mix;
use machine::narrow::at_most;
use machine::slots::Key;
use runtime::Effects;

/// The tag of a slot's index in every record.
pub const INDEX: u8 = 1;
/// The tag of its generation. A record's own tags stand above this.
pub const GENERATION: u8 = 2;

/// Appends which slot a delta is about.
pub fn write_key(out: &mut Vec<u8>, key: Key) {
    field::number(out, INDEX, key.index.into());
    field::number(out, GENERATION, key.generation.into());
}

/// Reads which slot a delta is about; `None` for a delta that names none.
#[must_use]
pub fn read_key(fields: &[u8]) -> Option<Key> {
    let find = |wanted| {
        let found = Fields::new(fields).find(|&(tag, _)| tag == wanted);
        found.map(|(_, value)| at_most(field::read(value), u32::MAX))
    };
    Some(Key { index: find(INDEX)?, generation: find(GENERATION)? })
}

/// Sends a record unless it says what was said before; the number for what it says, which is
/// `was` the next time.
pub fn tell(
    out: &mut Effects,
    scratch: &mut Vec<u8>,
    was: u64,
    write: impl FnOnce(&mut Vec<u8>),
) -> u64 {
    scratch.clear();
    write(scratch);
    let digest = digest(scratch);
    if digest != was {
        out.delta(|buffer| buffer.extend_from_slice(scratch));
    }
    digest
}

/// Sends a delta of this kind that says nothing but which slot it is about.
pub fn tell_key(out: &mut Effects, kind: u8, key: Key) {
    out.delta(|buffer| {
        buffer.push(kind);
        write_key(buffer, key);
    });
}

/// A number for a text, never zero.
#[must_use]
pub fn digest(text: &[u8]) -> u64 {
    let word = |chunk: &[u8]| chunk.iter().fold(0, |word, &octet| word << 8 | u64::from(octet));
    text.chunks(8).fold(text.len() as u64, |sum, chunk| mix(sum ^ word(chunk)).rotate_left(7)) | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_was_written() {
        for (index, generation) in [(0, 0), (7, 1), (u32::MAX, u32::MAX)] {
            let (mut text, key) = (Vec::new(), Key { index, generation });
            write_key(&mut text, key);
            field::number(&mut text, GENERATION + 1, 9);
            assert_eq!(read_key(&text), Some(key));
        }
        assert_eq!(read_key(&[]), None);
    }

    #[test]
    fn a_record_is_told_again_only_when_it_says_something_new() {
        let (mut out, mut scratch, mut was) = (Effects::default(), Vec::new(), 0);
        let mut told = Vec::new();
        for value in [1, 1, 2, 2, 1] {
            let before = was;
            was = tell(&mut out, &mut scratch, was, |out| field::number(out, 3, value));
            told.push(was != before);
        }
        assert_eq!(told, [true, false, true, false, true]);
    }
}
