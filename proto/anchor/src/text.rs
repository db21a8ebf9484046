//! Lines, words and numbers of a description.

use crate::attribute::Owner;
use core::net::IpAddr;
use sdp::{Attribute, Kind, Line};
use std::io::Write;

/// A line as it was read once.
#[derive(Clone, Copy)]
pub(crate) struct Said<'a> {
    pub line: Line<'a>,
    /// Name and value of an attribute; an empty name for other lines.
    pub attribute: Attribute<'a>,
}

// A line may be a key.
impl core::fmt::Debug for Said<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Said({:?}, {:?})", self.line.kind, self.owner())
    }
}

impl<'a> Said<'a> {
    pub fn read(line: Line<'a>) -> Self {
        let attribute = line.attribute().unwrap_or(Attribute { name: b"", value: None });
        Self { line, attribute }
    }

    /// Whose business the attribute is. Only who writes lines asks.
    pub fn owner(&self) -> Owner {
        if self.line.kind == Kind::Attribute {
            Owner::of(self.attribute.name)
        } else {
            Owner::Unknown
        }
    }
}

/// The values of the attributes with that name.
pub(crate) fn values<'s, 'a>(
    lines: &'s [Said<'a>],
    name: &'s [u8],
) -> impl Iterator<Item = &'a [u8]> + use<'s, 'a> {
    lines.iter().filter(move |it| it.attribute.name == name).filter_map(|it| it.attribute.value)
}

/// The words of a value, separated by spaces.
pub(crate) fn words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&octet| octet == b' ').filter(|word| !word.is_empty())
}

/// A decimal number.
pub(crate) fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0_u64, |number, &octet| {
        let digit = octet.wrapping_sub(b'0');
        let number = number.checked_mul(10)?.checked_add(digit.into())?;
        (digit < 10).then_some(number)
    })
}

/// Appends an address.
pub(crate) fn push_address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(address) => {
            for (at, octet) in address.octets().into_iter().enumerate() {
                if at > 0 {
                    out.push(b'.');
                }
                push_number(out, octet.into());
            }
        }
        // Writing to memory does not fail.
        IpAddr::V6(address) => drop(write!(out, "{address}")),
    }
}

/// Appends a decimal number.
pub(crate) fn push_number(out: &mut Vec<u8>, number: u64) {
    // Most are payload types and octets of addresses.
    if let Ok(small) = u8::try_from(number) {
        if small >= 100 {
            out.push(b'0' + small / 100);
        }
        if small >= 10 {
            out.push(b'0' + small / 10 % 10);
        }
        return out.push(b'0' + small % 10);
    }
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_are_written() {
        for value in (0..=1_000).chain([65_535, u64::MAX]) {
            let mut text = Vec::new();
            push_number(&mut text, value);
            assert_eq!(number(&text), Some(value));
        }
        assert_eq!(
            (number(b""), number(b"1x"), number(b"99999999999999999999")),
            (None, None, None)
        );
    }
}
