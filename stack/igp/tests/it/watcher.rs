//! The sessions of BFD of one router's forwarder.

use bfd::{Datagram, Limits, Out, Path, SessionId, SessionSettings, Sessions, State, Timers};
use detection::program::{Name, Notice, Said};
use machine::{Machine as _, Time};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

pub struct Watcher {
    sessions: Sessions,
    known: BTreeMap<Name, (SessionId, Said, bool)>,
    /// Packets that leave: interface, from, to.
    pub leaving: Vec<(u32, Ipv4Addr, Ipv4Addr, Datagram)>,
    /// What the control is told.
    pub notices: Vec<(Name, Notice)>,
}

fn four(address: IpAddr) -> Ipv4Addr {
    let IpAddr::V4(address) = address else { panic!("{address}") };
    address
}

impl Watcher {
    pub fn new(seed: u8) -> Self {
        let sessions = Sessions::new(Limits::default(), [seed; 32]);
        Self { sessions, known: BTreeMap::new(), leaving: Vec::new(), notices: Vec::new() }
    }

    pub fn tell(&mut self, now: Time, name: Name, said: Option<Said>) {
        let mut out = Vec::new();
        let same = |it: &(SessionId, Said, bool)| said.as_ref().is_some_and(|new| *new == it.1);
        if self.known.get(&name).is_some_and(same) {
            return;
        }
        if let Some((id, ..)) = self.known.get(&name) {
            self.sessions.remove(*id, &mut out);
        }
        self.follow(out);
        self.known.remove(&name);
        if let Some(said) = said {
            let Name { interface, address: remote } = name;
            let path = Path::SingleHop { interface, remote };
            let timers = Timers::every(said.interval, said.multiplier);
            let id = self.sessions.add(now, SessionSettings::new(path, timers)).unwrap();
            self.known.insert(name, (id, said, false));
        }
    }

    pub fn receive(&mut self, now: Time, interface: u32, from: Ipv4Addr, octets: &[u8]) {
        let (mut out, path) = (Vec::new(), Path::SingleHop { interface, remote: from.into() });
        let _ = self.sessions.receive(now, path, 255, octets, &mut out);
        self.follow(out);
    }

    pub fn tick(&mut self, now: Time) {
        let mut out = Vec::new();
        self.sessions.tick(now, &mut out);
        self.follow(out);
    }

    pub fn deadline(&self) -> Option<Time> {
        self.sessions.deadline()
    }

    fn follow(&mut self, out: Vec<Out>) {
        for one in out {
            match one {
                Out::Send { session, datagram, .. } => {
                    let its = self.known.values().find(|it| it.0 == session);
                    let Some((_, said, _)) = its else { continue };
                    let ends = [said.local, said.name.address].map(four);
                    self.leaving.push((said.name.interface, ends[0], ends[1], datagram));
                }
                Out::State { session, from, to, diagnostic } => {
                    let Some(it) = self.known.values_mut().find(|it| it.0 == session) else {
                        continue;
                    };
                    let remote = self.sessions.summary(session).map(|it| it.remote_state);
                    let is_closed = remote == Some(State::AdminDown);
                    it.2 = match (from, to) {
                        (State::Up, State::Down) => !is_closed,
                        (_, State::Up | State::AdminDown) => false,
                        _ => it.2,
                    };
                    let notice = Notice {
                        turn: it.1.turn,
                        state: Some(to),
                        diagnostic: Some(diagnostic),
                        is_lost: it.2,
                        ..Notice::default()
                    };
                    self.notices.push((it.1.name, notice));
                }
                Out::SendEcho { .. } => {}
            }
        }
    }
}
