//! From the streams of a call to the flows that the forwarder is told: one for each port of RTP,
//! and one for the next port where RTCP has it.
//!
//! ```text
//!   Stream: end A ⇄ end B   ──→   flow at A's port ─→ leaves from B's port
//!                                 flow at B's port ─→ leaves from A's port      and RTCP's, + 1
//! ```
//! T.38 as UDPTL, and what is no RTP, is a flow of datagrams: nobody looks into them.
//!
//! Streams that share a port (RFC 9143) are one flow with the payload types of all of them. What
//! leaves it from other ports than the rest are branches.

use crate::addresses::Addresses;
use crate::coding;
use anchor::{Action, Codec, Dtmf, End, Flow, Guard, Local, Payload, Rtcp, Side, Stream};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use handshake::Agreement;
use machine::Duration;
use media::program::{
    BRANCHES_MAX, Branch, FEATURE, FlowSaid, Guard as FlowGuard, Keys, Name, PAYLOADS_MAX, Place,
    Range, Said,
};
use media::{Expected, PayloadTypes, Rate, Settings, Sources, Use};
use nodes::Program;
use nodes::program::{Item, Removed};
use rtp::{ClockRate, Rewrite};
use srtp::sdes::Crypto;
use std::collections::{BTreeMap, BTreeSet};

/// Milliseconds of a packet, unless it is said, and at least.
const PACKET_MS: u16 = 20;
const PACKET_MS_LEAST: u16 = 5;

/// The flows of a call, by their places.
pub(crate) type Flows = BTreeMap<Place, FlowSaid>;

/// The flows of the streams of a call.
pub(crate) fn flows<'a>(
    streams: impl Iterator<Item = &'a Stream>,
    addresses: &Addresses,
    agreement: &Agreement,
) -> Flows {
    let mut flows = Flows::new();
    for stream in streams {
        for side in Side::BOTH {
            let Some(flow) = flow(stream, side, addresses, agreement) else { continue };
            let apart = reports(&flow, stream, side, addresses);
            for flow in core::iter::once(flow).chain(apart) {
                match flows.get_mut(&flow.at) {
                    // What is no RTP beside RTP on its port is what that lets pass anyhow.
                    Some(_) if flow.settings.of == Use::Datagrams => {}
                    Some(lead) if lead.settings.of == Use::Datagrams => *lead = flow,
                    Some(lead) => share(lead, &flow),
                    None => drop(flows.insert(flow.at, flow)),
                }
            }
        }
    }
    flows
}

/// What comes from an end.
fn flow(
    stream: &Stream,
    side: Side,
    addresses: &Addresses,
    agreement: &Agreement,
) -> Option<FlowSaid> {
    let (end, other) = (stream.end(side), stream.end(side.other()));
    let at = addresses.place(end.local.address, end.local.port)?;
    let to = addresses.place(other.local.address, other.local.port);
    let agreed = agreement.of(end);
    let guard = match &end.guard {
        Guard::None => FlowGuard::None,
        Guard::Keys { receive, send } => {
            FlowGuard::Keys { receive: keys(receive), send: keys(send) }
        }
        Guard::Dtls { .. } => match &agreed.keys {
            Some(keys) => {
                let [receive, send] = (**keys).clone();
                FlowGuard::Keys { receive, send }
            }
            None => FlowGuard::Dtls,
        },
    };
    let of_side = || stream.payloads.iter().filter(move |payload| payload.from == side);
    let of = match stream.flow {
        Flow::Rtp if end.rtcp == Rtcp::Mux => Use::Muxed,
        Flow::Rtp => Use::Rtp,
        // What protects RTP protects nothing else: no flow rather than one in the clear.
        Flow::Udptl | Flow::Datagrams if guard != FlowGuard::None => return None,
        Flow::Udptl | Flow::Datagrams => Use::Datagrams,
    };
    let is_event = |payload: &&Payload| payload.codec == Some(Codec::TelephoneEvent);
    let is_active = stream.passes(side) && !agreed.is_blocked;
    let settings = Settings {
        of,
        is_active,
        payload_types: types(of_side()),
        untimed: types(of_side().filter(is_event)),
        ssrcs: Sources::of(end.ssrcs.iter().copied()),
        clock: clock(of_side()),
        rate: rate(end.police_bps),
        rewrite: Rewrite::default(),
    };
    let dtls = matches!(end.guard, Guard::Dtls { .. });
    let mut expected = expected(end, agreed.nominated, at.address);
    if guard == FlowGuard::Dtls && agreed.nominated.is_none() && end.checks.is_some() {
        // A forwarder that has the keys knows the pair that checks have chosen.
        expected = Expected::at(nowhere(at.address));
    }
    let becomes = of_side().filter(|it| it.number != it.becomes && it.action == Action::Pass);
    Some(FlowSaid {
        at,
        to,
        settings,
        expected,
        guard,
        dscp: end.dscp,
        timeout: (stream.timeout_s > 0).then(|| Duration::from_secs(stream.timeout_s.into())),
        becomes: becomes.map(|it| (it.number, it.becomes)).take(PAYLOADS_MAX).collect(),
        branches: apart(stream, side, addresses).into_iter().collect(),
        up: coding::up(stream, side, agreement),
        up_per_s: up_per_s(end, other),
        digits: if end.dtmf == Dtmf::Tones {
            PayloadTypes::default()
        } else {
            types(of_side().filter(is_event))
        },
        stun: end.checks.is_some(),
        dtls,
        association: association(stream, &end.guard),
        resume: None,
    })
}

/// RTCP that an end has with RTP, where the other end has it apart (RFC 5761 §5.1.1).
fn apart(stream: &Stream, side: Side, addresses: &Addresses) -> Option<Branch> {
    let (end, other) = (stream.end(side), stream.end(side.other()));
    let (Rtcp::Mux, Rtcp::Apart(_)) = (end.rtcp, other.rtcp) else { return None };
    let to = addresses.place(other.local.address, other.local.port.checked_add(1)?)?;
    Some(Branch { to, payload_types: PayloadTypes::default(), reports: true })
}

/// RTCP of an end where it has a port of its own.
fn reports(
    flow: &FlowSaid,
    stream: &Stream,
    side: Side,
    addresses: &Addresses,
) -> Option<FlowSaid> {
    let (end, other) = (stream.end(side), stream.end(side.other()));
    let Rtcp::Apart(place) = end.rtcp else { return None };
    if flow.settings.of != Use::Rtp {
        return None;
    }
    let next = |local: Local| addresses.place(local.address, local.port.checked_add(1)?);
    let usual = || {
        let rtp = flow.expected.address;
        let port = if rtp.port() == 0 { 0 } else { rtp.port().saturating_add(1) };
        SocketAddr::new(rtp.ip(), port)
    };
    let to = match other.rtcp {
        Rtcp::None => None,
        Rtcp::Mux => flow.to,
        Rtcp::Apart(_) => next(other.local),
    };
    let address = place.unwrap_or_else(usual);
    Some(FlowSaid {
        at: next(end.local)?,
        to,
        settings: Settings { of: Use::Rtcp, ..flow.settings },
        expected: Expected { address, ..flow.expected },
        timeout: None,
        becomes: Vec::new(),
        branches: Vec::new(),
        up: PayloadTypes::default(),
        up_per_s: 0,
        digits: PayloadTypes::default(),
        ..flow.clone()
    })
}

/// Adds a stream to the flow whose port it shares.
fn share(lead: &mut FlowSaid, flow: &FlowSaid) {
    let all = |one: PayloadTypes, other: PayloadTypes| {
        (0..=127).filter(|it| one.has(*it) || other.has(*it)).fold(PayloadTypes::default(), with)
    };
    branch_off(lead, flow);
    let settings = &mut lead.settings;
    settings.payload_types = all(settings.payload_types, flow.settings.payload_types);
    settings.untimed = all(settings.untimed, flow.settings.untimed);
    settings.is_active |= flow.settings.is_active;
    // Of one that has no bandwidth, or names no source, nobody knows what comes there beside.
    settings.ssrcs = settings.ssrcs.and(&flow.settings.ssrcs);
    settings.rate = settings.rate.and(flow.settings.rate);
    lead.up = all(lead.up, flow.up);
    lead.up_per_s = lead.up_per_s.saturating_add(flow.up_per_s);
    lead.digits = all(lead.digits, flow.digits);
    lead.stun |= flow.stun;
    lead.dtls |= flow.dtls;
    for pair in &flow.becomes {
        if lead.becomes.len() < PAYLOADS_MAX && !lead.becomes.contains(pair) {
            lead.becomes.push(*pair);
        }
    }
}

/// What of a stream leaves from another port than the rest of the flow whose port it shares.
fn branch_off(lead: &mut FlowSaid, flow: &FlowSaid) {
    let Some(to) = flow.to.filter(|_| flow.to != lead.to) else { return };
    // A type that two streams have is the first one's (RFC 9143 §9.2).
    let of_others = lead.settings.payload_types;
    let own = (0..=127).filter(|it| flow.settings.payload_types.has(*it) && !of_others.has(*it));
    let payload_types = own.fold(PayloadTypes::default(), with);
    let reports = flow.branches.iter().find(|it| it.reports).map_or(to, |it| it.to);
    let branches = [(to, false), (reports, true)];
    let branches = branches.map(|(to, reports)| Branch { to, payload_types, reports });
    let is_empty = payload_types == PayloadTypes::default();
    if !is_empty && lead.branches.len() + branches.len() <= BRANCHES_MAX {
        lead.branches.extend(branches);
    }
}

fn with(types: PayloadTypes, number: u8) -> PayloadTypes {
    types.with(number)
}

fn types<'a>(payloads: impl Iterator<Item = &'a Payload>) -> PayloadTypes {
    payloads.map(|payload| payload.number).fold(PayloadTypes::default(), with)
}

/// Bits a second that an end may send; 0: as many as it likes.
const fn rate(bits: u64) -> Rate {
    if bits == 0 { Rate::of_octet_ps(0) } else { Rate::bits(bits) }
}

/// Twice the packets of sound that an end sends a second, by what either end has of packet times.
/// Those are wishes (RFC 8866 §6.4): of longer ones than 20 ms nobody is held to it.
fn up_per_s(end: &End, other: &End) -> u16 {
    let said = [end.packet_ms, other.packet_ms].into_iter().filter(|ms| *ms > 0).min();
    2_000 / said.unwrap_or(PACKET_MS).clamp(PACKET_MS_LEAST, PACKET_MS)
}

/// The clock of the first codec that is not beside another one.
fn clock<'a>(payloads: impl Iterator<Item = &'a Payload>) -> ClockRate {
    let is_beside = |codec: Codec| codec.shape().is_auxiliary;
    let mut timed = payloads.filter(|it| !it.codec.is_some_and(is_beside));
    timed.find_map(|payload| ClockRate::new(payload.clock)).unwrap_or(ClockRate::TELEPHONY)
}

/// From where packets of an end come: what connectivity checks chose, else what it said of itself.
fn expected(end: &End, nominated: Option<SocketAddr>, own: IpAddr) -> Expected {
    if let Some(address) = nominated {
        return Expected::at(address);
    }
    // Of an end with checks nothing is taken before those have chosen.
    let latches = end.latching && end.checks.is_none();
    // One whose signaller is not known may have another port all the same.
    let signaller = end.signaller.or(end.remote.map(|it| it.ip())).filter(|_| latches);
    let anywhere = latches && end.latching_anywhere;
    Expected { address: end.remote.unwrap_or_else(|| nowhere(own)), signaller, anywhere }
}

/// No place, of the family of an address.
fn nowhere(own: IpAddr) -> SocketAddr {
    match own {
        IpAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        IpAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    }
}

/// What keys of DTLS are known by to a control that begins anew: the call's trail, which is not
/// guessed, and the certificates that its end may show, with what names the association (RFC 8842).
fn association(stream: &Stream, guard: &Guard) -> Option<u64> {
    let Guard::Dtls { peer, .. } = guard else { return None };
    let trail = stream.trace.trail?;
    let mut prints: Vec<String> = peer.fingerprints.iter().map(ToString::to_string).collect();
    prints.sort_unstable();
    let id = peer.tls_id.as_deref().unwrap_or_default();
    let octets = prints.iter().flat_map(|it| it.bytes().chain([0])).chain(id.iter().copied());
    // FNV-1a: it is the same in each life.
    Some(octets.fold(trail ^ 0xcbf2_9ce4_8422_2325, |sum, octet| {
        (sum ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3)
    }))
}

fn keys(crypto: &Crypto) -> Keys {
    Keys { parameters: crypto.parameters(), entries: crypto.entries() }
}

/// A thing as the forwarder is told it.
pub(crate) fn said(said: &Said) -> Program {
    let (feature, key) = (FEATURE.to_owned(), said.name().key());
    Program::Item(Item { feature, key, value: said.value() })
}

fn removed(name: Name) -> Program {
    Program::Remove(Removed::Item(FEATURE.to_owned(), name.key()))
}

/// What the forwarder is told so that `after` holds where `before` held.
pub(crate) fn difference(before: &Flows, after: &Flows) -> Vec<Program> {
    let gone = before.keys().filter(|place| !after.contains_key(*place));
    let mut programs: Vec<Program> = gone.map(|place| removed(Name::Flow(*place))).collect();
    let changed = after.iter().filter(|(place, flow)| before.get(*place) != Some(flow));
    programs.extend(changed.map(|(_, flow)| said(&Said::Flow(Box::new(flow.clone())))));
    programs
}

/// The ports of all addresses.
pub(crate) fn ranges(addresses: &Addresses) -> BTreeSet<Range> {
    let range = |(number, address): (u16, &crate::addresses::Address)| {
        let (first, pairs) = address.pairs;
        let place = addresses.place(number, first)?;
        let ports = u16::try_from(2 * u32::from(pairs)).unwrap_or(u16::MAX - 1);
        Some(Range { vrf: place.vrf, address: place.address, first, ports })
    };
    addresses.iter().filter_map(range).collect()
}
