//! A configuration becomes that of the M3UA process: what is gone leaves, what is new joins, what
//! stays is not touched.

use crate::Gateway;
use crate::config::{ApplicationServer, Peer, Sgc};
use crate::metrics::Metric;
use crate::screening::OwnPoints;
use crate::user::Users;
use config::{Issue, interrupted};
use m3ua::codec::Affected;
use m3ua::{In, PeerId, ServerId};
use machine::{Machine, Time};
use runtime::Effects;
use std::sync::Arc;

impl Gateway {
    /// Makes `next` the configuration. What cannot be configured was refused by its check.
    pub(crate) fn apply(&mut self, now: Time, next: Arc<Sgc>, out: &mut Effects) {
        let old = core::mem::replace(&mut self.config, next);
        let next = Arc::clone(&self.config);
        self.trails.configure(&next);
        self.remove_servers(now, &old, &next);
        self.served.retain(|server| self.process.server_state(*server).is_some());
        self.remove_peers(now, &old, &next, out);
        self.links.configure(now, &next.links());
        self.process.step(now, In::SetParameters(next.parameters()), &mut self.outs);
        self.process.set_servers_max(next.settings().servers_max);
        self.own_changed(now, &old, &next);
        self.users = Users::new(&next);
        self.sccp.configure(now, Some(&old), &next);
        let mut wants = Vec::new();
        if !self.sccp.tick(now, &mut wants) {
            self.metrics.add(Metric::Circular, 1);
        }
        self.send_all(now, wants);
        self.join(now, &next);
    }

    /// What there is not yet, joins.
    pub(crate) fn join(&mut self, now: Time, next: &Sgc) {
        for peer in &next.peer {
            if self.links.find(&peer.name).is_none() {
                self.add_peer(now, peer, next);
            }
        }
        for server in &next.application_server {
            let Some(settings) = next.server_settings(server) else { continue };
            let id = match self.servers.get(&server.name) {
                Some(id) => {
                    self.process.change_server(now, *id, &settings, &mut self.outs);
                    *id
                }
                None => {
                    let Ok(id) = self.process.add_server(settings) else { continue };
                    self.servers.insert(server.name.clone(), id);
                    id
                }
            };
            self.assign(now, id, server);
        }
        // What may come from a peer goes by the Application Servers of all.
        for peer in &next.peer {
            if let Some(id) = self.links.find(&peer.name) {
                self.screening.set(id, next.screen(peer));
                self.sccp.rules.know(id, &peer.name);
            }
        }
        self.links.know(&next.links());
        // MTP3 has told nothing so far of what no ASP takes yet, and of what no gateway leads to.
        self.sccp_follows(now, next.network(), Affected::ALL);
        // Who has joined starts by itself.
        self.followed.clear();
        self.follow(now);
    }

    fn add_peer(&mut self, now: Time, peer: &Peer, next: &Sgc) {
        let Ok(id) = self.process.add_peer(peer.settings()) else { return };
        if !peer.enabled {
            self.process.step(now, In::Block(id, true), &mut self.outs);
        }
        self.links.add(now, id, peer, &next.links());
    }

    /// The ASPs of an Application Server are those that its section names, and those that have
    /// registered.
    fn assign(&mut self, now: Time, id: ServerId, server: &ApplicationServer) {
        let wanted: Vec<PeerId> =
            server.peers.iter().filter_map(|name| self.links.find(name)).collect();
        let members = self.process.server_status(id).map(|status| status.members);
        for member in members.unwrap_or_default() {
            if !wanted.contains(&member.peer) && !member.is_registered {
                self.process.unassign(now, id, member.peer, &mut self.outs);
            }
        }
        for peer in wanted {
            if !self.process.is_member(peer, id) {
                // What stands in the way was refused by the check.
                let _ = self.process.assign(now, id, peer, &mut self.outs);
            }
        }
    }

    fn remove_servers(&mut self, now: Time, old: &Sgc, next: &Sgc) {
        for server in &old.application_server {
            if old.server_stays(server, next) {
                continue;
            }
            let before = old.server_settings(server);
            let Some(id) = self.servers.remove(&server.name) else { continue };
            self.process.remove_server(now, id, &mut self.outs);
            let Some(before) = before.filter(|it| it.side == m3ua::Side::There) else { continue };
            let dpcs: Vec<_> = before.key.destinations.iter().map(|it| it.dpc).collect();
            self.gone(now, before.key.network, &dpcs);
        }
    }

    fn remove_peers(&mut self, now: Time, old: &Sgc, next: &Sgc, out: &mut Effects) {
        for peer in &old.peer {
            let Some(id) = self.links.find(&peer.name) else { continue };
            match old.peer_stays(peer, next) {
                Some(same) => {
                    self.links.update_peer(id, same);
                    if same.enabled != peer.enabled {
                        self.enable(now, id, same.enabled);
                    }
                }
                None => {
                    self.trails.input(now, &In::CommunicationLost(id), &self.links);
                    self.process.remove_peer(now, id, &mut self.outs);
                    self.links.remove(now, id, out);
                    self.told.remove(&id);
                    self.screening.forget(id);
                    self.sccp.rules.forget(id);
                }
            }
        }
    }

    /// Locks a peer out or lets it in again.
    pub(crate) fn enable(&mut self, now: Time, peer: PeerId, is_enabled: bool) {
        self.process.step(now, In::Block(peer, !is_enabled), &mut self.outs);
        let up = if is_enabled { In::AspUp(peer) } else { In::AspDown(peer) };
        self.process.step(now, up, &mut self.outs);
    }

    fn own_changed(&mut self, now: Time, old: &Sgc, next: &Sgc) {
        let before = core::mem::replace(&mut self.own, OwnPoints::new(next)).codes;
        let is_same = old.network() == next.network();
        let gone = before.iter().filter(|it| !is_same || !self.own.codes.contains(*it));
        let gone: Vec<_> = gone.copied().collect();
        self.gone(now, old.network(), &gone);
        for dpc in next.own_point_codes() {
            if !is_same || !before.contains(&dpc) {
                self.announce_own(now, next.network(), Affected::one(dpc));
            }
        }
    }
}

impl Sgc {
    /// What becomes of associations and Application Servers when `next` takes the place of this
    /// section: a sentence each. What is not named goes on.
    #[must_use]
    pub fn interruptions(&self, next: &Self) -> Vec<Issue> {
        let [mut restarting, mut ending, mut blocked] = [const { Vec::new() }; 3];
        for peer in &self.peer {
            let is_there = next.peer.iter().any(|it| it.name == peer.name);
            match self.peer_stays(peer, next) {
                Some(same) if peer.enabled && !same.enabled => &mut blocked,
                Some(_) => continue,
                None if is_there => &mut restarting,
                None => &mut ending,
            }
            .push(peer.name.clone());
        }
        let servers = self.application_server.iter().filter(|it| !self.server_stays(it, next));
        let names = servers.map(|it| it.name.clone());
        let is_there = |name: &String| next.application_server.iter().any(|it| it.name == *name);
        let (again, gone): (Vec<String>, Vec<String>) = names.partition(is_there);
        let (association, server) = ("association", "Application Server");
        let (associations, servers) = ("associations", "Application Servers");
        let ends = |it: &&crate::config::sccp::Subsystem| {
            let after = next.subsystem.iter().find(|after| after.number == it.number);
            it.enabled && after.is_none_or(|after| !after.enabled)
        };
        let ended = self.subsystem.iter().filter(ends).map(|it| it.name.clone());
        let ended: Vec<String> = ended.collect();
        let said = [
            interrupted("subsystem", "subsystems", "go out of service", &ended),
            interrupted(association, associations, "restart", &restarting),
            interrupted(association, associations, "end", &ending),
            interrupted("peer", "peers", "carry no traffic any more", &blocked),
            interrupted(server, servers, "begin again", &again),
            interrupted(server, servers, "end", &gone),
        ];
        let said = said.into_iter().flatten().chain(self.differs(next));
        said.map(|what| Issue::new("name", what, "")).collect()
    }

    /// What becomes of a node of a cluster that alone has what all are to have.
    fn differs(&self, next: &Self) -> Option<String> {
        let (_, cluster) = (self.cluster.as_ref()?, next.cluster.as_ref()?);
        (self.cluster_digest() != next.cluster_digest()).then(|| {
            let node = cluster.node;
            format!(
                "node {node} will differ from the others until they are told the same: no \
                 partition moves to it"
            )
        })
    }

    /// The peer in `next`, if its association goes on there.
    fn peer_stays<'n>(&self, peer: &Peer, next: &'n Self) -> Option<&'n Peer> {
        let same = next.peer.iter().find(|it| it.name == peer.name);
        same.filter(|it| {
            let screening = it.screening.clone();
            **it == Peer { enabled: it.enabled, screening, ..peer.clone() }
                && self.links().stream_to(peer) == next.links().stream_to(it)
        })
    }

    /// Whether an Application Server goes on in `next`.
    fn server_stays(&self, server: &ApplicationServer, next: &Self) -> bool {
        let same = next.application_server.iter().find(|it| it.name == server.name);
        let after = same.and_then(|server| next.server_settings(server));
        match (self.server_settings(server), after) {
            (Some(before), Some(after)) => is_same(&before, &after),
            _ => false,
        }
    }
}

/// Whether an Application Server can go on with other settings: only how its traffic is dealt
/// differs.
fn is_same(before: &m3ua::ServerSettings, after: &m3ua::ServerSettings) -> bool {
    let m3ua::ServerSettings { side, routing_context, key, registers, starts, .. } = before;
    *side == after.side
        && *routing_context == after.routing_context
        && *key == after.key
        && *registers == after.registers
        && *starts == after.starts
}
