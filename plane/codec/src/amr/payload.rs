//! Reading and writing payloads (RFC 4867 §4.3, §4.4).

use super::{Band, FRAMES_MAX, NO_REQUEST, malformed};
use wire::Malformed;

/// How a payload is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Packing {
    /// Bits one behind the other (§4.3); what a format without `octet-align=1` has.
    #[default]
    BandwidthEfficient,
    /// Every part in whole octets (§4.4).
    OctetAligned,
}

/// A frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Its type: a mode, silence, or nothing.
    pub kind: u8,
    /// Whether its bits are good (Q).
    pub is_good: bool,
    /// Its speech bits, from the highest of the first octet on.
    pub bits: [u8; BITS_OCTETS_MAX],
}

/// Octets of the speech bits of the longest frame: 477 bits.
const BITS_OCTETS_MAX: usize = 60;

/// The frames of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frames<'a> {
    band: Band,
    packing: Packing,
    payload: &'a [u8],
    /// The mode that the sender asks to be sent; `None`: any.
    pub request: Option<u8>,
    count: usize,
    /// The next entry of the table of contents, and where its speech bits are, in bits.
    next: usize,
    at: usize,
}

impl<'a> Frames<'a> {
    /// Reads a payload.
    ///
    /// # Errors
    /// A type or a mode that does not exist, too many frames, parts that are cut off or left over.
    pub fn read(band: Band, packing: Packing, payload: &'a [u8]) -> Result<Self, Malformed> {
        let request = bits(payload, 0, 4).ok_or(malformed(0, "the payload is empty"))?;
        let request = match request {
            NO_REQUEST => None,
            mode if mode < band.modes() => Some(mode),
            // It is as if none were asked for (§4.3.1), as of a mode that does not exist yet.
            _ => None,
        };
        let mut frames = Self { band, packing, payload, request, count: 0, next: 0, at: 0 };
        let (mut count, mut speech) = (0, 0);
        loop {
            let (follows, kind, _) = frames.entry(count)?;
            let bits = band.frame_bits(kind);
            speech += frames.step(bits.ok_or(malformed(0, "a frame has no such type"))?);
            count += 1;
            match (follows, count) {
                (false, _) => break,
                (true, FRAMES_MAX) => return Err(malformed(0, "there are too many frames")),
                (true, _) => {}
            }
        }
        frames.count = count;
        frames.at = frames.entry_at(count);
        let whole = (frames.at + speech).div_ceil(8);
        match payload.len().cmp(&whole) {
            core::cmp::Ordering::Equal => Ok(frames),
            core::cmp::Ordering::Less => Err(malformed(payload.len(), "a frame is cut off")),
            core::cmp::Ordering::Greater => Err(malformed(whole, "something is left over")),
        }
    }

    /// How many there are.
    #[must_use]
    pub const fn frames(&self) -> usize {
        self.count
    }

    /// Where an entry of the table of contents is, in bits.
    const fn entry_at(&self, entry: usize) -> usize {
        match self.packing {
            Packing::BandwidthEfficient => 4 + 6 * entry,
            Packing::OctetAligned => 8 + 8 * entry,
        }
    }

    /// Bits that a frame takes.
    const fn step(&self, bits: usize) -> usize {
        match self.packing {
            Packing::BandwidthEfficient => bits,
            Packing::OctetAligned => bits.next_multiple_of(8),
        }
    }

    /// Whether another one follows, the type and the quality.
    fn entry(&self, entry: usize) -> Result<(bool, u8, bool), Malformed> {
        let at = self.entry_at(entry);
        let it = bits(self.payload, at, 6);
        let it = it.ok_or(malformed(self.payload.len(), "the table of contents is cut off"))?;
        Ok((it & 0x20 != 0, it >> 1 & 15, it & 1 != 0))
    }
}

impl Iterator for Frames<'_> {
    type Item = Frame;

    fn next(&mut self) -> Option<Frame> {
        if self.next == self.count {
            return None;
        }
        let (_, kind, is_good) = self.entry(self.next).ok()?;
        let length = self.band.frame_bits(kind)?;
        let mut frame = Frame { kind, is_good, bits: [0; BITS_OCTETS_MAX] };
        let octets = frame.bits.iter_mut().take(length.div_ceil(8));
        for (octet, done) in octets.zip((0..).step_by(8)) {
            let count = (length - done).min(8);
            // What is behind the last bit is zero.
            *octet = bits(self.payload, self.at + done, count)? << (8 - count);
        }
        self.next += 1;
        self.at += self.step(length);
        Some(frame)
    }
}

impl Frame {
    /// Its speech bits in octets.
    #[must_use]
    pub fn speech(&self, band: Band) -> &[u8] {
        &self.bits[..band.frame_octets(self.kind).unwrap_or(0)]
    }
}

/// At most eight bits, in the lower ones of an octet.
fn bits(octets: &[u8], at: usize, count: usize) -> Option<u8> {
    let first = *octets.get(at / 8)?;
    let past = at % 8 + count;
    let second = if past > 8 { *octets.get(at / 8 + 1)? } else { 0 };
    let both = u16::from_be_bytes([first, second]);
    let [_, low] = (both >> (16 - past)).to_be_bytes();
    Some(if count >= 8 { low } else { low & ((1 << count) - 1) })
}

/// Appends a payload with these frames: type, quality and speech bits of each. Of more than
/// [`FRAMES_MAX`] the first are written.
pub fn write(
    band: Band,
    packing: Packing,
    request: Option<u8>,
    frames: &[Frame],
    out: &mut Vec<u8>,
) {
    let frames = &frames[..frames.len().min(FRAMES_MAX)];
    let mut writer = Writer { out, free: 0 };
    let is_aligned = packing == Packing::OctetAligned;
    writer.put(request.unwrap_or(NO_REQUEST), 4);
    writer.align(is_aligned);
    for (at, frame) in frames.iter().enumerate() {
        let follows = u8::from(at + 1 < frames.len()) << 5;
        writer.put(follows | (frame.kind & 15) << 1 | u8::from(frame.is_good), 6);
        writer.align(is_aligned);
    }
    for frame in frames {
        let length = band.frame_bits(frame.kind).unwrap_or(0);
        for (octet, done) in frame.bits.iter().zip((0..length).step_by(8)) {
            let count = (length - done).min(8);
            writer.put(octet >> (8 - count), count);
        }
        writer.align(is_aligned);
    }
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// Bits of the last octet that are free.
    free: usize,
}

impl Writer<'_> {
    /// Appends the lower bits of an octet, at most eight.
    fn put(&mut self, value: u8, count: usize) {
        let value = if count >= 8 { value } else { value & ((1 << count) - 1) };
        let both = u16::from(value) << (16 - count);
        // The free bits are the lowest of the last octet: the value's first fall into them.
        match self.out.last_mut().filter(|_| self.free > 0) {
            Some(last) => {
                *last |= (both >> (16 - self.free)).to_be_bytes()[1];
                if count > self.free {
                    self.out.push((both << self.free).to_be_bytes()[0]);
                }
            }
            None => self.out.push(both.to_be_bytes()[0]),
        }
        self.free = (self.free + 8 - count) % 8;
    }

    fn align(&mut self, is_aligned: bool) {
        if is_aligned {
            self.free = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(band: Band, kind: u8, fill: u8) -> Frame {
        let mut frame = Frame { kind, is_good: true, bits: [0; BITS_OCTETS_MAX] };
        let length = band.frame_bits(kind).expect("a type");
        for (octet, done) in frame.bits.iter_mut().zip((0..length).step_by(8)) {
            let unused = 8 - (length - done).min(8);
            *octet = fill & (0xFF << unused) as u8;
        }
        frame
    }

    #[test]
    fn a_frame_lies_in_its_payload_as_the_figures_of_rfc_4867_have_it() {
        // §4.3.5.1: one frame of 5.9 kbit/s, request for 10.2 kbit/s: 4 + 6 + 118 bits.
        let mut out = Vec::new();
        let it = frame(Band::Narrow, 2, 0xFF);
        write(Band::Narrow, Packing::BandwidthEfficient, Some(6), &[it], &mut out);
        assert_eq!(out.len(), 16);
        assert_eq!(out[..2], [0b0110_0001, 0b0111_1111]);
        // §4.4.5.1: octet-aligned, no request.
        let mut out = Vec::new();
        write(Band::Narrow, Packing::OctetAligned, None, &[it, it], &mut out);
        assert_eq!(out[..3], [0xF0, 0x94, 0x14]);
        assert_eq!((out.len(), out[17]), (33, 0xFC), "118 bits, two of padding");
    }

    #[test]
    fn what_is_written_is_read_in_every_packing_mode_and_number_of_frames() {
        for band in [Band::Narrow, Band::Wide] {
            for packing in [Packing::BandwidthEfficient, Packing::OctetAligned] {
                for first in 0..16 {
                    let kinds = (0..FRAMES_MAX as u8).map(|it| (first + it) % 16);
                    let kinds = kinds.filter(|kind| band.frame_bits(*kind).is_some());
                    let frames: Vec<Frame> =
                        kinds.map(|kind| frame(band, kind, 0x5A ^ kind)).collect();
                    let mut out = vec![];
                    write(band, packing, Some(1), &frames, &mut out);
                    let read = Frames::read(band, packing, &out).expect("it was written");
                    assert_eq!(read.request, Some(1));
                    assert_eq!(read.collect::<Vec<_>>(), frames, "{band:?} {packing:?}");
                    let cut = Frames::read(band, packing, &out[..out.len() - 1]);
                    let is_only_contents = frames.iter().all(|it| it.kind >= 14);
                    assert!(cut.is_err() || is_only_contents);
                    out.push(0);
                    assert!(Frames::read(band, packing, &out).is_err(), "one octet too many");
                }
            }
        }
    }

    #[test]
    fn types_that_do_not_exist_and_too_many_frames_are_refused() {
        for (band, kinds) in [(Band::Narrow, 9..15), (Band::Wide, 10..14)] {
            for kind in kinds {
                let octets = [0xF0, kind << 3 | 4];
                assert!(Frames::read(band, Packing::OctetAligned, &octets).is_err(), "{kind}");
            }
        }
        let mut many = vec![0xF0];
        many.extend([0xFC; FRAMES_MAX]);
        many.push(0x7C);
        assert!(Frames::read(Band::Narrow, Packing::OctetAligned, &many).is_err());
        let unknown = Frames::read(Band::Narrow, Packing::OctetAligned, &[0x90, 0x7C]);
        assert_eq!(unknown.map(|it| it.request), Ok(None), "a mode that is none");
    }
}
