//! Filters and their rules.

use super::{Issues, is_prefix};
use crate::compile::{Action, action};
use crate::config::{Filter, Pe, Rule, ethertype, ip_protocol, mac_prefix, port_range, tcp_flags};
use config::Issue;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// VLAN identifiers have 12 bits.
const VLAN_MAX: u16 = (1 << 12) - 1;

impl Pe {
    pub(super) fn validate_filters(&self, issues: Issues<'_>) {
        for (at, filter) in self.filter.iter().enumerate() {
            if filter.ethernet && filter.ipv6 {
                let what = "a filter is of frames or of IPv6 packets";
                let hint = "leave one of `ethernet` and `ipv6` out";
                issues.push(Issue::new(format!("filter[{at}].ethernet"), what, hint));
            }
            for (n, rule) in filter.rule.iter().enumerate() {
                let path = format!("filter[{at}].rule[{n}]");
                match action(&rule.action) {
                    None => {
                        let what = format!("`{}` is no action", rule.action);
                        let hint = "write permit, deny, class N, mark N, police NAME or redirect";
                        issues.push(Issue::new(format!("{path}.action"), what, hint));
                    }
                    Some(Action::Police(name)) => {
                        self.is_policer(&format!("{path}.action"), name, issues);
                    }
                    Some(Action::Mark(_)) if filter.ethernet => {
                        let hint = "set a `class`, and its priority by a `marking`";
                        let path = format!("{path}.action");
                        issues.push(Issue::new(path, "frames have no code point", hint));
                    }
                    Some(_) => {}
                }
                self.validate_redirect(&path, rule, filter, issues);
                if filter.ethernet {
                    validate_frame_rule(&path, rule, issues);
                } else {
                    validate_rule(&path, rule, filter.ipv6, issues);
                }
            }
        }
    }

    fn validate_redirect(&self, path: &str, rule: &Rule, filter: &Filter, issues: Issues<'_>) {
        let is_redirect = rule.action == "redirect";
        match &rule.via {
            Some(_) if !is_redirect => {
                let hint = "write `action = \"redirect\"`, or leave `via` out";
                issues.push(Issue::new(format!("{path}.via"), "nothing is redirected", hint));
            }
            None if is_redirect => {
                let hint = "add `via = { gateway = \"…\" }`";
                issues.push(Issue::new(format!("{path}.action"), "there is no way", hint));
            }
            Some(_) if filter.ethernet => {
                let hint = "use a filter of IPv4 or IPv6 packets";
                issues.push(Issue::new(format!("{path}.via"), "frames are not routed", hint));
            }
            Some(via) => {
                let any: IpAddr = if filter.ipv6 {
                    Ipv6Addr::UNSPECIFIED.into()
                } else {
                    Ipv4Addr::UNSPECIFIED.into()
                };
                self.validate_via(&format!("{path}.via"), None, Some(any), via, issues);
            }
            None => {}
        }
    }
}

/// Of a filter of packets.
fn validate_rule(path: &str, rule: &Rule, ipv6: bool, issues: Issues<'_>) {
    let of_frames = [
        ("source_mac", rule.source_mac.is_some()),
        ("destination_mac", rule.destination_mac.is_some()),
        ("ethertypes", !rule.ethertypes.is_empty()),
        ("vlans", !rule.vlans.is_empty()),
        ("priority", rule.priority.is_some()),
    ];
    for (key, _) in of_frames.iter().filter(|(_, is_said)| *is_said) {
        let what = "the filter is of packets, not of frames";
        issues.push(Issue::new(format!("{path}.{key}"), what, "add `ethernet = true` to it"));
    }
    for (key, text) in [("source", &rule.source), ("destination", &rule.destination)] {
        let Some(text) = text else { continue };
        let path = format!("{path}.{key}");
        if is_prefix(&path, text, issues).is_some_and(|address| address.is_ipv6() != ipv6) {
            issues.push(Issue::new(path, "the prefix is of the other family", ""));
        }
    }
    if rule.protocol.as_deref().is_some_and(|text| ip_protocol(text).is_none()) {
        let hint = "write tcp, udp, icmp, … or a number";
        issues.push(Issue::new(format!("{path}.protocol"), "no such protocol", hint));
    }
    let ranges =
        [("source_ports", &rule.source_ports), ("destination_ports", &rule.destination_ports)];
    for (key, texts) in ranges {
        for (n, text) in texts.iter().enumerate() {
            if port_range(text).is_none() {
                let what = format!("`{text}` is no range of ports");
                let at = format!("{path}.{key}[{n}]");
                issues.push(Issue::new(at, what, "write `80` or `1024-65535`"));
            }
        }
    }
    if rule.tcp_flags.as_deref().is_some_and(|text| tcp_flags(text).is_none()) {
        let hint = "write letters of FSRPAU, `!` before those that are not set";
        issues.push(Issue::new(format!("{path}.tcp_flags"), "no such flags", hint));
    }
    if rule.dscp.is_some_and(|dscp| dscp > 63) {
        issues.push(Issue::new(format!("{path}.dscp"), "code points are 0 to 63", ""));
    }
}

/// Of a filter of frames.
fn validate_frame_rule(path: &str, rule: &Rule, issues: Issues<'_>) {
    let Rule { source, destination, protocol, tcp_flags, dscp, fragment, .. } = rule;
    let of_packets = [
        ("source", source.is_some()),
        ("destination", destination.is_some()),
        ("protocol", protocol.is_some()),
        ("source_ports", !rule.source_ports.is_empty()),
        ("destination_ports", !rule.destination_ports.is_empty()),
        ("tcp_flags", tcp_flags.is_some()),
        ("dscp", dscp.is_some()),
        ("fragment", fragment.is_some()),
    ];
    for (key, _) in of_packets.iter().filter(|(_, is_said)| *is_said) {
        let hint = "use `source_mac`, `destination_mac`, `ethertypes`, `vlans` or `priority`";
        issues.push(Issue::new(format!("{path}.{key}"), "the filter is of frames", hint));
    }
    let macs = [("source_mac", &rule.source_mac), ("destination_mac", &rule.destination_mac)];
    for (key, text) in macs {
        if text.as_deref().is_some_and(|text| mac_prefix(text).is_none()) {
            let hint = "write `02:00:00:00:00:01` or `02:00:5e:00:00:00/24`";
            issues.push(Issue::new(format!("{path}.{key}"), "no MAC address", hint));
        }
    }
    for (n, text) in rule.ethertypes.iter().enumerate() {
        if ethertype(text).is_none() {
            let (at, what) = (format!("{path}.ethertypes[{n}]"), "no such EtherType");
            issues.push(Issue::new(at, what, "write ipv4, ipv6, arp, mpls or a number: `0x88cc`"));
        }
    }
    for (n, text) in rule.vlans.iter().enumerate() {
        if port_range(text).is_none_or(|(_, last)| last > VLAN_MAX) {
            let (at, what) =
                (format!("{path}.vlans[{n}]"), format!("`{text}` is no range of VLANs"));
            issues.push(Issue::new(at, what, "write `7` or `100-199`"));
        }
    }
    if rule.priority.is_some_and(|priority| priority > 7) {
        issues.push(Issue::new(format!("{path}.priority"), "priorities are 0 to 7", ""));
    }
}
