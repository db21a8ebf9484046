//! What sections of several kinds say in the same words, and what follows from it for all of them.

use super::listen;
use crate::exposure;
use authentication::Password;
use config::keys;
use config::need::{NET_ADMIN, NET_RAW, Need, Wanted};
use config::{Issue, ListenAddress};
use replica::Replica;
use std::net::IpAddr;
use std::path::Path;

/// The keys of a section that all kinds, or several, have; what a kind has not, is absent.
#[derive(Clone, Copy)]
pub struct Head<'s> {
    /// The function's name: the key `name`.
    pub name: &'s str,
    /// The cores that its threads are pinned to: the key `cores`.
    pub cores: &'s [usize],
    /// Where captured messages go: the key `capture`.
    pub capture: Option<&'s str>,
    /// The file with the key for those: `capture_key_file`.
    pub capture_key_file: Option<&'s str>,
    /// Its place in a pair, if it is one of two: the table `replica`.
    pub replica: Option<&'s Replica>,
}

impl<'s> Head<'s> {
    /// The head of a section that has only these.
    pub const fn of(name: &'s str, cores: &'s [usize]) -> Self {
        Self { name, cores, capture: None, capture_key_file: None, replica: None }
    }

    /// The same of a section that captures.
    pub fn captured<const AGENT: u32>(self, section: &'s trail::Section<AGENT>) -> Self {
        let (capture, key_file) = (section.collector.as_deref(), section.key_file.as_deref());
        Self { capture, capture_key_file: key_file, ..self }
    }

    /// Where the other node of its pair is heard.
    pub fn listens(&self) -> Option<ListenAddress> {
        let replica = self.replica?;
        listen("replica.listen".into(), &format!("udp:{}", replica.listen))
    }

    /// Whether the active node of its pair has that address.
    pub fn awaits(&self, address: IpAddr) -> bool {
        self.replica.is_some_and(|replica| replica.holds(address))
    }

    /// Whether it moves addresses between machines, with `CAP_NET_ADMIN`.
    pub fn takes_addresses(&self) -> bool {
        self.replica.is_some_and(|pair| !pair.addresses.is_empty())
    }

    /// Key files that cannot be used.
    pub fn unusable(&self, directory: &Path) -> Vec<Issue> {
        let pair = self.replica.and_then(|replica| replica.key_file.as_deref());
        let files = [("capture_key_file", self.capture_key_file), ("replica.key_file", pair)];
        let unusable = files.into_iter().filter_map(|(key, name)| {
            let unusable = keys::read(directory, name?).err()?;
            Some(unusable.issue(key))
        });
        unusable.collect()
    }

    /// What it needs of the machine.
    pub fn needs(&self) -> Vec<Wanted> {
        let mut needs = Vec::new();
        if self.takes_addresses() {
            let reason = "the active node takes the addresses of the pair";
            needs.push(("replica.addresses", Need::Capability(NET_ADMIN), reason));
        }
        if self.replica.is_some_and(Replica::asks_gateways) {
            let reason = "gateways are asked by raw sockets";
            needs.push(("replica.track", Need::Capability(NET_RAW), reason));
        }
        needs
    }

    /// What it leaves open to others.
    pub fn exposures(&self) -> Option<Issue> {
        self.capture.and_then(exposure::capture)
    }
}

/// The key that a collector wants: the first of a section's `capture_key_file`.
///
/// # Errors
/// The file cannot be used.
pub fn capture_key(file: Option<&str>, directory: &Path) -> Result<Password, Issue> {
    let Some(name) = file else { return Ok(Password::default()) };
    let keys = keys::passwords(directory, name);
    let keys = keys.map_err(|unusable| unusable.issue("capture_key_file"))?;
    Ok(keys.into_iter().next().unwrap_or_default())
}
