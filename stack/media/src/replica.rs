//! What the other node of a pair knows of calls' media: each that was answered, and the epoch that
//! both nodes say to media controllers.

use crate::client::Client;
use crate::session::{Anchored, Names};
use core::ops::Range;
use machine::narrow::index;
use machine::slots::SlotChange;
use replica::field::{self, Fields};
use replica::record::{digest, read_key, tell_key, write_key};
use runtime::Effects;

/// Deltas of media begin with a number from here on …
pub const KINDS_FROM: u8 = 8;
/// … and within this range.
pub const KINDS: Range<u8> = KINDS_FROM..16;
const STANDS: u8 = KINDS_FROM;
const GONE: u8 = KINDS_FROM + 1;
const EPOCH: u8 = KINDS_FROM + 2;

const EPOCH_TAG: u8 = 3;

impl Client {
    /// Tells the standby what this step changed.
    pub fn tell(&mut self, out: &mut Effects) {
        if !self.is_epoch_told {
            self.tell_epoch(out);
        }
        let Self { sessions, scratch, controllers, groups, .. } = self;
        sessions.tell(|told| match told {
            SlotChange::Stands(_, anchored, _) if !anchored.is_settled => 0,
            SlotChange::Stands(key, anchored, was) => {
                scratch.clear();
                scratch.push(STANDS);
                write_key(scratch, key);
                let controller = controllers.get(usize::from(anchored.controller));
                let group = |at: u16| groups.get(usize::from(at)).map_or("", |group| &**group);
                let name = controller.map_or("", |controller| &*controller.name);
                anchored.record(name, anchored.groups.map(group), scratch);
                let digest = digest(scratch);
                if digest != was {
                    out.delta(|buffer| buffer.extend_from_slice(scratch));
                }
                digest
            }
            SlotChange::Gone(next) => {
                tell_key(out, GONE, next);
                0
            }
        });
    }

    fn tell_epoch(&mut self, out: &mut Effects) {
        self.is_epoch_told = true;
        let epoch = self.own.epoch;
        out.delta(|buffer| {
            buffer.push(EPOCH);
            field::number(buffer, EPOCH_TAG, epoch);
        });
    }

    /// A snapshot begins: what belongs to no call is told.
    pub fn begin_snapshot(&mut self, out: &mut Effects) {
        self.tell_epoch(out);
    }

    /// So many calls from `from` on count as not told; where to go on.
    pub fn touch(&mut self, from: u32, most: usize) -> Option<u32> {
        self.sessions.touch(from, most)
    }

    /// Makes the change that the active node made. What cannot be read is of a later version, or of
    /// another configuration, and is passed over.
    pub fn apply(&mut self, kind: u8, fields: &[u8]) {
        if kind == EPOCH {
            let epoch = Fields::new(fields).find(|&(tag, _)| tag == EPOCH_TAG);
            self.own.epoch = epoch.map_or(self.own.epoch, |(_, value)| field::read(value));
            return;
        }
        let Some(key) = read_key(fields) else { return };
        match kind {
            GONE => self.sessions.take_away(key),
            STANDS => {
                let Self { sessions, controllers, groups, .. } = self;
                let Some(anchored) = sessions.put(key) else { return };
                let controller = |name: &[u8]| {
                    let at = controllers.iter().position(|it| it.name.as_bytes() == name);
                    at.map(index)
                };
                let group =
                    |name: &[u8]| groups.iter().position(|it| it.as_bytes() == name).map(index);
                let names = Names { controllers: &controller, groups: &group };
                if anchored.restore(fields, &names).is_none() {
                    *anchored = Anchored::default();
                }
            }
            _ => {}
        }
    }
}
