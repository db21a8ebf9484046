//! What comes of user data: which TSNs are here, what waits for order, what the user has not taken,
//! and the SACKs that are owed for it (RFC 9260 §6.2).

use super::reassembly::Reassembly;
use super::received::Received;
use crate::id::unwrap32;
use crate::parameters::Parameters;
use machine::{Duration, Time};

/// Octets that may wait beyond twice the receive buffer.
const OVERDRAFT_BYTES: usize = 1 << 16;

/// SACK.Delay at most, whatever is set (RFC 9260 §6.2).
const SACK_DELAY_MAX: Duration = Duration::from_millis(500);

/// What is owed to the peer in SACKs (RFC 9260 §6.2).
#[derive(Debug, Default)]
pub(super) struct Sacking {
    /// Packets with DATA since the last SACK.
    pub(super) packets: u16,
    /// The packet at hand brought DATA.
    pub(super) has_data: bool,
    pub(super) is_due: bool,
    pub(super) until: Option<Time>,
    /// A SACK was sent: the first DATA is acknowledged at once (RFC 9260 §5.1).
    pub(super) has_begun: bool,
    /// Where the last DATA came from.
    pub(super) path: usize,
}

/// The receiving side of an association.
#[derive(Debug)]
pub(super) struct Inbound {
    /// Streams of the peer's.
    pub(super) streams: u16,
    pub(super) received: Received,
    pub(super) reassembly: Reassembly,
    /// Octets delivered that the user has not taken.
    pub(super) unread: usize,
    /// The window last advertised.
    pub(super) advertised: u32,
    pub(super) sacking: Sacking,
    /// Octets that all of this may take: it stays as it was when the association began.
    buffer: u32,
}

impl Inbound {
    pub(super) fn new(streams: u16, buffer: u32) -> Self {
        Self {
            streams,
            received: Received::new(0),
            reassembly: Reassembly::default(),
            unread: 0,
            advertised: buffer,
            sacking: Sacking::default(),
            buffer,
        }
    }

    /// The window to advertise, octets (RFC 9260 §6.2).
    pub(super) fn window(&self) -> u32 {
        let used = u32::try_from(self.reassembly.held() + self.unread).unwrap_or(u32::MAX);
        self.buffer.saturating_sub(used)
    }

    /// What is next in order is taken although the window is closed: an honest peer's goes to the
    /// user soon. More than twice the buffer that does not is a message too large, or an attack.
    pub(super) fn is_overdrawn(&self) -> bool {
        let most = 2 * self.buffer as usize + OVERDRAFT_BYTES;
        self.reassembly.held() > most || self.is_full()
    }

    pub(super) fn is_full(&self) -> bool {
        self.reassembly.is_full(self.buffer as usize)
    }

    pub(super) fn is_without_room(&self, bytes: usize) -> bool {
        (self.window() as usize) < bytes || self.is_full()
    }

    /// The packet is over: a SACK is due at once, or after a while (RFC 9260 §6.2, §6.7).
    pub(super) fn packet_ends(&mut self, now: Time, parameters: &Parameters) {
        if !core::mem::take(&mut self.sacking.has_data) {
            return;
        }
        self.sacking.packets += 1;
        let is_frequent = self.sacking.packets >= parameters.sack_frequency;
        self.sacking.is_due |= is_frequent || self.received.has_gaps();
        if !self.sacking.is_due {
            let delay = parameters.sack_delay.min(SACK_DELAY_MAX);
            self.sacking.until.get_or_insert(now + delay);
        }
    }

    /// Moves the Cumulative TSN on; false when it stands there already. The SACK is due at once.
    pub(super) fn skip_to(&mut self, tsn: u32) -> bool {
        let tsn = unwrap32(self.received.cumulative(), tsn);
        self.sacking.is_due = true;
        let is_new = tsn > self.received.cumulative();
        let is_near = tsn <= self.received.cumulative() + super::received::WINDOW;
        if is_new && is_near {
            self.received.skip_to(tsn);
        }
        is_new && is_near
    }
}
