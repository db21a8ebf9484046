//! Labels, cross-connects, bridges, and what interfaces use: filters, policers, queues.

use super::Compiler;
use super::class::wred;
use crate::config::{
    self, PolicerKind, Pseudowire, ethertype, ip_protocol, mac, mac_prefix, port_range, prefix,
    tcp_flags,
};
use crate::hops::Hops as _;
use dataplane::{GLOBAL, Kind, Rank};
use nodes::Program;
use nodes::program::{
    self, BridgeMember, Class, Family, Hop, LabelAction, Match, Meter, ProtectionRow, Removed,
    Tunnel, Verdict,
};

/// Octets a second of one kbit/s.
const KBPS: u64 = 125;

impl Compiler<'_> {
    /// Where frames of a cross-connect's interface go.
    pub(super) fn cross_hop(&mut self, connect: &config::CrossConnect, from: &str) -> u32 {
        let other = match (&connect.to, &connect.pseudowire) {
            (Some(to), _) if to == from => &connect.interface,
            (Some(to), _) => to,
            (None, Some(wire)) => return self.wire(wire),
            (None, None) => return 0,
        };
        self.interface_hop(other)
    }

    /// The hop of frames into a pseudowire.
    fn wire(&mut self, wire: &Pseudowire) -> u32 {
        let (control_word, flow_label) = (wire.control_word, wire.flow_label);
        let primary = self.way(None, &wire.via, control_word, flow_label);
        let Some(backup) = &wire.backup else { return primary };
        let backup = self.way(None, backup, control_word, flow_label);
        self.pair(primary, backup)
    }

    fn interface_hop(&mut self, name: &str) -> u32 {
        let interface = self.numbers.of(Kind::Interface, name);
        self.hop(Rank::Hop, &format!("interface {interface}"), Hop::Interface { interface })
    }

    pub(super) fn services(&mut self) {
        for incoming in &self.pe.label {
            let tunnel = tunnel(incoming.tunnel);
            let action = match (&incoming.vrf, incoming.via.is_empty()) {
                (Some(vrf), _) => {
                    let vrf = Some(vrf.as_str()).filter(|name| *name != GLOBAL);
                    LabelAction::PopVrf { vrf: self.table(vrf), tunnel }
                }
                (None, false) => {
                    let hop = self.ways(None, &incoming.via, incoming.backup.as_ref(), false);
                    LabelAction::Forward { hop, tunnel }
                }
                (None, true) => LabelAction::Pop { tunnel },
            };
            self.label(incoming.label, action);
        }
        for connect in &self.pe.cross_connect {
            if let Some(wire) = &connect.pseudowire {
                let interface = self.numbers.of(Kind::Interface, &connect.interface);
                let Pseudowire { control_word, flow_label, .. } = *wire;
                let action = LabelAction::PopInterface { interface, control_word, flow_label };
                self.label(wire.label_in, action);
            }
        }
        for bridge in &self.pe.bridge {
            self.bridge(bridge);
        }
    }

    fn bridge(&mut self, section: &config::Bridge) {
        let bridge = self.numbers.of(Kind::Bridge, &section.name);
        let program = program::Bridge {
            bridge,
            ageing_s: section.ageing_s,
            macs_max: section.macs_max,
            flood_unknown: section.flood_unknown,
            learn: section.learn,
            storm_pps: section.storm_pps,
            moves_max: section.moves_max,
        };
        self.out.put(Rank::Table, Removed::Bridge(bridge), Program::Bridge(program));
        for wire in &section.pseudowire {
            self.pseudowire(bridge, &section.name, wire);
        }
        for station in &section.station {
            let member = match (&station.interface, station.label_in) {
                (Some(name), _) => BridgeMember::Interface(self.numbers.of(Kind::Interface, name)),
                (None, Some(label)) => {
                    let name = format!("{} {label}", section.name);
                    BridgeMember::Pseudowire(self.numbers.of(Kind::Pseudowire, &name))
                }
                (None, None) => continue,
            };
            let Some(mac) = mac(&station.mac) else { continue };
            let program = program::StaticMac { bridge, mac, member };
            let name = Removed::StaticMac(bridge, mac);
            self.out.put(Rank::Tool, name, Program::StaticMac(program));
        }
    }

    fn pseudowire(&mut self, bridge: u32, name: &str, wire: &Pseudowire) {
        let name = format!("{name} {}", wire.label_in);
        let pseudowire = self.numbers.of(Kind::Pseudowire, &name);
        let hop = self.wire(wire);
        let Pseudowire { split_horizon, macs_max, .. } = *wire;
        let program = program::Pseudowire { pseudowire, bridge, hop, split_horizon, macs_max };
        let name = Removed::Pseudowire(pseudowire);
        self.out.put(Rank::Member, name, Program::Pseudowire(program));
        let Pseudowire { control_word, flow_label, .. } = *wire;
        let action = LabelAction::PopPseudowire { pseudowire, control_word, flow_label };
        self.label(wire.label_in, action);
    }

    pub(super) fn tools(&mut self) {
        for policer in &self.pe.policer {
            self.policer(policer);
        }
        for filter in &self.pe.filter {
            let number = self.numbers.of(Kind::Filter, &filter.name);
            let family = family(filter);
            let rules = filter.rule.iter().map(|rule| self.rule(rule)).collect();
            let program = program::Filter { filter: number, family, rules };
            self.out.put(Rank::Tool, Removed::Filter(number), Program::Filter(program));
        }
        for interface in &self.pe.interface {
            self.uses(interface);
        }
        self.collector();
        for scheduler in &self.pe.scheduler {
            self.scheduler(scheduler);
        }
        let row = |section: &config::Protection| {
            let class = Class::ALL.iter().find(|(name, _)| *name == section.class)?.1;
            let config::Protection { rate_pps, burst, source_pps, .. } = *section;
            Some(ProtectionRow { class, rate_pps, burst, source_pps })
        };
        let rows: Vec<ProtectionRow> = self.pe.protection.iter().filter_map(row).collect();
        if !rows.is_empty() {
            self.out.put(Rank::Tool, Removed::Protection, Program::Protection { rows });
        }
    }

    fn policer(&mut self, section: &config::Policer) {
        let policer = self.numbers.of(Kind::Policer, &section.name);
        let program = program::Policer {
            policer,
            meter: match section.kind {
                PolicerKind::SingleRate => Meter::SingleRate,
                PolicerKind::TwoRate => Meter::TwoRate,
                PolicerKind::TwoRateEfficient => Meter::TwoRateEfficient,
            },
            colour_aware: section.colour_aware,
            committed_bytes: section.committed_kbps * KBPS,
            committed_burst: section.committed_burst,
            excess_bytes: section.excess_kbps * KBPS,
            excess_burst: section.excess_burst,
            mark_yellow: section.mark_yellow,
            mark_red: section.mark_red,
        };
        self.out.put(Rank::Table, Removed::Policer(policer), Program::Policer(program));
    }

    fn rule(&mut self, section: &config::Rule) -> program::Rule {
        let ranges =
            |texts: &[String]| texts.iter().filter_map(|text| port_range(text)).collect::<Vec<_>>();
        let address = |text: &Option<String>| text.as_deref().and_then(mac_prefix);
        // VLANs and priorities of frames stand where ports and code points of packets do.
        let destinations = [&section.destination_ports, &section.vlans].map(|it| ranges(it));
        let matches = Match {
            source: section.source.as_deref().and_then(prefix),
            destination: section.destination.as_deref().and_then(prefix),
            protocols: section.protocol.as_deref().and_then(ip_protocol).into_iter().collect(),
            macs: [address(&section.source_mac), address(&section.destination_mac)],
            ethertypes: section.ethertypes.iter().filter_map(|text| ethertype(text)).collect(),
            source_ports: ranges(&section.source_ports),
            destination_ports: destinations.concat(),
            tcp_flags: section.tcp_flags.as_deref().and_then(tcp_flags).into_iter().collect(),
            dscp: section.dscp.or(section.priority).into_iter().collect(),
            fragment: section.fragment,
            ..Match::default()
        };
        let verdict = match action(&section.action) {
            Some(Action::Permit) => Verdict::Permit,
            Some(Action::Class(class)) => Verdict::Class(class),
            Some(Action::Mark(dscp)) => Verdict::Mark(dscp),
            Some(Action::Police(name)) => Verdict::Police(self.numbers.of(Kind::Policer, name)),
            Some(Action::Redirect) => match &section.via {
                Some(via) => Verdict::Redirect(self.via(None, via)),
                None => Verdict::Deny,
            },
            Some(Action::Deny) | None => Verdict::Deny,
        };
        program::Rule { matches, verdict }
    }

    fn scheduler(&mut self, section: &config::Scheduler) {
        let port = self.numbers.of_port(&section.port);
        // The port itself is 0.
        let number = |name: &str| {
            section
                .queue
                .iter()
                .position(|queue| queue.name == name)
                .map_or(0, |at| machine::narrow::place(at + 1))
        };
        let mut queues = Vec::new();
        for queue in &section.queue {
            let interface = queue.interface.as_deref();
            queues.push(program::Queue {
                queue: number(&queue.name),
                parent: queue.parent.as_deref().map_or(0, number),
                interface: interface.map(|name| self.numbers.of(Kind::Interface, name)),
                class: queue.class,
                rate_bytes: queue.rate_kbps * KBPS,
                priority: queue.priority,
                weight: queue.weight,
                packets_max: queue.packets_max,
                wred: queue.wred.as_ref().map(wred),
            });
        }
        let rate_bytes = section.rate_kbps * KBPS;
        let program = program::Scheduler { port, rate_bytes, queues };
        self.out.put(Rank::Tool, Removed::Scheduler(port), Program::Scheduler(program));
    }
}

pub(super) fn tunnel(tunnel: config::Tunnel) -> Tunnel {
    match tunnel {
        config::Tunnel::Pipe => Tunnel::Pipe,
        config::Tunnel::ShortPipe => Tunnel::ShortPipe,
        config::Tunnel::Uniform => Tunnel::Uniform,
    }
}

/// What a rule does.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Action<'a> {
    Permit,
    Deny,
    Class(u8),
    Mark(u8),
    Police(&'a str),
    Redirect,
}

/// What a filter looks at.
pub(crate) const fn family(filter: &config::Filter) -> Family {
    match (filter.ethernet, filter.ipv6) {
        (true, _) => Family::Ethernet,
        (false, true) => Family::Ip6,
        (false, false) => Family::Ip4,
    }
}

/// Reads `permit`, `deny`, `redirect`, `class 3`, `mark 46`, `police gold`.
pub(crate) fn action(text: &str) -> Option<Action<'_>> {
    match (text, text.split_once(' ')) {
        ("permit", _) => Some(Action::Permit),
        ("deny", _) => Some(Action::Deny),
        ("redirect", _) => Some(Action::Redirect),
        (_, Some(("class", class))) => {
            class.parse().ok().filter(|class| *class < 8).map(Action::Class)
        }
        (_, Some(("mark", dscp))) => dscp.parse().ok().filter(|dscp| *dscp < 64).map(Action::Mark),
        (_, Some(("police", name))) if !name.is_empty() => Some(Action::Police(name)),
        _ => None,
    }
}
