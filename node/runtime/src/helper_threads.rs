//! Work that would hold a shard up, done by threads beside it: TLS handshakes and name lookups.
//! Each thread starts when it is first needed.

use crate::completion::{Asked, CompletionSender};
use crate::dns::Resolver;
use crate::function::{Answer, Query};
use crate::handshake::{Handshakes, Shaking};
use crate::port::ConnId;
use crate::spec::DnsSpec;
use std::io;
use std::sync::Mutex;

/// The helper threads of one function.
pub(crate) struct HelperThreads {
    name: String,
    completions: CompletionSender,
    dns: DnsSpec,
    /// Cores of the process, as they were before any shard was pinned.
    cores: Vec<usize>,
    handshakes: Mutex<Option<Handshakes>>,
    resolver: Mutex<Option<Resolver>>,
}

impl HelperThreads {
    pub(crate) fn new(name: &str, completions: CompletionSender, dns: DnsSpec) -> Self {
        Self {
            name: name.to_owned(),
            completions,
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
            match Handshakes::start(&self.name, self.completions.clone(), self.cores.clone()) {
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
            match Resolver::start(&self.name, self.completions.clone(), &self.dns) {
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
    use crate::completion::Delivery;
    use crate::ring::Mailbox;
    use crossbeam_channel::unbounded;
    use std::sync::Arc;

    #[test]
    fn a_helper_that_panics_begins_anew_and_a_shard_is_told_each_time() {
        let (delivery, deliveries) = unbounded();
        let completions = CompletionSender {
            mailboxes: Arc::new([Mailbox::new(1).unwrap()]),
            deliveries: Arc::new([delivery]),
        };
        let mut panics = 2;
        let run = |left: &mut u32| assert_eq!(*left, 0, "it was told to");
        completions.outlive("dns", &mut panics, run, |left| *left -= 1);
        let told = deliveries.try_iter().map(|delivery| match delivery {
            Delivery::Crashed(helper, why) => (helper, why),
            _ => panic!("a crash alone"),
        });
        let told: Vec<_> = told.collect();
        assert_eq!(told.len(), 2);
        assert!(told.iter().all(|(helper, why)| *helper == "dns" && why.contains("told to")));
    }
}
