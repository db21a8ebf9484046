//! Work that would hold a shard up, done by threads beside it: TLS handshakes and name lookups.
//! Each thread starts when it is first needed.

use crate::dns::Resolver;
use crate::function::{Answer, Query};
use crate::handshake::{Handshakes, Shaken, Shaking};
use crate::port::ConnId;
use crate::ring::Mailbox;
use crate::spec::DnsSpec;
use crossbeam_channel::Sender;
use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

/// What a helper gives back to a shard.
pub(crate) enum Delivery {
    Shaken(Shaken),
    /// The question of a life of the shard, and its answer.
    Resolved(Asked, Answer),
    /// A helper thread panicked and goes on: which one, and the panic's words.
    Crashed(&'static str, String),
}

/// A question to the DNS.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) shard: u16,
    /// Which life of the shard asks: what a former one asked is nothing to this one.
    pub(crate) life: u32,
    pub(crate) number: u64,
}

/// Where helper_threads put what they have done.
#[derive(Clone)]
pub(crate) struct CompletionSender {
    pub(crate) doors: Arc<[Mailbox]>,
    pub(crate) deliveries: Arc<[Sender<Delivery>]>,
}

impl CompletionSender {
    /// Delivers to a shard; one that has ended takes nothing.
    pub(crate) fn deliver(&self, shard: u16, delivery: Delivery) {
        let at = usize::from(shard);
        if self.deliveries[at].send(delivery).is_ok() {
            self.doors[at].waker.wake();
        }
    }

    /// Runs a helper thread's work to its end. After each panic a shard is told, and the work
    /// begins anew.
    pub(crate) fn outlive<W>(
        &self,
        helper: &'static str,
        work: &mut W,
        run: impl Fn(&mut W),
        begin_anew: impl Fn(&mut W),
    ) {
        while let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(work))) {
            self.crashed(0, helper, &*panic);
            begin_anew(work);
        }
    }

    /// Tells a shard that a helper thread panicked.
    pub(crate) fn crashed(&self, shard: u16, helper: &'static str, panic: &(dyn Any + Send)) {
        let why = crate::running::words(panic);
        tracing::error!(helper, why, "a helper thread crashed and goes on");
        self.deliver(shard, Delivery::Crashed(helper, why.to_owned()));
    }
}

/// The helper threads of one function.
pub(crate) struct HelperThreads {
    name: String,
    hatch: CompletionSender,
    dns: DnsSpec,
    /// Cores of the process, as they were before any shard was pinned.
    cores: Vec<usize>,
    handshakes: Mutex<Option<Handshakes>>,
    resolver: Mutex<Option<Resolver>>,
}

impl HelperThreads {
    pub(crate) fn new(name: &str, hatch: CompletionSender, dns: DnsSpec) -> Self {
        Self {
            name: name.to_owned(),
            hatch,
            dns,
            cores: driver::cores(),
            handshakes: Mutex::new(None),
            resolver: Mutex::new(None),
        }
    }

    /// Hands a handshake over; whether there is a thread for it.
    pub(crate) fn shake(&self, job: Shaking) -> bool {
        let mut slot = crate::control::lock(&self.handshakes);
        if slot.is_none() {
            match Handshakes::start(&self.name, self.hatch.clone(), self.cores.clone()) {
                Ok(started) => *slot = Some(started),
                Err(error) => {
                    report(&self.name, "handshakes", &error);
                    return false;
                }
            }
        }
        slot.as_ref().map(|handshakes| handshakes.push(job)).is_some()
    }

    /// Gives up the handshake of a connection that its shard has removed.
    pub(crate) fn forget(&self, conn: ConnId) {
        if let Some(handshakes) = &*crate::control::lock(&self.handshakes) {
            handshakes.forget(conn);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crossbeam_channel::unbounded;

    #[test]
    fn a_helper_that_panics_begins_anew_and_a_shard_is_told_each_time() {
        let (delivery, deliveries) = unbounded();
        let hatch = CompletionSender {
            doors: Arc::new([Mailbox::new(1).unwrap()]),
            deliveries: Arc::new([delivery]),
        };
        let mut panics = 2;
        let run = |left: &mut u32| assert_eq!(*left, 0, "it was told to");
        hatch.outlive("dns", &mut panics, run, |left| *left -= 1);
        let told = deliveries.try_iter().map(|delivery| match delivery {
            Delivery::Crashed(helper, why) => (helper, why),
            _ => panic!("a crash alone"),
        });
        let told: Vec<_> = told.collect();
        assert_eq!(told.len(), 2);
        assert!(told.iter().all(|(helper, why)| *helper == "dns" && why.contains("told to")));
    }
}
