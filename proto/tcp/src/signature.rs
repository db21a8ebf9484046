//! Signatures of segments by MD5 and a key that both ends have (RFC 2385).

use crate::segment::{Ends, HEADER, OCTETS_MAX, PROTOCOL, put_checksum};
use core::net::IpAddr;
use md5::{Digest as _, Md5};

const OPTION_END: u8 = 0;
const OPTION_NONE: u8 = 1;
const OPTION_SIGNATURE: u8 = 19;
const DIGEST: usize = 16;
/// What a signature adds to a header: two fillers, kind, length, digest.
pub const SIGNATURE: usize = 20;
/// Octets of a header at most.
const HEADER_MAX: usize = 60;
const CHECKSUM: core::ops::Range<usize> = 16..18;

/// The digest over the pseudo-header, the header without options and checksum, what is carried, and
/// the key (RFC 2385 §2.0).
fn digest(ends: Ends, key: &[u8], fixed: &[u8], payload: &[u8], octets: usize) -> [u8; DIGEST] {
    let mut hash = Md5::new();
    match ends {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            hash.update(from.octets());
            hash.update(to.octets());
            let octets = u16::try_from(octets).unwrap_or(u16::MAX);
            hash.update([0, PROTOCOL]);
            hash.update(octets.to_be_bytes());
        }
        (from, to) => {
            for it in [from, to] {
                match it {
                    IpAddr::V4(it) => hash.update(it.to_ipv6_mapped().octets()),
                    IpAddr::V6(it) => hash.update(it.octets()),
                }
            }
            hash.update(u32::try_from(octets).unwrap_or(u32::MAX).to_be_bytes());
            hash.update([0, 0, 0, PROTOCOL]);
        }
    }
    hash.update(&fixed[..CHECKSUM.start]);
    hash.update([0, 0]);
    hash.update(&fixed[CHECKSUM.end..]);
    hash.update(payload);
    hash.update(key);
    hash.finalize().into()
}

/// Header and the rest of a segment.
fn parts(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let header = usize::from(octets.get(12)? >> 4) * 4;
    octets.split_at_checked(header).filter(|(head, _)| head.len() >= HEADER)
}

/// Signs a segment that was written with its checksum; `false`, and it is as it was: it has no room
/// for that.
pub fn sign(ends: Ends, key: &[u8], octets: &mut Vec<u8>) -> bool {
    let Some((head, _)) = parts(octets) else { return false };
    let header = head.len();
    let has_room = header + SIGNATURE <= HEADER_MAX && octets.len() + SIGNATURE <= OCTETS_MAX;
    let words = u8::try_from((header + SIGNATURE) / 4).unwrap_or(0);
    if !has_room {
        return false;
    }
    octets[12] = words << 4 | octets[12] & 15;
    let (fixed, payload) = (&octets[..HEADER], &octets[header..]);
    let digest = digest(ends, key, fixed, payload, octets.len() + SIGNATURE);
    let mut option = [OPTION_NONE; SIGNATURE];
    option[2..4].copy_from_slice(&[OPTION_SIGNATURE, 18]);
    option[4..].copy_from_slice(&digest);
    octets.splice(header..header, option);
    put_checksum(ends, octets);
    true
}

/// Whether a segment is signed, with whatever key.
#[must_use]
pub fn has_signature(octets: &[u8]) -> bool {
    parts(octets).is_some_and(|(head, _)| signature(&head[HEADER..]).is_some())
}

/// Whether a segment is signed with that key.
#[must_use]
pub fn is_signed(ends: Ends, key: &[u8], octets: &[u8]) -> bool {
    let found = parts(octets).and_then(|(head, payload)| {
        let signature = signature(&head[HEADER..])?;
        let own = digest(ends, key, &head[..HEADER], payload, octets.len());
        // As long for a wrong first octet as for a wrong last one.
        Some(own.iter().zip(signature).fold(0, |all, (a, b)| all | (a ^ b)) == 0)
    });
    found.unwrap_or(false)
}

/// The digest among options.
fn signature(mut options: &[u8]) -> Option<&[u8; DIGEST]> {
    loop {
        options = match options {
            [] | [OPTION_END, ..] => return None,
            [OPTION_NONE, rest @ ..] => rest,
            [OPTION_SIGNATURE, 18, rest @ ..] => return rest.first_chunk(),
            [_, length, ..] if *length >= 2 => options.get(usize::from(*length)..)?,
            _ => return None,
        }
    }
}
