//! Packet channels as workers have them: they carry the packets.

use super::rings::{Corrupt, Down, Shed, Up};
use channel::{PacketRecord, PacketTo};
use graph::meta::{GROUP_ADDRESSED, OWN};
use graph::{Graph, Pool, Slot};
use machine::Time;
use machine::narrow::at_most;
use nodes::inject::BEHIND_LABELS;
use nodes::program::{CLASSES_FROM, INTERFACES_MAX};
use packet::datagram::Datagram;
use plane_control::Handed;
use question::rows;
use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use table::vrf::VRFS_MAX;

/// Packets that one round of a worker takes from a ring down.
const DOWN_MAX: u16 = 64;
/// Octets of the longest header of a frame: a shorter frame is none.
const FRAME_MIN: usize = 22;

/// What a worker counts of a packet channel.
#[derive(Debug, Clone, Default)]
pub(crate) struct Passed {
    up: u64,
    down: u64,
    /// Packets that did not go up, by class and reason.
    shed: BTreeMap<(u8, &'static str), u64>,
    /// Packets that came down and are lost, by reason.
    lost: BTreeMap<&'static str, u64>,
}

/// A worker's end of a packet channel.
pub(crate) struct Part {
    /// The number of its connection.
    pub(crate) number: u64,
    pub(crate) up: Up,
    /// Of one worker.
    pub(crate) down: Option<Down>,
    /// In the order in which they were asked for.
    pub(crate) classes: Vec<Handed>,
}

/// An open packet channel, with the nodes that take packets of its classes down.
struct Open {
    part: Part,
    entries: Vec<Option<usize>>,
    passed: Passed,
}

/// The packet channels of a worker.
#[derive(Default)]
pub(crate) struct PacketChannels {
    open: Vec<Open>,
    /// Numbers flows; its key is this worker's.
    numbers: RandomState,
    /// Packet channels whose other side wrote what cannot be.
    pub(crate) broken: BTreeMap<u64, Corrupt>,
}

impl PacketChannels {
    pub(crate) fn open(&mut self, part: Part, graph: &Graph) {
        self.close(part.number);
        let entries = part.classes.iter().map(|class| graph.entry(class.down?)).collect();
        self.open.push(Open { part, entries, passed: Passed::default() });
    }

    pub(crate) fn close(&mut self, number: u64) -> Option<Part> {
        self.broken.remove(&number);
        let at = self.open.iter().position(|open| open.part.number == number)?;
        Some(self.open.remove(at).part)
    }

    /// Takes those of `punted` whose class has a packet channel. Packets of features' classes that
    /// have none are `unwanted`; what is left is for the host.
    pub(crate) fn hand_up(
        &mut self,
        now: Time,
        pool: &mut Pool,
        punted: &mut Vec<Slot>,
        unwanted: &mut u64,
    ) {
        punted.retain(|slot| {
            let number = pool.meta(*slot).words[0];
            let found = self.open.iter_mut().find_map(|open| {
                let at = open.part.classes.iter().position(|class| class.number == number)?;
                Some((open, at_most(at as u64, u8::MAX)))
            });
            match found {
                None if number < CLASSES_FROM => return true,
                None => *unwanted += 1,
                Some((open, class)) => {
                    let flow = flow_of(&self.numbers, number, pool, *slot);
                    if let Err(corrupt) = open.hand_up(now, class, flow, *slot, pool) {
                        self.broken.insert(open.part.number, corrupt);
                    }
                }
            }
            pool.free(*slot);
            false
        });
        self.each(|part| part.up.publish());
    }

    /// The worker is awake, and looks at the rings down by itself.
    pub(crate) fn rise(&mut self) {
        self.each(|part| part.down.as_mut().map_or(Ok(()), Down::rise));
    }

    fn each(&mut self, mut with: impl FnMut(&mut Part) -> Result<(), Corrupt>) {
        for Open { part, .. } in &mut self.open {
            if let Err(corrupt) = with(part) {
                self.broken.insert(part.number, corrupt);
            }
        }
    }

    /// Pushes packets that came down into the graph; whether there were any.
    pub(crate) fn receive(&mut self, graph: &mut Graph, pool: &mut Pool, inject: usize) -> bool {
        let mut any = false;
        for Open { part, entries, passed } in &mut self.open {
            // One that is broken is closed soon.
            let is_broken = self.broken.contains_key(&part.number);
            let Some(down) = part.down.as_mut().filter(|_| !is_broken) else { continue };
            let received = down.receive(DOWN_MAX, |to, packet| {
                any = true;
                let way = Way::of(to, packet, inject, entries, &part.classes);
                match way.and_then(|way| way.push(packet, graph, pool)) {
                    Ok(()) => passed.down += 1,
                    Err(why) => *passed.lost.entry(why).or_default() += 1,
                }
            });
            if let Err(corrupt) = received {
                self.broken.insert(part.number, corrupt);
            }
        }
        any
    }

    /// The rings down, to be watched.
    pub(crate) fn downs(&mut self) -> impl Iterator<Item = &mut Down> {
        self.open.iter_mut().filter_map(|open| open.part.down.as_mut())
    }

    /// What went through each.
    pub(crate) fn passed(&self) -> BTreeMap<u64, Passed> {
        self.open.iter().map(|open| (open.part.number, open.passed.clone())).collect()
    }
}

impl Open {
    /// Puts a packet into the ring, or sheds it. The host's classes begin with the network header,
    /// a feature's where its node left them.
    fn hand_up(
        &mut self,
        now: Time,
        class: u8,
        flow: Option<u64>,
        slot: Slot,
        pool: &mut Pool,
    ) -> Result<(), Corrupt> {
        let meta = pool.meta(slot);
        let (interface, vrf) = (meta.interface, meta.vrf);
        let is_own = meta.words[0] < CLASSES_FROM;
        let ahead = usize::from(meta.l3.saturating_sub(meta.offset));
        if is_own && !pool.advance(slot, ahead) {
            *self.passed.shed.entry((class, "no_network_header")).or_default() += 1;
            return Ok(());
        }
        let record = PacketRecord { time_ns: now.as_nanos(), interface, vrf, class };
        match self.part.up.push(record, flow, pool.bytes(slot)) {
            Ok(()) => self.passed.up += 1,
            Err(Shed::Corrupt(corrupt)) => return Err(corrupt),
            Err(why) => *self.passed.shed.entry((class, why.name())).or_default() += 1,
        }
        Ok(())
    }
}

/// A number of the flow of a feature's packet: where it came to, for a sender may choose all else.
fn flow_of(numbers: &RandomState, class: u32, pool: &Pool, slot: Slot) -> Option<u64> {
    if class < CLASSES_FROM {
        return None;
    }
    let to = Datagram::read(pool.bytes(slot))?.to;
    Some(numbers.hash_one((pool.meta(slot).vrf, to.ip(), to.port())))
}

/// How a packet that came down goes into the graph.
struct Way {
    entry: usize,
    interface: u32,
    vrf: u32,
    class: u32,
    /// What is said of the packet beside.
    flags: u16,
}

impl Way {
    /// What the other side says is a number until it is found to be one of ours.
    fn of(
        to: PacketTo,
        packet: &[u8],
        inject: usize,
        entries: &[Option<usize>],
        classes: &[Handed],
    ) -> Result<Self, &'static str> {
        let injected = Self { entry: inject, interface: 0, vrf: 0, class: 0, flags: 0 };
        let way = match to {
            PacketTo::Interface(_) if packet.len() < FRAME_MIN => return Err("no_frame"),
            PacketTo::Interface(interface) => Self { interface, ..injected },
            PacketTo::Link(interface) => Self { interface, flags: GROUP_ADDRESSED, ..injected },
            PacketTo::Vrf(vrf) => Self { vrf, ..injected },
            PacketTo::Feature { class, interface, vrf } => {
                let at = usize::from(class);
                let entry = entries.get(at).copied().flatten().ok_or("no_feature")?;
                let class = classes.get(at).map_or(0, |class| class.number);
                Self { entry, interface, vrf, class, flags: 0 }
            }
        };
        if way.interface >= INTERFACES_MAX {
            return Err("no_interface");
        }
        if way.vrf as usize >= VRFS_MAX && way.vrf != BEHIND_LABELS {
            return Err("no_table");
        }
        Ok(way)
    }

    fn push(self, packet: &[u8], graph: &mut Graph, pool: &mut Pool) -> Result<(), &'static str> {
        let slot = pool.put(packet).ok_or("no_cell")?;
        let meta = pool.meta_mut(slot);
        (meta.transmit, meta.vrf, meta.words[0]) = (self.interface, self.vrf, self.class);
        meta.flags |= OWN | self.flags;
        graph.push(self.entry, &[slot], pool);
        Ok(())
    }
}

/// Takes the report of another worker along.
pub(crate) fn add(sum: &mut Passed, more: &Passed) {
    sum.up += more.up;
    sum.down += more.down;
    for (what, count) in &more.shed {
        *sum.shed.entry(*what).or_default() += count;
    }
    for (why, count) in &more.lost {
        *sum.lost.entry(why).or_default() += count;
    }
}

rows! {
    /// A packet channel by which packets go up to a function.
    pub struct PacketChannelRow {
        door: u64,
        classes: Vec<ClassRow>,
        up: u64,
        down: u64,
        down_lost: BTreeMap<&'static str, u64>,
    }

    /// A class of packets, its share of the rings and what it shed.
    pub struct ClassRow {
        class: String,
        share: u16,
        shed: BTreeMap<&'static str, u64>,
    }
}

/// A packet channel as a row of an answer.
pub(crate) fn row(number: u64, classes: &[(String, u16)], passed: &Passed) -> PacketChannelRow {
    let rows = classes.iter().enumerate().map(|(at, (name, share))| {
        let of = passed.shed.iter().filter(|((class, _), _)| usize::from(*class) == at);
        let shed = of.map(|((_, why), count)| (*why, *count)).collect();
        ClassRow { class: name.clone(), share: *share, shed }
    });
    PacketChannelRow {
        door: number,
        classes: rows.collect(),
        up: passed.up,
        down: passed.down,
        down_lost: passed.lost.clone(),
    }
}
