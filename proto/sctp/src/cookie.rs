//! The State Cookie: everything that the association will be, signed, kept by the peer
//! (RFC 9260 §5.1.3). A flood of INITs leaves nothing behind here.

use core::net::{IpAddr, SocketAddr};
use hmac::{Hmac, Mac};
use machine::{Duration, Time};
use sha2::Sha256;

const MAC_BYTES: usize = 32;
const FIXED_BYTES: usize = 52;

/// What a cookie says besides the peer's INIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cookie<'a> {
    pub(crate) created: Time,
    pub(crate) life: Duration,
    pub(crate) local_tag: u32,
    pub(crate) local_tsn: u32,
    pub(crate) peer_port: u16,
    /// Where the INIT came from, and the INIT ACK went: the only address that is confirmed by the
    /// COOKIE ECHO (RFC 9260 §5.4). The port is that of an encapsulation.
    pub(crate) source: SocketAddr,
    /// [`tie_tags`] of the association that stood, or zeros (RFC 9260 §5.2.2).
    pub(crate) tie_tags: (u32, u32),
    /// The peer's INIT, whole.
    pub(crate) init: &'a [u8],
}

impl<'a> Cookie<'a> {
    /// Appends it, signed with `key`.
    pub(crate) fn write(&self, key: &[u8; 32], out: &mut Vec<u8>) {
        let at = out.len();
        out.extend_from_slice(&[0; MAC_BYTES]);
        out.extend_from_slice(&self.created.as_nanos().to_be_bytes());
        out.extend_from_slice(
            &u64::try_from(self.life.as_nanos()).unwrap_or(u64::MAX).to_be_bytes(),
        );
        for word in [self.local_tag, self.local_tsn, self.tie_tags.0, self.tie_tags.1] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        out.extend_from_slice(&self.peer_port.to_be_bytes());
        out.extend_from_slice(&self.source.port().to_be_bytes());
        let address = match self.source.ip() {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        out.extend_from_slice(&address.octets());
        out.extend_from_slice(self.init);
        let mac = mac(key, &out[at + MAC_BYTES..]).finalize().into_bytes();
        out[at..at + MAC_BYTES].copy_from_slice(&mac);
    }

    /// Reads a cookie that was signed with `key`; `None`: it was not.
    pub(crate) fn read(bytes: &'a [u8], key: &[u8; 32]) -> Option<Self> {
        let (signature, signed) = bytes.split_at_checked(MAC_BYTES)?;
        mac(key, signed).verify_slice(signature).ok()?;
        let (fixed, init) = signed.split_at_checked(FIXED_BYTES)?;
        let word = |at: usize| {
            fixed[at..at + 4].iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte))
        };
        let long = |at: usize| u64::from(word(at)) << 32 | u64::from(word(at + 4));
        let address = IpAddr::from(*fixed.last_chunk::<16>()?).to_canonical();
        Some(Self {
            created: Time::from_nanos(long(0)),
            life: Duration::from_nanos(long(8)),
            local_tag: word(16),
            local_tsn: word(20),
            tie_tags: (word(24), word(28)),
            peer_port: (word(32) >> 16) as u16,
            source: SocketAddr::new(address, crate::id::low16(word(32).into())),
            init,
        })
    }

    /// By how much it is too old.
    pub(crate) fn staleness(&self, now: Time) -> Option<Duration> {
        let age = now.since(self.created);
        (age > self.life).then(|| age - self.life)
    }
}

/// The random number of the association with that tag and initial TSN (RFC 4895 §3.1), which
/// nobody without the key can tell.
pub(crate) fn random_of(key: &[u8; 32], tag: u32, tsn: u32) -> [u8; MAC_BYTES] {
    let mut mac = mac(key, b"RANDOM");
    mac.update(&tag.to_be_bytes());
    mac.update(&tsn.to_be_bytes());
    mac.finalize().into_bytes().into()
}

/// What stands for the tags of an association in a cookie that might restart it: not the tags
/// themselves, for anyone can read a cookie (RFC 9260 §5.1.3, §5.2.2).
pub(crate) fn tie_tags(key: &[u8; 32], local_tag: u32, peer_tag: u32) -> (u32, u32) {
    let mut mac = mac(key, b"TIE");
    mac.update(&local_tag.to_be_bytes());
    mac.update(&peer_tag.to_be_bytes());
    let octets = mac.finalize().into_bytes();
    let word = |at: usize| {
        octets[at..at + 4].iter().fold(0u32, |word, octet| word << 8 | u32::from(*octet)).max(1)
    };
    (word(0), word(4))
}

fn mac(key: &[u8; 32], bytes: &[u8]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(bytes);
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_read_as_it_was_written_and_no_other_is() {
        let key = [7; 32];
        let cookie = Cookie {
            created: Time::from_millis(5),
            life: Duration::from_secs(60),
            local_tag: 1,
            local_tsn: 2,
            peer_port: 3,
            source: ([10, 0, 0, 1], 9899).into(),
            tie_tags: (4, 5),
            init: b"the chunk",
        };
        let mut bytes = Vec::new();
        cookie.write(&key, &mut bytes);
        assert_eq!(Cookie::read(&bytes, &key), Some(cookie));
        assert_eq!(Cookie::read(&bytes, &[8; 32]), None);
        for at in 0..bytes.len() {
            bytes[at] ^= 1;
            assert_eq!(Cookie::read(&bytes, &key), None, "octet {at}");
            bytes[at] ^= 1;
            assert_eq!(Cookie::read(&bytes[..at], &key), None, "{at} octets");
        }
        assert_eq!(cookie.staleness(Time::from_millis(60_005)), None);
        assert_eq!(cookie.staleness(Time::from_millis(60_006)), Some(Duration::from_millis(1)));
    }
}
