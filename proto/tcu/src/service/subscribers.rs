//! The subscribers of an HLR, as a file of comma-separated values has them.

/// Digits of a number: E.164 and E.212 have fifteen at most.
const DIGITS_MAX: usize = 15;
/// The first octet of an ISDN-AddressString: no extension, international, E.164 (TS 29.002
/// §17.7.8).
const INTERNATIONAL: u8 = 0x91;
/// The columns of a file, in any order; those of `REQUIRED` have something in each line.
const COLUMNS: [&str; 4] = ["msisdn", "imsi", "msc", "msrn"];
const REQUIRED: usize = 2;

/// Digits, four bits each as TBCD-STRING has them: the first in the lowest, 1111 behind the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Number(u64);

impl Number {
    const NONE: Self = Self(u64::MAX);

    fn parse(text: &str) -> Option<Self> {
        if text.len() > DIGITS_MAX {
            return None;
        }
        let mut number = u64::MAX;
        for (place, octet) in text.bytes().enumerate() {
            let digit = octet.is_ascii_digit().then(|| u64::from(octet - b'0'))?;
            number &= !((0xf ^ digit) << (4 * place));
        }
        Some(Self(number))
    }

    /// The number of an ISDN-AddressString, whatever its nature of address says.
    pub(super) fn of_isdn(octets: &[u8]) -> Option<Self> {
        let digits = octets.get(1..).filter(|it| it.len() <= DIGITS_MAX.div_ceil(2))?;
        let mut number = [0xff; 8];
        number.get_mut(..digits.len())?.copy_from_slice(digits);
        Some(Self(u64::from_le_bytes(number)))
    }

    /// Its TBCD-STRING, with the first octet of an ISDN-AddressString before it.
    fn octets(self) -> ([u8; 9], usize) {
        let mut octets = [INTERNATIONAL; 9];
        octets[1..].copy_from_slice(&self.0.to_le_bytes());
        let length = octets.iter().rposition(|it| *it != 0xff).map_or(0, |at| at + 1);
        (octets, length)
    }

    /// Calls `write` with its TBCD-STRING.
    pub(super) fn as_tbcd(self, write: impl FnOnce(&[u8])) {
        let (octets, length) = self.octets();
        write(octets.get(1..length).unwrap_or_default());
    }

    /// Calls `write` with its ISDN-AddressString, international and E.164.
    pub(super) fn as_isdn(self, write: impl FnOnce(&[u8])) {
        let (octets, length) = self.octets();
        write(octets.get(..length).unwrap_or_default());
    }
}

/// What an HLR knows of a subscriber beside the MSISDN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Subscriber {
    imsi: Number,
    msc: Number,
    msrn: Number,
}

impl Subscriber {
    pub(super) const fn imsi(&self) -> Number {
        self.imsi
    }

    /// Where short messages go; none: the subscriber is absent.
    pub(super) fn msc(&self) -> Option<Number> {
        Some(self.msc).filter(|it| *it != Number::NONE)
    }

    /// Where calls go; none: the subscriber is absent.
    pub(super) fn msrn(&self) -> Option<Number> {
        Some(self.msrn).filter(|it| *it != Number::NONE)
    }
}

/// Subscribers by MSISDN.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Subscribers(Box<[(Number, Subscriber)]>);

/// What is wrong with a file of subscribers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable {
    /// Its line, from 1 on.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
}

impl Subscribers {
    /// Those of a text: a line with the names of its columns (`msisdn,imsi,msc,msrn`, others are
    /// skipped), then a line for each. Numbers are international and without a plus; without an
    /// `msc` nobody is reached by short messages, without an `msrn` nobody by calls.
    ///
    /// # Errors
    /// The first line that cannot be used.
    pub fn parse(text: &str) -> Result<Self, Unusable> {
        let mut lines = text.lines().enumerate().map(|(n, text)| (n + 1, text.trim_end()));
        let lacks = |line, what: String| Unusable { line, what };
        let (_, head) = lines.next().ok_or_else(|| lacks(1, "it is empty".into()))?;
        let names: Vec<&str> = head.split(',').map(str::trim).collect();
        let places = COLUMNS.map(|name| names.iter().position(|it| *it == name));
        if let Some(at) = places.iter().take(REQUIRED).position(Option::is_none) {
            return Err(lacks(1, format!("there is no column `{}`", COLUMNS[at])));
        }
        let mut rows: Vec<(Number, Subscriber, usize)> = Vec::new();
        for (line, text) in lines.filter(|it| !it.1.is_empty()) {
            let cells: Vec<&str> = text.split(',').map(str::trim).collect();
            if cells.len() != names.len() {
                let (has, want) = (cells.len(), names.len());
                return Err(lacks(line, format!("it has {has} columns, the first line {want}")));
            }
            let number = |column: usize| {
                let text = places[column].and_then(|at| cells.get(at)).copied().unwrap_or("");
                let number = Number::parse(text).filter(|_| column >= REQUIRED || !text.is_empty());
                let name = COLUMNS[column];
                let what = format!("{name}: `{text}` is no number of 1 to {DIGITS_MAX} digits");
                number.ok_or_else(|| lacks(line, what))
            };
            let (msisdn, imsi) = (number(0)?, number(1)?);
            rows.push((msisdn, Subscriber { imsi, msc: number(2)?, msrn: number(3)? }, line));
        }
        rows.sort_by_key(|it| (it.0, it.2));
        if let Some(pair) = rows.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let what = format!("line {} has the same msisdn", pair[0].2);
            return Err(lacks(pair[1].2, what));
        }
        Ok(Self(rows.into_iter().map(|it| (it.0, it.1)).collect()))
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn of(&self, msisdn: Number) -> Option<&Subscriber> {
        let at = self.0.binary_search_by_key(&msisdn, |it| it.0).ok()?;
        self.0.get(at).map(|it| &it.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_the_octets_of_its_string() {
        for (text, octets) in [
            ("447700900123", &[0x91, 0x44, 0x77, 0x00, 0x09, 0x10, 0x32][..]),
            ("234150000000123", &[0x91, 0x32, 0x14, 0x05, 0x00, 0x00, 0x00, 0x21, 0xf3]),
            ("7", &[0x91, 0xf7]),
        ] {
            let number = Number::parse(text).unwrap();
            number.as_isdn(|it| assert_eq!(it, octets));
            number.as_tbcd(|it| assert_eq!(it, &octets[1..]));
            assert_eq!(Number::of_isdn(octets), Some(number));
        }
        assert_eq!(Number::of_isdn(&[]), None);
        assert_eq!(Number::of_isdn(&[0x91; 10]), None);
        assert_eq!(Number::parse("1234567890123456"), None);
    }

    #[test]
    fn columns_stand_in_any_order_and_what_is_empty_is_absent() {
        let text = "imsi,name,msisdn,msc\n234150000000001,Ada,447700900001,447700000001\n\
                    234150000000002,Bob,447700900002,\n\n";
        let all = Subscribers::parse(text).unwrap();
        let of = |text: &str| all.of(Number::parse(text).unwrap()).copied();
        let ada = of("447700900001").unwrap();
        assert_eq!((ada.msc(), ada.msrn()), (Number::parse("447700000001"), None));
        assert_eq!(of("447700900002").unwrap().msc(), None);
        assert_eq!((of("447700900003"), all.len()), (None, 2));
    }

    #[test]
    fn the_first_line_that_cannot_be_used_is_told() {
        for (text, line, what) in [
            ("", 1, "it is empty"),
            ("msisdn,msc\n", 1, "no column `imsi`"),
            ("msisdn,imsi\n1,2\n3\n", 3, "it has 1 columns, the first line 2"),
            ("msisdn,imsi\n+44,2\n", 2, "msisdn: `+44` is no number"),
            ("msisdn,imsi\n,2\n", 2, "msisdn: `` is no number"),
            ("msisdn,imsi\n5,2\n1,2\n5,3\n", 4, "line 2 has the same msisdn"),
        ] {
            let it = Subscribers::parse(text).unwrap_err();
            assert!(it.line == line && it.what.contains(what), "{text:?}: {it:?}");
        }
    }
}
