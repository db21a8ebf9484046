//! Finding the forwarder, telling it everything, and telling it what changes.

use crate::desired::Desired;
use crate::numbers::{Kept, Numbers};
use crate::{
    Dataplane, Link, Notification, REFUSALS_MAX, RETRY, RETRY_STARTING, STABLE, STARTING_MAX,
    State, WELCOME,
};
use forwarder::ipc::{self, Broken, MEMO_OCTETS_MAX, Reply, Request, WorkerState};
use machine::Time;
use nodes::Program;
use runtime::{ChannelEvent, Effects};

impl Dataplane {
    /// Takes what happened on the channel of the control.
    pub(crate) fn heard(
        &mut self,
        now: Time,
        event: ChannelEvent<'_>,
        out: &mut Effects,
    ) -> Option<Notification> {
        match event {
            ChannelEvent::Up => {
                self.turned_away = None;
                self.state = State::Greeted(now + WELCOME);
            }
            ChannelEvent::Absent(why) => {
                let since = *self.starting.get_or_insert(now);
                let is_starting = why.is_none() && now.since(since) < STARTING_MAX;
                self.state = State::Away(now + if is_starting { RETRY_STARTING } else { RETRY });
                if let Some(why) = why {
                    self.refuse("the forwarder", why);
                }
            }
            ChannelEvent::Down(why) => self.lose(now, why),
            // What was on its way when this control gave up, and packets, which have channels.
            ChannelEvent::Message(_) if !self.has_channel() => {}
            ChannelEvent::Packet(..) | ChannelEvent::Shed(_) => {}
            ChannelEvent::Message(message) => match ipc::read(message) {
                Ok(Some((reply, _))) => return self.take(now, reply),
                Ok(None) => {}
                Err(broken) => {
                    out.hang_up(self.channels.control);
                    self.lose(now, &broken.to_string());
                }
            },
        }
        None
    }

    pub(crate) fn has_channel(&self) -> bool {
        !matches!(self.state, State::Away(_) | State::Connecting(_))
    }

    pub(crate) fn lose(&mut self, now: Time, why: &str) {
        self.tally.lost += 1;
        // One that turned this control away has said why.
        if !self.is_draining && self.turned_away.is_none() {
            self.refuse("the connection to the forwarder", why);
        }
        if self.controlled.is_some() && !self.is_draining {
            let (socket, what) = (self.launch.socket.display(), "the forwarder has gone");
            tracing::warn!(target: "forwarder", %socket, why, "{what}: another one is looked for");
        }
        if self.controlled.take().is_some_and(|since| now.since(since) >= STABLE) {
            self.starting = Some(now);
            self.state = State::Away(now);
        } else {
            // One that dies closes its socket last: who looks for it at once may still be let in.
            let is_starting = self.starting.is_some_and(|since| now.since(since) < STARTING_MAX);
            self.state = State::Away(now + if is_starting { RETRY_STARTING } else { RETRY });
        }
        self.links.clear();
        self.link_changes += 1;
        self.unended = None;
    }

    fn take(&mut self, now: Time, reply: Reply) -> Option<Notification> {
        match reply {
            Reply::Welcome { ports, memo, is_taken } => {
                self.is_taken = is_taken;
                let numbers = serde_json::from_slice::<Numbers>(&memo);
                if let Some(numbers) = numbers.ok().filter(Numbers::is_sound) {
                    self.numbers = numbers;
                }
                self.state = State::Welcomed(ports);
                return Some(Notification::Welcomed);
            }
            Reply::Refused { what, why, of } => {
                self.refuse(&what, &why);
                if matches!(self.state, State::Greeted(_)) {
                    self.turned_away = Some(why);
                }
                return of.map(Notification::Refused);
            }
            Reply::Link { port, up, mac } => {
                self.link_changes += 1;
                self.links.insert(port, Link { up, mac });
            }
            Reply::Mac(notice) => return Some(Notification::Mac(notice)),
            Reply::Item(item) => return Some(Notification::Item(item)),
            Reply::Worker { worker, state, why } => self.worker(now, worker, state, why),
            // Questions and packet channels have channels of their own, and challenges are met
            // below those.
            Reply::Answer { .. } | Reply::Challenge { .. } | Reply::PacketChannel { .. } => {}
        }
        None
    }

    fn worker(&mut self, now: Time, worker: u16, state: WorkerState, why: String) {
        match state {
            WorkerState::Dead => self.tally.workers_crashed += 1,
            WorkerState::Hung => self.tally.workers_hung += 1,
            WorkerState::Forwards => {}
        }
        let before = self.workers.get(&worker).map(|(at, ..)| *at);
        // That it is back does not end the alarm of its crash.
        let at = if state == WorkerState::Forwards { before.unwrap_or(now) } else { now };
        self.workers.insert(worker, (at, state, why));
    }

    /// Remembers that something was refused.
    pub(crate) fn refuse(&mut self, what: &str, why: &str) {
        self.tally.refused += 1;
        if self.refusals.back().is_some_and(|last| (&*last.0, &*last.1) == (what, why)) {
            return;
        }
        if self.refusals.len() == REFUSALS_MAX {
            self.refusals.pop_front();
        }
        self.refusals.push_back((what.to_owned(), why.to_owned()));
    }

    /// Tells the forwarder what `compile` says shall be: everything to one that has just welcomed
    /// this control, which removes what it does not hear again, and else what differs. Without a
    /// forwarder nothing happens.
    pub fn say(
        &mut self,
        now: Time,
        out: &mut Effects,
        compile: impl FnOnce(&mut Numbers) -> Desired,
    ) {
        self.say_with(now, out, |numbers, _| (compile(numbers), Vec::new()));
    }

    /// The same of a function that tells single things as they change ([`Dataplane::tell`]): for a
    /// forwarder that has just welcomed this control `compile` is called with `true`, and says all
    /// of those that stand beside.
    pub fn say_with(
        &mut self,
        now: Time,
        out: &mut Effects,
        compile: impl FnOnce(&mut Numbers, bool) -> (Desired, Vec<Program>),
    ) {
        let state = std::mem::replace(&mut self.state, State::Away(now));
        self.numbers.wake(now);
        let (before, desired, programs) = match state {
            State::Welcomed(standing) => {
                self.tally.adopted += 1;
                if self.tally.adopted > 1 {
                    let socket = self.launch.socket.display();
                    tracing::info!(target: "forwarder", %socket, "a forwarder was told everything");
                }
                (self.controlled, self.starting) = (Some(now), None);
                // What went wrong before there was one.
                self.refusals.clear();
                let (desired, rest) = compile(&mut self.numbers, true);
                let ports = standing.into_iter().map(|spec| (spec.port, spec)).collect();
                let generation = now.as_nanos();
                let begin = Program::Begin { generation };
                let end = Some(Program::End { generation }).filter(|_| !self.holds);
                self.unended = self.holds.then_some(generation);
                let whole = [begin].into_iter().chain(desired.whole());
                let programs = whole.chain(rest).chain(end).collect();
                (Box::new(Desired { ports, ..Desired::default() }), desired, programs)
            }
            State::Controlled(said) => {
                let (desired, _) = compile(&mut self.numbers, false);
                let programs: Vec<Program> = said.changes(&desired);
                self.refusals.clear();
                (said, desired, programs)
            }
            state => return self.state = state,
        };
        self.tally.programs += programs.len() as u64;
        self.tally.routes = (desired.routes4.len() + desired.routes6.len()) as u64;
        self.links
            .retain(|port, _| desired.ports.contains_key(port) || !before.ports.contains_key(port));
        let mut written = Ok(());
        self.numbers.wake(now);
        let memo = serde_json::to_vec(&self.numbers).unwrap_or_default();
        self.numbers.kept = Kept::default();
        out.write(self.channels.control, |into| {
            written = write(&before, &desired, &programs, into).and_then(|()| keep(memo, into));
        });
        self.state = State::Controlled(Box::new(desired));
        if let Err(broken) = written {
            out.hang_up(self.channels.control);
            self.lose(now, &broken.to_string());
        }
    }

    /// Tells things that stand beside what [`Dataplane::say_with`] compares, a great many of which
    /// change one by one. Without a forwarder nothing happens: it is told all when it comes.
    pub fn tell(&mut self, now: Time, out: &mut Effects, programs: &[Program]) {
        if programs.is_empty() || !self.is_controlled() {
            return;
        }
        self.tally.programs += programs.len() as u64;
        let mut written = Ok(());
        out.write(self.channels.control, |into| written = ipc::write_programs(programs, into));
        if let Err(broken) = written {
            out.hang_up(self.channels.control);
            self.lose(now, &broken.to_string());
        }
    }

    /// What a forwarder has that this control does not say to it stays until
    /// [`Dataplane::release`]: a control that began anew hears of some of it from others first.
    pub fn hold(&mut self) {
        self.holds = true;
    }

    /// Whatever was not said since a forwarder was found goes now, and from now on at once.
    pub fn release(&mut self, now: Time, out: &mut Effects) {
        self.holds = false;
        if let Some(generation) = self.unended.take() {
            self.tell(now, out, &[Program::End { generation }]);
        }
    }

    /// Leaves the numbers and notes with the forwarder for the control that comes next.
    pub fn keep(&mut self, out: &mut Effects) {
        self.keep_these(&self.numbers, out);
        self.numbers.kept = Kept::default();
    }

    pub(crate) fn keep_these(&self, numbers: &Numbers, out: &mut Effects) {
        if !self.is_controlled() {
            return;
        }
        let memo = serde_json::to_vec(numbers).unwrap_or_default();
        // Its length is looked at, and nothing else can be wrong with it.
        out.write(self.channels.control, |into| drop(keep(memo, into)));
    }

    /// Ends the forwarder.
    pub(crate) fn stop(&mut self, out: &mut Effects) {
        if self.has_channel() {
            // It is short.
            out.write(self.channels.control, |into| drop(ipc::write(&Request::Stop, into)));
        }
    }
}

/// Ports first, then what stands on them; ports that go, last.
fn write(
    before: &Desired,
    desired: &Desired,
    programs: &[Program],
    into: &mut Vec<u8>,
) -> Result<(), Broken> {
    for (number, spec) in &desired.ports {
        if before.ports.get(number) != Some(spec) {
            ipc::write(&Request::Open(spec.clone()), into)?;
        }
    }
    ipc::write_programs(programs, into)?;
    let mut gone = before.ports.keys().filter(|port| !desired.ports.contains_key(port));
    gone.try_for_each(|&port| ipc::write(&Request::Close { port }, into))
}

/// Leaves octets with the forwarder for the control that comes next; those that are too long are
/// not kept.
fn keep(memo: Vec<u8>, into: &mut Vec<u8>) -> Result<(), Broken> {
    if memo.len() > MEMO_OCTETS_MAX {
        return Ok(());
    }
    ipc::write(&Request::Keep(memo), into)
}
