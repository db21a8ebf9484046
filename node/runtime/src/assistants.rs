//! Work that would hold a shard up, done by threads beside it: TLS handshakes and name lookups.
//! Each thread starts when it is first needed.

use crate::dns::Resolver;
use crate::function::{Answer, Query};
use crate::handshake::{Handshakes, Shaken, Shaking};
use crate::ring::Door;
use crate::spec::DnsSpec;
use crossbeam_channel::Sender;
use std::io;
use std::sync::{Arc, Mutex};

/// What a helper gives back to a shard.
pub(crate) enum Delivery {
    Shaken(Shaken),
    /// The question of a life of the shard, and its answer.
    Resolved(Asked, Answer),
}

/// A question to the DNS.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) shard: u16,
    /// Which life of the shard asks: what a former one asked is nothing to this one.
    pub(crate) life: u32,
    pub(crate) number: u64,
}

/// Where assistants put what they have done.
#[derive(Clone)]
pub(crate) struct Hatch {
    pub(crate) doors: Arc<[Door]>,
    pub(crate) deliveries: Arc<[Sender<Delivery>]>,
}

impl Hatch {
    /// Delivers to a shard; one that has ended takes nothing.
    pub(crate) fn deliver(&self, shard: u16, delivery: Delivery) {
        let at = usize::from(shard);
        if self.deliveries[at].send(delivery).is_ok() {
            self.doors[at].waker.wake();
        }
    }
}

/// The helper threads of one function.
pub(crate) struct Assistants {
    name: String,
    hatch: Hatch,
    dns: DnsSpec,
    /// Cores of the process, as they were before any shard was pinned.
    cores: Vec<usize>,
    handshakes: Mutex<Option<Handshakes>>,
    resolver: Mutex<Option<Resolver>>,
}

impl Assistants {
    pub(crate) fn new(name: &str, hatch: Hatch, dns: DnsSpec) -> Self {
        Self {
            name: name.to_owned(),
            hatch,
            dns,
            cores: driver::cores(),
            handshakes: Mutex::new(None),
            resolver: Mutex::new(None),
        }
    }

    /// Hands a handshake over; gives it back when too many run.
    pub(crate) fn shake(&self, job: Shaking) -> Result<(), Shaking> {
        let mut slot = crate::control::lock(&self.handshakes);
        if slot.is_none() {
            match Handshakes::start(&self.name, self.hatch.clone(), self.cores.clone()) {
                Ok(started) => *slot = Some(started),
                Err(error) => {
                    report(&self.name, "handshakes", &error);
                    return Err(job);
                }
            }
        }
        match slot.as_ref() {
            Some(handshakes) => handshakes.push(job),
            None => Err(job),
        }
    }

    /// Asks the DNS; `false` when too many questions are in flight.
    pub(crate) fn resolve(&self, asked: Asked, query: Query) -> bool {
        let mut slot = crate::control::lock(&self.resolver);
        if slot.is_none() {
            match Resolver::start(&self.name, self.hatch.clone(), &self.dns) {
                Ok(started) => *slot = Some(started),
                Err(error) => {
                    report(&self.name, "names", &error);
                    return false;
                }
            }
        }
        slot.as_ref().is_some_and(|resolver| resolver.ask(asked, query))
    }

    /// What is known without asking: literal addresses and the configured hosts.
    pub(crate) fn known(&self, query: &Query) -> Option<Answer> {
        let Query::Host(host) = query else { return None };
        if let Ok(ip) = host.trim_matches(['[', ']']).parse() {
            return Some(Answer::Host(vec![ip]));
        }
        let name = host.trim_end_matches('.').to_ascii_lowercase();
        self.dns.hosts.get(&name).map(|ips| Answer::Host(ips.clone()))
    }
}

fn report(function: &str, thread: &str, error: &io::Error) {
    tracing::error!(function, thread, %error, "a helper thread cannot start");
}
