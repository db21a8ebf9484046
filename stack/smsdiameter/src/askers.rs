//! Who may ask by S6c and SGd.

use crate::destinations::{DestinationKeys, Role, home_of};
use crate::section::Section;
use diameter::codec::Message;
use map::Operation;
use mapsms::by_diameter::serve::read;
use mapsms::identity::{Msisdn, begins};
use mapsms::invoked::Invoked;

/// Who may ask.
#[derive(Debug, Default)]
pub(crate) struct Askers {
    own: String,
    allowed: Vec<String>,
    destinations: Vec<DestinationKeys>,
}

impl Askers {
    pub(crate) fn of(section: &Section<'_>) -> Self {
        Self {
            own: section.number.to_owned(),
            allowed: section.allowed.to_vec(),
            destinations: section.destinations.to_vec(),
        }
    }

    /// Whether anybody may.
    pub(crate) fn is_any(&self) -> bool {
        !self.destinations.is_empty()
    }

    /// The home subscriber server of the subscriber whom a request for routing information is
    /// about, as a source of names.
    pub(crate) fn home_of(&self, message: &Message<'_>) -> String {
        let msisdn = match read(Operation::SendRoutingInfoForSm, message) {
            Ok(Invoked::Routing { msisdn, .. }) => Some(msisdn),
            _ => None,
        };
        msisdn.map(|it| home_of(&self.destinations, &it)).unwrap_or_default()
    }

    /// The gateway's own number.
    pub(crate) fn own(&self) -> &str {
        &self.own
    }

    /// Whether a request in the name of that service centre is one of its own, or of the home
    /// subscriber server of the subscriber whom it is about, which was asked by it; and whether it
    /// may ask at all. `comes` knows whether it came the way that requests to a destination take:
    /// Origin-Host and Origin-Realm are what any peer may write.
    pub(crate) fn admits(
        &self,
        message: &Message<'_>,
        invoked: &Invoked,
        centre: &Msisdn,
        comes: impl Fn(&DestinationKeys) -> bool,
    ) -> bool {
        let digits = centre.digits();
        // It speaks S6c alone: messages are none of its (TS 29.338 §4.1).
        let about = match invoked {
            Invoked::Routing { msisdn, .. } | Invoked::Report { msisdn, .. } => Some(msisdn),
            Invoked::Deliver { .. } => None,
        };
        let is_home =
            |it: &DestinationKeys| about.is_some_and(|msisdn| it.names(msisdn.digits()).is_some());
        let is_own = |it: &DestinationKeys| match it.role {
            Role::Centre => it.names(digits).is_some() && it.is_of(message),
            Role::Hss => is_home(it) && it.is_of(message),
            Role::Node => false,
        };
        let is_allowed = digits != self.own && begins(digits, &self.allowed);
        is_allowed && self.destinations.iter().any(|it| is_own(it) && comes(it))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use diameter::codec::Writer;
    use diameter::rows::base::{ORIGIN_HOST, ORIGIN_REALM};
    use diameter::rows::s6c;
    use map::types::SmDeliveryOutcome;
    use mapsms::identity::Imsi;

    /// What may be asked in the name of a service centre: a subscriber of 4477, one of 4915, and a
    /// message.
    fn invoked(centre: &Msisdn) -> [Invoked; 4] {
        let centre = centre.address_string();
        let number = |it: &str| Msisdn::of(it).unwrap();
        let routing = |it| Invoked::Routing { msisdn: number(it), centre, has_priority: false };
        let outcome = SmDeliveryOutcome::SuccessfulTransfer;
        let report =
            Invoked::Report { msisdn: number("447700900123"), centre, outcome, diagnostic: None };
        let imsi = Imsi::of("234150000000777").unwrap();
        let deliver = Invoked::Deliver { imsi, centre, tpdu: Vec::new(), has_more: false };
        [routing("447700900123"), report, routing("491500000001"), deliver]
    }

    fn keys(role: Role, numbers: &[&str], realm: &str, host: Option<&str>) -> DestinationKeys {
        let numbers = numbers.iter().map(|it| (*it).to_owned()).collect();
        DestinationKeys { role, numbers, realm: realm.into(), host: host.map(String::from) }
    }

    #[test]
    fn a_centre_asks_in_its_own_name_and_a_home_server_of_its_own_subscribers_alone() {
        let askers = Askers {
            own: "447700000099".into(),
            allowed: vec!["4478".into(), "447700000099".into()],
            destinations: vec![
                keys(Role::Centre, &["44780"], "centres", Some("sc1.centres")),
                keys(Role::Hss, &["4477"], "home", None),
                keys(Role::Node, &["4479"], "nodes", None),
            ],
        };
        const ALL: [bool; 4] = [true; 4];
        const NONE: [bool; 4] = [false; 4];
        for (host, realm, centre, expected) in [
            ("SC1.centres", "Centres", "447800000001", ALL),
            ("sc2.centres", "centres", "447800000001", NONE),
            ("sc1.centres", "centres", "447810000001", NONE),
            ("hss.home", "home", "447810000001", [true, true, false, false]),
            ("hss.home", "home", "447910000001", NONE),
            ("hss.home", "home", "447700000099", NONE),
            ("mme.nodes", "nodes", "447810000001", NONE),
            ("x.elsewhere", "elsewhere", "447800000001", NONE),
        ] {
            let mut octets = Vec::new();
            Writer::request(&mut octets, &s6c::SEND_ROUTING_INFO_FOR_SM, s6c::S6C.id)
                .put(&ORIGIN_HOST, host)
                .put(&ORIGIN_REALM, realm)
                .end()
                .unwrap();
            let message = Message::read(&octets).unwrap();
            let centre = Msisdn::of(centre).unwrap();
            let admits = |comes: bool| {
                invoked(&centre).map(|it| askers.admits(&message, &it, &centre, |_| comes))
            };
            assert_eq!(admits(true), expected, "{host} of {realm}");
            assert_eq!(admits(false), NONE, "{host} of {realm} by another way");
        }
    }
}
