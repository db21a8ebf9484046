//! What the types alone cannot refuse of a speaker.

use super::families;
use super::ports::{Entry, read_listen};
use super::{Excess, LISTENERS_MAX, PEERS_MAX, PeerOptions, PrefixLimit, Range, Role, Section};
use bgp::PeerAs;
use bgp::codec::ExtendedCommunity;
use bgp::family::Family;
use config::{Issue, meant};
use policy::Policies;
use runtime::GUARDS_MAX;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Groups of one function at most.
const GROUPS_MAX: usize = 1_024;
/// Ranges of all groups at most.
const RANGES_MAX: usize = 4_096;
/// Octets of a password at most (Linux, `TCP_MD5SIG_MAXKEYLEN`).
const PASSWORD_OCTETS_MAX: usize = 80;
/// Octets of a name or a description at most.
const TEXT_OCTETS_MAX: usize = 255;
/// Seconds of any time of a session at most: a week.
const TIME_S_MAX: u32 = 7 * 86_400;
/// Seconds that graceful restart can say (RFC 4724 §3).
const RESTART_S_MAX: u16 = 4_095;
/// Seconds that long-lived graceful restart can say (RFC 9494 §3.1).
const LONG_LIVED_S_MAX: u32 = (1 << 24) - 1;

impl Section<'_> {
    /// Pushes what the types alone cannot refuse; paths are relative to the section of the
    /// function.
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        self.validate_own(issues);
        self.validate_listen(issues);
        self.validate_groups(issues);
        self.validate_ranges(issues);
        self.validate_peers(issues);
        self.validate_passwords(issues);
        self.validate_policies(issues);
        self.validate_locations(issues);
    }

    fn validate_own(&self, issues: &mut Vec<Issue>) {
        if self.asn == 0 {
            issues.push(Issue::new("asn", "AS 0 is nobody's (RFC 7607)", "write the AS"));
        }
        if self.asn == bgp::codec::AS_TRANS {
            let what = "AS 23456 stands for those that do not fit into two octets (RFC 6793)";
            issues.push(Issue::new("asn", what, "write the AS"));
        }
        if self.identifier.is_unspecified() {
            let hint = "write four octets that no other speaker of the AS has";
            issues.push(Issue::new("identifier", "the BGP Identifier is zero", hint));
        }
    }

    fn validate_listen(&self, issues: &mut Vec<Issue>) {
        if self.listen.len() > usize::from(LISTENERS_MAX) {
            let hint = format!("use {LISTENERS_MAX} or fewer");
            issues.push(Issue::new("listen", "too many addresses", hint));
        }
        for (n, text) in self.listen.iter().enumerate() {
            let at = format!("listen[{n}]");
            let Some(listen) = read_listen(text) else {
                let hint = "write `10.0.0.1`, `10.0.0.1:179` or `[2001:db8::1]:179`";
                issues.push(Issue::new(at, format!("`{text}` is no address"), hint));
                continue;
            };
            if self.listen[..n].iter().any(|other| read_listen(other) == Some(listen)) {
                let what = format!("{listen} is listened on twice");
                issues.push(Issue::new(at, what, "remove it once"));
            }
        }
    }

    fn validate_groups(&self, issues: &mut Vec<Issue>) {
        if self.group.len() > GROUPS_MAX {
            let what = format!("{} groups", self.group.len());
            issues.push(Issue::new("group", what, format!("use {GROUPS_MAX} or fewer")));
        }
        let mut seen = BTreeMap::new();
        for (n, group) in self.group.iter().enumerate() {
            let at = format!("group[{n}]");
            validate_name(&group.name, seen.insert(&group.name, n).is_some(), &at, issues);
            let options = PeerOptions::of_group(group);
            self.validate_options(&options, &options, &at, issues);
            if !group.ranges.is_empty() {
                self.validate_table(&options, &at, issues);
            }
            if group.peers_max == 0 || group.peers_max as usize > PEERS_MAX {
                let what = format!("{} is out of range", group.peers_max);
                let hint = format!("use 1 to {PEERS_MAX}");
                issues.push(Issue::new(format!("{at}.peers_max"), what, hint));
            }
            if group.port.is_some() && !group.ranges.is_empty() {
                let hint = "remove it: peers from ranges connect to this node, from any port";
                issues.push(Issue::new(format!("{at}.port"), "it is not used", hint));
            }
        }
    }

    fn validate_ranges(&self, issues: &mut Vec<Issue>) {
        let total: usize = self.group.iter().map(|group| group.ranges.len()).sum();
        if total > RANGES_MAX {
            let hint = format!("use {RANGES_MAX} or fewer");
            return issues.push(Issue::new("group", format!("{total} ranges"), hint));
        }
        let mut seen: BTreeMap<(&Option<String>, IpAddr, u8), &str> = BTreeMap::new();
        for (n, group) in self.group.iter().enumerate() {
            if !group.ranges.is_empty() && self.listen.is_empty() {
                let hint = "add `listen`, or remove the ranges";
                let what = "nothing listens for peers that connect";
                issues.push(Issue::new(format!("group[{n}].ranges"), what, hint));
            }
            for (m, text) in group.ranges.iter().enumerate() {
                let at = format!("group[{n}].ranges[{m}]");
                let Some(range) = Range::read(text, n) else {
                    let hint = "write a prefix without bits behind its length: `10.1.0.0/16`";
                    issues.push(Issue::new(at, format!("`{text}` is no prefix"), hint));
                    continue;
                };
                let prefix = (&group.vrf, range.prefix, range.length);
                if let Some(other) = seen.insert(prefix, &group.name) {
                    let what = format!("{text} is a range of `{other}` already");
                    issues.push(Issue::new(at, what, "a prefix belongs to one group"));
                }
            }
        }
    }

    fn validate_peers(&self, issues: &mut Vec<Issue>) {
        if self.peer.len() > PEERS_MAX {
            let what = format!("{} peers", self.peer.len());
            issues.push(Issue::new("peer", what, format!("use {PEERS_MAX} or fewer")));
        }
        let (mut names, mut addresses) = (BTreeMap::new(), BTreeMap::new());
        for (n, peer) in self.peer.iter().enumerate() {
            let at = format!("peer[{n}]");
            validate_name(&peer.name, names.insert(&peer.name, n).is_some(), &at, issues);
            validate_address(peer.address, &format!("{at}.address"), issues);
            let vrf = self.options(peer).vrf;
            if let Some(first) = addresses.insert((vrf, peer.address.to_canonical()), n) {
                let what =
                    format!("{} is the address of `{}`", peer.address, self.peer[first].name);
                issues.push(Issue::new(format!("{at}.address"), what, "a peer has its own"));
            }
            let group = peer.group.as_ref();
            let found = group.and_then(|name| self.group.iter().find(|it| it.name == *name));
            if let (Some(name), None) = (group, found) {
                let known = self.group.iter().map(|group| &*group.name);
                let hint = meant(name, known, format!("add [[{}.group]]", self.key));
                let at = format!("{at}.group");
                issues.push(Issue::new(at, format!("there is no group `{name}`"), hint));
            }
            let (own, whole) = (PeerOptions::of_peer(peer), PeerOptions::of(Some(peer), found));
            self.validate_options(&own, &whole, &at, issues);
            self.validate_table(&whole, &at, issues);
            let local = whole.local.filter(|local| local.is_ipv4() != peer.address.is_ipv4());
            if let Some(local) = local {
                let what = format!("{local} is of another address family than {}", peer.address);
                issues.push(Issue::new(format!("{at}.local"), what, "use one of the same"));
            }
            if whole.passive == Some(true) && self.listen.is_empty() {
                let hint = "add `listen`, or let this node connect";
                let what = "nothing listens for a peer that connects";
                issues.push(Issue::new(format!("{at}.passive"), what, hint));
            }
        }
    }

    fn validate_policies(&self, issues: &mut Vec<Issue>) {
        let policies = Policies::compile(self.policy).unwrap_or_else(|faults| {
            let issue = |fault: policy::Violation| {
                let hint = fault.unknown_family.as_deref().map_or(fault.hint, families::meant);
                Issue::new(fault.path, fault.what, hint)
            };
            issues.extend(faults.into_iter().map(issue));
            Policies::default()
        });
        let peers = self.peer.iter().map(|peer| &*peer.name);
        let known: BTreeSet<&str> =
            peers.chain(self.group.iter().map(|group| &*group.name)).collect();
        for (n, (_, policy)) in policies.iter().enumerate() {
            let names: BTreeSet<&str> = policy.peer_names().collect();
            for name in names.difference(&known) {
                let what = format!("there is no peer or group `{name}`");
                let hint = meant(name, known.iter().copied(), "add a peer or a group");
                issues.push(Issue::new(format!("policy[{n}]"), what, hint));
            }
        }
        let groups = self.group.iter().enumerate();
        let groups = groups.map(|(n, it)| (format!("group[{n}]"), &it.import, &it.export));
        let peers = self.peer.iter().enumerate();
        let peers = peers.map(|(n, it)| (format!("peer[{n}]"), &it.import, &it.export));
        for (at, import, export) in groups.chain(peers) {
            for (key, name) in [("import", import), ("export", export)] {
                let Some(name) = name else { continue };
                if !self.policy.iter().any(|it| it.name == *name) {
                    let what = format!("there is no policy `{name}`");
                    let known = self.policy.iter().map(|it| &*it.name);
                    let absent = format!("add [[{}.policy]] with that name", self.key);
                    let hint = meant(name, known, absent);
                    issues.push(Issue::new(format!("{at}.{key}"), what, hint));
                }
            }
        }
    }

    fn validate_locations(&self, issues: &mut Vec<Issue>) {
        let groups = self.group.iter().enumerate();
        let groups = groups.map(|(n, it)| (format!("group[{n}].location"), &it.location));
        let peers = self.peer.iter().enumerate();
        let peers = peers.map(|(n, it)| (format!("peer[{n}].location"), &it.location));
        for (at, name) in groups.chain(peers) {
            let Some(name) = name else { continue };
            if !self.locations.contains(&name.as_str()) {
                let absent = format!("add [[{}.location]] with that name", self.key);
                let hint = meant(name, self.locations.iter().copied(), absent);
                issues.push(Issue::new(at, format!("there is no location `{name}`"), hint));
            }
        }
    }

    /// The kernel knows passwords by prefix, and none that lies in another one can be without.
    fn validate_passwords(&self, issues: &mut Vec<Issue>) {
        let entries = self.proofs();
        let secured = entries.iter().filter(|it| it.has_password || it.hops.is_some()).count();
        if secured > GUARDS_MAX {
            let what = format!("{secured} peers and ranges with passwords or TTL security");
            issues.push(Issue::new("peer", what, format!("use {GUARDS_MAX} or fewer")));
        }
        let outer: Vec<_> = entries.iter().filter(|it| it.has_password).collect();
        for entry in entries.iter().filter(|it| !it.has_password) {
            let around = |it: &&&Entry| it.vrf == entry.vrf && it.range.is_around(&entry.range);
            if let Some(outer) = outer.iter().find(around) {
                let (prefix, length) = (outer.range.prefix, outer.range.length);
                let what = format!("it has no password, and lies in {prefix}/{length}, which has");
                let hint = "give it one, or take it out of the range";
                issues.push(Issue::new(&*entry.path, what, hint));
            }
        }
    }

    /// `own` is what stands in the section, `whole` what holds in the end: what a peer has of its
    /// group is looked at in the group.
    fn validate_options(
        &self,
        own: &PeerOptions,
        whole: &PeerOptions,
        at: &str,
        issues: &mut Vec<Issue>,
    ) {
        let lists = [
            ("families", &own.families),
            ("required_families", &own.required_families),
            ("add_path_send", &own.add_path_send),
            ("add_path_receive", &own.add_path_receive),
            ("extended_next_hop", &own.extended_next_hop),
        ];
        for (key, names) in lists {
            if let Some(names) = names {
                families::validate(names, &format!("{at}.{key}"), issues);
            }
        }
        if own.families.as_ref().is_some_and(Vec::is_empty) {
            let hint = "name a family, or remove the key for ipv4-unicast";
            issues.push(Issue::new(format!("{at}.families"), "there is no family", hint));
        }
        validate_subsets(own, whole, at, issues);
        validate_times(own, at, issues);
        self.validate_as(own, whole, at, issues);
        self.validate_customer(own, at, issues);
        validate_proof(own, whole, at, issues);
        for (n, limit) in own.prefix_limit.iter().flatten().enumerate() {
            let same = own.prefix_limit.iter().flatten().take(n);
            let twice = same.filter(|other| other.family == limit.family).count() > 0;
            validate_limit(limit, twice, &format!("{at}.prefix_limit[{n}]"), issues);
        }
        let text = own.description.as_deref().unwrap_or_default();
        text_fits(&format!("{at}.description"), text, TEXT_OCTETS_MAX, issues);
    }

    /// What a customer of a routing table may say, in the section where it stands.
    fn validate_customer(&self, own: &PeerOptions, at: &str, issues: &mut Vec<Issue>) {
        if let Some(vrf) = own.vrf.as_ref().filter(|it| !self.vrfs.contains_key(it.as_str())) {
            let hint = meant(vrf, self.vrfs.keys().copied(), "name a routing table with `rd`");
            let what = format!("there is no routing table `{vrf}` with customers");
            issues.push(Issue::new(format!("{at}.vrf"), what, hint));
        }
        if let Some(text) = &own.site
            && ExtendedCommunity::route_origin(text).is_none()
        {
            let hint = "write `65000:7`, `192.0.2.1:7` or `4200000000:7`";
            issues.push(Issue::new(format!("{at}.site"), format!("`{text}` is no site"), hint));
        }
    }

    /// What holds for a peer, or for those of a range, fits a customer of a routing table, or one
    /// of the global table.
    fn validate_table(&self, whole: &PeerOptions, at: &str, issues: &mut Vec<Issue>) {
        if whole.vrf.is_none() {
            for (key, stands) in [
                ("site", whole.site.is_some()),
                ("as_override", whole.as_override == Some(true)),
                ("core_attributes", whole.core_attributes == Some(true)),
            ] {
                if stands {
                    let what = format!("`{key}` is for customers of a routing table");
                    let hint = "remove it, or name a `vrf`";
                    issues.push(Issue::new(format!("{at}.{key}"), what, hint));
                }
            }
            return;
        }
        if matches!(whole.peer_as(self.asn), PeerAs::Internal | PeerAs::Any) {
            let what = "a customer of a routing table is of another AS";
            issues.push(Issue::new(format!("{at}.vrf"), what, "give its `asn`"));
        }
        let plain = [Family::Ipv4Unicast, Family::Ipv6Unicast];
        if let Some(other) = whole.families().iter().find(|it| !plain.contains(it)) {
            let what = format!("a customer has no routes of {other}");
            let hint = "use ipv4-unicast and ipv6-unicast";
            issues.push(Issue::new(format!("{at}.families"), what, hint));
        }
    }

    fn validate_as(
        &self,
        own: &PeerOptions,
        whole: &PeerOptions,
        at: &str,
        issues: &mut Vec<Issue>,
    ) {
        if own.asn == Some(0) {
            let at = format!("{at}.asn");
            issues.push(Issue::new(at, "AS 0 is nobody's (RFC 7607)", "write the AS"));
        }
        if own.any_asn.is_some() && own.asn.is_some() {
            let what = "a peer is of one AS, or of any";
            issues.push(Issue::new(format!("{at}.any_asn"), what, "remove `asn` or `any_asn`"));
        }
        let is_internal = whole.peer_as(self.asn) == PeerAs::Internal;
        let external: [(&str, bool); 4] = [
            ("role", own.role.is_some()),
            ("role_strict", own.role_strict == Some(true)),
            ("confederation", own.confederation == Some(true)),
            ("first_as", own.first_as.is_some()),
        ];
        for (key, stands) in external {
            // The AS may stand at the peer, the rest at its group.
            if stands && is_internal && own.asn == whole.asn && own.any_asn == whole.any_asn {
                let what = format!("`{key}` is for external peers, and this one is of the same AS");
                issues.push(Issue::new(format!("{at}.{key}"), what, "remove it, or give `asn`"));
            }
        }
        if own.client == Some(true) && !is_internal {
            let what = "only a peer of the same AS can be a client (RFC 4456 §4)";
            issues.push(Issue::new(format!("{at}.client"), what, "remove it"));
        }
        if own.role_strict == Some(true) && whole.role.is_none() {
            let hint = format!("give `role`: {}", Role::WORDS.join(", "));
            let what = "nothing is known of which role the peer must have";
            issues.push(Issue::new(format!("{at}.role_strict"), what, hint));
        }
    }
}

impl Role {
    /// The words of the configuration.
    const WORDS: [&str; 5] =
        ["provider", "route-server", "route-server-client", "customer", "peer"];
}

/// Families that must be among those of the session, and those that can have what is asked.
fn validate_subsets(own: &PeerOptions, whole: &PeerOptions, at: &str, issues: &mut Vec<Issue>) {
    let families = whole.families();
    let lists = [
        ("required_families", &own.required_families),
        ("add_path_send", &own.add_path_send),
        ("add_path_receive", &own.add_path_receive),
        ("extended_next_hop", &own.extended_next_hop),
    ];
    for (key, names) in lists {
        for (n, name) in names.iter().flatten().enumerate() {
            let at = format!("{at}.{key}[{n}]");
            match Family::named(name) {
                Some(family) if !families.has(family) => {
                    let what = format!("`{name}` is not among `families`");
                    issues.push(Issue::new(at, what, "add it there, or remove it here"));
                }
                Some(family) if key == "extended_next_hop" && !family.extends_next_hop() => {
                    let what = format!("IPv6 next hops cannot be agreed on for `{name}`");
                    issues.push(Issue::new(at, what, "remove it (RFC 8950 §4)"));
                }
                _ => {}
            }
        }
    }
}

fn validate_times(own: &PeerOptions, at: &str, issues: &mut Vec<Issue>) {
    let mut out_of = |key: &str, value: u32, words: String| {
        let what = format!("{value} is out of range");
        issues.push(Issue::new(format!("{at}.{key}"), what, words));
    };
    for (key, value) in [("hold_time_s", own.hold_time_s), ("hold_time_min_s", own.hold_time_min_s)]
    {
        if let Some(value) = value.filter(|value| (1..3).contains(value)) {
            out_of(key, value.into(), "use 3 or more, or 0 for none (RFC 4271 §4.2)".to_owned());
        }
    }
    let times = [
        ("connect_retry_s", own.connect_retry_s, 1),
        ("idle_hold_s", own.idle_hold_s, 1),
        ("idle_hold_max_s", own.idle_hold_max_s, 1),
        ("delay_open_s", own.delay_open_s, 0),
        ("send_hold_s", own.send_hold_s, 0),
        ("stale_s", own.stale_s, 1),
    ];
    for (key, value, least) in times {
        if let Some(value) = value.filter(|value| !(least..=TIME_S_MAX).contains(value)) {
            out_of(key, value, format!("use {least} to {TIME_S_MAX}"));
        }
    }
    if let Some(value) = own.graceful_restart_s.filter(|value| *value > RESTART_S_MAX) {
        out_of("graceful_restart_s", value.into(), format!("use 0 to {RESTART_S_MAX}"));
    }
    if let Some(value) = own.long_lived_s.filter(|it| !(1..=LONG_LIVED_S_MAX).contains(it)) {
        out_of("long_lived_s", value, format!("use 1 to {LONG_LIVED_S_MAX}"));
    }
    if let Some(value) = own.labels_max.filter(|value| !(1..=10).contains(value)) {
        out_of("labels_max", value.into(), "use 1 to 10".to_owned());
    }
}

fn validate_proof(own: &PeerOptions, whole: &PeerOptions, at: &str, issues: &mut Vec<Issue>) {
    if let Some(password) = &own.password {
        let octets = password.octets().len();
        if octets == 0 || octets > PASSWORD_OCTETS_MAX {
            let what = format!("a password of {octets} octets");
            let hint = format!("use 1 to {PASSWORD_OCTETS_MAX}");
            issues.push(Issue::new(format!("{at}.password"), what, hint));
        }
        if own.password_file.is_some() {
            let what = "the password stands here and in a file";
            issues.push(Issue::new(format!("{at}.password_file"), what, "keep one of them"));
        }
    }
    if own.password_file.as_ref().is_some_and(String::is_empty) {
        let hint = "write a path, or remove the key";
        issues.push(Issue::new(format!("{at}.password_file"), "the path is empty", hint));
    }
    if own.ttl_security_hops == Some(0) {
        let hint = "use 1 for a neighbour, one more for each router between";
        issues.push(Issue::new(format!("{at}.ttl_security_hops"), "0 is out of range", hint));
    }
    if own.long_lived_s.is_some() && whole.graceful_restart_s.is_none() {
        let hint = "add `graceful_restart_s`: one counts only beside the other (RFC 9494 §4.1)";
        let what = "graceful restart is not offered";
        issues.push(Issue::new(format!("{at}.long_lived_s"), what, hint));
    }
    let listed = |port: Option<u16>| port == Some(0);
    if listed(own.port) {
        let hint = "write the peer's port, or remove the key for 179";
        issues.push(Issue::new(format!("{at}.port"), "0 is no port", hint));
    }
}

fn validate_limit(limit: &PrefixLimit, twice: bool, at: &str, issues: &mut Vec<Issue>) {
    families::validate_name(&limit.family, &format!("{at}.family"), issues);
    if twice {
        let what = format!("`{}` has a limit already", limit.family);
        issues.push(Issue::new(format!("{at}.family"), what, "a family has one"));
    }
    if limit.max == 0 {
        let hint = "write a number, or take the family out of `families`";
        issues.push(Issue::new(format!("{at}.max"), "no route at all", hint));
    }
    if !(1..=100).contains(&limit.warn_percent) {
        let what = format!("{} is out of range", limit.warn_percent);
        issues.push(Issue::new(format!("{at}.warn_percent"), what, "use 1 to 100"));
    }
    if limit.excess == Excess::Restart && !(1..=TIME_S_MAX).contains(&limit.restart_s) {
        let what = format!("{} is out of range", limit.restart_s);
        let hint = format!("use 1 to {TIME_S_MAX}");
        issues.push(Issue::new(format!("{at}.restart_s"), what, hint));
    }
}

/// Pushes what is wrong with the address of one host.
pub fn validate_address(address: IpAddr, at: &str, issues: &mut Vec<Issue>) {
    let what = match address {
        _ if address.is_unspecified() => "it is no host's",
        _ if address.is_multicast() => "it is a group of hosts",
        IpAddr::V4(ip) if ip.is_broadcast() => "it is all hosts of a network",
        IpAddr::V6(ip) if ip.is_unicast_link_local() => "it counts on one link only",
        _ => return,
    };
    issues.push(Issue::new(at, format!("{address}: {what}"), "write the address of one host"));
}

fn text_fits(at: &str, text: &str, octets_max: usize, issues: &mut Vec<Issue>) {
    if text.len() > octets_max {
        let what = format!("a text of {} octets", text.len());
        issues.push(Issue::new(at, what, format!("use {octets_max} or fewer")));
    }
}

/// Pushes what is wrong with the name of a section.
pub fn validate_name(name: &str, twice: bool, at: &str, issues: &mut Vec<Issue>) {
    if name.is_empty() {
        issues.push(Issue::new(format!("{at}.name"), "the name is empty", "give it a name"));
    } else if twice {
        let what = format!("the name `{name}` is given twice");
        issues.push(Issue::new(format!("{at}.name"), what, "names are unique"));
    }
    text_fits(&format!("{at}.name"), name, TEXT_OCTETS_MAX, issues);
}
