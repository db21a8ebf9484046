//! What is known of peers: the versions of MAP that they speak, their names in Diameter, and who
//! does not answer.

use crate::settings::Settings;
use mapsms::argument::Argument;
use mapsms::by_diameter::names::Names;
use mapsms::identity::Msisdn;
use mapsms::silent::Silent;
use mapsms::versions::Versions;
use sccp::codec::Address;
use smsdiameter::{Place, Role, home_of, place, reached};

/// Peers whose version is remembered.
const VERSIONS_MAX: usize = 4_096;

/// What is known of peers.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) versions: Versions,
    pub(crate) names: Names,
    /// Who does not answer.
    pub(crate) silent: Silent,
}

impl Default for Known {
    fn default() -> Self {
        let versions = Versions::new(VERSIONS_MAX);
        Self { versions, names: Names::default(), silent: Silent::default() }
    }
}

impl Known {
    /// Where an operation goes by Diameter; none: it goes by MAP. A node is where the home
    /// subscriber server of the subscriber whom it is asked for said that it is, else where the
    /// configuration says.
    pub(crate) fn place(
        &self,
        settings: &Settings,
        argument: &Argument,
        to: &Address,
        of: Option<&Msisdn>,
    ) -> Option<Place> {
        let all = &settings.home.destinations;
        if all.is_empty() {
            return None;
        }
        let (role, digits) = reached(argument, to)?;
        let number = Msisdn::of(&digits).filter(|_| role == Role::Node);
        let named = of.zip(number).and_then(|(of, it)| self.names.at(&home_of(all, of), &it));
        if let Some(named) = named {
            return Some(Place { realm: named.realm.clone(), host: Some(named.host.clone()) });
        }
        place(all, role, &digits)
    }
}
