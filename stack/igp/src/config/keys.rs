//! Keys of packets, as they stand in files: a line each.

use ospf::Authentication;
use ospf::packet::{Algorithm, AuthenticationKey};
use std::collections::BTreeMap;
use std::fmt;
use zeroize::Zeroizing;

/// Algorithms by their names.
const ALGORITHMS: [(&str, Algorithm); 5] = [
    ("md5", Algorithm::Md5),
    ("hmac-sha-1", Algorithm::HmacSha1),
    ("hmac-sha-256", Algorithm::HmacSha256),
    ("hmac-sha-384", Algorithm::HmacSha384),
    ("hmac-sha-512", Algorithm::HmacSha512),
];
/// Keys of a file at most.
const KEYS_MAX: usize = 16;
/// Octets of a password at most (RFC 2328 §D.4.2).
const PASSWORD_OCTETS_MAX: usize = 8;

/// Keys by the files that hold them, as the section names these.
pub type KeyChains = BTreeMap<String, KeyChain>;

/// The keys of a file. `Debug` does not show them.
#[derive(Clone, PartialEq, Eq)]
pub enum KeyChain {
    /// A password in clear.
    Password(Zeroizing<String>),
    /// Keys of digests, the one that is sent with first: number, place in the list of algorithms,
    /// secret.
    Keys(Vec<(u8, usize, Zeroizing<String>)>),
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
    /// Reads the text of a file; empty lines and those that begin with `#` say nothing.
    ///
    /// # Errors
    /// The line that cannot be, and why; no secret is told.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut keys: Vec<(u8, usize, Zeroizing<String>)> = Vec::new();
        let lines = text.lines().enumerate();
        let said: Vec<(usize, Vec<&str>)> = lines
            .map(|(n, line)| (n + 1, line.split_whitespace().collect::<Vec<_>>()))
            .filter(|(_, words)| words.first().is_some_and(|word| !word.starts_with('#')))
            .collect();
        for (line, words) in &said {
            match words[..] {
                ["password", secret] if said.len() == 1 => {
                    let fits = secret.len() <= PASSWORD_OCTETS_MAX;
                    let password = Self::Password(Zeroizing::new(secret.to_owned()));
                    let why = format!("line {line}: a password has 8 octets at most");
                    return fits.then_some(password).ok_or(why);
                }
                ["password", _] => {
                    return Err(format!("line {line}: a password stands alone in its file"));
                }
                [id, algorithm, secret] => {
                    let key = key(id, algorithm, secret);
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

    /// As the machine has them.
    #[must_use]
    pub fn authentication(&self) -> Authentication {
        let made = match self {
            Self::Password(secret) => Authentication::simple(secret.as_bytes()),
            Self::Keys(keys) => {
                let keys = keys.iter().filter_map(|(id, algorithm, secret)| {
                    let (_, algorithm) = ALGORITHMS.get(*algorithm)?;
                    AuthenticationKey::new(*id, *algorithm, secret.as_bytes())
                });
                Authentication::cryptographic(keys.collect())
            }
        };
        // What was read can be made; a proof that nobody has lets nobody in otherwise.
        made.unwrap_or(Authentication::Cryptographic(Vec::new()))
    }
}

fn key(id: &str, algorithm: &str, secret: &str) -> Result<(u8, usize, Zeroizing<String>), String> {
    let number = id.parse::<u8>().map_err(|_| "the number of a key is 0 to 255".to_owned())?;
    let at = ALGORITHMS.iter().position(|(name, _)| *name == algorithm);
    let at = at.ok_or_else(|| {
        let names = ALGORITHMS.iter().map(|(name, _)| *name);
        let hint = config::meant(algorithm, names, "use `hmac-sha-256`");
        format!("`{algorithm}` is no algorithm: {hint}")
    })?;
    if AuthenticationKey::new(number, ALGORITHMS[at].1, secret.as_bytes()).is_none() {
        return Err("a secret of md5 has 16 octets at most".to_owned());
    }
    Ok((number, at, Zeroizing::new(secret.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_key_of_a_file_is_sent_with_and_no_secret_is_shown() {
        let read = KeyChain::read("# new\n7 hmac-sha-256 first\n\n6 md5 second\n").expect("keys");
        let KeyChain::Keys(keys) = &read else { panic!("keys") };
        assert_eq!(keys.iter().map(|it| it.0).collect::<Vec<_>>(), [7, 6]);
        assert_eq!(format!("{read:?}"), "2 keys");
        let made = format!("{:?}", read.authentication());
        assert_eq!(made, "Cryptographic([key 7 of HmacSha256, key 6 of Md5])");
        let password = KeyChain::read("password word").expect("a password");
        assert!(matches!(password.authentication(), Authentication::Simple(_)));
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
            assert_eq!(KeyChain::read(text), Err(why.to_owned()), "{text}");
        }
    }
}
