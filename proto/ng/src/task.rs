//! One command as it runs, and what runs of a call without one.

use crate::call::{Call, Speaker};
use crate::command::Command;
use crate::engine::{Effect, Failure, NAME_OCTETS_MAX, NO_INTERFACE, TOO_LONG, UNKNOWN_TAG};
use crate::flags;
use crate::world::{Around, Ports};
use anchor::{Change, Heard, Means, Session, Side};
use core::net::IpAddr;
use machine::Time;

/// One command as it runs.
pub(crate) struct Task<'t, 'c, 'w> {
    pub now: Time,
    pub command: &'t Command<'c>,
    pub around: &'t mut Around<'w>,
    pub effects: &'t mut Vec<Effect>,
}

impl Task<'_, '_, '_> {
    /// The offer for the other side of a call.
    pub fn offer(
        &mut self,
        call: &mut Call,
        tag: &[u8],
        text: &[u8],
        interfaces: [Option<Box<[u8]>>; 2],
    ) -> Result<Vec<u8>, Failure> {
        let speaker = self.offerer(call, tag)?;
        let [own, others] = interfaces;
        let places = [(speaker.side, own), (speaker.side.other(), others)];
        for (side, interface) in places.into_iter().filter(|place| place.1.is_some()) {
            call.interfaces[side.index()] = interface;
        }
        // An offer that nobody answered is forgotten: whoever sent it is free to offer again.
        self.with(call, |session, means| session.reject(means.ports));
        flags::offer(self.command, speaker.side, &mut call.policies);
        let mut out = Vec::new();
        let heard = self.heard(text, speaker);
        self.with(call, |session, means| session.offer(heard, means, &mut out))?;
        if speaker.side == Side::B {
            call.learn(tag, branch(self.command)?);
        }
        call.signalled = self.now;
        Ok(out)
    }

    /// Who offers: one whose tag is known, or a new dialog of B that knows A's.
    fn offerer(&self, call: &Call, tag: &[u8]) -> Result<Speaker, Failure> {
        let to_a = self.command.text("to-tag").is_some_and(|tag| *tag == *call.tag);
        let new = || call.next().filter(|_| to_a);
        call.speaker(tag).or_else(new).ok_or(UNKNOWN_TAG)
    }

    /// The interfaces that `direction` names, of the speaker and of the other side.
    pub fn interfaces(&self) -> Result<[Option<Box<[u8]>>; 2], Failure> {
        let mut names = self.command.texts("direction").map(|name| Some(name.into()));
        let interfaces: [Option<Box<[u8]>>; 2] = [names.next().flatten(), names.next().flatten()];
        let world = &self.around.world;
        let are_known = interfaces.iter().flatten().all(|name| world.has_interface(name));
        if are_known { Ok(interfaces) } else { Err(NO_INTERFACE) }
    }

    /// The description with who sent it, at the address that its SIP message came from if that is
    /// to be believed rather.
    pub fn heard<'a>(&self, text: &'a [u8], speaker: Speaker) -> Heard<'a> {
        let received = self.command.texts("received-from").last().and_then(ip);
        let source = received.filter(|_| self.command.has("flags", "SIP-source-address"));
        Heard { text, from: speaker.side, fork: speaker.fork, source, signaller: received }
    }

    pub fn with<T>(
        &mut self,
        call: &mut Call,
        run: impl FnOnce(&mut Session, &mut Means<'_>) -> T,
    ) -> T {
        let shown = self.command.texts("media-address").next().and_then(ip);
        with(call, self.around, shown, run)
    }
}

/// Runs something of a call; `shown` is an address that stands for those of its ports.
pub(crate) fn with<T>(
    call: &mut Call,
    around: &mut Around<'_>,
    shown: Option<IpAddr>,
    run: impl FnOnce(&mut Session, &mut Means<'_>) -> T,
) -> T {
    let interfaces = call.interfaces.clone();
    let mut ports = Ports { world: &mut *around.world, interfaces, shown };
    let mut means = Means {
        policies: [&call.policies[0], &call.policies[1]],
        ports: &mut ports,
        random: &mut *around.random,
    };
    run(&mut call.session, &mut means)
}

/// Ends a call.
pub(crate) fn end(call: &mut Call, around: &mut Around<'_>) -> Vec<Change> {
    with(call, around, None, |session, means| session.end(means.ports))
}

pub(crate) fn note(effects: &mut Vec<Effect>, call: u64, changes: &[Change]) {
    effects.extend(changes.iter().map(|change| match *change {
        Change::Added(line) | Change::Changed(line) => Effect::Put(call, line),
        Change::Removed(line) => Effect::Remove(call, line),
    }));
}

/// The branch of the Via that a dialog is told by, if one is named.
pub(crate) fn branch<'c>(command: &Command<'c>) -> Result<Option<&'c [u8]>, Failure> {
    let branch = command.texts("via-branch").next();
    match branch {
        Some(branch) if branch.len() > NAME_OCTETS_MAX => Err(TOO_LONG),
        branch => Ok(branch.filter(|branch| !branch.is_empty())),
    }
}

fn ip(text: &[u8]) -> Option<IpAddr> {
    core::str::from_utf8(text).ok()?.parse().ok()
}
