//! Who may ask by S6c and SGd.

use super::destinations::{DestinationKeys, Role};
use crate::config::{Ipsmgw, Mode};
use crate::settings::begins;
use diameter::codec::Message;
use mapsms::identity::Msisdn;

/// Who may ask.
#[derive(Debug, Default)]
pub(crate) struct Askers {
    own: String,
    allowed: Vec<String>,
    destinations: Vec<DestinationKeys>,
}

impl Askers {
    pub(crate) fn of(config: &Ipsmgw) -> Self {
        match config.mode {
            Mode::Local => Self::default(),
            Mode::Gateway => Self {
                own: config.number.clone(),
                allowed: config.signalling.allowed.clone(),
                destinations: config.diameter_destination.clone(),
            },
        }
    }

    /// Whether anybody may.
    pub(crate) fn is_any(&self) -> bool {
        !self.destinations.is_empty()
    }

    /// The gateway's own number.
    pub(crate) fn own(&self) -> &str {
        &self.own
    }

    /// Whether a request in the name of that service centre is one of its own, or of a home
    /// subscriber server that was asked by it; and whether it may ask at all. `comes` knows whether
    /// it came the way that requests to a destination take: Origin-Host and Origin-Realm are what
    /// any peer may write.
    pub(crate) fn admits(
        &self,
        message: &Message<'_>,
        centre: &Msisdn,
        comes: impl Fn(&DestinationKeys) -> bool,
    ) -> bool {
        let digits = centre.digits();
        let is_own = |it: &DestinationKeys| match it.role {
            Role::Centre => it.names(digits).is_some() && it.is_of(message),
            Role::Hss => it.is_of(message),
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

    fn keys(role: Role, numbers: &[&str], realm: &str, host: Option<&str>) -> DestinationKeys {
        let numbers = numbers.iter().map(|it| (*it).to_owned()).collect();
        DestinationKeys { role, numbers, realm: realm.into(), host: host.map(String::from) }
    }

    #[test]
    fn a_centre_asks_in_its_own_name_and_a_home_server_in_those_that_are_allowed() {
        let askers = Askers {
            own: "447700000099".into(),
            allowed: vec!["4478".into(), "447700000099".into()],
            destinations: vec![
                keys(Role::Centre, &["44780"], "centres", Some("sc1.centres")),
                keys(Role::Hss, &["4477"], "home", None),
                keys(Role::Node, &["4479"], "nodes", None),
            ],
        };
        for (host, realm, centre, expected) in [
            ("SC1.centres", "Centres", "447800000001", true),
            ("sc2.centres", "centres", "447800000001", false),
            ("sc1.centres", "centres", "447810000001", false),
            ("hss.home", "home", "447810000001", true),
            ("hss.home", "home", "447910000001", false),
            ("hss.home", "home", "447700000099", false),
            ("mme.nodes", "nodes", "447810000001", false),
            ("x.elsewhere", "elsewhere", "447800000001", false),
        ] {
            let mut octets = Vec::new();
            Writer::request(&mut octets, &s6c::SEND_ROUTING_INFO_FOR_SM, s6c::S6C.id)
                .put(&ORIGIN_HOST, host)
                .put(&ORIGIN_REALM, realm)
                .end()
                .unwrap();
            let message = Message::read(&octets).unwrap();
            let centre = Msisdn::of(centre).unwrap();
            let admits = |comes: bool| askers.admits(&message, &centre, |_| comes);
            assert_eq!(admits(true), expected, "{host} of {realm}");
            assert!(!admits(false), "{host} of {realm} by another way");
        }
    }
}
