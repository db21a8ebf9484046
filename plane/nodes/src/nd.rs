//! `nd-input` and the packets of neighbour discovery (RFC 4861 §7): solicitations for own
//! addresses are answered here, what neighbours say of themselves goes to the plane.

use crate::addresses::{Addresses, group_mac, solicited};
use crate::advertisement::{ROUTER_SOLICITATION, solicited as solicited_router};
use crate::arcs::OUT;
use crate::frame;
use crate::header::{ICMP6, IP6, TYPE_IP6, address6, checksum, pseudo6, sum};
use crate::interfaces::Row as Link;
use crate::program::Mac;
use crate::view::{Heard, Shared, Speech, Token};
use graph::{Context, Node, Pool, Reason, Row, Slot};
use machine::narrow::index;
use std::net::Ipv6Addr;

/// The hop limit that says that a packet came from this link.
pub(crate) const ON_LINK: u8 = 255;
/// Octets of a solicitation or advertisement without options.
const ND_BYTES: usize = 24;
/// Options that are looked at, at most.
const OPTIONS_MAX: usize = 8;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
/// Options: the sender's, and the target's link-layer address.
pub(crate) const SOURCE_MAC: u8 = 1;
const TARGET_MAC: u8 = 2;
/// An experimental option (RFC 4727 §4): a token, behind six octets of zero.
const TOKEN: u8 = 253;
const TOKEN_OCTETS: usize = 24;
/// Flags of an advertisement: from a router, asked for, replaces what is known.
const ROUTER: u8 = 0x80;
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;

pub(crate) const FORM: Reason = Reason(0);
pub(crate) const OFF_LINK: Reason = Reason(1);
pub(crate) const CHECKSUM: Reason = Reason(2);
const NOT_FOR_US: Reason = Reason(3);
const HEARD: Reason = Reason(4);
const NO_ROOM: Reason = Reason(5);
const REASONS: &[&str] = &[
    "nd form",
    "nd not from this link",
    "nd checksum",
    "nd for somebody else",
    "nd heard",
    "nd answer too long",
];

/// The node. Packets come with `Meta::l4` set.
pub struct NdInput {
    shared: Shared,
}

impl NdInput {
    /// The node of one worker.
    #[must_use]
    pub const fn new(shared: Shared) -> Self {
        Self { shared }
    }
}

/// What a packet says.
struct Said {
    kind: u8,
    flags: u8,
    source: Ipv6Addr,
    target: Ipv6Addr,
    mac: Option<Mac>,
    token: Option<Token>,
}

impl Node for NdInput {
    fn row(&self) -> Row {
        Row::of("nd-input", &[], REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let interfaces = self.shared.interfaces.read(cx.reader);
        let addresses = self.shared.addresses.read(cx.reader);
        for slot in batch {
            let interface = cx.packets.meta(*slot).interface;
            let link = interfaces.row(interface);
            match self.heard(*slot, link, addresses, cx.packets) {
                Ok(()) => cx.next.start(OUT, &[*slot], cx.packets),
                Err(reason) => cx.next.drop(*slot, reason),
            }
        }
    }
}

impl NdInput {
    fn heard(
        &self,
        slot: Slot,
        link: &Link,
        addresses: &Addresses,
        packets: &mut Pool,
    ) -> Result<(), Reason> {
        let interface = packets.meta(slot).interface;
        if packets.bytes(slot).get(IP6) == Some(&ROUTER_SOLICITATION) {
            let (source, mac) = solicited_router(packets.bytes(slot))?;
            let source = mac.filter(|_| !source.is_unspecified()).map(|mac| (source.into(), mac));
            // A full ring: it will ask again.
            self.shared.tell(Heard::RouterSolicited { interface, source });
            return Err(HEARD);
        }
        let said = read(packets.bytes(slot))?;
        let tell = |address: Ipv6Addr, mac: Mac, speech: Speech| {
            let (address, token) = (address.into(), said.token);
            // A full ring: the neighbour will be heard again.
            self.shared.tell(Heard::Neighbour { interface, address, mac, speech, token });
        };
        if said.kind == ADVERTISEMENT {
            if let Some(mac) = said.mac {
                let overrides = said.flags & OVERRIDE != 0;
                let answers = said.flags & SOLICITED != 0;
                tell(
                    said.target,
                    mac,
                    match answers {
                        true => Speech::Answer { overrides },
                        false => Speech::Announcement { overrides },
                    },
                );
            }
            return Err(HEARD);
        }
        if !addresses.has(interface, said.target.into()) {
            return Err(NOT_FOR_US);
        }
        let probes = said.source.is_unspecified();
        let mac = match said.mac {
            Some(mac) => mac,
            None if probes => group_mac(ALL_NODES),
            None => came_from(packets, slot, link).ok_or(FORM)?,
        };
        if !probes {
            tell(said.source, mac, Speech::Question);
        }
        let (to, flags) = if probes {
            (ALL_NODES, ROUTER | OVERRIDE)
        } else {
            (said.source, ROUTER | SOLICITED | OVERRIDE)
        };
        let body = message(ADVERTISEMENT, flags, said.target, TARGET_MAC, link.mac);
        let frame = frame::ethernet(link, mac, TYPE_IP6, &packet(said.target, to, &body));
        if !frame::replace(packets, slot, &frame) {
            return Err(NO_ROOM);
        }
        let meta = packets.meta_mut(slot);
        meta.transmit = interface;
        meta.l3 = meta.offset + frame::header_octets(link);
        Ok(())
    }
}

/// All nodes of a link.
pub(crate) const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// The source of the frame that a packet came in, which still stands before it.
pub(crate) fn came_from(packets: &Pool, slot: Slot, link: &Link) -> Option<Mac> {
    let l3 = usize::from(packets.meta(slot).l3);
    let header = packets.cell(slot).get(l3.checked_sub(frame::header_octets(link).into())?..l3)?;
    let is_frame = header.ends_with(&TYPE_IP6.to_be_bytes());
    header[6..].first_chunk().copied().filter(|_| is_frame)
}

/// Whom a message speaks of: an advertisement of its target, others of their sender.
pub(crate) fn speaker(packet: &[u8]) -> Ipv6Addr {
    let is_advertisement = packet.get(IP6) == Some(&ADVERTISEMENT);
    address6(packet, if is_advertisement { IP6 + 8 } else { 8 }).into()
}

/// The checks of RFC 4861 §7.1.1 and §7.1.2.
fn read(packet: &[u8]) -> Result<Said, Reason> {
    let body = packet.get(IP6..).filter(|body| body.len() >= ND_BYTES).ok_or(FORM)?;
    // Nothing stands between the header and the message (RFC 6980).
    if packet[6] != ICMP6 || body[1] != 0 {
        return Err(FORM);
    }
    if packet[7] != ON_LINK {
        return Err(OFF_LINK);
    }
    if checksum(sum(body, pseudo6(&packet[8..IP6], body.len(), ICMP6))) != 0 {
        return Err(CHECKSUM);
    }
    let (source, to) = (Ipv6Addr::from(address6(packet, 8)), Ipv6Addr::from(address6(packet, 24)));
    let target = Ipv6Addr::from(address6(body, 8));
    let wanted = if body[0] == SOLICITATION { SOURCE_MAC } else { TARGET_MAC };
    let mac = option(&body[ND_BYTES..], wanted)?;
    let token = token(&body[ND_BYTES..]);
    let is_probe = body[0] == SOLICITATION && source.is_unspecified();
    // An answer to everybody answers nobody (RFC 4861 §7.1.2).
    let is_false_answer = body[0] == ADVERTISEMENT && to.is_multicast() && body[4] & SOLICITED != 0;
    if target.is_multicast()
        || is_false_answer
        || is_probe && (mac.is_some() || to != solicited(target))
    {
        return Err(FORM);
    }
    Ok(Said { kind: body[0], flags: body[4], source, target, mac, token })
}

pub(crate) fn option(mut options: &[u8], wanted: u8) -> Result<Option<Mac>, Reason> {
    let mut found = None;
    for _ in 0..OPTIONS_MAX {
        let [kind, units, ..] = options else { break };
        let octets = usize::from(*units) * 8;
        if octets == 0 || octets > options.len() {
            return Err(FORM);
        }
        if *kind == wanted && octets == 8 {
            found = options[2..].first_chunk::<6>().copied().filter(|mac| mac[0] & 1 == 0);
        }
        options = &options[octets..];
    }
    Ok(found)
}

/// The token of options that were read before.
fn token(mut options: &[u8]) -> Option<Token> {
    for _ in 0..OPTIONS_MAX {
        let [kind, units, ..] = options else { break };
        let octets = usize::from(*units) * 8;
        if *kind == TOKEN && octets == TOKEN_OCTETS {
            return options.get(8..)?.first_chunk().copied();
        }
        options = options.get(octets..)?;
    }
    None
}

fn message(kind: u8, flags: u8, target: Ipv6Addr, option: u8, mac: Mac) -> Vec<u8> {
    let mut body = vec![kind, 0, 0, 0, flags, 0, 0, 0];
    body.extend(target.octets());
    body.extend([option, 1]);
    body.extend(mac);
    body
}

pub(crate) fn packet(source: Ipv6Addr, to: Ipv6Addr, body: &[u8]) -> Vec<u8> {
    let [high, low] = index(body.len()).to_be_bytes();
    let mut packet = vec![0x60, 0, 0, 0, high, low, ICMP6, ON_LINK];
    packet.extend(source.octets());
    packet.extend(to.octets());
    packet.extend_from_slice(body);
    let so_far = pseudo6(&packet[8..IP6], body.len(), ICMP6);
    let check = checksum(sum(&packet[IP6..], so_far));
    packet[IP6 + 2..IP6 + 4].copy_from_slice(&check.to_be_bytes());
    packet
}

/// A frame that asks for a neighbour: its group, or it alone if it was known.
#[must_use]
pub fn solicitation(
    link: &Link,
    own: Ipv6Addr,
    neighbour: Ipv6Addr,
    known: Option<Mac>,
) -> Vec<u8> {
    let to = if known.is_some() { neighbour } else { solicited(neighbour) };
    let mac = known.unwrap_or_else(|| group_mac(to));
    let body = message(SOLICITATION, 0, neighbour, SOURCE_MAC, link.mac);
    frame::ethernet(link, mac, TYPE_IP6, &packet(own, to, &body))
}

/// A frame that tells everyone where an own address is.
#[must_use]
pub fn announcement(link: &Link, own: Ipv6Addr, token: Option<Token>) -> Vec<u8> {
    let mut body = message(ADVERTISEMENT, ROUTER | OVERRIDE, own, TARGET_MAC, link.mac);
    if let Some(token) = token {
        body.extend([TOKEN, 3, 0, 0, 0, 0, 0, 0]);
        body.extend(token);
    }
    frame::ethernet(link, group_mac(ALL_NODES), TYPE_IP6, &packet(own, ALL_NODES, &body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_came_from_afar_is_not() {
        let link = Link { mac: [2, 0, 0, 0, 0, 1], ..Link::default() };
        let (own, neighbour) = ("fe80::1".parse().unwrap(), "fe80::2".parse().unwrap());
        let mut frame = solicitation(&link, own, neighbour, None);
        assert_eq!(frame[..6], [0x33, 0x33, 0xff, 0, 0, 2]);
        let said = read(&frame[14..]).unwrap();
        assert_eq!((said.kind, said.source, said.target), (SOLICITATION, own, neighbour));
        assert_eq!(said.mac, Some(link.mac));
        frame[14 + 7] = 254;
        assert_eq!(read(&frame[14..]).err(), Some(OFF_LINK));
        frame[14 + 7] = 255;
        frame[14 + 48] ^= 1;
        assert_eq!(read(&frame[14..]).err(), Some(CHECKSUM));
    }
}
