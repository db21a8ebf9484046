//! Frames of IEEE 802.2 around what IS-IS says (ISO 8802-2): their headers are read and written
//! here, for the forwarder hands up whole frames, without tags, and takes whole frames.

use crate::around::Link;
use isis::{LLC, Snpa};

/// Octets of the longest PDU in a frame that has a length (IEEE 802.3 §3.2.6).
pub const PDU_OCTETS_MAX: u16 = 1_497;
/// Octets in front of a PDU behind the addresses and tags.
const BODY: u16 = 3;

/// Who sent a frame, and its PDU; `None` where the frame is cut, or is none of IS-IS.
#[must_use]
pub fn read(frame: &[u8]) -> Option<(Snpa, &[u8])> {
    let source = *frame.get(6..)?.first_chunk()?;
    let length = u16::from_be_bytes(*frame.get(12..)?.first_chunk()?);
    let body = frame.get(14..)?.get(..usize::from(length))?;
    Some((Snpa(source), body.strip_prefix(&LLC)?))
}

/// The frame of a PDU by a link; `None` where the link has no address yet, or the PDU is too long.
#[must_use]
pub fn write(link: &Link, to: Snpa, pdu: &[u8]) -> Option<Vec<u8>> {
    let source = link.mac?;
    let octets = u16::try_from(pdu.len()).ok().filter(|it| *it <= PDU_OCTETS_MAX)?;
    let length = (octets + BODY).to_be_bytes();
    Some([&to.0[..], &source, &link.tags, &length, &LLC, pdu].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_as_it_was_written_and_what_fills_it_is_none_of_it() {
        let link = Link { mac: Some([2, 0, 0, 0, 0, 1]), ..Link::default() };
        let frame = write(&link, isis::ALL_IS, b"\x83pdu").expect("a frame");
        let filled = [&frame[..], &[0; 30]].concat();
        let read_back = Some((Snpa([2, 0, 0, 0, 0, 1]), &b"\x83pdu"[..]));
        assert_eq!((read(&frame), read(&filled)), (read_back, read_back));
        for cut in 0..frame.len() {
            assert_eq!(read(&frame[..cut]), None);
        }
        let mut other = frame.clone();
        other[14] = 0x42;
        assert_eq!(read(&other), None);
        assert_eq!(write(&Link::default(), isis::ALL_IS, b"pdu"), None);
        assert_eq!(write(&link, isis::ALL_IS, &[0; 1_498]), None);
        let tagged = Link { tags: vec![0x81, 0, 0, 7], ..link };
        let frame = write(&tagged, isis::ALL_IS, b"pdu").expect("a frame");
        assert_eq!(frame[12..18], [0x81, 0, 0, 7, 0, 6]);
    }
}
