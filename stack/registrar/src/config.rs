//! The section of the site file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sip_stack::RealmId;

/// The registrar front: bindings are cached, the core sees a refresh only when it needs one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Registrar")]
pub struct Config {
    /// Whether bindings are cached; otherwise REGISTER is forwarded every time.
    pub enabled: bool,
    /// Expiry told to clients, seconds; a realm may have its own.
    pub client_expires_s: u32,
    /// Expiry asked from the core, seconds.
    pub core_expires_s: u32,
    /// The shortest expiry a client may ask for, seconds (423 below).
    pub client_expires_min_s: u32,
    /// Contacts of one address of record at most.
    pub contacts_max: u16,
    /// `client_expires_s` of realms that have their own, by their numbers.
    #[serde(skip)]
    pub of_realms: Vec<Option<u32>>,
}

impl Config {
    /// Expiry told to clients of a realm, seconds.
    #[must_use]
    pub fn client_expires_s(&self, realm: RealmId) -> u32 {
        let own = self.of_realms.get(usize::from(realm.0)).copied().flatten();
        own.unwrap_or(self.client_expires_s)
    }

    /// The longest of them.
    #[must_use]
    pub fn client_expires_max_s(&self) -> u32 {
        self.of_realms.iter().copied().flatten().fold(self.client_expires_s, u32::max)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            enabled: true,
            client_expires_s: 30,
            core_expires_s: 1800,
            client_expires_min_s: 10,
            contacts_max: 8,
            of_realms: Vec::new(),
        }
    }
}
