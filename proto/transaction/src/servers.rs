//! The server side of the table (RFC 3261 §17.2).

use super::act::Act;
use super::clock::{Clock, Fired};
use super::server::{Server, ServerMachine, Signal};
use super::{Arrival, Out, ServerId, Transactions, WheelKey};
use core::hash::Hash;
use core::ops::Range;
use machine::Time;
use sip::{Message, Method, Via};

/// What a response has of its request, beyond which it is kept without that whatever it answers,
/// and sent again only when its request comes again.
const HEAD_BYTES_MAX: usize = 4 << 10;

/// A response that is kept, and what of it need not be.
#[derive(Debug, Clone, Default)]
pub struct Kept<'a> {
    /// All of it.
    pub bytes: &'a [u8],
    /// The octets that its request says already (Via, From, To, Call-ID, CSeq: §8.2.6.2); empty
    /// when all is kept.
    pub head: Range<usize>,
    /// The tag among them that is ours; empty when the request has it.
    pub tag: &'a [u8],
}

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
        self.respond_without(now, id, status, &Kept { bytes, ..Kept::default() });
    }

    /// As [`Transactions::respond_without`], and without timer G where it is the first response: a
    /// client that has heard nothing sends its INVITE again (timer A, §17.1.1.2) and is answered
    /// each time, while G would send ten more to an address that need not have asked.
    pub fn refuse(&mut self, now: Time, id: ServerId, status: u16, response: &Kept<'_>) {
        let is_first = self.servers.get(id.0, id.1).is_some_and(|server| server.bytes.is_none());
        self.keep(now, id, status, response, is_first);
    }

    /// As [`Transactions::respond`], but for what its request says already. When the request comes
    /// again the user is asked to write that again: [`Arrival::Repeated`].
    pub fn respond_without(&mut self, now: Time, id: ServerId, status: u16, response: &Kept<'_>) {
        self.keep(now, id, status, response, false);
    }

    fn keep(&mut self, now: Time, id: ServerId, status: u16, response: &Kept<'_>, is_once: bool) {
        if self.servers.get(id.0, id.1).is_none() {
            return;
        }
        let act = self.signal_server(now, id.0, Signal::answer(status), &mut Vec::new());
        let Some(server) = self.servers.get_mut(id.0, id.1) else { return };
        let is_once = is_once || response.head.len() > HEAD_BYTES_MAX;
        if is_once {
            server.clock.send_no_more();
        }
        if act.has(Act::STORE) {
            server.store(response, is_once);
        }
    }

    /// The stored response of a request that came again: what goes before the lines that are made
    /// from the request, our tag among them (empty when the request has it), what goes behind.
    #[must_use]
    pub fn repeated(&self, id: ServerId) -> Option<[&[u8]; 3]> {
        let server = self.servers.get(id.0, id.1)?;
        let (start, rest) = server.bytes.as_deref()?.split_at_checked(server.gap.into())?;
        let (tag, end) = rest.split_at_checked(server.tag.into())?;
        Some([start, tag, end])
    }

    /// A response of `id` could not be delivered (§17.2.4): one that is owed or repeated is given
    /// up, and the transaction with it.
    pub fn response_failed(&mut self, now: Time, id: ServerId) {
        if self.servers.get(id.0, id.1).is_some() {
            self.signal_server(now, id.0, Signal::TransportError, &mut Vec::new());
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
            (Some(index), _) => self.receive_again(now, index, from, out),
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
        let server = Server {
            key: self.probe.key,
            machine: ServerMachine::new(method),
            clock: Clock::stopped(reliable),
            from: (method == Method::Invite && !reliable).then(|| Box::new(from)),
            user: None,
            bytes: None,
            gap: 0,
            tag: 0,
        };
        let Some((index, generation)) = self.servers.insert(server) else {
            return Arrival::Overload;
        };
        self.places.insert(self.probe.key.hash, index);
        let id = ServerId(index, generation);
        if method == Method::Cancel {
            return Arrival::Cancel { id, invite: self.cancelled_by(message) };
        }
        Arrival::Request(id)
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
        let secrets = [&self.hash, &self.proof];
        let Self { probe, places, servers, .. } = self;
        if !probe.write_via(via, method) {
            return true;
        }
        // Most are new: the second hash is made for those that are found under the first.
        let hash = probe.bucket(secrets);
        let is_it = |index| {
            probe.hash(secrets);
            servers.at(index).is_some_and(|(_, server)| probe.matches(&server.key))
        };
        places.find(hash, is_it).is_some()
    }

    /// Index of the transaction that `message` belongs to if its method counts as `method`.
    /// Leaves the key in the probe.
    fn find(&mut self, message: &Message<'_>, method: Method) -> Option<u32> {
        self.probe.fill(message, method, [&self.hash, &self.proof]);
        let probe = &self.probe;
        self.places.find(probe.key.hash, |index| {
            self.servers.at(index).is_some_and(|(_, server)| {
                let same = probe.matches(&server.key);
                same && (!probe.any_to_tag || server.sent_tag_of(message))
            })
        })
    }

    fn receive_ack(&mut self, now: Time, index: u32, out: &mut Vec<Out<F, U>>) -> Arrival<U> {
        let Some((_, server)) = self.servers.at(index) else { return Arrival::Ack2xx };
        if server.machine.accepted() {
            return Arrival::Ack2xx;
        }
        let user = server.user;
        let act = self.signal_server(now, index, Signal::Ack, out);
        match user {
            Some(user) if act.has(Act::PASS) => Arrival::AckNon2xx(user),
            _ => Arrival::Absorbed,
        }
    }

    pub(super) fn fire_server(&mut self, now: Time, id: ServerId, out: &mut Vec<Out<F, U>>) {
        let timers = self.timers;
        let Some(server) = self.servers.get_mut(id.0, id.1) else { return };
        match server.clock.fire(now, &timers) {
            None => return,
            Some(Fired::Neither) => {}
            Some(Fired::End) => {
                self.signal_server(now, id.0, Signal::End, out);
            }
            Some(Fired::Resend) => {
                let to = server.from.as_deref().copied();
                if self.signal_server(now, id.0, Signal::Resend, out).has(Act::RESEND) {
                    self.send_stored(id.0, to, out);
                }
            }
        }
        if self.servers.get(id.0, id.1).is_some() {
            self.schedule_server(now, id.0);
        }
    }

    /// A request came again. A retransmission may come through another mapping of the same NAT:
    /// that one is answered.
    fn receive_again(
        &mut self,
        now: Time,
        index: u32,
        from: F,
        out: &mut Vec<Out<F, U>>,
    ) -> Arrival<U> {
        if !self.signal_server(now, index, Signal::Request, out).has(Act::RESEND) {
            return Arrival::Absorbed;
        }
        match self.servers.at(index) {
            Some((generation, server)) if server.gap > 0 => {
                Arrival::Repeated(ServerId(index, generation))
            }
            _ => {
                self.send_stored(index, Some(from), out);
                Arrival::Absorbed
            }
        }
    }

    fn send_stored(&self, index: u32, to: Option<F>, out: &mut Vec<Out<F, U>>) {
        let bytes = self.servers.at(index).and_then(|(_, server)| server.bytes.clone());
        out.extend(bytes.zip(to).map(|(bytes, to)| Out::Send { to, bytes }));
    }

    /// Runs the machine of the transaction at `index` and carries out what it asks; storing and
    /// sending again are the caller's.
    fn signal_server(
        &mut self,
        now: Time,
        index: u32,
        signal: Signal,
        out: &mut Vec<Out<F, U>>,
    ) -> Act {
        let Some((generation, _)) = self.servers.at(index) else { return Act::NOTHING };
        let Some(server) = self.servers.at_mut(index) else { return Act::NOTHING };
        let before = server.machine;
        let (after, act) = before.step(signal);
        server.machine = after;
        if act.has(Act::FORGET) {
            (server.bytes, server.from) = (None, None);
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
        let leave = server.clock.enter(now, server.machine.arming(), &timers);
        if leave {
            server.machine = server.machine.step(Signal::End).0;
        }
        if server.machine.is_over() {
            self.end_server(index);
        } else {
            self.schedule_server(now, index);
        }
    }

    fn end_server(&mut self, index: u32) {
        let Some(server) = self.servers.remove(index) else { return };
        self.places.remove(server.key.hash, index);
    }

    fn schedule_server(&mut self, now: Time, index: u32) {
        let Some((generation, _)) = self.servers.at(index) else { return };
        let Some(server) = self.servers.at_mut(index) else { return };
        if let Some(at) = server.clock.arm(now) {
            self.wheel.arm(at, WheelKey::server(index, generation));
        }
    }
}

impl<F, U> Server<F, U> {
    /// Keeps a response, in exactly the memory that it takes. One that a timer sends again has
    /// no request at hand to be made from: it is kept whole.
    fn store(&mut self, response: &Kept<'_>, is_once: bool) {
        let Kept { bytes, head, tag } = response;
        let is_repeated = is_once || matches!(self.machine, ServerMachine::Other(_));
        let lengths = u16::try_from(head.start).ok().zip(u8::try_from(tag.len()).ok());
        let (gap, own) = lengths.filter(|_| is_repeated && !head.is_empty()).unwrap_or_default();
        let tail = bytes.get(head.end..).filter(|_| gap > 0);
        (self.gap, self.tag) = if tail.is_some() { (gap, own) } else { (0, 0) };
        self.bytes = Some(match tail {
            Some(tail) => [&bytes[..head.start], tag, tail].concat().into(),
            None => (*bytes).into(),
        });
    }

    /// Whether the To tag of `ack` is the one in the response that was sent (§17.2.3). A response
    /// that was sent and is forgotten fits: the ACK is a retransmission then.
    fn sent_tag_of(&self, ack: &Message<'_>) -> bool {
        let Some(bytes) = self.bytes.as_deref() else { return self.machine.answered() };
        if self.gap > 0 {
            let own = bytes.get(self.gap.into()..usize::from(self.gap) + usize::from(self.tag));
            return self.tag == 0 || own == ack.to_tag();
        }
        Message::parse(bytes).is_ok_and(|response| response.to_tag() == ack.to_tag())
    }
}
