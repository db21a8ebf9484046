//! How many routes a peer may have (RFC 4486 §4).

use crate::Speaker;
use crate::config::{EXCESS_RESTART, Excess, Limit};
use crate::peers::Held;
use bgp::In;
use bgp::codec::{Cease, Notice};
use bgp::family::Family;
use machine::Time;
use rib::PeerId;
use runtime::Effects;

impl Speaker {
    /// Looks whether a peer has more routes than it may, and does what is to be done then. The
    /// tables say how many routes it has of a family, and how many octets of attributes in all.
    pub fn check_limits(
        &mut self,
        now: Time,
        id: PeerId,
        routes: impl Fn(Family) -> u64,
        attribute_octets: impl FnOnce() -> u64,
        out: &mut Effects,
    ) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        let mut exceeded = None;
        for limit in &peer.settings.limits {
            let routes = routes(limit.family);
            if routes < limit.warn {
                peer.warned.remove(limit.family);
            } else {
                peer.warned.insert(limit.family);
            }
            if routes > limit.max && limit.excess != Excess::Warn {
                exceeded = Some(*limit);
            }
        }
        let octets_max = peer.settings.attribute_octets_max;
        if let Some(limit) = exceeded {
            self.exceeded(now, id, limit, out);
        } else if octets_max < u64::MAX && attribute_octets() > octets_max {
            self.too_many_octets(now, id, octets_max, out);
        }
    }

    /// The attributes of a peer's routes take more room than they may: RFC 4486 §4, Out of
    /// Resources.
    fn too_many_octets(&mut self, now: Time, id: PeerId, max: u64, out: &mut Effects) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        let Some(connection) = peer.up else { return };
        self.counts.exceeded += 1;
        peer.held = Some(Held::Excess(Some(now + EXCESS_RESTART)));
        let notice = Notice::cease(Cease::OutOfResources);
        self.tell(now, id, In::Refuse(connection, notice, Vec::new()), out);
        self.tell(now, id, In::Stop(Cease::OutOfResources, None), out);
        self.note(now, id, format!("its routes have more than {max} octets of attributes"));
    }

    fn exceeded(&mut self, now: Time, id: PeerId, limit: Limit, out: &mut Effects) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        let Some(connection) = peer.up else { return };
        self.counts.exceeded += 1;
        let restart = (limit.excess == Excess::Restart).then(|| now + limit.restart);
        peer.held = Some(Held::Excess(restart));
        // RFC 4486 §4: the family and the limit.
        let mut data = limit.family.afi().to_be_bytes().to_vec();
        data.push(limit.family.safi());
        data.extend_from_slice(&u32::try_from(limit.max).unwrap_or(u32::MAX).to_be_bytes());
        let notice = Notice::cease(Cease::MaximumPrefixes);
        self.tell(now, id, In::Refuse(connection, notice, data), out);
        self.tell(now, id, In::Stop(Cease::MaximumPrefixes, None), out);
        let (family, max) = (limit.family, limit.max);
        self.note(now, id, format!("it has more than {max} routes of {family}"));
    }
}
