//! Where a request goes (RFC 6733 §2.7, §6.1).

use super::Node;
use crate::codec::{Message, ResultCode};
use crate::rows::base;
use crate::settings::{Action, HOPS_MAX, Hop, PeerId, ROUTES_MAX, Refused, Route};
use std::collections::BTreeMap;

/// The routes, by realm in lower case; the empty one is every other realm.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    realms: BTreeMap<Vec<u8>, Vec<Route>>,
    count: usize,
}

impl Routes {
    fn add(&mut self, route: Route) -> Result<(), Refused> {
        if self.count >= ROUTES_MAX {
            return Err(Refused::Full);
        }
        let realm = route.realm.as_deref().unwrap_or_default().to_ascii_lowercase();
        let of_realm = self.realms.entry(realm.into_bytes()).or_default();
        if of_realm.iter().any(|it| it.application == route.application) {
            return Err(Refused::Exists);
        }
        of_realm.push(route);
        self.count += 1;
        Ok(())
    }

    /// The route of a realm and an application: the one that names both, then any application,
    /// then any realm.
    pub(crate) fn find(&self, realm: &[u8], application: u32) -> Option<&Route> {
        let of = |realm: &[u8]| {
            let routes = self.realms.get(realm)?;
            let exact = routes.iter().find(|it| it.application == Some(application));
            exact.or_else(|| routes.iter().find(|it| it.application.is_none()))
        };
        of(&realm.to_ascii_lowercase()).or_else(|| of(b""))
    }
}

/// What the AVPs of a request say of where it goes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Destination {
    pub host: Option<Vec<u8>>,
    pub realm: Option<Vec<u8>>,
    pub application: u32,
}

impl Destination {
    pub(crate) fn of(message: &Message<'_>) -> Self {
        let find = |row| message.avps().find(row).map(|avp| avp.data.to_vec());
        Self {
            host: find(&base::DESTINATION_HOST),
            realm: find(&base::DESTINATION_REALM),
            application: message.header.application,
        }
    }
}

/// What is done with a request that came.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Local,
    Forward,
    Redirect(Vec<String>, u32),
    Refuse(ResultCode, &'static str),
}

impl Node {
    /// Adds a route.
    ///
    /// # Errors
    /// There is one for the same realm and application, or it names a peer that there is not, or
    /// there are too many.
    pub fn add_route(&mut self, route: Route) -> Result<(), Refused> {
        if let Action::Relay(hops) = &route.action {
            if hops.len() > HOPS_MAX {
                return Err(Refused::Full);
            }
            if hops.iter().any(|hop| self.peers.find(hop.peer).is_none()) {
                return Err(Refused::Unknown);
            }
        }
        self.routes.add(route)
    }

    /// Whether requests of a realm in an application may be sent to a peer: as one that stands on
    /// their way, or as the host that they name.
    #[must_use]
    pub fn is_on_way(&self, id: PeerId, to: (&str, Option<&str>), application: u32) -> bool {
        let (realm, host) = to;
        let route = self.routes.find(realm.as_bytes(), application).map(|it| &it.action);
        let is_hop =
            matches!(route, Some(Action::Relay(hops)) if hops.iter().any(|it| it.peer == id));
        is_hop || host.is_some_and(|it| self.peers.of_host(it.as_bytes()) == Some(id))
    }

    /// Routes to peers none of which can be sent a request now.
    pub fn unserved(&self) -> impl Iterator<Item = &Route> {
        let is_ready = |hop: &Hop, application: Option<u32>| {
            let peer = self.peers.find(hop.peer).filter(|peer| peer.readiness().is_some());
            peer.is_some_and(|peer| application.is_none_or(|it| peer.takes(it)))
        };
        self.routes.realms.values().flatten().filter(move |route| match &route.action {
            Action::Relay(hops) => !hops.iter().any(|hop| is_ready(hop, route.application)),
            Action::Local | Action::Redirect(..) => false,
        })
    }

    /// Removes all routes.
    pub fn clear_routes(&mut self) {
        self.routes = Routes::default();
    }

    /// The peer that a request is sent to: the one that it names, or the best of its route but for
    /// `without`.
    ///
    /// # Errors
    /// The code of the answer when there is none.
    pub(super) fn choose(
        &mut self,
        to: &Destination,
        without: &[PeerId],
    ) -> Result<PeerId, ResultCode> {
        if let Some(host) = &to.host
            && let Some(id) = self.peers.of_host(host)
            && self.is_ready(id, to.application)
            && !without.contains(&id)
        {
            return Ok(id);
        }
        let realm = to.realm.as_deref().unwrap_or_default();
        let route = self.routes.find(realm, to.application);
        let route = route.ok_or(ResultCode::RealmNotServed)?;
        let Action::Relay(hops) = &route.action else { return Err(ResultCode::UnableToDeliver) };
        let mut best: Option<(u8, u8)> = None;
        let mut among: Vec<Hop> = Vec::new();
        for hop in hops.iter().filter(|hop| !without.contains(&hop.peer)) {
            let Some(peer) = self.peers.find(hop.peer) else { continue };
            let Some(ready) = peer.readiness().filter(|_| peer.takes(to.application)) else {
                continue;
            };
            let rank = (ready, hop.priority);
            if best.is_none_or(|best| rank < best) {
                best = Some(rank);
                among.clear();
            }
            if best == Some(rank) {
                among.push(*hop);
            }
        }
        self.share_out(&among).ok_or(ResultCode::UnableToDeliver)
    }

    /// One of those that are equally good, by their weights.
    fn share_out(&mut self, among: &[Hop]) -> Option<PeerId> {
        let weight = |hop: &Hop| u64::from(hop.weight).max(1);
        let all: u64 = among.iter().map(weight).sum();
        let mut at = self.random().checked_rem(all)?;
        for hop in among {
            if at < weight(hop) {
                return Some(hop.peer);
            }
            at -= weight(hop);
        }
        None
    }

    pub(super) fn is_ready(&self, id: PeerId, application: u32) -> bool {
        let peer = self.peers.find(id);
        peer.is_some_and(|peer| peer.readiness().is_some() && peer.takes(application))
    }

    /// What is done with a request of a peer (RFC 6733 §6.1.4 to §6.1.7).
    pub(super) fn decide(&self, message: &Message<'_>, to: &Destination) -> Decision {
        let own = |name: &str, it: &Vec<u8>| name.as_bytes().eq_ignore_ascii_case(it);
        if let Some(host) = &to.host {
            if own(&self.settings.host, host) {
                return Decision::Local;
            }
        } else if to.realm.is_none() {
            return Decision::Local;
        }
        let is_mine = to.realm.as_ref().is_some_and(|it| own(&self.settings.realm, it));
        let is_spoken = self.settings.applications.contains(&to.application);
        if is_mine && to.host.is_none() && is_spoken {
            return Decision::Local;
        }
        let realm = to.realm.as_deref().unwrap_or_default();
        let route = self.routes.find(realm, to.application).map(|it| &it.action);
        let is_direct = to.host.as_ref().is_some_and(|it| self.peers.of_host(it).is_some());
        match route {
            Some(Action::Local) if to.host.is_none() => Decision::Local,
            Some(Action::Redirect(hosts, time)) => Decision::Redirect(hosts.clone(), *time),
            Some(Action::Relay(_)) if self.relays(message) => Decision::Forward,
            _ if is_direct && self.relays(message) => Decision::Forward,
            None if is_mine && to.host.is_none() => Decision::Refuse(
                ResultCode::ApplicationUnsupported,
                "an application that this node does not speak",
            ),
            None if !is_mine => {
                Decision::Refuse(ResultCode::RealmNotServed, "a realm without a route")
            }
            _ => Decision::Refuse(ResultCode::UnableToDeliver, "no way to the destination"),
        }
    }

    fn relays(&self, message: &Message<'_>) -> bool {
        self.settings.relays && message.header.flags.has(crate::codec::Flags::PROXIABLE)
    }
}
