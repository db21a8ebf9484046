//! Keys of packets, as they stand in files: a line each.

use crate::around::Protocol;
use ospf::Authentication;
use ospf::packet::{Algorithm, AuthenticationKey};
use std::collections::BTreeMap;
use std::fmt;
use zeroize::Zeroizing;

/// Algorithms of OSPF by their names (RFC 2328 §D, RFC 5709).
const OF_OSPF: [(&str, Algorithm); 5] = [
    ("md5", Algorithm::Md5),
    ("hmac-sha-1", Algorithm::HmacSha1),
    ("hmac-sha-256", Algorithm::HmacSha256),
    ("hmac-sha-384", Algorithm::HmacSha384),
    ("hmac-sha-512", Algorithm::HmacSha512),
];
/// Algorithms of IS-IS by their names (RFC 5304, RFC 5310).
const OF_ISIS: [(&str, isis::pdu::Algorithm); 6] = [
    ("hmac-md5", isis::pdu::Algorithm::HmacMd5),
    ("hmac-sha-1", isis::pdu::Algorithm::HmacSha1),
    ("hmac-sha-224", isis::pdu::Algorithm::HmacSha224),
    ("hmac-sha-256", isis::pdu::Algorithm::HmacSha256),
    ("hmac-sha-384", isis::pdu::Algorithm::HmacSha384),
    ("hmac-sha-512", isis::pdu::Algorithm::HmacSha512),
];
/// Keys of a file at most.
const KEYS_MAX: usize = 16;
/// Octets of a secret at most.
const SECRET_OCTETS_MAX: usize = 254;

/// Octets of a password at most (RFC 2328 §D.4.2; ISO 10589 §9).
const fn password_octets_max(of: Protocol) -> usize {
    match of {
        Protocol::Ospf => 8,
        Protocol::Isis => 254,
    }
}

/// Keys by the files that hold them, as the section names these.
pub type KeyChains = BTreeMap<String, KeyChain>;

/// A key of digests: number, algorithm, secret.
pub type Key = (u16, &'static str, Zeroizing<String>);

/// What authenticates packets of BFD.
pub use bfd::Authentication as BfdAuthentication;

/// Keys of BFD by the files that hold them.
pub type BfdKeys = BTreeMap<String, bfd::Authentication>;

/// Algorithms of BFD by their names (RFC 5880 §6.7).
const OF_BFD: [(&str, bfd::AuthType); 4] = [
    ("md5", bfd::AuthType::KeyedMd5),
    ("meticulous-md5", bfd::AuthType::MeticulousKeyedMd5),
    ("sha1", bfd::AuthType::KeyedSha1),
    ("meticulous-sha1", bfd::AuthType::MeticulousKeyedSha1),
];

/// Reads the text of a file of keys of BFD, as [`KeyChain::read`] reads others; all its keys are of
/// one algorithm.
///
/// # Errors
/// The line that cannot be, and why; no secret is told.
pub fn bfd_keys(text: &str) -> Result<bfd::Authentication, String> {
    let said = said(text);
    let (mut keys, mut of) = (Vec::new(), None);
    for (line, words) in &said {
        let key = bfd_key(words, said.len()).map_err(|why| format!("line {line}: {why}"))?;
        let (kind, key) = key;
        if *of.get_or_insert(kind) != kind {
            return Err(format!("line {line}: all keys of a file are of one algorithm"));
        }
        if keys.iter().any(|known: &bfd::Key| known.id() == key.id()) {
            return Err(format!("line {line}: key {} stands twice", key.id()));
        }
        keys.push(key);
    }
    let made = of.and_then(|kind| bfd::Authentication::new(kind, keys));
    made.ok_or_else(|| "it holds no key, or more than 8".to_owned())
}

fn bfd_key(words: &[&str], lines: usize) -> Result<(bfd::AuthType, bfd::Key), String> {
    let (id, kind, secret) = match *words {
        ["password", secret] if lines == 1 => ("1", bfd::AuthType::SimplePassword, secret),
        ["password", _] => return Err("a password stands alone in its file".to_owned()),
        [id, algorithm, secret] => {
            let found = OF_BFD.iter().find(|(name, _)| *name == algorithm).ok_or_else(|| {
                let names = OF_BFD.iter().map(|it| it.0);
                let hint = config::meant(algorithm, names, "use `meticulous-sha1`");
                format!("`{algorithm}` is no algorithm of BFD: {hint}")
            })?;
            (id, found.1, secret)
        }
        _ => return Err("write `ID ALGORITHM SECRET`".to_owned()),
    };
    let id = id.parse().map_err(|_| "the number of a key is 0 to 255".to_owned())?;
    let key = bfd::Key::new(kind, id, secret.as_bytes());
    let why = || "a secret has 20 octets at most, of md5 and passwords 16".to_owned();
    Ok((kind, key.ok_or_else(why)?))
}

/// Lines that say something, with their numbers.
fn said(text: &str) -> Vec<(usize, Vec<&str>)> {
    let lines = text.lines().enumerate();
    lines
        .map(|(n, line)| (n + 1, line.split_whitespace().collect::<Vec<_>>()))
        .filter(|(_, words)| words.first().is_some_and(|word| !word.starts_with('#')))
        .collect()
}

/// The keys of a file. `Debug` does not show them.
#[derive(Clone, PartialEq, Eq)]
pub enum KeyChain {
    /// A password in clear.
    Password(Zeroizing<String>),
    /// Keys of digests, the one that is sent with first.
    Keys(Vec<Key>),
}

impl fmt::Debug for KeyChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Password(_) => f.write_str("a password"),
            Self::Keys(keys) => write!(f, "{} keys", keys.len()),
        }
    }
}

impl KeyChain {
    /// Reads the text of a file of a protocol; empty lines and those that begin with `#` say
    /// nothing.
    ///
    /// # Errors
    /// The line that cannot be, and why; no secret is told.
    pub fn read(of: Protocol, text: &str) -> Result<Self, String> {
        let mut keys: Vec<Key> = Vec::new();
        let said = said(text);
        for (line, words) in &said {
            match words[..] {
                ["password", secret] if said.len() == 1 => {
                    let most = password_octets_max(of);
                    let fits = secret.len() <= most;
                    let password = Self::Password(Zeroizing::new(secret.to_owned()));
                    let why = format!("line {line}: a password has {most} octets at most");
                    return fits.then_some(password).ok_or(why);
                }
                ["password", _] => {
                    return Err(format!("line {line}: a password stands alone in its file"));
                }
                [id, algorithm, secret] => {
                    let key = key(of, id, algorithm, secret);
                    let key = key.map_err(|why| format!("line {line}: {why}"))?;
                    if keys.iter().any(|known| known.0 == key.0) {
                        return Err(format!("line {line}: key {} stands twice", key.0));
                    }
                    keys.push(key);
                }
                _ => return Err(format!("line {line}: write `ID ALGORITHM SECRET`")),
            }
        }
        match keys.len() {
            0 => Err("it holds no key".to_owned()),
            count if count > KEYS_MAX => Err(format!("more than {KEYS_MAX} keys")),
            _ => Ok(Self::Keys(keys)),
        }
    }

    /// As OSPF has them.
    #[must_use]
    pub fn of_ospf(&self) -> Authentication {
        let made = match self {
            Self::Password(secret) => Authentication::simple(secret.as_bytes()),
            Self::Keys(keys) => {
                let keys = keys.iter().filter_map(|(id, algorithm, secret)| {
                    let algorithm = OF_OSPF.iter().find(|(name, _)| name == algorithm)?.1;
                    let id = u8::try_from(*id).ok()?;
                    AuthenticationKey::new(id, algorithm, secret.as_bytes())
                });
                Authentication::cryptographic(keys.collect())
            }
        };
        // What was read can be made; a proof that nobody has lets nobody in otherwise.
        made.unwrap_or(Authentication::Cryptographic(Vec::new()))
    }

    /// As IS-IS has them.
    #[must_use]
    pub fn of_isis(&self) -> isis::Authentication {
        match self {
            Self::Password(secret) => {
                isis::Authentication::Password(Zeroizing::new(secret.as_bytes().to_vec()))
            }
            Self::Keys(keys) => {
                let keys = keys.iter().filter_map(|(id, algorithm, secret)| {
                    let algorithm = OF_ISIS.iter().find(|(name, _)| name == algorithm)?.1;
                    isis::pdu::AuthenticationKey::new(*id, algorithm, secret.as_bytes())
                });
                isis::Authentication::Cryptographic(keys.collect())
            }
        }
    }
}

fn key(of: Protocol, id: &str, algorithm: &str, secret: &str) -> Result<Key, String> {
    let (most, names): (u16, Vec<&'static str>) = match of {
        Protocol::Ospf => (u8::MAX.into(), OF_OSPF.iter().map(|it| it.0).collect()),
        Protocol::Isis => (u16::MAX, OF_ISIS.iter().map(|it| it.0).collect()),
    };
    let number = id.parse::<u16>().ok().filter(|it| *it <= most);
    let number = number.ok_or_else(|| format!("the number of a key is 0 to {most}"))?;
    let name = names.iter().find(|name| **name == algorithm).ok_or_else(|| {
        let hint = config::meant(algorithm, names.iter().copied(), "use `hmac-sha-256`");
        format!("`{algorithm}` is no algorithm: {hint}")
    })?;
    if *name == "md5" && secret.len() > 16 {
        return Err("a secret of md5 has 16 octets at most".to_owned());
    }
    if secret.len() > SECRET_OCTETS_MAX {
        return Err(format!("a secret has {SECRET_OCTETS_MAX} octets at most"));
    }
    Ok((number, name, Zeroizing::new(secret.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_key_of_a_file_is_sent_with_and_no_secret_is_shown() {
        let read = KeyChain::read(Protocol::Ospf, "# new\n7 hmac-sha-256 first\n\n6 md5 second\n")
            .expect("keys");
        let KeyChain::Keys(keys) = &read else { panic!("keys") };
        assert_eq!(keys.iter().map(|it| it.0).collect::<Vec<_>>(), [7, 6]);
        assert_eq!(format!("{read:?}"), "2 keys");
        let made = format!("{:?}", read.of_ospf());
        assert_eq!(made, "Cryptographic([key 7 of HmacSha256, key 6 of Md5])");
        let password = KeyChain::read(Protocol::Ospf, "password word").expect("a password");
        assert!(matches!(password.of_ospf(), Authentication::Simple(_)));
        assert_eq!(format!("{password:?}"), "a password");
    }

    #[test]
    fn lines_that_cannot_be_are_refused_and_tell_no_secret() {
        for (text, why) in [
            ("", "it holds no key"),
            ("256 md5 s3cret", "line 1: the number of a key is 0 to 255"),
            (
                "1 hmac-sha-265 s3cret",
                "line 1: `hmac-sha-265` is no algorithm: did you mean `hmac-sha-256`?",
            ),
            ("1 md5 s3crets3crets3crets3cret", "line 1: a secret of md5 has 16 octets at most"),
            ("1 md5", "line 1: write `ID ALGORITHM SECRET`"),
            ("1 md5 a\n1 md5 b", "line 2: key 1 stands twice"),
            ("password s3crets3cret", "line 1: a password has 8 octets at most"),
            ("1 md5 a\npassword b", "line 2: a password stands alone in its file"),
        ] {
            assert_eq!(KeyChain::read(Protocol::Ospf, text), Err(why.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_file_of_bfd_has_keys_of_one_algorithm_and_tells_no_secret() {
        let keys = bfd_keys("7 meticulous-sha1 first\n6 meticulous-sha1 second").expect("keys");
        assert_eq!(keys.kind(), bfd::AuthType::MeticulousKeyedSha1);
        assert_eq!(keys.keys().iter().map(bfd::Key::id).collect::<Vec<_>>(), [7, 6]);
        assert!(!format!("{keys:?}").contains("first"));
        let password = bfd_keys("password word").expect("a password");
        assert_eq!(password.kind(), bfd::AuthType::SimplePassword);
        for (text, why) in [
            ("", "it holds no key, or more than 8"),
            ("1 md5 a\n2 sha1 b", "line 2: all keys of a file are of one algorithm"),
            ("1 md5 a\n1 md5 b", "line 2: key 1 stands twice"),
            ("256 md5 s3cret", "line 1: the number of a key is 0 to 255"),
            (
                "1 md5 s3crets3crets3crets3cret",
                "line 1: a secret has 20 octets at most, of md5 and passwords 16",
            ),
            ("1 sha2 a", "line 1: `sha2` is no algorithm of BFD: did you mean `sha1`?"),
        ] {
            assert_eq!(bfd_keys(text).err().as_deref(), Some(why), "{text}");
        }
    }

    #[test]
    fn a_file_of_isis_has_its_own_algorithms_and_numbers() {
        let read = |text| KeyChain::read(Protocol::Isis, text);
        let keys = read("300 hmac-sha-224 s3cret\n1 hmac-md5 other").expect("keys");
        assert_eq!(format!("{:?}", keys.of_isis()), "[key 300 of HmacSha224, key 1 of HmacMd5]");
        assert!(matches!(
            read("password a-long-one").map(|it| it.of_isis()),
            Ok(isis::Authentication::Password(_))
        ));
        let why = "line 1: `hmac-md6` is no algorithm: did you mean `hmac-md5`?";
        assert_eq!(read("1 hmac-md6 s3cret"), Err(why.to_owned()));
        let why = "line 1: the number of a key is 0 to 65535";
        assert_eq!(read("65536 hmac-md5 s3cret"), Err(why.to_owned()));
    }
}
