//! JSON, token by token (RFC 8259).

use std::borrow::Cow;
use wire::Malformed;

const SPEC: &str = "RFC 8259";
/// Arrays and objects within each other that are passed over, at most.
const DEPTH_MAX: usize = 64;

/// Reads a text from the front.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Text<'a> {
    /// Begins at the front.
    #[must_use]
    pub const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Octets that were read.
    #[must_use]
    pub const fn at(&self) -> usize {
        self.at
    }

    /// The violation `what` here.
    #[must_use]
    pub const fn violation(&self, what: &'static str) -> Malformed {
        Malformed::new(self.at, what, SPEC)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The next octet behind white space.
    pub fn peek(&mut self) -> Option<u8> {
        let is_space = |it: &u8| matches!(it, b' ' | b'\t' | b'\n' | b'\r');
        self.at += self.rest().bytes().take_while(is_space).count();
        self.rest().bytes().next()
    }

    /// Passes over `token` if it comes next.
    pub fn has(&mut self, token: &str) -> bool {
        self.peek();
        let is_there = self.rest().starts_with(token);
        if is_there {
            self.at += token.len();
        }
        is_there
    }

    /// Passes over `token`.
    ///
    /// # Errors
    /// Something else comes next.
    pub fn expect(&mut self, token: &str, what: &'static str) -> Result<(), Malformed> {
        if self.has(token) { Ok(()) } else { Err(self.violation(what)) }
    }

    /// Nothing but white space is left.
    ///
    /// # Errors
    /// Something else is.
    pub fn end(&mut self) -> Result<(), Malformed> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.violation("something follows the value")),
        }
    }

    /// An integer.
    ///
    /// # Errors
    /// Something else, a fraction or exponent, or beyond 64 bits.
    pub fn integer(&mut self) -> Result<i64, Malformed> {
        self.peek();
        let is_digit = |it: &u8| it.is_ascii_digit() || *it == b'-';
        let count = self.rest().bytes().take_while(is_digit).count();
        let number =
            self.rest()[..count].parse().map_err(|_| self.violation("an integer lacks"))?;
        self.at += count;
        match self.rest().bytes().next() {
            Some(b'.' | b'e' | b'E') => Err(self.violation("a number that is no integer")),
            _ => Ok(number),
        }
    }

    /// A string, its escapes resolved.
    ///
    /// # Errors
    /// Something else, or it is cut off.
    pub fn string(&mut self) -> Result<Cow<'a, str>, Malformed> {
        self.expect("\"", "a string lacks")?;
        let rest = self.rest();
        let Some(end) = rest.find(['"', '\\']) else {
            return Err(self.violation("a string is cut off"));
        };
        if rest[..end].bytes().any(|octet| octet < 0x20) {
            return Err(self.violation("a control character in a string"));
        }
        if rest.as_bytes()[end] == b'"' {
            self.at += end + 1;
            return Ok(Cow::Borrowed(&rest[..end]));
        }
        self.escaped().map(Cow::Owned)
    }

    /// A string with escapes.
    fn escaped(&mut self) -> Result<String, Malformed> {
        let mut out = String::new();
        loop {
            let Some(letter) = self.rest().chars().next() else {
                return Err(self.violation("a string is cut off"));
            };
            self.at += letter.len_utf8();
            match letter {
                '"' => return Ok(out),
                '\\' => out.push(self.escape()?),
                '\u{0}'..'\u{20}' => return Err(self.violation("a control character in a string")),
                _ => out.push(letter),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Malformed> {
        let letter = self.rest().chars().next();
        let Some(letter) = letter else { return Err(self.violation("a string is cut off")) };
        self.at += letter.len_utf8();
        Ok(match letter {
            '"' | '\\' | '/' => letter,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode(),
            _ => return Err(self.violation("an escape that there is not")),
        })
    }

    fn unicode(&mut self) -> Result<char, Malformed> {
        let first = self.unit()?;
        let number = match first {
            0xd800..0xdc00 => {
                if !self.rest().starts_with("\\u") {
                    return Err(self.violation("half a surrogate pair"));
                }
                self.at += 2;
                let second = self.unit()?;
                if !(0xdc00..0xe000).contains(&second) {
                    return Err(self.violation("half a surrogate pair"));
                }
                0x1_0000 + ((first - 0xd800) << 10 | (second - 0xdc00))
            }
            _ => first,
        };
        char::from_u32(number).ok_or_else(|| self.violation("no character"))
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Result<u32, Malformed> {
        let digits = self.rest().get(..4).filter(|it| it.bytes().all(|it| it.is_ascii_hexdigit()));
        let Some(digits) = digits else { return Err(self.violation("four digits lack")) };
        self.at += 4;
        u32::from_str_radix(digits, 16).map_err(|_| self.violation("four digits lack"))
    }

    /// Octets in hexadecimal digits.
    ///
    /// # Errors
    /// Something else, or an odd number of them.
    pub fn hex(&mut self) -> Result<Vec<u8>, Malformed> {
        let before = *self;
        let digits = self.string()?;
        let digit = |it: u8| char::from(it).to_digit(16).and_then(|it| u8::try_from(it).ok());
        let pair = |it: &[u8]| Some(digit(it[0])? << 4 | digit(*it.get(1)?)?);
        let octets: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(pair).collect();
        octets.ok_or_else(|| before.violation("no pairs of hexadecimal digits"))
    }

    /// Passes over a value of whatever kind.
    ///
    /// # Errors
    /// There is none, or it is too deep.
    pub fn skip(&mut self) -> Result<(), Malformed> {
        let mut open = 0usize;
        loop {
            match self.peek() {
                None => return Err(self.violation("a value is cut off")),
                Some(b'"') => drop(self.string()?),
                Some(b'{' | b'[') => {
                    (self.at, open) = (self.at + 1, open + 1);
                    if open > DEPTH_MAX {
                        return Err(self.violation("too deep"));
                    }
                }
                Some(b'}' | b']') if open > 0 => (self.at, open) = (self.at + 1, open - 1),
                Some(b',' | b':') if open > 0 => self.at += 1,
                Some(_) => self.word()?,
            }
            if open == 0 {
                return Ok(());
            }
        }
    }

    /// `true` or `false`.
    ///
    /// # Errors
    /// Something else.
    pub fn boolean(&mut self) -> Result<bool, Malformed> {
        match self.has("true") {
            true => Ok(true),
            false => self.expect("false", "true or false lacks").map(|()| false),
        }
    }

    /// Calls `each` with the name of every member of an object; it reads the value.
    ///
    /// # Errors
    /// There is no object, and what `each` says.
    pub fn members(
        &mut self,
        mut each: impl FnMut(&mut Self, &str) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        self.expect("{", "an object lacks")?;
        self.items("}", |text| {
            let name = text.string()?;
            text.expect(":", "a colon lacks")?;
            each(text, &name)
        })
    }

    /// Calls `each` at every element of an array; it reads the element.
    ///
    /// # Errors
    /// There is no array, and what `each` says.
    pub fn elements(
        &mut self,
        each: impl FnMut(&mut Self) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        self.expect("[", "an array lacks")?;
        self.items("]", each)
    }

    /// Calls `each` at what stands between commas, up to the bracket.
    pub(super) fn items(
        &mut self,
        bracket: &str,
        mut each: impl FnMut(&mut Self) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        if self.has(bracket) {
            return Ok(());
        }
        loop {
            self.peek();
            each(self)?;
            if self.has(bracket) {
                return Ok(());
            }
            self.expect(",", "a comma lacks")?;
        }
    }

    /// What was read since `from`.
    #[must_use]
    pub fn since(&self, from: usize) -> &'a str {
        &self.text[from.min(self.at)..self.at]
    }

    /// Passes over a number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<(), Malformed> {
        let is_part = |it: &u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'+' | b'.');
        match self.rest().bytes().take_while(is_part).count() {
            0 => Err(self.violation("no value")),
            count => {
                self.at += count;
                Ok(())
            }
        }
    }
}
