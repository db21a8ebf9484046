//! Who is reached by Diameter in place of MAP (TS 29.338).

use diameter::codec::Message;
use diameter::row::Row;
use diameter::rows::base::{ORIGIN_HOST, ORIGIN_REALM};
use diameter::rows::{s6c, sgd};
use mapsms::argument::Argument;
use mapsms::identity::Msisdn;
use sccp::codec::Address;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who is reached by Diameter in place of MAP (TS 29.338).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DestinationKeys {
    /// `hss`: the home subscriber server of subscribers with these numbers (S6c); `centre`: service
    /// centres with these numbers (SGd); `node`: MMEs and SGSNs with these numbers (SGd, Gdd).
    /// Centres, and home subscriber servers that ask for them, may ask here.
    pub role: Role,
    /// Digits with one of which the numbers begin. Of several destinations the one that names most
    /// digits is taken.
    pub numbers: Vec<String>,
    /// Its realm.
    pub realm: String,
    /// Its host, where it is one; absent: whichever the realm's peers choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// What is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A home subscriber server, by numbers of subscribers.
    Hss,
    /// A service centre.
    Centre,
    /// An MME or SGSN.
    Node,
}

/// Where a request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Destination-Realm.
    pub realm: String,
    /// Destination-Host.
    pub host: Option<String>,
}

impl Role {
    /// The application that it is asked in.
    #[must_use]
    pub const fn application(self) -> u32 {
        match self {
            Self::Hss => s6c::S6C.id,
            Self::Centre | Self::Node => sgd::SGD.id,
        }
    }
}

impl DestinationKeys {
    /// How many of a number's digits it names; none: it is another one's.
    #[must_use]
    pub fn names(&self, digits: &str) -> Option<usize> {
        let begun = self.numbers.iter().filter(|own| digits.starts_with(own.as_str()));
        begun.map(String::len).max()
    }

    /// Whether a request originated there.
    pub(crate) fn is_of(&self, message: &Message<'_>) -> bool {
        let is = |row: &Row, name: &str| {
            message.avps().find(row).is_some_and(|it| it.data.eq_ignore_ascii_case(name.as_bytes()))
        };
        is(&ORIGIN_REALM, &self.realm) && self.host.as_ref().is_none_or(|it| is(&ORIGIN_HOST, it))
    }
}

impl Place {
    /// What tells it from others: the source of names.
    pub(crate) fn source(&self) -> String {
        format!("{}@{}", self.host.as_deref().unwrap_or_default(), self.realm)
    }
}

/// The home subscriber server of a subscriber, as a source of names; empty: none is known.
#[must_use]
pub fn home_of(all: &[DestinationKeys], msisdn: &Msisdn) -> String {
    place(all, Role::Hss, msisdn.digits()).map(|it| it.source()).unwrap_or_default()
}

/// Where what has that number is reached; none: by MAP.
#[must_use]
pub fn place(all: &[DestinationKeys], role: Role, digits: &str) -> Option<Place> {
    let named = all.iter().filter(|it| it.role == role);
    // Of two alike the first.
    let named = named.rev().filter_map(|it| Some((it.names(digits)?, it)));
    let (_, keys) = named.max_by_key(|it| it.0)?;
    Some(Place { realm: keys.realm.clone(), host: keys.host.clone() })
}

/// What is reached by an operation, and the digits that say where.
#[must_use]
pub fn reached(argument: &Argument, to: &Address) -> Option<(Role, String)> {
    let digits = |it: &Msisdn| it.digits().to_owned();
    Some(match argument {
        Argument::Routing { msisdn, .. } | Argument::Report { msisdn, .. } => {
            (Role::Hss, digits(msisdn))
        }
        Argument::Submit { centre, .. } => {
            (Role::Centre, digits(&Msisdn::of_address_string(centre.octets())?))
        }
        Argument::Alert { centre, .. } => (Role::Centre, digits(centre)),
        Argument::Deliver { .. } => (Role::Node, digits_of(to)?),
        Argument::Ready { .. } | Argument::Registration { .. } => return None,
    })
}

/// The digits of a title.
#[must_use]
pub fn digits_of(address: &Address) -> Option<String> {
    let title = address.title.as_ref()?;
    Some(title.digits.iter().filter_map(|it| char::from_digit(it.into(), 16)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(role: Role, numbers: &[&str], realm: &str, host: Option<&str>) -> DestinationKeys {
        let numbers = numbers.iter().map(|it| (*it).to_owned()).collect();
        DestinationKeys { role, numbers, realm: realm.into(), host: host.map(String::from) }
    }

    #[test]
    fn the_destination_that_names_most_digits_is_taken_among_those_of_its_role() {
        let all = [
            keys(Role::Hss, &["4477"], "home", None),
            keys(Role::Hss, &["44", "447709"], "other", Some("hss.other")),
            keys(Role::Centre, &["4477"], "centres", None),
            keys(Role::Hss, &["4477"], "second", None),
        ];
        let realm = |role, digits| place(&all, role, digits).map(|it| it.realm);
        assert_eq!(realm(Role::Hss, "447700900123").as_deref(), Some("home"));
        assert_eq!(realm(Role::Hss, "447709900123").as_deref(), Some("other"));
        assert_eq!(realm(Role::Hss, "441234").as_deref(), Some("other"));
        assert_eq!(realm(Role::Centre, "447709").as_deref(), Some("centres"));
        assert_eq!(realm(Role::Node, "447709"), None);
        assert_eq!(realm(Role::Hss, "4915"), None);
    }
}
