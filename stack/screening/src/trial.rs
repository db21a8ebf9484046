//! Rules of a section tried on messages that were recorded: what they would refuse.

use crate::config::RuleSet;
use crate::sets::{Judged, RuleSets, Ruled};
use m3ua::codec::{Data, Message, MessageType, ProtocolData};
use m3ua::{PeerId, Transfer};
use machine::{Duration, Time};
use sccp::codec::{Message as SccpMessage, SERVICE_INDICATOR, Unit, Word};
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
    waiting: BTreeMap<(u32, u32), Vec<u8>>,
    /// Messages with TCAP that the rules were asked about.
    pub judged: u64,
    /// Recorded messages that did not come from a peer, or carry no TCAP.
    pub passed_over: u64,
    /// What would be refused.
    pub refused: Vec<Refusal>,
}

impl Trial {
    /// The rules of sets that were checked and loaded, with the names and addresses of peers, and
    /// the own addresses.
    #[must_use]
    pub fn new(
        sets: &[RuleSet],
        codes: ReadCodes<'_>,
        peers: Vec<(String, Vec<IpAddr>)>,
        own: Vec<IpAddr>,
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
            waiting: BTreeMap::new(),
            judged: 0,
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

    /// Asks the rules about one message, as if it came now. What this node has sent is passed over.
    pub fn take(&mut self, recorded: &Recorded<'_>) {
        // Where both sides have the same address, both directions are looked at.
        let is_from_peer = self.peer_of(recorded.source).is_some();
        let is_ours = !is_from_peer
            && (self.own.contains(&recorded.source)
                || self.peer_of(recorded.destination).is_some());
        let msu = Message::read(recorded.octets).ok().filter(|_| !is_ours).and_then(|it| msu(&it));
        let Some(msu) = msu else {
            self.passed_over += 1;
            return;
        };
        if self.judge(recorded, &msu).is_none() {
            self.passed_over += 1;
        }
    }

    fn peer_of(&self, address: IpAddr) -> Option<usize> {
        self.peers.iter().position(|it| it.2.contains(&address))
    }

    fn judge(&mut self, recorded: &Recorded<'_>, msu: &Transfer) -> Option<()> {
        let message = SccpMessage::read(&msu.payload).ok()?;
        let unit = Unit::of(&message).ok()??;
        let way = Way {
            opc: msu.opc.number(),
            dpc: msu.dpc.number(),
            called: &unit.called,
            calling: &unit.calling,
        };
        if matches!(unit.word, Word::Service(_)) || !way.has_tcap() {
            return None;
        }
        let whole;
        let data = match unit.segmentation {
            None => unit.data,
            Some(of) => {
                let key = (msu.opc.number(), of.reference);
                if self.waiting.len() >= WAITING_MAX && !self.waiting.contains_key(&key) {
                    return None;
                }
                let octets = self.waiting.entry(key).or_default();
                if of.is_first {
                    octets.clear();
                }
                if octets.len() + unit.data.len() <= OCTETS_MAX {
                    octets.extend_from_slice(unit.data);
                }
                if of.remaining > 0 {
                    return Some(());
                }
                whole = self.waiting.remove(&key)?;
                &whole
            }
        };
        let found = self.peer_of(recorded.source).and_then(|at| self.peers.get(at));
        let (from, peer) = match found {
            Some((id, name, _)) => (*id, Some(name.clone())),
            None => (self.stranger, None),
        };
        self.judged += 1;
        let now = Time::ZERO + Duration::from_micros(recorded.at_us);
        let judged = Judged { from: Some(from), network: msu.network, way, data };
        if self.rules.judge(now, &judged) == Ruled::Passes {
            return Some(());
        }
        let refused = self.rules.take_last()?;
        self.refused.push(Refusal {
            at_us: recorded.at_us,
            peer,
            by: refused.by,
            action: refused.action.name(),
            operation: refused.operation,
            calling: refused.calling,
            called: refused.called,
        });
        Some(())
    }
}

fn msu(message: &Message<'_>) -> Option<Transfer> {
    let Data { network, protocol_data, .. } =
        Data::of(message).ok().filter(|_| message.kind == MessageType::Data)?;
    let ProtocolData { opc, dpc, si, ni, mp, sls, payload } = protocol_data;
    let payload = bytes::Bytes::copy_from_slice(payload);
    (si == SERVICE_INDICATOR).then_some(Transfer { network, opc, dpc, si, ni, mp, sls, payload })
}
