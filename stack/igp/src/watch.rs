//! Neighbours watched by BFD (RFC 5881, RFC 5882): a session for each that hears us, on the
//! interfaces whose section says so.

use crate::around::Protocol;
use crate::config::Bfd;
use crate::ip4::Packet;
use bfd::{Limits, Out, Path, Received, SessionId, SessionSettings, Sessions, State, Timers};
use machine::{Duration, Machine as _, Time};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

/// The shortest interval that is taken, whatever a peer says.
const INTERVAL_MIN: Duration = Duration::from_millis(50);
/// Ports that packets come from: as many as there are above the lowest one.
const SOURCE_PORTS: u16 = u16::MAX - bfd::SOURCE_PORT_MIN;

/// A neighbour: its interface and its address.
pub(crate) type Id = (u32, Ipv4Addr);

/// A packet that leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Leaving {
    pub(crate) ends: [Ipv4Addr; 2],
    pub(crate) port: u16,
    pub(crate) octets: Vec<u8>,
}

/// A session of a neighbour.
#[derive(Debug, Clone, Copy)]
struct Session {
    id: SessionId,
    local: Ipv4Addr,
    times: Bfd,
}

/// The sessions.
pub(crate) struct Watch {
    sessions: Sessions,
    of: BTreeMap<Id, Session>,
    /// Who wants a neighbour to be watched, from which address, with which times.
    wanted: BTreeMap<(Id, Protocol), (Ipv4Addr, Bfd)>,
    leaving: Vec<Leaving>,
    /// Times that a session went down.
    pub(crate) downs: u64,
}

impl Watch {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        let limits = Limits { interval_min: INTERVAL_MIN, ..Limits::default() };
        Self {
            sessions: Sessions::new(limits, seed),
            of: BTreeMap::new(),
            wanted: BTreeMap::new(),
            leaving: Vec::new(),
            downs: 0,
        }
    }

    /// A protocol wants a neighbour to be watched with these times, or no more. Where both want it,
    /// it has one session, with the times that notice sooner.
    pub(crate) fn want(
        &mut self,
        now: Time,
        who: (Protocol, Id),
        local: Option<Ipv4Addr>,
        times: Option<Bfd>,
    ) {
        let (by, id) = who;
        match local.zip(times) {
            Some(wanted) => drop(self.wanted.insert((id, by), wanted)),
            None => drop(self.wanted.remove(&(id, by))),
        }
        let all = Protocol::ALL.iter().filter_map(|by| self.wanted.get(&(id, *by)));
        let sooner =
            |it: &&(Ipv4Addr, Bfd)| u32::from(it.1.interval_ms) * u32::from(it.1.multiplier);
        let (local, times) = all.min_by_key(sooner).copied().unzip();
        self.set(now, id, local, times);
    }

    /// A protocol wants none any more.
    pub(crate) fn forget(&mut self, now: Time, by: Protocol) {
        let its = self.wanted.keys().filter(|it| it.1 == by).map(|it| it.0);
        let its: Vec<Id> = its.collect();
        its.into_iter().for_each(|id| self.want(now, (by, id), None, None));
    }

    /// A neighbour is watched with these times, or no more.
    fn set(&mut self, now: Time, id: Id, local: Option<Ipv4Addr>, times: Option<Bfd>) {
        let known = self.of.get(&id).copied();
        let is_same = known.is_some_and(|it| Some(it.local) == local && Some(it.times) == times);
        if is_same || known.is_none() && times.is_none() {
            return;
        }
        let mut out = Vec::new();
        if let Some(it) = known {
            self.of.remove(&id);
            self.sessions.remove(it.id, &mut out);
        }
        // What it says in parting is of a session that is none any more.
        self.follow(&out, known.map(|it| (id, it)));
        if let (Some(times), Some(local)) = (times, local) {
            let path = Path::SingleHop { interface: id.0, remote: id.1.into() };
            let interval = Duration::from_millis(times.interval_ms.into());
            let timers = Timers::every(interval, times.multiplier);
            // Where there is no room for a session, hellos watch alone.
            if let Some(session) = self.sessions.add(now, SessionSettings::new(path, timers)) {
                self.of.insert(id, Session { id: session, local, times });
            }
        }
    }

    /// A packet came that is of no protocol here; neighbours that are lost by it.
    pub(crate) fn receive(&mut self, now: Time, interface: u32, packet: &Packet<'_>) -> Vec<Id> {
        let Some((bfd::PORT_SINGLE_HOP, payload)) = packet.datagram() else { return Vec::new() };
        let path = Path::SingleHop { interface, remote: packet.source.into() };
        let input = Received { path, ttl: packet.ttl, octets: payload.to_vec() };
        let mut out = Vec::new();
        self.sessions.step(now, bfd::In::Received(input), &mut out);
        self.follow(&out, None)
    }

    /// Lets time pass; neighbours that are lost by it.
    pub(crate) fn tick(&mut self, now: Time) -> Vec<Id> {
        let mut out = Vec::new();
        self.sessions.tick(now, &mut out);
        self.follow(&out, None)
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.sessions.deadline()
    }

    /// Takes what the sessions want; `gone` is one that stands in the table no more.
    fn follow(&mut self, wanted: &[Out], gone: Option<(Id, Session)>) -> Vec<Id> {
        let mut lost = Vec::new();
        for one in wanted {
            match one {
                Out::Send { session, path: Path::SingleHop { interface, remote }, datagram } => {
                    let IpAddr::V4(remote) = *remote else { continue };
                    let id = (*interface, remote);
                    let known = self.of.get(&id).copied().map(|it| (id, it));
                    let its = known.into_iter().chain(gone).find(|(_, it)| it.id == *session);
                    let Some((_, it)) = its else { continue };
                    let turn = it.id.discriminator() % u32::from(SOURCE_PORTS);
                    let port = bfd::SOURCE_PORT_MIN + machine::narrow::at_most(turn.into(), 0);
                    let octets = datagram.octets().to_vec();
                    self.leaving.push(Leaving { ends: [it.local, remote], port, octets });
                }
                // A session that the peer's operator put down says nothing of the path (RFC 5882
                // §3.2).
                Out::State { session, from: State::Up, to: State::Down, .. } => {
                    let its = self.of.iter().find(|(_, it)| it.id == *session).map(|(id, _)| *id);
                    let is_closed = self.sessions.summary(*session);
                    let is_closed = is_closed.is_some_and(|it| it.remote_state == State::AdminDown);
                    if let Some(id) = its.filter(|_| !is_closed) {
                        self.downs += 1;
                        lost.push(id);
                    }
                }
                Out::Send { .. } | Out::State { .. } | Out::SendEcho { .. } => {}
            }
        }
        lost
    }

    pub(crate) fn take_leaving(&mut self) -> Vec<Leaving> {
        std::mem::take(&mut self.leaving)
    }

    /// The state of a neighbour's session.
    pub(crate) fn state(&self, id: Id) -> Option<State> {
        Some(self.sessions.summary(self.of.get(&id)?.id)?.state)
    }

    /// Sessions that a protocol wants, and those of them that are up.
    pub(crate) fn counts(&self, by: Protocol) -> (usize, usize) {
        let its = self.wanted.keys().filter(|it| it.1 == by).map(|it| it.0);
        let its: Vec<Id> = its.filter(|id| self.of.contains_key(id)).collect();
        let up = its.iter().filter(|id| self.state(**id) == Some(State::Up)).count();
        (its.len(), up)
    }

    /// All sessions, and those that are up.
    pub(crate) fn all(&self) -> (usize, usize) {
        let up = self.of.keys().filter(|id| self.state(**id) == Some(State::Up)).count();
        (self.of.len(), up)
    }
}
