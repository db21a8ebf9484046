//! What the other node of a pair is told, to go on where this one has ended: deltas of tagged
//! fields, each whole in itself.
//!
//! ```text
//! secrets ── SECRETS, by which indices and REGISTERs are found       with a snapshot
//! an agreement from its challenge on, its keys with it ── SET, SET_GONE
//! sequence numbers promised, those that came, the phone's place ── NUMBERS
//! flows kept for phones that have left them ── VACATED
//! emergency calls in the clear ── CALL
//! subscriptions to registrations ── WATCH, WATCH_GONE
//! ```
//! An offer that the core has not challenged is not told: the phone sends its REGISTER again, and
//! the core challenges anew. So it is with all that was under way: the phone repeats it, and finds
//! the associations by which it does.

use crate::access::Access;
use crate::metrics::Metric;
use crate::pair::Snapshot;
use crate::record;
use crate::reg_event;
use crate::set::{Identity, LASTS_MAX};
use ipsec::Numbers;
use machine::Time;
use machine::narrow::at_most;
use machine::slots::{Key, SlotChange};
use rand_chacha::rand_core::RngCore;
use replica::field::{self, Fields};
use replica::flow::{read_address, write_address};
use replica::record::{digest, read_key, write_key};
use runtime::{Effects, PortId};

/// The first octet of each of these deltas among those of the function.
pub const KIND: u8 = 4;

/// The second one.
mod kind {
    pub const SECRETS: u8 = 1;
    pub const SET: u8 = 2;
    pub const SET_GONE: u8 = 3;
    pub const NUMBERS: u8 = 4;
    pub const VACATED: u8 = 5;
    pub const CALL: u8 = 6;
    pub const WATCH: u8 = 7;
    pub const WATCH_GONE: u8 = 8;
}

mod tag {
    pub const ESP: u8 = 3;
    pub const ACCESS: u8 = 4;
    /// Of a flow.
    pub const PORT: u8 = 1;
    pub const REMOTE: u8 = 2;
    pub const IMPI: u8 = 3;
    pub const UNTIL: u8 = 4;
    /// Of a call.
    pub const NUMBER: u8 = 1;
}

impl Access {
    /// The other node of a pair serves: this one follows.
    pub fn stand_by(&mut self) {
        self.pair.stand_by();
        self.forget_inside();
        self.watch_changes(false);
        self.esp.watch(false);
    }

    /// This node serves from now on. Where what it was told is not what stood last, it does not
    /// know how far keys were used: all agreements end, and phones register anew. Their flows are
    /// kept for them ([`Access::is_nobodys`]). Emergency calls in the clear have no keys: they
    /// stand.
    pub fn take_over(&mut self, is_current: bool) {
        self.pair.serve();
        self.table.settle();
        if !is_current {
            self.table.end_all(&mut self.esp);
            self.esp.clear();
            // Indices that were given out meanwhile are not known here: none of them comes again.
            self.esp.set_secret(self.random.next_u64());
        }
        self.esp.take_over();
        let random = &mut self.random;
        self.watches
            .take_over(|| u128::from(random.next_u64()) << 64 | u128::from(random.next_u64()));
        self.watch_changes(true);
        self.metrics.set(Metric::TakenOver, self.table.counts().1 as u64);
        self.gauges();
    }

    fn watch_changes(&mut self, is_watched: bool) {
        self.watches.slots.watch(is_watched);
        self.table.watch(is_watched);
        self.emergencies.watch(is_watched);
    }

    /// Forgets what was told: a snapshot follows.
    pub fn forget(&mut self) {
        self.table.clear();
        self.esp.clear();
        self.emergencies.clear();
        self.watches.clear();
        self.pair.lacks_some = false;
        self.pair.has_secrets = false;
        self.gauges();
    }

    /// Whether this standby could not take all that it was told: it has other realms, or less room.
    #[must_use]
    pub const fn lacks_some(&self) -> bool {
        self.pair.lacks_some
    }

    /// The other node follows, and has applied all up to a mark; or none does
    /// ([`runtime::Mirrored::Followed`]).
    pub fn followed(&mut self, mark: Option<u64>) {
        self.esp.followed(mark);
    }

    /// A snapshot begins: [`Access::tell_piece`] until it says that all was told.
    pub fn begin_snapshot(&mut self, out: &mut Effects) {
        self.pair.snapshot = Some(Snapshot::Sets(0));
        self.esp.tell_anew();
        out.delta(|out| {
            out.extend_from_slice(&[KIND, kind::SECRETS]);
            field::number(out, tag::ESP, self.esp.secret());
            field::number(out, tag::ACCESS, self.secret);
        });
    }

    /// As many rows of the snapshot count as changed; `false`: there are no more.
    pub fn tell_piece(&mut self, most: usize) -> bool {
        self.pair.snapshot = self.pair.snapshot.take().and_then(|snapshot| match snapshot {
            Snapshot::Sets(from) => match self.table.touch(from, most) {
                Some(next) => Some(Snapshot::Sets(next)),
                None => Some(Snapshot::Vacated(None)),
            },
            Snapshot::Vacated(after) => match self.table.vacated.touch(after, most) {
                Some(last) => Some(Snapshot::Vacated(Some(last))),
                None => Some(Snapshot::Watches(0)),
            },
            Snapshot::Watches(from) => match self.watches.slots.touch(from, most) {
                Some(next) => Some(Snapshot::Watches(next)),
                None => Some(Snapshot::Calls(None)),
            },
            Snapshot::Calls(after) => {
                self.emergencies.touch(after, most).map(|last| Snapshot::Calls(Some(last)))
            }
        });
        self.pair.snapshot.is_some()
    }

    /// Tells the other node what changed. To be called when all that leaves in a step has passed
    /// [`Access::leaving`].
    pub fn tell_standby(&mut self, out: &mut Effects) {
        if !self.pair.tells() || self.is_off() {
            return;
        }
        let (rows, esp, scratch) = (&self.rows, &self.esp, &mut self.pair.scratch);
        self.table.tell(|told| match told {
            SlotChange::Stands(_, copied, _) if copied.set.associated.is_none() => 0,
            SlotChange::Stands(key, copied, was) => {
                scratch.clear();
                scratch.extend_from_slice(&[KIND, kind::SET]);
                write_key(scratch, key);
                record::write(copied, rows, scratch);
                let digest = digest(scratch);
                let associations = copied.set.associations();
                if let Some(associations) = associations.filter(|_| digest != was) {
                    record::write_numbers(scratch, |out| esp.write_numbers(associations, out));
                    out.delta(|buffer| buffer.extend_from_slice(scratch));
                }
                digest
            }
            SlotChange::Gone(next) => {
                out.delta(|out| {
                    out.extend_from_slice(&[KIND, kind::SET_GONE]);
                    write_key(out, next);
                });
                0
            }
        });
        for identity in self.table.vacated.take_changed() {
            let row = self.table.vacated.at(identity);
            out.delta(|out| {
                out.extend_from_slice(&[KIND, kind::VACATED]);
                field::number(out, tag::PORT, identity.port.0.into());
                field::nested(out, tag::REMOTE, |out| write_address(out, identity.remote));
                if let Some((impi, until)) = row {
                    field::bytes(out, tag::IMPI, impi);
                    field::number(out, tag::UNTIL, until.as_nanos());
                }
            });
        }
        for number in self.emergencies.take_changed() {
            out.delta(|out| {
                out.extend_from_slice(&[KIND, kind::CALL]);
                field::number(out, tag::NUMBER, number);
                self.emergencies.write(number, out);
            });
        }
        self.esp.tell(&[KIND, kind::NUMBERS], out, &mut self.pair.scratch);
        self.tell_watches(out);
    }

    fn tell_watches(&mut self, out: &mut Effects) {
        let (rows, scratch) = (&self.rows, &mut self.pair.scratch);
        self.watches.slots.tell(|told| match told {
            SlotChange::Stands(key, watch, was) => {
                scratch.clear();
                scratch.extend_from_slice(&[KIND, kind::WATCH]);
                write_key(scratch, key);
                reg_event::write(watch, rows, scratch);
                let digest = digest(scratch);
                if digest != was {
                    out.delta(|buffer| buffer.extend_from_slice(scratch));
                }
                digest
            }
            SlotChange::Gone(next) => {
                out.delta(|out| {
                    out.extend_from_slice(&[KIND, kind::WATCH_GONE]);
                    write_key(out, next);
                });
                0
            }
        });
    }

    /// Makes a change that the other node has told: what stands behind [`KIND`]. What cannot be
    /// read is of a later version, or of another configuration: that agreement is not there.
    pub fn apply(&mut self, now: Time, delta: &[u8]) {
        let Some((&kind, fields)) = delta.split_first() else { return };
        match kind {
            kind::SECRETS => {
                for (tag, value) in Fields::new(fields) {
                    match tag {
                        tag::ESP => self.esp.set_secret(field::read(value)),
                        tag::ACCESS => self.secret = field::read(value),
                        _ => {}
                    }
                }
                self.pair.has_secrets = true;
            }
            // The snapshot tells it once more: its indices could not be checked yet.
            kind::SET if !self.pair.has_secrets => {}
            kind::SET => {
                if let Some(key) = read_key(fields)
                    && self.put(now, key, fields).is_none()
                {
                    self.pair.lacks_some = true;
                    self.table.take_away(key, &mut self.esp);
                }
                self.gauges();
            }
            kind::SET_GONE => {
                if let Some(next) = read_key(fields) {
                    self.table.take_away(next, &mut self.esp);
                }
                self.gauges();
            }
            kind::NUMBERS => self.esp.apply(fields),
            kind::WATCH => {
                // The phones of one that cannot be taken register anew in time, and are watched.
                if let Some(key) = read_key(fields) {
                    let watch = reg_event::read(now, fields, &self.rows);
                    if !watch.is_some_and(|watch| self.watches.put(key, watch)) {
                        self.watches.take_away(key);
                    }
                }
            }
            kind::WATCH_GONE => {
                if let Some(next) = read_key(fields) {
                    self.watches.take_away(next);
                }
            }
            kind::VACATED => self.vacated(now, fields),
            kind::CALL => {
                let mut fields = Fields::new(fields);
                if let Some((tag::NUMBER, number)) = fields.next() {
                    self.emergencies.read(now, field::read(number), fields.rest());
                }
            }
            _ => {}
        }
    }

    /// An agreement as the other node has it.
    fn put(&mut self, now: Time, key: Key, fields: &[u8]) -> Option<()> {
        let (copy, numbers) = record::read(now, fields, &self.rows)?;
        let numbers = Numbers::read(numbers)?;
        let associated = copy.set.associated.as_ref()?;
        let (at, own, keys) = (associated.key, associated.own, associated.keys.clone()?);
        self.table.put(key, copy, &mut self.esp).then_some(())?;
        if self.esp.numbers(at).is_none() {
            let made = self.associations(key, own, numbers.remote, &keys)?;
            self.esp.put(at, made).then_some(())?;
        }
        self.esp.follow(at, &numbers);
        Some(())
    }

    fn vacated(&mut self, now: Time, fields: &[u8]) {
        let find = |wanted| Fields::new(fields).find(|(tag, _)| *tag == wanted).map(|(_, it)| it);
        let (Some(port), Some(remote)) = (find(tag::PORT), find(tag::REMOTE)) else { return };
        let Some(remote) = read_address(remote) else { return };
        let port = PortId(at_most(field::read(port), u16::MAX));
        let identity = Identity { port, remote };
        match find(tag::IMPI).zip(find(tag::UNTIL)) {
            Some((impi, until)) => {
                let until = Time::from_nanos(field::read(until)).min(now + LASTS_MAX);
                self.table.vacated.put(identity, crate::set::cut(impi), until);
            }
            None => self.table.vacated.remove(identity),
        }
    }
}
