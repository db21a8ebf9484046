//! What the M3UA process hears of destinations is told to the ASPs: to them, this node with all
//! that it reaches is the SS7 network (RFC 4666 §1.4.2.5, §4.5).

use crate::Gateway;
use m3ua::codec::{Affected, NetworkAppearance, PointCode};
use m3ua::{Cause, In};
use machine::{Machine, Time};

type Network = Option<NetworkAppearance>;

impl Gateway {
    /// MTP-PAUSE or MTP-RESUME: an Application Server began or ended to be served, or a gateway or
    /// an IPSP has told so.
    pub(crate) fn reaches(&mut self, now: Time, network: Network, affected: Affected, is_up: bool) {
        let keyed = self.process.served(network, affected);
        if affected.mask == 0 {
            let dpc = affected.point_code;
            let of_key = keyed.first().map(|(_, served, all)| (*served, *all));
            return match of_key {
                _ if self.is_own(network, dpc) => {}
                // Another Application Server still takes a part of its traffic.
                Some((served, all)) if !is_up && served > 0 && served < all => {}
                Some((0, _)) => self.announce(now, network, affected, false),
                _ => self.announce(now, network, affected, is_up),
            };
        }
        self.announce(now, network, affected, is_up);
        // What is served here does not depend on gateways.
        for (dpc, served, _) in keyed {
            if (served > 0) != is_up {
                self.announce(now, network, Affected::one(dpc), served > 0);
            }
        }
        if !is_up {
            self.announce_own(now, network, affected);
        }
    }

    fn announce(&mut self, now: Time, network: Network, affected: Affected, is_up: bool) {
        let input = match is_up {
            true => In::Resume(network, affected),
            false => In::Pause(network, affected),
        };
        self.process.step(now, input, &mut self.outs);
        let dpc = affected.point_code;
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
            self.announce(now, network, Affected::one(dpc), true);
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
            self.announce(now, network, affected, is_up);
        }
    }

    /// MTP-STATUS goes on to the ASPs.
    pub(crate) fn status(&mut self, now: Time, network: Network, affected: Affected, cause: Cause) {
        self.process.step(now, In::Status(network, affected, cause), &mut self.outs);
    }
}
