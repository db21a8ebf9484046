//! What a value becomes on its way into a message, or out of one: `{msisdn|isdn}`.

use serde_json::Value;

/// Octets of a USSD string in seven bits, at most (TS 23.038 §6.1.2.3).
const GSM7_OCTETS_MAX: usize = 160;
/// An international number of E.164: the first octet of an ISDN-AddressString (TS 29.002 §17.7.8).
const INTERNATIONAL: &str = "91";
/// Fill of seven bits at the end of an octet: a carriage return (TS 23.038 §6.1.2.3.1).
const FILL: u8 = b'\r';

/// All by name, and what each does.
pub(crate) const FILTERS: [(&str, &str); 11] = [
    ("isdn", "digits as an ISDN-AddressString, international E.164"),
    ("number", "the digits of an ISDN-AddressString"),
    ("tbcd", "digits as a TBCD-STRING: an IMSI"),
    ("digits", "the digits of a TBCD-STRING"),
    ("gsm7", "text in the default alphabet, seven bits packed: a USSD string"),
    ("from_gsm7", "the text of those"),
    ("utf8", "the octets of a text"),
    ("int", "a number, where the value is its digits"),
    ("hex:N", "a number as so many hexadecimal digits"),
    ("from_hex", "the number that hexadecimal digits are"),
    ("pad:N", "zeros in front up to so many characters"),
];

/// One.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filter {
    Isdn,
    Number,
    Tbcd,
    Digits,
    Gsm7,
    FromGsm7,
    Utf8,
    Int,
    Hex(usize),
    FromHex,
    Pad(usize),
}

impl Filter {
    /// That of a name, with its number behind a colon.
    pub(crate) fn named(word: &str) -> Option<Self> {
        let (name, size) = word.split_once(':').unwrap_or((word, ""));
        let size = || size.parse().ok().filter(|it| (1..=64).contains(it));
        Some(match name {
            "isdn" => Self::Isdn,
            "number" => Self::Number,
            "tbcd" => Self::Tbcd,
            "digits" => Self::Digits,
            "gsm7" => Self::Gsm7,
            "from_gsm7" => Self::FromGsm7,
            "utf8" => Self::Utf8,
            "int" => Self::Int,
            "hex" => Self::Hex(size()?),
            "from_hex" => Self::FromHex,
            "pad" => Self::Pad(size()?),
            _ => return None,
        })
    }

    /// What a value becomes; none: it is none of which that can be made.
    pub(crate) fn apply(self, value: &Value) -> Option<Value> {
        let text = text_of(value);
        Some(match self {
            Self::Isdn => Value::String(format!("{INTERNATIONAL}{}", tbcd(&text)?)),
            Self::Number => Value::String(untbcd(text.get(2..)?)?),
            Self::Tbcd => Value::String(tbcd(&text)?),
            Self::Digits => Value::String(untbcd(&text)?),
            Self::Gsm7 => Value::String(hex(&pack(&text)?)),
            Self::FromGsm7 => Value::String(unpack(&octets(&text)?)),
            Self::Utf8 => Value::String(hex(text.as_bytes())),
            Self::Int => Value::from(text.trim().parse::<i64>().ok()?),
            Self::Hex(size) => Value::String(format!("{:0size$x}", text.parse::<u64>().ok()?)),
            Self::FromHex => Value::from(u64::from_str_radix(&text, 16).ok()?),
            Self::Pad(size) => Value::String(format!("{text:0>size$}")),
        })
    }
}

/// A value as text.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Digits, each pair turned round, filled with `f` (TS 29.002 §17.7.8).
fn tbcd(digits: &str) -> Option<String> {
    let digits = digits.strip_prefix('+').unwrap_or(digits).as_bytes();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let turned = digits.chunks(2).flat_map(|pair| match *pair {
        [first, second] => [char::from(second), char::from(first)],
        [first, ..] => ['f', char::from(first)],
        [] => ['f', 'f'],
    });
    Some(turned.collect())
}

fn untbcd(octets: &str) -> Option<String> {
    let octets = octets.as_bytes();
    if !octets.len().is_multiple_of(2) || !octets.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let digits = octets.chunks(2).flat_map(|pair| [char::from(pair[1]), char::from(pair[0])]);
    Some(digits.filter(|it| !matches!(it, 'f' | 'F')).collect())
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|it| format!("{it:02x}")).collect()
}

fn octets(text: &str) -> Option<Vec<u8>> {
    msu::sccp::hex(text)
}

/// Letters that the default alphabet has where ASCII has them, or elsewhere.
fn septet(letter: char) -> Option<u8> {
    match letter {
        '@' => Some(0),
        '$' => Some(2),
        '_' => Some(0x11),
        '\n' | '\r' | ' '..='#' | '%'..='?' | 'A'..='Z' | 'a'..='z' => u8::try_from(letter).ok(),
        _ => None,
    }
}

fn pack(text: &str) -> Option<Vec<u8>> {
    let septets: Option<Vec<u8>> = text.chars().map(septet).collect();
    let mut septets = septets?;
    // Seven bits that are left would be read as a letter.
    if septets.len() % 8 == 7 {
        septets.push(FILL);
    }
    let (mut out, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for septet in septets {
        bits |= u32::from(septet) << count;
        count += 7;
        if count >= 8 {
            out.extend(bits.to_le_bytes().first());
            (bits, count) = (bits >> 8, count - 8);
        }
    }
    if count > 0 {
        out.extend(bits.to_le_bytes().first());
    }
    (!out.is_empty() && out.len() <= GSM7_OCTETS_MAX).then_some(out)
}

fn unpack(octets: &[u8]) -> String {
    let (mut text, mut bits, mut count) = (String::new(), 0u32, 0);
    for octet in octets {
        bits |= u32::from(*octet) << count;
        count += 8;
        while count >= 7 {
            text.push(match (bits & 0x7f) as u8 {
                0 => '@',
                2 => '$',
                0x11 => '_',
                other => char::from(other),
            });
            (bits, count) = (bits >> 7, count - 7);
        }
    }
    if text.len().is_multiple_of(8) && text.ends_with('\r') {
        text.pop();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn becomes(value: &str, words: &[&str]) -> Option<String> {
        let mut value = Value::String(value.to_owned());
        for word in words {
            value = Filter::named(word)?.apply(&value)?;
        }
        Some(value.to_string())
    }

    #[test]
    fn each_becomes_what_its_name_says_and_back() {
        let cases = [
            ("447700900123", vec!["isdn"], Some("\"91447700091032\"")),
            ("+44770090012", vec!["isdn"], Some("\"914477000910f2\"")),
            ("914477000921f3", vec!["number"], Some("\"44770090123\"")),
            ("234150000000123", vec!["tbcd"], Some("\"32140500000021f3\"")),
            ("32140500000021f3", vec!["digits"], Some("\"234150000000123\"")),
            ("1234567", vec!["gsm7"], Some("\"31d98c56b3dd1a\"")),
            ("1 Balance", vec!["gsm7", "from_gsm7"], Some("\"1 Balance\"")),
            ("1234567", vec!["gsm7", "from_gsm7"], Some("\"1234567\"")),
            ("12", vec!["int"], Some("12")),
            ("600", vec!["hex:4"], Some("\"0258\"")),
            ("0258", vec!["from_hex"], Some("600")),
            ("7", vec!["pad:3"], Some("\"007\"")),
            ("Hi", vec!["utf8"], Some("\"4869\"")),
            ("4a", vec!["tbcd"], None),
            ("x", vec!["int"], None),
            ("x", vec!["nothing"], None),
            ("1", vec!["hex"], None),
        ];
        for (value, words, is) in cases {
            assert_eq!(becomes(value, &words).as_deref(), is, "{value} {words:?}");
        }
    }
}
