//! What the M3UA process hears of destinations is told to the ASPs: to them, this node with all
//! that it reaches is the SS7 network (RFC 4666 §1.4.2.5, §4.5).

use crate::Gateway;
use crate::config::{PeerRole, ServedBy};
use crate::sccp_node::Mtp;
use m3ua::codec::{Affected, NetworkAppearance, PointCode};
use m3ua::{Availability, Cause, Course, In, Key, PeerId, ServerId, Transfer};
use machine::{Machine, Time};
use sccp::codec::ReturnCause;
use std::sync::Arc;

type Network = Option<NetworkAppearance>;

impl Gateway {
    /// MTP-PAUSE, MTP-RESUME, or that another way is better: an Application Server began or ended
    /// to be served, or a gateway or an IPSP has told so.
    pub(crate) fn reaches(
        &mut self,
        now: Time,
        network: Network,
        affected: Affected,
        status: Availability,
    ) {
        let is_up = status != Availability::Unavailable;
        let keyed = self.process.served(network, affected);
        if affected.mask == 0 {
            let dpc = affected.point_code;
            let of_key = keyed.first().map(|(_, served, _)| *served);
            match of_key {
                _ if self.is_own(network, dpc) => {}
                Some(0) => self.announce(now, network, affected, Availability::Unavailable),
                // An Application Server still takes its traffic, or a part of it, whoever says that
                // there is no way to it.
                Some(_) if !is_up => {}
                Some(_) => self.announce(now, network, affected, Availability::Available),
                None => self.announce(now, network, affected, status),
            }
            return self.follow(now);
        }
        self.announce(now, network, affected, status);
        // What is served here does not depend on gateways.
        for (dpc, served, _) in keyed {
            if (served > 0) != is_up {
                self.announce(now, network, Affected::one(dpc), available(served > 0));
            }
        }
        if !is_up {
            self.announce_own(now, network, affected);
        }
    }

    /// Where this node asks for traffic that peers serve behind it, it is active only while they
    /// do: else another ASP of the gateway had better have it.
    pub(crate) fn follow(&mut self, now: Time) {
        let config = Arc::clone(&self.config);
        let here = config.application_server.iter().filter(|it| it.served_by == ServedBy::Here);
        for server in here.filter(|it| it.follows && it.starts) {
            let Some(id) = self.servers.get(&server.name).copied() else { continue };
            let Some(status) = self.process.server_status(id) else { continue };
            let serves = self.can_serve(&status.settings.key);
            let peers: Vec<PeerId> = status.members.iter().map(|member| member.peer).collect();
            // One that nothing was said of yet starts by itself.
            if self.followed.insert(id, serves).unwrap_or(true) == serves {
                continue;
            }
            for peer in peers {
                let input = match serves {
                    true => In::AspActive(peer, id),
                    false => In::AspInactive(peer, id),
                };
                self.process.step(now, input, &mut self.outs);
            }
        }
    }

    fn can_serve(&self, key: &Key) -> bool {
        key.destinations.iter().any(|destination| {
            let served = self.process.served(key.network, Affected::one(destination.dpc));
            served.first().is_none_or(|(_, served, _)| *served > 0)
        })
    }

    fn announce(&mut self, now: Time, network: Network, affected: Affected, is: Availability) {
        let input = match is {
            Availability::Available => In::Resume(network, affected),
            Availability::Restricted => In::Restrict(network, affected),
            Availability::Unavailable => In::Pause(network, affected),
        };
        self.process.step(now, input, &mut self.outs);
        self.sccp_follows(now, network, affected);
        let dpc = affected.point_code;
        let is_up = is != Availability::Unavailable;
        if is_up && affected.mask == 0 && self.process.congestion(network, dpc) > 0 {
            // Who had told of it is gone, or has begun anew.
            let over = Cause::Congestion(Some(0));
            self.process.step(now, In::Status(network, affected, over), &mut self.outs);
        }
    }

    /// The node's own point codes are there as long as it is.
    pub(crate) fn announce_own(&mut self, now: Time, network: Network, range: Affected) {
        if network != self.config.network() {
            return;
        }
        let own: Vec<PointCode> =
            self.own.codes.iter().copied().filter(|it| range.contains(*it)).collect();
        for dpc in own {
            self.announce(now, network, Affected::one(dpc), Availability::Available);
        }
    }

    /// Destinations of a key that is no more: nothing leads there now, unless another key or a
    /// gateway does.
    pub(crate) fn gone(&mut self, now: Time, network: Network, dpcs: &[PointCode]) {
        for dpc in dpcs {
            let affected = Affected::one(*dpc);
            let keyed = self.process.served(network, affected);
            let is_up = match keyed.first() {
                Some((_, served, _)) => *served > 0,
                None => self.process.has_gateways(network),
            };
            self.announce(now, network, affected, available(is_up));
        }
    }

    /// MTP-STATUS goes on to the ASPs.
    pub(crate) fn status(&mut self, now: Time, network: Network, affected: Affected, cause: Cause) {
        self.process.step(now, In::Status(network, affected, cause), &mut self.outs);
        // Of congestion nobody here wants to know: a long list of ranges would be looked up for it.
        if network == self.config.network() && matches!(cause, Cause::UserPartUnavailable(_)) {
            self.sccp_hears(now, affected, Mtp::Status(cause));
        }
    }

    /// SCCP here hears of the point codes that it cares for whether its own MSUs find a way there
    /// now: a key of another Service Indicator is none, and without any there is none either.
    pub(crate) fn sccp_follows(&mut self, now: Time, network: Network, affected: Affected) {
        if network != self.config.network() {
            return;
        }
        for dpc in self.sccp.node.cared_for(affected) {
            let has_way = self.no_way(dpc).is_none();
            let is_paused =
                self.sccp.node.can_take(Some(dpc), None) == Err(ReturnCause::MtpFailure);
            // Of a range, what has changed alone: it may be all that rules lead to.
            if affected.mask == 0 || has_way == is_paused {
                let what = if has_way { Mtp::Resume } else { Mtp::Pause };
                self.sccp_hears(now, Affected::one(dpc), what);
            }
        }
    }

    /// Why MSUs of SCCP here find no way to a point code now; none: they do.
    pub(crate) fn no_way(&self, dpc: PointCode) -> Option<NoWay> {
        let why = self.no_way_here(dpc)?;
        let of = self.sccp.clustered.as_ref();
        // Another node of the cluster may have one.
        of.and_then(|it| it.way(dpc)).is_none().then_some(why)
    }

    /// The same of this node by itself.
    pub(crate) fn no_way_here(&self, dpc: PointCode) -> Option<NoWay> {
        let network = self.config.network();
        if self.is_own(network, dpc) {
            return None;
        }
        // What SCCP sends may come from any point code of this node: gateways go by that.
        let mut ways = self.own.codes.iter().map(|opc| self.no_way_from(*opc, dpc));
        let first = ways.next().unwrap_or(Some(NoWay::Route))?;
        let is_other = ways.any(|why| why.is_none());
        (!is_other).then_some(first)
    }

    /// Whether what it leads to waits for an ASP that has gone.
    pub(crate) fn waits_here(&self, dpc: PointCode) -> bool {
        let leads = |course| matches!(course, Course::Asps(..) | Course::Gateway(_));
        let is_own = self.is_own(self.config.network(), dpc);
        !is_own && !self.own.codes.iter().any(|opc| leads(self.course_from(*opc, dpc)))
    }

    fn course_from(&self, opc: PointCode, dpc: PointCode) -> Course {
        let network = self.config.network();
        let (si, ni) = (sccp::codec::SERVICE_INDICATOR, self.config.sccp.network_indicator);
        let payload = bytes::Bytes::new();
        self.process.course(&Transfer { network, opc, dpc, si, ni, mp: 0, sls: 0, payload })
    }

    fn no_way_from(&self, opc: PointCode, dpc: PointCode) -> Option<NoWay> {
        match self.course_from(opc, dpc) {
            Course::Asps(..) | Course::Waits(_) | Course::Gateway(_) => None,
            Course::NoAsp(server) => Some(NoWay::Asp(server)),
            Course::NoGateway if self.gateways().next().is_none() => Some(NoWay::Route),
            Course::NoGateway => Some(NoWay::Gateway),
        }
    }

    /// The same in words, and whether who should be the way has yet to come.
    pub(crate) fn no_way_in_words(&self, dpc: PointCode) -> Option<(String, bool)> {
        Some(match self.no_way(dpc)? {
            NoWay::Asp(server) => {
                let name = self.server_name(server);
                let text = format!("no ASP of the Application Server {name} is active");
                (text, !self.served.contains(&server))
            }
            NoWay::Gateway => {
                let has_come = self.gateways().any(|server| self.served.contains(&server));
                ("no gateway has a way".to_owned(), !has_come)
            }
            NoWay::Route => (
                "no route: no Application Server has it, and there is no gateway".to_owned(),
                false,
            ),
        })
    }

    /// The Application Servers of this node at gateways, by which MSUs leave that have no key.
    fn gateways(&self) -> impl Iterator<Item = ServerId> {
        let here = self.config.application_server.iter();
        let here = here.filter(|it| it.served_by == ServedBy::Here);
        let leads = |name: &String| {
            let peer = self.config.peer.iter().find(|peer| peer.name == *name);
            peer.is_some_and(|peer| peer.role == PeerRole::Sgp)
        };
        let with = here.filter(move |it| it.peers.iter().any(leads));
        with.filter_map(|it| self.servers.get(&it.name).copied())
    }

    /// SCCP here hears it as well, and may have something to say to those concerned.
    fn sccp_hears(&mut self, now: Time, affected: Affected, what: Mtp) {
        let mut wants = Vec::new();
        self.sccp.mtp(now, affected, what, &mut wants);
        self.send_all(now, wants);
    }
}

/// Why there is no way to a point code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoWay {
    /// It is that Application Server's, of which no ASP is active.
    Asp(ServerId),
    /// No gateway leads there now.
    Gateway,
    /// It is no Application Server's, and there are no gateways.
    Route,
}

const fn available(is_up: bool) -> Availability {
    if is_up { Availability::Available } else { Availability::Unavailable }
}
