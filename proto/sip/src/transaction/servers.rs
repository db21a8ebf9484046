//! The server side of the table (RFC 3261 §17.2).

use super::act::Act;
use super::clock::Clock;
use super::server::{Server, ServerMachine, Signal};
use super::{Arrival, BUCKET_FILL_MAX, Out, ServerId, Transactions, WheelKey};
use crate::{Message, Method, Via};
use core::hash::Hash;
use machine::Time;

impl<F: Copy + Eq + Hash, U: Copy> Transactions<F, U> {
    /// The user of a server transaction, once it was set and while the transaction lives.
    #[must_use]
    pub fn user(&self, id: ServerId) -> Option<U> {
        self.servers.get(id.0, id.1).and_then(|server| server.user)
    }

    /// Says whose transaction `id` is.
    pub fn set_user(&mut self, id: ServerId, user: U) {
        if let Some(server) = self.servers.get_mut(id.0, id.1) {
            server.user = Some(user);
        }
    }

    /// The user sent the response `bytes` with `status`; it is kept for as long as it may have
    /// to be sent again. Responses after the final one are ignored.
    pub fn respond(&mut self, now: Time, id: ServerId, status: u16, bytes: &[u8]) {
        if self.servers.get(id.0, id.1).is_none() {
            return;
        }
        let signal = match status {
            100..=199 => Signal::Provisional,
            200..=299 => Signal::Success,
            _ => Signal::Failure,
        };
        let mut none = Vec::new();
        self.signal_server(now, id.0, signal, bytes, &mut none);
    }

    /// A response of `id` could not be delivered (§17.2.4): one that is owed or repeated is given
    /// up, and the transaction with it.
    pub fn response_failed(&mut self, now: Time, id: ServerId) {
        if self.servers.get(id.0, id.1).is_some() {
            let mut none = Vec::new();
            self.signal_server(now, id.0, Signal::TransportError, &[], &mut none);
        }
    }

    /// The user of `id` is gone and will never answer: the transaction is over, in any state.
    pub fn abandon(&mut self, id: ServerId) {
        if self.servers.get(id.0, id.1).is_some() {
            self.end_server(id.0);
        }
    }

    pub(super) fn receive_request(
        &mut self,
        now: Time,
        from: F,
        reliable: bool,
        message: &Message<'_>,
        out: &mut Vec<Out<F, U>>,
    ) -> Arrival<U> {
        let method = message.method();
        let sought = if method == Method::Ack { Method::Invite } else { method };
        let found = self.find(message, sought);
        match (found, method) {
            (Some(index), Method::Ack) => self.receive_ack(now, index, out),
            (Some(index), _) => {
                let start = out.len();
                self.signal_server(now, index, Signal::Request, &[], out);
                answer_where_it_came_from(&mut out[start..], from);
                Arrival::Absorbed
            }
            (None, Method::Ack) => Arrival::Ack2xx,
            (None, _) => self.begin(from, reliable, message, method),
        }
    }

    fn begin(
        &mut self,
        from: F,
        reliable: bool,
        message: &Message<'_>,
        method: Method,
    ) -> Arrival<U> {
        if self.servers.len() >= BUCKET_FILL_MAX * self.heads.len() {
            self.double_buckets();
        }
        let hash = self.probe.hash;
        let bucket = hash as usize & (self.heads.len() - 1);
        let server = Server {
            key: self.probe.key,
            hash,
            next: self.heads[bucket],
            machine: ServerMachine::new(method),
            reliable,
            clock: Clock::STOPPED,
            from,
            user: None,
            bytes: None,
        };
        let Some((index, generation)) = self.servers.insert(server) else {
            return Arrival::Overload;
        };
        self.heads[bucket] = index + 1;
        let id = ServerId(index, generation);
        if method == Method::Cancel {
            return Arrival::Cancel { id, invite: self.cancelled_by(message) };
        }
        Arrival::Request(id)
    }

    /// Deals all transactions out to twice as many buckets: some 50 ns each, once for each time
    /// that their number doubles.
    fn double_buckets(&mut self) {
        let mut heads = vec![0; 2 * self.heads.len()];
        for index in 0..self.servers.slots() {
            let Some(server) = self.servers.at_mut(index) else { continue };
            let bucket = server.hash as usize & (heads.len() - 1);
            server.next = core::mem::replace(&mut heads[bucket], index + 1);
        }
        self.heads = heads.into();
    }

    /// The INVITE that a CANCEL means, with its user (§9.2).
    fn cancelled_by(&mut self, cancel: &Message<'_>) -> Option<(ServerId, U)> {
        let index = self.find(cancel, Method::Invite)?;
        let (generation, server) = self.servers.at(index)?;
        Some((ServerId(index, generation), server.user?))
    }

    /// Whether a request of this method with this top Via would be a retransmission, told
    /// without parsing the rest of it. `true` also where only the whole request could tell
    /// (RFC 2543, methods without a row).
    pub fn is_known(&mut self, via: &Via<'_>, method: Method) -> bool {
        if !self.probe.fill_via(via, method, [&self.hash, &self.proof]) {
            return true;
        }
        let hash = self.probe.hash;
        let mut next = self.heads[hash as usize & (self.heads.len() - 1)];
        while let Some((_, server)) = next.checked_sub(1).and_then(|index| self.servers.at(index)) {
            if server.hash == hash && self.probe.matches(&server.key) {
                return true;
            }
            next = server.next;
        }
        false
    }

    /// Index of the transaction that `message` belongs to if its method counts as `method`.
    /// Leaves the key in the probe.
    fn find(&mut self, message: &Message<'_>, method: Method) -> Option<u32> {
        self.probe.fill(message, method, [&self.hash, &self.proof]);
        let hash = self.probe.hash;
        let mut next = self.heads[hash as usize & (self.heads.len() - 1)];
        while let Some((_, server)) = next.checked_sub(1).and_then(|index| self.servers.at(index)) {
            let same = server.hash == hash && self.probe.matches(&server.key);
            if same && (!self.probe.any_to_tag || server.sent_tag_of(message)) {
                return Some(next - 1);
            }
            next = server.next;
        }
        None
    }

    fn receive_ack(&mut self, now: Time, index: u32, out: &mut Vec<Out<F, U>>) -> Arrival<U> {
        let Some((_, server)) = self.servers.at(index) else { return Arrival::Ack2xx };
        if server.machine.accepted() {
            return Arrival::Ack2xx;
        }
        let user = server.user;
        let act = self.signal_server(now, index, Signal::Ack, &[], out);
        match user {
            Some(user) if act.has(Act::PASS) => Arrival::AckNon2xx(user),
            _ => Arrival::Absorbed,
        }
    }

    pub(super) fn fire_server(&mut self, now: Time, id: ServerId, out: &mut Vec<Out<F, U>>) {
        let Some(server) = self.servers.get_mut(id.0, id.1) else { return };
        if server.clock.armed > now {
            return;
        }
        server.clock.armed = Time::MAX;
        if server.clock.end <= now {
            self.signal_server(now, id.0, Signal::End, &[], out);
        } else if server.clock.resend <= now {
            let timers = self.timers;
            server.clock.again(now, &timers);
            self.signal_server(now, id.0, Signal::Resend, &[], out);
        }
        if self.servers.get(id.0, id.1).is_some() {
            self.schedule_server(id.0);
        }
    }

    /// Runs the machine of the transaction at `index` and carries out what it asks.
    fn signal_server(
        &mut self,
        now: Time,
        index: u32,
        signal: Signal,
        bytes: &[u8],
        out: &mut Vec<Out<F, U>>,
    ) -> Act {
        let Some((generation, _)) = self.servers.at(index) else { return Act::NOTHING };
        let Some(server) = self.servers.at_mut(index) else { return Act::NOTHING };
        let before = server.machine;
        let (after, act) = before.step(signal);
        server.machine = after;
        if act.has(Act::STORE) {
            server.bytes = Some(bytes.into());
        }
        if act.has(Act::RESEND) {
            let from = server.from;
            out.extend(server.bytes.clone().map(|bytes| Out::Send { to: from, bytes }));
        }
        if act.has(Act::FORGET) {
            server.bytes = None;
        }
        if let (true, Some(user)) = (act.has(Act::TIMEOUT), server.user) {
            out.push(Out::AckMissing { id: ServerId(index, generation), user });
        }
        if before != after {
            self.enter_server(now, index);
        }
        act
    }

    /// Sets the timers of the state that the transaction at `index` is in; ends it if it is over.
    fn enter_server(&mut self, now: Time, index: u32) {
        let timers = self.timers;
        let Some(server) = self.servers.at_mut(index) else { return };
        let reliable = server.reliable;
        let leave = server.clock.enter(now, server.machine.arming(), &timers, reliable);
        if leave {
            server.machine = server.machine.step(Signal::End).0;
        }
        if server.machine.is_over() {
            self.end_server(index);
        } else {
            self.schedule_server(index);
        }
    }

    fn end_server(&mut self, index: u32) {
        let Some(server) = self.servers.remove(index) else { return };
        let bucket = server.hash as usize & (self.heads.len() - 1);
        if self.heads[bucket] == index + 1 {
            self.heads[bucket] = server.next;
            return;
        }
        let mut at = self.heads[bucket];
        while let Some(entry) = at.checked_sub(1).and_then(|index| self.servers.at_mut(index)) {
            if entry.next == index + 1 {
                entry.next = server.next;
                return;
            }
            at = entry.next;
        }
    }

    fn schedule_server(&mut self, index: u32) {
        let Some((generation, _)) = self.servers.at(index) else { return };
        let Some(server) = self.servers.at_mut(index) else { return };
        let next = server.clock.next();
        if next < server.clock.armed {
            server.clock.armed = next;
            self.wheel.arm(next, WheelKey::Server(index, generation));
        }
    }
}

impl<F, U> Server<F, U> {
    /// Whether the To tag of `ack` is the one in the response that was sent (§17.2.3). A response
    /// that was sent and is forgotten fits: the ACK is a retransmission then.
    fn sent_tag_of(&self, ack: &Message<'_>) -> bool {
        let Some(bytes) = self.bytes.as_deref() else { return self.machine.answered() };
        Message::parse(bytes).is_ok_and(|response| response.to_tag() == ack.to_tag())
    }
}

/// A retransmission may come through another mapping of the same NAT: answer that one.
fn answer_where_it_came_from<F: Copy, U>(out: &mut [Out<F, U>], from: F) {
    for effect in out {
        if let Out::Send { to, .. } = effect {
            *to = from;
        }
    }
}
