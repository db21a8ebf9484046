//! The media controller's own session with a side: `o=` (RFC 8866 §5.2).

use crate::text::push_number;
use crate::write::address_words;
use core::net::IpAddr;
use core::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// The media controller's own session with a side.
#[derive(Debug, Default)]
pub(crate) struct Towards {
    pub id: u64,
    pub version: u64,
    /// Of what was sent last.
    pub digest: Option<u64>,
}

impl Towards {
    /// Appends `o=` for what stands in `rest` of `out`.
    pub fn origin(&mut self, out: &mut Vec<u8>, address: IpAddr, rest: Range<usize>) {
        let end = out.len();
        address_words(out, address);
        let digest = xxh3_64(&out[rest]) ^ xxh3_64(&out[end..]).rotate_left(1);
        let octets = out.len() - end;
        if self.digest != Some(digest) {
            self.digest = Some(digest);
            self.version += 1;
        }
        out.extend_from_slice(b"o=- ");
        push_number(out, self.id);
        out.push(b' ');
        push_number(out, self.version);
        out.push(b' ');
        // Its words were needed first, and stand last.
        out[end..].rotate_left(octets);
    }
}
