//! Bursts and gaps of a stream (RFC 3611 §4.7.2), counted as packets leave the window of what may
//! still come.
//!
//! ```text
//!   1 1 1 1 … 1 1 1 1 0 1 1 0 0 1 1 0 1 1 1 … 1 1 1 1 1 1 0 1 1 1 …
//!   └── gap ───────┘ └─── burst ───┘ └─ Gmin and more ──┘ └ a loss alone is part of the gap
//! ```

/// Packets received in a row that end a burst (RFC 3611 §4.7.2: 16 is recommended).
pub const GMIN: u8 = 16;

/// What is counted. 21 octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counting {
    /// Runs of packets that are lost one behind the other.
    pub(crate) loss_runs: u32,
    /// Bursts that have ended.
    bursts: u32,
    /// Packets of them.
    packets: u32,
    /// Losses in them.
    losses: u32,
    /// What may become a burst: packets from its first loss to its last.
    open_packets: u16,
    /// Losses of it.
    open_losses: u16,
    /// Packets received since the last loss, up to [`GMIN`].
    received: u8,
}

impl Counting {
    pub(crate) const NEW: Self = Self {
        loss_runs: 0,
        bursts: 0,
        packets: 0,
        losses: 0,
        open_packets: 0,
        open_losses: 0,
        received: GMIN,
    };

    /// So many packets in a row were received.
    #[inline]
    pub(crate) fn received(&mut self, count: u32) {
        if self.received == GMIN {
            return;
        }
        let sum = u32::from(self.received).saturating_add(count).min(u32::from(GMIN));
        // At most Gmin.
        self.received = u8::try_from(sum).unwrap_or(GMIN);
        if self.received == GMIN {
            self.close();
        }
    }

    /// So many packets in a row were lost.
    pub(crate) fn lost(&mut self, count: u32) {
        if count == 0 {
            return;
        }
        if self.received > 0 {
            self.loss_runs = self.loss_runs.wrapping_add(1);
        }
        let within = if self.open_losses > 0 { u32::from(self.received) } else { 0 };
        let packets = u32::from(self.open_packets).saturating_add(within).saturating_add(count);
        let losses = u32::from(self.open_losses).saturating_add(count);
        match (u16::try_from(packets), u16::try_from(losses)) {
            (Ok(packets), Ok(losses)) => {
                self.open_packets = packets;
                self.open_losses = losses;
            }
            // A burst of twenty minutes is told as two.
            _ => self.end(packets, losses),
        }
        self.received = 0;
    }

    fn close(&mut self) {
        if self.open_losses > 1 {
            self.end(u32::from(self.open_packets), u32::from(self.open_losses));
        }
        (self.open_packets, self.open_losses) = (0, 0);
    }

    fn end(&mut self, packets: u32, losses: u32) {
        self.bursts = self.bursts.wrapping_add(1);
        self.packets = self.packets.wrapping_add(packets);
        self.losses = self.losses.wrapping_add(losses);
        (self.open_packets, self.open_losses) = (0, 0);
    }

    /// What came of it, of so many packets and losses in all.
    pub(crate) fn figures(mut self, packets: u32, losses: u32) -> Bursts {
        let ends_in_burst = self.open_losses > 1 && self.received == 0;
        self.close();
        Bursts {
            bursts: self.bursts,
            gaps: self.bursts + u32::from(!ends_in_burst),
            burst_packets: self.packets,
            burst_losses: self.losses,
            gap_packets: packets.saturating_sub(self.packets),
            gap_losses: losses.saturating_sub(self.losses),
            loss_runs: self.loss_runs,
        }
    }
}

/// Bursts and gaps of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bursts {
    /// Bursts: two losses and more, fewer than [`GMIN`] packets received in a row between them.
    pub bursts: u32,
    /// What lies between them, before the first and behind the last.
    pub gaps: u32,
    /// Packets of all bursts, those lost included.
    pub burst_packets: u32,
    /// Losses in bursts.
    pub burst_losses: u32,
    /// Packets of all gaps, those lost included.
    pub gap_packets: u32,
    /// Losses in gaps.
    pub gap_losses: u32,
    /// Runs of packets that are lost one behind the other.
    pub loss_runs: u32,
}

fn ratio(part: u32, whole: u32) -> f64 {
    if whole == 0 { 0.0 } else { f64::from(part) / f64::from(whole) }
}

impl Bursts {
    /// The fraction of packets that is lost in bursts, 0 to 1.
    #[must_use]
    pub fn burst_density(&self) -> f64 {
        ratio(self.burst_losses, self.burst_packets)
    }

    /// The fraction of packets that is lost in gaps, 0 to 1.
    #[must_use]
    pub fn gap_density(&self) -> f64 {
        ratio(self.gap_losses, self.gap_packets)
    }

    /// The mean length of a burst in packets.
    #[must_use]
    pub fn burst_length(&self) -> f64 {
        ratio(self.burst_packets, self.bursts)
    }

    /// The mean length of a gap in packets.
    #[must_use]
    pub fn gap_length(&self) -> f64 {
        ratio(self.gap_packets, self.gaps)
    }

    /// The burst ratio: the mean length of a run of losses over what it would be if they were
    /// independent; 1 without losses (G.107 (06/2015) §7.5).
    #[must_use]
    pub fn burst_ratio(&self) -> f64 {
        let losses = self.burst_losses.saturating_add(self.gap_losses);
        let packets = self.burst_packets.saturating_add(self.gap_packets);
        if self.loss_runs == 0 || losses >= packets {
            return 1.0;
        }
        ratio(losses, self.loss_runs) * (1.0 - ratio(losses, packets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Bursts {
        let mut counting = Counting::NEW;
        let (mut packets, mut losses) = (0, 0);
        for word in text.split(' ') {
            let (kind, count) = word.split_at(1);
            let count: u32 = count.parse().unwrap();
            packets += count;
            if kind == "-" {
                losses += count;
                counting.lost(count);
            } else {
                counting.received(count);
            }
        }
        counting.figures(packets, losses)
    }

    #[test]
    fn a_loss_alone_is_part_of_a_gap() {
        let it = of("+20 -1 +20 -1 +16");
        assert_eq!((it.bursts, it.gaps, it.gap_packets, it.gap_losses), (0, 1, 58, 2));
        assert_eq!((it.burst_density(), it.burst_length()), (0.0, 0.0));
    }

    #[test]
    fn fifteen_in_a_row_do_not_end_a_burst_and_sixteen_do() {
        let it = of("+20 -1 +15 -1 +16 -1 +30");
        assert_eq!((it.bursts, it.burst_packets, it.burst_losses), (1, 17, 2));
        assert_eq!((it.gaps, it.gap_packets, it.gap_losses), (2, 67, 1));
    }

    #[test]
    fn one_that_has_not_ended_is_told_as_it_is() {
        let it = of("+20 -2");
        assert_eq!((it.bursts, it.gaps, it.burst_packets, it.burst_losses), (1, 1, 2, 2));
        assert_eq!((of("+20 -2 +1").gaps, of("+20 -2 +1").gap_packets), (2, 21));
    }

    #[test]
    fn the_burst_ratio_is_one_for_single_losses_and_grows_with_their_runs() {
        assert_eq!(of("+20").burst_ratio(), 1.0);
        let (single, runs) = (of("+50 -1 +49").burst_ratio(), of("+45 -5 +50").burst_ratio());
        assert!((single - 0.99).abs() < 1e-9 && (runs - 4.75).abs() < 1e-9, "{single} {runs}");
    }

    #[test]
    fn a_burst_that_never_ends_is_told_in_pieces() {
        let it = of("+20 -65000 +1 -65000 +1 -10 +40");
        assert_eq!((it.burst_packets, it.burst_losses), (130_011, 130_010));
        assert_eq!(it.bursts, 2);
    }
}
