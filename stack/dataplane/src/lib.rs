//! The control of a forwarder, for any function that has packets forwarded.
//!
//! ```text
//!   the function ── compile ──→ Desired ── difference to what was said ──→ Request … ──→ forwarder
//!                   numbers ↑   ↓                                    Link, Refused ←──┘
//!                   what the forwarder keeps: the next control goes on with the same numbers
//! ```
//! The forwarder is another process, and this is a machine: it speaks with it by two channels of
//! the runtime, one that controls and one that asks, and never waits for it. When the control dies,
//! packets go on as before. The next one says everything anew under the same numbers, and what it
//! does not say again is removed.
//!
//! ```text
//!   away ─tick→ Connect ─Up→ greeted ─Welcome→ controlled: say() whole ─say()→ the differences
//!     ↑          Absent ┘       └ 10 s │ Down                  │ Down
//!     └───────────────── 250 ms ───────┴───────────────────────┘
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod adoption;
mod alarms;
mod desired;
mod editing;
mod metrics;
mod numbers;
mod packet_channel;
mod questions;
pub mod section;
#[cfg(test)]
mod tests;

pub use alarms::alarm;
pub use desired::{Desired, Rank, RouteKey};
pub use editing::Edit;
pub use forwarder::answer::questions;
pub use metrics::{InterfaceMetric, NodeDropMetric, PortDropMetric, PortMetric, empty_tables};
pub use nodes::inject::BEHIND_LABELS;
pub use numbers::{Kind, Numbers};
pub use packet_channel::{PacketChannel, PacketChannelEvent, PacketChannelTally};
pub use questions::{GLOBAL, QUESTIONS_MAX};

use forwarder::ipc::{PortSpec, WorkerState};
use forwarder::{Launch, ToAsk, ToControl};
use machine::{Duration, Time};
use nodes::program::{Item, Mac, MacNotice, Removed};
use questions::Questions;
use runtime::{ChannelEvent, Effects, PortId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Time between two attempts to find the forwarder.
const RETRY: Duration = Duration::from_millis(250);
/// The same while one is being started: its flows wait for it. For so long after it was asked for.
const RETRY_STARTING: Duration = Duration::from_millis(5);
const STARTING_MAX: Duration = Duration::from_secs(2);
/// One that stood for so long and is gone is looked for at once; one that comes and goes is not.
const STABLE: Duration = Duration::from_secs(5);
/// Time for a forwarder to welcome its control.
const WELCOME: Duration = Duration::from_secs(10);
/// Refusals that are remembered; the oldest goes.
const REFUSALS_MAX: usize = 64;

/// The numbers of the two channels, which the function chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channels {
    /// By which the forwarder is controlled.
    pub control: PortId,
    /// By which it is asked: an answer does not wait behind a table of a million routes.
    pub questions: PortId,
}

/// What the function has to do something about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notification {
    /// A forwarder takes this control: [`Dataplane::say`] everything.
    Welcomed,
    /// Something happened to a MAC address of a bridge domain.
    Mac(MacNotice),
    /// A packet feature says something, in words of its own and of the function's.
    Item(Item),
    /// What was said under this name was refused; a thing of a feature may be gone with it.
    Refused(Removed),
}

/// What has happened since this control began, and how it stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// A forwarder was found and told everything.
    pub adopted: u64,
    /// The connection to the forwarder ended.
    pub lost: u64,
    /// Changes that it was told.
    pub programs: u64,
    /// Changes and ports that it refused, and attempts to have it.
    pub refused: u64,
    /// Workers that panicked.
    pub workers_crashed: u64,
    /// Workers that hung.
    pub workers_hung: u64,
    /// Routes that it was told last.
    pub routes: u64,
}

/// What a forwarder said of the link of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Link {
    up: bool,
    mac: Option<Mac>,
}

/// How far this control is.
#[derive(Debug)]
enum State {
    /// There is no connection; the next attempt is at that time.
    Away(Time),
    /// The runtime connects, and says until then what came of it.
    Connecting(Time),
    /// Hello was said; the welcome must come until then.
    Greeted(Time),
    /// A forwarder has welcomed this control: these ports stand, of which nothing was said yet.
    Welcomed(Vec<PortSpec>),
    /// It was told this.
    Controlled(Box<Desired>),
}

/// The control of one forwarder.
pub struct Dataplane {
    channels: Channels,
    launch: Launch,
    to_control: Arc<ToControl>,
    to_ask: Arc<ToAsk>,
    state: State,
    /// Since when one is gone or being started, since when one is controlled.
    starting: Option<Time>,
    controlled: Option<Time>,
    numbers: Numbers,
    links: BTreeMap<u16, Link>,
    link_changes: u64,
    refusals: VecDeque<(String, String)>,
    /// Why the forwarder that stands takes no control from here.
    turned_away: Option<String>,
    /// Workers that crashed or hung: when last, how they stand, the panic's words.
    workers: BTreeMap<u16, (Time, WorkerState, String)>,
    questions: Questions,
    metrics: metrics::Metrics,
    tally: Tally,
    is_draining: bool,
    /// Whether what is not said to a forwarder that comes stays all the same, and the generation
    /// that is not ended yet.
    holds: bool,
    /// Whether another system has taken addresses of the forwarder while nobody controlled it.
    is_taken: bool,
    unended: Option<u64>,
}

impl Dataplane {
    /// A control that looks for its forwarder with the first tick.
    #[must_use]
    pub fn new(now: Time, launch: Launch, channels: Channels) -> Self {
        Self {
            channels,
            to_control: Arc::new(ToControl::new(launch.clone())),
            to_ask: Arc::new(ToAsk { socket: launch.socket.clone() }),
            launch,
            state: State::Away(now),
            starting: None,
            controlled: None,
            numbers: Numbers::default(),
            links: BTreeMap::new(),
            link_changes: 0,
            refusals: VecDeque::new(),
            turned_away: None,
            workers: BTreeMap::new(),
            questions: Questions::default(),
            metrics: metrics::Metrics::default(),
            tally: Tally::default(),
            is_draining: false,
            holds: false,
            is_taken: false,
            unended: None,
        }
    }

    /// Whether another system had taken addresses of the forwarder when that was taken: what it
    /// remembers of them may be over.
    #[must_use]
    pub const fn is_taken(&self) -> bool {
        self.is_taken
    }

    /// Takes what happened on a channel; that of another number is passed over.
    pub fn step(
        &mut self,
        now: Time,
        port: PortId,
        event: ChannelEvent<'_>,
        out: &mut Effects,
    ) -> Option<Notification> {
        if port == self.channels.control {
            self.heard(now, event, out)
        } else if port == self.channels.questions {
            self.asked(event, out);
            None
        } else {
            None
        }
    }

    /// Looks for a forwarder, and gives up one that does not welcome this control.
    pub fn tick(&mut self, now: Time, out: &mut Effects) {
        match self.state {
            State::Away(at) if now >= at && !self.is_draining => {
                self.state = State::Connecting(now + WELCOME);
                out.connect(self.channels.control, self.to_control.clone());
            }
            State::Connecting(until) if now >= until => {
                out.hang_up(self.channels.control);
                self.lose(now, "nobody says what came of it");
            }
            State::Greeted(until) if now >= until => {
                if self.launch.keys.is_some() {
                    let why = "it asks for no key: end it, so that it is started with `key_file`";
                    self.refuse("the forwarder", why);
                }
                out.hang_up(self.channels.control);
                self.lose(now, "the other side says nothing");
            }
            State::Controlled(_) if self.numbers.kept.due.is_some_and(|due| now >= due) => {
                self.keep_ahead(out);
            }
            _ => {}
        }
    }

    /// When [`Dataplane::tick`] wants to be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        match self.state {
            State::Away(at) => Some(at).filter(|_| !self.is_draining),
            State::Connecting(until) | State::Greeted(until) => Some(until),
            State::Controlled(_) => self.numbers.kept.due,
            State::Welcomed(_) => None,
        }
    }

    /// How a forwarder is started from now on.
    pub fn launch(&mut self, launch: Launch) {
        if launch != self.launch {
            self.to_control = Arc::new(ToControl::new(launch.clone()));
            self.to_ask = Arc::new(ToAsk { socket: launch.socket.clone() });
            self.launch = launch;
        }
    }

    /// The site drains: a forwarder that goes is not looked for again; `stops`: it ends too, unless
    /// somebody else starts it.
    pub fn drain(&mut self, stops: bool, out: &mut Effects) {
        self.is_draining = true;
        if stops && !self.launch.is_external {
            self.stop(out);
        }
    }

    /// Whether a forwarder takes this control and was told nothing yet.
    #[must_use]
    pub fn is_welcomed(&self) -> bool {
        matches!(self.state, State::Welcomed(_))
    }

    /// Whether a forwarder was told everything.
    #[must_use]
    pub fn is_controlled(&self) -> bool {
        matches!(self.state, State::Controlled(_))
    }

    /// The numbers, and the names behind them.
    #[must_use]
    pub fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    /// The same, to note something ([`Dataplane::keep`] leaves it with the forwarder).
    pub fn numbers_mut(&mut self) -> &mut Numbers {
        &mut self.numbers
    }

    /// What has happened.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Ports whose link is there, and those whose link is not.
    #[must_use]
    pub fn ports(&self) -> (usize, usize) {
        let up = self.links.values().filter(|it| it.up).count();
        (up, self.links.len() - up)
    }

    /// How often the forwarder has said something of a link, or was lost: whoever goes by links
    /// looks at them anew when it is another number.
    #[must_use]
    pub fn link_changes(&self) -> u64 {
        self.link_changes
    }

    /// Whether the link of a port is there.
    #[must_use]
    pub fn is_up(&self, port: &str) -> bool {
        self.link(port).is_some_and(|it| it.up)
    }

    /// The MAC address of a port, once it is open.
    #[must_use]
    pub fn mac(&self, port: &str) -> Option<Mac> {
        self.link(port)?.mac
    }

    fn link(&self, port: &str) -> Option<&Link> {
        let number = u16::try_from(self.numbers.known(Kind::Port, port)?).ok()?;
        self.links.get(&number)
    }

    /// What was refused last: what, and why; the oldest first.
    #[must_use]
    pub fn refusals(&self) -> &VecDeque<(String, String)> {
        &self.refusals
    }
}
