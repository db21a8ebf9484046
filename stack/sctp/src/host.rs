//! An endpoint of SCTP that nothing else shares a shard with, and its user, as the lab
//! and
//! `tandem sctp` run them.

use crate::{AssociationId, Config, SctpEndpoint};
use machine::Time;
use runtime::{
    Ask, AskError, Effects, Flow, Frame, Function, In, PortId, Running, RuntimeError, Seed,
    ShardSpec,
};
use sctp::Indication;
use std::sync::{Arc, Mutex};

const FIRST: PortId = PortId(0);

/// Who sends and takes messages.
pub trait User: Send + 'static {
    /// Something happened to an association.
    fn indicated(
        &mut self,
        endpoint: &mut SctpEndpoint,
        now: Time,
        id: AssociationId,
        what: Indication,
    );
    /// What is to be sent can be sent now.
    fn pump(&mut self, endpoint: &mut SctpEndpoint, now: Time);
    /// When to pump although nothing happens.
    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// An endpoint and its user on a shard.
pub struct Host {
    endpoint: SctpEndpoint,
    user: Box<dyn User>,
}

/// Starts the endpoint with one user.
///
/// # Errors
/// As [`runtime::start`].
///
/// # Panics
/// In its shard when that begins anew: the user went with it.
pub fn start(config: Config, user: impl User) -> Result<Running<Host>, RuntimeError> {
    begin(config, Box::new(user))
}

fn begin(config: Config, user: Box<dyn User>) -> Result<Running<Host>, RuntimeError> {
    let spec = ShardSpec {
        name: "sctp".into(),
        ports: config.ports(FIRST, "sctp"),
        ..ShardSpec::default()
    };
    let user = Mutex::new(Some(user));
    runtime::start(spec, Arc::new(config), move |seed: Seed, config: Arc<Config>| {
        let user = user.lock().ok().and_then(|mut user| user.take());
        Host {
            endpoint: SctpEndpoint::new(&config, FIRST, &seed),
            user: user.expect("there is one shard"),
        }
    })
}

impl Host {
    fn settle(&mut self, now: Time, out: &mut Effects) {
        self.hear(now);
        self.user.pump(&mut self.endpoint, now);
        self.hear(now);
        self.endpoint.flush(out);
    }

    fn hear(&mut self, now: Time) {
        while let Some((id, what)) = self.endpoint.next() {
            self.user.indicated(&mut self.endpoint, now, id, what);
        }
    }
}

impl Function for Host {
    type Config = Config;

    fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        match input {
            In::Message { flow, bytes } => self.endpoint.message(now, &flow, bytes),
            In::Returned { flow, why, quoted } => self.endpoint.returned(now, &flow, why, quoted),
            In::Ready { .. } => self.endpoint.ready(now),
            _ => {}
        }
        self.settle(now, out);
    }

    fn tick(&mut self, now: Time, out: &mut Effects) {
        self.endpoint.tick(now);
        self.settle(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        [self.endpoint.deadline(), self.user.deadline()].into_iter().flatten().min()
    }

    fn configure(&mut self, now: Time, config: Arc<Config>, out: &mut Effects) {
        self.endpoint.configure(now, &config, FIRST);
        self.settle(now, out);
    }

    fn frame(_: PortId, _: &[u8]) -> Frame {
        Frame::Broken("there are no streams here")
    }

    fn steer(_: &Config, _: &Flow, _: &[u8], _: u16) -> Option<u16> {
        SctpEndpoint::steer()
    }

    /// `pump` wakes the user; anything else is the endpoint's.
    fn ask(
        &mut self,
        now: Time,
        ask: &Ask,
        out: &mut Effects,
    ) -> Result<serde_json::Value, AskError> {
        if ask.path != "pump" {
            return self.endpoint.ask(ask);
        }
        if let Some(why) = self.endpoint.failure() {
            return Err(AskError::BadParameter(why.to_owned()));
        }
        self.settle(now, out);
        Ok(serde_json::Value::Null)
    }

    fn is_idle(&self) -> bool {
        self.endpoint.associations().next().is_none()
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        vec![self.endpoint.cells()]
    }
}

/// Wakes the user of a running endpoint.
///
/// # Errors
/// When the endpoint has failed, with the words.
pub fn pump(running: &Running<Host>) -> Result<(), AskError> {
    running.ask(Ask { path: "pump".into(), ..Ask::default() }).map(drop)
}
