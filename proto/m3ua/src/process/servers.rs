//! The Application Servers of a process, and what they are found by: the destinations in their
//! keys, and their names.

use super::Network;
use super::server::Server;
use crate::codec::{Affected, PointCode, RoutingContext, ServerState};
use crate::effects::Transfer;
use crate::id::{PeerId, ServerId, Table};
use crate::settings::{Key, Side};
use std::collections::BTreeMap;

/// All of them.
#[derive(Debug)]
pub(super) struct Servers {
    table: Table<ServerId, Server>,
    /// By side (`true`: of peers), network and destination in their keys.
    keys: BTreeMap<(bool, Network, PointCode), Vec<ServerId>>,
    /// Those of peers by name.
    names: BTreeMap<RoutingContext, ServerId>,
}

impl Servers {
    pub(super) const fn new() -> Self {
        Self { table: Table::new(), keys: BTreeMap::new(), names: BTreeMap::new() }
    }

    pub(super) const fn len(&self) -> usize {
        self.table.len()
    }

    #[inline]
    pub(super) fn find(&self, id: ServerId) -> Option<&Server> {
        self.table.find(id)
    }

    #[inline]
    pub(super) fn find_mut(&mut self, id: ServerId) -> Option<&mut Server> {
        self.table.find_mut(id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ServerId, &Server)> {
        self.table.iter()
    }

    /// Adds one whose key overlaps no other and whose name is free.
    pub(super) fn insert(&mut self, server: Server) -> ServerId {
        let is_there = server.settings.side == Side::There;
        let context = server.settings.routing_context.filter(|_| is_there);
        let id = self.table.insert(server);
        if let Some(context) = context {
            self.names.insert(context, id);
        }
        self.index_key(id);
        id
    }

    /// Takes one away that nobody is a member of any more.
    pub(super) fn remove(&mut self, id: ServerId) {
        self.unindex_key(id);
        let removed = self.table.remove(id).and_then(|server| server.settings.routing_context);
        if let Some(context) = removed.filter(|context| self.names.get(context) == Some(&id)) {
            self.names.remove(&context);
        }
    }

    /// Another key in place of that which one has.
    pub(super) fn change_key(&mut self, id: ServerId, key: Key) {
        self.unindex_key(id);
        if let Some(server) = self.table.find_mut(id) {
            server.settings.key = key;
        }
        self.index_key(id);
    }

    /// Whether an Application Server of peers has that name.
    pub(super) fn is_taken(&self, context: RoutingContext) -> bool {
        self.names.contains_key(&context)
    }

    /// The lowest name that none of peers has.
    pub(super) fn free_name(&self) -> RoutingContext {
        // The names that are taken stand in order.
        let named = self.names.range(RoutingContext(1)..).zip(1..);
        let taken = named.take_while(|((name, _), number)| name.0 == *number);
        RoutingContext(taken.last().map_or(1, |(_, number)| number + 1))
    }

    /// Another Application Server of that side that some traffic of the key belongs to.
    pub(super) fn overlapping(
        &self,
        key: &Key,
        side: Side,
        except: Option<ServerId>,
    ) -> Option<ServerId> {
        let destinations = key.destinations.iter();
        let near = destinations.flat_map(|destination| {
            self.keys.get(&(side == Side::There, key.network, destination.dpc))
        });
        near.flatten().copied().find(|id| {
            let server = self.find(*id);
            Some(*id) != except && server.is_some_and(|server| server.settings.key.overlaps(key))
        })
    }

    /// That of peers with just this key.
    pub(super) fn of_key(&self, key: &Key) -> Option<ServerId> {
        let first = key.destinations.first()?;
        let near = self.keys.get(&(true, key.network, first.dpc))?;
        let is_it = |id: &ServerId| self.find(*id).is_some_and(|it| it.settings.key == *key);
        near.iter().copied().find(is_it)
    }

    /// That of peers whose key an MSU belongs to.
    #[inline]
    pub(super) fn of_transfer(&self, transfer: &Transfer) -> Option<ServerId> {
        let near = self.keys.get(&(true, transfer.network, transfer.dpc))?;
        near.iter().copied().find(|id| {
            let server = self.find(*id);
            server.is_some_and(|server| {
                server.settings.key.takes(transfer.dpc, transfer.si, transfer.opc)
            })
        })
    }

    /// That of this process which an MSU is sent for: the one whose key has its Originating Point
    /// Code, else the only one there is in the network.
    pub(super) fn from(&self, transfer: &Transfer) -> Option<ServerId> {
        if let Some(near) = self.keys.get(&(false, transfer.network, transfer.opc)) {
            return near.first().copied();
        }
        let network = transfer.network;
        let mut here = self.keys.range((false, network, PointCode::default())..);
        let (place, servers) = here.next()?;
        let is_only = here.next().is_none_or(|(next, _)| next.0 || next.1 != network);
        (!place.0 && place.1 == network && is_only).then(|| servers.first().copied())?
    }

    /// Those of peers with that destination in their keys.
    pub(super) fn at(&self, network: Network, dpc: PointCode) -> Option<&[ServerId]> {
        self.keys.get(&(true, network, dpc)).map(Vec::as_slice)
    }

    /// Whether traffic of one can be taken now.
    pub(super) fn can_serve(&self, id: ServerId) -> bool {
        let state = self.find(id).map(|server| server.state);
        matches!(state, Some(ServerState::Active | ServerState::Pending))
    }

    /// The destinations in a range that are in keys of peers: how many of these can take traffic
    /// now, and how many there are.
    pub(super) fn served(
        &self,
        network: Network,
        range: Affected,
    ) -> Vec<(PointCode, usize, usize)> {
        let (first, last) = range.bounds();
        let near = self.keys.range((true, network, first)..=(true, network, last));
        let takes = |ids: &[ServerId]| ids.iter().filter(|id| self.can_serve(**id)).count();
        near.map(|((_, _, dpc), servers)| (*dpc, takes(servers), servers.len())).collect()
    }

    /// Whether a peer has part in one.
    pub(super) fn is_member(&self, peer: PeerId, id: ServerId) -> bool {
        self.find(id).is_some_and(|server| server.member(peer).is_some())
    }

    fn index_key(&mut self, id: ServerId) {
        let Some(server) = self.table.find(id) else { return };
        let is_there = server.settings.side == Side::There;
        for destination in &server.settings.key.destinations {
            let place = (is_there, server.settings.key.network, destination.dpc);
            let servers = self.keys.entry(place).or_default();
            if !servers.contains(&id) {
                servers.push(id);
            }
        }
    }

    fn unindex_key(&mut self, id: ServerId) {
        let Some(server) = self.table.find(id) else { return };
        let is_there = server.settings.side == Side::There;
        for destination in &server.settings.key.destinations {
            let place = (is_there, server.settings.key.network, destination.dpc);
            let Some(servers) = self.keys.get_mut(&place) else { continue };
            servers.retain(|server| *server != id);
            if servers.is_empty() {
                self.keys.remove(&place);
            }
        }
    }
}
