//! Bencode: numbers, strings, lists and dictionaries (BEP 3).

use wire::Malformed;

/// Lists and dictionaries in one another.
pub const DEPTH_MAX: u8 = 8;
/// Values of a message.
pub const VALUES_MAX: usize = 4_096;
/// Digits of a length or a number.
const DIGITS_MAX: usize = 19;
const SPEC: &str = "BEP 3";

/// A value, borrowed from its octets. `Debug` shows no text but keys: a description has secrets.
#[derive(Clone, PartialEq, Eq)]
pub enum Value<'a> {
    /// `i…e`
    Number(i64),
    /// `length:octets`
    Text(&'a [u8]),
    /// `l…e`
    List(Vec<Self>),
    /// `d…e`, in the order that it came in: not all who speak NG sort their keys.
    Dictionary(Vec<(&'a [u8], Self)>),
}

impl core::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "Text({} octets)", text.len()),
            Self::List(list) => f.debug_list().entries(list).finish(),
            Self::Dictionary(entries) => {
                let entries = entries.iter().map(|(key, value)| (key.escape_ascii(), value));
                f.debug_list().entries(entries).finish()
            }
        }
    }
}

impl<'a> Value<'a> {
    /// Reads one value from the front of `octets`, and how many of them it took; `None` if it is
    /// not whole.
    ///
    /// # Errors
    /// What stands there is no value, nests deeper than [`DEPTH_MAX`] or has more than
    /// [`VALUES_MAX`] values.
    pub fn read(octets: &'a [u8]) -> Result<Option<(Self, usize)>, Malformed> {
        let mut reader = Reader { octets, at: 0, values: 0 };
        let value = reader.value(0)?;
        Ok(value.map(|value| (value, reader.at)))
    }

    /// The value of a key; `None` for what is no dictionary.
    #[must_use]
    pub fn at(&self, key: &str) -> Option<&Self> {
        let Self::Dictionary(entries) = self else { return None };
        entries.iter().find(|(name, _)| *name == key.as_bytes()).map(|(_, value)| value)
    }

    /// The text, if it is one.
    #[must_use]
    pub const fn text(&self) -> Option<&'a [u8]> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number: itself, or one written as text.
    #[must_use]
    pub fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => core::str::from_utf8(text).ok()?.parse().ok(),
            _ => None,
        }
    }

    /// The texts of a list, or a text alone.
    pub fn texts(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        let list = match self {
            Self::List(list) => &list[..],
            _ => &[],
        };
        list.iter().filter_map(Value::text).chain(self.text())
    }
}

struct Reader<'a> {
    octets: &'a [u8],
    at: usize,
    values: usize,
}

impl<'a> Reader<'a> {
    const fn violation(&self, what: &'static str) -> Malformed {
        Malformed::new(self.at, what, SPEC)
    }

    fn peek(&self) -> Option<u8> {
        self.octets.get(self.at).copied()
    }

    /// The next value; `None`: the octets end inside it.
    fn value(&mut self, depth: u8) -> Result<Option<Value<'a>>, Malformed> {
        self.values += 1;
        if depth > DEPTH_MAX || self.values > VALUES_MAX {
            return Err(self.violation("there are too many values, or they nest too deep"));
        }
        let Some(first) = self.peek() else { return Ok(None) };
        match first {
            b'i' => {
                self.at += 1;
                Ok(self.digits(b'e')?.map(Value::Number))
            }
            b'l' => {
                self.at += 1;
                self.list(depth)
            }
            b'd' => {
                self.at += 1;
                self.dictionary(depth)
            }
            b'0'..=b'9' => Ok(self.text()?.map(Value::Text)),
            _ => Err(self.violation("no value begins like this")),
        }
    }

    /// A number up to `end`.
    fn digits(&mut self, end: u8) -> Result<Option<i64>, Malformed> {
        let rest = &self.octets[self.at..];
        let window = &rest[..rest.len().min(DIGITS_MAX + 2)];
        let Some(length) = window.iter().position(|octet| *octet == end) else {
            let is_cut = rest.len() < DIGITS_MAX + 2
                && rest.iter().all(|octet| octet.is_ascii_digit() || *octet == b'-');
            return if is_cut { Ok(None) } else { Err(self.violation("a number does not end")) };
        };
        let text = core::str::from_utf8(&rest[..length]).unwrap_or_default();
        let is_plain = text.strip_prefix('-').unwrap_or(text).bytes().all(|it| it.is_ascii_digit());
        let number = text.parse().ok().filter(|_| is_plain);
        let number = number.ok_or(self.violation("a number is none"))?;
        self.at += length + 1;
        Ok(Some(number))
    }

    fn text(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        let start = self.at;
        let Some(length) = self.digits(b':')? else { return Ok(None) };
        let length = usize::try_from(length).map_err(|_| self.violation("a length is negative"))?;
        let text = self.octets.get(self.at..).and_then(|rest| rest.get(..length));
        match text {
            Some(text) => {
                self.at += length;
                Ok(Some(text))
            }
            None => {
                self.at = start;
                Ok(None)
            }
        }
    }

    fn list(&mut self, depth: u8) -> Result<Option<Value<'a>>, Malformed> {
        let mut list = Vec::new();
        loop {
            match self.peek() {
                None => return Ok(None),
                Some(b'e') => break,
                Some(_) => match self.value(depth + 1)? {
                    Some(value) => list.push(value),
                    None => return Ok(None),
                },
            }
        }
        self.at += 1;
        Ok(Some(Value::List(list)))
    }

    fn dictionary(&mut self, depth: u8) -> Result<Option<Value<'a>>, Malformed> {
        let mut entries = Vec::new();
        loop {
            match self.peek() {
                None => return Ok(None),
                Some(b'e') => break,
                Some(b'0'..=b'9') => {
                    let Some(key) = self.text()? else { return Ok(None) };
                    let Some(value) = self.value(depth + 1)? else { return Ok(None) };
                    entries.push((key, value));
                }
                Some(_) => return Err(self.violation("a key is no string")),
            }
        }
        self.at += 1;
        Ok(Some(Value::Dictionary(entries)))
    }
}

/// Writes values one after the other; what is opened has to be closed.
pub struct Writer<'o>(&'o mut Vec<u8>);

impl core::fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Writer({} octets)", self.0.len())
    }
}

impl<'o> Writer<'o> {
    /// Appends to `out`.
    #[must_use]
    pub const fn new(out: &'o mut Vec<u8>) -> Self {
        Self(out)
    }

    /// A string.
    pub fn text(&mut self, text: &[u8]) -> &mut Self {
        self.0.extend_from_slice(text.len().to_string().as_bytes());
        self.0.push(b':');
        self.0.extend_from_slice(text);
        self
    }

    /// A number.
    pub fn number(&mut self, number: u64) -> &mut Self {
        self.0.push(b'i');
        self.0.extend_from_slice(number.to_string().as_bytes());
        self.0.push(b'e');
        self
    }

    /// A key with a string.
    pub fn pair(&mut self, key: &str, text: &[u8]) -> &mut Self {
        self.text(key.as_bytes()).text(text)
    }

    /// A key with a number.
    pub fn count(&mut self, key: &str, number: u64) -> &mut Self {
        self.text(key.as_bytes()).number(number)
    }

    /// A dictionary that `write` fills.
    pub fn dictionary(&mut self, write: impl FnOnce(&mut Writer<'_>)) -> &mut Self {
        self.0.push(b'd');
        write(&mut Writer(self.0));
        self.0.push(b'e');
        self
    }

    /// A list that `write` fills.
    pub fn list(&mut self, write: impl FnOnce(&mut Writer<'_>)) -> &mut Self {
        self.0.push(b'l');
        write(&mut Writer(self.0));
        self.0.push(b'e');
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_are_written_and_not_before_they_are_whole() {
        let mut text = Vec::new();
        Writer::new(&mut text).dictionary(|it| {
            it.pair("command", b"offer").count("n", 7).text(b"flags");
            it.list(|it| {
                it.text(b"").text(b"trust-address");
            });
        });
        assert_eq!(text, b"d7:command5:offer1:ni7e5:flagsl0:13:trust-addressee");
        for cut in 0..text.len() {
            assert_eq!(Value::read(&text[..cut]), Ok(None), "{cut}");
        }
        let (value, length) = Value::read(&text).expect("sound").expect("whole");
        assert_eq!(length, text.len());
        assert_eq!(value.at("command").and_then(Value::text), Some(&b"offer"[..]));
        assert_eq!(value.at("n").and_then(Value::number), Some(7));
        let flags: Vec<_> = value.at("flags").expect("there").texts().collect();
        assert_eq!(flags, [&b""[..], b"trust-address"]);
    }

    #[test]
    fn what_is_no_value_or_too_much_is_refused() {
        for text in [&b"x"[..], b"i1x", b"ie", b"i--1e", b"di1e1:xe", b"-1:x", b"i+1e"] {
            assert!(Value::read(text).is_err(), "{text:?}");
        }
        assert_eq!(Value::read(b"99999999999:x"), Ok(None));
        assert!(Value::read(b"99999999999999999999999:x").is_err());
        assert!(Value::read("l".repeat(20).as_bytes()).is_err());
        assert!(Value::read(format!("l{}e", "i1e".repeat(5_000)).as_bytes()).is_err());
    }
}
