//! An Application Server: its ASPs, its state, the MSUs that wait for it (RFC 4666 §4.3.2).
//!
//! ```text
//!                 an ASP is up            enough are active
//!   AS-DOWN ───────────────→ AS-INACTIVE ───────────────→ AS-ACTIVE
//!      ↑  ←──────────────────────┘  ↑                      │     ↑ one is active
//!      │      all are down          │ T(r), one is up      ↓     │
//!      └─────────────────────────── AS-PENDING ←── the last one has gone
//!              T(r), all are down
//! ```

use crate::codec::{MessageType, RoutingContext, ServerState, TrafficMode};
use crate::effects::Transfer;
use crate::id::PeerId;
use crate::loadshare::Flows;
use crate::settings::ServerSettings;
use machine::Time;
use std::collections::VecDeque;

/// State of an ASP within an Application Server, together with that of its peer (RFC 4666
/// §4.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemberState {
    /// ASP-DOWN.
    Down,
    /// ASP-INACTIVE.
    Inactive,
    /// ASP-ACTIVE.
    Active,
}

/// An ASP of an Application Server: the peer, or this process at that peer.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) peer: PeerId,
    /// The name of the Application Server at that peer.
    pub(crate) routing_context: Option<RoutingContext>,
    pub(crate) state: MemberState,
    /// This process wants to be active there.
    pub(crate) wants_active: bool,
    /// What this process has asked for and how often, until it is answered.
    pub(crate) asked: Option<(MessageType, u16)>,
    /// The peer came by registration and goes with it, or this process registered there.
    pub(crate) is_registered: bool,
    /// This process wants to give the Routing Context back.
    pub(crate) gives_back: bool,
    /// Until then DATA is taken though the ASP is not active any more: it was under way.
    pub(crate) drains_until: Time,
}

impl Member {
    pub(crate) const fn new(peer: PeerId, routing_context: Option<RoutingContext>) -> Self {
        Self {
            peer,
            routing_context,
            state: MemberState::Down,
            wants_active: false,
            asked: None,
            is_registered: false,
            gives_back: false,
            drains_until: Time::ZERO,
        }
    }
}

/// MSUs that wait, with their limits kept by whoever puts them in.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    queue: VecDeque<Transfer>,
    bytes: usize,
}

impl Waiting {
    pub(crate) fn push(&mut self, transfer: Transfer) {
        self.bytes += transfer.payload.len();
        self.queue.push_back(transfer);
    }

    /// Takes the newest back; its octets.
    pub(crate) fn drop_newest(&mut self) -> Option<usize> {
        let bytes = self.queue.pop_back()?.payload.len();
        self.bytes -= bytes;
        Some(bytes)
    }

    pub(crate) fn has_room(&self, bytes: usize, messages_max: usize, bytes_max: usize) -> bool {
        self.queue.len() < messages_max && self.bytes + bytes <= bytes_max
    }

    /// All of them, oldest first, and their octets; nothing waits afterwards.
    pub(crate) fn take(&mut self) -> (VecDeque<Transfer>, usize) {
        (core::mem::take(&mut self.queue), core::mem::take(&mut self.bytes))
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }
}

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) settings: ServerSettings,
    /// The peer whose registration made it; it goes with the last registration.
    pub(crate) registrant: Option<PeerId>,
    /// The mode once it is known.
    pub(crate) mode: Option<TrafficMode>,
    pub(crate) state: ServerState,
    pub(crate) members: Vec<Member>,
    pub(crate) flows: Flows,
    /// Flows whose next broadcast bears a Correlation Id, by SLS.
    untagged: [u64; 4],
    correlation: u32,
    pub(crate) waiting: Waiting,
}

impl Server {
    pub(crate) fn new(settings: ServerSettings, registrant: Option<PeerId>) -> Self {
        Self {
            mode: settings.mode,
            settings,
            registrant,
            state: ServerState::Down,
            members: Vec::new(),
            flows: Flows::new(),
            untagged: [0; 4],
            correlation: 0,
            waiting: Waiting::default(),
        }
    }

    pub(crate) fn traffic_mode(&self) -> TrafficMode {
        self.mode.unwrap_or(TrafficMode::Override)
    }

    #[inline]
    pub(crate) fn member(&self, peer: PeerId) -> Option<&Member> {
        self.members.iter().find(|member| member.peer == peer)
    }

    pub(crate) fn member_mut(&mut self, peer: PeerId) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.peer == peer)
    }

    pub(crate) fn count(&self, state: MemberState) -> usize {
        self.members.iter().filter(|member| member.state == state).count()
    }

    /// Active ASPs without which it does not become AS-ACTIVE.
    fn asps_min(&self) -> usize {
        match self.traffic_mode() {
            TrafficMode::Override => 1,
            TrafficMode::Loadshare | TrafficMode::Broadcast => {
                usize::from(self.settings.asps_min.max(1))
            }
        }
    }

    /// Whether there are ASPs for the load, though fewer than it needs.
    pub(crate) fn lacks_asps(&self) -> bool {
        let active = self.count(MemberState::Active);
        active > 0 && active < self.asps_min()
    }

    /// A state has changed: flows are dealt anew, and a newcomer to a broadcast is given the means
    /// to fall in (RFC 4666 §4.3.4.3).
    pub(crate) fn members_changed(&mut self, has_newcomer: bool) {
        let indexes = self.members.iter().enumerate();
        let active = indexes.filter(|(_, member)| member.state == MemberState::Active);
        let active: Vec<usize> = active.map(|(index, _)| index).collect();
        self.flows.deal(&active);
        if has_newcomer && self.traffic_mode() == TrafficMode::Broadcast {
            self.untagged = [u64::MAX; 4];
        }
        if self.members.iter().all(|member| member.state == MemberState::Down) {
            self.mode = self.settings.mode;
        }
    }

    /// The state that follows from those of the ASPs. AS-PENDING ends by T(r) or by an ASP.
    pub(crate) fn next_state(&self) -> ServerState {
        let active = self.count(MemberState::Active);
        let up = active + self.count(MemberState::Inactive);
        match self.state {
            ServerState::Down | ServerState::Inactive if active >= self.asps_min() => {
                ServerState::Active
            }
            ServerState::Down | ServerState::Inactive if up > 0 => ServerState::Inactive,
            ServerState::Down | ServerState::Inactive => ServerState::Down,
            ServerState::Active | ServerState::Pending if active > 0 => ServerState::Active,
            ServerState::Active | ServerState::Pending => ServerState::Pending,
        }
    }

    /// The state after T(r).
    pub(crate) fn state_after_recovery(&self) -> ServerState {
        let is_up = self.count(MemberState::Inactive) > 0;
        if is_up { ServerState::Inactive } else { ServerState::Down }
    }

    /// The Correlation Id of the next broadcast in a flow, where one is due.
    pub(crate) fn tag(&mut self, sls: u8) -> Option<u32> {
        let (word, bit) = (usize::from(sls) / 64, 1 << (sls % 64));
        if self.untagged[word] & bit == 0 {
            return None;
        }
        self.untagged[word] &= !bit;
        self.correlation = self.correlation.wrapping_add(1);
        Some(self.correlation)
    }
}
