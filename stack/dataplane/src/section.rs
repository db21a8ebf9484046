//! What sections of functions with a forwarder have in common: ports, how the forwarder is started
//! and ended, and the texts for addresses.

use config::need::{BPF, Capability, NET_ADMIN, NET_RAW, Need, Wanted};
use config::{Issue, interrupted, meant};
use forwarder::ipc::{self, PortSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Ports of a function at most.
const PORTS_MAX: usize = 256;
/// Octets of a frame around its packet: Ethernet header, two VLAN tags.
const FRAME_OCTETS_AROUND: u32 = 22;

/// Who starts the forwarder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ForwarderStart {
    /// This site.
    #[default]
    Own,
    /// Somebody else.
    External,
}

/// What becomes of the forwarder when the site ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnExit {
    /// It ends too.
    #[default]
    Stop,
    /// It goes on forwarding.
    Keep,
}

/// What carries the frames of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Driver {
    /// AF_XDP: the quickest way to a network device.
    AfXdp,
    /// AF_PACKET: works with every network device.
    AfPacket,
    /// A TAP device, which the forwarder makes.
    Tap,
    /// Shared memory with another process (memif).
    Memif,
}

/// A port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// Name, unique in the function.
    pub name: String,
    /// What carries its frames: `af_xdp`, `af_packet`, `tap` or `memif`.
    pub driver: Driver,
    /// The network device, or the TAP device to make; absent: the port's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The socket by which the ends of a memif meet, relative to the site's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<String>,
    /// Number of the interface on that socket.
    #[serde(default)]
    pub id: u32,
    /// This side of a memif offers the memory.
    #[serde(default)]
    pub master: bool,
    /// MAC address; absent: the device's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// Octets of the longest packet without its Ethernet header.
    #[serde(default = "mtu")]
    pub mtu: u16,
}

const fn mtu() -> u16 {
    1_500
}

impl Port {
    /// As the forwarder opens it, under that number.
    #[must_use]
    pub fn spec(&self, number: u16) -> PortSpec {
        let device = self.device.clone().unwrap_or_else(|| self.name.clone());
        let driver = match self.driver {
            Driver::AfXdp => ipc::Driver::AfXdp { device },
            Driver::AfPacket => ipc::Driver::AfPacket { device },
            Driver::Tap => ipc::Driver::Tap { device },
            Driver::Memif => ipc::Driver::Memif {
                socket: self.socket.clone().unwrap_or_default(),
                id: self.id,
                master: self.master,
            },
        };
        let mac = self.mac.as_deref().and_then(mac);
        PortSpec { port: number, name: self.name.clone(), driver, mac, mtu: self.mtu }
    }

    /// Whether the forwarder opens the same as for that one; otherwise it closes the port first.
    #[must_use]
    pub fn opens_like(&self, other: &Self) -> bool {
        // A device that is left out is the one of the port's name.
        let whole = |it: &Self| {
            let device = it.device.clone().unwrap_or_else(|| it.name.clone());
            Self { device: Some(device), ..it.clone() }
        };
        whole(self) == whole(other)
    }
}

/// What ports need of the machine; their names are seen to elsewhere.
#[must_use]
pub fn needs(ports: &[Port]) -> Vec<Wanted> {
    let mut needs: Vec<Wanted> = Vec::new();
    for port in ports {
        let (rights, reason): (&[Capability], _) = match port.driver {
            Driver::AfXdp => (&[NET_ADMIN, NET_RAW, BPF], "ports with AF_XDP"),
            Driver::AfPacket => (&[NET_RAW], "ports with AF_PACKET"),
            Driver::Tap => (&[NET_ADMIN], "ports that are TAP devices"),
            Driver::Memif => (&[], ""),
        };
        for right in rights.iter().copied().map(Need::Capability) {
            if !needs.iter().any(|(_, known, _)| *known == right) {
                needs.push(("port", right, reason));
            }
        }
        if port.driver == Driver::Tap {
            needs.push(("port", Need::Kernel("/dev/net/tun"), reason));
        }
    }
    needs
}

/// Pushes what is wrong with ports whose frames have so many octets at most.
pub fn validate(ports: &[Port], frame_octets: u16, issues: &mut Vec<Issue>) {
    if ports.len() > PORTS_MAX {
        issues.push(Issue::new("port", "too many", format!("use {PORTS_MAX} or fewer")));
    }
    for (at, port) in ports.iter().enumerate() {
        let path = format!("port[{at}]");
        if let Some(text) = &port.mac {
            is_mac(&format!("{path}.mac"), text, issues);
        }
        let is_memif = port.driver == Driver::Memif;
        if is_memif != port.socket.is_some() {
            let what = "a memif has a socket, and nothing else has";
            issues.push(Issue::new(format!("{path}.socket"), what, ""));
        }
        let frame = u32::from(port.mtu) + FRAME_OCTETS_AROUND;
        if frame > u32::from(frame_octets) {
            let hint = format!("raise frame_octets to {frame}");
            issues.push(Issue::new(format!("{path}.mtu"), "longer than a frame", hint));
        }
    }
}

/// Sentences on ports that close or open anew when `new` takes the place of `old`.
#[must_use]
pub fn interruptions(old: &[Port], new: &[Port]) -> Vec<String> {
    let same = |it: &Port| new.iter().find(|other| other.name == it.name);
    let names = |which: &dyn Fn(&Port) -> bool| -> Vec<String> {
        old.iter().filter(|it| which(it)).map(|it| it.name.clone()).collect()
    };
    let gone = names(&|it| same(it).is_none());
    let changed = names(&|it| same(it).is_some_and(|other| !other.opens_like(it)));
    let said = [
        interrupted("port", "ports", "close", &gone),
        interrupted("port", "ports", "open anew", &changed),
    ];
    said.into_iter().flatten().collect()
}

/// Pushes what is wrong with the MAC address of one station.
pub fn is_mac(path: &str, text: &str, issues: &mut Vec<Issue>) {
    if mac(text).is_none_or(|octets| octets[0] & 1 == 1) {
        let what = format!("`{text}` is no MAC address of one station");
        issues.push(Issue::new(path, what, "write as in `02:00:00:00:00:01`"));
    }
}

/// Pushes what is wrong with a name.
pub fn is_name(path: &str, text: &str, issues: &mut Vec<Issue>) {
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b"-_./".contains(&b);
    if text.is_empty() || !text.bytes().all(is_name) {
        let hint = "use letters, digits and `-_./`";
        issues.push(Issue::new(path, format!("`{text}` is not a name"), hint));
    }
}

/// Pushes what is wrong with the names of a list, which differ.
pub fn unique<'a>(key: &str, names: impl Iterator<Item = &'a String>, issues: &mut Vec<Issue>) {
    let mut taken = std::collections::BTreeMap::new();
    for (at, text) in names.enumerate() {
        let path = format!("{key}[{at}].name");
        is_name(&path, text, issues);
        if let Some(other) = taken.insert(text, at) {
            let what = format!("`{text}` is the name of {key}[{other}] already");
            issues.push(Issue::new(path, what, "names are unique"));
        }
    }
}

/// Pushes that nothing of `what` has that name, if so.
pub fn known<'a>(
    path: &str,
    what: &str,
    name: &str,
    names: impl Iterator<Item = &'a str> + Clone,
    issues: &mut Vec<Issue>,
) {
    if names.clone().any(|known| known == name) {
        return;
    }
    let hint = meant(name, names, "add one with that name");
    issues.push(Issue::new(path, format!("there is no {what} `{name}`"), hint));
}

/// An address and the length of its prefix.
pub type Prefix = (IpAddr, u8);

/// Reads `10.0.0.1/24` without looking at the bits beyond the length.
#[must_use]
pub fn prefix(text: &str) -> Option<Prefix> {
    let (address, length) = text.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let length: u8 = length.parse().ok()?;
    (length <= if address.is_ipv4() { 32 } else { 128 }).then_some((address, length))
}

/// The prefix with zeros beyond its length.
#[must_use]
pub fn network(prefix: Prefix) -> Prefix {
    let (address, length) = prefix;
    let beyond = |width: u32| width.saturating_sub(length.into());
    match address {
        IpAddr::V4(v4) => {
            let kept = u32::MAX.checked_shl(beyond(32)).unwrap_or(0);
            (IpAddr::V4((v4.to_bits() & kept).into()), length)
        }
        IpAddr::V6(v6) => {
            let kept = u128::MAX.checked_shl(beyond(128)).unwrap_or(0);
            (IpAddr::V6((v6.to_bits() & kept).into()), length)
        }
    }
}

/// Whether an address is in the subnet of a prefix.
#[must_use]
pub fn contains(prefix: Prefix, address: IpAddr) -> bool {
    let (own, length) = prefix;
    own.is_ipv4() == address.is_ipv4() && network((own, length)) == network((address, length))
}

/// Reads `02:00:00:00:00:01`.
#[must_use]
pub fn mac(text: &str) -> Option<[u8; 6]> {
    let mut octets = [0; 6];
    let mut parts = text.split(':');
    for octet in &mut octets {
        let part = parts.next().filter(|part| part.len() == 2)?;
        *octet = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(octets)
}

/// Reads `80` or `1024-65535`.
#[must_use]
pub fn port_range(text: &str) -> Option<(u16, u16)> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let (low, high) = (low.parse().ok()?, high.parse().ok()?);
    (low <= high).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_or_refused() {
        assert_eq!(prefix("10.0.0.1/24"), Some(("10.0.0.1".parse().unwrap(), 24)));
        assert_eq!(prefix("10.0.0.1/33"), None);
        assert_eq!(prefix("10.0.0.1"), None);
        let net = network(prefix("2001:db8:1::1/32").unwrap());
        assert_eq!(net, ("2001:db8::".parse().unwrap(), 32));
        assert_eq!(network(prefix("10.1.2.3/0").unwrap()).0, IpAddr::from([0, 0, 0, 0]));
        let lan = prefix("10.1.2.3/24").unwrap();
        assert!(contains(lan, "10.1.2.254".parse().unwrap()));
        assert!(!contains(lan, "::1".parse().unwrap()));
        assert_eq!(mac("02:00:00:00:00:fe"), Some([2, 0, 0, 0, 0, 254]));
        assert_eq!(mac("02:00:00:00:00"), None);
        assert_eq!(mac("02:00:00:00:00:0001"), None);
        assert_eq!((port_range("80"), port_range("9-8")), (Some((80, 80)), None));
    }
}
