//! What the gateway is told, and what it wants.

use crate::centre::{Retry, Stored};
use crate::store::{Answer, Correlation, Done, Flight, Limit, Question, Submitted};
use core::fmt;
use machine::Time;
use map::Operation;
use mapsms::asking::Reply;
use mapsms::by_diameter::Named;
use mapsms::identity::{Imsi, Msisdn};
use mapsms::informed::MwStatus;
use mapsms::invoked::Invoked;
pub use mapsms::record::{Attempt, Direction, Record, Way};
use smsdiameter::{Charge, Charged, HomeAnswer, HomeQuestion, PeerQuestion};
pub use smsip::{Body, Received, Register, Route, Sending, Sent};

/// A text that somebody has written.
#[derive(Clone, PartialEq, Eq)]
pub struct Written(pub String);

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "text of {} octets", self.0.len())
    }
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
        /// How another node sent it, whose report may be on its way.
        flight: Option<Flight>,
        /// How often its receiver was tried in vain before.
        retry: Option<Retry>,
    },
    /// A correlation IMSI stood in the store when it was opened: it, what it stands for, and until
    /// when.
    Given(Imsi, Correlation, Time),
    /// That centres wait to hear of a subscriber stood there, until then.
    Awaited(Msisdn, Time),
    /// A message of the gateway's own centre was dealt with before the store was opened.
    Remembered(Done),
    /// A service centre was asked to take a message of a terminal with that sum before then.
    Submitted(u64, Submitted),
    /// What somebody has used of a limit before then counts until that time.
    Used(Limit, Msisdn, Time),
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
