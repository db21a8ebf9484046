//! All sessions of a worker: which one a packet is for, whether it is believed, and what is due.

use crate::agenda::Agenda;
use crate::authentication::Keys;
use crate::echo::{ECHO_OCTETS, Echo};
use crate::packet::{AuthSection, Datagram, Packet};
use crate::rows::{Diagnostic, Discard, State};
use crate::session::{Session, bounded};
use crate::settings::{Limits, Path, SessionId, SessionSettings, Timers};
use hashbrown::HashMap;
use machine::{Duration, KeyedHash, Machine, Time};
use std::collections::BTreeMap;

/// Packets ahead of the last one whose number is believed, for each that may be lost (§6.7.3).
const AHEAD: u32 = 3;

/// A packet as it arrived at one of the ports of control packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The path that it came by, seen from here.
    pub path: Path,
    /// The TTL or hop limit that it had.
    pub ttl: u8,
    /// Its payload.
    pub octets: Vec<u8>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum In {
    /// A control packet came.
    Received(Received),
    /// One of our echo packets came back.
    EchoReturned(Vec<u8>),
    /// The operator lets the session run.
    Enabled(SessionId),
    /// The operator put the session down.
    Disabled(SessionId),
    /// The path is known to be down, for that reason.
    PathDown(SessionId, Diagnostic),
    /// Somebody wants to know whether the peer still answers (demand mode).
    PollWanted(SessionId),
    /// The session has other times from now on.
    TimersChanged(SessionId, Timers),
}

/// What shall be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// The session's state is another one. Its state before, and why, stand with it; this comes
    /// before the packet that tells the peer.
    State {
        /// Which session.
        session: SessionId,
        /// Its state before.
        from: State,
        /// Its state now.
        to: State,
        /// Why it is down.
        diagnostic: Diagnostic,
    },
    /// A control packet leaves, with TTL 255 on one hop.
    Send {
        /// Which session.
        session: SessionId,
        /// The way.
        path: Path,
        /// What is sent.
        datagram: Datagram,
    },
    /// An echo packet leaves, to our own address by the neighbour.
    SendEcho {
        /// Which session.
        session: SessionId,
        /// The way.
        path: Path,
        /// Its payload.
        octets: [u8; ECHO_OCTETS],
    },
}

/// A session for people to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Our discriminator of it (bfd.LocalDiscr).
    pub discriminator: u32,
    /// Its state.
    pub state: State,
    /// Why it went down last.
    pub diagnostic: Diagnostic,
    /// The peer's state.
    pub remote_state: State,
    /// The peer's discriminator.
    pub remote_discriminator: u32,
    /// The interval of our packets.
    pub interval: Duration,
    /// The time after which the peer is lost.
    pub detection_time: Duration,
    /// How often it left the state Up.
    pub downs: u32,
    /// The number of the last echo that came back.
    pub echoes: u32,
    /// Packets that came by its path and did not name it as they must: whoever sees none of its
    /// packets guesses so.
    pub misnamed: u32,
}

/// The sessions.
#[derive(Debug)]
pub struct Sessions {
    limits: Limits,
    /// Keys that sessions name.
    pub keys: Keys,
    secret: KeyedHash,
    /// Which of several machines this is, and how many there are.
    part: [u32; 2],
    chance: KeyedHash,
    drawn: u64,
    /// Sessions that were added so far.
    added: u32,
    places: Vec<Option<Session>>,
    by_path: BTreeMap<Path, u16>,
    by_discriminator: HashMap<u32, u16>,
    agenda: Agenda,
    discards: [u64; Discard::ALL.len()],
}

impl Sessions {
    /// None yet. Discriminators, jitter, first sequence numbers and the tags of echoes are made
    /// from `seed`.
    #[must_use]
    pub fn new(limits: Limits, seed: [u8; 32]) -> Self {
        let secret = |of: &[u8]| KeyedHash::new(&KeyedHash::derive(&seed, of));
        Self {
            limits: Limits { sessions: limits.sessions.min(u16::MAX - 1), ..limits },
            keys: Keys::default(),
            secret: secret(b"echo"),
            part: [0, 1],
            chance: secret(b"chance"),
            drawn: 0,
            added: 0,
            places: Vec::new(),
            by_path: BTreeMap::new(),
            by_discriminator: HashMap::new(),
            agenda: Agenda::default(),
            discards: [0; Discard::ALL.len()],
        }
    }

    /// The same as one of `count` machines, the one of that number: no two sessions of theirs have
    /// one discriminator (RFC 5880 §6.8.1).
    #[must_use]
    pub fn among(self, number: u32, count: u32) -> Self {
        let count = count.max(1);
        Self { part: [number % count, count], ..self }
    }

    /// Adds a session, which begins at once. `None` when there are as many as may be, when one
    /// has that path already, or when its keys are not there.
    pub fn add(&mut self, now: Time, settings: SessionSettings) -> Option<SessionId> {
        let free = self.places.iter().position(Option::is_none).unwrap_or(self.places.len());
        self.add_at(now, machine::narrow::at_most(free as u64, u16::MAX), settings)
    }

    /// The same at a place that is free.
    pub fn add_at(&mut self, now: Time, at: u16, settings: SessionSettings) -> Option<SessionId> {
        let has_keys = settings.authentication.is_none_or(|it| self.keys.of(it).is_some());
        let place = usize::from(at);
        let is_taken = self.places.get(place).is_some_and(Option::is_some);
        if self.by_path.contains_key(&settings.path) || !has_keys || is_taken {
            return None;
        }
        if at >= self.limits.sessions {
            return None;
        }
        self.places.resize_with(self.places.len().max(place + 1), || None);
        let timers = bounded(settings.timers, &self.limits);
        let settings = SessionSettings { timers, ..settings };
        self.added = self.added.wrapping_add(1);
        let id = SessionId { place: at, generation: self.added };
        let discriminator = self.discriminator();
        let mut session = Session::new(settings, id, discriminator, now);
        session.sequence.transmit = self.chance();
        self.places[place] = Some(session);
        self.by_path.insert(settings.path, at);
        self.by_discriminator.insert(discriminator, at);
        self.agenda.arm(at.into(), now);
        Some(id)
    }

    /// A number that no session of these machines has, and that nobody guesses who sees none of its
    /// packets: all of it is chance but which of the machines has it.
    fn discriminator(&mut self) -> u32 {
        let [number, count] = self.part;
        loop {
            let chance = self.chance();
            let drawn = (chance - chance % count).checked_add(number).unwrap_or_default();
            if drawn != 0 && !self.by_discriminator.contains_key(&drawn) {
                return drawn;
            }
        }
    }

    /// Ends a session; the peer is told once that this was meant.
    pub fn remove(&mut self, id: SessionId, out: &mut Vec<Out>) {
        let Some(session) = self.of_mut(id) else { return };
        let (path, was) = (session.settings.path, session.state);
        let discriminator = session.discriminator;
        session.disable();
        if was != State::AdminDown {
            let diagnostic = session.diagnostic;
            out.push(Out::State { session: id, from: was, to: State::AdminDown, diagnostic });
        }
        self.send(id, false, out);
        self.by_path.remove(&path);
        self.by_discriminator.remove(&discriminator);
        self.places[usize::from(id.place)] = None;
    }

    /// A session that was up has another discriminator before it is up again: what somebody has
    /// recorded of it brings nothing up.
    fn renew(&mut self, id: SessionId) {
        if !self.of(id).is_some_and(Session::begins_anew) {
            return;
        }
        let drawn = self.discriminator();
        let Some(session) = self.of_mut(id) else { return };
        session.renew(drawn);
        let former = session.former;
        self.by_discriminator.remove(&former);
        self.by_discriminator.insert(drawn, id.place);
    }

    /// A number of which those that peers have seen say nothing.
    fn chance(&mut self) -> u32 {
        self.drawn += 1;
        machine::narrow::half(self.chance.number(&self.drawn.to_le_bytes()))
    }

    fn of_mut(&mut self, id: SessionId) -> Option<&mut Session> {
        self.places.get_mut(usize::from(id.place))?.as_mut().filter(|it| it.id == id)
    }

    fn of(&self, id: SessionId) -> Option<&Session> {
        self.at(id.place).filter(|it| it.id == id)
    }

    fn at(&self, place: u16) -> Option<&Session> {
        self.places.get(usize::from(place))?.as_ref()
    }

    /// The session that has a discriminator of ours.
    #[must_use]
    pub fn named(&self, discriminator: u32) -> Option<SessionId> {
        self.by_discriminator.get(&discriminator).and_then(|at| self.at(*at)).map(|it| it.id)
    }

    /// The session of a path.
    #[must_use]
    pub fn on(&self, path: &Path) -> Option<SessionId> {
        self.by_path.get(path).and_then(|at| self.at(*at)).map(|it| it.id)
    }

    /// A session, for people.
    #[must_use]
    pub fn summary(&self, id: SessionId) -> Option<Summary> {
        let session = self.of(id)?;
        Some(Summary {
            discriminator: session.discriminator,
            state: session.state,
            diagnostic: session.diagnostic,
            remote_state: session.remote.state,
            remote_discriminator: session.remote.discriminator,
            interval: session.interval(),
            detection_time: session.detection_time(&self.limits),
            downs: session.downs,
            echoes: session.echoes.returned,
            misnamed: session.misnamed,
        })
    }

    /// How many packets were discarded for a reason.
    #[must_use]
    pub const fn discarded(&self, why: Discard) -> u64 {
        self.discards[why as usize]
    }

    /// How many sessions there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_path.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_path.is_empty()
    }

    /// A control packet came by `path` with `ttl`: [`In::Received`] without a copy of the packet.
    /// The session that it was for.
    ///
    /// # Errors
    /// Why it was not believed, which is counted.
    pub fn receive(
        &mut self,
        now: Time,
        path: Path,
        ttl: u8,
        octets: &[u8],
        out: &mut Vec<Out>,
    ) -> Result<SessionId, Discard> {
        let found = self.accept(now, path, ttl, octets);
        match &found {
            Err(why) => self.discard(&path, *why),
            Ok((id, packet)) => self.react(now, *id, packet, out),
        }
        found.map(|it| it.0)
    }

    fn discard(&mut self, path: &Path, why: Discard) {
        self.discards[why as usize] += 1;
        let is_misnamed = matches!(why, Discard::YourDiscriminator | Discard::Unproven);
        if let Some(session) = self.on(path).filter(|_| is_misnamed).and_then(|it| self.of_mut(it))
        {
            session.misnamed = session.misnamed.saturating_add(1);
        }
    }

    /// The session of a packet that is believed.
    fn accept(
        &mut self,
        now: Time,
        path: Path,
        ttl: u8,
        octets: &[u8],
    ) -> Result<(SessionId, Packet), Discard> {
        let (packet, section) = Packet::read(octets)?;
        let (id, packet) = self.find(path, packet)?;
        let limits = self.limits;
        let session = self.of_mut(id).ok_or(Discard::NoSession)?;
        if ttl < session.settings.ttl_least() {
            return Err(Discard::Ttl);
        }
        if now >= session.clock.forget {
            session.sequence.receive = None;
        }
        let session = *session;
        // A peer that began anew is missed when the detection time is over, and heard from then on.
        if !session.is_proven_by(&packet) {
            return Err(Discard::Unproven);
        }
        let sequence = self.authenticate(&session, octets, section, packet.detect_mult)?;
        let session = self.of_mut(id).ok_or(Discard::NoSession)?;
        if sequence.is_some() {
            session.sequence.receive = sequence;
            session.clock.forget = now + session.detection_time(&limits) * 2;
        }
        if session.state == State::AdminDown {
            return Err(Discard::AdminDown);
        }
        Ok((id, packet))
    }

    /// The session that a packet is for (RFC 5880 §6.3, RFC 5881 §3), and what it says of it.
    fn find(&self, path: Path, packet: Packet) -> Result<(SessionId, Packet), Discard> {
        if packet.your_discriminator == 0 {
            if !matches!(packet.state, State::Down | State::AdminDown) {
                return Err(Discard::State);
            }
            return Ok((self.on(&path).ok_or(Discard::NoSession)?, packet));
        }
        let Some(id) = self.named(packet.your_discriminator) else {
            return self.find_former(path, packet);
        };
        let session = self.of(id).ok_or(Discard::YourDiscriminator)?;
        // The way back of a label switched path may be by IP (RFC 5884 §7).
        let comes_back = matches!(session.settings.path, Path::Lsp { .. })
            && matches!(path, Path::Multihop { .. });
        let is_its = session.settings.path == path || comes_back;
        if is_its { Ok((id, packet)) } else { Err(Discard::Path) }
    }

    /// The same of a packet that names none of the sessions. A peer that has not heard of this one
    /// yet names the one before it: it hears nothing of this one, and says so of itself.
    fn find_former(&self, path: Path, packet: Packet) -> Result<(SessionId, Packet), Discard> {
        let named = packet.your_discriminator;
        let id = self.on(&path).filter(|id| self.of(*id).is_some_and(|it| it.former == named));
        let id = id.ok_or(Discard::YourDiscriminator)?;
        let state = match packet.state {
            State::Up => return Err(Discard::Former),
            State::Init => State::Down,
            state => state,
        };
        Ok((id, Packet { state, your_discriminator: 0, ..packet }))
    }

    /// The number of a packet that is authenticated as its session wants; `None` where it wants
    /// no authentication.
    fn authenticate(
        &self,
        session: &Session,
        octets: &[u8],
        section: Option<AuthSection<'_>>,
        detect_mult: u8,
    ) -> Result<Option<u32>, Discard> {
        let wanted = session.settings.authentication.map(|number| self.keys.of(number));
        let (authentication, section) = match (wanted, section) {
            (None, None) => return Ok(None),
            (None, Some(_)) => return Err(Discard::AuthUnexpected),
            (Some(None), _) => return Err(Discard::AuthKey),
            (Some(Some(_)), None) => return Err(Discard::AuthMissing),
            (Some(Some(authentication)), Some(section)) => (authentication, section),
        };
        let ahead = AHEAD * u32::from(detect_mult);
        let expected = session.sequence.receive.map(|last| [last, ahead]);
        authentication.verify(octets, section, expected).map(Some)
    }

    fn react(&mut self, now: Time, id: SessionId, packet: &Packet, out: &mut Vec<Out>) {
        let (limits, chance) = (self.limits, self.chance());
        let Some(session) = self.of_mut(id) else { return };
        let was = session.state;
        let reaction = session.receive(now, packet, &limits);
        session.reschedule(now, chance);
        self.tell(id, was, out);
        if reaction.answer {
            self.send(id, true, out);
        }
        if reaction.transmit {
            self.transmit(now, id, out);
        }
        self.arm(id);
    }

    /// Tells of a state that is not what it was.
    fn tell(&mut self, id: SessionId, from: State, out: &mut Vec<Out>) {
        self.renew(id);
        let Some(session) = self.of(id).filter(|it| it.state != from) else { return };
        let diagnostic = session.diagnostic;
        out.push(Out::State { session: id, from, to: session.state, diagnostic });
    }

    fn arm(&mut self, id: SessionId) {
        let Some(at) = self.of(id).map(Session::due) else { return };
        if at != Time::MAX {
            self.agenda.arm(id.place.into(), at);
        }
    }

    /// Sends the packet of this interval, and says when the next one is due.
    fn transmit(&mut self, now: Time, id: SessionId, out: &mut Vec<Out>) {
        let chance = self.chance();
        let Some(session) = self.of_mut(id) else { return };
        session.schedule(now, chance);
        if session.clock.transmit != Time::MAX {
            self.send(id, false, out);
        }
    }

    fn send(&mut self, id: SessionId, is_final: bool, out: &mut Vec<Out>) {
        let Some(session) = self.of_mut(id) else { return };
        let mut datagram = session.packet(is_final).write();
        let (path, number) = (session.settings.path, session.settings.authentication);
        session.sequence.transmit = session.sequence.transmit.wrapping_add(1);
        let sequence = session.sequence.transmit;
        if let Some(number) = number {
            // Without its keys nothing is sent that the peer would not believe.
            let Some(authentication) = self.keys.of(number) else { return };
            authentication.seal(&mut datagram, sequence);
        }
        out.push(Out::Send { session: id, path, datagram });
    }

    fn return_echo(&mut self, now: Time, octets: &[u8]) -> Result<(), Discard> {
        let echo = Echo::read(octets, &self.secret).ok_or(Discard::ForeignEcho)?;
        let id = self.named(echo.discriminator).ok_or(Discard::StrayEcho)?;
        let session = self.of_mut(id).ok_or(Discard::StrayEcho)?;
        if !session.take_echo(now, echo.sequence) {
            return Err(Discard::StrayEcho);
        }
        self.arm(id);
        Ok(())
    }

    /// Everything that is due of a session.
    fn run(&mut self, now: Time, id: SessionId, out: &mut Vec<Out>) {
        let Some(session) = self.of_mut(id) else { return };
        let (was, clock) = (session.state, session.clock);
        let is_lost = clock.detect <= now && session.lose();
        if clock.echo_detect <= now && session.state == State::Up {
            session.go_down(Diagnostic::EchoFailed);
        }
        let is_echo_due = session.clock.echo <= now;
        let is_changed = is_lost || session.state != was;
        self.tell(id, was, out);
        if is_changed || clock.transmit <= now {
            self.transmit(now, id, out);
        }
        if is_echo_due {
            self.send_echo(now, id, out);
        }
        self.arm(id);
    }

    fn send_echo(&mut self, now: Time, id: SessionId, out: &mut Vec<Out>) {
        let chance = self.chance();
        let Some(session) = self.of_mut(id) else { return };
        let (path, sequence) = (session.settings.path, session.send_echo(now, chance));
        let echo = Echo { discriminator: session.discriminator, sequence };
        out.push(Out::SendEcho { session: id, path, octets: echo.write(&self.secret) });
    }

    /// A change by our own side; the peer is told at once.
    fn change(
        &mut self,
        now: Time,
        id: SessionId,
        change: impl FnOnce(&mut Session, &Limits),
        out: &mut Vec<Out>,
    ) {
        let limits = self.limits;
        let Some(session) = self.of_mut(id) else { return };
        let was = session.state;
        change(session, &limits);
        self.tell(id, was, out);
        self.transmit(now, id, out);
        self.arm(id);
    }
}

impl Machine for Sessions {
    type In = In;
    type Out = Out;

    fn step(&mut self, now: Time, input: In, out: &mut Vec<Out>) {
        match input {
            In::Received(it) => {
                // What was not believed is counted.
                let _ = self.receive(now, it.path, it.ttl, &it.octets, out);
            }
            In::EchoReturned(octets) => {
                if let Err(why) = self.return_echo(now, &octets) {
                    self.discards[why as usize] += 1;
                }
            }
            In::Enabled(id) => {
                let is_down = self.of(id).is_some_and(|it| it.state == State::AdminDown);
                if is_down {
                    self.change(now, id, |session, _| session.enable(), out);
                }
            }
            In::Disabled(id) => self.change(now, id, |session, _| session.disable(), out),
            In::PathDown(id, why) => {
                let is_heard = self.of(id).is_some_and(|it| it.state != State::AdminDown);
                if is_heard {
                    self.change(now, id, |session, _| session.go_down(why), out);
                }
            }
            In::PollWanted(id) => self.change(now, id, |it, limits| it.poll(now, limits), out),
            In::TimersChanged(id, timers) => {
                let timers = bounded(timers, &self.limits);
                self.change(now, id, |it, limits| it.set_timers(now, timers, limits), out);
            }
        }
    }

    fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        while let Some(index) = self.agenda.due(now) {
            let session = self.places.get(index as usize).and_then(Option::as_ref);
            let Some(id) = session.map(|it| it.id) else { continue };
            self.run(now, id, out);
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.agenda.deadline()
    }
}
