//! Packets of a flow that leave from other places than the rest of it: RTCP of an end that has it
//! with RTP, where the other end has it apart (RFC 5761 §5.1.1), and the streams that share a port
//! (RFC 9143) with those that do not at the other end.
//!
//! ```text
//!              ┌ RTP of a payload type ─────────────→ the place of its stream
//!   one port ──┼ RTCP of who sends that type ───────→ where RTCP of that stream leaves
//!              └ all else: RTP · RTCP of anybody ───→ the flow's way · the branch of reports
//! ```
//! Nothing that tells is encrypted: payload type and source are in the clear with SRTP, too.

use crate::departure::Way;
use crate::program::{Branch, Place};
use rtp::{Datagram, Header};

/// Sources whose payload types are remembered; of more the first one is forgotten.
const SOURCES_MAX: usize = 8;
/// Where the source of RTCP stands in its first packet (RFC 3550 §6.4.1).
const REPORTER_AT: usize = 4;

/// The branches of a flow.
#[derive(Debug, Default)]
pub(crate) struct Branches {
    all: Vec<(Branch, Option<Way>)>,
    /// Sources and the payload types that they sent last.
    sources: Vec<(u32, u8)>,
}

impl Branches {
    /// These from now on. A way to a place that is known stays.
    pub fn agreed(&mut self, branches: &[Branch]) {
        let before = core::mem::take(&mut self.all);
        let way = |to: Place| before.iter().find(|it| it.0.to == to).and_then(|it| it.1);
        self.all = branches.iter().map(|branch| (*branch, way(branch.to))).collect();
    }

    /// What leads to that place leads this way.
    pub fn lead(&mut self, to: &Place, way: Option<Way>) {
        self.all.iter_mut().filter(|it| it.0.to == *to).for_each(|it| it.1 = way);
    }

    /// The way of a branch.
    pub fn way(&self, branch: u8) -> Option<&Way> {
        self.all.get(usize::from(branch))?.1.as_ref()
    }

    /// All ways.
    pub fn ways(&self) -> impl Iterator<Item = &Way> {
        self.all.iter().filter_map(|it| it.1.as_ref())
    }

    /// The branch of a packet as it came; `None`: the flow's way.
    pub fn of(&self, packet: &[u8]) -> Option<u8> {
        if self.all.is_empty() {
            return None;
        }
        let is_it: &dyn Fn(&Branch) -> bool = match Datagram::of(packet) {
            Datagram::Rtp => {
                let payload_type = Header::peek(packet)?.payload_type;
                &move |it: &Branch| !it.reports && it.payload_types.has(payload_type)
            }
            Datagram::Rtcp => {
                let reporter = packet.get(REPORTER_AT..)?.first_chunk().copied();
                let reporter = reporter.map(u32::from_be_bytes);
                let source = self.sources.iter().find(|it| Some(it.0) == reporter);
                let sent = source.map(|it| it.1);
                &move |it: &Branch| {
                    it.reports && sent.is_some_and(|sent| it.payload_types.has(sent))
                }
            }
            _ => return None,
        };
        let place = |is_it: &dyn Fn(&Branch) -> bool| self.all.iter().position(|it| is_it(&it.0));
        let found = place(is_it).or_else(|| match Datagram::of(packet) {
            Datagram::Rtcp => place(&|it| it.reports && it.payload_types.bits() == 0),
            _ => None,
        });
        found.and_then(|at| u8::try_from(at).ok())
    }

    /// RTP came: its source sends that type.
    pub fn hear(&mut self, packet: &[u8]) {
        if self.all.is_empty() {
            return;
        }
        let Some(Header { ssrc, payload_type, .. }) = Header::peek(packet) else { return };
        match self.sources.iter_mut().find(|it| it.0 == ssrc) {
            Some(known) => known.1 = payload_type,
            None => {
                if self.sources.len() >= SOURCES_MAX {
                    self.sources.remove(0);
                }
                self.sources.push((ssrc, payload_type));
            }
        }
    }
}
