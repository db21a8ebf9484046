//! What the gateway is told, and what it wants.

use crate::by_diameter::charging::{Charge, Charged};
use crate::by_diameter::home::{HomeAnswer, HomeQuestion, PeerQuestion};
use crate::centre::Stored;
use crate::store::{Answer, Question};
use core::fmt;
use map::Operation;
use mapsms::asking::Reply;
use mapsms::by_diameter::Named;
use mapsms::identity::{Imsi, Msisdn};
use mapsms::informed::MwStatus;
use mapsms::invoked::Invoked;

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
    /// Names it in [`In::Response`].
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

/// A text that somebody has written.
#[derive(Clone, PartialEq, Eq)]
pub struct Written(pub String);

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "text of {} octets", self.0.len())
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

/// What happened.
#[derive(Clone, Debug)]
pub enum In {
    /// A third-party REGISTER came.
    Register {
        /// Its server transaction.
        transaction: u64,
        /// It.
        register: Register,
    },
    /// A MESSAGE came.
    Message {
        /// Its server transaction.
        transaction: u64,
        /// It.
        message: Received,
    },
    /// A MESSAGE of ours had its final response; 408 stands for silence.
    Response {
        /// Which one.
        number: Sent,
        /// Status.
        status: u16,
    },
    /// The signalling gateway told something.
    Network(tcu::Indication),
    /// The signalling gateway is connected, or is not: then all dialogues are lost.
    Connected(bool),
    /// A message of the gateway's own centre stood in the store when it was opened.
    Restored {
        /// Its number.
        number: u64,
        /// It.
        stored: Stored,
    },
    /// Messages that wait are to be tried now: those for one receiver, or all.
    Retry(Option<Msisdn>),
    /// An operator sends a text.
    Operator {
        /// Comes back with [`Out::Taken`].
        ticket: u64,
        /// Whom it is for.
        to: Msisdn,
        /// Whose it is said to be: a number, or letters; none: the centre's own number.
        from: Option<sms::Address>,
        /// What is said.
        text: Written,
    },
    /// The home subscriber server answered.
    Home {
        /// Whose question it was.
        ticket: u64,
        /// The answer.
        answer: HomeAnswer,
    },
    /// The online charging system answered.
    Charged {
        /// Whose charge it was.
        ticket: u64,
        /// What it said.
        charged: Charged,
    },
    /// A peer of Diameter was asked, and what came of it.
    PeerReplied {
        /// Which question.
        reference: u64,
        /// What came.
        reply: Reply,
        /// Nodes that the answer told with their names.
        names: Vec<Named>,
        /// What it told of the messages that wait.
        informed: Option<MwStatus>,
    },
    /// A peer of Diameter that may ask does.
    PeerAsks {
        /// Comes back with [`Out::Request`].
        dialogue: u64,
        /// The number of the service centre in whose name it asks.
        title: Msisdn,
        /// The operation.
        operation: Operation,
        /// What it asks.
        invoked: Invoked,
    },
    /// A next hop takes messages that took none: those that found none are tried.
    NextHop,
    /// A question was answered.
    Stored {
        /// Whose.
        ticket: u64,
        /// The answer.
        answer: Answer,
    },
}

/// What shall be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// Answer a request.
    Respond {
        /// Its server transaction.
        transaction: u64,
        /// Status.
        status: u16,
    },
    /// Send a MESSAGE.
    Send(Box<Sending>),
    /// Ask the signalling gateway for something.
    Request(Box<tcu::Request>),
    /// Ask the store.
    Ask {
        /// Comes back with the answer.
        ticket: u64,
        /// What.
        question: Question,
    },
    /// Ask the home subscriber server.
    AskHome {
        /// Comes back with the answer.
        ticket: u64,
        /// What.
        question: HomeQuestion,
    },
    /// Have messages debited, or refunded.
    Charge {
        /// Comes back with the answer, of what is debited.
        ticket: u64,
        /// What.
        charge: Charge,
        /// They were debited, and are to be refunded.
        is_refund: bool,
    },
    /// Ask a peer of Diameter.
    AskPeer(Box<PeerQuestion>),
    /// An operator's text is stored, in so many messages, or is not: why.
    Taken {
        /// Which.
        ticket: u64,
        /// Its trail in the service assurance.
        trail: u64,
        /// What became of it.
        outcome: Result<usize, &'static str>,
    },
    /// A message was dealt with to its end.
    Record(Box<Record>),
}

/// Which way a message went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From a terminal.
    Originated,
    /// To a terminal.
    Terminated,
}

/// How a message reached the subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// By SIP.
    PacketSwitched,
    /// By an MSC, an SGSN or an MME.
    CircuitSwitched,
}

impl Way {
    /// As the configuration says it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PacketSwitched => "ps",
            Self::CircuitSwitched => "cs",
        }
    }
}

/// A way that was tried, and what came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// The way.
    pub way: Way,
    /// What came of it, in a word.
    pub result: &'static str,
    /// RP-Cause, where the terminal told one.
    pub cause: Option<u8>,
}

/// What is recorded of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Which way it went.
    pub direction: Direction,
    /// The subscriber's number.
    pub subscriber: Option<Msisdn>,
    /// The other end, as the message has it.
    pub other: Option<String>,
    /// Octets of its TPDU.
    pub octets: usize,
    /// The service centre.
    pub centre: Option<Msisdn>,
    /// The way of delivery, where it was delivered.
    pub way: Option<Way>,
    /// RP-Cause, where it failed.
    pub cause: Option<u8>,
    /// It is not over: it waits on, and why.
    pub postponed: Option<&'static str>,
    /// What was tried, in its order.
    pub attempts: Vec<Attempt>,
    /// Its trail in the service assurance.
    pub trail: u64,
}
