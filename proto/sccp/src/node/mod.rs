//! A node: its subsystems, what it knows of others, what waits in it.

mod connectionless;
mod connections;
mod coordination;
mod management;
mod remotes;
mod routing;

use crate::codec::{ConnectionMessage, Message, Unit};
use crate::connection::Connections;
use crate::effects::{In, Indication, Out};
use crate::metrics::Metric;
use crate::reassembly::{Reassembly, SegmentsOf};
use crate::settings::Settings;
use crate::translation::Rules;
use bytes::Bytes;
use event::Metrics;
use m3ua::codec::PointCode;
use machine::{Machine, Time};
pub use remotes::RemoteStatus;
use remotes::{Answered, Remotes};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

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
    rules: Arc<Rules>,
    /// The point code that what is under way came to: what is sent of it comes from there.
    at: PointCode,
    /// The association that it came by, where that is known.
    by: Option<m3ua::PeerId>,
    /// Subsystems here, and whether they are in service.
    subsystems: BTreeMap<u8, bool>,
    remotes: Remotes,
    answered: Answered,
    /// Subsystems elsewhere whose status was asked for by [`In::Test`].
    tested: BTreeSet<(PointCode, u8)>,
    reassembly: Reassembly,
    coordination: coordination::Coordination,
    connections: Connections,
    /// Subsystems here that take connections.
    connected: BTreeSet<u8>,
    metrics: Metrics<Metric>,
    /// What numbers messages in segments.
    reference: u32,
    /// The SLS of the next message of class 0.
    sls: u8,
    out: Vec<Out>,
    /// Messages of connections that nodes share.
    said: Vec<(crate::codec::LocalReference, m3ua::Transfer)>,
}

impl Node {
    /// A node without subsystems.
    #[must_use]
    pub fn new(settings: Settings, rules: impl Into<Arc<Rules>>) -> Self {
        let parameters = &settings.parameters;
        Self {
            at: settings.point_code,
            by: None,
            connections: Connections::new(parameters.connections, parameters.message_octets_max),
            connected: BTreeSet::new(),
            rules: rules.into(),
            subsystems: BTreeMap::new(),
            remotes: Remotes::default(),
            answered: Answered::default(),
            tested: BTreeSet::new(),
            reassembly: Reassembly::default(),
            coordination: coordination::Coordination::default(),
            metrics: Metrics::new(),
            reference: parameters.connections.reference_first,
            sls: 0,
            out: Vec::new(),
            said: Vec::new(),
            settings,
        }
    }

    /// Changes the rules; messages under way are not touched.
    pub fn set_rules(&mut self, rules: impl Into<Arc<Rules>>) {
        self.rules = rules.into();
        self.forget_others();
    }

    /// Changes point codes, timers and limits; what waits goes on with its own.
    pub fn set_settings(&mut self, settings: Settings) {
        self.at = settings.point_code;
        let parameters = &settings.parameters;
        self.connections.configure(parameters.connections, parameters.message_octets_max);
        self.settings = settings;
        self.forget_others();
    }

    /// The rules as they are now.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Subsystems here, and whether they are in service.
    pub fn subsystems(&self) -> impl Iterator<Item = (u8, bool)> {
        self.subsystems.iter().map(|(number, is_in_service)| (*number, *is_in_service))
    }

    /// A subsystem is no more: those concerned are told, and what comes for it finds no user.
    pub fn remove_subsystem(&mut self, subsystem: u8, out: &mut Vec<Out>) {
        self.set_state(subsystem, false);
        self.subsystems.remove(&subsystem);
        self.connected.remove(&subsystem);
        self.end_connections(subsystem);
        out.append(&mut self.out);
    }

    /// Nodes of which something is known that is not as it should be.
    pub fn remotes(&self) -> impl Iterator<Item = RemoteStatus> {
        self.remotes.iter()
    }

    /// The point codes of this node.
    pub fn point_codes(&self) -> impl Iterator<Item = PointCode> {
        core::iter::once(self.settings.point_code).chain(self.settings.aliases.iter().copied())
    }

    /// Whether a point code is one of this node.
    fn is_own(&self, point_code: PointCode) -> bool {
        point_code == self.settings.point_code || self.settings.aliases.contains(&point_code)
    }

    /// What is under way came to that point code, where it is one of this node.
    fn come_to(&mut self, point_code: Option<PointCode>) {
        let own = point_code.filter(|it| self.is_own(*it));
        self.at = own.unwrap_or(self.settings.point_code);
    }

    /// What was counted.
    #[must_use]
    pub const fn metrics(&self) -> &Metrics<Metric> {
        &self.metrics
    }

    /// Octets of messages that wait for segments, with what each costs.
    #[must_use]
    pub const fn waiting_octets(&self) -> usize {
        self.reassembly.octets()
    }

    /// Whether a message waits here for segments.
    #[must_use]
    pub fn awaits(&self, of: &SegmentsOf) -> bool {
        self.reassembly.awaits(of)
    }

    /// A message waits here no more: it is whole elsewhere.
    pub fn forget_segments(&mut self, of: &SegmentsOf) {
        self.reassembly.forget(of);
    }

    /// Connections that are there or under way, and local references that are frozen.
    #[must_use]
    pub fn connections(&self) -> (usize, usize) {
        self.connections.count()
    }

    /// The sections of connections, by their references.
    pub fn connection_status(&self) -> impl Iterator<Item = crate::ConnectionStatus> {
        self.connections.status()
    }

    /// Octets that wait in connections, with what each costs.
    #[must_use]
    pub const fn connection_octets(&self) -> usize {
        self.connections.octets()
    }

    fn count(&self, metric: Metric) {
        self.metrics.add(metric, 1);
    }

    fn indicate(&mut self, indication: Indication) {
        self.out.push(Out::Indicate(indication));
    }

    /// Gives a message to MTP3.
    fn transfer(&mut self, dpc: PointCode, sls: u8, payload: Vec<u8>) {
        let msu = self.msu(dpc, sls, payload);
        self.out.push(Out::Transfer(msu));
    }

    fn msu(&self, dpc: PointCode, sls: u8, payload: Vec<u8>) -> m3ua::Transfer {
        self.count(Metric::MessagesOut);
        m3ua::Transfer {
            network: self.settings.network,
            opc: self.at,
            dpc,
            si: crate::codec::SERVICE_INDICATOR,
            ni: self.settings.network_indicator,
            mp: 0,
            sls,
            payload: Bytes::from(payload),
        }
    }

    /// An MSU came for this point code.
    fn receive(&mut self, now: Time, msu: &m3ua::Transfer) {
        self.count(Metric::MessagesIn);
        self.come_to(Some(msu.dpc));
        let read = Message::read(&msu.payload);
        let read = read.and_then(|message| Ok((message, Unit::of(&message)?)));
        if read.is_ok() {
            self.heard_from(msu.opc);
        }
        match read {
            Ok((_, Some(unit))) => {
                let from = Origin::Network(msu.opc);
                self.route(now, from, unit, &msu.payload, msu.sls);
            }
            Ok((message, None)) => match ConnectionMessage::of(&message) {
                Ok(Some(message)) => self.connection_message(now, &message, msu),
                _ => self.count(Metric::Malformed),
            },
            Err(_) => self.count(Metric::Malformed),
        }
    }
}

impl Machine for Node {
    type In = In;
    type Out = Out;

    fn step(&mut self, now: Time, input: In, out: &mut Vec<Out>) {
        self.come_to(None);
        self.connections.is_guarded(now);
        match input {
            In::Transfer(msu) => self.receive(now, &msu),
            In::TransferBy(association, msu) => {
                self.by = Some(association);
                self.receive(now, &msu);
                self.by = None;
            }
            In::Unitdata(unitdata) => self.request(now, &unitdata),
            In::State(subsystem, is_in_service) => {
                self.set_state(subsystem, is_in_service);
                if !is_in_service {
                    self.end_connections(subsystem);
                }
            }
            In::Pause(affected) => self.pause(affected),
            In::Resume(affected) => self.resume(affected),
            In::Status(affected, cause) => self.status(now, affected, cause),
            In::Coordinate(subsystem, asked) => self.coordinate(now, subsystem, asked),
            In::Test(point_code, subsystem) => self.test(point_code, subsystem),
            In::Undeliverable(msu) => self.undeliverable(now, &msu),
            In::Connection(input) => self.connection_input(now, input),
        }
        out.append(&mut self.out);
    }

    fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        self.come_to(None);
        while let Some(partial) = self.reassembly.expire(now) {
            self.count(Metric::ReassemblyExpired);
            self.reassembly_failed(now, crate::codec::ReturnCause::ErrorInTransport, &partial);
        }
        self.test_due(now);
        self.coordination_due(now);
        self.connections.is_guarded(now);
        self.connections_due(now);
        out.append(&mut self.out);
    }

    fn deadline(&self) -> Option<Time> {
        let coordination = self.coordination.deadline();
        let connections = self.connections.deadline();
        let all = [self.reassembly.deadline(), self.remotes.deadline(), coordination, connections];
        all.into_iter().flatten().min()
    }
}
