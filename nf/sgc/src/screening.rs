//! What may come from a peer: an MSU with another's point code as its origin goes nowhere, is
//! counted, and is an alarm for a while.
//!
//! M3UA proves nothing of an MSU: whoever has an association writes what he likes. The answers of
//! the network, and what it charges, go by the origin.

use crate::config::{Origins, Screen, Sgc};
use crate::metrics::Metric;
use event::Metrics;
use hashbrown::HashMap;
use m3ua::codec::{Affected, NetworkAppearance, PointCode};
use m3ua::{Cause, Indication, PeerId, Process, Transfer};
use machine::{Duration, Time};
use sccp::codec::{Address, Message, Parameter, SERVICE_INDICATOR, Unit, Word};
use std::collections::BTreeSet;

/// How long the alarm stands after the last one.
const ALARM: Duration = Duration::from_secs(60);

/// Why an MSU goes no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// It says that it comes from this node.
    Own,
    /// Its origin is none of this peer's.
    Origin,
    /// The peer may not send there.
    Destination,
    /// The peer may not send that kind.
    Service,
}

impl Why {
    const fn metric(self) -> Metric {
        match self {
            Self::Own => Metric::ScreenedOwn,
            Self::Origin => Metric::ScreenedOrigin,
            Self::Destination => Metric::ScreenedDestination,
            Self::Service => Metric::ScreenedService,
        }
    }

    /// In words, behind "an MSU".
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Own => "with a point code of this node as its origin",
            Self::Origin => "from a point code that is not the peer's",
            Self::Destination => "to where the peer may not send",
            Self::Service => "of a kind that the peer may not send",
        }
    }
}

/// What was screened of a peer: how much, and the last of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screened {
    pub(crate) count: u64,
    pub(crate) why: Why,
    pub(crate) opc: PointCode,
    pub(crate) dpc: PointCode,
    at: Time,
}

/// What may come from each peer, and what came in spite of it: one entry a peer.
#[derive(Default)]
pub(crate) struct Screening {
    screens: HashMap<PeerId, Screen>,
    offenders: HashMap<PeerId, Screened>,
}

/// The point codes of this node.
pub(crate) struct OwnPoints {
    pub(crate) codes: BTreeSet<PointCode>,
    network: Option<NetworkAppearance>,
}

impl OwnPoints {
    /// Those of a checked configuration.
    pub(crate) fn new(config: &Sgc) -> Self {
        Self { codes: config.own_point_codes().into_iter().collect(), network: config.network() }
    }

    /// Whether a destination is this node.
    pub(crate) fn has(&self, network: Option<NetworkAppearance>, dpc: PointCode) -> bool {
        self.codes.contains(&dpc) && network == self.network
    }
}

/// What a peer's MSU is held against beside the peer's screen: who is registered, and this node.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) process: &'a Process,
    pub(crate) own: &'a OwnPoints,
    pub(crate) metrics: &'a Metrics<Metric>,
}

impl Context<'_> {
    /// Whether an answer to this MSU would go to the peer that it came from: it has registered a
    /// key with that point code.
    fn has_registered(self, peer: PeerId, transfer: &Transfer) -> bool {
        let answer = Transfer { dpc: transfer.opc, opc: transfer.dpc, ..transfer.clone() };
        let server = self.process.server_for(&answer);
        server.is_some_and(|server| self.process.is_member(peer, server))
    }

    /// Whether an MSU with that origin may come from a peer.
    fn may_come(self, screen: &Screen, from: PeerId, transfer: &Transfer) -> bool {
        match &screen.origins {
            Origins::Any => true,
            Origins::Only(ranges) => ranges.has(transfer.opc),
            Origins::Served(ranges) => {
                ranges.has(transfer.opc) || self.has_registered(from, transfer)
            }
            Origins::Others(ranges) => {
                !ranges.has(transfer.opc) || self.has_registered(from, transfer)
            }
        }
    }

    /// The answers of SCCP go by the calling address, and what it relays leaves with a point code
    /// of this node: a point code in that address is another origin. A peer may relay for nodes
    /// behind it, but not for this one, nor for those that others serve here.
    fn screened_calling(self, screen: &Screen, from: PeerId, transfer: &Transfer) -> Option<Why> {
        let (network, dpc) = (transfer.network, transfer.dpc);
        if transfer.si != SERVICE_INDICATOR || !self.own.has(network, dpc) {
            return None;
        }
        let calling = calling_point_code(&transfer.payload).filter(|it| *it != transfer.opc)?;
        if self.own.has(network, calling) {
            return Some(Why::Own);
        }
        let is_others = || !self.process.served(network, Affected::one(calling)).is_empty();
        let as_origin = Transfer { opc: calling, ..transfer.clone() };
        (!self.may_come(screen, from, &as_origin) && is_others()).then_some(Why::Origin)
    }
}

impl Screening {
    /// What may come from a peer from now on.
    pub(crate) fn set(&mut self, peer: PeerId, screen: Screen) {
        self.screens.insert(peer, screen);
    }

    /// A peer is no more.
    pub(crate) fn forget(&mut self, peer: PeerId) {
        self.screens.remove(&peer);
        self.offenders.remove(&peer);
    }

    /// Whether an MSU may come from that peer; counts it if not.
    pub(crate) fn lets(
        &mut self,
        now: Time,
        from: PeerId,
        transfer: &Transfer,
        of: Context<'_>,
    ) -> bool {
        let Some(why) = self.screened(from, transfer, of) else { return true };
        of.metrics.add(why.metric(), 1);
        self.offended(now, from, why, transfer);
        false
    }

    fn offended(&mut self, now: Time, from: PeerId, why: Why, transfer: &Transfer) {
        let count = self.offenders.get(&from).map_or(0, |before| before.count) + 1;
        self.offenders
            .insert(from, Screened { count, why, opc: transfer.opc, dpc: transfer.dpc, at: now });
    }

    /// Why an MSU may not come from that peer.
    pub(crate) fn screened(
        &self,
        from: PeerId,
        transfer: &Transfer,
        of: Context<'_>,
    ) -> Option<Why> {
        // Of whom nothing is known nothing may come.
        let Some(screen) = self.screens.get(&from) else { return Some(Why::Origin) };
        if of.own.has(transfer.network, transfer.opc) {
            return Some(Why::Own);
        }
        if !of.may_come(screen, from, transfer) {
            return Some(Why::Origin);
        }
        if screen.destinations.as_ref().is_some_and(|ranges| !ranges.has(transfer.dpc)) {
            return Some(Why::Destination);
        }
        let is_let = screen.services >> (transfer.si & 15) & 1 == 1
            && screen.networks >> (transfer.ni & 3) & 1 == 1;
        if !is_let {
            return Some(Why::Service);
        }
        of.screened_calling(screen, from, transfer)
    }

    /// Keeps of what users make of a peer's MSU what goes to where the peer may send, or back to
    /// those that it speaks for.
    pub(crate) fn lets_reach(
        &mut self,
        now: Time,
        from: PeerId,
        wants: &mut Vec<Transfer>,
        of: Context<'_>,
    ) {
        if self.screens.get(&from).is_none_or(|it| it.destinations.is_none()) {
            return;
        }
        for want in core::mem::take(wants) {
            let is_let = self.screens.get(&from).is_none_or(|screen| {
                let answered = Transfer { opc: want.dpc, dpc: want.opc, ..want.clone() };
                screen.destinations.as_ref().is_none_or(|ranges| ranges.has(want.dpc))
                    || of.may_come(screen, from, &answered)
            });
            match is_let {
                true => wants.push(want),
                false => {
                    of.metrics.add(Why::Destination.metric(), 1);
                    self.offended(now, from, Why::Destination, &want);
                }
            }
        }
    }

    /// Whether an ASP or IPSP may say that of destinations: they have to be such as its MSUs may
    /// come from. Counts it if not.
    pub(crate) fn lets_say(&self, from: PeerId, what: &Indication, of: Context<'_>) -> bool {
        let (network, affected) = match what {
            Indication::Pause(network, affected)
            | Indication::Restrict(network, affected)
            | Indication::Resume(network, affected)
            | Indication::Status(network, affected, ..) => (*network, *affected),
            _ => return false,
        };
        // Of a user part only who serves it may say that it is not there: rules would be dead.
        let is_let = match what {
            Indication::Status(_, _, Cause::UserPartUnavailable(_), _)
                if self.screens.get(&from).is_some_and(Screen::has_others) =>
            {
                affected.mask == 0 && of.process.serves(from, network, affected.point_code)
            }
            _ => self.may_say(from, network, affected, of),
        };
        if !is_let {
            of.metrics.add(Metric::ScreenedNetwork, 1);
        }
        is_let
    }

    fn may_say(
        &self,
        from: PeerId,
        network: Option<NetworkAppearance>,
        affected: Affected,
        of: Context<'_>,
    ) -> bool {
        let Some(screen) = self.screens.get(&from) else { return false };
        let (first, last) = affected.bounds();
        // Nobody has all of a network behind it, but who is configured to.
        let is_one = affected.mask == 0;
        let is_its = || is_one && of.process.serves(from, network, first);
        match &screen.origins {
            _ if is_one && of.own.has(network, first) => false,
            Origins::Any => is_one || affected.canonical() != Affected::ALL,
            Origins::Only(ranges) => ranges.has_all(first, last),
            Origins::Served(ranges) => ranges.has_all(first, last) || is_its(),
            Origins::Others(ranges) => {
                (affected.canonical() != Affected::ALL && !ranges.has_any(first, last)) || is_its()
            }
        }
    }

    /// Peers of which something was screened of late.
    pub(crate) fn offenders(&self, now: Time) -> impl Iterator<Item = (PeerId, Screened)> {
        let recent = self.offenders.iter().filter(move |(_, it)| now.since(it.at) < ALARM);
        recent.map(|(peer, screened)| (*peer, *screened))
    }
}

/// The point code in the address of who sends data or asks for a connection.
fn calling_point_code(payload: &[u8]) -> Option<PointCode> {
    let message = Message::read(payload).ok()?;
    match Unit::of(&message).ok()? {
        Some(unit) => match unit.word {
            Word::Data(_) => unit.calling.point_code,
            // It comes back: nobody answers it.
            Word::Service(_) => None,
        },
        None => {
            let calling = message.value(Parameter::Calling)?;
            Address::read(calling, message.at(Parameter::Calling)).ok()?.point_code
        }
    }
}
