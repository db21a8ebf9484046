//! `local` and `exceptions`: packets for this system, and those that the plane cannot do. They are
//! policed by class and source before they take a place in any queue; echoes are answered here,
//! the rest goes to the control plane with its class in `Meta::words[0]`.

use crate::header::{ICMP, ICMP6, IP4, IP6, TCP, UDP, address6, long, word};
use crate::mpls::echo;
use crate::nd::{ON_LINK, came_from, speaker};
use crate::program::Class;
use crate::protection::{Asker, Connections, Standing, class};
use crate::view::Shared;
use graph::meta::{GROUP_ADDRESSED, LINK_SCOPED, OWN, PUNTED};
use graph::{Context, Edge, Node, Pool, Reason, Row, Slot, Verdict};
use machine::narrow::index;
use std::borrow::Cow;

const TO_ECHO: Verdict = Verdict::to(Edge(0));
const TO_NEIGHBOURS: Verdict = Verdict::to(Edge(1));
const TO_REASSEMBLY: Verdict = Verdict::to(Edge(2));
/// Where a feature takes them.
const TO_BFD: Verdict = Verdict::to(Edge(3));
/// Not an edge but the outbox.
const UP: Verdict = Verdict::to(Edge(4));
const SHORT: Verdict = Verdict::drop(Reason(0));
const FROM_AFAR: Verdict = Verdict::drop(Reason(12));
const EXTENDED: Verdict = Verdict::drop(Reason(13));
const UNSPOKEN: Verdict = Verdict::drop(Reason(14));
const NO_HELLO: Verdict = Verdict::drop(Reason(15));
/// The reasons after the first are those of the classes, then why no class is asked.
const REASONS: &[&str] = &[
    "local packet too short",
    "policed: neighbours",
    "policed: icmp",
    "policed: bgp",
    "policed: ospf",
    "policed: isis",
    "policed: ldp",
    "policed: bfd",
    "policed: management",
    "policed: exceptions",
    "policed: samples",
    "policed: other",
    "hop limit says that it is not from this link",
    "nd behind extension headers",
    "protocol is not spoken there",
    "hello of ldp to an address",
];

/// The global table.
const GLOBAL: u32 = 0;
/// Extension headers that are walked at most.
pub const EXTENSIONS_MAX: usize = 8;
/// Port of BFD's control packets over one hop.
const BFD_CONTROL: u16 = 3_784;
/// Echo request of ICMP.
const ECHO: u8 = 8;
/// Echo request of ICMPv6.
const ECHO6: u8 = 128;

/// The node.
pub struct Local {
    shared: Shared,
    /// Whether packets are here because the plane cannot do them, whatever they are for.
    exceptional: bool,
}

impl Local {
    /// The node of one worker: `local`, or `exceptions`.
    #[must_use]
    pub const fn new(shared: Shared, exceptional: bool) -> Self {
        Self { shared, exceptional }
    }
}

/// Where the transport header of a packet is, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transport {
    /// Octets before it.
    pub(crate) at: usize,
    /// Its protocol.
    pub(crate) protocol: u8,
    /// Whether the packet is a fragment; of later ones the transport header is not there.
    pub(crate) fragment: bool,
    /// The source: an address of IPv4, or a /64.
    pub(crate) source: u64,
}

/// Finds the transport header of an IPv4 or IPv6 packet; `None` if the packet ends before it.
pub(crate) fn transport(packet: &[u8]) -> Option<Transport> {
    if packet.first()? >> 4 == 4 {
        let at = usize::from(packet[0] & 15) * 4;
        let fragment = word(packet, 6) & 0x3fff != 0;
        let protocol = *packet.get(9)?;
        let source = u64::from(long(packet, 12));
        return (at <= packet.len()).then_some(Transport { at, protocol, fragment, source });
    }
    let address = address6(packet, 8);
    let source = (address >> 64) as u64;
    let (mut at, mut protocol, mut fragment) = (IP6, *packet.get(6)?, false);
    for _ in 0..EXTENSIONS_MAX {
        match protocol {
            0 | 43 | 60 => {
                let octets = 8 + usize::from(*packet.get(at + 1)?) * 8;
                (protocol, at) = (packet[at], at + octets);
            }
            44 => {
                fragment |= word(packet, at + 2) & 0xfff9 != 0;
                (protocol, at) = (*packet.get(at)?, at + 8);
            }
            _ => break,
        }
        if fragment {
            break;
        }
    }
    (at <= packet.len()).then_some(Transport { at, protocol, fragment, source })
}

/// Why a packet that only neighbours may send is none of theirs: it takes no token of its class
/// (RFC 4861 §7.1, RFC 6980, RFC 5881 §5). OSPF is sent with a TTL of 1 (RFC 2328 §A.1), or of 255
/// by who is looked at by RFC 5082; what goes to a group of the link comes from there. Hellos of
/// LDP go to such a group alone: nobody here is a target (RFC 5036 §2.4.2).
pub(crate) fn from_afar(packet: &[u8], found: Transport, class: Class) -> Option<Verdict> {
    let is_four = packet[0] >> 4 == 4;
    let hops = if is_four { packet[8] } else { packet[7] };
    match class {
        Class::Neighbours if found.at != IP6 => Some(EXTENDED),
        Class::Neighbours if hops != ON_LINK => Some(FROM_AFAR),
        Class::Bfd if word(packet, found.at + 2) == BFD_CONTROL && hops != ON_LINK => {
            Some(FROM_AFAR)
        }
        Class::Ospf if is_four && !is_group(packet) && !matches!(hops, 1 | u8::MAX) => {
            Some(FROM_AFAR)
        }
        Class::Ldp if found.protocol == UDP && is_four && !is_group(packet) => {
            let is_echo = word(packet, found.at + 2) == echo::PORT;
            (!is_echo).then_some(NO_HELLO)
        }
        _ => None,
    }
}

/// Whether an IPv4 packet goes to a group.
fn is_group(packet: &[u8]) -> bool {
    packet[16] & 0xf0 == 0xe0
}

impl Local {
    fn judged(&self, slot: Slot, cx: &mut Context<'_>) -> Verdict {
        let rows = self.shared.protection.read(cx.reader);
        let packet = cx.packets.bytes(slot);
        let Some(found) = transport(packet).filter(|_| packet.len() >= IP4) else { return SHORT };
        let rest = &packet[found.at..];
        let class = match () {
            () if self.exceptional => Class::Exceptions,
            () if found.fragment => Class::Other,
            () => class(found.protocol, rest),
        };
        let meta = cx.packets.meta(slot);
        let link = self.shared.interfaces.read(cx.reader).row(meta.interface);
        // Connections of LDP are routed, within the global table.
        let is_routed = class == Class::Ldp && found.protocol == TCP && meta.vrf == GLOBAL;
        if !is_routed && !link.speaks(class) {
            return UNSPOKEN;
        }
        if let Some(forged) = from_afar(packet, found, class) {
            return forged;
        }
        if self.is_watched(packet, found, class, cx.packets.meta(slot).flags) {
            self.noted(slot, found, class, cx.packets);
            return TO_BFD;
        }
        let asker = self.asker(slot, class, found.source, cx);
        if !self.shared.admitted.admits(rows, asker, cx.now) {
            return Verdict::drop(Reason(1 + class as u8));
        }
        let kind = rest.first().copied();
        let flags = cx.packets.meta(slot).flags;
        let verdict = match (found.protocol, kind) {
            _ if self.exceptional || flags & OWN != 0 => UP,
            _ if found.fragment => TO_REASSEMBLY,
            (ICMP, Some(ECHO)) | (ICMP6, Some(ECHO6)) if flags & GROUP_ADDRESSED == 0 => TO_ECHO,
            (ICMP6, Some(133 | 135 | 136)) => TO_NEIGHBOURS,
            _ => UP,
        };
        self.noted(slot, found, class, cx.packets);
        verdict
    }

    /// Whether it is one of BFD over one hop, for whoever takes those: he polices them, by session
    /// and interface, and a flood of others takes no token of theirs.
    fn is_watched(&self, packet: &[u8], found: Transport, class: Class, flags: u16) -> bool {
        let is_taken = class == Class::Bfd && self.shared.bfd.is_some() && flags & OWN == 0;
        is_taken && word(packet, found.at + 2) == BFD_CONTROL
    }

    fn asker(&self, slot: Slot, class: Class, source: u64, cx: &Context<'_>) -> Asker {
        let (packet, meta) = (cx.packets.bytes(slot), cx.packets.meta(slot));
        let interface = meta.interface;
        let hops = if packet[0] >> 4 == 4 { packet[8] } else { packet[7] };
        let is_of_link = hops == u8::MAX || meta.flags & LINK_SCOPED != 0;
        // Whoever asks for the end of a path may be behind many routers.
        let is_near = is_of_link && !echo::is_request(packet);
        let connections = Some(&self.shared.admitted.connections);
        let connections = connections.filter(|_| Connections::are_of(class));
        let standing = match connections.and_then(|all| all.of(packet, cx.now)) {
            Some(number) => Standing::Connected(number),
            None if class == Class::Neighbours => self.neighbour(slot, cx),
            None if is_near => Standing::Near,
            None => Standing::Far,
        };
        // All neighbours of a link share its prefix.
        let source = if class == Class::Neighbours { interface.into() } else { source };
        Asker { class, source, interface, standing }
    }

    /// How well the sender of a message of neighbour discovery is known.
    fn neighbour(&self, slot: Slot, cx: &Context<'_>) -> Standing {
        let interface = cx.packets.meta(slot).interface;
        let link = self.shared.interfaces.read(cx.reader).row(interface);
        let known = came_from(cx.packets, slot, link).and_then(|mac| {
            let speaker = speaker(cx.packets.bytes(slot));
            self.shared.admitted.known.of(interface, speaker.into(), mac)
        });
        known.map_or(Standing::Near, Standing::Neighbour)
    }

    fn noted(&self, slot: Slot, found: Transport, class: Class, packets: &mut Pool) {
        let meta = packets.meta_mut(slot);
        meta.l3 = meta.offset;
        meta.l4 = meta.offset + index(found.at);
        meta.protocol = found.protocol;
        meta.words[0] = class as u32;
    }
}

impl Node for Local {
    fn row(&self) -> Row {
        let name = if self.exceptional { "exceptions" } else { "local" };
        let row = Row::of(name, &["echo", "nd-input", "reassembly"], REASONS);
        let Some(node) = self.shared.bfd else { return row };
        let next = row.next.iter().copied().chain([node]).collect();
        Row { next: Cow::Owned(next), ..row }
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        for slot in batch {
            let verdict = self.judged(*slot, cx);
            if verdict == UP {
                cx.packets.meta_mut(*slot).flags |= PUNTED;
                cx.out.punt(*slot);
            } else {
                cx.next.dispatch(&[verdict], &[*slot]);
            }
        }
    }
}
