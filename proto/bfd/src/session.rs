//! One session: its state variables (RFC 5880 §6.8.1), what packets and time do to them.

use crate::packet::Packet;
use crate::rows::{Diagnostic, State};
use crate::settings::{Limits, Path, Role, SessionId, SessionSettings, Timers};
use machine::{Duration, Time, narrow};

/// Octets that a session takes, at most: a worker's memory for it.
pub const SESSION_OCTETS: usize = 320;
/// The least interval of a session that is not up (§6.8.3).
const SLOW: Duration = Duration::from_secs(1);

/// What the peer said last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Remote {
    pub(crate) discriminator: u32,
    pub(crate) state: State,
    pub(crate) demand: bool,
    pub(crate) detect_mult: u8,
    pub(crate) desired_min_tx_us: u32,
    pub(crate) min_rx_us: u32,
    pub(crate) min_echo_rx_us: u32,
}

const STRANGER: Remote = Remote {
    discriminator: 0,
    state: State::Down,
    demand: false,
    detect_mult: 0,
    desired_min_tx_us: 0,
    min_rx_us: 1,
    min_echo_rx_us: 0,
};

/// Numbers of authenticated packets.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sequence {
    pub(crate) transmit: u32,
    pub(crate) receive: Option<u32>,
}

/// Times at which something is due; `Time::MAX` is never.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    pub(crate) transmit: Time,
    pub(crate) detect: Time,
    pub(crate) echo: Time,
    pub(crate) echo_detect: Time,
    /// When numbers of authenticated packets are forgotten.
    pub(crate) forget: Time,
}

/// Echoes on their way.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Echoes {
    pub(crate) sent: u32,
    pub(crate) returned: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Session {
    pub(crate) settings: SessionSettings,
    pub(crate) id: SessionId,
    pub(crate) discriminator: u32,
    /// The one before it; 0: none.
    pub(crate) former: u32,
    /// It was up under its discriminator, and comes up under another one.
    is_spent: bool,
    pub(crate) state: State,
    pub(crate) diagnostic: Diagnostic,
    pub(crate) remote: Remote,
    pub(crate) sequence: Sequence,
    pub(crate) clock: Clock,
    pub(crate) echoes: Echoes,
    /// A Poll Sequence runs.
    pub(crate) polls: bool,
    /// Our interval that is in force: a longer one waits for the end of a Poll Sequence.
    transmit: Duration,
    /// The interval of theirs that is in force: a shorter one waits likewise.
    receive: Duration,
    pub(crate) downs: u32,
    /// Packets that came by its path and did not name it as they must.
    pub(crate) misnamed: u32,
}

/// What a packet wants done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reaction {
    /// Tell the peer at once: the state is another one.
    pub(crate) transmit: bool,
    /// Answer a poll.
    pub(crate) answer: bool,
}

fn us(time: Duration) -> u32 {
    narrow::at_most(narrow::micros(time), u32::MAX)
}

fn from_us(us: u32) -> Duration {
    Duration::from_micros(u64::from(us))
}

/// Times within what the machine allows.
pub(crate) fn bounded(timers: Timers, limits: &Limits) -> Timers {
    let longest = Duration::from_micros(u64::from(u32::MAX));
    let bound = |time: Duration| time.max(limits.interval_min).min(longest);
    let optional = |time: Duration| if time.is_zero() { time } else { bound(time) };
    Timers {
        desired_min_tx: bound(timers.desired_min_tx),
        required_min_rx: bound(timers.required_min_rx),
        required_min_echo_rx: optional(timers.required_min_echo_rx),
        echo: optional(timers.echo),
        detect_mult: timers.detect_mult.max(1),
    }
}

impl Session {
    pub(crate) fn new(
        settings: SessionSettings,
        id: SessionId,
        discriminator: u32,
        now: Time,
    ) -> Self {
        let timers = settings.timers;
        let never = Time::MAX;
        Self {
            settings,
            id,
            discriminator,
            former: 0,
            is_spent: false,
            state: State::Down,
            diagnostic: Diagnostic::None,
            remote: STRANGER,
            sequence: Sequence::default(),
            clock: Clock {
                transmit: now,
                detect: never,
                echo: never,
                echo_detect: never,
                forget: never,
            },
            echoes: Echoes::default(),
            polls: false,
            transmit: timers.desired_min_tx.max(SLOW),
            receive: timers.required_min_rx,
            downs: 0,
            misnamed: 0,
        }
    }

    /// What we say that we would like to send at.
    fn desired_min_tx(&self) -> Duration {
        let configured = self.settings.timers.desired_min_tx;
        if self.state == State::Up { configured } else { configured.max(SLOW) }
    }

    /// The interval of our packets (§6.8.2).
    pub(crate) fn interval(&self) -> Duration {
        self.transmit.max(from_us(self.remote.min_rx_us))
    }

    fn are_both_up(&self) -> bool {
        self.state == State::Up && self.remote.state == State::Up
    }

    /// Whether we rely on polls alone (§6.6).
    fn demands(&self) -> bool {
        self.settings.demand && self.are_both_up()
    }

    /// The time without packets after which the peer is lost (§6.8.4).
    pub(crate) fn detection_time(&self, limits: &Limits) -> Duration {
        let time = if self.demands() {
            self.interval() * u32::from(self.settings.timers.detect_mult)
        } else {
            let interval = self.receive.max(from_us(self.remote.desired_min_tx_us));
            interval * u32::from(self.remote.detect_mult)
        };
        time.min(limits.detection_max)
    }

    /// Whether packets are sent at intervals (§6.8.7).
    fn transmits(&self) -> bool {
        let is_waiting = self.settings.role == Role::Passive && self.remote.discriminator == 0;
        let is_asked_not_to = self.remote.demand && self.are_both_up() && !self.polls;
        !is_waiting && !is_asked_not_to && self.remote.min_rx_us != 0
    }

    /// When the next packet is due, counted from now; `chance` is any number.
    pub(crate) fn schedule(&mut self, now: Time, chance: u32) {
        let at = now + jittered(self.interval(), self.settings.timers.detect_mult, chance);
        self.clock.transmit = if self.transmits() { at } else { Time::MAX };
    }

    /// Sees to it that a packet that became due earlier, or not at all, is so.
    pub(crate) fn reschedule(&mut self, now: Time, chance: u32) {
        let was = self.clock.transmit;
        self.schedule(now, chance);
        if self.clock.transmit != Time::MAX {
            self.clock.transmit = self.clock.transmit.min(was);
        }
    }

    /// The packet to be sent now.
    pub(crate) fn packet(&self, is_final: bool) -> Packet {
        let timers = self.settings.timers;
        Packet {
            diagnostic: self.diagnostic,
            state: self.state,
            poll: self.polls && !is_final,
            is_final,
            control_plane_independent: true,
            demand: self.demands(),
            detect_mult: timers.detect_mult,
            my_discriminator: self.discriminator,
            your_discriminator: self.remote.discriminator,
            desired_min_tx_us: us(self.desired_min_tx()),
            required_min_rx_us: us(timers.required_min_rx),
            required_min_echo_rx_us: match self.settings.path {
                Path::SingleHop { .. } => us(timers.required_min_echo_rx),
                _ => 0,
            },
        }
    }

    /// A packet that passed every check (§6.8.6, from "Set bfd.RemoteDiscr" on).
    pub(crate) fn receive(&mut self, now: Time, packet: &Packet, limits: &Limits) -> Reaction {
        self.remote = Remote {
            discriminator: packet.my_discriminator,
            state: packet.state,
            demand: packet.demand,
            detect_mult: packet.detect_mult,
            desired_min_tx_us: packet.desired_min_tx_us,
            min_rx_us: packet.required_min_rx_us,
            min_echo_rx_us: packet.required_min_echo_rx_us,
        };
        if packet.is_final && self.polls {
            self.polls = false;
            self.transmit = self.desired_min_tx();
            self.receive = self.settings.timers.required_min_rx;
        }
        let was = self.state;
        match (self.state, packet.state) {
            (State::AdminDown, _) => return Reaction::default(),
            (State::Init | State::Up, State::AdminDown) | (State::Up, State::Down) => {
                self.go_down(Diagnostic::NeighborDown);
            }
            (State::Down, State::Down) => self.go(State::Init),
            (State::Down, State::Init) | (State::Init, State::Init | State::Up) => {
                self.go(State::Up);
            }
            _ => {}
        }
        self.heard(now, limits);
        Reaction { transmit: self.state != was, answer: packet.poll }
    }

    fn heard(&mut self, now: Time, limits: &Limits) {
        let time = self.detection_time(limits);
        let is_awaited = !self.demands() || self.polls;
        // While a poll waits for its answer, other packets do not count.
        if !self.demands() || self.clock.detect == Time::MAX || !self.polls {
            self.clock.detect = if is_awaited { now + time } else { Time::MAX };
        }
        self.clock.forget = now + time * 2;
        self.start_echoes(now);
    }

    fn go(&mut self, state: State) {
        self.state = state;
        if state == State::Up {
            self.diagnostic = Diagnostic::None;
            // The peer hears of the quicker interval by a poll (§6.8.3).
            self.transmit = self.settings.timers.desired_min_tx;
            self.polls = true;
        }
    }

    /// Down, whatever it was before.
    pub(crate) fn go_down(&mut self, diagnostic: Diagnostic) {
        self.downs = self.downs.saturating_add(u32::from(self.state == State::Up));
        self.is_spent |= self.state == State::Up;
        self.state = State::Down;
        self.diagnostic = diagnostic;
        self.polls = false;
        self.transmit = self.desired_min_tx();
        self.receive = self.settings.timers.required_min_rx;
        (self.clock.echo, self.clock.echo_detect) = (Time::MAX, Time::MAX);
    }

    /// Whether it has another discriminator from now on: it was up under this one, and the peer
    /// does not count it as up any more, nor waits to hear that it was put down.
    pub(crate) fn begins_anew(&self) -> bool {
        self.is_spent && self.remote.state != State::Up && self.state != State::AdminDown
    }

    /// It has this discriminator from now on.
    pub(crate) fn renew(&mut self, discriminator: u32) {
        self.former = std::mem::replace(&mut self.discriminator, discriminator);
        self.is_spent = false;
    }

    /// The operator's word.
    pub(crate) fn disable(&mut self) {
        self.go_down(Diagnostic::AdministrativelyDown);
        self.state = State::AdminDown;
        self.clock.detect = Time::MAX;
    }

    pub(crate) fn enable(&mut self) {
        self.state = State::Down;
        self.diagnostic = Diagnostic::None;
        self.remote = STRANGER;
    }

    /// The detection time is over. Whether that changes the state.
    pub(crate) fn lose(&mut self) -> bool {
        self.clock.detect = Time::MAX;
        self.remote = STRANGER;
        let was_heard = matches!(self.state, State::Init | State::Up);
        if was_heard {
            self.go_down(Diagnostic::DetectionTimeExpired);
        }
        was_heard
    }

    /// Other times are in force: at once, or at the end of a Poll Sequence (§6.8.3).
    pub(crate) fn set_timers(&mut self, now: Time, timers: Timers, limits: &Limits) {
        self.settings.timers = timers;
        if self.state == State::Up {
            self.transmit = self.transmit.min(timers.desired_min_tx);
            self.receive = self.receive.max(timers.required_min_rx);
            self.poll(now, limits);
            (self.clock.echo, self.clock.echo_detect) = (Time::MAX, Time::MAX);
            self.start_echoes(now);
        } else {
            self.transmit = self.desired_min_tx();
            self.receive = timers.required_min_rx;
        }
    }

    /// Begins a Poll Sequence (§6.5); where the peer is silent otherwise, its answer is awaited.
    pub(crate) fn poll(&mut self, now: Time, limits: &Limits) {
        if self.state == State::Up && !self.polls {
            self.polls = true;
            if self.demands() {
                self.clock.detect = now + self.detection_time(limits);
            }
        }
    }

    /// Whether a packet proves as much of its sender as this session asks for. While it is up
    /// without a key, and its peer's silence would be noticed, a packet names both discriminators:
    /// who sees none of its packets has 64 bits to guess.
    pub(crate) fn is_proven_by(&self, packet: &Packet) -> bool {
        let is_watched = self.state == State::Up && self.clock.detect != Time::MAX;
        let is_named =
            packet.your_discriminator != 0 && packet.my_discriminator == self.remote.discriminator;
        is_named || !is_watched || self.settings.authentication.is_some()
    }

    /// The interval of our echoes; zero: there are none.
    fn echo_interval(&self) -> Duration {
        let (own, theirs) = (self.settings.timers.echo, self.remote.min_echo_rx_us);
        let is_single_hop = matches!(self.settings.path, Path::SingleHop { .. });
        if !is_single_hop || !self.are_both_up() || theirs == 0 || own.is_zero() {
            return Duration::ZERO;
        }
        own.max(from_us(theirs))
    }

    fn start_echoes(&mut self, now: Time) {
        let interval = self.echo_interval();
        if interval.is_zero() {
            (self.clock.echo, self.clock.echo_detect) = (Time::MAX, Time::MAX);
        } else if self.clock.echo == Time::MAX {
            self.clock.echo = now;
            self.echoes.returned = self.echoes.sent;
            self.await_echo(now);
        }
    }

    fn await_echo(&mut self, now: Time) {
        let patience = self.echo_interval() * u32::from(self.settings.timers.detect_mult);
        self.clock.echo_detect = now + patience;
    }

    /// The next echo's number.
    pub(crate) fn send_echo(&mut self, now: Time, chance: u32) -> u32 {
        self.echoes.sent = self.echoes.sent.wrapping_add(1);
        let interval = self.echo_interval();
        self.clock.echo = now + jittered(interval, self.settings.timers.detect_mult, chance);
        self.echoes.sent
    }

    /// An echo is back. Whether one of that number was awaited: later than the last one that came
    /// back, and sent.
    pub(crate) fn take_echo(&mut self, now: Time, sequence: u32) -> bool {
        let on_way = self.echoes.sent.wrapping_sub(self.echoes.returned);
        let step = sequence.wrapping_sub(self.echoes.returned);
        if self.clock.echo == Time::MAX || step == 0 || step > on_way {
            return false;
        }
        self.echoes.returned = sequence;
        self.await_echo(now);
        true
    }

    /// The first time at which something is due.
    pub(crate) fn due(&self) -> Time {
        let clock = &self.clock;
        clock.transmit.min(clock.detect).min(clock.echo).min(clock.echo_detect)
    }
}

/// An interval less 0 to 25 %, or 10 to 25 % where one packet must not be late (§6.8.7).
fn jittered(interval: Duration, detect_mult: u8, chance: u32) -> Duration {
    let most_pm = if detect_mult == 1 { 900 } else { 1_000 };
    let share_pm = 750 + u64::from(chance) % (most_pm - 750 + 1);
    Duration::from_nanos(narrow::nanos(interval) / 1_000 * share_pm)
}

const _: () = assert!(core::mem::size_of::<Session>() <= SESSION_OCTETS);
