//! The virtual addresses: taken and announced by the active node, given away by the other.

use crate::config::VirtualAddress;
use driver::link::Announcer;
use machine::{Duration, Time};

/// An address ends by itself this long after its holder has died, seconds.
const VALID_S: u32 = 3;
/// How often its life is renewed.
const RENEW: Duration = Duration::from_millis(500);
/// When it is announced again after it was taken: neighbours may have lost the first one.
const AGAIN: [Duration; 5] = [
    Duration::from_millis(20),
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(3),
];

/// The addresses of one pair.
#[derive(Debug)]
pub(crate) struct Addresses {
    list: Vec<VirtualAddress>,
    announcer: Option<Announcer>,
    /// When they were taken, and the announcements since; `None` while the other node has them.
    held: Option<(Time, usize)>,
    renew_at: Time,
    /// What went wrong last.
    pub(crate) trouble: Option<String>,
}

impl Addresses {
    /// Addresses that nobody holds: what an earlier life left behind is taken away.
    pub(crate) fn new(list: Vec<VirtualAddress>) -> Self {
        let (held, renew_at, trouble) = (None, Time::MAX, None);
        let mut addresses = Self { list, announcer: None, held, renew_at, trouble };
        addresses.release();
        addresses.open();
        addresses
    }

    /// Takes and announces them.
    pub(crate) fn take(&mut self, now: Time) {
        self.held = Some((now, 0));
        self.trouble = None;
        self.renew(now);
        self.announce();
    }

    /// Others are the pair's from now on. Those that stay are kept without a gap, those that go are
    /// given away, new ones are taken if this node has them.
    pub(crate) fn change(&mut self, now: Time, list: Vec<VirtualAddress>) {
        if list == self.list {
            return;
        }
        let old = std::mem::replace(&mut self.list, list);
        self.trouble = None;
        let without = |all: &[VirtualAddress], some: &[VirtualAddress]| -> Vec<VirtualAddress> {
            all.iter().filter(|it| !some.contains(it)).cloned().collect()
        };
        if self.held.is_some() {
            self.take(now);
        } else {
            // What an earlier life left behind is taken away.
            self.remove(&without(&self.list, &old));
        }
        self.remove(&without(&old, &self.list));
    }

    /// Gives them away.
    pub(crate) fn release(&mut self) {
        self.held = None;
        self.renew_at = Time::MAX;
        let list = std::mem::take(&mut self.list);
        self.remove(&list);
        self.list = list;
    }

    fn remove(&mut self, addresses: &[VirtualAddress]) {
        for address in addresses {
            let removed = driver::link::interface(&address.interface)
                .and_then(|at| driver::link::remove_address(at, address.ip, address.prefix));
            if let Err(error) = removed {
                let (ip, interface) = (address.ip, &address.interface);
                self.trouble = Some(format!("{ip} cannot be taken from {interface}: {error}"));
            }
        }
    }

    fn renew(&mut self, now: Time) {
        self.renew_at = now + RENEW;
        for VirtualAddress { ip, prefix, interface } in &self.list {
            let added = driver::link::interface(interface)
                .and_then(|at| driver::link::add_address(at, *ip, *prefix, VALID_S));
            if let Err(error) = added {
                self.trouble = Some(format!("{ip} cannot be given to {interface}: {error}"));
            }
        }
    }

    fn open(&mut self) {
        if self.announcer.is_none() && !self.list.is_empty() {
            match Announcer::open() {
                Ok(announcer) => self.announcer = Some(announcer),
                Err(error) => self.trouble = Some(format!("nothing can be announced: {error}")),
            }
        }
    }

    fn announce(&mut self) {
        self.open();
        let Some(announcer) = &self.announcer else { return };
        for VirtualAddress { ip, interface, .. } in &self.list {
            if let Err(error) = announcer.announce(interface, *ip) {
                self.trouble = Some(format!("{ip} cannot be announced on {interface}: {error}"));
            }
        }
    }

    /// Renews and announces what is due.
    pub(crate) fn tick(&mut self, now: Time) {
        if now >= self.renew_at {
            self.renew(now);
        }
        if let Some((since, told)) = self.held
            && AGAIN.get(told).is_some_and(|&after| now >= since + after)
        {
            self.held = Some((since, told + 1));
            self.announce();
        }
    }
}
