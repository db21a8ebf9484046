//! The fence: floods dropped by the kernel, before it makes anything of a frame (XDP).
//!
//! The program is `bpf/fence.c`; here it is loaded, told what to go by, and hung before
//! interfaces, natively or, where a driver cannot, in the kernel's generic way. It is gone from
//! every interface when its [`Fence`] is dropped or the process ends, however that happens.

mod wire;

use aya::maps::{Array, HashMap, LpmTrie, MapData, PerCpuArray, lpm_trie::Key};
use aya::programs::xdp::{XdpLinkId, XdpMode};
use aya::programs::{ProgramError, Xdp};
use aya::{Ebpf, EbpfLoader, VerifierLogLevel};
use machine::narrow::{nanos, place};
use std::collections::BTreeMap;
use std::error::Error;
use std::net::IpAddr;
use std::time::{Duration, Instant};

pub use wire::{COUNTS, Count, Door, Protocol, Rate, Rates};

/// Doors, and addresses that they are at.
pub const DOORS_MAX: u32 = 16_384;
/// Trusted prefixes.
pub const TRUSTED_MAX: u32 = 256;
/// Known sources; memory is taken as they come.
pub const KNOWN_MAX: u32 = 1 << 20;
/// Blacklisted sources.
pub const BLACKLIST_MAX: u32 = 1 << 16;
/// Letters of the kernel's reason for a refusal.
const REASON_MAX: usize = 300;
/// A full map is searched for entries that are over at most this often.
const PURGE: Duration = Duration::from_secs(30);
const NAME: &str = "fence";

#[cfg(fence)]
const PROGRAM: Option<&[u8]> =
    Some(aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/fence.o")));
#[cfg(not(fence))]
const PROGRAM: Option<&[u8]> = None;

/// Why the kernel does not take it, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FenceError(String);

/// How it stands before an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// In the driver, before there is a buffer for the frame.
    Native,
    /// In the kernel's own path, for any driver; it costs a buffer for each frame.
    Generic,
}

/// Sources until their time, by the kernel's clock.
struct Until {
    map: HashMap<MapData, u64, u64>,
    purged: Option<Instant>,
}

/// The program in the kernel.
pub struct Fence {
    ebpf: Ebpf,
    links: BTreeMap<u32, (XdpLinkId, Mode)>,
    rules: Array<MapData, wire::Rules>,
    doors: HashMap<MapData, wire::DoorKey, u32>,
    standing: BTreeMap<wire::DoorKey, u32>,
    trusted: LpmTrie<MapData, [u8; 16], u32>,
    prefixes: Vec<(IpAddr, u8)>,
    known: Until,
    blacklist: Until,
    counts: PerCpuArray<MapData, u64>,
    rates: Rates,
    secret: [u64; 2],
}

impl Fence {
    /// Loads it; it stands nowhere yet and knows no door.
    ///
    /// # Errors
    /// Not permitted, built without clang, or what the kernel does not like about it.
    pub fn load(rates: Rates) -> Result<Self, FenceError> {
        let program =
            PROGRAM.ok_or_else(|| FenceError("this program was built without clang".to_owned()))?;
        let mut loader = EbpfLoader::new();
        loader.verifier_log_level(VerifierLogLevel::DISABLE);
        for (name, max) in [
            ("DOORS", DOORS_MAX),
            ("TRUSTED", TRUSTED_MAX),
            ("KNOWN_SOURCES", KNOWN_MAX),
            ("BLACKLIST", BLACKLIST_MAX),
        ] {
            loader.map_max_entries(name, max);
        }
        let mut ebpf = loader.load(program).map_err(words)?;
        let random = crate::random().map_err(words)?;
        let word = |at: usize| random[at..at + 8].iter().fold(0, |w, &b| w << 8 | u64::from(b));
        let mut take = |name: &str| {
            ebpf.take_map(name).ok_or_else(|| FenceError(format!("it has no map {name}")))
        };
        let mut fence = Self {
            links: BTreeMap::new(),
            rules: take("RULES")?.try_into().map_err(words)?,
            doors: take("DOORS")?.try_into().map_err(words)?,
            standing: BTreeMap::new(),
            trusted: take("TRUSTED")?.try_into().map_err(words)?,
            prefixes: Vec::new(),
            known: Until { map: take("KNOWN_SOURCES")?.try_into().map_err(words)?, purged: None },
            blacklist: Until { map: take("BLACKLIST")?.try_into().map_err(words)?, purged: None },
            counts: take("COUNTS")?.try_into().map_err(words)?,
            rates,
            secret: [word(0), word(8)],
            ebpf,
        };
        fence.write_rules()?;
        fence.program()?.load().map_err(words)?;
        Ok(fence)
    }

    fn program(&mut self) -> Result<&mut Xdp, FenceError> {
        let program = self.ebpf.program_mut(NAME);
        let program = program.ok_or_else(|| FenceError("the program is missing".to_owned()))?;
        program.try_into().map_err(|error: ProgramError| words(error))
    }

    fn write_rules(&mut self) -> Result<(), FenceError> {
        let rules = wire::rules(&self.rates, self.secret, self.prefixes.len());
        self.rules.set(0, rules, 0).map_err(words)
    }

    /// Sets what each kind of frame may come at.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_rates(&mut self, rates: Rates) -> Result<(), FenceError> {
        self.rates = rates;
        self.write_rules()
    }

    /// Sets the doors that it stands before, in place of those before; all else passes.
    ///
    /// # Errors
    /// More than [`DOORS_MAX`], or the kernel's.
    pub fn set_doors(&mut self, doors: &[Door]) -> Result<(), FenceError> {
        let wanted = wire::doors(doors);
        if wanted == self.standing {
            return Ok(());
        }
        for key in self.standing.keys().filter(|key| !wanted.contains_key(*key)) {
            self.doors.remove(key).map_err(words)?;
        }
        for (key, value) in &wanted {
            self.doors.insert(key, value, 0).map_err(words)?;
        }
        self.standing = wanted;
        Ok(())
    }

    /// Sets the prefixes that pass, in place of those before.
    ///
    /// # Errors
    /// More than [`TRUSTED_MAX`], or the kernel's.
    pub fn set_trusted(&mut self, prefixes: &[(IpAddr, u8)]) -> Result<(), FenceError> {
        for &prefix in &self.prefixes {
            let (bits, address) = wire::prefix(prefix);
            // Two ways of writing one prefix are one entry.
            let _ = self.trusted.remove(&Key::new(bits, address));
        }
        for &prefix in prefixes {
            let (bits, address) = wire::prefix(prefix);
            self.trusted.insert(&Key::new(bits, address), 1, 0).map_err(words)?;
        }
        self.prefixes = prefixes.to_vec();
        self.write_rules()
    }

    /// A source passes for so long; `None`: until [`Fence::forget`].
    ///
    /// # Errors
    /// No room, or the kernel's.
    pub fn know(&mut self, address: IpAddr, time: Option<Duration>) -> Result<(), FenceError> {
        self.known.set(address, time)
    }

    /// A source is no longer known.
    pub fn forget(&mut self, address: IpAddr) {
        self.known.clear(Some(address));
    }

    /// Nothing of a source passes for so long.
    ///
    /// # Errors
    /// No room, or the kernel's.
    pub fn block(&mut self, address: IpAddr, time: Duration) -> Result<(), FenceError> {
        self.blacklist.set(address, Some(time))
    }

    /// A source, or every one, is no longer blacklisted.
    pub fn pardon(&mut self, address: Option<IpAddr>) {
        self.blacklist.clear(address);
    }

    /// Puts it before the interface of that number.
    ///
    /// # Errors
    /// The kernel's for both ways: not permitted, another program stands there.
    pub fn attach(&mut self, interface: u32) -> Result<Mode, FenceError> {
        if let Some((_, mode)) = self.links.get(&interface) {
            return Ok(*mode);
        }
        let program = self.program()?;
        let native = program.attach_to_if_index(interface, XdpMode::Driver);
        let (link, mode) = match native {
            Ok(link) => (link, Mode::Native),
            Err(native) => {
                let generic = program.attach_to_if_index(interface, XdpMode::Skb);
                let both = |error| {
                    FenceError(format!("native: {}; generic: {}", words(native), words(error)))
                };
                (generic.map_err(both)?, Mode::Generic)
            }
        };
        self.links.insert(interface, (link, mode));
        Ok(mode)
    }

    /// Takes it away from an interface; one that is gone needs no more.
    pub fn detach(&mut self, interface: u32) {
        let Some((link, _)) = self.links.remove(&interface) else { return };
        if let Ok(program) = self.program() {
            // The interface may be gone, and the link with it.
            let _ = program.detach(link);
        }
    }

    /// Frames so far, by what became of them.
    ///
    /// # Errors
    /// The kernel's.
    pub fn counts(&self) -> Result<[u64; COUNTS], FenceError> {
        let mut counts = [0; COUNTS];
        for (at, count) in counts.iter_mut().enumerate() {
            let values = self.counts.get(&place(at), 0).map_err(words)?;
            *count = values.iter().sum();
        }
        Ok(counts)
    }

    /// What it would do with a frame: whether it passes (`BPF_PROG_TEST_RUN`).
    #[cfg(test)]
    fn judge(&mut self, frame: &[u8]) -> Result<bool, FenceError> {
        use aya::programs::{TestRun, TestRunOptions};
        let options = TestRunOptions { data_in: Some(frame), ..TestRunOptions::default() };
        let result = self.program()?.test_run(options).map_err(words)?;
        Ok(result.return_value == 2) // XDP_PASS
    }
}

impl Until {
    fn set(&mut self, address: IpAddr, time: Option<Duration>) -> Result<(), FenceError> {
        let now = kernel_ns();
        let end = time.map_or(u64::MAX, |time| now.saturating_add(nanos(time)));
        let place = wire::place(address);
        if self.map.insert(place, end, 0).is_ok() {
            return Ok(());
        }
        if self.purged.is_none_or(|at| at.elapsed() >= PURGE) {
            self.purged = Some(Instant::now());
            let over = |entry: Result<(u64, u64), _>| entry.ok().filter(|&(_, end)| end <= now);
            let keys: Vec<u64> = self.map.iter().filter_map(over).map(|(key, _)| key).collect();
            keys.iter().for_each(|key| drop(self.map.remove(key)));
        }
        self.map.insert(place, end, 0).map_err(words)
    }

    fn clear(&mut self, address: Option<IpAddr>) {
        let keys: Vec<u64> = match address {
            Some(address) => vec![wire::place(address)],
            None => self.map.keys().filter_map(Result::ok).collect(),
        };
        // What is not there need not go.
        keys.iter().for_each(|key| drop(self.map.remove(key)));
    }
}

/// The clock that the program looks at: nanoseconds since the machine started.
fn kernel_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one `timespec`, which lives over the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// An error and its causes in one line.
fn words(error: impl Error) -> FenceError {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text += &format!(": {more}");
        }
        cause = error.source();
    }
    FenceError(text.lines().collect::<Vec<_>>().join(" ").chars().take(REASON_MAX).collect())
}

#[cfg(test)]
mod tests;
