//! The watchdog of RFC 3539 §3.4.1.
//!
//! ```text
//!            Tw, unanswered        Tw
//!   Okay ───────────────→ Suspect ──→ Down
//!    ↑ ↑ ←──────────────────┘          │ connected again
//!    │      whatever comes             ↓
//!    └────────────────────────────── Reopen
//!              three DWAs
//! ```
//! A peer in Reopen is sent requests where no other one of their route is Okay: a lone server is
//! not kept waiting for three intervals.

use super::{Node, State};
use crate::codec::{AvpWriter, Flags, Header, Message, ResultCode, Writer};
use crate::metrics::Metric;
use crate::rows::base;
use crate::settings::{Connection, PeerId};
use crate::timers::Timer;
use machine::Duration;

/// DWAs that a peer in Reopen has to send.
const REOPEN: i8 = 3;
/// By how much Tw differs each time, at most (RFC 3539 §3.4.1).
const JITTER_MS: u64 = 2_000;

/// How a peer answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Watch {
    #[default]
    Initial,
    Okay,
    Suspect,
    Down,
    /// NumDWA: DWAs that came; -1 when one is missed.
    Reopen(i8),
}

/// The watchdog of one peer.
#[derive(Debug, Default)]
pub(crate) struct Watchdog {
    pub watch: Watch,
    /// A DWR is under way.
    pub is_pending: bool,
    /// The identifiers of the last DWR.
    number: u32,
}

impl Watchdog {
    pub(crate) const fn readiness(&self) -> Option<u8> {
        match self.watch {
            Watch::Okay => Some(0),
            Watch::Reopen(_) => Some(1),
            Watch::Initial | Watch::Suspect | Watch::Down => None,
        }
    }

    pub(crate) const fn word(&self) -> &'static str {
        match self.watch {
            Watch::Initial => "INITIAL",
            Watch::Okay => "OKAY",
            Watch::Suspect => "SUSPECT",
            Watch::Down => "DOWN",
            Watch::Reopen(_) => "REOPEN",
        }
    }
}

impl Node {
    /// A connection with a peer is open.
    pub(super) fn watch(&mut self, id: PeerId) {
        let Some(peer) = self.peers.find_mut(id) else { return };
        let was_down = peer.watchdog.watch == Watch::Down;
        peer.watchdog.is_pending = false;
        peer.watchdog.watch = if was_down { Watch::Reopen(0) } else { Watch::Okay };
        if was_down {
            self.send_watchdog(id);
        }
        self.set_watchdog(id);
    }

    /// Its connection has ended.
    pub(super) fn unwatch(&mut self, id: PeerId) {
        self.timers.cancel(Timer::Watchdog(id));
        if let Some(peer) = self.peers.find_mut(id) {
            peer.watchdog.watch = Watch::Down;
            peer.watchdog.is_pending = false;
        }
    }

    fn set_watchdog(&mut self, id: PeerId) {
        let jitter = Duration::from_millis(self.random() % (2 * JITTER_MS));
        let least = Duration::from_millis(JITTER_MS);
        let time = self.settings.parameters.t_watchdog + jitter - least;
        self.timers.arm(Timer::Watchdog(id), self.now + time);
    }

    /// Asks a peer whether it lives.
    pub(super) fn send_watchdog(&mut self, id: PeerId) {
        let header = self.own_request(base::DEVICE_WATCHDOG.code);
        let Some(peer) = self.peers.find_mut(id) else { return };
        let Some(way) = peer.way else { return };
        peer.watchdog.is_pending = true;
        peer.watchdog.number = header.hop_by_hop;
        self.send_with_state(way, id, &header, None);
    }

    /// The same out of its turn: the answer has a whole Tw.
    pub(super) fn probe(&mut self, id: PeerId) {
        self.send_watchdog(id);
        self.set_watchdog(id);
    }

    /// Something came that is not a DWA.
    pub(super) fn heard(&mut self, id: PeerId) {
        let Some(peer) = self.peers.find_mut(id) else { return };
        match peer.watchdog.watch {
            Watch::Okay => self.set_watchdog(id),
            Watch::Suspect => self.failback(id),
            Watch::Initial | Watch::Down | Watch::Reopen(_) => {}
        }
    }

    pub(super) fn watchdog_answered(&mut self, id: PeerId, message: &Message<'_>) {
        let Some(peer) = self.peers.find_mut(id) else { return };
        let watchdog = &mut peer.watchdog;
        if !watchdog.is_pending || message.header.hop_by_hop != watchdog.number {
            return self.count(Metric::Stray);
        }
        watchdog.is_pending = false;
        match watchdog.watch {
            Watch::Okay => self.set_watchdog(id),
            Watch::Suspect => self.failback(id),
            Watch::Reopen(count) if count + 1 >= REOPEN => watchdog.watch = Watch::Okay,
            Watch::Reopen(count) => watchdog.watch = Watch::Reopen(count + 1),
            Watch::Initial | Watch::Down => {}
        }
    }

    fn failback(&mut self, id: PeerId) {
        if let Some(peer) = self.peers.find_mut(id) {
            peer.watchdog.watch = Watch::Okay;
        }
        self.set_watchdog(id);
        self.resume(id);
    }

    /// Tw has run out.
    pub(super) fn watchdog_due(&mut self, id: PeerId) {
        let Some(peer) = self.peers.find_mut(id) else { return };
        if peer.state != State::Open {
            return;
        }
        match (peer.watchdog.watch, peer.watchdog.is_pending) {
            (Watch::Okay | Watch::Reopen(_), false) => {
                self.send_watchdog(id);
                self.set_watchdog(id);
            }
            (Watch::Okay, true) => {
                peer.watchdog.watch = Watch::Suspect;
                self.count(Metric::Suspects);
                self.set_watchdog(id);
                self.fail_over(id, true);
            }
            (Watch::Reopen(0..), true) => {
                peer.watchdog.watch = Watch::Reopen(-1);
                self.count(Metric::Suspects);
                self.set_watchdog(id);
            }
            _ => {
                self.count(Metric::Suspects);
                self.end(id, "it has left watchdogs unanswered");
            }
        }
    }

    /// Answers a DWR.
    pub(super) fn answer_watchdog(&mut self, id: PeerId, message: &Message<'_>) {
        let Some(way) = self.peers.find(id).and_then(|peer| peer.way) else { return };
        let header = answer_header(&message.header);
        self.send_with_state(way, id, &header, Some(ResultCode::Success));
    }

    /// Sends a DWR or a DWA.
    fn send_with_state(
        &mut self,
        way: Connection,
        id: PeerId,
        header: &Header,
        code: Option<ResultCode>,
    ) {
        let state = self.settings.origin_state;
        self.send_own(way, Some(id), header, code, |out| {
            if state > 0 {
                out.number(&base::ORIGIN_STATE_ID, state);
            }
        });
    }
}

/// The header of the answer to a request.
pub(super) const fn answer_header(request: &Header) -> Header {
    Header { flags: Flags(request.flags.0 & Flags::PROXIABLE), ..*request }
}

impl Node {
    /// The header of a request to a neighbour.
    pub(super) const fn own_request(&mut self, command: u32) -> Header {
        let number = self.next_end_to_end();
        Header {
            flags: Flags(Flags::REQUEST),
            command,
            application: 0,
            hop_by_hop: number,
            end_to_end: number,
        }
    }

    /// Sends a message between neighbours: the result, this node's names, and what `fill` adds.
    pub(super) fn send_own(
        &mut self,
        way: Connection,
        peer: Option<PeerId>,
        header: &Header,
        code: Option<ResultCode>,
        fill: impl FnOnce(&mut AvpWriter<'_>),
    ) {
        let mut octets = Vec::with_capacity(256);
        let mut writer = Writer::begin(&mut octets, header);
        if let Some(code) = code {
            writer = writer.result(code);
        }
        writer = writer
            .put(&base::ORIGIN_HOST, &self.settings.host)
            .put(&base::ORIGIN_REALM, &self.settings.realm);
        fill(writer.avps());
        if writer.end().is_ok() {
            self.send(way, peer, octets.into());
        }
    }
}
