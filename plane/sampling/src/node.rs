//! `sample`: one packet of so many, at random, becomes part of a flow record or a record of its
//! own (RFC 5475 §5.2.2, n-out-of-N with n = 1). Messages of IPFIX leave by UDP to the collector;
//! without one they are handed up as payloads of UDP: class `Samples`.
//!
//! A message leaves when it is full, and a second after its first record at the earliest vector;
//! flows are told when they end, after a minute, or when another needs their place.

use crate::collector;
use crate::flow::{DISPLACED, Flow, Flows, Key};
use crate::ipfix::Message;
use graph::meta::OWN;
use graph::{Context, Edge, HEADROOM, Node, Pool, Row, Slot};
use machine::narrow::{at_most, index, place};
use nodes::bucket::{Bucket, Rate};
use nodes::header;
use nodes::program::{Class, Collector, Sampling};
use nodes::qos::fields;
use std::collections::BTreeMap;
use std::sync::Arc;
use table::epoch::Published;

/// One packet of so many at most.
pub(crate) const ONE_IN_MAX: u32 = 1 << 24;
/// Octets of a packet in a record at most.
pub(crate) const OCTETS_MAX: u16 = 1_024;
/// Messages that a worker hands up: what is beyond is not told.
const MESSAGES: Rate = Rate { per_second: 1_000, burst: 100 };
/// Templates are said again after so long (RFC 7011 §8.4: UDP).
const TEMPLATES_MS: u64 = 30_000;
const TO_LOOKUP4: Edge = Edge(0);
const TO_LOOKUP6: Edge = Edge(1);
/// A message waits so long for more records.
const GATHERED_MS: u64 = 1_000;

/// How interfaces are sampled; replaced whole when one changes.
#[derive(Default)]
pub(crate) struct Samplings {
    rows: Vec<Sampling>,
    by_interface: Vec<u32>,
    collector: Option<Collector>,
}

/// What is wrong with a sampling.
pub(crate) fn check(sampling: &Sampling) -> Result<(), &'static str> {
    match sampling {
        Sampling { one_in, .. } if !(1..=ONE_IN_MAX).contains(one_in) => {
            Err("one of 1 to 16,777,216 packets is sampled")
        }
        Sampling { octets, .. } if *octets > OCTETS_MAX => Err("samples have 1,024 octets at most"),
        _ => Ok(()),
    }
}

impl Samplings {
    /// As the programs say.
    pub(crate) fn of(samplings: &BTreeMap<u32, Sampling>, collector: Option<&Collector>) -> Self {
        let mut made = Self { collector: collector.cloned(), ..Self::default() };
        for (interface, sampling) in samplings {
            let at = *interface as usize;
            made.by_interface.resize(made.by_interface.len().max(at + 1), u32::MAX);
            made.by_interface[at] = place(made.rows.len());
            made.rows.push(sampling.clone());
        }
        made
    }

    #[inline]
    fn at(&self, interface: u32) -> Option<(usize, &Sampling)> {
        let at = *self.by_interface.get(interface as usize)? as usize;
        self.rows.get(at).map(|row| (at, row))
    }
}

/// The packets of an interface until the next sample.
#[derive(Clone, Copy, Default)]
struct Countdown {
    interface: u32,
    left: u32,
    /// Packets of the present N after the sample.
    rest: u32,
}

/// The node.
pub(crate) struct Sample {
    samplings: Arc<Published<Samplings>>,
    worker: usize,
    flows: Flows,
    countdowns: Vec<Countdown>,
    message: Message,
    begun_ms: u64,
    templates_ms: Option<u64>,
    /// Who has heard the templates.
    collector: Option<Collector>,
    sequence: u32,
    messages: Bucket,
    dice: u32,
}

impl Sample {
    /// The node of one worker; `seed` is that of its choice of packets.
    pub(crate) fn new(samplings: Arc<Published<Samplings>>, worker: usize, seed: u32) -> Self {
        Self {
            samplings,
            worker,
            flows: Flows::new(),
            countdowns: Vec::new(),
            message: Message::new(),
            begun_ms: 0,
            templates_ms: None,
            collector: None,
            sequence: 0,
            messages: Bucket::default(),
            dice: seed | 1,
        }
    }

    /// Whether this packet of an interface is the one of its N.
    #[inline]
    fn is_chosen(&mut self, at: usize, sampling: &Sampling) -> bool {
        if self.countdowns.len() <= at {
            self.countdowns.resize(at + 1, Countdown::default());
        }
        let state = &mut self.countdowns[at];
        if state.interface != sampling.interface {
            *state = Countdown { interface: sampling.interface, left: 0, rest: 0 };
            self.draw(at, sampling.one_in);
        }
        let state = &mut self.countdowns[at];
        if state.left > 0 {
            state.left -= 1;
            return false;
        }
        self.draw(at, sampling.one_in);
        true
    }

    /// Chooses one of the next N packets.
    fn draw(&mut self, at: usize, one_in: u32) {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 17;
        self.dice ^= self.dice << 5;
        let place = ((u64::from(self.dice) * u64::from(one_in)) >> 32) as u32;
        let state = &mut self.countdowns[at];
        state.left = state.rest + place;
        state.rest = one_in - 1 - place;
    }

    fn record(&mut self, slot: Slot, sampling: &Sampling, now_ms: u64, cx: &mut Context<'_>) {
        let packet = cx.packets.bytes(slot);
        let Some(flow) = flow_of(packet, sampling.interface, now_ms) else { return };
        if sampling.octets > 0 {
            let (interface, most) = (sampling.interface, sampling.octets);
            if !self.message.packet(now_ms, interface, packet, most) {
                self.send(now_ms, cx);
                let packet = cx.packets.bytes(slot);
                self.message.packet(now_ms, interface, packet, most);
            }
        } else if let Some(displaced) = self.flows.add(flow) {
            self.tell(&displaced, DISPLACED, now_ms, cx);
        }
        if self.begun_ms == 0 && !self.message.is_empty() {
            self.begun_ms = now_ms;
        }
    }

    fn tell(&mut self, flow: &Flow, reason: u8, now_ms: u64, cx: &mut Context<'_>) {
        if !self.message.flow(flow, reason) {
            self.send(now_ms, cx);
            self.message.flow(flow, reason);
        }
        if self.begun_ms == 0 {
            self.begun_ms = now_ms;
        }
    }

    /// Hands the message up.
    #[inline(never)]
    fn send(&mut self, now_ms: u64, cx: &mut Context<'_>) {
        let message = std::mem::replace(&mut self.message, Message::new());
        self.begun_ms = 0;
        if self.messages.take(MESSAGES, cx.now) {
            self.punt(message, now_ms, cx);
        }
    }

    fn punt(&mut self, message: Message, now_ms: u64, cx: &mut Context<'_>) {
        let domain = place(self.worker) + 1;
        let octets = message.seal(at_most(now_ms / 1_000, u32::MAX), &mut self.sequence, domain);
        let Some(slot) = cx.packets.take() else { return };
        let (meta, cell) = cx.packets.parts(slot);
        if let Some(room) = cell.get_mut(HEADROOM..HEADROOM + octets.len()) {
            room.copy_from_slice(&octets);
            meta.length = index(octets.len());
        }
        meta.flags |= OWN;
        meta.words[0] = Class::Samples as u32;
        let Some(collector) = &self.samplings.read(cx.reader).collector else {
            return cx.out.punt(slot);
        };
        meta.vrf = collector.vrf;
        collector::address(cx.packets, slot, collector);
        let edge = if collector.address.is_ipv4() { TO_LOOKUP4 } else { TO_LOOKUP6 };
        cx.next.to(edge, slot);
    }

    /// What is due whatever the packets are.
    fn tidy(&mut self, now_ms: u64, cx: &mut Context<'_>) {
        let samplings = Arc::clone(&self.samplings);
        let samplings = samplings.read(cx.reader);
        let is_due =
            self.templates_ms.is_none_or(|said| now_ms.saturating_sub(said) >= TEMPLATES_MS);
        if is_due || samplings.collector != self.collector {
            self.templates_ms = Some(now_ms);
            self.collector.clone_from(&samplings.collector);
            self.punt(Message::templates(samplings.rows.iter()), now_ms, cx);
        }
        let mut ended = Vec::new();
        self.flows.sweep(now_ms, |flow, reason| ended.push((*flow, reason)));
        for (flow, reason) in ended {
            self.tell(&flow, reason, now_ms, cx);
        }
        if self.begun_ms != 0 && now_ms.saturating_sub(self.begun_ms) >= GATHERED_MS {
            self.send(now_ms, cx);
        }
    }
}

impl Node for Sample {
    fn row(&self) -> Row {
        Row::of("sample", &["ip4-lookup", "ip6-lookup"], &[])
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let samplings = Arc::clone(&self.samplings);
        let samplings = samplings.read(cx.reader);
        let now_ms = cx.now.as_millis();
        for slot in batch {
            let interface = cx.packets.meta(*slot).interface;
            if let Some((at, sampling)) = samplings.at(interface)
                && self.is_chosen(at, sampling)
            {
                self.record(*slot, sampling, now_ms, cx);
            }
        }
        cx.next.onward_all(batch, cx.packets);
        self.tidy(now_ms, cx);
    }

    fn trace(&self, packets: &Pool, slot: Slot, note: &mut String) {
        use std::fmt::Write;
        // Writing to a string does not fail.
        let _ = write!(note, "interface {}", packets.meta(slot).interface);
    }
}

/// What a packet, from its IP header, adds to its flow.
fn flow_of(packet: &[u8], interface: u32, now_ms: u64) -> Option<Flow> {
    let (source, destination, ports, protocol, tcp_flags, is_ip4) = match packet.first()? >> 4 {
        4 => {
            let header = fields::ip4(packet);
            let ports = [header.source_port, header.destination_port];
            let (source, destination) = (header.source.into(), header.destination.into());
            (source, destination, ports, header.protocol, header.tcp_flags, true)
        }
        6 => {
            let header = fields::ip6(packet);
            let ports = [header.source_port, header.destination_port];
            (header.source, header.destination, ports, header.protocol, header.tcp_flags, false)
        }
        _ => return None,
    };
    let service = match is_ip4 {
        true => *packet.get(1)?,
        false => (header::word(packet, 0) >> 4 & 0xff) as u8,
    };
    let key = Key { source, destination, ports, interface, protocol, service, is_ip4 };
    let octets = packet.len() as u64;
    Some(Flow { key, start_ms: now_ms, end_ms: now_ms, octets, packets: 1, tcp_flags })
}
