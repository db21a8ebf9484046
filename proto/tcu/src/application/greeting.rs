//! Instances come: version, name, group, and the proof of a key.

use super::instance::Instance;
use super::{Application, InstanceId, Side, Wanted};
use crate::frame::MESSAGE_OCTETS_MAX;
use crate::message::{Hello, PROOF_LABEL, ToApplication, VERSION, Welcome, proof_text};
use crate::names::Speech;
use crate::primitive::STATE_OCTETS_MAX;
use machine::identity::mix;
use machine::{Duration, Time};

/// How long a connection may take to greet.
const GREETING: Duration = Duration::from_secs(5);
/// Connections that have not greeted, at most: the oldest makes room for the next, so that nobody
/// keeps instances out by saying nothing.
pub const GREETING_MAX: usize = 64;
/// Characters of a name.
const NAME_MAX: usize = 64;

impl Application {
    /// Somebody connected. `must_prove`: the way there proves nothing.
    pub fn connected(&mut self, now: Time, id: InstanceId, must_prove: bool) {
        self.instances.insert(id, Instance::new(now + GREETING, must_prove));
        let greeting = || self.instances.iter().filter(|(_, it)| !it.is_ready());
        if greeting().count() > GREETING_MAX {
            let oldest = greeting().min_by_key(|(_, it)| it.greets_by).map(|(id, _)| *id);
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
        if let Some(why) = self.objection(hello) {
            return self.turn_away(now, id, why);
        }
        let Some(instance) = self.instances.get(&id) else { return };
        if instance.must_prove {
            match (&instance.challenge, &hello.proof) {
                (Some(challenge), Some(proof)) if self.is_proof(challenge, hello, proof) => {}
                (None, _) => return self.challenge(now, id),
                _ => return self.turn_away(now, id, "the proof is not that of a key"),
            }
        }
        let Some(instance) = self.instances.get_mut(&id) else { return };
        (instance.greets_by, instance.challenge) = (None, None);
        instance.name.clone_from(&hello.instance);
        instance.group.clone_from(&hello.group);
        self.counts.welcomed += 1;
        let welcome = ToApplication::Welcome(Welcome {
            version: VERSION,
            function: self.settings.function.clone(),
            subsystem: self.settings.subsystem,
            message_octets_max: u32::try_from(MESSAGE_OCTETS_MAX).unwrap_or(u32::MAX),
            state_octets_max: u32::try_from(STATE_OCTETS_MAX).unwrap_or(u32::MAX),
        });
        self.send(now, id, &welcome, Speech::Unknown);
        self.take_over(now, side);
    }

    /// Why an instance is not taken in.
    fn objection(&self, hello: &Hello) -> Option<&'static str> {
        let is_long = |name: &String| name.len() > NAME_MAX;
        match () {
            () if hello.version != VERSION => Some("this gateway speaks version 1"),
            () if self.ready().len() >= self.settings.instances_max as usize => {
                Some("there are as many instances as there may be")
            }
            () if hello.application != self.settings.name => {
                Some("another application is spoken with here")
            }
            () if is_long(&hello.group) || is_long(&hello.instance) => Some("a name is too long"),
            () if !self.settings.groups.is_empty()
                && !self.settings.groups.contains(&hello.group) =>
            {
                Some("no such group is configured")
            }
            () => None,
        }
    }

    fn challenge(&mut self, now: Time, id: InstanceId) {
        self.challenges += 1;
        let number = self.challenges;
        let octets = self.secret.iter().flat_map(|secret| mix(secret ^ number).to_be_bytes());
        let challenge: bytes::Bytes = octets.collect::<Vec<u8>>().into();
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
