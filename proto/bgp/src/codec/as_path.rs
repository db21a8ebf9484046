//! AS_PATH: segments of two or four octets, and their union (RFC 4271 §4.3, RFC 5065, RFC 6793).

use super::{Asn, be16, be32, octet};
use core::fmt;
use wire::Malformed;

/// What stands for an AS that two octets cannot say (RFC 6793 §9).
pub const AS_TRANS: Asn = AS_TRANS_SHORT as Asn;
/// The same, where ASes have two octets.
pub const AS_TRANS_SHORT: u16 = 23_456;
/// Octets of the head of a segment.
const HEAD_BYTES: usize = 2;
/// ASes in one segment at most.
const SEGMENT_MAX: usize = 255;

wire::rows! {
    /// The kinds of segments.
    pub enum SegmentKind: u8 {
        /// Any of these, in any order.
        Set = 1, "AS_SET", "RFC 4271 §4.3";
        /// One after the other.
        Sequence = 2, "AS_SEQUENCE", "RFC 4271 §4.3";
        /// One after the other, inside of the confederation.
        ConfedSequence = 3, "AS_CONFED_SEQUENCE", "RFC 5065 §3";
        /// Any of these, inside of the confederation.
        ConfedSet = 4, "AS_CONFED_SET", "RFC 5065 §3";
    }
}

impl SegmentKind {
    /// Whether it stays inside of the confederation.
    #[must_use]
    pub const fn is_confederation(self) -> bool {
        matches!(self, Self::ConfedSequence | Self::ConfedSet)
    }
}

/// A segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Its kind.
    pub kind: SegmentKind,
    octets: &'a [u8],
    width: usize,
}

impl<'a> Segment<'a> {
    /// How many ASes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.octets.len() / self.width
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }

    /// The ASes, the nearest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Asn> + use<'a> {
        let width = self.width;
        self.octets.chunks_exact(width).map(move |octets| {
            if width == 4 { be32(octets, 0) } else { Asn::from(be16(octets, 0)) }
        })
    }

    /// What it counts in the choice of the best path (RFC 4271 §9.1.2.2 a, RFC 5065 §5.3).
    const fn hops(&self) -> usize {
        match self.kind {
            SegmentKind::Sequence => self.len(),
            SegmentKind::Set => 1,
            SegmentKind::ConfedSequence | SegmentKind::ConfedSet => 0,
        }
    }
}

/// An AS_PATH, as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AsPath<'a> {
    octets: &'a [u8],
    width: usize,
}

impl<'a> AsPath<'a> {
    /// The path of a value: ASes of four octets, or of two.
    #[must_use]
    pub const fn new(value: &'a [u8], four_octets: bool) -> Self {
        Self { octets: value, width: if four_octets { 4 } else { 2 } }
    }

    /// Its octets.
    #[must_use]
    pub const fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// The segments; they end where the path is malformed.
    pub fn segments(&self) -> impl Iterator<Item = Segment<'a>> + use<'a> {
        let (mut rest, width) = (self.octets, self.width);
        core::iter::from_fn(move || {
            let (&[kind, count], body) = rest.split_first_chunk::<HEAD_BYTES>()?;
            let kind = SegmentKind::of(kind)?;
            let (octets, next) = body.split_at_checked(usize::from(count) * width)?;
            rest = next;
            Some(Segment { kind, octets, width })
        })
    }

    /// Checks it.
    ///
    /// # Errors
    /// The first violation (RFC 7606 §7.2, RFC 7607 §2), with its offset in the value.
    #[inline]
    pub fn check(&self) -> Result<(), Malformed> {
        let spec = "RFC 7606 §7.2";
        let mut at = 0;
        while at < self.octets.len() {
            let Some(&[kind, count]) = self.octets[at..].first_chunk::<HEAD_BYTES>() else {
                return Err(Malformed::new(at, "the head of a segment is cut off", spec));
            };
            if SegmentKind::of(kind).is_none() {
                return Err(Malformed::new(at, "no segment has that type", spec));
            }
            if count == 0 {
                return Err(Malformed::new(at + 1, "the segment is empty", spec));
            }
            let end = at + HEAD_BYTES + usize::from(count) * self.width;
            let Some(octets) = self.octets.get(at + HEAD_BYTES..end) else {
                return Err(Malformed::new(at + 1, "the segment is cut off", spec));
            };
            let zero = match self.width {
                4 => octets.as_chunks::<4>().0.iter().position(|it| *it == [0; 4]),
                width => octets.chunks_exact(width).position(|it| it.iter().all(|o| *o == 0)),
            };
            if let Some(index) = zero {
                let at = at + HEAD_BYTES + index * self.width;
                return Err(Malformed::new(at, "AS 0 stands in the path", "RFC 7607 §2"));
            }
            at = end;
        }
        Ok(())
    }

    /// Its length in the choice of the best path.
    #[must_use]
    pub fn hops(&self) -> usize {
        self.segments().map(|segment| segment.hops()).sum()
    }

    /// Every AS in it.
    pub fn iter(&self) -> impl Iterator<Item = Asn> + use<'a> {
        self.segments().flat_map(|segment| segment.iter())
    }

    /// How often `asn` is in it.
    #[must_use]
    #[inline]
    pub fn count(&self, asn: Asn) -> usize {
        let own = asn.to_be_bytes();
        let of_segment = |segment: Segment<'_>| match segment.width {
            4 => segment.octets.as_chunks::<4>().0.iter().filter(|it| **it == own).count(),
            _ => segment.iter().filter(|it| *it == asn).count(),
        };
        self.segments().map(of_segment).sum()
    }

    /// Whether `asn` is in it.
    #[must_use]
    pub fn contains(&self, asn: Asn) -> bool {
        self.iter().any(|it| it == asn)
    }

    /// The AS that sent it: the first one, if it stands in a sequence. Segments of the
    /// confederation are passed over.
    #[must_use]
    pub fn neighbour(&self) -> Option<Asn> {
        let first = self.segments().find(|segment| !segment.kind.is_confederation())?;
        (first.kind == SegmentKind::Sequence).then(|| first.iter().next())?
    }

    /// The AS where it began: the last one, if it stands in a sequence.
    #[must_use]
    pub fn origin(&self) -> Option<Asn> {
        let last = self.segments().filter(|it| !it.kind.is_confederation()).last()?;
        (last.kind == SegmentKind::Sequence).then(|| last.iter().next_back())?
    }

    /// Whether it has segments of the confederation.
    #[must_use]
    pub fn has_confederation(&self) -> bool {
        self.segments().any(|segment| segment.kind.is_confederation())
    }

    /// Appends it with ASes of four octets: this path, and behind it what an AS4_PATH knows
    /// better (RFC 6793 §4.2.3).
    pub fn widen(&self, as4_path: Option<AsPath<'_>>, out: &mut Vec<u8>) {
        let theirs = as4_path.filter(|it| it.hops() <= self.hops());
        let mut keep = self.hops() - theirs.map_or(0, |it| it.hops());
        if theirs.is_none() {
            keep = usize::MAX;
        }
        for segment in self.segments() {
            if segment.kind.is_confederation() {
                put_segment(segment.kind, segment.iter(), segment.len(), out);
                continue;
            }
            if keep == 0 {
                break;
            }
            let count = match segment.kind {
                SegmentKind::Sequence => segment.len().min(keep),
                _ => segment.len(),
            };
            put_segment(segment.kind, segment.iter(), count, out);
            keep -= if segment.kind == SegmentKind::Sequence { count } else { 1 };
        }
        for segment in theirs.iter().flat_map(|it| it.segments()) {
            if !segment.kind.is_confederation() {
                put_segment(segment.kind, segment.iter(), segment.len(), out);
            }
        }
    }

    /// Appends it with ASes of two octets; whether one of them did not fit (RFC 6793 §4.2.2).
    pub fn narrow(&self, out: &mut Vec<u8>) -> bool {
        let mut is_lossy = false;
        for segment in self.segments() {
            out.extend_from_slice(&[segment.kind.number(), octet(segment.len())]);
            for asn in segment.iter() {
                let short = u16::try_from(asn).ok();
                is_lossy |= short.is_none();
                out.extend_from_slice(&short.unwrap_or(AS_TRANS_SHORT).to_be_bytes());
            }
        }
        is_lossy
    }
}

/// Appends the first `count` ASes as a segment, of four octets each.
fn put_segment(
    kind: SegmentKind,
    ases: impl Iterator<Item = Asn>,
    count: usize,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(&[kind.number(), octet(count)]);
    ases.take(count).for_each(|asn| out.extend_from_slice(&asn.to_be_bytes()));
}

/// Appends the AS_PATH of four octets `value` with `asn` in front of it (RFC 4271 §5.1.2 b): into
/// its first segment if that is a sequence with room, else as a segment of its own.
pub fn prepend(value: &[u8], kind: SegmentKind, asn: Asn, out: &mut Vec<u8>) {
    let (count, rest) = match value {
        [first, count, rest @ ..]
            if *first == kind.number() && usize::from(*count) < SEGMENT_MAX =>
        {
            (count + 1, rest)
        }
        _ => (1, value),
    };
    out.extend_from_slice(&[kind.number(), count]);
    out.extend_from_slice(&asn.to_be_bytes());
    out.extend_from_slice(rest);
}

impl fmt::Display for AsPath<'_> {
    /// `65001 65002 {65003,65004} (65010) [65020,65021]`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, segment) in self.segments().enumerate() {
            let (open, between, close) = match segment.kind {
                SegmentKind::Sequence => ("", " ", ""),
                SegmentKind::Set => ("{", ",", "}"),
                SegmentKind::ConfedSequence => ("(", " ", ")"),
                SegmentKind::ConfedSet => ("[", ",", "]"),
            };
            f.write_str(if index == 0 { "" } else { " " })?;
            f.write_str(open)?;
            for (index, asn) in segment.iter().enumerate() {
                write!(f, "{}{asn}", if index == 0 { "" } else { between })?;
            }
            f.write_str(close)?;
        }
        Ok(())
    }
}
