//! `arp-input` and the packets of ARP (RFC 826, RFC 1027 proxies, RFC 5227 announcements).

use crate::arcs::OUT;
use crate::bucket::{Bucket, Buckets, Rate};
use crate::frame;
use crate::header::{TYPE_ARP, long, word};
use crate::interfaces::Row as Link;
use crate::program::Mac;
use crate::view::{Heard, Shared, Speech, Token};
use graph::meta::GROUP_ADDRESSED;
use graph::{Context, Node, Pool, Reason, Row, Slot};
use std::net::Ipv4Addr;
use std::sync::Arc;
use table::hop::{HopLookups, Kind};
use table::lpm::Lookups;

/// Octets of an ARP packet for Ethernet and IPv4.
pub const ARP_BYTES: usize = 28;
/// What stands before a token behind an announcement, where a short frame has room anyway.
const MARK: [u8; 2] = *b"TD";
/// ARP packets that a worker looks at, in all.
pub const TAKEN: Rate = Rate { per_second: 10_000, burst: 1_000 };
/// … and of one interface.
pub const TAKEN_OF_INTERFACE: Rate = Rate { per_second: 2_000, burst: 500 };
/// … and answers of one known neighbour, from where it is known to be: a flood of others' packets
/// must not make it look silent while somebody claims its address.
pub const TAKEN_OF_KNOWN: Rate = Rate { per_second: 20, burst: 10 };
/// … and of all known neighbours of one interface.
pub const TAKEN_OF_ALL_KNOWN: Rate = Rate { per_second: 2_000, burst: 500 };
/// Buckets of interfaces, and of known neighbours.
const INTERFACES: usize = 4_096;

const SHORT: Reason = Reason(0);
const FORM: Reason = Reason(1);
const SOURCE: Reason = Reason(2);
const HEARD: Reason = Reason(3);
const NOT_FOR_US: Reason = Reason(4);
const LIMITED: Reason = Reason(5);
const NO_ROOM: Reason = Reason(6);
const REASONS: &[&str] = &[
    "arp packet too short",
    "arp form",
    "arp martian source",
    "arp heard",
    "arp for somebody else",
    "arp too often",
    "arp answer too long",
];

const REQUEST: u16 = 1;
const REPLY: u16 = 2;

/// The node.
pub struct ArpInput {
    shared: Shared,
    routes: Arc<Lookups<u32>>,
    hops: Arc<HopLookups>,
    taken: Bucket,
    of_interface: Buckets,
    of_known: Buckets,
    of_all_known: Buckets,
}

/// What an ARP packet says.
struct Said {
    operation: u16,
    mac: Mac,
    source: Ipv4Addr,
    target: Ipv4Addr,
    token: Option<Token>,
}

impl ArpInput {
    /// The node of one worker.
    #[must_use]
    pub fn new(shared: Shared, routes: Arc<Lookups<u32>>, hops: Arc<HopLookups>) -> Self {
        let buckets = || Buckets::new(INTERFACES, shared.key);
        let (of_interface, of_known, of_all_known) = (buckets(), buckets(), buckets());
        let taken = Bucket::default();
        Self { shared, routes, hops, taken, of_interface, of_known, of_all_known }
    }

    /// Whether we answer for the address: it is ours, or it is reached by another interface of
    /// the same table and this one is a proxy.
    fn answers(&self, said: &Said, link: &Link, own: bool, cx: &Context<'_>) -> bool {
        if own || !link.proxy_arp || said.source.is_unspecified() || said.source == said.target {
            return own;
        }
        let found = self.routes.lookup(cx.reader, link.vrf, said.target.into());
        let line = self.hops.resolve(cx.reader, found, 0);
        let away = self.routes.lookup(cx.reader, link.vrf, said.source.into());
        let back = self.hops.resolve(cx.reader, away, 0);
        let leads = |kind| matches!(kind, Kind::Rewrite | Kind::Glean);
        leads(line.kind) && leads(back.kind) && line.interface != back.interface
    }

    /// Whether it is a known neighbour that answers, and has not done so too often.
    fn is_known(&mut self, interface: u32, said: &Said, cx: &Context<'_>) -> bool {
        let number = self.shared.admitted.known.of(interface, said.source.into(), said.mac);
        number.is_some_and(|number| {
            self.of_known.take(number, TAKEN_OF_KNOWN, cx.now)
                && self.of_all_known.take(interface.into(), TAKEN_OF_ALL_KNOWN, cx.now)
        })
    }

    fn heard(&mut self, slot: Slot, cx: &mut Context<'_>) -> Option<Reason> {
        let interface = cx.packets.meta(slot).interface;
        let link = *self.shared.interfaces.read(cx.reader).row(interface);
        let said = match read(cx.packets.bytes(slot)) {
            Ok(said) => said,
            Err(reason) => return Some(reason),
        };
        let is_unicast = cx.packets.meta(slot).flags & GROUP_ADDRESSED == 0;
        let answers = is_unicast && said.operation == REPLY;
        if !(answers && self.is_known(interface, &said, cx)) {
            let taken = self.of_interface.take(interface.into(), TAKEN_OF_INTERFACE, cx.now);
            if !taken || !self.taken.take(TAKEN, cx.now) {
                return Some(LIMITED);
            }
        }
        let own = self.shared.addresses.read(cx.reader).has(interface, said.target.into());
        let announced = said.source == said.target;
        let speech = match said.operation {
            REPLY if own => Speech::Answer { overrides: true },
            REQUEST if own => Speech::Question,
            _ => Speech::Announcement { overrides: true },
        };
        if !said.source.is_unspecified() && (own || announced) {
            let (address, mac) = (said.source.into(), said.mac);
            // A full ring: the neighbour will be heard again.
            let token = said.token.filter(|_| announced);
            self.shared.tell(Heard::Neighbour { interface, address, mac, speech, token });
        }
        if said.operation == REPLY {
            return Some(HEARD);
        }
        if !self.answers(&said, &link, own, cx) {
            return Some(if announced { HEARD } else { NOT_FOR_US });
        }
        let reply = Said {
            operation: REPLY,
            mac: link.mac,
            source: said.target,
            target: said.source,
            token: None,
        };
        let frame = frame::ethernet(&link, said.mac, TYPE_ARP, &written(&reply, said.mac));
        answer(slot, interface, &frame, &link, cx.packets)
    }
}

/// Makes the question's cell the answer's.
fn answer(
    slot: Slot,
    interface: u32,
    frame: &[u8],
    link: &Link,
    packets: &mut Pool,
) -> Option<Reason> {
    if !frame::replace(packets, slot, frame) {
        return Some(NO_ROOM);
    }
    let meta = packets.meta_mut(slot);
    meta.transmit = interface;
    meta.l3 = meta.offset + frame::header_octets(link);
    None
}

impl Node for ArpInput {
    fn row(&self) -> Row {
        Row::of("arp-input", &[], REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        for slot in batch {
            match self.heard(*slot, cx) {
                Some(reason) => cx.next.drop(*slot, reason),
                None => cx.next.start(OUT, &[*slot], cx.packets),
            }
        }
    }
}

fn read(packet: &[u8]) -> Result<Said, Reason> {
    let behind = packet.get(ARP_BYTES..).and_then(|rest| rest.strip_prefix(&MARK));
    let token = behind.and_then(|rest| rest.first_chunk()).copied();
    let packet = packet.first_chunk::<ARP_BYTES>().ok_or(SHORT)?;
    let operation = word(packet, 6);
    if packet[..6] != [0, 1, 8, 0, 6, 4] || !matches!(operation, REQUEST | REPLY) {
        return Err(FORM);
    }
    let mac: Mac = packet[8..14].try_into().map_err(|_| SHORT)?;
    let (source, target) = (Ipv4Addr::from(long(packet, 14)), Ipv4Addr::from(long(packet, 24)));
    let martian = source.is_loopback() || source.is_multicast() || source.is_broadcast();
    if martian || mac[0] & 1 == 1 || mac == [0; 6] {
        return Err(SOURCE);
    }
    Ok(Said { operation, mac, source, target, token })
}

fn written(said: &Said, to: Mac) -> Vec<u8> {
    let mut packet = vec![0, 1, 8, 0, 6, 4];
    packet.extend(said.operation.to_be_bytes());
    packet.extend(said.mac);
    packet.extend(said.source.octets());
    packet.extend(to);
    packet.extend(said.target.octets());
    if let Some(token) = said.token {
        packet.extend(MARK);
        packet.extend(token);
    }
    packet
}

/// A frame that tells everyone where an own address is (RFC 5227 §3).
#[must_use]
pub fn announcement(link: &Link, own: Ipv4Addr, token: Option<Token>) -> Vec<u8> {
    let said = Said { operation: REQUEST, mac: link.mac, source: own, target: own, token };
    frame::ethernet(link, [0xff; 6], TYPE_ARP, &written(&said, [0; 6]))
}

/// A frame that asks for a neighbour: everyone, or it alone if it was known.
#[must_use]
pub fn request(link: &Link, own: Ipv4Addr, neighbour: Ipv4Addr, known: Option<Mac>) -> Vec<u8> {
    let said =
        Said { operation: REQUEST, mac: link.mac, source: own, target: neighbour, token: None };
    frame::ethernet(link, known.unwrap_or([0xff; 6]), TYPE_ARP, &written(&said, [0; 6]))
}
