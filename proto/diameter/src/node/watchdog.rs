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
use crate::codec::{Flags, Header, Message, Writer};
use crate::facts::Fact;
use crate::rows::base;
use crate::settings::PeerId;
use crate::timers::Timer;
use machine::Duration;

/// DWAs that a peer in Reopen has to send.
const REOPEN: u8 = 3;
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
    Reopen(u8),
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
        let number = self.next_end_to_end();
        let Some(peer) = self.peers.find_mut(id) else { return };
        let Some(way) = peer.way else { return };
        peer.watchdog.is_pending = true;
        peer.watchdog.number = number;
        let header = Header {
            flags: Flags(Flags::REQUEST),
            command: base::DEVICE_WATCHDOG.code,
            application: 0,
            hop_by_hop: number,
            end_to_end: number,
        };
        let writer_state = self.settings.origin_state;
        self.send_own(way, Some(id), &header, None, |out| {
            if writer_state > 0 {
                out.number(&base::ORIGIN_STATE_ID, writer_state);
            }
        });
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
            return self.count(Fact::Stray);
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
                self.count(Fact::Suspects);
                self.set_watchdog(id);
                self.fail_over(id, true);
            }
            _ => {
                self.count(Fact::Suspects);
                self.end(id, "it has left watchdogs unanswered");
            }
        }
    }

    /// Answers a DWR.
    pub(super) fn answer_watchdog(&mut self, id: PeerId, message: &Message<'_>) {
        let Some(way) = self.peers.find(id).and_then(|peer| peer.way) else { return };
        let (code, state) = (crate::codec::ResultCode::Success, self.settings.origin_state);
        self.send_own(way, Some(id), &answer_header(&message.header), Some(code), |out| {
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
    /// Sends a message between neighbours: the result, this node's names, and what `fill` adds.
    pub(super) fn send_own(
        &mut self,
        way: crate::settings::Connection,
        peer: Option<PeerId>,
        header: &Header,
        code: Option<crate::codec::ResultCode>,
        fill: impl FnOnce(&mut crate::codec::AvpWriter<'_>),
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
