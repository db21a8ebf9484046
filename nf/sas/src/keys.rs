//! The keys trails are found by, and what a person types turned into ranges of them.
//!
//! A number is its last 16 digits, four bits a digit, once from the end (`+49 30 1234` and
//! `0301234` share their ends) and once from the beginning; a range of such values is all numbers
//! with that end, or that beginning. Everything else is a hash.

use crate::media;
use crate::trail::{Kind, Trail};
use std::net::{IpAddr, SocketAddr};
use store::{Key, KeyRange};
use xxhash_rust::xxh3::xxh3_64;

/// Hash of a Call-ID.
pub const CALL_ID: u8 = 0;
/// Digits from the end.
pub const NUMBER_END: u8 = 1;
/// Digits from the beginning.
pub const NUMBER: u8 = 2;
/// Hash of a user, or of `user@host`, both in small letters.
pub const NAME: u8 = 3;
/// Hash of an IP address, or of an address with its port.
pub const ADDRESS: u8 = 4;
/// The trail's own number.
pub const ID: u8 = 5;
// 6 is what its media were like: `media/key.rs`.

/// Digits of a number that count.
const DIGITS_MAX: usize = 16;
/// Digits a number must have to be tried without its country code.
const INTERNATIONAL_DIGITS_MIN: usize = 8;

/// Four bits a digit, the first one highest; absent digits are zero.
fn packed(digits: impl Iterator<Item = u8>) -> (u64, u32) {
    let (mut value, mut shift) = (0u64, 64u32);
    for digit in digits.take(DIGITS_MAX) {
        shift -= 4;
        value |= u64::from(digit - b'0' + 1) << shift;
    }
    (value, shift)
}

/// All numbers that go on after these digits in any way.
fn open_range(class: u8, digits: impl Iterator<Item = u8>) -> KeyRange {
    let (low, shift) = packed(digits);
    let rest = if shift == 64 { u64::MAX } else { (1u64 << shift) - 1 };
    KeyRange { class, low, high: low | rest }
}

fn hash(class: u8, text: &[u8]) -> Key {
    Key { class, value: xxh3_64(text) }
}

fn hash_lower(class: u8, text: &[u8]) -> Key {
    hash(class, &text.to_ascii_lowercase())
}

/// Adds the key of a Call-ID.
pub fn add_call_id(keys: &mut Vec<Key>, id: &[u8]) {
    add(keys, call_id(id));
}

/// Adds a key once; one more than a record may have is left out.
fn add(keys: &mut Vec<Key>, key: Key) {
    if !keys.contains(&key) && keys.len() < store::KEYS_MAX {
        keys.push(key);
    }
}

/// Everything that a trail's summary can be found by.
#[must_use]
pub fn of(trail: &Trail) -> Vec<Key> {
    let mut keys = vec![Key { class: ID, value: trail.id }];
    for id in &trail.call_ids {
        add(&mut keys, call_id(id.as_bytes()));
    }
    if trail.kind == Kind::Session {
        add_name(&mut keys, &trail.from);
    }
    if trail.kind == Kind::Dialogue {
        for text in [&trail.from, &trail.to, &trail.subscriber] {
            match text.bytes().all(|octet| octet.is_ascii_digit()) {
                true => add_digits(&mut keys, text),
                false => add_name(&mut keys, text),
            }
        }
    }
    add_uri(&mut keys, trail.from.as_bytes());
    add_uri(&mut keys, trail.to.as_bytes());
    for host in &trail.hosts {
        add_address(&mut keys, *host);
    }
    media::add_keys(&mut keys, &trail.media);
    keys
}

/// The key of a Call-ID.
#[must_use]
pub fn call_id(call_id: &[u8]) -> Key {
    hash(CALL_ID, call_id)
}

/// Adds the keys of an address: with and without port.
pub fn add_address(keys: &mut Vec<Key>, address: SocketAddr) {
    add(keys, address_key(address));
    add(keys, ip_key(address.ip()));
}

fn address_key(address: SocketAddr) -> Key {
    let mut text = Vec::with_capacity(20);
    crate::entry::push_address(&mut text, address);
    hash(ADDRESS, &text)
}

fn ip_key(ip: IpAddr) -> Key {
    match ip {
        IpAddr::V4(ip) => hash(ADDRESS, &ip.octets()),
        IpAddr::V6(ip) => hash(ADDRESS, &ip.octets()),
    }
}

/// Adds the keys of a URI: its number if it has one, else its user; and `user@host`.
pub fn add_uri(keys: &mut Vec<Key>, uri: &[u8]) {
    let Ok(uri) = sip::Uri::parse(uri) else { return };
    let user = uri.user.unwrap_or_default().split(|&b| b == b';').next().unwrap_or_default();
    if user.is_empty() {
        return;
    }
    if let Some(digits) = number(user) {
        add_number(keys, &digits);
    } else {
        add(keys, hash_lower(NAME, user));
    }
    if uri.scheme != sip::Scheme::Tel {
        add(keys, name_at_host(user, uri.host));
    }
}

fn add_number(keys: &mut Vec<Key>, digits: &[u8]) {
    add(keys, Key { class: NUMBER_END, value: packed(digits.iter().rev().copied()).0 });
    add(keys, Key { class: NUMBER, value: packed(digits.iter().copied()).0 });
}

/// Adds the keys of a number that stands by itself: of a subscriber, of a global title.
pub fn add_digits(keys: &mut Vec<Key>, digits: &str) {
    match number(digits.as_bytes()) {
        Some(digits) => add_number(keys, &digits),
        // A title may have digits beyond nine.
        None => add_name(keys, digits),
    }
}

/// Adds the key of the name of a peer.
pub fn add_name(keys: &mut Vec<Key>, name: &str) {
    if !name.is_empty() {
        add(keys, hash_lower(NAME, name.as_bytes()));
    }
}

fn name_at_host(user: &[u8], host: &[u8]) -> Key {
    let mut text = user.to_ascii_lowercase();
    text.push(b'@');
    text.extend(host.iter().map(u8::to_ascii_lowercase));
    hash(NAME, &text)
}

/// The digits of what looks like a telephone number; visual separators are left out.
fn number(text: &[u8]) -> Option<Vec<u8>> {
    let rest = text.strip_prefix(b"+").unwrap_or(text);
    let digits: Vec<u8> = rest.iter().copied().filter(u8::is_ascii_digit).collect();
    let other = rest.iter().all(|b| b.is_ascii_digit() || b" -.()/".contains(b));
    (other && !digits.is_empty()).then_some(digits)
}

/// Ranges for a number as a person types it: `0301234`, `+49 30 1234`, `4930*`, `*1234`.
///
/// Without a star every number with that end matches, whatever prefixes either side has. `None`
/// when it is not a number.
#[must_use]
pub fn number_ranges(text: &str) -> Option<Vec<KeyRange>> {
    let text = text.trim();
    if let Some(start) = text.strip_suffix('*') {
        let digits = number(start.as_bytes())?;
        return Some(vec![open_range(NUMBER, digits.into_iter())]);
    }
    let typed = text.strip_prefix('*').unwrap_or(text);
    let digits = number(typed.as_bytes())?;
    let international = typed.starts_with('+') || digits.starts_with(b"00");
    let bare = digits.strip_prefix(b"00").or_else(|| digits.strip_prefix(b"0")).unwrap_or(&digits);
    let bare = if bare.is_empty() || text.starts_with('*') { &digits[..] } else { bare };
    let mut ranges = vec![open_range(NUMBER_END, bare.iter().rev().copied())];
    if international && bare.len() >= INTERNATIONAL_DIGITS_MIN {
        // Stored as a national number: the country code gives way to the trunk prefix 0.
        for country in 1..=3 {
            let national = bare[country..].iter().rev().copied().chain([b'0']);
            let (value, _) = packed(national);
            ranges.push(KeyRange::exactly(NUMBER_END, value));
        }
    }
    Some(ranges)
}

/// Ranges for an address with or without port; `None` when it is neither.
#[must_use]
pub fn address_ranges(text: &str) -> Option<Vec<KeyRange>> {
    let text = text.trim();
    let key = match text.parse::<SocketAddr>() {
        Ok(address) => address_key(address),
        Err(_) => ip_key(text.trim_matches(['[', ']']).parse().ok()?),
    };
    Some(vec![KeyRange::exactly(ADDRESS, key.value)])
}

/// Ranges for a Call-ID.
#[must_use]
pub fn call_id_ranges(text: &str) -> Vec<KeyRange> {
    vec![KeyRange::exactly(CALL_ID, call_id(text.trim().as_bytes()).value)]
}

/// Ranges for a trail's number.
#[must_use]
pub fn id_ranges(id: u64) -> Vec<KeyRange> {
    vec![KeyRange::exactly(ID, id)]
}

/// Ranges for a name or URI: `alice`, `alice@example.org`, `sip:alice@example.org`, `tel:+49…`.
#[must_use]
pub fn name_ranges(text: &str) -> Vec<KeyRange> {
    let text = text.trim().trim_matches(['<', '>']);
    let bare = ["sip:", "sips:", "tel:"].iter().find_map(|scheme| text.strip_prefix(scheme));
    let bare = bare.unwrap_or(text);
    let bare = bare.split([';', '?']).next().unwrap_or_default();
    let key = match bare.split_once('@') {
        Some((user, host)) => {
            let host = host
                .rsplit_once(':')
                .map_or(host, |(name, port)| if port.parse::<u16>().is_ok() { name } else { host });
            name_at_host(user.as_bytes(), host.as_bytes())
        }
        None => hash_lower(NAME, bare.as_bytes()),
    };
    let mut ranges = vec![KeyRange::exactly(NAME, key.value)];
    if !bare.contains('@') {
        ranges.extend(number_ranges(bare).unwrap_or_default());
    }
    ranges
}

/// Ranges for free text: whatever it may be.
#[must_use]
pub fn text_ranges(text: &str) -> Vec<KeyRange> {
    let mut ranges = call_id_ranges(text);
    ranges.extend(address_ranges(text).unwrap_or_default());
    ranges.extend(number_ranges(text).unwrap_or_default());
    ranges.extend(name_ranges(text));
    if let Some(id) = Trail::parse_id(text.trim()) {
        ranges.extend(id_ranges(id));
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(typed: &str, uri: &str) -> bool {
        let mut keys = Vec::new();
        add_uri(&mut keys, uri.as_bytes());
        text_ranges(typed).iter().any(|range| {
            keys.iter()
                .any(|k| k.class == range.class && (range.low..=range.high).contains(&k.value))
        })
    }

    #[test]
    fn a_number_is_found_by_its_digits_with_or_without_prefix() {
        let stored = "sip:+49301234567@example.org;user=phone";
        for typed in [
            "+49301234567",
            "0049301234567",
            "0301234567",
            "+49 (30) 123-4567",
            "1234567",
            "567",
            "4930*",
            "+4930*",
            "*4567",
            "sip:+49301234567@example.org",
            "tel:+49301234567",
        ] {
            assert!(finds(typed, stored), "{typed}");
        }
        for typed in ["0301234568", "30*", "49301234", "alice", "sip:+49301234567@example.com"] {
            assert!(!finds(typed, stored), "{typed}");
        }
        // Typed with a country code, stored without.
        assert!(finds("+49301234567", "sip:0301234567@example.org"));
        assert!(finds("+49301234567", "tel:030-1234567;phone-context=+49"));
    }

    #[test]
    fn a_name_is_found_with_and_without_its_host_in_any_case() {
        for typed in ["alice", "ALICE", "alice@Example.org", "<sip:alice@example.org:5060;lr>"] {
            assert!(finds(typed, "sip:Alice@example.org:5080"), "{typed}");
        }
        assert!(!finds("alice@example.com", "sip:alice@example.org"));
        assert!(!finds("bob", "sip:alice@example.org"));
    }

    #[test]
    fn an_address_is_found_with_and_without_its_port() {
        for (address, typed) in [
            ("192.0.2.1:5060", "192.0.2.1"),
            ("192.0.2.1:5060", "192.0.2.1:5060"),
            ("[2001:db8::1]:5060", "2001:db8::1"),
            ("[2001:db8::1]:5060", "[2001:db8::1]:5060"),
        ] {
            let mut keys = Vec::new();
            add_address(&mut keys, address.parse().unwrap());
            let range = address_ranges(typed).unwrap()[0];
            assert!(keys.iter().any(|k| k.value == range.low), "{typed}");
        }
        assert_eq!(address_ranges("alice"), None);
    }
}
