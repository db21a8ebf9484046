//! Partial reliability: messages are given up, and the peer is told to go on without them
//! (RFC 3758 §3.5, §3.6; I-FORWARD-TSN of RFC 8260 §2.3).

use super::inbound::Inbound;
use super::outbound::{Flight, Outbound};
use super::paths::Paths;
use crate::codec::{Chunk, ForwardTsn, Gaps, IForwardTsn, Skips};
use crate::effects::Context;
use crate::id::{low16, low32, place, unwrap32};

/// Octets of a packet that the list of a FORWARD-TSN leaves to headers and AUTH.
const FORWARD_MARGIN: usize = 64;

impl Outbound {
    /// Gives up the message that the entry belongs to, with all its chunks (RFC 3758 §3.5 A); says
    /// which it was to its user.
    pub(super) fn abandon(&mut self, index: usize, paths: &mut Paths) -> u64 {
        let entry = &self.ring[index];
        let (context, stream, number) = (entry.context, entry.stream, entry.number);
        let is_unordered = entry.flags.is_unordered();
        let has_end = self.has_end(index);
        if !has_end {
            self.cut_partial(index);
        }
        let (first, last) = self.span(index);
        let header = self.header_bytes();
        for at in first..=last {
            let entry = &mut self.ring[at];
            let is_other = (entry.stream, entry.number) != (stream, number)
                || entry.flags.is_unordered() != is_unordered;
            if is_other {
                continue; // interleaved with it
            }
            match entry.flight {
                Flight::Outstanding => {
                    paths[usize::from(entry.path)].congestion.flight -= entry.chunk_bytes(header);
                    self.outstanding -= entry.payload.len();
                }
                Flight::Marked(_) => self.marked -= 1,
                Flight::Acked | Flight::Abandoned => {}
            }
            entry.flight = Flight::Abandoned;
        }
        self.advance_ack_point(true);
        context
    }

    /// Whether the last chunk of the message that the entry belongs to has a TSN.
    fn has_end(&self, index: usize) -> bool {
        let ring = &self.ring;
        let entry = &ring[index];
        let is_same = |other: &&super::outbound::Sent| {
            (other.stream, other.number) == (entry.stream, entry.number)
                && other.flags.is_unordered() == entry.flags.is_unordered()
        };
        ring.range(index..).filter(is_same).any(|other| other.flags.is_end())
    }

    /// The entries among which those of the message are. DATA of one message has consecutive
    /// TSNs; I-DATA may be anywhere.
    fn span(&self, index: usize) -> (usize, usize) {
        let ring = &self.ring;
        if self.is_interleaved {
            return (0, ring.len() - 1);
        }
        let first = (0..=index).rev().find(|&at| ring[at].flags.is_begin()).unwrap_or(0);
        let last = (index..ring.len()).find(|&at| ring[at].flags.is_end());
        (first, last.unwrap_or(ring.len() - 1))
    }

    /// Advanced.Peer.Ack.Point moves over what was given up (RFC 3758 §3.5 C).
    pub(super) fn advance_ack_point(&mut self, is_agreed: bool) {
        if !is_agreed || (self.unreliable == 0 && !self.is_forwarding()) {
            self.advanced = self.first - 1;
            return;
        }
        self.advanced = self.advanced.max(self.first - 1);
        let from = place(self.advanced + 1 - self.first);
        let is_passed = |flight| matches!(flight, Flight::Abandoned | Flight::Acked);
        let passed = self.ring.range(from..).take_while(|entry| is_passed(entry.flight));
        let mut end = from;
        for (step, entry) in passed.enumerate() {
            if entry.flight == Flight::Abandoned {
                end = from + step + 1;
            }
        }
        self.advanced = self.first + end as u64 - 1;
        self.is_forward_due |= self.is_forwarding();
    }

    /// Whether the peer has to be told of chunks that will not come.
    const fn is_forwarding(&self) -> bool {
        self.advanced >= self.first
    }

    /// Appends FORWARD-TSN or I-FORWARD-TSN, of `limit` octets at most. It goes no further than the
    /// streams that it can name: the peer must hear of each number that it skips (RFC 3758 §3.5
    /// C4).
    pub(super) fn write_forward_tsn(&self, out: &mut Vec<u8>, limit: usize) {
        let count = place(self.advanced + 1 - self.first);
        let is_interleaved = self.is_interleaved;
        let item = if is_interleaved { 8 } else { 4 };
        let most = limit.saturating_sub(FORWARD_MARGIN) / item;
        let mut skips: Vec<(u16, bool, u32)> = Vec::new();
        let mut new_cumulative_tsn = self.advanced;
        for (index, entry) in self.ring.iter().take(count).enumerate() {
            let is_unordered = entry.flags.is_unordered();
            // What was reported as received in between may belong to a message that goes on.
            if entry.flight != Flight::Abandoned || (is_unordered && !is_interleaved) {
                continue;
            }
            let key = (entry.stream, is_unordered);
            match skips.iter().position(|skip| (skip.0, skip.1) == key) {
                Some(place) => skips[place].2 = entry.number,
                None if skips.len() == most => {
                    new_cumulative_tsn = self.first + index as u64 - 1;
                    break;
                }
                None => skips.push((entry.stream, is_unordered, entry.number)),
            }
        }
        let mut bytes = Vec::new();
        for (stream, is_unordered, number) in skips {
            bytes.extend_from_slice(&stream.to_be_bytes());
            if is_interleaved {
                bytes.extend_from_slice(&u16::from(is_unordered).to_be_bytes());
                bytes.extend_from_slice(&number.to_be_bytes());
            } else {
                bytes.extend_from_slice(&low16(number.into()).to_be_bytes());
            }
        }
        let new_cumulative_tsn = low32(new_cumulative_tsn);
        if is_interleaved {
            let skips = Skips::new(&bytes);
            Chunk::IForwardTsn(IForwardTsn { new_cumulative_tsn, skips }).write(out);
        } else {
            let skips = Gaps::new(&bytes);
            Chunk::ForwardTsn(ForwardTsn { new_cumulative_tsn, skips }).write(out);
        }
    }
}

impl Inbound {
    /// A FORWARD-TSN: what lacks will not come (RFC 3758 §3.6).
    pub(super) fn forward_tsn(
        &mut self,
        cx: &mut Context<'_>,
        forward: &ForwardTsn<'_>,
        counts_unread: bool,
    ) {
        if !self.skip_to(forward.new_cumulative_tsn) {
            return;
        }
        let tsn = unwrap32(self.received.cumulative(), forward.new_cumulative_tsn);
        let unread = counts_unread.then_some(&mut self.unread);
        let mut hand = cx.hand(unread);
        self.reassembly.forget_to(tsn, &mut hand);
        for (stream, ssn) in forward.skips.iter().filter(|skip| skip.0 < self.streams) {
            self.reassembly.skip(stream, u32::from(ssn), false, &mut hand);
        }
    }

    /// The same for I-DATA.
    pub(super) fn i_forward_tsn(
        &mut self,
        cx: &mut Context<'_>,
        forward: &IForwardTsn<'_>,
        counts_unread: bool,
    ) {
        if !self.skip_to(forward.new_cumulative_tsn) {
            return;
        }
        let unread = counts_unread.then_some(&mut self.unread);
        let mut hand = cx.hand(unread);
        for skip in forward.skips.iter().filter(|skip| skip.stream < self.streams) {
            self.reassembly.forget_mids(skip.stream, skip.is_unordered, skip.mid, &mut hand);
            if !skip.is_unordered {
                self.reassembly.skip(skip.stream, skip.mid, true, &mut hand);
            }
        }
    }
}
