//! Who a subscriber is: MSISDN and IMSI, as digits and as MAP has them.

use core::fmt;
use sms::RpAddress;

/// Digits of an E.164 number, at most.
const MSISDN_MAX: usize = 15;
/// Digits of an IMSI.
const IMSI_DIGITS: core::ops::RangeInclusive<usize> = 6..=15;
/// Stands for any digits.
const ANY: &str = "*";
/// Fills the last octet of an odd number of digits.
const FILLER: u8 = 0xf0;

/// An international number, without its plus sign.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Msisdn(String);

/// An IMSI, a subscriber's own or one that correlates.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Imsi(String);

/// A public user identity as it is compared (RFC 3261 §19.1.4, TS 23.003 §13.4): without
/// parameters, scheme and host in lower case, of a `tel:` URI without visual separators.
#[must_use]
pub fn canonical(uri: &str) -> String {
    let bare = uri.split([';', '?']).next().unwrap_or_default();
    let Some((scheme, rest)) = bare.split_once(':') else { return bare.to_owned() };
    let scheme = scheme.to_ascii_lowercase();
    if scheme == "tel" {
        let digits: String = rest.chars().filter(|it| !"-.()".contains(*it)).collect();
        return format!("{scheme}:{}", digits.to_ascii_lowercase());
    }
    match rest.rsplit_once('@') {
        Some((user, host)) => format!("{scheme}:{user}@{}", host.to_ascii_lowercase()),
        None => format!("{scheme}:{}", rest.to_ascii_lowercase()),
    }
}

/// Whether digits begin with one of these; `*` stands for any.
#[must_use]
pub fn begins(digits: &str, with: &[String]) -> bool {
    with.iter().any(|it| it == ANY || digits.starts_with(it))
}

fn are_digits(text: &str) -> bool {
    text.bytes().all(|it| it.is_ascii_digit())
}

fn redacted(name: &str, digits: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{name} …{}", digits.get(digits.len().saturating_sub(2)..).unwrap_or_default())
}

impl Msisdn {
    /// The number of these digits; none if they are none, too many or other characters.
    #[must_use]
    pub fn of(digits: &str) -> Option<Self> {
        let is_number = !digits.is_empty() && digits.len() <= MSISDN_MAX && are_digits(digits);
        is_number.then(|| Self(digits.to_owned()))
    }

    /// The international number that a `tel:` or `sip:` URI is, visual separators taken out.
    #[must_use]
    pub fn of_uri(uri: &str) -> Option<Self> {
        let (scheme, rest) = uri.split_once(':')?;
        let is_known = ["tel", "sip", "sips"].iter().any(|it| scheme.eq_ignore_ascii_case(it));
        let number = rest.strip_prefix('+').filter(|_| is_known)?;
        let number = number.split(['@', ';']).next().unwrap_or_default();
        let digits: String = number.chars().filter(|it| !"-.()".contains(*it)).collect();
        Self::of(&digits)
    }

    /// The number of an AddressString that is international (TS 29.002 §17.7.8).
    #[must_use]
    pub fn of_address_string(octets: &[u8]) -> Option<Self> {
        let address = RpAddress::of(octets).ok()?;
        let is_international = address.number() == sms::TypeOfNumber::International;
        Self::of(&address.text()).filter(|_| is_international)
    }

    /// The AddressString of it.
    #[must_use]
    pub fn address_string(&self) -> RpAddress {
        RpAddress::international(&self.0).unwrap_or_default()
    }

    /// The digits.
    #[must_use]
    pub fn digits(&self) -> &str {
        &self.0
    }
}

impl Imsi {
    /// The IMSI of these digits; none if they are too few, too many or others.
    #[must_use]
    pub fn of(digits: &str) -> Option<Self> {
        (IMSI_DIGITS.contains(&digits.len()) && are_digits(digits)).then(|| Self(digits.to_owned()))
    }

    /// The IMSI of a TBCD string.
    #[must_use]
    pub fn of_tbcd(octets: &[u8]) -> Option<Self> {
        Self::of(&sms::digits(octets).collect::<String>())
    }

    /// The TBCD string of it.
    #[must_use]
    pub fn tbcd(&self) -> Vec<u8> {
        let digits: Vec<u8> = self.0.bytes().map(|it| it & 0xf).collect();
        digits.chunks(2).map(|it| it[0] | it.get(1).map_or(FILLER, |it| it << 4)).collect()
    }

    /// The digits.
    #[must_use]
    pub fn digits(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Msisdn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        redacted("MSISDN", &self.0, f)
    }
}

impl fmt::Debug for Imsi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        redacted("IMSI", &self.0, f)
    }
}

/// Makes IMSIs that correlate a delivery with what was asked before it (TS 23.040 §9.1.2.6): no two
/// are alike until all were given out, and none tells the next.
#[derive(Debug)]
pub struct Correlations {
    /// Mobile country and network code.
    prefix: String,
    /// Digits behind the prefix.
    count: u32,
    hash: machine::KeyedHash,
    given: u64,
    /// This one among as many that give out.
    share: (u64, u64),
}

impl Correlations {
    /// One of `share.1` that give out beneath the same prefix.
    #[must_use]
    pub fn new(prefix: &str, seed: &[u8; 16], share: (u16, u16)) -> Self {
        let count = u32::try_from(15usize.saturating_sub(prefix.len())).unwrap_or_default();
        let share = (u64::from(share.0), u64::from(share.1.max(1)));
        Self {
            prefix: prefix.to_owned(),
            count,
            hash: machine::KeyedHash::new(seed),
            given: 0,
            share,
        }
    }

    /// Gives one out.
    pub fn give(&mut self) -> Imsi {
        let domain = 10u64.pow(self.count);
        let number = (self.given * self.share.1 + self.share.0) % domain;
        self.given = self.given.wrapping_add(1);
        let mut drawn = self.permuted(number);
        while drawn >= domain {
            drawn = self.permuted(drawn);
        }
        Imsi(format!("{}{drawn:0width$}", self.prefix, width = self.count as usize))
    }

    /// A permutation of the numbers below the next power of four (Feistel, four rounds).
    fn permuted(&self, number: u64) -> u64 {
        let bits = 64 - (10u64.pow(self.count) - 1).leading_zeros();
        let half = bits.div_ceil(2);
        let mask = (1u64 << half) - 1;
        let (mut left, mut right) = (number >> half & mask, number & mask);
        for round in 0..4u64 {
            let text = [round.to_le_bytes(), right.to_le_bytes()].concat();
            (left, right) = (right, left ^ self.hash.hash(&text) & mask);
        }
        left << half | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn numbers_are_found_in_uris_and_in_address_strings() {
        for (uri, digits) in [
            ("tel:+44-7700-900123", Some("447700900123")),
            ("sip:+447700900123@ims.example.org;user=phone", Some("447700900123")),
            ("sip:alice@example.org", None),
            ("tel:900123;phone-context=+44", None),
            ("mailto:+44@x", None),
        ] {
            assert_eq!(Msisdn::of_uri(uri).as_ref().map(Msisdn::digits), digits, "{uri}");
        }
        let number = Msisdn::of("447700900123").unwrap();
        let octets = number.address_string();
        assert_eq!(Msisdn::of_address_string(octets.octets()).as_ref(), Some(&number));
        assert_eq!(format!("{number:?}"), "MSISDN …23");
        let imsi = Imsi::of("234150000000123").unwrap();
        assert_eq!(imsi.tbcd(), [0x32, 0x14, 0x05, 0x00, 0x00, 0x00, 0x21, 0xf3]);
        assert_eq!(Imsi::of_tbcd(&imsi.tbcd()), Some(imsi));
    }

    #[test]
    fn identities_are_compared_without_parameters_and_the_case_of_the_host() {
        for (one, other) in [
            ("sip:+44@X;user=phone", "SIP:+44@x"),
            ("sip:a@X.example:5060", "sip:a@x.EXAMPLE:5060"),
            ("tel:+44-77(00)", "tel:+447700"),
            ("sip:a@x?h=1", "sip:a@x"),
        ] {
            assert_eq!(canonical(one), canonical(other));
        }
        for (one, other) in [("sip:A@x", "sip:a@x"), ("sip:a@x", "sips:a@x"), ("tel:+4", "tel:4")] {
            assert_ne!(canonical(one), canonical(other));
        }
    }

    #[test]
    fn correlation_imsis_are_not_given_twice_nor_by_two() {
        let mut all = HashSet::new();
        for shard in 0..3 {
            let mut given = Correlations::new("23415000000", &[7; 16], (shard, 3));
            for _ in 0..3_000 {
                let imsi = given.give();
                assert!(imsi.digits().len() == 15 && imsi.digits().starts_with("23415"));
                assert!(all.insert(imsi));
            }
        }
    }
}
