//! Connections of session controllers: who is there, and the messages in order.
//!
//! ```text
//!   Up ─ with a key: Challenge ─→ challenged ─ Prove ─→ greeting ─ Hello ─→ open ─ Down, 10 s
//!      └ without ────────────────────────────────────────↑   └──────── PATIENCE ──────→ closed
//! ```
//! One that says what none may say, or nothing in time, is closed: it connects again. An open one
//! is spoken to every [`BEAT`]: who hears nothing for longer takes this node for gone.

use crate::controllers::KeyId;
use crate::lease::Lessee;
use anchor::row::{
    BEAT, Envelope, Load, MEDIA_CONTROLLER, Message, Nonce, SESSION_CONTROLLER, proved, write,
};
use authentication::Keys;
use core::net::IpAddr;
use machine::{Duration, Time};
use runtime::{ConnId, Effects, Flow};
use std::collections::BTreeMap;

/// Time for a session controller to prove and name itself.
const PATIENCE: Duration = Duration::from_secs(10);
/// An acknowledgement waits so long for more to acknowledge …
const ACK_DELAY: Duration = Duration::from_millis(20);
/// … or until so many messages came.
const ACK_EVERY: u64 = 256;
/// Connections of who has proved itself, or said who it is where nobody has to prove it.
pub const LINKS_MAX: usize = 256;
/// Connections of others, and of those, of one address: of more the oldest goes.
const UNPROVEN_MAX: usize = 64;
const UNPROVEN_OF_ADDRESS_MAX: usize = 8;
/// Where there are no keys, a name is its connection's until that was silent for so long.
pub(crate) const SILENCE: Duration = Duration::from_secs(10);

/// How far a connection is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// It has to prove that it has the key.
    Challenged { nonce: Nonce, until: Time },
    /// It has to say who it is; it has these keys.
    Greeting { until: Time, keys: Box<[KeyId]> },
    /// It is that session controller's.
    Open(Lessee),
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Link {
    flow: Flow,
    state: State,
    /// When a message came last.
    heard_at: Time,
    /// The number of the last message that came, and of the last one that is acknowledged.
    heard: u64,
    acked: u64,
    ack_at: Option<Time>,
    /// The number of the last message that was sent.
    said: u64,
    /// Messages that could not be written.
    unwritten: u64,
}

impl Link {
    /// Sends a message.
    pub fn send(&mut self, out: &mut Effects, message: Message) {
        let envelope = Envelope { number: self.said + 1, message };
        let mut is_written = false;
        out.send(self.flow, |octets| is_written = write(&envelope, octets).is_ok());
        self.said += u64::from(is_written);
        self.unwritten += u64::from(!is_written);
    }

    /// Whether anybody could have said as much.
    fn is_unproven(&self) -> bool {
        match &self.state {
            State::Challenged { .. } => true,
            // One that has said who it is waits for the forwarder.
            State::Greeting { keys, .. } => keys.is_empty() && self.heard == 0,
            State::Open(_) => false,
        }
    }

    /// Says how its media controller is, behind the acknowledgement of all that came before: what
    /// the other side counts as done, and streams, are of one moment.
    pub fn tell_load(&mut self, now: Time, load: Load, out: &mut Effects) {
        if self.heard > self.acked {
            self.ack(now, out);
        }
        self.send(out, Message::Load(load));
    }

    fn ack(&mut self, now: Time, out: &mut Effects) {
        (self.ack_at, self.acked) = (Some(now + BEAT), self.heard);
        self.send(out, Message::Ack { number: self.heard });
    }
}

/// What a message of a connection is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Nothing for anybody else: it proves itself.
    Nothing,
    /// It says who it is.
    Hello { name: Box<str>, epoch: u64, keys: Box<[KeyId]> },
    /// What its session controller says.
    Said(Lessee, Message),
    /// It is of no use: why.
    Broken(&'static str),
}

/// All connections.
#[derive(Debug, Default)]
pub(crate) struct Links {
    links: BTreeMap<ConnId, Link>,
}

impl Links {
    /// A connection stands; `nonce` is drawn at random.
    pub fn up(&mut self, now: Time, flow: Flow, challenge: Option<Nonce>, out: &mut Effects) {
        self.make_room(flow.remote.ip(), out);
        let proven = self.links.values().filter(|link| !link.is_unproven()).count();
        if proven >= LINKS_MAX {
            return out.close(flow);
        }
        let until = now + PATIENCE;
        let state = match challenge {
            Some(nonce) => State::Challenged { nonce, until },
            None => State::Greeting { until, keys: Box::default() },
        };
        let (heard, acked, ack_at, said, unwritten) = (0, 0, None, 0, 0);
        let heard_at = now;
        let mut link = Link { flow, state, heard_at, heard, acked, ack_at, said, unwritten };
        if let Some(nonce) = challenge {
            link.send(out, Message::Challenge { nonce });
        }
        self.links.insert(flow.conn, link);
    }

    /// Closes the oldest of those that prove nothing, where one more of them were too many.
    fn make_room(&mut self, address: IpAddr, out: &mut Effects) {
        let unproven = || self.links.values().filter(|link| link.is_unproven());
        let of_address = || unproven().filter(|link| link.flow.remote.ip() == address);
        let oldest = if of_address().count() >= UNPROVEN_OF_ADDRESS_MAX {
            of_address().min_by_key(|link| link.heard_at)
        } else if unproven().count() >= UNPROVEN_MAX {
            unproven().min_by_key(|link| link.heard_at)
        } else {
            None
        };
        if let Some(flow) = oldest.map(|link| link.flow) {
            self.close(&flow, out);
        }
    }

    /// Whether the connection stands.
    pub fn has(&self, flow: &Flow) -> bool {
        self.links.contains_key(&flow.conn)
    }

    /// Whether another connection of a session controller was heard of late.
    pub fn is_alive_elsewhere(&mut self, now: Time, lessee: Lessee, flow: &Flow) -> bool {
        let link = self.of(lessee).filter(|link| link.flow.conn != flow.conn);
        link.is_some_and(|link| now < link.heard_at + SILENCE)
    }

    /// Messages that could not be written since that was asked last.
    pub fn take_unwritten(&mut self) -> u64 {
        self.links.values_mut().map(|link| std::mem::take(&mut link.unwritten)).sum()
    }

    /// A connection is over; whose it was.
    pub fn down(&mut self, flow: &Flow) -> Option<Lessee> {
        match self.links.remove(&flow.conn)?.state {
            State::Open(lessee) => Some(lessee),
            State::Challenged { .. } | State::Greeting { .. } => None,
        }
    }

    /// Closes a connection; whose it was.
    pub fn close(&mut self, flow: &Flow, out: &mut Effects) -> Option<Lessee> {
        out.close(*flow);
        self.down(flow)
    }

    /// Closes all.
    pub fn close_all(&mut self, out: &mut Effects) {
        std::mem::take(&mut self.links).values().for_each(|link| out.close(link.flow));
    }

    /// Takes a message.
    pub fn hear(
        &mut self,
        now: Time,
        flow: &Flow,
        envelope: Envelope,
        keys: Option<&Keys>,
        out: &mut Effects,
    ) -> Heard {
        let Some(link) = self.links.get_mut(&flow.conn) else { return Heard::Nothing };
        if envelope.number != link.heard + 1 {
            return Heard::Broken("a message lacks");
        }
        link.heard += 1;
        link.heard_at = now;
        match (&link.state, envelope.message) {
            (State::Challenged { nonce, until }, Message::Prove { nonce: theirs, proofs }) => {
                let (nonce, until) = (*nonce, *until);
                let both = proved(&nonce, &theirs);
                let Some(keys) = keys else { return Heard::Broken("there is no key any more") };
                let proved = KeyId::proved(keys, SESSION_CONTROLLER, &both, &proofs);
                if proved.is_empty() {
                    return Heard::Broken("it does not have the key");
                }
                let ours = keys.prove(MEDIA_CONTROLLER, &both);
                let proofs = ours.into_iter().map(Into::into).collect();
                link.send(out, Message::Prove { nonce, proofs });
                link.state = State::Greeting { until, keys: proved };
                Heard::Nothing
            }
            (State::Challenged { .. }, _) => Heard::Broken("it proves nothing"),
            (State::Greeting { keys, .. }, Message::Hello { version, name, epoch, .. }) => {
                if version == 0 || name.is_empty() {
                    return Heard::Broken("it has no version or no name");
                }
                Heard::Hello { name, epoch, keys: keys.clone() }
            }
            (State::Greeting { .. }, _) => Heard::Broken("it does not say who it is"),
            (State::Open(lessee), message) => {
                let lessee = *lessee;
                let at = now + ACK_DELAY;
                link.ack_at = Some(link.ack_at.map_or(at, |beat| beat.min(at)));
                if link.heard - link.acked >= ACK_EVERY {
                    link.ack_at = Some(now);
                }
                Heard::Said(lessee, message)
            }
        }
    }

    /// A connection is that session controller's from now on; one that was before is closed.
    pub fn open(&mut self, now: Time, flow: &Flow, lessee: Lessee, out: &mut Effects) {
        let before = self.of(lessee).map(|link| link.flow).filter(|it| it.conn != flow.conn);
        if let Some(before) = before {
            self.close(&before, out);
        }
        if let Some(link) = self.links.get_mut(&flow.conn) {
            link.state = State::Open(lessee);
            link.ack_at = Some(now + BEAT);
        }
    }

    /// The connection of a session controller.
    pub fn of(&mut self, lessee: Lessee) -> Option<&mut Link> {
        self.links.values_mut().find(|link| link.state == State::Open(lessee))
    }

    /// Where a session controller is connected from.
    pub fn flow_of(&self, lessee: Lessee) -> Option<Flow> {
        let mut links = self.links.values();
        links.find(|link| link.state == State::Open(lessee)).map(|link| link.flow)
    }

    /// Those that are open.
    pub fn open_ones(&mut self) -> impl Iterator<Item = &mut Link> {
        self.links.values_mut().filter(|link| matches!(link.state, State::Open(_)))
    }

    /// Acknowledges what waited long enough, and closes those that say nothing; how many.
    pub fn tick(&mut self, now: Time, out: &mut Effects) -> u64 {
        for link in self.links.values_mut() {
            if link.ack_at.is_some_and(|at| at <= now) {
                link.ack(now, out);
            }
        }
        let is_late = |link: &Link| match link.state {
            State::Challenged { until, .. } | State::Greeting { until, .. } => until <= now,
            State::Open(_) => false,
        };
        let late: Vec<Flow> =
            self.links.values().filter(|link| is_late(link)).map(|link| link.flow).collect();
        for flow in &late {
            self.close(flow, out);
        }
        late.len() as u64
    }

    /// When [`Links::tick`] wants to be called next.
    pub fn deadline(&self) -> Option<Time> {
        let due = |link: &Link| match link.state {
            State::Challenged { until, .. } | State::Greeting { until, .. } => Some(until),
            State::Open(_) => link.ack_at,
        };
        self.links.values().filter_map(due).min()
    }
}
