//! The other half of a pair: following, and taking over.
//!
//! ```text
//!   waiting ── told which of the two ─┬→ standby: deltas ─→ state ─→ its forwarder, silent
//!   (its forwarder goes on)           └→ active: leases and life of its forwarder's memory, if any
//!   standby ─ Activate ─→ duty, addresses ─→ announced · session controllers come and say the rest
//! ```
//! Flows stand in both forwarders: a takeover tells nothing of calls.

use crate::MediaController;
use crate::lease::Lessee;
use crate::pair::{self, Role, tag};
use crate::streams::Changed;
use crate::transcoding::Of;
use anchor::row::{StreamId, read_stream};
use anchor::{Guard, Local, Side};
use machine::Time;
use machine::narrow::told;
use media::program::{Keys, Said, Snapshot};
use rand_chacha::rand_core::RngCore as _;
use replica::field::{self, Fields};
use replica::flow::read_address;
use runtime::{Effects, Mirrored};

impl MediaController {
    /// Takes what the pair wants.
    pub(crate) fn mirrored(&mut self, now: Time, input: Mirrored<'_>, out: &mut Effects) {
        match input {
            Mirrored::Deactivate => self.deactivate(now, out),
            Mirrored::Activate => self.activate(now, out),
            Mirrored::Forget => self.forget_replicated(now, out),
            Mirrored::Delta(delta) => self.apply(now, delta, out),
            Mirrored::Snapshot(number) => self.begin_snapshot(number, out),
        }
    }

    fn deactivate(&mut self, now: Time, out: &mut Effects) {
        match self.pair.role {
            Role::Alone => return self.pair.role = Role::Waiting,
            Role::Waiting | Role::Standby => return,
            Role::Active => {}
        }
        self.pair.follow(now);
        self.links.close_all(out);
        self.early.clear();
        self.controllers.leave_all(now);
        self.keying.forget_all();
        self.held_until = None;
        self.say(now, out);
        // What the forwarder remembers is no life that a later control may go on with.
        self.note_memory(out);
    }

    fn activate(&mut self, now: Time, out: &mut Effects) {
        let before = self.pair.role;
        if before == Role::Active {
            return;
        }
        self.pair.serve(now);
        self.take_over(now, before, out);
        if let Some(number) = self.pair.wanted() {
            self.begin_snapshot(number, out);
        }
    }

    fn take_over(&mut self, now: Time, before: Role, out: &mut Effects) {
        self.controllers.await_all(now);
        if before == Role::Standby && self.epoch.is_none() {
            // Not everything was told: nothing of it counts.
            self.forget_all(now, out);
            self.epoch = Some(self.random.next_u64());
        } else {
            self.streams.is_taken_over = before == Role::Standby;
        }
        if self.epoch.is_none() {
            if self.dataplane.is_welcomed() {
                self.welcomed(now, out);
            }
            return;
        }
        self.is_first = false;
        // Who transcodes hears of streams before their packets come.
        for (lessee, id) in self.streams.names().collect::<Vec<_>>() {
            self.code(Of { lessee, id }, out);
        }
        let (msc, streams) = (&self.settings.msc, &self.streams);
        self.driven.take_over(now, msc, streams);
        self.say(now, out);
        self.note_memory(out);
        self.tell_epoch(out);
    }

    /// Everything is told anew: what is not among it goes when that has ended.
    fn forget_replicated(&mut self, now: Time, out: &mut Effects) {
        let is_first = self.pair.role == Role::Waiting;
        self.pair.role = Role::Standby;
        self.epoch = None;
        for lessee in self.streams.lessees().collect::<Vec<_>>() {
            self.streams.renew(lessee);
            self.streams.begin(lessee);
        }
        for local in self.streams.agreement.marked().collect::<Vec<_>>() {
            let programs = self.streams.agree(local, |kept| kept.mark(0));
            self.dataplane.tell(now, out, &programs);
        }
        self.driven.numbers().into_iter().for_each(|call| self.driven.take_away(call));
        self.pair.told.clear();
        if is_first && self.dataplane.is_welcomed() {
            self.welcomed(now, out);
        }
    }

    /// All has been told: the rest is of an earlier time.
    fn replicated_all(&mut self, now: Time, epoch: u64, out: &mut Effects) {
        self.epoch = Some(epoch);
        for lessee in self.streams.lessees().collect::<Vec<_>>() {
            let changed = self.streams.end(lessee, now);
            self.follow(now, lessee, &changed, out);
            let changed = self.streams.end_former(lessee, now);
            self.follow(now, lessee, &changed, out);
        }
        let known = |name: &str| self.pair.told.contains(name);
        let gone = self.controllers.iter().filter(|(_, it)| !known(&it.name));
        let gone: Vec<Lessee> = gone.map(|(lessee, _)| lessee).collect();
        gone.into_iter().for_each(|lessee| self.forget_controller(now, lessee, out));
    }

    fn forget_all(&mut self, now: Time, out: &mut Effects) {
        for lessee in self.streams.lessees().collect::<Vec<_>>() {
            let changed = self.streams.forget(lessee, now);
            self.follow(now, lessee, &changed, out);
            self.streams.book.assign(now, lessee, &[]);
        }
        let all: Vec<Lessee> = self.controllers.iter().map(|(lessee, _)| lessee).collect();
        all.into_iter().for_each(|lessee| self.controllers.forget(lessee));
        self.driven.numbers().into_iter().for_each(|call| self.driven.take_away(call));
    }

    fn forget_controller(&mut self, now: Time, lessee: Lessee, out: &mut Effects) {
        let changed = self.streams.forget(lessee, now);
        self.follow(now, lessee, &changed, out);
        self.streams.book.forget(now, lessee);
        self.controllers.forget(lessee);
    }

    /// What came of a change that the other node made: the forwarder here follows.
    pub(crate) fn follow(
        &mut self,
        now: Time,
        lessee: Lessee,
        changed: &Changed,
        out: &mut Effects,
    ) {
        self.dataplane.tell(now, out, &changed.programs);
        for (id, stream) in &changed.removed {
            self.transcoding.remove(Of { lessee, id: *id }, out);
            for side in Side::BOTH {
                let local = stream.end(side).local;
                if self.streams.owner(local).is_none() {
                    self.keying.forget(local);
                    let places = self.places_of(local);
                    self.measures.end(now, local, &places);
                }
            }
        }
    }

    /// Makes the change that the active node made. What cannot be read is of a later version, or of
    /// another configuration, and is passed over.
    fn apply(&mut self, now: Time, delta: &[u8], out: &mut Effects) {
        let Some((&kind, fields)) = delta.split_first() else { return };
        let find = |wanted| Fields::new(fields).find(|&(tag, _)| tag == wanted).map(|it| it.1);
        let text = |tag| find(tag).and_then(|value| core::str::from_utf8(value).ok());
        let number = |tag| find(tag).map(field::read);
        match kind {
            pair::NOTE => {
                if let (Some(name), Some(text)) = (text(tag::NAME), text(tag::TEXT)) {
                    self.noted(now, name, text, out);
                }
            }
            pair::NOTE_GONE => {
                let name = text(tag::NAME).and_then(|name| name.strip_prefix(crate::memory::LEASE));
                if let Some(lessee) = name.and_then(|name| self.controllers.find(name)) {
                    self.forget_controller(now, lessee, out);
                }
            }
            pair::STREAM | pair::STREAM_GONE => self.stream_replicated(now, kind, fields, out),
            pair::AGREED | pair::RESUME => self.end_replicated(now, kind, fields, out),
            pair::EPOCH => {
                if let Some(epoch) = number(tag::EPOCH) {
                    self.replicated_all(now, epoch, out);
                }
            }
            pair::NG_CALL => self.driven.restore(now, fields),
            pair::NG_GONE => number(tag::CALL).into_iter().for_each(|it| self.driven.take_away(it)),
            pair::NG_BLOCKS => {
                let blocks = find(tag::TEXT).and_then(|text| serde_json::from_slice(text).ok());
                let blocks: Vec<(u16, u16)> = blocks.unwrap_or_default();
                self.streams.book.assign(now, Lessee::NG, &blocks);
            }
            _ => {}
        }
    }

    fn stream_replicated(&mut self, now: Time, kind: u8, fields: &[u8], out: &mut Effects) {
        let (mut name, mut id, mut generation, mut stream) =
            (&b""[..], StreamId { call: 0, line: 0 }, 0, None);
        for (tag, value) in Fields::new(fields) {
            match tag {
                tag::NAME => name = value,
                tag::CALL => id.call = field::read(value),
                tag::LINE => id.line = told(field::read(value), u8::MAX),
                tag::GENERATION => generation = told(field::read(value), u32::MAX),
                tag::STREAM => stream = read_stream(value).ok(),
                _ => {}
            }
        }
        let found = || self.controllers.find(core::str::from_utf8(name).ok()?);
        let lessee = if name.is_empty() { Some(Lessee::NG) } else { found() };
        let Some(lessee) = lessee else { return };
        let changed = match (kind, stream) {
            (pair::STREAM, Some(stream)) => {
                match self.streams.put(lessee, id, generation, &stream, now) {
                    Ok(changed) => changed,
                    Err(why) => return self.not_taken(why),
                }
            }
            (pair::STREAM_GONE, _) => self.streams.remove(lessee, id, u32::MAX, now),
            _ => return,
        };
        self.follow(now, lessee, &changed, out);
    }

    /// Something is told of the end at a port.
    fn end_replicated(&mut self, now: Time, kind: u8, fields: &[u8], out: &mut Effects) {
        let (mut local, mut marks) = (Local { address: 0, port: 0 }, 0);
        let (mut nominated, mut snapshot) = (None, None);
        let mut keys: [Option<Keys>; 2] = [None, None];
        for (tag, value) in Fields::new(fields) {
            match tag {
                tag::ADDRESS => local.address = told(field::read(value), u16::MAX),
                tag::PORT => local.port = told(field::read(value), u16::MAX),
                tag::NOMINATED => nominated = read_address(value),
                tag::RECEIVE => keys[0] = Keys::read(value).ok(),
                tag::SEND => keys[1] = Keys::read(value).ok(),
                tag::MARKS => marks = field::read(value),
                tag::SNAPSHOT => snapshot = Snapshot::read(value).ok(),
                _ => {}
            }
        }
        if let (pair::RESUME, Some(snapshot)) = (kind, snapshot) {
            return self.resume_replicated(now, local, snapshot, out);
        }
        let Some(owner) = self.streams.owner(local) else { return };
        let Some(stream) = self.streams.at(owner.lessee, owner.stream) else { return };
        // The other node agreed on it with the end as it was told before.
        let end = stream.end(owner.side).clone();
        let [receive, send] = keys;
        let keys = receive.zip(send).map(|(receive, send)| Box::new([receive, send]));
        let programs = self.streams.agree(local, |kept| {
            kept.nominated = end.checks.map(|it| *it).zip(nominated);
            kept.keys = match end.guard {
                Guard::Dtls { peer, .. } => keys.map(|keys| (*peer, keys)),
                Guard::None | Guard::Keys { .. } => None,
            };
            kept.mark(marks);
        });
        self.dataplane.tell(now, out, &programs);
    }

    /// How far a flow is: the forwarder here goes on from there when it has to.
    fn resume_replicated(
        &mut self,
        now: Time,
        local: Local,
        snapshot: Snapshot,
        out: &mut Effects,
    ) {
        let Some(place) = self.streams.addresses.place(local.address, local.port) else { return };
        let Some(owner) = self.streams.owner(local) else { return };
        if let Some(source) = snapshot.latched
            && local.port.is_multiple_of(2)
            && let Some(stream) = self.streams.at(owner.lessee, owner.stream)
        {
            self.measures.latched(now, local, &stream, owner.side, source);
        }
        let mut flows = self.streams.flows(owner.lessee, owner.stream.call);
        if let Some(mut flow) = flows.remove(&place) {
            flow.resume = Some(snapshot.clone());
            let said = crate::flows::said(&Said::Flow(Box::new(flow)));
            self.dataplane.tell(now, out, &[said]);
        }
        self.measures.keep(place, snapshot);
    }
}
