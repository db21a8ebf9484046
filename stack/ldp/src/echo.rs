//! Ping and traceroute of paths whose labels are LDP's (RFC 8029): requests leave behind the label
//! that a prefix has here, as if they had come with it, and those of others are answered.

use crate::Labels;
use dataplane::BEHIND_LABELS;
use dataplane::section::prefix;
use igp::ip4::{self, Head, Packet};
use ldp::Prefix;
use lspping::{
    Code, HOPS_MAX, Here, Message, Outcome, PORT, PROBES_MAX, Probes, Send, Step, Wanted, answer,
};
use machine::bucket::{Bucket, Rate};
use machine::narrow::slot;
use machine::{KeyedHash, Time};
use question::{Parameter, Question, rows};
use runtime::{Answered, Ask, AskError, Effects, PacketRecord, PacketTo, Ticket};
use std::net::{IpAddr, Ipv4Addr};

/// Questions about paths begin so.
pub const LSP: &str = "lsp/";
const PING: &str = "lsp/ping";
/// Requests of a ping, hops of a traceroute, where nobody says otherwise.
const COUNT: u8 = 5;
const HOPS: u8 = 16;
/// Where requests go: nowhere, once no label leads them (RFC 8029 §2.1).
const NOWHERE: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// The class of labels of requests: internetwork control.
const CONTROL: u32 = 6;
/// Seconds from the beginning of the time of NTP to that of UNIX.
const NTP_S: u64 = 2_208_988_800;
/// Requests that are answered, a second: of one network with a length of 24, of one interface, of
/// all.
const ANSWERS_PER_S: [u32; 3] = [20, 50, 100];
/// Networks and interfaces that are told apart; those with the same hash share one.
const ASKERS: usize = 256;
/// Octets of a label, and labels of a packet at most.
const LABEL: usize = 4;
const LABELS_MAX: usize = 8;

rows! {
    /// A request along a path, and what came of it.
    pub struct LspStepRow {
        number: usize,
        /// Hops that it could go; none: as far as the path leads.
        hops: Option<u8>,
        /// Who answered.
        from: Option<Ipv4Addr>,
        /// What that one said: `egress`, `label switched` …
        said: String,
        micros: Option<u64>,
    }
}

/// How many requests of others may be answered.
struct Answers {
    hash: KeyedHash,
    rates: [Rate; 3],
    networks: [Bucket; ASKERS],
    interfaces: [Bucket; ASKERS],
    all: Bucket,
}

impl Answers {
    fn new(secret: &[u8; 16]) -> Self {
        Self {
            hash: KeyedHash::new(secret),
            rates: ANSWERS_PER_S.map(|it| Rate::new(it.into(), Some(it))),
            networks: [Bucket::default(); ASKERS],
            interfaces: [Bucket::default(); ASKERS],
            all: Bucket::default(),
        }
    }

    /// Whether one more of a source, by an interface, is answered. One that is not takes nothing of
    /// what others have.
    fn admits(&mut self, now: Time, interface: u32, from: Ipv4Addr) -> bool {
        let [a, b, c, _] = from.octets();
        let of = |octets: &[u8]| slot(self.hash.hash(octets), ASKERS);
        let network = &mut self.networks[of(&[a, b, c])];
        let interface = &mut self.interfaces[of(&interface.to_be_bytes())];
        let mut each = [network, interface, &mut self.all];
        let has_room = each.iter().zip(self.rates).all(|(it, rate)| it.has_room(now, rate));
        if has_room {
            each.iter_mut().zip(self.rates).for_each(|(it, rate)| it.take(now, rate));
        }
        has_room
    }
}

/// Requests of ours, and how many of others may be answered.
pub(crate) struct Echoes {
    probes: Probes,
    answers: Box<Answers>,
}

impl Echoes {
    pub(crate) fn new(random: &[u8; 32]) -> Self {
        let secret = |of: &[u8]| KeyedHash::derive(random, of);
        let answers = Box::new(Answers::new(&secret(b"answers")));
        Self { probes: Probes::new(&secret(b"echoes")), answers }
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.probes.deadline()
    }
}

const PREFIX: Parameter =
    Parameter::text("prefix", "the prefix whose path it is: `10.255.0.3/32`").required();

/// What may be asked of paths.
pub const QUESTIONS: [Question; 2] = [
    question::question!(
        /// Sends requests along the labels of a prefix: whether they come to its end.
        Ask "lsp/ping" [PREFIX, Parameter::number("count", "requests, 5 if it is left out")]
            -> Vec<LspStepRow>
    ),
    question::question!(
        /// Finds out which routers the labels of a prefix lead past.
        Ask "lsp/trace" [PREFIX, Parameter::number("hops", "at most, 16 if it is left out")]
            -> Vec<LspStepRow>
    ),
];

/// A time as NTP writes it.
fn ntp(now: Time) -> u64 {
    let (seconds, nanos) = (now.as_nanos() / 1_000_000_000, now.as_nanos() % 1_000_000_000);
    ((seconds + NTP_S) << 32) | ((nanos << 32) / 1_000_000_000)
}

/// The first label of a packet whose time ended, and what is below all of them.
fn below(octets: &[u8]) -> Option<(u32, &[u8])> {
    let (labels, _) = octets.as_chunks::<LABEL>();
    let last = labels.iter().take(LABELS_MAX).position(|it| it[2] & 1 == 1)?;
    let first = u32::from_be_bytes(*labels.first()?);
    Some((first >> 12, octets.get((last + 1) * LABEL..)?))
}

/// Message and port of the sender, of a packet to the port of echoes.
fn read<'a>(packet: &Packet<'a>) -> Option<(&'a [u8], u16)> {
    let (_, payload) = packet.datagram().filter(|(port, _)| *port == PORT)?;
    let port = packet.payload.first_chunk().map(|it| u16::from_be_bytes(*it))?;
    Some((payload, port))
}

/// Whether an address may be a host's: neither this network's, nor loopback, of a group, or
/// reserved.
const fn is_ordinary(address: Ipv4Addr) -> bool {
    matches!(address.octets()[0], 1..=126 | 128..=223)
}

impl Labels {
    /// Begins what a question about a path asks for; `None`: the answer comes later.
    pub fn probe(&mut self, now: Time, ask: &Ask, ticket: Ticket) -> Option<Answered> {
        self.begin(now, ask, ticket).err().map(Err)
    }

    fn begin(&mut self, now: Time, ask: &Ask, ticket: Ticket) -> Result<(), AskError> {
        let wrong = AskError::BadParameter;
        let text = ask.params.get("prefix").map(String::as_str).unwrap_or_default();
        let whole = if text.contains('/') { text.to_owned() } else { format!("{text}/32") };
        let to = prefix(&whole).and_then(|(address, length)| match address {
            IpAddr::V4(address) => Some((address, length)),
            IpAddr::V6(_) => None,
        });
        let to = to.ok_or_else(|| wrong("prefix: as 10.255.0.3/32".to_owned()))?;
        let number = |key: &str, most: u8, otherwise: u8| match ask.params.get(key) {
            None => Ok(otherwise),
            Some(text) => {
                let read = text.parse().ok().filter(|it| (1..=most).contains(it));
                read.ok_or_else(|| wrong(format!("{key}: 1 to {most}")))
            }
        };
        let wanted = match &*ask.path {
            PING => Wanted::Ping(number("count", PROBES_MAX, COUNT)?),
            _ => Wanted::Trace(number("hops", HOPS_MAX, HOPS)?),
        };
        if self.entry(Prefix::new(to.0.into(), to.1)).is_none() {
            return Err(wrong(format!("prefix: no labels lead from here to {whole}")));
        }
        let begins = self.echoes.probes.begin(now, ticket.0, to, wanted);
        begins.then_some(()).ok_or_else(|| wrong("too many paths are looked at".to_owned()))
    }

    /// The label that packets to a prefix come with here, where labels lead on.
    fn entry(&self, to: Prefix) -> Option<u32> {
        let forward = self.forward(to)?;
        forward.hops.iter().any(|it| it.label.is_some()).then_some(forward.label)
    }

    /// Lets time pass for requests of ours.
    pub(crate) fn probes(&mut self, now: Time, out: &mut Effects) {
        let (sent, over) = self.echoes.probes.tick(now, ntp(now));
        for Send { to, hops, octets } in sent {
            let Some(label) = self.entry(Prefix::new(to.0.into(), to.1)) else { continue };
            // One hop is from here to the next router.
            let ttl = u32::from(hops.saturating_add(1));
            let first = (label << 12 | CONTROL << 9 | 1 << 8 | ttl).to_be_bytes();
            self.leave((NOWHERE, PORT), 1, &octets, Some(first), out);
        }
        for Outcome { number, steps } in over {
            let rows: Vec<LspStepRow> =
                (1..).zip(&steps).map(|(number, it)| row(number, it)).collect();
            out.answer(Ticket(number), Ok(question::value(rows)));
        }
    }

    /// A message leaves as a datagram, behind a label, or by the routes of the global table.
    fn leave(
        &mut self,
        to: (Ipv4Addr, u16),
        ttl: u8,
        octets: &[u8],
        label: Option<[u8; LABEL]>,
        out: &mut Effects,
    ) {
        let (source, (destination, port)) = (self.section.transport(), to);
        let datagram = ip4::udp([source, destination], [PORT, port], octets);
        let head = Head { source, destination, ttl, protocol: ip4::UDP, id: self.next_packet() };
        let table = label.map_or(crate::labels::GLOBAL, |_| BEHIND_LABELS);
        let channel = &mut self.channel;
        ip4::write(&head, &datagram, u16::MAX, |header, part| {
            channel.send(out, PacketTo::Vrf(table), |into| {
                into.extend(label.into_iter().flatten());
                into.extend_from_slice(header);
                into.extend_from_slice(part);
            });
        });
    }

    /// Whether an address is this router's.
    fn is_own(&self, address: Ipv4Addr) -> bool {
        let all = self.links.values().flat_map(|it| &it.addresses);
        address == self.section.transport() || all.into_iter().any(|it| it.0 == address)
    }

    /// Takes a packet, where it is one of echoes.
    pub(crate) fn echo(
        &mut self,
        now: Time,
        record: PacketRecord,
        octets: &[u8],
        out: &mut Effects,
    ) -> Option<()> {
        if record.vrf != crate::labels::GLOBAL {
            return None;
        }
        let labelled = below(octets).and_then(|(label, below)| {
            let packet = Packet::read(below).filter(|it| it.destination.is_loopback())?;
            Some((Some(label), packet))
        });
        let (label, packet) = labelled.or_else(|| Some((None, Packet::read(octets)?)))?;
        let ((message, port), from) = (read(&packet)?, packet.source);
        // With labels or without, a request leads nowhere else (RFC 8029 §2.1, §4.3).
        let is_request = packet.destination.is_loopback();
        if let Ok(it) = Message::read(message)
            && it.kind == lspping::Kind::Reply
        {
            return (!is_request).then(|| self.echoes.probes.heard(now, from, &it));
        }
        let is_asked = is_request && is_ordinary(from) && !self.is_own(from);
        if !is_asked || !self.echoes.answers.admits(now, record.interface, from) {
            return None;
        }
        let here = |address: Ipv4Addr, length: u8| {
            let prefix = Prefix::new(address.into(), length);
            match (self.routes.get(&prefix), self.forward(prefix)) {
                (Some(ways), _) if ways.is_empty() => Here::Egress,
                (_, Some(it)) => Here::Switched(it.label),
                _ => Here::Unknown,
            }
        };
        let reply = answer(message, label, ntp(now), here)?;
        self.leave((from, port), u8::MAX, &reply.write(), None, out);
        Some(())
    }
}

fn row(number: usize, step: &Step) -> LspStepRow {
    let said = match step.reply {
        None => "no answer".to_owned(),
        Some((_, code, _)) => match Code::of(code) {
            Some(code) => code.name().to_owned(),
            None => format!("code {code}"),
        },
    };
    LspStepRow {
        number,
        hops: Some(step.hops).filter(|it| *it <= HOPS_MAX),
        from: step.reply.map(|it| it.0),
        said,
        micros: step.reply.map(|it| u64::try_from(it.2.as_micros()).unwrap_or(u64::MAX)),
    }
}
