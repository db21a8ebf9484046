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
use codec::Numbers;
use machine::Time;
use machine::narrow::at_most;
use media::program::{Keys, Said, Snapshot};
use nodes::Token;
use rand_chacha::rand_core::RngCore as _;
use replica::field::{self, Fields};
use replica::flow::read_address;
use runtime::{Effects, Mirrored};

impl MediaController {
    /// Takes what the pair wants.
    pub(crate) fn mirrored(&mut self, now: Time, input: Mirrored<'_>, out: &mut Effects) {
        match input {
            Mirrored::Deactivate => self.deactivate(now, out),
            Mirrored::Activate { is_current } => self.activate(now, is_current, out),
            Mirrored::Forget => self.forget_replicated(now, out),
            Mirrored::Delta(delta) => self.apply(now, delta, out),
            Mirrored::Snapshot(number) => self.begin_snapshot(now, number, out),
            Mirrored::Followed(mark) => self.followed(now, mark, out),
            Mirrored::Paced(pace) => self.pair.pace = pace,
            Mirrored::Term(_) => {}
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
        self.keying.forget_all(out);
        self.held_until = None;
        self.say(now, out);
        // What the forwarder remembers is no life that a later control may go on with.
        self.note_memory(now, out);
    }

    fn activate(&mut self, now: Time, is_current: bool, out: &mut Effects) {
        let before = self.pair.role;
        if before == Role::Active {
            return;
        }
        let mut heir = Token::default();
        self.random.fill_bytes(&mut heir);
        self.pair.serve(now, is_current, heir);
        self.take_over(now, before, out);
        if let Some(number) = self.pair.wanted() {
            self.begin_snapshot(now, number, out);
        }
    }

    fn take_over(&mut self, now: Time, before: Role, out: &mut Effects) {
        self.controllers.await_all(now);
        if before == Role::Standby {
            // Of a stream that it could not take it does not know how far its keys were used.
            self.pair.is_outdated |= self.pair.is_incomplete;
            self.measures.take_over();
        }
        if before == Role::Standby && self.epoch.is_none() {
            // Not everything was told: nothing of it counts.
            self.forget_all(now, out);
            self.epoch = Some(self.random.next_u64());
        } else {
            self.streams.is_taken_over = before == Role::Standby;
            if before == Role::Standby && self.pair.is_outdated {
                // How far keys were used since is not known: no stream that has some goes on.
                self.forget_keyed(now, out);
                self.epoch = Some(self.random.next_u64());
            }
        }
        let unowned = self.forget_unowned(now, out);
        if self.epoch.is_none() {
            if self.dataplane.is_welcomed() {
                self.welcomed(now, out);
            }
            return;
        }
        self.is_first = false;
        // Who transcodes hears of streams before their packets come.
        for (lessee, id) in self.streams.names().collect::<Vec<_>>() {
            self.code(now, Of { lessee, id }, out);
        }
        let (msc, streams) = (&self.settings.msc, &self.streams);
        self.driven.take_over(now, msc, streams, &unowned);
        self.say(now, out);
        self.note_memory(now, out);
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
        self.measures.forget_snapshots();
        self.pair.told.clear();
        self.pair.piece.clear();
        self.pair.is_incomplete = false;
        self.pair.formers.clear();
        self.pair.given = None;
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
        for (lessee, id) in std::mem::take(&mut self.pair.formers) {
            self.streams.renew_one(lessee, id);
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

    /// What SRTP protects is gone, and calls of NG that have such a stream: those streams are
    /// nobody's then.
    fn forget_keyed(&mut self, now: Time, out: &mut Effects) {
        for (lessee, id) in self.streams.names().collect::<Vec<_>>() {
            let Some(stream) = self.streams.at(lessee, id) else { continue };
            if Side::BOTH.iter().any(|side| stream.end(*side).guard != Guard::None) {
                if lessee == Lessee::NG {
                    self.driven.take_away(id.call);
                    continue;
                }
                let changed = self.streams.remove(lessee, id, u32::MAX, now);
                self.follow(now, lessee, &changed, out);
            }
        }
    }

    /// Streams of NG are gone whose calls were not told, or not with them: no command finds them.
    /// Their ports.
    fn forget_unowned(&mut self, now: Time, out: &mut Effects) -> Vec<Local> {
        let mut ports = Vec::new();
        for (lessee, id) in self.streams.names().collect::<Vec<_>>() {
            if lessee != Lessee::NG || self.driven.has(id.call, id.line) {
                continue;
            }
            let changed = self.streams.remove(lessee, id, u32::MAX, now);
            for (_, stream) in &changed.removed {
                ports.extend(Side::BOTH.map(|side| stream.end(side).local));
            }
            self.follow(now, lessee, &changed, out);
        }
        ports
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
                    self.keying.forget(local, out);
                    self.measures.end(now, local);
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
            // A piece of a text, whose end follows.
            pair::NOTE | pair::NG_BLOCKS if number(tag::MORE) == Some(1) => {
                self.pair.piece.extend_from_slice(find(tag::TEXT).unwrap_or_default());
            }
            pair::NOTE => {
                let whole = self.pair.whole(find(tag::TEXT).unwrap_or_default());
                if let (Some(name), Ok(text)) = (text(tag::NAME), core::str::from_utf8(&whole)) {
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
            pair::CODED => self.coded_replicated(now, fields, out),
            pair::AGREED | pair::RESUME => self.end_replicated(now, kind, fields, out),
            pair::EPOCH => {
                if let Some(epoch) = number(tag::EPOCH) {
                    self.replicated_all(now, epoch, out);
                }
            }
            pair::TOKEN => {
                self.pair.given = find(tag::TOKEN).and_then(|token| Token::try_from(token).ok());
            }
            pair::NG_CALL => self.driven.restore(now, fields),
            pair::NG_GONE => number(tag::CALL).into_iter().for_each(|it| self.driven.take_away(it)),
            pair::NG_BLOCKS => {
                let whole = self.pair.whole(find(tag::TEXT).unwrap_or_default());
                let blocks: Vec<(u16, u16)> = serde_json::from_slice(&whole).unwrap_or_default();
                self.streams.book.assign(now, Lessee::NG, &blocks);
            }
            _ => {}
        }
    }

    fn stream_replicated(&mut self, now: Time, kind: u8, fields: &[u8], out: &mut Effects) {
        let (mut name, mut id, mut generation, mut stream) =
            (&b""[..], StreamId { call: 0, line: 0 }, 0, None);
        let mut is_former = false;
        for (tag, value) in Fields::new(fields) {
            match tag {
                tag::NAME => name = value,
                tag::CALL => id.call = field::read(value),
                tag::LINE => id.line = at_most(field::read(value), u8::MAX),
                tag::GENERATION => generation = at_most(field::read(value), u32::MAX),
                tag::STREAM => stream = read_stream(value).ok(),
                tag::FORMER => is_former = field::read(value) == 1,
                _ => {}
            }
        }
        let found = || self.controllers.find(core::str::from_utf8(name).ok()?);
        let lessee = if name.is_empty() { Some(Lessee::NG) } else { found() };
        let Some(lessee) = lessee else {
            self.pair.is_incomplete |= kind == pair::STREAM;
            return;
        };
        let changed = match (kind, stream) {
            (pair::STREAM, Some(stream)) => {
                match self.streams.put(lessee, id, generation, &stream, now) {
                    Ok(changed) => changed,
                    Err(why) => {
                        self.pair.is_incomplete = true;
                        return self.not_taken(why);
                    }
                }
            }
            (pair::STREAM, None) => {
                self.pair.is_incomplete = true;
                return;
            }
            (pair::STREAM_GONE, _) => self.streams.remove(lessee, id, u32::MAX, now),
            _ => return,
        };
        match (is_former, self.epoch) {
            (true, Some(_)) => self.streams.renew_one(lessee, id),
            // Before all has been told, what is not told yet counts as former.
            (true, None) => self.pair.formers.push((lessee, id)),
            (false, _) => {}
        }
        self.follow(now, lessee, &changed, out);
    }

    /// What packets of a stream are counted by that leave the transcoder.
    fn coded_replicated(&mut self, now: Time, fields: &[u8], out: &mut Effects) {
        let (mut name, mut id) = (&b""[..], StreamId { call: 0, line: 0 });
        let mut ends = Vec::new();
        for (tag, value) in Fields::new(fields) {
            match tag {
                tag::NAME => name = value,
                tag::CALL => id.call = field::read(value),
                tag::LINE => id.line = at_most(field::read(value), u8::MAX),
                tag::NUMBERS => ends.extend(read_numbers(value, now)),
                _ => {}
            }
        }
        let found = || self.controllers.find(core::str::from_utf8(name).ok()?);
        let lessee = if name.is_empty() { Some(Lessee::NG) } else { found() };
        if let (Some(lessee), Ok(ends)) = (lessee, <[Numbers; 2]>::try_from(ends))
            && self.streams.at(lessee, id).is_some()
        {
            self.transcoding.keep(Of { lessee, id }, ends, out);
        }
    }

    /// Something is told of the end at a port.
    fn end_replicated(&mut self, now: Time, kind: u8, fields: &[u8], out: &mut Effects) {
        let (mut local, mut marks) = (Local { address: 0, port: 0 }, 0);
        let (mut nominated, mut snapshot) = (None, None);
        let mut keys: [Option<Keys>; 2] = [None, None];
        for (tag, value) in Fields::new(fields) {
            match tag {
                tag::ADDRESS => local.address = at_most(field::read(value), u16::MAX),
                tag::PORT => local.port = at_most(field::read(value), u16::MAX),
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
        let Some(place) = self.streams.addresses.place(local.address, local.port) else {
            // How far its keys were used is not known when the address comes here.
            self.pair.is_incomplete = true;
            return;
        };
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
        self.measures.keep(local, snapshot);
    }
}

/// Source, sequence number and timestamp of the last packet to an end, which leaves about now.
fn read_numbers(value: &[u8], now: Time) -> Option<Numbers> {
    let (ssrc, rest) = value.split_first_chunk()?;
    let (sequence, rest) = rest.split_first_chunk()?;
    let timestamp = rest.first_chunk()?;
    Some(Numbers {
        ssrc: u32::from_be_bytes(*ssrc),
        sequence: u16::from_be_bytes(*sequence),
        timestamp: u32::from_be_bytes(*timestamp),
        reached: Some(now),
    })
}
