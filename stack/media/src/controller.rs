//! One media controller as its client knows it.

use crate::connection::{Connection, Own, Target};
use crate::leases::{Leases, Sizes};
use anchor::Local;
use anchor::row::{Load, Message};
use machine::Time;
use machine::slots::Key;
use runtime::Effects;
use std::collections::VecDeque;

/// Thousandths of a forwarder from which on others get the calls.
const BUSY_PERMILLE: u16 = 950;

/// A media controller.
#[derive(Debug)]
pub(crate) struct Controller {
    pub name: Box<str>,
    pub connection: Connection,
    pub leases: Leases,
    /// Its start, as it said last.
    pub epoch: Option<u64>,
    load: Load,
    /// Streams of others, as far as it has said.
    others: u32,
    /// Streams of ours that it has acknowledged …
    done: u32,
    /// … and what became of them since: the number of the message, and how many.
    underway: VecDeque<(u64, i32)>,
    /// Streams that it was told and that stand.
    pub streams: u32,
    /// Streams that are offered and wait for their first answer.
    pub promised: u32,
    /// Calls of ours that have ports of it.
    pub calls: u32,
    /// Since when it has not been up.
    pub lost_at: Option<Time>,
    /// The call that is said next, while everything is said.
    pub restating: Option<u32>,
    /// The call that is looked at next, while those of one that is gone are told to move.
    pub leaving: Option<u32>,
    /// Pairs that calls have and that no lease has shown yet.
    pub unclaimed: Vec<(Key, Local)>,
    /// With the acknowledgement of this message, pairs that are still unclaimed are lost.
    pub claims_until: Option<u64>,
    /// It is not in the configuration any more.
    pub is_removed: bool,
    /// What it said last that could not be understood, or did not prove.
    pub violation: Option<&'static str>,
}

impl Controller {
    pub(crate) fn new(name: &str, target: Target, leases: Leases, now: Time) -> Self {
        Self {
            name: name.into(),
            connection: Connection::new(target, now),
            leases,
            epoch: None,
            load: Load::default(),
            others: 0,
            done: 0,
            underway: VecDeque::new(),
            streams: 0,
            promised: 0,
            calls: 0,
            lost_at: Some(now),
            restating: None,
            leaving: None,
            unclaimed: Vec::new(),
            claims_until: None,
            is_removed: false,
            violation: None,
        }
    }

    pub(crate) fn configure(
        &mut self,
        now: Time,
        target: Target,
        groups: &[Box<str>],
        sizes: Sizes,
        out: &mut Effects,
    ) {
        let was_up = self.connection.is_up();
        self.connection.retarget(now, target, out);
        if was_up && !self.connection.is_up() {
            self.lost(now);
        }
        self.leases.configure(groups, sizes);
        self.is_removed = false;
        self.say_leases();
    }

    /// Whether it is there and answers.
    pub(crate) const fn answers(&self) -> bool {
        self.connection.is_up() && !self.is_removed
    }

    /// Whether new calls may go there.
    pub(crate) const fn takes_calls(&self) -> bool {
        self.connection.is_up()
            && self.connection.is_prompt()
            && !self.load.is_draining
            && !self.is_removed
    }

    /// What a call goes by that may need these codecs, the least first: whether it lacks one,
    /// whether it is busy, how many streams it has or is to have: calls that begin together do not
    /// all go to the one that is the emptiest until the first of them is answered.
    pub(crate) const fn rank(&self, codecs: u32) -> (bool, bool, u32) {
        let lacks = codecs & !self.leases.codecs != 0;
        let is_busy = self.load.forwarder_permille >= BUSY_PERMILLE
            || self.load.transcoder_permille >= BUSY_PERMILLE;
        let own = self.streams.saturating_add(self.promised);
        (lacks, is_busy, self.others.saturating_add(own))
    }

    /// So many streams more were just said to stand, or fewer.
    pub(crate) fn counted(&mut self, more: i32) {
        self.streams = self.streams.saturating_add_signed(more);
        if self.connection.is_up() {
            self.underway.push_back((self.connection.said(), more));
        }
    }

    /// It has acknowledged something.
    pub(crate) fn acknowledged(&mut self) {
        while let Some(&(number, more)) = self.underway.front()
            && number <= self.connection.done()
        {
            self.underway.pop_front();
            self.done = self.done.saturating_add_signed(more);
        }
    }

    /// It knows everything that was said.
    pub(crate) fn restated(&mut self) {
        let open: i32 = self.underway.iter().map(|(_, more)| *more).sum();
        self.done = self.streams.saturating_add_signed(-open);
    }

    pub(crate) const fn load(&self) -> &Load {
        &self.load
    }

    pub(crate) const fn loaded(&mut self, load: Load) {
        // Its acknowledgements come before, so that both counts are of one moment.
        if self.restating.is_none() && self.claims_until.is_none() {
            self.others = load.streams.saturating_sub(self.done);
        }
        self.leases.codecs = load.codecs;
        self.load = load;
    }

    /// It is not there any more.
    pub(crate) fn lost(&mut self, now: Time) {
        self.lost_at = Some(now);
        self.restating = None;
        self.claims_until = None;
        // It counts anew with the next connection.
        self.load = Load::default();
        (self.others, self.done) = (0, 0);
        self.underway.clear();
    }

    /// It has answered the greeting. Everything is said again from here on.
    pub(crate) fn greeted(&mut self, epoch: u64) {
        (self.lost_at, self.leaving, self.violation) = (None, None, None);
        self.epoch = Some(epoch);
        self.connection.say(Message::Begin);
        self.restating = Some(0);
    }

    /// Says what is wanted of each group.
    pub(crate) fn say_leases(&mut self) {
        if !self.connection.is_up() {
            return;
        }
        for lease in self.leases.wanted() {
            self.connection.say(lease);
        }
    }
}

/// Who we are, for the connection.
pub(crate) fn own(name: &str, shard: u16, shards: u16, epoch: u64) -> Own {
    let name = if shards == 1 { name.into() } else { format!("{name}/{shard}").into() };
    Own { name, epoch }
}
