//! Who controls: one control at a time, and of several that lead by epochs the one of the highest.
//!
//! ```text
//!   Hello ───────→ the one control, unless one of an epoch lives
//!   Lead { 7 } ──→ that of epoch 6 hears that 7 leads and is let go, its packet channels closed
//!   Lead { 6 } ──→ Refused, and so is a packet channel of 6: epoch 7 leads
//! ```
//! The two controls of an edge elect one of them; what is late of the other is refused here: no
//! program of an epoch comes after one of a later one. Who names no epoch is of epoch 0.

use crate::asked::Warning;
use crate::control_listener::Challenge;
use crate::ipc::Reply;
use crate::serve::Forwarder;
use crate::stream::Lost;

/// How far an epoch may be ahead of the highest one: nobody uses them up.
const AHEAD_MAX: u64 = 1 << 32;

/// Why an epoch is refused.
fn behind(highest: u64, epoch: u64) -> String {
    format!("epoch {highest} leads, and this control is of epoch {epoch}")
}

impl Forwarder {
    /// Somebody wants to control. Who proves the key may take over, and the later of two epochs;
    /// without a key nobody else may from one that lives.
    pub(crate) fn hello(&mut self, number: u64, epoch: Option<u64>) {
        let Some(connection) = self.connections.get(&number) else { return };
        let is_proven = connection.challenge.as_ref().is_some_and(Challenge::is_met);
        let is_trusted = is_proven || connection.is_own;
        if self.listener.has_keys() && !is_proven {
            return self.turn_away(number, "this forwarder is controlled by who has its key");
        }
        let (highest, of) = (self.kept.epoch, epoch.unwrap_or(0));
        if of < highest {
            return self.turn_away(number, &behind(highest, of));
        }
        if of - highest > AHEAD_MAX {
            let why = format!("epoch {of} is too far ahead of {highest}");
            return self.turn_away(number, &why);
        }
        if epoch.is_some() && !is_trusted {
            let why = "an epoch is led in by who has the key, or is the forwarder's own user";
            return self.turn_away(number, why);
        }
        if let Some(other) = self.control().filter(|other| *other != number) {
            let of_other = self.connections.get(&other).and_then(|it| it.epoch);
            let may_take_over = match epoch {
                Some(epoch) => epoch > highest,
                None => of_other.is_none() && is_proven,
            };
            if !may_take_over && !self.has_gone(other) {
                return self.turn_away(number, "another control stands and lives");
            }
        }
        if let Some(epoch) = epoch {
            self.follow(number, epoch);
        }
        self.welcome(number);
    }

    /// Whether a connection has ended, and its end was not read yet.
    fn has_gone(&mut self, number: u64) -> bool {
        match self.connections.get_mut(&number).map(|it| it.stream.fill()) {
            Some(Err(lost)) => {
                self.lose(number, &lost);
                true
            }
            _ => false,
        }
    }

    /// A control leads from now on: those of earlier epochs, and their packet channels, are let go.
    fn follow(&mut self, number: u64, epoch: u64) {
        let before = std::mem::replace(&mut self.kept.epoch, epoch);
        if let Some(connection) = self.connections.get_mut(&number) {
            connection.epoch = Some(epoch);
        }
        if before != epoch {
            tracing::info!(target: "forwarder", epoch, "a control of a later epoch leads");
        }
        let others = self.connections.iter().filter(|(other, it)| {
            let leads = it.epoch.is_some() || it.is_control || self.channels.contains_key(other);
            **other != number && leads
        });
        let others = others.map(|(other, it)| (*other, it.epoch.unwrap_or(0)));
        let others: Vec<(u64, u64)> = others.filter(|(_, of)| *of < epoch).collect();
        for (other, of) in others {
            self.turn_away(other, &behind(epoch, of));
        }
    }

    /// Whether a packet channel may be opened for the control of an epoch.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn leads(&self, epoch: Option<u64>) -> Result<(), String> {
        let (highest, of) = (self.kept.epoch, epoch.unwrap_or(0));
        if of == highest { Ok(()) } else { Err(behind(highest, of)) }
    }

    pub(crate) fn turn_away(&mut self, number: u64, why: &str) {
        if self.may_warn(Warning::Control) {
            tracing::warn!(target: "forwarder", why, "a control is turned away");
        }
        let (what, why) = ("control of the forwarder".to_owned(), why.to_owned());
        self.say(number, &Reply::Refused { what, why, of: None });
        self.lose(number, &Lost::Refused);
    }

    fn welcome(&mut self, number: u64) {
        for (other, connection) in &mut self.connections {
            connection.is_control = *other == number;
        }
        let ports = self.ports.values().map(|port| port.spec.clone()).collect();
        let (memo, is_taken) = (self.kept.memo.clone(), self.kept.is_taken);
        self.kept.claims.forget();
        self.say(number, &Reply::Welcome { ports, memo, is_taken });
        let links: Vec<Reply> = self.ports.keys().map(|port| self.link(*port)).collect();
        links.iter().for_each(|link| self.say(number, link));
        let not_well = self.hands.iter().enumerate().filter(|(_, hand)| !hand.is_well());
        let not_well: Vec<usize> = not_well.map(|(worker, _)| worker).collect();
        not_well.into_iter().for_each(|worker| self.tell_worker(worker));
    }
}
