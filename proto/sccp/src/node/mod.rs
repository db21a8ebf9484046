//! A node: its subsystems, what it knows of others, what waits in it.

mod connectionless;
mod connections;
mod coordination;
mod management;
mod remotes;
mod routing;

use crate::codec::{Message, Unit};
use crate::effects::{In, Indication, Out};
use crate::facts::Fact;
use crate::reassembly::Reassembly;
use crate::settings::Settings;
use crate::translation::Rules;
use bytes::Bytes;
use event::Sheet;
use m3ua::codec::PointCode;
use machine::{Machine, Time};
use remotes::Remotes;
use std::collections::BTreeMap;

/// Where a message comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// A user here.
    Here,
    /// That point code.
    Network(PointCode),
}

/// A node of SCCP. It is infallible: what cannot be delivered is returned or discarded, and
/// counted.
#[derive(Debug)]
pub struct Node {
    settings: Settings,
    rules: Rules,
    /// Subsystems here, and whether they are in service.
    subsystems: BTreeMap<u8, bool>,
    remotes: Remotes,
    reassembly: Reassembly,
    coordination: coordination::Coordination,
    facts: Sheet<Fact>,
    /// The local reference of the next message in segments.
    reference: u32,
    /// The SLS of the next message of class 0.
    sls: u8,
    out: Vec<Out>,
}

impl Node {
    /// A node without subsystems.
    #[must_use]
    pub fn new(settings: Settings, rules: Rules) -> Self {
        Self {
            settings,
            rules,
            subsystems: BTreeMap::new(),
            remotes: Remotes::default(),
            reassembly: Reassembly::default(),
            coordination: coordination::Coordination::default(),
            facts: Sheet::new(),
            reference: 0,
            sls: 0,
            out: Vec::new(),
        }
    }

    /// Changes the rules; messages under way are not touched.
    pub fn set_rules(&mut self, rules: Rules) {
        self.rules = rules;
    }

    /// The rules as they are now.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// What was counted.
    #[must_use]
    pub const fn facts(&self) -> &Sheet<Fact> {
        &self.facts
    }

    /// Octets of messages that wait for segments, with what each costs.
    #[must_use]
    pub const fn waiting_octets(&self) -> usize {
        self.reassembly.octets()
    }

    fn count(&self, fact: Fact) {
        self.facts.add(fact, 1);
    }

    fn indicate(&mut self, indication: Indication) {
        self.out.push(Out::Indicate(indication));
    }

    /// Gives a message to MTP3.
    fn transfer(&mut self, dpc: PointCode, sls: u8, payload: Vec<u8>) {
        self.count(Fact::MessagesOut);
        self.out.push(Out::Transfer(m3ua::Transfer {
            network: self.settings.network,
            opc: self.settings.point_code,
            dpc,
            si: crate::codec::SERVICE_INDICATOR,
            ni: self.settings.network_indicator,
            mp: 0,
            sls,
            payload: Bytes::from(payload),
        }));
    }

    /// An MSU came for this point code.
    fn receive(&mut self, now: Time, msu: &m3ua::Transfer) {
        self.count(Fact::MessagesIn);
        let read = Message::read(&msu.payload);
        let read = read.and_then(|message| Ok((message, Unit::of(&message)?)));
        match read {
            Ok((_, Some(unit))) => {
                let from = Origin::Network(msu.opc);
                self.route(now, from, unit, &msu.payload, msu.sls);
            }
            Ok((message, None)) => self.refuse(&message, msu),
            Err(_) => self.count(Fact::Malformed),
        }
    }
}

impl Machine for Node {
    type In = In;
    type Out = Out;

    fn step(&mut self, now: Time, input: In, out: &mut Vec<Out>) {
        match input {
            In::Transfer(msu) => self.receive(now, &msu),
            In::Unitdata(unitdata) => self.request(now, &unitdata),
            In::State(subsystem, is_in_service) => self.set_state(subsystem, is_in_service),
            In::Pause(affected) => self.pause(affected),
            In::Resume(affected) => self.resume(affected),
            In::Status(affected, cause) => self.status(now, affected, cause),
            In::Coordinate(subsystem, asked) => self.coordinate(now, subsystem, asked),
        }
        out.append(&mut self.out);
    }

    fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        while let Some(partial) = self.reassembly.expire(now) {
            self.count(Fact::ReassemblyExpired);
            self.reassembly_failed(now, crate::codec::ReturnCause::ErrorInTransport, &partial);
        }
        self.test_due(now);
        self.coordination_due(now);
        out.append(&mut self.out);
    }

    fn deadline(&self) -> Option<Time> {
        let coordination = self.coordination.deadline();
        let all = [self.reassembly.deadline(), self.remotes.deadline(), coordination];
        all.into_iter().flatten().min()
    }
}
