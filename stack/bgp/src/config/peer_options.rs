//! What a peer's keys mean to its session.

use super::{AnyAs, PeerOptions, Role, Section, families};
use bgp::codec::{self, GracefulRestart, LongLived, Offer};
use bgp::family::{FAMILIES, Family, FamilySet};
use bgp::{PeerAs, Settings};
use machine::Duration;

const HOLD_TIME_S: u16 = 90;
/// Time in which who comes from a range says its OPEN: until then anybody in the range may hold
/// the place.
const RANGE_OPEN_HOLD: Duration = Duration::from_secs(30);

fn seconds(value: Option<u32>, default: Duration) -> Duration {
    value.map_or(default, |seconds| Duration::from_secs(seconds.into()))
}

impl Role {
    const fn settings(self) -> codec::Role {
        match self {
            Self::Provider => codec::Role::Provider,
            Self::RouteServer => codec::Role::RouteServer,
            Self::RouteServerClient => codec::Role::RouteServerClient,
            Self::Customer => codec::Role::Customer,
            Self::Peer => codec::Role::Peer,
        }
    }
}

impl PeerOptions {
    /// The families that the session offers.
    pub(crate) fn families(&self) -> FamilySet {
        match &self.families {
            Some(names) => families::set(Some(names)),
            None => FamilySet::only(Family::Ipv4Unicast),
        }
    }

    pub(crate) fn peer_as(&self, own: u32) -> PeerAs {
        match (self.asn, self.any_asn) {
            (Some(asn), _) if asn == own => PeerAs::Internal,
            (Some(asn), _) => PeerAs::Is(asn),
            (None, Some(AnyAs::External)) => PeerAs::External,
            (None, Some(AnyAs::Any)) => PeerAs::Any,
            (None, None) => PeerAs::Internal,
        }
    }

    fn offer(&self, section: &Section<'_>) -> Offer {
        let families = self.families();
        let of = |names: &Option<Vec<String>>| families::set(names.as_deref()).and(families);
        let hold_time_s = self.hold_time_s.unwrap_or(HOLD_TIME_S);
        let mut offer =
            Offer::modern(section.asn, section.identifier.to_bits(), hold_time_s, families);
        offer.four_octet_as = self.four_octet_as.unwrap_or(true);
        offer.route_refresh = self.route_refresh.unwrap_or(true);
        offer.enhanced_refresh = offer.route_refresh;
        offer.extended_message = self.extended_message.unwrap_or(true);
        offer.extended_next_hop = of(&self.extended_next_hop);
        offer.add_path_send = of(&self.add_path_send);
        offer.add_path_receive = of(&self.add_path_receive);
        if let Some(labels) = self.labels_max.filter(|labels| *labels > 1) {
            let labelled = families.iter().filter(|family| has_labels(*family));
            labelled.for_each(|family| offer.labels_max[family as usize] = labels);
        }
        offer.role = self.role.map(Role::settings);
        offer.graceful_restart = self.graceful_restart_s.map(|time_s| GracefulRestart {
            restarting: false,
            notification: true,
            time_s,
            families,
            forwarding: families,
        });
        offer.long_lived = self.long_lived_s.map(|time_s| LongLived {
            families,
            forwarding: families,
            time_s: [time_s; FAMILIES],
        });
        offer
    }

    /// What the session is told.
    pub(crate) fn settings(&self, section: &Section<'_>, is_dynamic: bool) -> Settings {
        let mut settings = Settings::new(self.offer(section), self.peer_as(section.asn));
        settings.confederation = self.confederation.unwrap_or(false);
        settings.passive = is_dynamic || self.passive.unwrap_or(false);
        settings.connect_retry = seconds(self.connect_retry_s, settings.connect_retry);
        settings.delay_open = seconds(self.delay_open_s, settings.delay_open);
        if is_dynamic {
            settings.open_hold = RANGE_OPEN_HOLD;
        }
        settings.idle_hold = seconds(self.idle_hold_s, settings.idle_hold);
        settings.idle_hold_max = seconds(self.idle_hold_max_s, settings.idle_hold_max);
        settings.hold_time_min_s = self.hold_time_min_s.unwrap_or(settings.hold_time_min_s);
        settings.send_hold = self.send_hold_s.map(|s| Duration::from_secs(s.into()));
        settings.stale = seconds(self.stale_s, settings.stale);
        settings.required = families::set(self.required_families.as_deref());
        settings.role_strict = self.role_strict.unwrap_or(false);
        settings.first_as = self.first_as.unwrap_or(true);
        settings.aigp = self.aigp.unwrap_or(false);
        settings
    }
}

/// Families whose routes have labels (RFC 8277, 4364, 4659).
const fn has_labels(family: Family) -> bool {
    matches!(family, Family::Ipv4Labelled | Family::Ipv6Labelled | Family::Vpnv4 | Family::Vpnv6)
}
