//! The section of a realm that describes its IPsec.

use config::Issue;
use schemars::JsonSchema;
use secagree::{Alg, Ealg, Preference};
use serde::{Deserialize, Serialize};

/// Seconds that a challenged phone has at most.
const CHALLENGE_S_MAX: u32 = 3_600;
/// Octets of a name of a network.
const NAME_OCTETS_MAX: usize = 255;
/// How long connections may be kept that pass nothing, seconds.
const TCP_IDLE_S: core::ops::RangeInclusive<u32> = 60..=604_800;

/// IPsec between phones and this realm (TS 33.203).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ipsec {
    /// Protected server port, on each UDP address of the realm: requests of phones come here.
    pub server_port: u16,
    /// Protected client ports: requests to phones leave by these. The second is that of a new
    /// security agreement beside an old one with the first, and the other way round.
    #[serde(deserialize_with = "two_ports")]
    pub client_ports: [u16; 2],
    /// UDP port of ESP in UDP (RFC 3948), for phones behind a NAT; 0: none.
    pub encapsulation_port: u16,
    /// ESP of the realm's addresses goes past the kernel's IP (`AF_XDP`), each address on an
    /// Ethernet interface of its own; needs `CAP_NET_ADMIN` and `CAP_BPF` beside `CAP_NET_RAW`. The
    /// kernel's filters (nftables), queues (tc) and IPsec policies do not see it. Fragments, what
    /// is longer than a packet, and what has no neighbour on that interface go by the kernel, and
    /// so does ESP in UDP.
    pub bypass: bool,
    /// Pairs of integrity and encryption algorithm, the best first: `null/aes-gcm`,
    /// `hmac-sha-1-96/aes-cbc`, `aes-gmac/null`, `hmac-sha-1-96/null`; of older releases
    /// `hmac-md5-96/des-ede3-cbc` and their mixtures.
    pub algorithms: Vec<String>,
    /// Refuse phones that ask for no security agreement, and requests in the clear other than
    /// REGISTER and emergency calls, those over TLS with them; without it both pass.
    pub required: bool,
    /// Take emergency calls (`urn:service:sos`) of phones without an agreement or a registration
    /// (TS 24.229 §5.2.10); their dialogs are in the clear.
    pub emergency: bool,
    /// Time for a challenged phone to answer, seconds (TS 24.229: reg-await-auth, 4 minutes).
    pub challenge_s: u32,
    /// Registrations under way from one source (an IPv4 address, an IPv6 /64) at most, of those
    /// that began in the clear and have proven no card; beyond it the oldest of these makes way.
    pub under_way_of_source_max: u32,
    /// Registrations under way from all sources at most, those that have failed within 32 s with
    /// them, of each shard; beyond it one of the source with most makes way, and one whose phone
    /// has proven its card last.
    pub under_way_max: u32,
    /// Sets of security associations of each shard at most.
    pub sets_max: u32,
    /// Close a connection of TCP inside of ESP by which nothing has passed for so many seconds; the
    /// next message opens another one. 0: TCP inside of ESP is not carried.
    pub tcp_idle_s: u32,
    /// Sets of registrations that stand, of one source at most: other phones behind it are refused.
    pub sets_of_source_max: u32,
    /// Name by which home networks know this one: P-Visited-Network-ID of each REGISTER (RFC 7315
    /// §4.3, TS 24.229 §5.2.2); empty: none is sent.
    pub visited_network: String,
    /// Name of this network for charging between operators: `orig-ioi` of the P-Charging-Vector
    /// that each REGISTER and each request that begins a dialog or stands alone gets (RFC 7315
    /// §4.6, TS 24.229 §5.2.6.3); empty: none is sent.
    pub charging: String,
    /// Subscribe at the core to what becomes of each registration (RFC 3680, TS 24.229 §5.2.3):
    /// what the network ends itself then ends here too, binding and associations.
    pub reg_event: bool,
    /// Such subscriptions of phones of this realm at most, of each shard; other registrations are
    /// not watched.
    pub reg_events_max: u32,
    /// File that the keys of all security associations are appended to, for tshark (`esp_sa`); made
    /// with mode 0600. An alarm stands while it is written. For tests: absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_log: Option<String>,
}

impl Default for Ipsec {
    fn default() -> Self {
        let pairs = Preference::usual().pairs;
        Self {
            server_port: 5_062,
            client_ports: [5_064, 5_066],
            encapsulation_port: esp::Udp::PORT,
            bypass: false,
            algorithms: pairs.iter().map(|(alg, ealg)| words(*alg, *ealg)).collect(),
            required: true,
            emergency: true,
            challenge_s: 240,
            under_way_of_source_max: 64,
            under_way_max: 50_000,
            sets_max: 300_000,
            tcp_idle_s: 900,
            sets_of_source_max: 10_000,
            visited_network: String::new(),
            charging: String::new(),
            reg_event: false,
            reg_events_max: 300_000,
            key_log: None,
        }
    }
}

fn words(alg: Alg, ealg: Ealg) -> String {
    format!("{}/{}", alg.name(), ealg.name())
}

/// The pair that two words are.
fn pair(text: &str) -> Option<(Alg, Ealg)> {
    let all = Alg::ALL.iter().flat_map(|alg| Ealg::ALL.iter().map(move |ealg| (*alg, *ealg)));
    let is_it = |(alg, ealg): &(Alg, Ealg)| words(*alg, *ealg).eq_ignore_ascii_case(text);
    let found = all.into_iter().find(is_it)?;
    let usable = secagree::Preference { pairs: vec![found], modes: vec![] };
    usable.has_any().then_some(found)
}

impl Ipsec {
    /// What the realm prefers; pairs that [`Ipsec::validate`] refuses are left out.
    #[must_use]
    pub fn preference(&self) -> Preference {
        let pairs = self.algorithms.iter().filter_map(|text| pair(text)).collect();
        Preference { pairs, ..Preference::usual() }
    }

    /// Pushes what the types alone cannot refuse; paths are relative to the section.
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        let [first, second] = self.client_ports;
        let ports = [self.server_port, first, second, self.encapsulation_port];
        let is_twice = (1..4).any(|at| ports[..at].contains(&ports[at]));
        if ports[..3].contains(&0) {
            let hint = "use 1 to 65535";
            issues.push(Issue::new("server_port", "0 is no protected port", hint));
        } else if is_twice {
            let what = "a port stands twice";
            issues.push(Issue::new("client_ports", what, "give four different ports"));
        }
        if self.algorithms.is_empty() {
            let hint = "leave the key out for those of TS 33.203";
            issues.push(Issue::new("algorithms", "there is no algorithm", hint));
        }
        for (at, text) in self.algorithms.iter().enumerate() {
            if pair(text).is_none() {
                let what = format!("`{text}` is no pair of algorithms that go together");
                let hint = "write integrity/encryption: hmac-sha-1-96/aes-cbc";
                issues.push(Issue::new(format!("algorithms[{at}]"), what, hint));
            }
        }
        if self.key_log.as_ref().is_some_and(|path| !path.starts_with('/')) {
            let hint = "begin it with /, where nobody else may write";
            issues.push(Issue::new("key_log", "it is no path from the root", hint));
        }
        named("visited_network", &self.visited_network, issues);
        named("charging", &self.charging, issues);
        let checks = [
            ("challenge_s", self.challenge_s, 4, CHALLENGE_S_MAX),
            ("under_way_of_source_max", self.under_way_of_source_max, 1, 1 << 20),
            ("under_way_max", self.under_way_max, 1, 1 << 20),
            ("sets_max", self.sets_max, 4, ipsec::SETS_MAX),
            ("sets_of_source_max", self.sets_of_source_max, 3, ipsec::SETS_MAX),
            ("reg_events_max", self.reg_events_max, 1, ipsec::SETS_MAX),
        ];
        if self.tcp_idle_s != 0 && !TCP_IDLE_S.contains(&self.tcp_idle_s) {
            let (what, hint) = ("it is out of range", "use 60 to 604800, or 0 for no TCP");
            issues.push(Issue::new("tcp_idle_s", what, hint));
        }
        for (path, value, least, most) in checks {
            if !(least..=most).contains(&value) {
                let what = format!("{value} is out of range");
                issues.push(Issue::new(path, what, format!("use {least} to {most}")));
            }
        }
    }
}

/// Two ports, neither less nor more.
fn two_ports<'de, D: serde::Deserializer<'de>>(source: D) -> Result<[u16; 2], D::Error> {
    let ports = Vec::<u16>::deserialize(source)?;
    let what = |_| serde::de::Error::custom("two ports are needed, as in [5064, 5066]");
    <[u16; 2]>::try_from(ports).map_err(what)
}

/// Pushes what is wrong with the name of a network in the configuration.
fn named(path: &str, name: &str, issues: &mut Vec<Issue>) {
    let is_text = |octet: u8| matches!(octet, b' '..=b'~') && !matches!(octet, b'"' | b'\\');
    if name.len() > NAME_OCTETS_MAX || !name.bytes().all(is_text) {
        let what = "it is no name of a network";
        let hint = "use up to 255 printable characters of ASCII but \" and \\";
        issues.push(Issue::new(path, what, hint));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_valid_and_every_violation_is_named() {
        let mut issues = Vec::new();
        Ipsec::default().validate(&mut issues);
        assert_eq!(issues, []);
        assert_eq!(Ipsec::default().preference(), Preference::usual());
        let wrong = Ipsec {
            client_ports: [5_064, 5_062],
            algorithms: vec!["HMAC-SHA-1-96/AES-CBC".into(), "null/null".into(), "rot13".into()],
            challenge_s: 1,
            charging: "a\r\nb".into(),
            key_log: Some("keys".into()),
            visited_network: "\"".into(),
            ..Ipsec::default()
        };
        wrong.validate(&mut issues);
        let paths: Vec<_> = issues.iter().map(|issue| issue.path.as_str()).collect();
        let strings = ["algorithms[1]", "algorithms[2]", "key_log", "visited_network", "charging"];
        assert_eq!(paths, [&["client_ports"][..], &strings, &["challenge_s"]].concat());
        let pairs = wrong.preference().pairs;
        assert_eq!(pairs, [(Alg::HmacSha1_96, Ealg::AesCbc)]);
    }

    #[test]
    fn client_ports_are_two() {
        let read = |ports: &str| toml::from_str::<Ipsec>(&format!("client_ports = {ports}"));
        assert_eq!(read("[1, 2]").unwrap().client_ports, [1, 2]);
        for wrong in ["[5064]", "[5064, 5066, 5068]", "[]"] {
            let told = read(wrong).unwrap_err().to_string();
            assert!(told.contains("two ports are needed, as in [5064, 5066]"), "{told}");
        }
    }
}
