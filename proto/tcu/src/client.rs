//! An application's end of a connection, as octets in and octets out.

use crate::frame::{Cut, cut};
use crate::message::{Hello, Misread, PROOF_LABEL, ToApplication, ToGateway, Welcome, proof_text};
use crate::names::Speech;
use crate::primitive::{Indication, Request};
use crate::spelling::Spelling;
use authentication::Keys;
use std::collections::BTreeMap;
use wire::Malformed;

const SPEC: &str = "docs/applications.md";
/// An operation that version 1 of MAP has.
const SEND_ROUTING_INFO_FOR_SM: i64 = 45;

/// What the gateway said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientEvent {
    /// It took this side in.
    Welcome(Welcome),
    /// A primitive.
    Indication(Indication),
    /// Something that this side said was not understood.
    Malformed(Misread),
    /// Something that it said was not understood here: it is passed over.
    Unread(Malformed),
    /// It ends the connection: why.
    Bye(String),
}

/// An application's end.
#[derive(Debug)]
pub struct Client {
    hello: Hello,
    keys: Option<Keys>,
    spelling: Spelling,
    buffer: Vec<u8>,
    /// What dialogues speak, where the spelling needs it.
    speeches: BTreeMap<u64, Speech>,
    begins: BTreeMap<u64, Speech>,
}

impl Client {
    /// An end that greets so.
    #[must_use]
    pub const fn new(hello: Hello, spelling: Spelling, keys: Option<Keys>) -> Self {
        Self {
            hello,
            keys,
            spelling,
            buffer: Vec::new(),
            speeches: BTreeMap::new(),
            begins: BTreeMap::new(),
        }
    }

    /// The first octets to send.
    #[must_use]
    pub fn greeting(&self) -> Vec<u8> {
        let mut octets = Vec::new();
        let hello = ToGateway::Hello(self.hello.clone());
        self.spelling.write_request(&hello, Speech::Unknown, &mut octets);
        octets
    }

    /// Appends a request.
    pub fn write(&mut self, request: &Request, out: &mut Vec<u8>) {
        let speech = match request {
            Request::Begin { reference, portion, .. } => {
                let speech = Speech::of(portion.context.as_deref(), &portion.components);
                // Tagged fields are read without: nothing would take it out again.
                if self.spelling == Spelling::Json {
                    self.begins.insert(*reference, speech);
                }
                speech
            }
            Request::Uni { portion, .. } => {
                Speech::of(portion.context.as_deref(), &portion.components)
            }
            other => self.speech(other.dialogue().unwrap_or_default()),
        };
        self.spelling.write_request(&ToGateway::Request(request.clone()), speech, out);
        if let Request::End { dialogue, .. } | Request::UAbort { dialogue, .. } = request {
            self.speeches.remove(dialogue);
        }
    }

    fn speech(&self, dialogue: u64) -> Speech {
        self.speeches.get(&dialogue).copied().unwrap_or_default()
    }

    /// Octets came: `told` hears what they say. Returns octets to send.
    ///
    /// # Errors
    /// Nothing that has an end, or a key is wanted: the connection is of no use.
    pub fn received(
        &mut self,
        octets: &[u8],
        told: &mut dyn FnMut(ClientEvent),
    ) -> Result<Vec<u8>, Malformed> {
        self.buffer.extend_from_slice(octets);
        let buffer = core::mem::take(&mut self.buffer);
        let (mut at, mut out) = (0, Vec::new());
        loop {
            let rest = buffer.get(at..).unwrap_or_default();
            match cut(rest) {
                Cut::Skip(count) => at += count,
                Cut::Message(length) if length <= rest.len() => {
                    self.message(&rest[..length], told, &mut out)?;
                    at += length;
                }
                Cut::Message(_) | Cut::Partial => break,
                Cut::Broken(what) => return Err(Malformed::new(at, what, SPEC)),
            }
        }
        self.buffer = buffer;
        self.buffer.drain(..at);
        Ok(out)
    }

    fn message(
        &mut self,
        message: &[u8],
        told: &mut dyn FnMut(ClientEvent),
        out: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        let read = self.spelling.read(message, &|dialogue| self.speech(dialogue));
        let read = match read {
            Ok(read) => read,
            // One message is no reason to lose all other dialogues.
            Err(violation) => {
                told(ClientEvent::Unread(violation));
                return Ok(());
            }
        };
        match read {
            ToApplication::Challenge(challenge) => self.prove(&challenge, out)?,
            ToApplication::Welcome(welcome) => told(ClientEvent::Welcome(welcome)),
            ToApplication::Malformed(it) => told(ClientEvent::Malformed(it)),
            ToApplication::Bye(why) => told(ClientEvent::Bye(why)),
            ToApplication::Indication(it) => {
                self.learn(&it);
                told(ClientEvent::Indication(it));
            }
        }
        Ok(())
    }

    fn learn(&mut self, it: &Indication) {
        if self.spelling == Spelling::Tagged {
            return;
        }
        match it {
            Indication::Begin { dialogue, portion, .. } => {
                let speech = Speech::of(portion.context.as_deref(), &portion.components);
                self.speeches.insert(*dialogue, speech);
            }
            Indication::Resume { dialogue, context: Some(context), .. } => {
                self.speeches.insert(*dialogue, Speech::of_context(context));
            }
            // Without a context it is version 1 of MAP, if anything: names do not depend on which.
            Indication::Resume { dialogue, context: None, .. } => {
                self.speeches.insert(*dialogue, Speech::first(Some(SEND_ROUTING_INFO_FOR_SM)));
            }
            Indication::Begun { reference, dialogue } => {
                let speech = self.begins.remove(reference).unwrap_or_default();
                self.speeches.insert(*dialogue, speech);
            }
            Indication::Refused { reference: Some(reference), .. } => {
                self.begins.remove(reference);
            }
            other if other.is_last() => {
                self.speeches.remove(&other.dialogue().unwrap_or_default());
            }
            _ => {}
        }
    }

    fn prove(&self, challenge: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
        let text = proof_text(challenge, &self.hello);
        let keys = self.keys.as_ref().ok_or(Malformed::new(0, "the gateway wants a key", SPEC))?;
        let proof = keys.prove(PROOF_LABEL, &text).into_iter().next().map(Into::into);
        let hello = ToGateway::Hello(Hello { proof, ..self.hello.clone() });
        self.spelling.write_request(&hello, Speech::Unknown, out);
        Ok(())
    }
}
