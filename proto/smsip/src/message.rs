//! What is said of a registration, and messages on their way in and out.

use core::fmt;
use mapsms::identity::{Imsi, Msisdn};

/// A third-party REGISTER (TS 24.229 §5.4.1.7), from a next hop that is trusted.
#[derive(Clone, PartialEq, Eq)]
pub struct Register {
    /// The public user identity: To.
    pub identity: String,
    /// The S-CSCF: Contact.
    pub s_cscf: String,
    /// How long it stands, seconds; zero ends it.
    pub expires_s: u32,
    /// The MSISDN of the service information (`application/3gpp-ims+xml`), if it has one.
    pub msisdn: Option<Msisdn>,
    /// The IMSI, where the private user identity of the terminal's own REGISTER has it.
    pub imsi: Option<Imsi>,
    /// The contacts of the terminal's own REGISTER (`message/sip`) that take short messages; none
    /// where the body does not have it.
    pub contacts: Option<Vec<String>>,
}

/// A MESSAGE that came, from a next hop that is trusted.
#[derive(Clone, PartialEq, Eq)]
pub struct Received {
    /// Whom it is for: the Request-URI.
    pub to: String,
    /// The identities that the network asserts (RFC 3325).
    pub asserted: Vec<String>,
    /// Call-ID.
    pub call_id: String,
    /// In-Reply-To.
    pub in_reply_to: Option<String>,
    /// Content-Type.
    pub content_type: String,
    /// The body.
    pub body: Vec<u8>,
    /// Its trail in the service assurance.
    pub trail: u64,
}

/// Where a MESSAGE goes first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// The S-CSCF that serves the receiver.
    Serving(String),
    /// Wherever the configuration says: the I-CSCF.
    Interrogating,
}

/// A MESSAGE that is to be sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Sending {
    /// Names it in what came of it.
    pub number: Sent,
    /// The Request-URI: a public user identity.
    pub to: String,
    /// Where it goes first.
    pub route: Route,
    /// The part of the Call-ID in front of the host.
    pub call_id: String,
    /// The Call-ID of what it answers.
    pub in_reply_to: Option<String>,
    /// The body.
    pub body: Body,
    /// Its trail in the service assurance.
    pub trail: u64,
}

/// The body of a MESSAGE that is to be sent.
#[derive(Clone, PartialEq, Eq)]
pub enum Body {
    /// An RP message, from the gateway itself.
    Rp(Vec<u8>),
    /// Text, and whose it is: digits with a plus sign, or letters.
    Text {
        /// The sender.
        from: String,
        /// What is said.
        text: String,
    },
}

impl Body {
    /// As it is sent.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        match self {
            Self::Rp(octets) => octets,
            Self::Text { text, .. } => text.as_bytes(),
        }
    }
}

// Texts and identities are nothing for logs.

impl fmt::Debug for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { expires_s, msisdn, .. } = self;
        f.debug_struct("Register")
            .field("expires_s", expires_s)
            .field("msisdn", msisdn)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Received")
            .field("content_type", &self.content_type)
            .field("octets", &self.body.len())
            .field("trail", &self.trail)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Sending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sending")
            .field("number", &self.number)
            .field("body", &self.body)
            .field("trail", &self.trail)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if matches!(self, Self::Rp(_)) { "RP message" } else { "text" };
        write!(f, "{kind} of {} octets", self.octets().len())
    }
}

/// Names a MESSAGE of ours: its flow, and which of the flow's it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sent {
    /// The flow.
    pub flow: u64,
    /// Which one of the flow's.
    pub attempt: u8,
}
