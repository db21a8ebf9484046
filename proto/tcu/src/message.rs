//! What goes over a connection: the greeting, and primitives.
//!
//! ```text
//!   application                       gateway
//!     Hello ───────────────────────────→          version, application, group
//!          ←────────────────── Challenge          where the application has a key
//!     Hello, proof ────────────────────→          HMAC-SHA-256 of challenge and greeting
//!          ←──────────────────── Welcome          version, limits
//!     Request ⇄ Indication
//! ```

use crate::primitive::{Indication, Request};
use bytes::Bytes;

/// The version of this protocol.
pub const VERSION: u8 = 1;
/// What a proof begins with: it is good for nothing else.
pub const PROOF_LABEL: &[u8] = b"tcu hello";

/// The first thing that an application says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The version of the protocol that it speaks.
    pub version: u8,
    /// The application's name, as it is configured.
    pub application: String,
    /// The group of instances that it belongs to; empty: the one without a name.
    pub group: String,
    /// What it calls itself, for people.
    pub instance: String,
    /// That it has the key: see [`proof_text`].
    pub proof: Option<Bytes>,
}

impl Hello {
    /// A greeting in the version that is spoken here.
    #[must_use]
    pub fn new(application: &str, group: &str, instance: &str) -> Self {
        let [application, group, instance] = [application, group, instance].map(str::to_owned);
        Self { version: VERSION, application, group, instance, proof: None }
    }
}

/// What HMAC-SHA-256 is made of with the key, behind [`PROOF_LABEL`] and a zero octet: the
/// challenge, and the greeting that it is for, so that nobody puts another group in its place.
#[must_use]
pub fn proof_text(challenge: &[u8], hello: &Hello) -> Vec<u8> {
    let mut text = challenge.to_vec();
    for name in [&hello.application, &hello.group, &hello.instance] {
        text.push(0);
        text.extend_from_slice(name.as_bytes());
    }
    text
}

/// The gateway takes the application in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Welcome {
    /// The version that is spoken from now on.
    pub version: u8,
    /// The function's name.
    pub function: String,
    /// The subsystem that the application serves.
    pub subsystem: u8,
    /// Octets of one message, at most.
    pub message_octets_max: u32,
    /// Octets of its state that a dialogue carries, at most.
    pub state_octets_max: u32,
}

/// A message that was not understood.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Misread {
    /// Why.
    pub what: String,
    /// Octets into the message.
    pub at: u32,
    /// What it is of, where that could be read.
    pub of: Named,
}

/// What a message says that it is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Named {
    /// A dialogue.
    pub dialogue: Option<u64>,
    /// What was to be begun.
    pub reference: Option<u64>,
}

/// What the gateway says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToApplication {
    /// The application has to prove that it has the key.
    Challenge(Bytes),
    /// It is taken in.
    Welcome(Welcome),
    /// A message was not understood, and not carried out.
    Malformed(Misread),
    /// The connection ends: why.
    Bye(String),
    /// A primitive.
    Indication(Indication),
}

/// What an application says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToGateway {
    /// The greeting.
    Hello(Hello),
    /// A primitive.
    Request(Request),
}
