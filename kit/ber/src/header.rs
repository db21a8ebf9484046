//! Identifier and length octets (X.690 §8.1.2, §8.1.3).

use crate::tag::{Class, Tag};
use wire::{Cursor, Malformed};

const IDENTIFIER: &str = "X.690 §8.1.2";
const LENGTH: &str = "X.690 §8.1.3";
pub(crate) const CONTENTS: &str = "X.690 §8.1.4";
pub(crate) const END: &str = "X.690 §8.1.5";
/// Identifier octets behind the first, at most.
const NUMBER_OCTETS_MAX: usize = 4;
/// Length octets behind the first that are read; X.690 has 126, and nothing is that long.
const LENGTH_OCTETS_MAX: usize = 8;

/// What stands before the contents.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) tag: Tag,
    pub(crate) is_constructed: bool,
    /// `None` is the indefinite form.
    pub(crate) length: Option<usize>,
}

/// Takes identifier and length.
#[inline]
pub(crate) fn take(cursor: &mut Cursor<'_>) -> Result<Header, Malformed> {
    let at = cursor.at();
    let (tag, is_constructed) = identifier(cursor)?;
    let length = length(cursor)?;
    if length.is_none() && !is_constructed {
        return Err(Malformed::new(at, "a primitive element of indefinite length", LENGTH));
    }
    if tag == Tag::universal(0) {
        return Err(Malformed::new(at, "end-of-contents without a beginning", END));
    }
    Ok(Header { tag, is_constructed, length })
}

#[inline]
fn identifier(cursor: &mut Cursor<'_>) -> Result<(Tag, bool), Malformed> {
    let at = cursor.at();
    let first = cursor.octet("an identifier lacks")?;
    let class = match first >> 6 {
        0 => Class::Universal,
        1 => Class::Application,
        2 => Class::Context,
        _ => Class::Private,
    };
    let number = match first & 0x1f {
        0x1f => long_number(cursor, at)?,
        short => u32::from(short),
    };
    Ok((Tag::new(class, number), first & 0x20 != 0))
}

fn long_number(cursor: &mut Cursor<'_>, at: usize) -> Result<u32, Malformed> {
    let mut number = 0u32;
    for index in 0..NUMBER_OCTETS_MAX {
        let octet = cursor.octet("a tag is cut off")?;
        if index == 0 && octet == 0x80 {
            return Err(Malformed::new(at, "a tag number begins with zeros", IDENTIFIER));
        }
        number = number << 7 | u32::from(octet & 0x7f);
        if octet & 0x80 == 0 {
            return match number {
                0..31 => Err(Malformed::new(at, "a short tag number in the long form", IDENTIFIER)),
                _ => Ok(number),
            };
        }
    }
    Err(Malformed::new(at, "a tag number of more than 28 bits", IDENTIFIER))
}

#[inline]
fn length(cursor: &mut Cursor<'_>) -> Result<Option<usize>, Malformed> {
    let at = cursor.at();
    let first = cursor.octet("a length lacks")?;
    let octets = match first {
        0..0x80 => return Ok(Some(usize::from(first))),
        0x80 => return Ok(None),
        0xff => return Err(Malformed::new(at, "a reserved length octet", LENGTH)),
        _ => usize::from(first & 0x7f),
    };
    if octets > LENGTH_OCTETS_MAX {
        return Err(Malformed::new(at, "a length of more than eight octets", LENGTH));
    }
    let octets = cursor.take(octets, "a length is cut off")?;
    let length = octets.iter().fold(0u64, |length, octet| length << 8 | u64::from(*octet));
    Ok(Some(usize::try_from(length).unwrap_or(usize::MAX)))
}

/// Octets of the contents of an element of indefinite length that begin here. Elements of
/// indefinite length within it, at most `depth`, are passed over with it.
pub(crate) fn indefinite(mut cursor: Cursor<'_>, depth: u8) -> Result<usize, Malformed> {
    let begin = cursor.at();
    let mut open = 1u8;
    loop {
        let at = cursor.at();
        if cursor.rest().is_empty() {
            return Err(Malformed::new(at, "end-of-contents lacks", END));
        }
        if cursor.rest().starts_with(&[0, 0]) {
            cursor.take(2, "end-of-contents lacks")?;
            open -= 1;
            if open == 0 {
                return Ok(at - begin);
            }
            continue;
        }
        match take(&mut cursor)?.length {
            Some(length) => drop(cursor.take(length, "an element is cut off")?),
            None if open > depth => return Err(Malformed::new(at, "too deep", CONTENTS)),
            None => open += 1,
        }
    }
}
