//! Times to live between a label and what is below it (RFC 3443).

use super::entry::Entry;
use crate::header::adjusted;

/// Lowers the time to live of what is below a label that came off to `ttl` (uniform model; it is
/// never raised, so that a packet that circles ends, RFC 3443 §6). `ip`: below is IP, else a label.
pub(crate) fn lower(octets: &mut [u8], ip: bool, ttl: u8) {
    match (ip, octets.first().map(|first| first >> 4)) {
        (false, _) => {
            if let Some(entry) = Entry::at(octets)
                && entry.ttl() > ttl
            {
                octets[3] = ttl;
            }
        }
        (true, Some(4)) if octets.len() >= 20 && octets[8] > ttl => {
            let before = u16::from_be_bytes([octets[8], octets[9]]);
            octets[8] = ttl;
            let after = u16::from_be_bytes([octets[8], octets[9]]);
            let sum = u16::from_be_bytes([octets[10], octets[11]]);
            octets[10..12].copy_from_slice(&adjusted(sum, before, after).to_be_bytes());
        }
        (true, Some(6)) if octets.len() >= 40 && octets[7] > ttl => octets[7] = ttl,
        _ => {}
    }
}
