//! Instances come: version, name, group, and the proof of a key.

use super::instance::Instance;
use super::{Application, Happened, InstanceId, Side, Wanted};
use crate::frame::MESSAGE_OCTETS_MAX;
use crate::message::{Hello, PROOF_LABEL, ToApplication, VERSION, Welcome, proof_text};
use crate::names::Speech;
use crate::primitive::STATE_OCTETS_MAX;
use core::cmp::Reverse;
use core::net::IpAddr;
use machine::{Duration, Time};

/// How long a connection may take to greet.
const GREETING: Duration = Duration::from_secs(5);
/// What challenges are made with, before their number.
const CHALLENGE_LABEL: &[u8] = b"tcu challenge";
/// Connections that have not greeted, at most: the oldest of the source that has the most makes
/// room for the next, so that nobody keeps instances of another source out.
pub const GREETING_MAX: usize = 64;
/// Characters of a name.
const NAME_MAX: usize = 64;

impl Application {
    /// Somebody connected. `must_prove`: the way there proves nothing; `source`: from where, by
    /// TCP.
    pub fn connected(
        &mut self,
        now: Time,
        id: InstanceId,
        must_prove: bool,
        source: Option<IpAddr>,
    ) {
        self.instances.insert(id, Instance::new(now + GREETING, must_prove, source));
        let greeting = || self.instances.iter().filter(|(_, it)| !it.is_ready());
        if greeting().count() > GREETING_MAX {
            let of = |source| greeting().filter(|it| it.1.source == source).count();
            let order = |it: &(&InstanceId, &Instance)| (Reverse(of(it.1.source)), it.1.greets_by);
            let oldest = greeting().min_by_key(order).map(|(id, _)| *id);
            oldest.into_iter().for_each(|id| self.turn_away(now, id, "others want to greet"));
        }
    }

    /// A connection ends, and is told why.
    pub(super) fn turn_away(&mut self, now: Time, id: InstanceId, why: &str) {
        self.counts.turned_away += 1;
        self.bye(now, id, why);
        self.instances.remove(&id);
    }

    pub(super) fn bye(&mut self, now: Time, id: InstanceId, why: &str) {
        self.note(id, Happened::SentAway(why.to_owned()));
        self.send(now, id, &ToApplication::Bye(why.to_owned()), Speech::Unknown);
        self.wanted.push(Wanted::Close(id));
    }

    /// The greeting.
    pub(super) fn greeted(
        &mut self,
        now: Time,
        id: InstanceId,
        hello: &Hello,
        side: &mut Side<'_>,
    ) {
        let Some(instance) = self.instances.get(&id) else { return };
        // Who has proved nothing is told nothing: not which names there are, nor what is full.
        if instance.must_prove && hello.version == VERSION {
            match (&instance.challenge, &hello.proof) {
                (Some(challenge), Some(proof)) if self.is_proof(challenge, hello, proof) => {}
                (None, _) => return self.challenge(now, id),
                _ => return self.turn_away(now, id, "the proof is not that of a key"),
            }
        }
        if let Some(why) = self.objection(hello) {
            return self.turn_away(now, id, why);
        }
        let Some(instance) = self.instances.get_mut(&id) else { return };
        let challenge = instance.challenge.take();
        let proved = challenge.zip(hello.proof.clone());
        instance.proved = proved
            .map(|(of, proof)| (proof_text(&of, hello), bytes::Bytes::copy_from_slice(&proof)));
        instance.greets_by = None;
        instance.name.clone_from(&hello.instance);
        instance.group.clone_from(&hello.group);
        self.counts.welcomed += 1;
        self.note(id, Happened::Welcomed);
        let welcome = ToApplication::Welcome(Welcome {
            version: VERSION,
            function: self.settings.function.clone(),
            subsystem: self.settings.subsystem,
            message_octets_max: u32::try_from(MESSAGE_OCTETS_MAX).unwrap_or(u32::MAX),
            state_octets_max: u32::try_from(STATE_OCTETS_MAX).unwrap_or(u32::MAX),
        });
        self.send(now, id, &welcome, Speech::Unknown);
        self.welcomed(now, id, side);
        self.take_over(now, side);
    }

    /// Why an instance is not taken in.
    fn objection(&self, hello: &Hello) -> Option<&'static str> {
        let is_wrong = |name: &String| name.len() > NAME_MAX || name.chars().any(char::is_control);
        match () {
            () if hello.version != VERSION => Some("this gateway speaks version 1"),
            () if self.ready().len() >= self.settings.instances_max as usize => {
                Some("there are as many instances as there may be")
            }
            () if hello.application != self.settings.name => {
                Some("another application is spoken with here")
            }
            () if is_wrong(&hello.group) || is_wrong(&hello.instance) => {
                Some("a name is too long, or has control characters")
            }
            () if !self.settings.groups.is_empty()
                && !self.settings.groups.contains(&hello.group) =>
            {
                Some("no such group is configured")
            }
            () => None,
        }
    }

    /// Who came by TCP has one of the keys, or goes. Without any, nobody there has to prove it.
    pub(super) fn prove_again(&mut self, now: Time, side: &mut Side<'_>) {
        let Some(keys) = self.settings.keys.clone() else { return };
        let mut gone = Vec::new();
        for (id, it) in self.instances.iter_mut().filter(|it| it.1.source.is_some()) {
            it.must_prove = true;
            let proved = it.proved.as_ref();
            let has = proved.is_some_and(|(text, proof)| keys.is_proof(PROOF_LABEL, text, proof));
            if it.is_ready() && !has {
                gone.push(*id);
            }
        }
        for id in gone {
            self.bye(now, id, "its key is none any more");
            self.lost(now, id, side);
        }
    }

    fn challenge(&mut self, now: Time, id: InstanceId) {
        self.challenges += 1;
        let number = self.challenges.to_be_bytes();
        let octets = self.secret.prove(CHALLENGE_LABEL, &number).into_iter().next();
        let challenge = bytes::Bytes::from(octets.unwrap_or_default());
        if let Some(instance) = self.instances.get_mut(&id) {
            instance.challenge = Some(challenge.clone());
        }
        self.send(now, id, &ToApplication::Challenge(challenge), Speech::Unknown);
    }

    /// Without keys there is no proof: who has to make one is not let in.
    fn is_proof(&self, challenge: &[u8], hello: &Hello, proof: &[u8]) -> bool {
        let text = proof_text(challenge, hello);
        self.settings.keys.as_ref().is_some_and(|keys| keys.is_proof(PROOF_LABEL, &text, proof))
    }
}
