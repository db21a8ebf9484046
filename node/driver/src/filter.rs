//! The filter: floods dropped by the kernel, before it makes anything of a frame (XDP).
//!
//! It is a part of the one program before an interface ([`crate::xdp`]), which several filters
//! share with ports; here one of them is told what to go by. Nothing of it counts any more when its
//! [`Filter`] is dropped or the process ends, however that happens.

mod bpf_maps;

use crate::xdp::bpf::{ANY, Map};
use crate::xdp::{Link, Owner, Target, purge};
use machine::narrow::{nanos, place};
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use crate::xdp::Mode;
pub(crate) use bpf_maps::octets;
pub use bpf_maps::{COUNTS, Count, Listener, Protocol, Rate, Rates};

/// A full map is searched for entries that are over at most this often.
const PURGE: Duration = Duration::from_secs(30);

/// Why the kernel does not take it, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FilterError(String);

impl From<io::Error> for FilterError {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

/// One filter in the program.
#[derive(Debug)]
pub struct Filter {
    owner: Owner,
    links: BTreeMap<u32, Arc<Link>>,
    listeners: BTreeMap<bpf_maps::ListenerKey, u32>,
    standing: BTreeMap<Target, u32>,
    prefixes: Vec<(IpAddr, u8)>,
    /// When each of the two maps of sources was searched last.
    purged: [Option<Instant>; 2],
    /// What was counted for those who had the number before.
    before: [u64; COUNTS],
    rates: Rates,
    secret: [u64; 2],
}

/// The maps of sources.
#[derive(Debug, Clone, Copy)]
enum Sources {
    Known,
    Blacklist,
}

impl Filter {
    /// Makes one; it stands nowhere yet and knows no listener.
    ///
    /// # Errors
    /// Not permitted, or what the kernel does not like about the program.
    pub fn load(rates: Rates) -> Result<Self, FilterError> {
        let random = crate::random()?;
        let word = |at: usize| random[at..at + 8].iter().fold(0, |w, &b| w << 8 | u64::from(b));
        let mut filter = Self {
            owner: Owner::new()?,
            links: BTreeMap::new(),
            listeners: BTreeMap::new(),
            standing: BTreeMap::new(),
            prefixes: Vec::new(),
            purged: [None; 2],
            before: [0; COUNTS],
            rates,
            secret: [word(0), word(8)],
        };
        filter.before = filter.counts()?;
        filter.set_rates(rates)?;
        Ok(filter)
    }

    fn write_rules(&self) -> Result<(), FilterError> {
        let rules = bpf_maps::rules(&self.rates, self.secret, self.prefixes.len());
        Ok(self.owner.maps().rules.insert(&self.owner.number().to_ne_bytes(), &rules, ANY)?)
    }

    /// Sets what each kind of frame may come at.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_rates(&mut self, rates: Rates) -> Result<(), FilterError> {
        self.rates = rates;
        let first = self.owner.number() * 4;
        for (number, bucket) in (first..).zip(bpf_maps::shared_buckets(&rates)) {
            self.owner.maps().shared_buckets.insert(&number.to_ne_bytes(), &bucket, ANY)?;
        }
        self.write_rules()
    }

    /// Sets the listeners that it stands before, in place of those before; all else passes. A
    /// listener that another filter has on the same interface is taken with the first call after
    /// that is gone.
    ///
    /// # Errors
    /// No room, or the kernel's.
    pub fn set_listeners(&mut self, listeners: &[Listener]) -> Result<(), FilterError> {
        self.listeners = bpf_maps::listeners(listeners);
        self.place_listeners()
    }

    /// Puts the listeners where it stands.
    fn place_listeners(&mut self) -> Result<(), FilterError> {
        let mut wanted = BTreeMap::new();
        for interface in self.links.keys() {
            let listeners = self.listeners.iter();
            wanted.extend(listeners.map(|(key, kind)| (bpf_maps::target(key, *interface), *kind)));
        }
        for key in self.standing.keys().filter(|key| !wanted.contains_key(*key)) {
            self.owner.maps().listeners.remove(key)?;
        }
        let is_new = |it: &(Target, u32)| self.standing.get(&it.0) != Some(&it.1);
        let new: Vec<_> = wanted.iter().map(|(key, kind)| (*key, *kind)).filter(is_new).collect();
        self.standing.retain(|key, _| wanted.contains_key(key));
        for (key, kind) in new {
            if self.owner.put_listener(&key, kind)? {
                self.standing.insert(key, kind);
            }
        }
        Ok(())
    }

    /// Sets the prefixes that pass, in place of those before.
    ///
    /// # Errors
    /// No room, or the kernel's.
    pub fn set_trusted(&mut self, prefixes: &[(IpAddr, u8)]) -> Result<(), FilterError> {
        let trusted = &self.owner.maps().trusted;
        for &(address, bits) in &self.prefixes {
            // Two ways of writing one prefix are one entry.
            let _ = trusted.remove(&bpf_maps::prefix(address, bits, self.owner.number()));
        }
        for &(address, bits) in prefixes {
            let key = bpf_maps::prefix(address, bits, self.owner.number());
            trusted.insert(&key, &1u32.to_ne_bytes(), ANY)?;
        }
        self.prefixes = prefixes.to_vec();
        self.write_rules()
    }

    /// A source passes for so long; `None`: until [`Filter::forget`].
    ///
    /// # Errors
    /// No room, or the kernel's.
    pub fn know(&mut self, address: IpAddr, time: Option<Duration>) -> Result<(), FilterError> {
        self.set_source(Sources::Known, address, time)
    }

    /// A source is no longer known.
    pub fn forget(&mut self, address: IpAddr) {
        let _ =
            self.sources(Sources::Known).remove(&bpf_maps::source(address, self.owner.number()));
    }

    /// Nothing of a source passes for so long.
    ///
    /// # Errors
    /// No room, or the kernel's.
    pub fn block(&mut self, address: IpAddr, time: Duration) -> Result<(), FilterError> {
        self.set_source(Sources::Blacklist, address, Some(time))
    }

    /// A source, or every one, is no longer blacklisted.
    pub fn pardon(&mut self, address: Option<IpAddr>) {
        let number = self.owner.number();
        let blacklist = self.sources(Sources::Blacklist);
        match address {
            // What is not there need not go.
            Some(address) => drop(blacklist.remove(&bpf_maps::source(address, number))),
            None => purge(blacklist, |key, _| key[8..12] == number.to_ne_bytes()),
        }
    }

    fn sources(&self, which: Sources) -> &Map<16, 8> {
        match which {
            Sources::Known => &self.owner.maps().known,
            Sources::Blacklist => &self.owner.maps().blacklist,
        }
    }

    fn set_source(
        &mut self,
        which: Sources,
        address: IpAddr,
        time: Option<Duration>,
    ) -> Result<(), FilterError> {
        let now = kernel_ns();
        let end = time.map_or(u64::MAX, |time| now.saturating_add(nanos(time)));
        let (key, value) = (bpf_maps::source(address, self.owner.number()), end.to_ne_bytes());
        if self.sources(which).insert(&key, &value, ANY).is_ok() {
            return Ok(());
        }
        if self.purged[which as usize].is_none_or(|at| at.elapsed() >= PURGE) {
            self.purged[which as usize] = Some(Instant::now());
            purge(self.sources(which), |_, end| u64::from_ne_bytes(*end) <= now);
        }
        Ok(self.sources(which).insert(&key, &value, ANY)?)
    }

    /// Puts it before the interface of that number.
    ///
    /// # Errors
    /// The kernel's for both ways: not permitted, another program stands there.
    pub fn attach(&mut self, interface: u32) -> Result<Mode, FilterError> {
        if let Some(link) = self.links.get(&interface) {
            return Ok(link.mode);
        }
        let link = self.owner.stand(interface)?;
        let mode = link.mode;
        self.links.insert(interface, link);
        self.place_listeners()?;
        Ok(mode)
    }

    /// Takes it away from an interface; one that is gone needs no more.
    pub fn detach(&mut self, interface: u32) {
        if self.links.remove(&interface).is_some() {
            // Only taking away is left to do, and that does not fail.
            let _ = self.place_listeners();
        }
    }

    /// Frames so far, by what became of them.
    ///
    /// # Errors
    /// The kernel's.
    pub fn counts(&self) -> Result<[u64; COUNTS], FilterError> {
        let cores = aya::util::nr_cpus().map_err(|it| it.1)?;
        let mut counts = self.before;
        for (at, count) in counts.iter_mut().enumerate() {
            let key = self.owner.number() * place(COUNTS) + place(at);
            let sum = self.owner.maps().counts.sum(&key.to_ne_bytes(), cores)?;
            *count = sum.saturating_sub(*count);
        }
        Ok(counts)
    }
}

/// The clock that the program looks at: nanoseconds since the machine started.
fn kernel_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one `timespec`, which lives over the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests;
