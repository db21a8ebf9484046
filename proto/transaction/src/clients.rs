//! The client side of the table (RFC 3261 §17.1).

use super::act::Act;
use super::client::{Client, ClientMachine, ClientSlot, NONE, Signal};
use super::clock::{Clock, Fired};
use super::{
    Arrival, Branch, ClientId, FLOW_BUCKETS, Out, Transactions, WheelKey, follow_up, invite_client,
};
use core::hash::{Hash, Hasher};
use machine::Time;
use machine::narrow::{halves, slot};
use sip::{Message, Method};
use std::sync::Arc;

/// The state in which an INVITE may be cancelled (§9.1).
const PROCEEDING: ClientMachine = ClientMachine::Invite(invite_client::State::Proceeding);

impl<F: Copy + Eq + Hash, U: Copy> Transactions<F, U> {
    /// An id and a branch for the next client transaction; `None` when the table is full.
    pub fn reserve(&mut self) -> Option<(ClientId, Branch)> {
        let (index, generation) = self.clients.insert(ClientSlot::Reserved)?;
        let id = ClientId(index, generation);
        Some((id, self.mint.branch(id)))
    }

    /// An id for a request that another table sent with this branch: once started, it is sent
    /// again and answered here as it would have been there. `None` when the table is full.
    pub fn adopt(&mut self, branch: Branch) -> Option<ClientId> {
        if self.adopted.len() == self.adopted.capacity() {
            self.adopted.retain(|_, id| self.clients.get(id.0, id.1).is_some());
        }
        let (index, generation) = self.clients.insert(ClientSlot::Reserved)?;
        let id = ClientId(index, generation);
        self.adopted.insert(branch, id);
        Some(id)
    }

    /// The transaction that a branch names.
    fn named(&self, branch: &[u8]) -> Option<ClientId> {
        let adopted = || self.adopted.get(&Branch::try_from(branch).ok()?).copied();
        self.mint.read(branch).or_else(adopted)
    }

    /// Gives back a reservation that was not used. A transaction that runs is left alone.
    pub fn release(&mut self, id: ClientId) {
        if matches!(self.clients.get(id.0, id.1), Some(ClientSlot::Reserved)) {
            self.clients.remove(id.0);
        }
    }

    /// A unique branch for a request without a transaction: the ACK for a 2xx.
    pub fn loose_branch(&mut self) -> Branch {
        self.loose = self.loose.wrapping_add(1);
        self.mint.branch(ClientId(NONE, self.loose))
    }

    /// Starts the reserved transaction `id`: `bytes` is the request that was just sent to `to`,
    /// kept for as long as it may have to be sent again or be followed by an ACK or a CANCEL.
    #[expect(clippy::too_many_arguments, reason = "a struct for one call would only rename them")]
    pub fn start_client(
        &mut self,
        now: Time,
        id: ClientId,
        to: F,
        reliable: bool,
        bytes: &[u8],
        user: U,
    ) {
        let Some(slot @ ClientSlot::Reserved) = self.clients.get_mut(id.0, id.1) else { return };
        let name = bytes.split(|&byte| byte == b' ').next().unwrap_or_default();
        let method = Method::parse(name);
        let keep = !reliable || method == Method::Invite;
        *slot = ClientSlot::Live(Client {
            machine: ClientMachine::new(method),
            method,
            released: 0,
            clock: Clock::stopped(reliable),
            to: Some(Box::new(to)),
            user: Some(user),
            bytes: keep.then(|| bytes.into()),
            cancel: None,
            chain: (NONE, NONE),
        });
        self.link(id.0, to);
        self.enter_client(now, id.0);
    }

    /// Cancels an INVITE (§9.1): at once if a provisional response came, else as soon as one
    /// comes. `reason` is the value of a Reason header (RFC 3326). Returns whether there was
    /// anything to cancel; if so the user hears of the INVITE's end within 64 * T1.
    pub fn cancel(
        &mut self,
        now: Time,
        id: ClientId,
        reason: Option<&[u8]>,
        out: &mut Vec<Out<F, U>>,
    ) -> bool {
        let Some(ClientSlot::Live(invite)) = self.clients.get(id.0, id.1) else { return false };
        if invite.method != Method::Invite || !invite.machine.awaits() || invite.cancel.is_some() {
            return false;
        }
        let reliable = invite.clock.is_reliable;
        let bytes = invite.bytes.as_deref().and_then(|bytes| {
            let invite = Message::parse(bytes).ok()?;
            Some(follow_up::cancel(&invite, reason))
        });
        let Some((bytes, to)) = bytes.zip(invite.to.as_deref().copied()) else { return false };
        let slot = ClientSlot::Live(Client {
            machine: ClientMachine::new(Method::Cancel),
            method: Method::Cancel,
            released: 0,
            clock: Clock::stopped(reliable),
            to: Some(Box::new(to)),
            user: None,
            bytes: Some(bytes.into()),
            cancel: None,
            chain: (NONE, NONE),
        });
        let Some((cancel, generation)) = self.clients.insert(slot) else { return false };
        if let Some(invite) = self.live_client(id.0) {
            invite.cancel = Some(ClientId(cancel, generation));
        }
        self.link(cancel, to);
        self.send_cancel(now, id.0, out);
        true
    }

    /// Sends the CANCEL of the INVITE at `index` unless that still waits for a 1xx.
    fn send_cancel(&mut self, now: Time, index: u32, out: &mut Vec<Out<F, U>>) {
        let patience = self.timers.patience();
        let Some(invite) = self.live_client(index) else { return };
        let Some(cancel) = invite.cancel.filter(|_| invite.machine == PROCEEDING) else { return };
        invite.clock.end_at(now + patience);
        self.schedule_client(now, index);
        let Some(ClientSlot::Live(client)) = self.clients.get_mut(cancel.0, cancel.1) else {
            return;
        };
        out.extend(client.send_stored());
        if client.clock.is_reliable {
            client.bytes = None;
        }
        self.enter_client(now, cancel.0);
    }

    /// The far end `to` cannot be reached: every request on its way there has failed. Costs a
    /// walk over the requests that await an answer from there.
    pub fn transport_failed(&mut self, now: Time, to: F, out: &mut Vec<Out<F, U>>) {
        let mut failed = Vec::new();
        let mut next = self.flows[bucket(to, self.flow_secrets)];
        while let Some((generation, ClientSlot::Live(client))) = self.clients.at(next) {
            if client.to.as_deref() == Some(&to) {
                failed.push(ClientId(next, generation));
            }
            next = client.chain.1;
        }
        for id in failed {
            if self.clients.get(id.0, id.1).is_some() {
                self.signal_client(now, id.0, Signal::TransportError, None, out);
            }
        }
    }

    /// The request as stored, to be looked at or sent elsewhere; `None` once a final response
    /// came, or when it need not be kept (not an INVITE, on a reliable transport).
    #[must_use]
    pub fn stored(&self, id: ClientId) -> Option<Arc<[u8]>> {
        match self.clients.get(id.0, id.1) {
            Some(ClientSlot::Live(client)) if client.machine.awaits() => client.bytes.clone(),
            _ => None,
        }
    }

    /// The user of a client transaction, while it lives.
    #[must_use]
    pub fn client_user(&self, id: ClientId) -> Option<U> {
        match self.clients.get(id.0, id.1) {
            Some(ClientSlot::Live(client)) => client.user,
            _ => None,
        }
    }

    /// Where the request of a client transaction went, as long as that is known: of an INVITE until
    /// the end.
    #[must_use]
    pub fn client_flow(&self, id: ClientId) -> Option<F> {
        match self.clients.get(id.0, id.1) {
            Some(ClientSlot::Live(client)) => client.to.as_deref().copied(),
            _ => None,
        }
    }

    /// Counts one more 2xx that the user acknowledges and releases on its own; how many that makes,
    /// or `None` when the transaction is over.
    pub fn count_released(&mut self, id: ClientId) -> Option<u8> {
        let Some(ClientSlot::Live(client)) = self.clients.get_mut(id.0, id.1) else { return None };
        client.released = client.released.saturating_add(1);
        Some(client.released)
    }

    pub(super) fn receive_response(
        &mut self,
        now: Time,
        status: u16,
        message: &Message<'_>,
        out: &mut Vec<Out<F, U>>,
    ) -> Arrival<U> {
        let Some(id) = message.via().branch.and_then(|branch| self.named(branch)) else {
            return Arrival::StrayResponse;
        };
        let Some(ClientSlot::Live(client)) = self.clients.get(id.0, id.1) else {
            return Arrival::StrayResponse;
        };
        let (method, user) = (message.cseq().method, client.user);
        let signal = match status {
            100..=199 => Signal::Provisional,
            200..=299 => Signal::Success,
            _ => Signal::Failure,
        };
        if client.method == Method::Invite && method == Method::Cancel {
            return self.receive_cancelled(now, client.cancel, signal, out);
        }
        if client.method != method {
            return Arrival::StrayResponse;
        }
        let act = self.signal_client(now, id.0, signal, Some(message), out);
        match user {
            Some(user) if act.has(Act::PASS) => Arrival::Response { id, user },
            _ => Arrival::Absorbed,
        }
    }

    /// A response to the CANCEL of an INVITE came; both have the same branch.
    fn receive_cancelled(
        &mut self,
        now: Time,
        cancel: Option<ClientId>,
        signal: Signal,
        out: &mut Vec<Out<F, U>>,
    ) -> Arrival<U> {
        match cancel {
            Some(id) if self.clients.get(id.0, id.1).is_some() => {
                self.signal_client(now, id.0, signal, None, out);
                Arrival::Absorbed
            }
            _ => Arrival::StrayResponse,
        }
    }

    pub(super) fn fire_client(&mut self, now: Time, id: ClientId, out: &mut Vec<Out<F, U>>) {
        let timers = self.timers;
        let Some(ClientSlot::Live(client)) = self.clients.get_mut(id.0, id.1) else { return };
        let signal = match client.clock.fire(now, &timers) {
            None => return,
            Some(Fired::Neither) => None,
            Some(Fired::End) => Some(Signal::End),
            Some(Fired::Resend) => Some(Signal::Resend),
        };
        if let Some(signal) = signal {
            self.signal_client(now, id.0, signal, None, out);
        }
        self.schedule_client(now, id.0);
    }

    /// Runs the machine of the transaction at `index` and carries out what it asks.
    fn signal_client(
        &mut self,
        now: Time,
        index: u32,
        signal: Signal,
        response: Option<&Message<'_>>,
        out: &mut Vec<Out<F, U>>,
    ) -> Act {
        let Some((generation, _)) = self.clients.at(index) else { return Act::NOTHING };
        let Some(client) = self.live_client(index) else { return Act::NOTHING };
        let before = client.machine;
        let (after, act) = before.step(signal);
        client.machine = after;
        if act.has(Act::ACK) {
            client.acknowledge(response, before != after);
        }
        if act.has(Act::RESEND) || act.has(Act::ACK) {
            out.extend(client.send_stored());
        }
        if act.has(Act::FORGET) {
            client.bytes = None;
        }
        if let Some(user) = client.user {
            let id = ClientId(index, generation);
            if act.has(Act::TIMEOUT) {
                out.push(Out::Timeout { id, user });
            }
            if act.has(Act::ERROR) {
                out.push(Out::TransportError { id, user });
            }
        }
        if before != after {
            self.moved(now, index, before, out);
        }
        act
    }

    /// The transaction at `index` left the state `before`.
    fn moved(&mut self, now: Time, index: u32, before: ClientMachine, out: &mut Vec<Out<F, U>>) {
        let Some(client) = self.live_client(index) else { return };
        let after = client.machine;
        if before.awaits() && !after.awaits() {
            self.unlink(index);
            self.forget_place(index);
        }
        self.enter_client(now, index);
        if after == PROCEEDING {
            self.send_cancel(now, index, out);
        }
    }

    /// Sets the timers of the state that the transaction at `index` is in; ends it if it is over.
    fn enter_client(&mut self, now: Time, index: u32) {
        let timers = self.timers;
        let Some(client) = self.live_client(index) else { return };
        let leave = client.clock.enter(now, client.machine.arming(), &timers);
        if leave {
            client.machine = client.machine.step(Signal::End).0;
        }
        if client.machine.is_over() {
            self.end_client(index);
        } else {
            self.schedule_client(now, index);
        }
    }

    /// What only waits for the end of retransmissions needs no far end, unless it has an ACK. That
    /// of an INVITE tells who may answer it again (RFC 3261 §13.2.2.4).
    fn forget_place(&mut self, index: u32) {
        let is_idle = |it: &&mut Client<F, U>| it.bytes.is_none() && it.method != Method::Invite;
        if let Some(client) = self.live_client(index).filter(is_idle) {
            client.to = None;
        }
    }

    /// Removes the transaction at `index`, and its CANCEL, whose answer matters no more.
    fn end_client(&mut self, index: u32) {
        let Some(ClientSlot::Live(client)) = self.clients.remove(index) else { return };
        let Some(id) = client.cancel else { return };
        if let Some(ClientSlot::Live(cancel)) = self.clients.get(id.0, id.1) {
            if cancel.machine.awaits() {
                self.unlink(id.0);
            }
            self.clients.remove(id.0);
        }
    }

    fn schedule_client(&mut self, now: Time, index: u32) {
        let Some((generation, _)) = self.clients.at(index) else { return };
        let Some(client) = self.live_client(index) else { return };
        if let Some(at) = client.clock.arm(now) {
            self.wheel.arm(at, WheelKey::client(index, generation));
        }
    }

    fn live_client(&mut self, index: u32) -> Option<&mut Client<F, U>> {
        match self.clients.at_mut(index) {
            Some(ClientSlot::Live(client)) => Some(client),
            _ => None,
        }
    }

    /// Puts the transaction at `index` among those that await a response from `to`.
    fn link(&mut self, index: u32, to: F) {
        let place = bucket(to, self.flow_secrets);
        let head = core::mem::replace(&mut self.flows[place], index);
        if let Some(client) = self.live_client(index) {
            client.chain = (NONE, head);
        }
        if let Some(client) = self.live_client(head) {
            client.chain.0 = index;
        }
    }

    fn unlink(&mut self, index: u32) {
        let Some(client) = self.live_client(index) else { return };
        let Some(((before, after), to)) = Some(client.chain).zip(client.to.as_deref().copied())
        else {
            return;
        };
        match self.live_client(before) {
            Some(client) => client.chain.1 = after,
            None => self.flows[bucket(to, self.flow_secrets)] = after,
        }
        if let Some(client) = self.live_client(after) {
            client.chain.0 = before;
        }
    }
}

impl<F: Copy, U> Client<F, U> {
    /// The stored message, to be sent.
    fn send_stored(&self) -> Option<Out<F, U>> {
        let (to, bytes) = self.to.as_deref().zip(self.bytes.as_ref())?;
        Some(Out::Send { to: *to, bytes: Arc::clone(bytes) })
    }

    /// Replaces the INVITE by the ACK for `response`, once; later the same ACK is sent again.
    fn acknowledge(&mut self, response: Option<&Message<'_>>, first: bool) {
        let (true, Some(response), Some(invite)) = (first, response, &self.bytes) else { return };
        self.bytes =
            Message::parse(invite).ok().map(|invite| follow_up::ack(&invite, response).into());
    }
}

/// Mixes a far end into a bucket number, with a secret: who chooses far ends must not choose whose
/// walk gets longer.
struct FlowHasher {
    state: u64,
    secret: u64,
}

impl Hasher for FlowHasher {
    fn finish(&self) -> u64 {
        self.state
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let word = chunk.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
            self.write_u64(word);
        }
    }

    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.state ^ word) * u128::from(self.secret);
        let [low, high] = halves(product);
        self.state = low ^ high;
    }
}

fn bucket<F: Hash>(to: F, secrets: [u64; 2]) -> usize {
    let [state, secret] = secrets;
    let mut hasher = FlowHasher { state, secret };
    to.hash(&mut hasher);
    slot(hasher.finish(), FLOW_BUCKETS)
}
