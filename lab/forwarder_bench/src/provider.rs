//! A provider edge with all services of the report: what the plane is told, and what is sent.
//!
//! ```text
//!   port 0: a VLAN for each service              port 1: the core, labels
//!   1…        IP VPNs   ─ table of its own ─ filter, policer ─→ transport label · VPN label · IP
//!   after     VPWS      ─ cross-connect ──────────────────────→ transport · pseudowire · frame
//!   after     VPLS      ─ bridge domain, MACs learnt ─────────→ transport · pseudowire · frame
//!      ←─ queues of the port: a service each, four classes below ─ what came by the core
//! ```
//! Half of the packets go each way.

use crate::programs::{LEFT_V4, SOURCES};
use crate::testbed::{IN_MAC, LEFT_MAC, NEXT_MAC, NEXT_V4, OUT_MAC};
use nodes::Program;
use nodes::program::{
    Address, Bridge, Direction, Family, Filter, FilterUse, Hop, Interface, LabelAction, Match,
    Meter, Mode, Neighbour, Policer, PolicerUse, Pseudowire, Push, Queue, Rule, Scheduler, Tunnel,
    Urpf, Verdict,
};
use packet_load::{
    Layer, Order, Part, Plan, Route, Sizes, Stream, Values, Vary, hosts, table_v4, table_v6,
};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// The core's interface; those of services follow.
const CORE: u32 = 1;
const CORE_V4: Ipv4Addr = Ipv4Addr::new(10, 199, 2, 1);
/// Hops: the neighbour, the core behind labels, then one for each service.
const NEXT_HOP: u32 = 1;
const CORE_HOP: u32 = 2;
const CORE_V6_HOP: u32 = 3;
const FIRST_HOP: u32 = 10;
/// The label of the transport, and the first of services.
const TRANSPORT: u32 = 16;
const FIRST_LABEL: u32 = 1_000;
/// The core routes no IPv6 (RFC 4798).
const EXPLICIT_NULL_V6: u32 = 2;
/// Routes of one program.
const ROUTES_MAX: usize = 20_000;
/// The filter's rules that match nothing of what is sent, before the one that permits all.
const RULES: u16 = 100;
/// Policers that nothing sent here passes: octets a second, and a burst.
const POLICED: (u64, u32) = (100_000_000_000, 100_000_000);
/// Hops to the customers of VPNs follow those of services.
const FIRST_CUSTOMER_HOP: u32 = 100_000;
/// The edge's address at every VPN's interface.
const CUSTOMER_V4: Ipv4Addr = Ipv4Addr::new(10, 199, 1, 1);
/// Classes with a queue of their own at each service, the last one strict; the services' rate,
/// octets a second, which nothing sent here passes; packets of a queue.
const CLASSES: u8 = 4;
const QUEUED: u64 = 1_250_000_000;
const QUEUE: u32 = 256;
/// Where customers' link-layer addresses begin, at this edge and behind the core.
const NEAR_MACS: u128 = 0x0210_0000_0000;
const FAR_MACS: u128 = 0x0220_0000_0000;
/// Frames of customers whose addresses matter to nobody.
const ANY: Layer = Layer::Ethernet { destination: [2, 0, 0, 0, 9, 1], source: [2, 0, 0, 0, 9, 2] };
/// Octets of the frames that bridge domains learn from.
const SHORT: usize = 84;
const SEED: u64 = 3;

/// How many of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    /// IP VPNs.
    pub vpns: u32,
    /// Point-to-point Ethernet services (VPWS).
    pub wires: u32,
    /// Multipoint Ethernet services (VPLS).
    pub bridges: u32,
    /// Link-layer addresses behind the bridge domains, both sides.
    pub macs: u32,
    /// IPv4 routes of all VPNs.
    pub vpn_routes: u32,
    /// IPv4 routes of the global table.
    pub global_v4: u32,
    /// IPv6 routes of the global table.
    pub global_v6: u32,
    /// Flows of all services.
    pub flows: u32,
}

impl Scale {
    /// The report's. Of its 3.4 M routes 1 M are of VPNs; how the rest divides it does not say.
    pub const FULL: Self = Self {
        vpns: 1_000,
        wires: 1_000,
        bridges: 250,
        macs: 200_000,
        vpn_routes: 1_000_000,
        global_v4: 2_000_000,
        global_v6: 400_000,
        flows: 2_000_000,
    };

    /// A part of it.
    pub const fn divided(self, by: u32) -> Self {
        Self {
            vpns: self.vpns / by,
            wires: self.wires / by,
            bridges: self.bridges / by,
            macs: self.macs / by,
            vpn_routes: self.vpn_routes / by,
            global_v4: self.global_v4 / by,
            global_v6: self.global_v6 / by,
            flows: self.flows / by,
        }
    }

    const fn services(&self) -> u32 {
        self.vpns + self.wires + self.bridges
    }

    /// MACs of a bridge domain on each side.
    /// Queues at the customers' port.
    #[must_use]
    pub const fn queues(&self) -> u32 {
        self.services() * CLASSES as u32
    }

    /// Link-layer addresses of all bridge domains.
    const fn macs_a_side(&self) -> u32 {
        self.macs / self.bridges / 2
    }
}

/// The edge: tables that are drawn once.
pub struct Provider {
    scale: Scale,
    /// Routes of every VPN: customers use the same addresses.
    vpn: Vec<Route>,
    global_v4: Vec<Route>,
    global_v6: Vec<Route>,
}

fn interface(index: u32, port: u16, outer: Option<u16>, mode: Mode) -> Program {
    Program::Interface(Interface {
        index,
        port,
        outer,
        inner: None,
        mode,
        mtu: 0,
        mac: None,
        mpls: port == 1,
        transit_only: false,
        urpf: Urpf::Off,
        proxy_arp: false,
        directed_broadcast: false,
        speaks: Vec::new(),
    })
}

/// A hop over the core, behind labels.
fn by_core(id: u32, labels: &[u32]) -> Program {
    let push = Push { over: NEXT_HOP, labels: labels.to_vec(), ..Push::default() };
    Program::Hop { id, hop: Hop::Push(push) }
}

impl Provider {
    /// An edge of this scale; its tables are drawn from a seed.
    pub fn new(scale: Scale) -> Self {
        let vpn = table_v4((scale.vpn_routes / scale.vpns) as usize, SEED);
        let global_v4 = table_v4(scale.global_v4 as usize, SEED + 1);
        let global_v6 = table_v6(scale.global_v6 as usize, SEED + 2);
        Self { scale, vpn, global_v4, global_v6 }
    }

    /// Routes of all tables.
    pub fn routes(&self) -> usize {
        self.vpn.len() * self.scale.vpns as usize + self.global_v4.len() + self.global_v6.len()
    }

    /// What the plane is told.
    pub fn programs(&self) -> Vec<Program> {
        let mut all = vec![
            interface(CORE, 1, None, Mode::Routed { vrf: 0 }),
            Program::Address(Address { interface: CORE, address: CORE_V4.into(), length: 24 }),
            Program::Neighbour(Neighbour {
                interface: CORE,
                address: NEXT_V4.into(),
                mac: NEXT_MAC,
            }),
            Program::Hop {
                id: NEXT_HOP,
                hop: Hop::Via { interface: CORE, gateway: Some(NEXT_V4.into()), labels: vec![] },
            },
            by_core(CORE_HOP, &[TRANSPORT]),
            by_core(CORE_V6_HOP, &[TRANSPORT, EXPLICIT_NULL_V6]),
            self.filter(),
        ];
        self.global(&mut all);
        let Scale { vpns, wires, .. } = self.scale;
        for service in 0..self.scale.services() {
            let (hop, label) = (FIRST_HOP + service, FIRST_LABEL + service);
            all.push(by_core(hop, &[TRANSPORT, label]));
            let place = (CORE + 1 + service, Some(service as u16 + 1));
            if service < vpns {
                self.vpn(service, place, hop, &mut all);
            } else if service < vpns + wires {
                all.push(interface(place.0, 0, place.1, Mode::CrossConnect { hop }));
                let action = LabelAction::PopInterface {
                    interface: place.0,
                    control_word: false,
                    flow_label: false,
                };
                all.push(Program::Label { label, action });
            } else {
                self.bridge(service - vpns - wires, place, hop, &mut all);
            }
        }
        all.push(self.queues());
        all
    }

    fn filter(&self) -> Program {
        let never = |n: u16| Rule {
            matches: Match {
                protocols: vec![6],
                destination_ports: vec![(20_000 + n * 10, 20_005 + n * 10)],
                ..Match::default()
            },
            verdict: Verdict::Deny,
        };
        let mut rules: Vec<_> = (0..RULES).map(never).collect();
        rules.push(Rule { matches: Match::default(), verdict: Verdict::Permit });
        Program::Filter(Filter { filter: 1, family: Family::Ip4, rules })
    }

    fn global(&self, all: &mut Vec<Program>) {
        for part in self.global_v4.chunks(ROUTES_MAX) {
            let routes = part
                .iter()
                .map(|route| (Ipv4Addr::from_bits(route.network as u32), route.length, CORE_HOP));
            all.push(Program::Routes4 { vrf: 0, routes: routes.collect() });
        }
        for part in self.global_v6.chunks(ROUTES_MAX) {
            let routes = part
                .iter()
                .map(|route| (Ipv6Addr::from_bits(route.network), route.length, CORE_V6_HOP));
            all.push(Program::Routes6 { vrf: 0, routes: routes.collect() });
        }
    }

    /// The queues of the customers' port: port, services, classes.
    fn queues(&self) -> Program {
        let services = self.scale.services();
        let queue = |queue, parent| Queue {
            queue,
            parent,
            interface: None,
            class: None,
            rate_bytes: 0,
            priority: 1,
            weight: 1,
            packets_max: QUEUE,
            wred: None,
        };
        let mut queues = Vec::new();
        for service in 0..services {
            let interface = Some(CORE + 1 + service);
            queues.push(Queue { interface, rate_bytes: QUEUED, ..queue(service + 1, 0) });
            for class in 0..CLASSES {
                let number = 1 + services + service * u32::from(CLASSES) + u32::from(class);
                let priority = u8::from(class + 1 < CLASSES);
                let class = Some(class);
                queues.push(Queue { class, priority, ..queue(number, service + 1) });
            }
        }
        Program::Scheduler(Scheduler { port: 0, rate_bytes: 0, queues })
    }

    fn vpn(&self, number: u32, place: (u32, Option<u16>), hop: u32, all: &mut Vec<Program>) {
        let (vrf, index) = (number + 1, place.0);
        all.push(Program::Vrf { vrf });
        all.push(interface(index, 0, place.1, Mode::Routed { vrf }));
        for part in self.vpn.chunks(ROUTES_MAX) {
            let address = |route: &Route| Ipv4Addr::from_bits(route.network as u32);
            let routes = part.iter().map(|route| (address(route), route.length, hop));
            all.push(Program::Routes4 { vrf, routes: routes.collect() });
        }
        let label = FIRST_LABEL + number;
        all.push(Program::Label {
            label,
            action: LabelAction::PopVrf { vrf, tunnel: Tunnel::Pipe },
        });
        self.customer(number, index, all);
        let direction = Direction::In;
        all.push(Program::FilterUse(FilterUse { interface: index, direction, filter: 1 }));
        all.push(Program::Policer(Policer {
            policer: number + 1,
            meter: Meter::TwoRate,
            colour_aware: false,
            committed_bytes: POLICED.0,
            committed_burst: POLICED.1,
            excess_bytes: POLICED.0,
            excess_burst: POLICED.1,
            mark_yellow: None,
            mark_red: None,
        }));
        let policer = number + 1;
        all.push(Program::PolicerUse(PolicerUse {
            interface: index,
            direction,
            class: None,
            policer,
        }));
    }

    /// What is behind a VPN's interface.
    fn customer(&self, number: u32, interface: u32, all: &mut Vec<Program>) {
        let (vrf, id) = (number + 1, FIRST_CUSTOMER_HOP + number);
        let address = CUSTOMER_V4.into();
        all.push(Program::Address(Address { interface, address, length: 24 }));
        let address = LEFT_V4.into();
        all.push(Program::Neighbour(Neighbour { interface, address, mac: LEFT_MAC }));
        let hop = Hop::Via { interface, gateway: Some(address), labels: Vec::new() };
        all.push(Program::Hop { id, hop });
        all.push(Program::Routes4 { vrf, routes: vec![(SOURCES.0, SOURCES.1, id)] });
    }

    fn bridge(&self, number: u32, place: (u32, Option<u16>), hop: u32, all: &mut Vec<Program>) {
        let bridge = number + 1;
        all.push(Program::Bridge(Bridge {
            bridge,
            ageing_s: 0,
            macs_max: self.scale.macs_a_side() * 2 + 10,
            flood_unknown: true,
            learn: true,
            storm_pps: 0,
            moves_max: 0,
        }));
        all.push(interface(
            place.0,
            0,
            place.1,
            Mode::Bridged { bridge, split_horizon: 0, macs_max: 0 },
        ));
        let pseudowire = bridge;
        all.push(Program::Pseudowire(Pseudowire {
            pseudowire,
            bridge,
            hop,
            split_horizon: 1,
            macs_max: 0,
        }));
        let label = FIRST_LABEL + self.scale.vpns + self.scale.wires + number;
        let action =
            LabelAction::PopPseudowire { pseudowire, control_word: false, flow_label: false };
        all.push(Program::Label { label, action });
    }

    /// A tag for each of `count` services from `first` on, by flow.
    fn tags(first: u32, count: u32) -> Vary {
        let values = Values::count(first + 1, count);
        Vary { layer: 1, part: Part::Vlan, values }
    }

    fn tagged(name: &str, ethernet: Layer, sizes: &Sizes) -> Stream {
        let (source, destination) = (Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 19, 0, 1));
        let layers = vec![
            ethernet,
            Layer::Vlan { is_service: false, priority: 0, id: 1 },
            Layer::Ipv4 { source, destination, class: 0, ttl: 64 },
            Layer::Udp { source: 1_024, destination: 9 },
        ];
        let mut stream = Stream::new(name, layers, 128);
        // A tag and the signature need more than 64 octets.
        stream.sizes = sizes.at_least(68);
        stream.order = Order::Random;
        stream
    }

    /// The frame of a customer that is sent by the core with a service's label.
    fn labelled(name: &str, inner: Vec<Layer>, class: u8, sizes: &Sizes) -> Stream {
        let core = [
            Layer::Ethernet { destination: OUT_MAC, source: NEXT_MAC },
            Layer::Mpls { label: FIRST_LABEL, class, ttl: 64 },
        ];
        let mut stream = Stream::new(name, [&core[..], &inner].concat(), 128);
        // Labels, two headers and the signature need more than 64 octets.
        stream.sizes = sizes.at_least(84);
        stream.order = Order::Random;
        stream
    }

    /// A label for each of `count` services from `first` on, by flow.
    fn labels(first: u32, count: u32) -> Vary {
        let values = Values::count(FIRST_LABEL + first, count);
        Vary { layer: 1, part: Part::Label, values }
    }

    /// Each of a bridge domain's customers, by flow.
    fn macs(&self, first: u128) -> Values {
        let (count, every) = (self.scale.macs_a_side(), self.scale.bridges);
        Values::Count { first, step: 1, count, every }
    }

    /// Traffic of all services both ways, each service as much as another.
    pub fn plan(&self, sizes: &Sizes) -> Plan {
        let Scale { vpns, wires, bridges, flows, .. } = self.scale;
        let part = |count: u32| {
            (u64::from(flows) * u64::from(count) / u64::from(self.scale.services()) / 2) as u32
        };
        let counts = [vpns, wires, bridges];
        let least = bridges.min(vpns).min(wires).max(1);
        let mut streams = Vec::new();
        for both in [self.towards_core(sizes), self.towards_customers(sizes)] {
            for (mut stream, count) in both.into_iter().zip(counts) {
                stream.flows = part(count);
                stream.weight = (count / least).clamp(1, 1_000);
                streams.push(stream);
            }
        }
        Plan { streams, seed: SEED }
    }

    /// IP VPNs, VPWS and VPLS from the customers to the core.
    fn towards_core(&self, sizes: &Sizes) -> [Stream; 3] {
        let Scale { vpns, wires, bridges, .. } = self.scale;
        let routed = Layer::Ethernet { destination: IN_MAC, source: LEFT_MAC };
        let ports = |count| Vary {
            layer: 3,
            part: Part::Source,
            values: Values::Count { first: 1_024, step: 1, count: 60_000, every: count },
        };
        let mut vpn = Self::tagged("IP VPN", routed, sizes);
        let to = Arc::from(hosts(&self.vpn, self.scale.flows as usize / 2, 32, SEED));
        let to = Vary { layer: 2, part: Part::Destination, values: Values::Table(to) };
        vpn.vary = vec![Self::tags(0, vpns), to, ports(vpns)];
        let mut wire = Self::tagged("VPWS", ANY, sizes);
        wire.vary = vec![Self::tags(vpns, wires), ports(wires)];
        let mut lan = Self::tagged("VPLS", ANY, sizes);
        lan.vary = vec![
            Self::tags(vpns + wires, bridges),
            Vary { layer: 0, part: Part::Source, values: self.macs(NEAR_MACS) },
            Vary { layer: 0, part: Part::Destination, values: self.macs(FAR_MACS) },
            ports(bridges * self.scale.macs_a_side()),
        ];
        [vpn, wire, lan]
    }

    /// The same from the core to the customers, each kind in a class of its own.
    fn towards_customers(&self, sizes: &Sizes) -> [Stream; 3] {
        let Scale { vpns, wires, bridges, .. } = self.scale;
        let (source, destination) = (Ipv4Addr::new(198, 19, 0, 1), SOURCES.0);
        let ip = Layer::Ipv4 { source, destination, class: 0, ttl: 64 };
        let udp = Layer::Udp { source: 1_024, destination: 9 };
        let ports = |layer, count| Vary {
            layer,
            part: Part::Source,
            values: Values::Count { first: 1_024, step: 1, count: 60_000, every: count },
        };
        let mut vpn = Self::labelled("IP VPN, back", vec![ip.clone(), udp.clone()], 0, sizes);
        let to = Values::Random { first: u128::from(SOURCES.0.to_bits()), bits: 16 };
        let to = Vary { layer: 2, part: Part::Destination, values: to };
        vpn.vary = vec![Self::labels(0, vpns), to, ports(3, vpns)];
        let frame = vec![ANY, ip, udp];
        let mut wire = Self::labelled("VPWS, back", frame.clone(), 1, sizes);
        wire.vary = vec![Self::labels(vpns, wires), ports(4, wires)];
        let mut lan = Self::labelled("VPLS, back", frame, 3, sizes);
        lan.vary = vec![
            Self::labels(vpns + wires, bridges),
            Vary { layer: 2, part: Part::Source, values: self.macs(FAR_MACS) },
            Vary { layer: 2, part: Part::Destination, values: self.macs(NEAR_MACS) },
            ports(4, bridges * self.scale.macs_a_side()),
        ];
        [vpn, wire, lan]
    }

    /// One frame from each customer of the bridge domains, so that they learn where those are.
    pub fn learning(&self) -> [Plan; 2] {
        let Scale { vpns, wires, bridges, .. } = self.scale;
        let sizes = Sizes::fixed(SHORT);
        let mut near = Self::tagged("near", ANY, &sizes);
        near.vary = vec![
            Self::tags(vpns + wires, bridges),
            Vary { layer: 0, part: Part::Source, values: self.macs(NEAR_MACS) },
        ];
        let mut far = Self::labelled("far", vec![ANY], 0, &sizes);
        far.vary = vec![
            Self::labels(vpns + wires, bridges),
            Vary { layer: 2, part: Part::Source, values: self.macs(FAR_MACS) },
        ];
        [near, far].map(|mut stream| {
            // Every customer once: in turn.
            stream.order = Order::RoundRobin;
            stream.flows = self.scale.macs_a_side() * bridges;
            Plan::of(stream, SEED)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_service_is_told_and_has_traffic() {
        let scale = Scale::FULL.divided(50);
        let provider = Provider::new(scale);
        let programs = provider.programs();
        let count = |is: fn(&Program) -> bool| programs.iter().filter(|one| is(one)).count();
        assert_eq!(count(|one| matches!(one, Program::Vrf { .. })), 20);
        assert_eq!(count(|one| matches!(one, Program::Bridge(_))), 5);
        assert_eq!(count(|one| matches!(one, Program::Interface(_))), 1 + 20 + 20 + 5);
        assert_eq!(provider.routes(), 68_000);
        let plan = provider.plan(&Sizes::imix());
        assert!(plan.generator().is_ok() && plan.flows() > 39_990);
        let weights: Vec<_> = plan.streams.iter().map(|stream| stream.weight).collect();
        assert_eq!(weights, [4, 4, 1, 4, 4, 1]);
        for learning in provider.learning() {
            assert!(learning.generator().is_ok());
            assert_eq!(learning.flows(), 2_000);
        }
        let mut memory = crate::Memory::new(&programs).unwrap();
        provider.learning().iter().for_each(|plan| memory.learn(plan).unwrap());
        let found = memory.run(&plan, std::time::Duration::from_millis(1)).unwrap();
        assert!(found.sent > 0 && found.lost == 0, "{found:?}");
    }
}
