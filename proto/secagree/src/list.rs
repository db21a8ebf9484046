//! The list of a header field: Security-Client, Security-Server, Security-Verify (RFC 3329 §2.2).

use crate::Mechanism;
use crate::mechanism::SPEC;
use wire::Malformed;

/// Most mechanisms of a list: a phone names each pair of algorithms.
pub const LIST_MAX: usize = 32;
/// Longest list, octets.
pub const OCTETS_MAX: usize = 4_096;

/// Mechanisms in the order in which they are written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct List(pub Vec<Mechanism>);

impl List {
    /// Reads the values of all lines of a header field, in their order.
    ///
    /// # Errors
    /// A value is no list, or they are too many or too long.
    pub fn read<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Result<Self, Malformed> {
        Self::read_up_to(OCTETS_MAX, values)
    }

    /// Reads what [`List::write`] has written of a list that was read: it may be longer than that
    /// was, for it names what was left out.
    ///
    /// # Errors
    /// It is no list, or its mechanisms are too many.
    pub fn read_written(value: &[u8]) -> Result<Self, Malformed> {
        Self::read_up_to(2 * OCTETS_MAX, [value])
    }

    fn read_up_to<'a>(
        most: usize,
        values: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, Malformed> {
        let (mut list, mut octets) = (Vec::new(), 0);
        for value in values {
            octets += value.len();
            if octets > most {
                return Err(Malformed::new(value.len(), "the list is too long", SPEC));
            }
            for (at, item) in split(value, b',') {
                if item.trim_ascii().is_empty() {
                    continue;
                }
                if list.len() == LIST_MAX {
                    return Err(Malformed::new(at, "there are too many mechanisms", SPEC));
                }
                list.push(Mechanism::read(item, at)?);
            }
        }
        Ok(Self(list))
    }

    /// Appends the value.
    pub fn write(&self, out: &mut Vec<u8>) {
        for (at, mechanism) in self.0.iter().enumerate() {
            if at > 0 {
                out.extend_from_slice(b", ");
            }
            mechanism.write(out);
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same mechanisms with the same parameters and preferences, in the order of preference:
    /// what stands in Security-Verify is what stood in Security-Server, however it is written
    /// (RFC 3329 §2.3.1).
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let sorted = |list: &Self| {
            let mut list: Vec<_> = list.0.iter().map(|it| (it.q, written(it))).collect();
            list.sort();
            list
        };
        self.0 == other.0 || sorted(self) == sorted(other)
    }
}

fn written(mechanism: &Mechanism) -> Vec<u8> {
    let mut out = Vec::new();
    mechanism.write(&mut out);
    out
}

/// The parts of a text between separators that stand in no quotes, each with its place.
pub(crate) fn split(text: &[u8], separator: u8) -> impl Iterator<Item = (usize, &[u8])> {
    let has_quotes = text.contains(&b'"');
    let mut begin = Some(0);
    core::iter::from_fn(move || {
        let from = begin?;
        let rest = &text[from..];
        let end = if has_quotes {
            end_of_quoted(rest, separator)
        } else {
            rest.iter().position(|octet| *octet == separator)
        };
        begin = end.map(|end| from + end + 1);
        Some((from, &text[from..end.map_or(text.len(), |end| from + end)]))
    })
}

/// Where the first separator stands that is in no quotes.
fn end_of_quoted(text: &[u8], separator: u8) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    text.iter().position(|octet| {
        let ends = !quoted && *octet == separator;
        quoted ^= *octet == b'"' && !escaped;
        escaped = quoted && *octet == b'\\' && !escaped;
        ends
    })
}
