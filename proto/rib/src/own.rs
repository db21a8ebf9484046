//! Routes of this speaker itself: chosen, told and shown like those of peers, but never stale.

use crate::decide::Rank;
use crate::key::Key;
use crate::peers::is_constrained;
use crate::rib::{Any, plain_next_hop, with};
use crate::sets::Content;
use crate::table::{Announced, Table, Taken};
use crate::{Kind, NONE, PeerId, Rib};
use bgp::codec::{AttributeType, Attributes, NextHop};
use bgp::family::{Family, Layout, Routes};
use core::net::{IpAddr, Ipv4Addr};

/// A route of this speaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnRoute<'a> {
    /// What is routed, as `Route::split` gives it.
    pub key: &'a [u8],
    /// What the route carries beside its key: its label, for a family with labels.
    pub payload: &'a [u8],
    /// Attributes in the order of their types, ASes of four octets: ORIGIN and AS_PATH at least.
    pub attributes: &'a [u8],
    /// The next hop of MP_REACH_NLRI, or empty where NEXT_HOP says it: an address of this speaker,
    /// since peers of our AS are told it (RFC 4271 §5.1.3). Peers of other ASes are told our
    /// address on their session.
    pub next_hop: &'a [u8],
}

impl OwnRoute<'_> {
    /// Whether a peer that were told this would find nothing wrong with it.
    fn is_whole(&self, family: Family) -> bool {
        let mut last = 0;
        let is_next = |it: Result<bgp::codec::Attribute<'_>, _>| {
            it.is_ok_and(|it| core::mem::replace(&mut last, it.number) < it.number)
        };
        let all = Attributes::new(self.attributes);
        let has = |kind| all.value(kind).is_some();
        Attributes::new(self.attributes).all(is_next)
            && has(AttributeType::Origin)
            && has(AttributeType::AsPath)
            && self.has_next_hop(family)
            && self.is_route_of(family)
    }

    fn has_next_hop(&self, family: Family) -> bool {
        let plain = Attributes::new(self.attributes).value(AttributeType::NextHop);
        let octets = match (self.next_hop, plain) {
            ([], Some(plain)) if family == Family::Ipv4Unicast => plain,
            ([], _) if family == Family::Ipv4Unicast => return false,
            (octets, _) if !family.takes_next_hop(octets.len(), true) => return false,
            (octets, _) => octets,
        };
        // A family without next hops (a flow specification) has none to look at.
        octets.is_empty() || NextHop::read(octets).is_some_and(|it| !it.address.is_unspecified())
    }

    fn is_route_of(&self, family: Family) -> bool {
        if self.key.is_empty() {
            return false;
        }
        let mut wire = Vec::with_capacity(self.key.len() + self.payload.len());
        family.join(self.key, self.payload, &mut wire);
        let layout = Layout { add_path: false, multiple_labels: true, withdrawn: false };
        let routes = Routes::new(family, layout, &wire);
        let (mut key, mut payload) = (Vec::new(), Vec::new());
        routes.check() == Ok(1)
            && routes.into_iter().next().is_some_and(|route| {
                route.split(&mut key, &mut payload);
                key == self.key && payload == self.payload
            })
    }
}

impl<K: Key> Table<K> {
    /// The set of that content among those that are no peer's, compared by that rank; it has no
    /// paths yet if it is new.
    pub(crate) fn set_of_nobody(&mut self, content: &Content<'_>, kind: Kind, rank: Rank) -> u32 {
        let hash = self.sets.hash(content);
        if let Some(set) = self.sets.find(hash, content) {
            let known = self.sets.get_mut(set);
            if known.rank != rank {
                known.rank = rank;
                self.rerank(set, true);
            }
            return set;
        }
        let newest = self.source_mut(content.peer).sets;
        let set = self.sets.insert(hash, content, kind, rank, newest);
        let source = self.source_mut(content.peer);
        source.sets = set;
        source.octets += (content.attributes.len() + content.next_hop.len()) as u64;
        set
    }
}

impl Rib {
    /// A route of this speaker itself stands from now on, in place of another one of that key. It
    /// is before those of all peers. No import policy judges it, and no restart of a peer makes it
    /// stale; its next hop is always reached. `None`, and nothing changes, if it is not a whole
    /// route of the family.
    pub fn originate(&mut self, family: Family, route: &OwnRoute<'_>) -> Option<Taken> {
        if !route.is_whole(family) {
            return None;
        }
        let OwnRoute { key, payload, .. } = *route;
        let mut moved = Vec::new();
        let (attributes, next_hop) =
            plain_next_hop(family, route.attributes, route.next_hop, &mut moved);
        let identifier = self.own.identifier;
        self.table(family);
        let Self { tables, interest, .. } = self;
        let any = tables[family as usize].as_deref_mut()?;
        let peer = PeerId::OWN;
        with!(any, table => {
            let key = Key::read(family, key)?;
            let epoch = table.source_mut(peer).epoch;
            let (came_as, is_refused) = (NONE, false);
            let content = Content { peer, epoch, attributes, next_hop, came_as, is_refused };
            let here = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
            let rank = Rank::read(attributes, Kind::Own, identifier, here);
            let set = table.set_of_nobody(&content, Kind::Own, rank);
            if is_constrained(family) {
                table.sets.get_mut(set).class = interest.class(peer, attributes);
            }
            Some(table.announce(key, Announced { peer, path_id: 0, payload, set }))
        })
    }

    /// The route of this speaker with that key is no more; whether there was one.
    pub fn retract(&mut self, family: Family, key: &[u8]) -> bool {
        let Some(any) = &mut self.tables[family as usize] else { return false };
        with!(&mut **any, table => {
            Key::read(family, key).is_some_and(|key| table.withdraw(&key, PeerId::OWN, 0))
        })
    }
}
