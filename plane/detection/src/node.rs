//! `bfd-input`: packets of BFD over one hop for this system, and what is due of the sessions of its
//! worker. Where packets leave to stands in their sessions: no table is asked.

use crate::datagram;
use crate::figures::Figures;
use crate::policing::Police;
use crate::program::Name;
use crate::station::{Arrived, Leaving, OF_INTERFACE_MAX, Station};
use bfd::{Discard, OCTETS_MAX, Packet};
use graph::meta::OWN;
use graph::{Context, Edge, Next, Node, Pool, Reason, Row, Slot};
use machine::Time;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use table::epoch::Published;

/// The node.
pub const BFD_INPUT: &str = "bfd-input";
/// Packets of other workers that are taken at once.
const TAKEN_MAX: usize = 1_024;
/// The class of packets that leave: before all others.
const CLASS: u8 = 7;

const TO_IP4: Edge = Edge(0);
const TO_IP6: Edge = Edge(1);
const DATAGRAM: Reason = Reason(0);
const NO_ROOM: Reason = Reason(1);
const POLICED: Reason = Reason(2);
/// Where the reasons of the protocol begin.
const OF_PROTOCOL: u8 = 3;

/// Why packets are dropped, each with its counter in the graph.
const REASONS: &[&str] = &[
    "bfd: length or checksum of udp",
    "bfd: no room at its worker",
    "bfd: policed",
    "bfd: version",
    "bfd: length",
    "bfd: detect-mult",
    "bfd: multipoint",
    "bfd: my-discriminator",
    "bfd: your-discriminator",
    "bfd: former",
    "bfd: state",
    "bfd: unproven",
    "bfd: no-session",
    "bfd: path",
    "bfd: ttl",
    "bfd: auth-unexpected",
    "bfd: auth-missing",
    "bfd: auth-length",
    "bfd: auth-key",
    "bfd: auth-sequence",
    "bfd: auth-digest",
    "bfd: poll-and-final",
    "bfd: admin-down",
    "bfd: foreign-echo",
    "bfd: stray-echo",
];
const _: () = assert!(REASONS.len() == OF_PROTOCOL as usize + Discard::ALL.len());

/// Whose a session is.
#[derive(Clone)]
pub(crate) struct Owner {
    pub station: Arc<Station>,
    pub local: IpAddr,
    pub figures: Arc<Figures>,
    pub police: Arc<Police>,
}

/// All sessions by their neighbours, as workers read them.
pub(crate) type Owners = BTreeMap<Name, Owner>;

/// The node of one worker.
pub(crate) struct BfdInput {
    station: Arc<Station>,
    owners: Arc<Published<Owners>>,
    due: Option<Time>,
}

impl BfdInput {
    pub fn new(station: Arc<Station>, owners: Arc<Published<Owners>>) -> Self {
        let due = station.hold().deadline();
        Self { station, owners, due }
    }
}

const fn reason(why: Discard) -> Reason {
    Reason(OF_PROTOCOL + why as u8)
}

/// Puts a packet on its way.
fn send(leaving: &Leaving<'_>, packets: &mut Pool, next: &mut Next<'_>) {
    // Where no cell is left, it is as if it were lost on its way.
    let Some(slot) = packets.put(leaving.packet) else { return };
    let is_four = leaving.packet.first().is_some_and(|first| first >> 4 == 4);
    let meta = packets.meta_mut(slot);
    (meta.hop, meta.class) = (leaving.hop, CLASS);
    meta.flags |= OWN;
    next.to(if is_four { TO_IP4 } else { TO_IP6 }, slot);
}

impl Node for BfdInput {
    fn row(&self) -> Row {
        Row::of(BFD_INPUT, &["ip4-redirect", "ip6-redirect"], REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let owners = self.owners.read(cx.reader);
        for slot in batch {
            let meta = cx.packets.meta(*slot);
            let (interface, at) = (meta.interface, usize::from(meta.l4.saturating_sub(meta.l3)));
            let mut octets = [0; OCTETS_MAX];
            let Some(came) = datagram::read(cx.packets.bytes(*slot), at, &mut octets) else {
                cx.next.drop(*slot, DATAGRAM);
                continue;
            };
            let named = match Packet::read(came.payload) {
                Ok((packet, _)) => packet.your_discriminator,
                Err(why) => {
                    cx.next.drop(*slot, reason(why));
                    continue;
                }
            };
            let name = Name { interface, address: came.ends[0] };
            let Some(owner) = owners.get(&name).filter(|it| it.local == came.ends[1]) else {
                cx.next.drop(*slot, reason(Discard::NoSession));
                continue;
            };
            if !owner.police.admits(named, &owner.figures, cx.now) {
                cx.next.drop(*slot, POLICED);
                continue;
            }
            if !Arc::ptr_eq(&owner.station, &self.station) {
                let place = owner.police.place(OF_INTERFACE_MAX);
                let arrived = place.map(|place| Arrived::new(cx.now, name, &came, place));
                match arrived.is_some_and(|it| owner.station.arrived.push(it).is_ok()) {
                    true => cx.packets.free(*slot),
                    false => cx.next.drop(*slot, NO_ROOM),
                }
                continue;
            }
            let mut kept = self.station.hold();
            let (packets, next) = (&mut *cx.packets, &mut cx.next);
            let taken = kept.receive(cx.now, &name, &came, &mut |it| send(&it, packets, next));
            self.due = kept.deadline();
            if kept.take_news() {
                cx.out.call_writer();
            }
            match taken {
                Ok(()) => cx.packets.free(*slot),
                Err(why) => cx.next.drop(*slot, reason(why)),
            }
        }
    }

    fn tick(&mut self, cx: &mut Context<'_>) {
        let station = &self.station;
        let mut kept = station.hold();
        let (packets, next) = (&mut *cx.packets, &mut cx.next);
        while let Some(order) = station.orders.pop() {
            kept.obey(cx.now, order, &mut |it| send(&it, packets, next));
        }
        // What came before now counts before time does.
        for _ in 0..TAKEN_MAX {
            let Some(arrived) = station.arrived.pop() else { break };
            if let Err(why) = kept.take(&arrived, &mut |it| send(&it, packets, next))
                && let Some(slot) = packets.take()
            {
                next.drop(slot, reason(why));
            }
        }
        kept.tick(cx.now, &mut |it| send(&it, packets, next));
        self.due = kept.deadline();
        if kept.take_news() {
            cx.out.call_writer();
        }
    }

    fn deadline(&self) -> Option<Time> {
        if self.station.has_work() { Some(Time::ZERO) } else { self.due }
    }

    fn has_deadlines(&self) -> bool {
        true
    }
}
