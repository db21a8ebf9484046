//! A scripted instance of an application, over a connection.

use machine::Time;
use runtime::{Effects, Flow, In, PortId, Transport};
use std::net::SocketAddr;
use tcu::{Client, ClientEvent, Hello, Indication, Request, Service, Spelling};

pub struct Program {
    client: Client,
    to: SocketAddr,
    flow: Option<Flow>,
    has_begun: bool,
    /// What it does by itself.
    service: Option<Box<dyn Service>>,
    pub told: Vec<Indication>,
    pub events: Vec<ClientEvent>,
    pub is_down: bool,
    octets: Vec<u8>,
}

impl Program {
    /// An instance that connects there.
    pub fn new(to: &str, hello: Hello, spelling: Spelling) -> Self {
        Self {
            client: Client::new(hello, spelling, None),
            to: to.parse().expect("an address"),
            flow: None,
            has_begun: false,
            service: None,
            told: Vec::new(),
            events: Vec::new(),
            is_down: false,
            octets: Vec::new(),
        }
    }

    pub fn doing(self, service: impl Service + 'static) -> Self {
        Self { service: Some(Box::new(service)), ..self }
    }

    pub fn ask(&mut self, request: &Request) {
        self.client.write(request, &mut self.octets);
    }

    /// Octets as they are.
    pub fn say(&mut self, octets: &[u8]) {
        self.octets.extend_from_slice(octets);
    }

    pub fn take_told(&mut self) -> Vec<Indication> {
        core::mem::take(&mut self.told)
    }

    pub const fn deadline(&self) -> Option<Time> {
        if self.has_begun { None } else { Some(Time::ZERO) }
    }

    pub fn tick(&mut self, out: &mut Effects) {
        if !core::mem::replace(&mut self.has_begun, true) {
            let local = SocketAddr::new(self.to.ip(), 0);
            out.open(Flow::to(PortId(0), Transport::Tcp, local, self.to));
        }
        self.flush(out);
    }

    pub fn step(&mut self, now: Time, input: &In<'_>, out: &mut Effects) {
        match input {
            In::Up { flow } => {
                self.flow = Some(*flow);
                self.octets = self.client.greeting();
            }
            In::Message { bytes, .. } => {
                let mut events = Vec::new();
                let answer = self.client.received(bytes, &mut |event| events.push(event));
                self.octets.extend(answer.expect("the gateway writes what can be read"));
                for event in events {
                    self.heard(now, event);
                }
            }
            In::Down { .. } => {
                self.is_down = true;
                self.flow = None;
            }
            _ => {}
        }
        self.flush(out);
    }

    fn heard(&mut self, now: Time, event: ClientEvent) {
        let ClientEvent::Indication(it) = event else { return self.events.push(event) };
        self.told.push(it.clone());
        if let Some(service) = &mut self.service {
            let mut wants = Vec::new();
            service.indicated(now, it, &mut wants);
            wants.iter().for_each(|request| self.client.write(request, &mut self.octets));
        }
    }

    pub fn flush(&mut self, out: &mut Effects) {
        if let Some(flow) = self.flow.filter(|_| !self.octets.is_empty()) {
            out.send(flow, |to| to.append(&mut self.octets));
        }
    }
}
