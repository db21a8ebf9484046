//! What `tandem ctl diameter` shows of the peers of a function.

use crate::config::Carriage;
use crate::peers::{Peers, Way};
use diameter::{DisconnectCause, State};
use machine::Time;
use runtime::Effects;
use schemars::JsonSchema;
use serde::Serialize;

/// A peer as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DiameterPeerRow {
    /// Its name.
    pub peer: String,
    /// Its Origin-Host.
    pub host: String,
    /// `tcp`, `tls` or `sctp`.
    pub transport: Carriage,
    /// The state of RFC 6733 §5.6: `closed`, `opening`, `election`, `open`, `closing`.
    pub state: &'static str,
    /// The state of RFC 3539: `OKAY`, `SUSPECT`, …
    pub watchdog: &'static str,
    /// Since when, in microseconds since 1970.
    pub since_us: u64,
    /// Why it is not open; empty: nothing has happened yet.
    pub why: &'static str,
    /// Its Product-Name.
    pub product: String,
    /// Its Origin-State-Id: a higher one says that it has lost its sessions (RFC 6733 §8.16).
    pub origin_state: Option<u32>,
    /// Names of the applications that it has told, numbers where there is none.
    pub applications: Vec<String>,
    /// Messages that came from it.
    pub received: u64,
    /// Messages that it was sent.
    pub sent: u64,
    /// Requests that it has and has not answered.
    pub outstanding: u64,
    /// Requests that failed over from it.
    pub failed_over: u64,
    /// Connections with it that ended.
    pub losses: u64,
}

/// A connection as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DiameterConnectionRow {
    /// The peer, as soon as it is known.
    pub peer: Option<String>,
    /// The far end's address.
    pub remote: String,
    /// Whether this is TCP, TLS or SCTP.
    pub transport: Carriage,
}

/// A peer that an operator has connected or disconnected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DiameterActRow {
    /// Its name.
    pub peer: String,
    /// Its state now.
    pub state: &'static str,
}

const fn word(state: State) -> &'static str {
    match state {
        State::Closed => "closed",
        State::WaitConnAck | State::WaitICea => "opening",
        State::WaitConnAckElect | State::WaitReturns => "election",
        State::Open => "open",
        State::Closing => "closing",
    }
}

impl Peers {
    /// Every peer.
    #[must_use]
    pub fn peer_rows(&self) -> Vec<DiameterPeerRow> {
        let name = |id: &u32| {
            let found = self.node.dictionary().application(*id);
            found.map_or_else(|| id.to_string(), |it| it.name.to_owned())
        };
        let row = |(id, status): (diameter::PeerId, diameter::PeerStatus)| {
            let config = self.rows.get(&id)?;
            let counts = status.counts;
            Some(DiameterPeerRow {
                peer: config.name.clone(),
                host: status.host,
                transport: config.transport,
                state: word(status.state),
                watchdog: status.watchdog,
                since_us: status.since.as_micros(),
                why: status.why,
                product: status.product,
                origin_state: status.origin_state,
                applications: status.applications.iter().map(name).collect(),
                received: counts.messages_in,
                sent: counts.messages_out,
                outstanding: counts.outstanding,
                failed_over: counts.failed_over,
                losses: counts.losses,
            })
        };
        self.node.peers().filter_map(row).collect()
    }

    /// Every connection.
    #[must_use]
    pub fn connection_rows(&self) -> Vec<DiameterConnectionRow> {
        let row = |link: &crate::peers::Link| {
            let owner = link.peer.and_then(|id| self.rows.get(&id)).map(|row| row.name.clone());
            let (remote, transport) = match link.way {
                Way::Stream(flow) => {
                    let is_tls = flow.transport == runtime::Transport::Tls;
                    let transport = if is_tls { Carriage::Tls } else { Carriage::Tcp };
                    (flow.remote.to_string(), transport)
                }
                Way::Association(_) => {
                    let all: Vec<_> = link.remote.iter().map(ToString::to_string).collect();
                    (all.join(" "), Carriage::Sctp)
                }
            };
            DiameterConnectionRow { peer: owner, remote, transport }
        };
        self.links.values().map(row).collect()
    }
    /// Connects to the peer of that name now, or disconnects it until it is connected to again.
    pub fn operate(
        &mut self,
        now: Time,
        name: &str,
        is_wanted: bool,
        out: &mut Effects,
    ) -> Option<DiameterActRow> {
        let id = self.find(name)?;
        match is_wanted {
            true => self.start(now, id, out),
            false => self.stop(now, id, DisconnectCause::DoNotWantToTalkToYou, out),
        }
        let status = self.node.peers().find(|it| it.0 == id)?.1;
        Some(DiameterActRow { peer: name.to_owned(), state: word(status.state) })
    }
}
