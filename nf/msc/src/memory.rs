//! What the forwarder keeps for the controller that comes next: the life of its streams, the
//! numbers of addresses, and who has leased what.
//!
//! ```text
//!   taken-over       another node served in this life before
//!   epoch            1a2b…                       of the life that this forwarder's counters are of
//!   address 3        ["red", "192.0.2.1"]        null where there is no routing table
//!   lease ssc1       {"wants": {"access": 1024}, "blocks": [[3, 20000], [3, 21024]], …}
//! ```
//! A controller that finds these goes on: its session controllers connect, find the leases that
//! they had, and say their streams, and only then goes what nobody said.

use crate::MediaController;
use crate::controllers::KeyId;
use crate::pair::Role;
use machine::identity::{hex, unhex};
use machine::{Duration, Time};
use rand_chacha::rand_core::RngCore as _;
use runtime::Effects;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;

const EPOCH: &str = "epoch";
const TURN: &str = "turn";
const TAKEN_OVER: &str = "taken-over";
const ADDRESS: &str = "address ";
pub(crate) const LEASE: &str = "lease ";
/// How long session controllers of the life before have to come back and say their streams.
const HELD: Duration = Duration::from_secs(30);

/// What a session controller has, and what it proves its name with.
#[derive(Serialize, Deserialize)]
struct Lease {
    wants: BTreeMap<String, u32>,
    /// By the number of their address and their first port.
    blocks: Vec<(u16, u16)>,
    keys: Box<[KeyId]>,
    /// Of the session controller's life, if it was heard.
    #[serde(default)]
    epoch: Option<u64>,
    /// For how long streams still stand that an earlier start of it said and this one has not, in
    /// tens of seconds: it is not told anew each second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    former_10s: Option<u64>,
}

impl MediaController {
    /// A forwarder takes this control: the first one says whether there was a life before.
    pub(crate) fn welcomed(&mut self, now: Time, out: &mut Effects) {
        self.pair.forget_notices();
        match self.pair.role {
            // What it does goes on until it is known which of the two this is.
            Role::Waiting => return,
            Role::Standby => {
                self.say(now, out);
                self.is_first = false;
                self.note_memory(now, out);
                return self.release(now, out);
            }
            Role::Alone | Role::Active => {}
        }
        if self.epoch.is_none() {
            let is_known = self.remember(now);
            self.is_first = self.dataplane.numbers().note(EPOCH).is_none();
            // What goes on with keys of a life that the other node went on with, goes at once.
            if is_known && self.remembers_last() {
                self.held_until = Some(now + HELD);
            }
            self.tell_epoch(out);
        }
        self.say(now, out);
        // Another one that comes in this life goes on ahead of this one.
        self.is_first = false;
        self.note_memory(now, out);
        if self.held_until.is_none() {
            self.release(now, out);
        }
        for early in std::mem::take(&mut self.early) {
            self.hello(now, early, out);
        }
    }

    /// Everybody has said what stands, or had the time to: the rest goes.
    pub(crate) fn release(&mut self, now: Time, out: &mut Effects) {
        self.held_until = None;
        self.dataplane.release(now, out);
        self.transcoding.say(now, true, out);
    }

    /// Whether what the forwarder remembers is of the last term.
    const fn remembers_last(&self) -> bool {
        !self.pair.is_outdated && !self.dataplane.is_taken()
    }

    /// Takes up the life that the forwarder remembers, or begins one; whether somebody of the life
    /// before has something.
    fn remember(&mut self, now: Time) -> bool {
        let notes: BTreeMap<String, String> = {
            let notes = self.dataplane.numbers().notes();
            notes.map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
        };
        // A life that the other node may have gone on with since is none to take up.
        let is_last = self.remembers_last();
        let epoch = notes.get(EPOCH).filter(|_| is_last);
        let epoch = epoch.and_then(|text| unhex(text.as_bytes()));
        self.epoch = Some(epoch.unwrap_or_else(|| self.random.next_u64()));
        let addresses = notes.iter().filter_map(|(name, text)| {
            let number: u16 = name.strip_prefix(ADDRESS)?.parse().ok()?;
            let (vrf, ip): (Option<String>, IpAddr) = serde_json::from_str(text).ok()?;
            Some((number, vrf, ip))
        });
        self.streams.addresses.restore(addresses, &self.settings.msc);
        // Streams and leases there are none yet: only numbers have changed.
        self.streams.configure(now, &self.settings.msc);
        // Streams that only their session controllers still know of may have been begun there.
        self.streams.is_taken_over = is_last && notes.contains_key(TAKEN_OVER);
        let turn = notes.get(TURN).filter(|_| is_last);
        let turn = turn.and_then(|text| unhex(text.as_bytes()));
        self.pair.turn = turn.unwrap_or(self.pair.turn);
        let controllers_max = usize::from(self.settings.msc.limits.session_controllers_max);
        let mut is_known = false;
        for (name, text) in &notes {
            let Some(name) = name.strip_prefix(LEASE) else { continue };
            let Ok(lease) = serde_json::from_str::<Lease>(text) else { continue };
            let Some(lessee) = self.controllers.named(name, now, controllers_max) else { continue };
            let groups = &self.settings.msc.group;
            if let Some(controller) = self.controllers.at_mut(lessee) {
                let is_known = |(name, _): &(String, u32)| groups.iter().any(|it| it.name == *name);
                controller.wants = lease.wants.into_iter().filter(is_known).collect();
                controller.keys = lease.keys;
                controller.epoch = lease.epoch;
                controller.former_until = former_until(now, lease.former_10s);
            }
            for key in lease.blocks {
                self.streams.book.restore(key, lessee);
            }
            is_known = true;
        }
        is_known
    }

    /// The other node told of an address, or of a session controller and what it has leased.
    pub(crate) fn noted(&mut self, now: Time, name: &str, text: &str, out: &mut Effects) {
        if let Some(number) = name.strip_prefix(ADDRESS).and_then(|it| it.parse::<u16>().ok()) {
            let Ok((vrf, ip)) = serde_json::from_str::<(Option<String>, IpAddr)>(text) else {
                return;
            };
            let addresses = &mut self.streams.addresses;
            if addresses.at(number).is_none_or(|it| (&it.vrf, it.ip) != (&vrf, ip)) {
                let known = addresses.iter().filter(|(at, _)| *at != number);
                let known = known.map(|(at, it)| (at, it.vrf.clone(), it.ip));
                let known = known.filter(|(_, vrf_of, of)| (vrf_of, of) != (&vrf, &ip));
                let all: Vec<_> = known.chain([(number, vrf.clone(), ip)]).collect();
                addresses.restore(all.into_iter(), &self.settings.msc);
                self.configure_streams(now, out);
            }
        }
        let Some(name) = name.strip_prefix(LEASE) else { return };
        let Ok(lease) = serde_json::from_str::<Lease>(text) else { return };
        let controllers_max = usize::from(self.settings.msc.limits.session_controllers_max);
        let Some(lessee) = self.controllers.named(name, now, controllers_max) else {
            self.pair.is_incomplete = true;
            return;
        };
        self.pair.told.insert(name.to_owned());
        if let Some(controller) = self.controllers.at_mut(lessee) {
            controller.wants = lease.wants.into_iter().collect();
            controller.keys = lease.keys;
            if controller.epoch.is_some_and(|known| Some(known) != lease.epoch) {
                self.streams.renew(lessee);
            }
            controller.epoch = lease.epoch;
            controller.former_until = former_until(now, lease.former_10s);
        }
        self.streams.book.assign(now, lessee, &lease.blocks);
    }

    /// Leaves with the forwarder what the controller that comes next has to know, if it changed.
    pub(crate) fn note_memory(&mut self, now: Time, out: &mut Effects) {
        let mut notes = BTreeMap::new();
        for (number, address) in self.streams.addresses.iter() {
            let text = serde_json::to_string(&(&address.vrf, address.ip));
            notes.extend(text.map(|text| (format!("{ADDRESS}{number}"), text)));
        }
        for (lessee, controller) in self.controllers.iter() {
            let lease = Lease {
                wants: controller.wants.clone(),
                blocks: self.streams.book.held_by(lessee).collect(),
                keys: controller.keys.clone(),
                epoch: controller.epoch,
                former_10s: controller.former_until.map(|until| former_10s(now, until)),
            };
            let text = serde_json::to_string(&lease);
            notes.extend(text.map(|text| (format!("{LEASE}{}", controller.name), text)));
        }
        self.tell_notes(&notes, out);
        // The life of another node is none that a later control of this forwarder goes on with.
        let serves = self.pair.serves();
        let hexed = |number| String::from_utf8(hex(number).to_vec()).ok();
        let turn = Some(self.pair.turn).filter(|turn| *turn > 0);
        if serves && self.streams.is_taken_over {
            notes.insert(TAKEN_OVER.to_owned(), String::new());
        }
        for (name, number) in [(EPOCH, self.epoch), (TURN, turn)] {
            let text = number.filter(|_| serves).and_then(hexed);
            notes.extend(text.map(|text| (name.to_owned(), text)));
        }
        let numbers = self.dataplane.numbers_mut();
        let old: Vec<String> = numbers.notes().map(|(name, _)| name.to_owned()).collect();
        let mut is_new = false;
        for name in old.iter().filter(|name| !notes.contains_key(*name)) {
            is_new |= numbers.set_note(name, None);
        }
        for (name, text) in notes {
            is_new |= numbers.set_note(&name, Some(text));
        }
        if is_new {
            self.dataplane.keep(out);
        }
    }
}

fn former_10s(now: Time, until: Time) -> u64 {
    until.since(now).as_secs().div_ceil(10)
}

fn former_until(now: Time, former_10s: Option<u64>) -> Option<Time> {
    former_10s.map(|tens| now + Duration::from_secs(tens.saturating_mul(10).min(86_400)))
}
