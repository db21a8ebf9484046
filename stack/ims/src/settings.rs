//! What a function tells of its realms.

use crate::Ipsec;
use ipsec::Address;
use runtime::PortId;
use secagree::Preference;
use std::net::IpAddr;
use std::sync::Arc;

/// A doorway of a realm with IPsec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Door {
    /// Its port.
    pub port: PortId,
    /// Its address.
    pub ip: IpAddr,
    /// Whether it is a protected one: what comes there in the clear is dropped.
    pub is_protected: bool,
    /// Whether the function knows it as the doorway of its phones; of the client ports it does
    /// not.
    pub is_known: bool,
}

/// A realm with IPsec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Realm {
    /// Its name.
    pub name: String,
    /// Its section.
    pub section: Ipsec,
    /// Its doorways.
    pub doors: Vec<Door>,
    /// Its addresses that take ESP.
    pub addresses: Vec<Address>,
}

/// What a function tells of its realms.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// Those that have IPsec.
    pub realms: Vec<Realm>,
}

impl Settings {
    /// What the doorway of ESP is made of.
    pub(crate) fn esp(&self) -> ipsec::Settings {
        let addresses = self.realms.iter().flat_map(|realm| realm.addresses.iter().copied());
        let sets = self.realms.iter().map(|realm| realm.section.sets_max);
        ipsec::Settings { addresses: addresses.collect(), sets_max: sets.max().unwrap_or(0) }
    }

    /// Agreements at most, those under way with them.
    pub(crate) fn agreements_max(&self) -> u32 {
        let most =
            |realm: &Realm| realm.section.sets_max.saturating_add(realm.section.under_way_max);
        self.realms.iter().map(most).max().unwrap_or(0)
    }
}

/// A realm as [`crate::Access`] keeps it.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub realm: Realm,
    pub preference: Arc<Preference>,
}

impl Row {
    pub fn of(realm: &Realm) -> Self {
        Self { preference: Arc::new(realm.section.preference()), realm: realm.clone() }
    }

    pub fn door(&self, port: PortId) -> Option<&Door> {
        self.realm.doors.iter().find(|door| door.port == port)
    }

    /// The doorway by which the function knows phones at that address of ours.
    pub fn protected(&self, ip: IpAddr) -> Option<&Door> {
        let is_it = |door: &&Door| door.is_protected && door.is_known && door.ip == ip;
        self.realm.doors.iter().find(is_it)
    }
}
