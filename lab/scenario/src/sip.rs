//! Calls by SIP over UDP: one end of a flow of `lab/sip_load`, the caller's or the answerer's, as
//! datagrams in and datagrams out.

use crate::file::Role;
use anyhow::Context as _;
use machine::{Duration, Time};
use runtime::{Effects, Flow, PortId, Transport};
use sip_load::{Became, End, Endpoint, Ladder, Report, Scan, Side, Tally};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// The only port.
const PORT: PortId = PortId(0);

/// An address that an end speaks from over UDP; a caller's calls go to `remote`.
pub(crate) const fn endpoint(local: SocketAddr, remote: SocketAddr) -> Endpoint {
    Endpoint { port: PORT, transport: Transport::Udp, local, remote }
}

/// A call stands until its scenario ends it.
const HOLD: Duration = Duration::from_secs(604_800);

/// One end of calls.
pub(crate) struct Sip {
    end: End,
    tally: Tally,
    effects: Effects,
    local: SocketAddr,
    /// The player's numbers of calls, by those of the end, and the other way.
    calls: HashMap<u64, u64>,
    ours: HashMap<u64, u64>,
    told: Vec<(u64, Became)>,
}

impl Sip {
    /// An end that speaks from there.
    pub(crate) fn new(
        role: &Role,
        side: Side,
        endpoint: Endpoint,
        seed: u64,
        now: Time,
    ) -> anyhow::Result<Self> {
        let flow = role.flow.as_deref().unwrap_or("SIP");
        let ladder = Ladder::built_in(flow).with_context(|| format!("role {}", role.name))?;
        let local = endpoint.local;
        let [a, b, c, d, ..] = seed.to_le_bytes();
        let first = u32::from_le_bytes([a, b, c, d]);
        let mut end = End::new(side, Arc::new(ladder), vec![endpoint], first, now)?.followed();
        end.hold = HOLD;
        Ok(Self {
            end,
            tally: Tally::default(),
            effects: Effects::default(),
            local,
            calls: HashMap::new(),
            ours: HashMap::new(),
            told: Vec::new(),
        })
    }

    /// A call begins.
    pub(crate) fn call(&mut self, now: Time, call: u64, subscriber: u32) {
        self.tally.report.started += 1;
        match self.end.call(now, now, subscriber, &mut self.tally) {
            Some(own) => {
                self.calls.insert(own, call);
                self.ours.insert(call, own);
            }
            None => self.told.push((call, Became::Failed(sip_load::Cause::Full))),
        }
        self.went(now);
    }

    /// A call ends, if it stands.
    pub(crate) fn release(&mut self, now: Time, call: u64) {
        if let Some(own) = self.ours.get(&call) {
            self.end.hang_up_call(now, *own, &mut self.tally);
        }
        self.went(now);
    }

    /// A datagram came.
    pub(crate) fn datagram(&mut self, now: Time, from: SocketAddr, octets: &[u8]) {
        let flow = Flow::to(PORT, Transport::Udp, self.local, from);
        if let Some(scan) = Scan::read(octets) {
            self.end.receive(now, flow, &scan, &mut self.effects, &mut self.tally);
        }
        self.went(now);
    }

    pub(crate) fn tick(&mut self, now: Time) {
        self.end.expire(now, &mut self.tally);
        self.went(now);
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.end.deadline()
    }

    fn went(&mut self, now: Time) {
        self.end.flush(now, &mut self.effects, &mut self.tally);
        for moment in self.end.take_moments() {
            let call = match moment.became {
                Became::Answered => self.calls.get(&moment.call).copied(),
                _ => self.calls.remove(&moment.call),
            };
            let Some(call) = call else { continue };
            if moment.became != Became::Answered {
                self.ours.remove(&call);
            }
            self.told.push((call, moment.became));
        }
    }

    /// Datagrams to send, each with where to.
    pub(crate) fn take_sends(&mut self) -> Vec<(SocketAddr, Vec<u8>)> {
        let all = self.effects.sends().map(|(flow, octets)| (flow.remote, octets.to_vec()));
        let all = all.collect();
        self.effects.clear();
        all
    }

    /// What became of calls.
    pub(crate) fn take_moments(&mut self) -> Vec<(u64, Became)> {
        core::mem::take(&mut self.told)
    }

    /// What the end has counted.
    pub(crate) fn report(&self) -> Report {
        let mut report = self.tally.report();
        report.live = self.end.live;
        report
    }
}
