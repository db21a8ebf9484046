//! Rules of a section tried on messages that were recorded: what they would refuse.

use crate::config::RuleSet;
use crate::sets::{Judged, RuleSets, Ruled};
use m3ua::codec::{Data, Message, MessageType, NetworkAppearance, ProtocolData};
use m3ua::{PeerId, Transfer};
use machine::{Duration, Time};
use sccp::codec::{Address, Message as SccpMessage, SERVICE_INDICATOR, Segmentation, Unit, Word};
use screening::{ReadCodes, Way};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Messages that wait for segments, at most.
const WAITING_MAX: usize = 4_096;
/// Octets of a message in segments (Q.713 §3.17: sixteen of them).
const OCTETS_MAX: usize = 16 * 256;

/// A message that was recorded.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a> {
    /// When, microseconds.
    pub at_us: u64,
    /// Who has sent it.
    pub source: IpAddr,
    /// Who got it.
    pub destination: IpAddr,
    /// One message of M3UA.
    pub octets: &'a [u8],
}

/// A message that would be refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// When it was recorded, microseconds.
    pub at_us: u64,
    /// The peer that has sent it; none: its address is no peer's.
    pub peer: Option<String>,
    /// Set and rule.
    pub by: String,
    /// What would become of it.
    pub action: &'static str,
    /// The operation, or what is wrong.
    pub operation: String,
    /// The calling title.
    pub calling: String,
    /// The called title.
    pub called: String,
}

/// Rules that are tried.
#[derive(Debug)]
pub struct Trial {
    rules: RuleSets,
    peers: Vec<(PeerId, String, Vec<IpAddr>)>,
    stranger: PeerId,
    own: Vec<IpAddr>,
    network: Option<NetworkAppearance>,
    /// By originating point code, reference and who calls.
    waiting: BTreeMap<(u32, u32, Address), Vec<u8>>,
    /// Messages with TCAP that the rules were asked about.
    pub judged: u64,
    /// Of those, messages that came in segments: what this node does not put together is refused or
    /// passes as `segments` says, whatever the rules say of it.
    pub segmented: usize,
    /// Recorded messages that did not come from a peer, or carry no TCAP.
    pub passed_over: u64,
    /// What would be refused.
    pub refused: Vec<Refusal>,
}

impl Trial {
    /// The rules of sets that were checked and loaded, with the names and addresses of peers, the
    /// own addresses, and the network of messages that name none.
    #[must_use]
    pub fn new(
        sets: &[RuleSet],
        codes: ReadCodes<'_>,
        peers: Vec<(String, Vec<IpAddr>)>,
        own: Vec<IpAddr>,
        network: Option<NetworkAppearance>,
    ) -> Self {
        let mut rules = RuleSets::new(0);
        rules.configure(sets, codes);
        let id = |n: usize| PeerId::of_numbers(machine::narrow::place(n), 0);
        let peers = peers.into_iter().enumerate();
        let it = Self {
            rules,
            peers: peers.map(|(n, (name, addresses))| (id(n), name, addresses)).collect(),
            stranger: id(usize::MAX),
            own,
            network,
            waiting: BTreeMap::new(),
            judged: 0,
            segmented: 0,
            passed_over: 0,
            refused: Vec::new(),
        };
        it.known()
    }

    fn known(mut self) -> Self {
        for (id, name, _) in &self.peers {
            self.rules.know(*id, name);
        }
        self.rules.know(self.stranger, "");
        self
    }

    /// Asks the rules about one message, as if it came when it was recorded: the oldest first, as
    /// rules ask where a subscriber was last. What this node has sent is passed over.
    pub fn take(&mut self, recorded: &Recorded<'_>) {
        // Where both sides have the same address, both directions are looked at.
        let is_from_peer = self.peer_of(recorded.source).is_some();
        let is_ours = !is_from_peer
            && (self.own.contains(&recorded.source)
                || self.peer_of(recorded.destination).is_some());
        let msu = Message::read(recorded.octets).ok().filter(|_| !is_ours).and_then(|it| msu(&it));
        let Some(mut msu) = msu else {
            self.passed_over += 1;
            return;
        };
        msu.network = msu.network.or(self.network);
        if self.judge(recorded, &msu).is_none() {
            self.passed_over += 1;
        }
    }

    fn peer_of(&self, address: IpAddr) -> Option<usize> {
        self.peers.iter().position(|it| it.2.contains(&address))
    }

    fn judge(&mut self, recorded: &Recorded<'_>, msu: &Transfer) -> Option<()> {
        let found = self.peer_of(recorded.source).and_then(|at| self.peers.get(at));
        let (from, peer) = match found {
            Some((id, name, _)) => (*id, Some(name.clone())),
            None => (self.stranger, None),
        };
        let now = Time::ZERO + Duration::from_micros(recorded.at_us);
        let message = SccpMessage::read(&msu.payload);
        let unit = message.as_ref().map_err(|it| *it).and_then(Unit::of);
        let Ok(unit) = unit else {
            self.judged += 1;
            let is_refused = self.rules.unread(now, from, msu);
            self.note(recorded, peer, is_refused);
            return Some(());
        };
        let unit = unit?;
        let (opc, dpc) = (msu.opc.number(), msu.dpc.number());
        let way = Way { opc, dpc, called: &unit.called, calling: &unit.calling };
        if matches!(unit.word, Word::Service(_)) || !way.has_tcap() {
            return None;
        }
        let whole;
        let data = match unit.segmentation {
            None => unit.data,
            Some(of) => {
                let Some(octets) = self.whole(opc, &unit, of) else { return Some(()) };
                whole = octets;
                &whole
            }
        };
        self.judged += 1;
        let judged = Judged { from: Some(from), network: msu.network, way, data };
        let is_refused = self.rules.judge(now, &judged) != Ruled::Passes;
        self.note(recorded, peer, is_refused);
        Some(())
    }

    /// The data of a message in segments when the last one has come.
    fn whole(&mut self, opc: u32, unit: &Unit<'_>, of: Segmentation) -> Option<Vec<u8>> {
        let key = (opc, of.reference, unit.calling);
        if of.is_first {
            let has_room = self.waiting.len() < WAITING_MAX || self.waiting.contains_key(&key);
            has_room.then(|| self.waiting.insert(key, Vec::new()))?;
        }
        // Of one whose beginning was not recorded nothing can be said.
        let octets = self.waiting.get_mut(&key)?;
        if octets.len() + unit.data.len() <= OCTETS_MAX {
            octets.extend_from_slice(unit.data);
        }
        if of.remaining > 0 {
            return None;
        }
        self.segmented += usize::from(!of.is_first);
        self.waiting.remove(&key)
    }

    fn note(&mut self, recorded: &Recorded<'_>, peer: Option<String>, is_refused: bool) {
        let Some(refused) = self.rules.take_last().filter(|_| is_refused) else { return };
        self.refused.push(Refusal {
            at_us: recorded.at_us,
            peer,
            by: refused.by,
            action: refused.action.name(),
            operation: refused.operation,
            calling: refused.calling,
            called: refused.called,
        });
    }
}

fn msu(message: &Message<'_>) -> Option<Transfer> {
    let Data { network, protocol_data, .. } =
        Data::of(message).ok().filter(|_| message.kind == MessageType::Data)?;
    let ProtocolData { opc, dpc, si, ni, mp, sls, payload } = protocol_data;
    let payload = bytes::Bytes::copy_from_slice(payload);
    (si == SERVICE_INDICATOR).then_some(Transfer { network, opc, dpc, si, ni, mp, sls, payload })
}
