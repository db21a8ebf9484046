//! What the M3UA process hears of destinations is told to the ASPs: to them, this node with all
//! that it reaches is the SS7 network (RFC 4666 §1.4.2.5, §4.5).

use crate::Gateway;
use crate::config::ServedBy;
use crate::sccp_node::Mtp;
use m3ua::codec::{Affected, NetworkAppearance, PointCode};
use m3ua::{Availability, Cause, In, Key, PeerId};
use machine::{Machine, Time};
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
        if network == self.config.network() {
            let what = match is {
                Availability::Unavailable => Mtp::Pause,
                Availability::Available | Availability::Restricted => Mtp::Resume,
            };
            self.sccp_hears(now, affected, what);
        }
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
            self.own.iter().copied().filter(|it| range.contains(*it)).collect();
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

    /// SCCP here hears it as well, and may have something to say to those concerned.
    pub(crate) fn sccp_hears(&mut self, now: Time, affected: Affected, what: Mtp) {
        let mut wants = Vec::new();
        self.sccp.mtp(now, affected, what, &mut wants);
        self.send_all(now, wants);
    }
}

const fn available(is_up: bool) -> Availability {
    if is_up { Availability::Available } else { Availability::Unavailable }
}
