//! What an endpoint leaves with the guardian of its process: of each association that stands, the
//! packet that aborts it. When the process dies, its peers hear so at once instead of after their
//! timers (RFC 9260 §8.1).

use guardian::{Carrier, Holder, LastWord, Route};
use runtime::Flow;
use sctp::AssociationId;
use sctp::codec::{ChunkType, Packet};
use std::collections::{BTreeMap, BTreeSet};

/// Whether a packet is one of those that an endpoint leaves: an ABORT with the tag of the peer, by
/// itself or behind what authenticates it (RFC 9260 §3.3.7, RFC 4895 §4.1).
#[must_use]
pub fn is_abort(packet: &[u8]) -> bool {
    let Some(packet) = Packet::read(packet).ok().filter(Packet::checksum_holds) else {
        return false;
    };
    let (auth, abort) = (ChunkType::Auth.number(), ChunkType::Abort.number());
    let kinds: Vec<Option<u8>> = packet
        .chunks()
        .map(|chunk| chunk.ok().filter(|it| it.flags == 0).map(|it| it.kind))
        .take(3)
        .collect();
    kinds == [Some(abort)] || kinds == [Some(auth), Some(abort)]
}

/// What was left, and what is to be.
#[derive(Debug)]
pub(crate) struct Will {
    holder: Holder,
    /// Associations that the guardian knows, by the numbers that it knows them by.
    known: BTreeMap<AssociationId, u64>,
    /// Those of which something has changed.
    owed: BTreeSet<AssociationId>,
    last: u64,
}

impl Will {
    /// That of an endpoint in a process that has a guardian.
    pub(crate) fn new() -> Option<Self> {
        let holder = guardian::installed()?.holder();
        let (known, owed) = (BTreeMap::new(), BTreeSet::new());
        Some(Self { holder, known, owed, last: 0 })
    }

    /// Something of an association has changed.
    pub(crate) fn changed(&mut self, id: AssociationId) {
        self.owed.insert(id);
    }

    /// Nothing of what was left counts any more.
    pub(crate) fn forget(&mut self) {
        self.owed.extend(self.known.keys().copied());
    }

    /// Says what has changed; `packet` gives the packet of an association and its ways, none when
    /// it is over. What the guardian does not take now is said the next time.
    pub(crate) fn say(
        &mut self,
        carrier: Carrier,
        mut packet: impl FnMut(AssociationId) -> (Vec<u8>, Vec<Flow>),
    ) {
        let route = |flow: &Flow| Route { carrier, local: flow.local, remote: flow.remote };
        while let Some(id) = self.owed.first().copied() {
            let (octets, flows) = packet(id);
            let key = self.known.get(&id).copied();
            let is_said = match (key, flows.is_empty()) {
                (None, true) => true,
                (Some(key), true) => self.holder.release(key),
                (key, false) => {
                    let key = key.unwrap_or(self.last + 1);
                    self.last = self.last.max(key);
                    let routes = flows.iter().take(guardian::ROUTES_MAX).map(route).collect();
                    let is_said = self.holder.hold(key, LastWord { octets, routes });
                    if is_said {
                        self.known.insert(id, key);
                    }
                    is_said
                }
            };
            if !is_said {
                return;
            }
            if flows.is_empty() {
                self.known.remove(&id);
            }
            self.owed.remove(&id);
        }
    }

    /// Whether something is still to be said.
    pub(crate) fn owes(&self) -> bool {
        !self.owed.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of chunks: type, flags and octets of each.
    fn packet(chunks: &[(u8, u8, &[u8])]) -> Vec<u8> {
        let mut out = vec![0x0b, 0x59, 0x0b, 0x59, 1, 2, 3, 4, 0, 0, 0, 0];
        for (kind, flags, value) in chunks {
            out.extend_from_slice(&[*kind, *flags, 0, 4 + value.len() as u8]);
            out.extend_from_slice(value);
        }
        sctp::codec::seal(&mut out);
        out
    }

    #[test]
    fn an_abort_is_one_and_nothing_else_is() {
        let (abort, auth, data) = ((6, 0, &[][..]), (15, 0, &[7; 24][..]), (0, 0, &[1; 16][..]));
        assert!(is_abort(&packet(&[abort])) && is_abort(&packet(&[auth, abort])));
        let reflected = (6, 1, &[][..]);
        for other in [
            &[data][..],
            &[abort, data],
            &[data, abort],
            &[auth],
            &[auth, abort, data],
            &[reflected],
            &[abort, abort],
        ] {
            assert!(!is_abort(&packet(other)), "{other:?}");
        }
        let mut wrong = packet(&[abort]);
        wrong[8] ^= 1;
        assert!(!is_abort(&wrong) && !is_abort(&[]));
    }
}
