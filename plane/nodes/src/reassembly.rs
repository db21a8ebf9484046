//! `reassembly`: fragments of packets for own addresses (RFC 791 §3.2, RFC 8200 §4.5). Fragments
//! that overlap end their packet (RFC 5722). An echo request that is longer than a cell is answered
//! in fragments; another packet of that length goes up in its fragments, in their order, which the
//! host puts together, or who has the packet channel of OSPF.

mod answer;
mod held;

pub use held::{OCTETS_MAX, PACKETS_MAX};

use crate::frame;
use crate::header::{IP4, IP6, long, seal_ip4, word};
use crate::local::{EXTENSIONS_MAX, from_afar, transport};
use crate::program::Class;
use crate::protection::{Asker, Standing};
use crate::view::Shared;
use graph::meta::{GROUP_ADDRESSED, LINK_LOCAL, OWN, PUNTED};
use graph::{Context, Edge, Meta, Node, Pool, Reason, Row, Slot, room};
use held::{Held, Key, Part, Parts, Source};
use machine::Time;
use machine::narrow::index;
use std::time::Duration;

/// The protocol of OSPF.
const OSPF: u8 = 89;
/// Fragments of a packet at most.
pub const FRAGMENTS_MAX: usize = 64;
/// How long the fragments of a packet may take (RFC 1122 §3.3.2: 60 s at least were long ago;
/// what is not there within seconds does not come).
pub const PATIENCE: Duration = Duration::from_secs(15);

const TO_LOCAL: Edge = Edge(0);
const TO_LOOKUP4: Edge = Edge(1);
const TO_LOOKUP6: Edge = Edge(2);
const FORM: Reason = Reason(0);
const HELD: Reason = Reason(1);
const OVERLAP: Reason = Reason(2);
const FULL: Reason = Reason(3);
const UP: Reason = Reason(4);
const DISPLACES: Reason = Reason(5);
const ANSWERED: Reason = Reason(6);
const LIMITED: Reason = Reason(7);
const LIMITED_OSPF: Reason = Reason(8);
const FROM_AFAR: Reason = Reason(9);
const REASONS: &[&str] = &[
    "fragment form",
    "fragment held",
    "fragment overlaps",
    "fragments too many",
    "fragment went up by itself",
    "fragment held in the place of an older packet's",
    "fragment of a long echo, answered",
    "policed: long echo",
    "policed: long ospf",
    "long ospf is not from this link",
];

/// The node.
pub struct Reassembly {
    shared: Shared,
    held: Held,
}

impl Node for Reassembly {
    fn row(&self) -> Row {
        Row::of("reassembly", &["local", "ip4-lookup", "ip6-lookup"], REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        for slot in batch {
            let reason = match self.take(*slot, cx.packets, cx.now) {
                Ok(parts) if finish(&parts, *slot, cx.packets) => {
                    cx.next.to(TO_LOCAL, *slot);
                    continue;
                }
                Ok(parts) => self.long(&parts, *slot, cx),
                Err(reason) => reason,
            };
            cx.next.drop(*slot, reason);
        }
    }
}

impl Reassembly {
    /// The node of one worker.
    #[must_use]
    pub fn new(shared: Shared) -> Self {
        Self { shared, held: Held::default() }
    }

    /// Keeps a fragment; hands out all of its packet when it was the last.
    fn take(&mut self, slot: Slot, packets: &Pool, now: Time) -> Result<Parts, Reason> {
        let packet = packets.bytes(slot);
        let (mut key, part, more) = read(packet).ok_or(FORM)?;
        key.4 = packets.meta(slot).vrf;
        self.held.expire(now, PATIENCE);
        let end = if more { None } else { Some(part.to) };
        let (mut known_end, mut octets) = (end, part.to - part.from);
        if let Some(parts) = self.held.parts(&key) {
            if parts.parts.iter().any(|one| one.from == part.from && one.to == part.to) {
                return Err(HELD);
            }
            known_end = end.or(parts.end);
            let overlaps = parts.parts.iter().any(|one| part.from < one.to && one.from < part.to);
            let contradicts = parts.end.is_some() && parts.end != known_end
                || known_end
                    .is_some_and(|end| part.to > end || parts.parts.iter().any(|one| one.to > end));
            let full = parts.parts.len() >= FRAGMENTS_MAX;
            if overlaps || contradicts || full {
                self.held.remove(&key);
                return Err(if full { FULL } else { OVERLAP });
            }
            octets += parts.parts.iter().map(|one| one.to - one.from).sum::<usize>();
        }
        self.held.add(key, source(&key, packet), part, known_end, now);
        if Some(octets) != known_end {
            return Err(if self.held.shed() > 0 { DISPLACES } else { HELD });
        }
        let mut whole = self.held.remove(&key).ok_or(FORM)?;
        whole.parts.sort_by_key(|part| part.from);
        Ok(whole)
    }

    /// A packet that no cell holds: an echo request is answered, others go up in their fragments.
    fn long(&self, parts: &Parts, slot: Slot, cx: &mut Context<'_>) -> Reason {
        let meta = *cx.packets.meta(slot);
        let near = meta.flags & LINK_LOCAL != 0;
        let answer = match meta.flags & (GROUP_ADDRESSED | OWN) == 0 && !near {
            true => answer::echo(&parts.parts),
            false => None,
        };
        let Some(answer) = answer else {
            let class = match self.class(parts, meta.interface, cx) {
                Ok(class) => class,
                Err(reason) => return reason,
            };
            for part in &parts.parts {
                let flags = meta.flags | PUNTED;
                if let Some((up, offset)) = place(&part.packet, Meta { flags, ..meta }, cx.packets)
                {
                    let own = cx.packets.meta_mut(up);
                    own.l3 = offset;
                    own.words[0] = class as u32;
                    cx.out.punt(up);
                }
            }
            return UP;
        };
        let rows = self.shared.protection.read(cx.reader);
        let source = answer.source;
        let asker = Asker {
            class: Class::Icmp,
            source,
            interface: meta.interface,
            standing: Standing::Far,
        };
        if !self.shared.admitted.admits(rows, asker, cx.now) {
            return LIMITED;
        }
        let edge = if answer.is_six { TO_LOOKUP6 } else { TO_LOOKUP4 };
        for packet in &answer.packets {
            let flags = meta.flags | OWN;
            if let Some((slot, _)) = place(packet, Meta { flags, ..meta }, cx.packets) {
                cx.next.to(edge, slot);
            }
        }
        ANSWERED
    }

    /// The class of a packet that no cell holds: its own where it is OSPF, one of whose LSAs alone
    /// may be longer, and policed as that; fragments count as other packets.
    fn class(&self, parts: &Parts, interface: u32, cx: &Context<'_>) -> Result<Class, Reason> {
        let Some(first) = parts.parts.first().map(|it| &*it.packet) else { return Err(FORM) };
        let found = transport(first).ok_or(FORM)?;
        if found.protocol != OSPF || first[0] >> 4 != 4 {
            return Ok(Class::Other);
        }
        let class = Class::Ospf;
        let link = self.shared.interfaces.read(cx.reader).row(interface);
        if !link.speaks(class) || from_afar(first, found, class).is_some() {
            return Err(FROM_AFAR);
        }
        let asker = Asker { class, source: found.source, interface, standing: Standing::Far };
        let rows = self.shared.protection.read(cx.reader);
        let is_admitted = self.shared.admitted.admits(rows, asker, cx.now);
        is_admitted.then_some(class).ok_or(LIMITED_OSPF)
    }
}

/// A packet in a cell of its own, and where it begins there.
fn place(packet: &[u8], meta: Meta, packets: &mut Pool) -> Option<(Slot, u16)> {
    let slot = packets.put(packet)?;
    let own = packets.meta_mut(slot);
    let (offset, length) = (own.offset, own.length);
    *own = Meta { offset, length, ..meta };
    Some((slot, offset))
}

/// Who a fragment counts for.
fn source(key: &Key, packet: &[u8]) -> Source {
    let is_six = packet.first().is_some_and(|first| first >> 4 == 6);
    (key.4, if is_six { key.0 >> 64 << 64 } else { key.0 })
}

/// Which packet a fragment is of, the fragment, and whether more follow.
fn read(packet: &[u8]) -> Option<(Key, Part, bool)> {
    let found = transport(packet)?;
    let six = packet[0] >> 4 == 6;
    let (field, id, source, destination, protocol) = if six {
        let at = found.at.checked_sub(8)?;
        let addresses = (crate::header::address6(packet, 8), crate::header::address6(packet, 24));
        (word(packet, at + 2), long(packet, at + 4), addresses.0, addresses.1, found.protocol)
    } else {
        let addresses = (u128::from(long(packet, 12)), u128::from(long(packet, 16)));
        let id = u32::from(word(packet, 4));
        (word(packet, 6), id, addresses.0, addresses.1, packet[9])
    };
    let (from, more) = match six {
        true => (usize::from(field & 0xfff8), field & 1 != 0),
        false => (usize::from(field & 0x1fff) * 8, field & 0x2000 != 0),
    };
    let octets = packet.len().checked_sub(found.at)?;
    let to = from + octets;
    let sound = octets > 0 && to <= 65_535 && !(more && octets % 8 != 0);
    let part = Part { from, to, packet: packet.to_vec(), at: found.at };
    sound.then_some(((source, destination, id, protocol, 0), part, more))
}

/// Puts the packet together in the cell of its last fragment; false if it is too long for it.
fn finish(parts: &Parts, slot: Slot, packets: &mut Pool) -> bool {
    let Some(first) = parts.parts.first() else { return false };
    let mut whole = first.packet[..first.at].to_vec();
    if whole[0] >> 4 == 6 {
        let end = whole.len() - 8;
        let next = whole[end];
        whole.truncate(end);
        name_next(&mut whole, next);
    }
    for part in &parts.parts {
        whole.extend_from_slice(&part.packet[part.at..]);
    }
    if whole.len() > room(packets.stride()) {
        return false;
    }
    if whole[0] >> 4 == 4 {
        let length = index(whole.len());
        whole[2..4].copy_from_slice(&length.to_be_bytes());
        whole[6..8].fill(0);
        let octets = usize::from(whole[0] & 15) * 4;
        seal_ip4(&mut whole[..octets.max(IP4)]);
    } else {
        let length = index(whole.len() - IP6);
        whole[4..6].copy_from_slice(&length.to_be_bytes());
    }
    frame::replace(packets, slot, &whole)
}

/// The header before the fragment header names what came after it.
fn name_next(headers: &mut [u8], next: u8) {
    let (mut name, mut at) = (6, IP6);
    for _ in 0..EXTENSIONS_MAX {
        if headers[name] == 44 || at >= headers.len() {
            break;
        }
        (name, at) = (at, at + 8 + usize::from(headers.get(at + 1).copied().unwrap_or(0)) * 8);
    }
    headers[name] = next;
}
