//! Where a role is, and TCAP for the roles that have none elsewhere.

use application::Address;
use machine::{Duration, Machine as _, Time};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::str::FromStr;
use tcap::{Out, Transactions};
use tcu::{Indication, Request, Speech, carry_out, indications};

/// Dialogues of a role that has its own TCAP, at most.
const DIALOGUES_MAX: u32 = 2_000_000;
/// A dialogue of which nothing is heard for so long is broken off: longer than any pause should be.
const IDLE: Duration = Duration::from_secs(3_600);

/// Where a role is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// An application of a gateway.
    Application(Address),
    /// With the others that are so, inside this process.
    Inside,
    /// SIP over UDP: where calls are sent, or answered.
    Sip(SocketAddr),
    /// A stack of its own.
    Stack {
        /// The gateway.
        to: SocketAddr,
        /// By SCTP over UDP; else by TCP.
        by_sctp: bool,
    },
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let stack = |to: &str, by_sctp| {
            let to = to.parse().map_err(|_| "behind m3ua: stand address and port".to_owned())?;
            Ok(Self::Stack { to, by_sctp })
        };
        if text == "inside" {
            return Ok(Self::Inside);
        }
        if let Some(to) = text.strip_prefix("sip:") {
            let to = to.parse().map(Self::Sip);
            return to.map_err(|_| "behind sip: stand address and port".to_owned());
        }
        if let Some(to) = text.strip_prefix("m3ua:") {
            return stack(to, false);
        }
        if let Some(to) = text.strip_prefix("m3ua+sctp:") {
            return stack(to, true);
        }
        text.parse()
            .map(Self::Application)
            .map_err(|why: &str| format!("{why}, or m3ua:, m3ua+sctp: or sip: with ADDRESS:PORT"))
    }
}

/// TCAP of a role.
#[derive(Debug)]
pub(crate) struct TcUser {
    pub(crate) transactions: Transactions,
    /// What dialogues speak, by their numbers.
    speeches: HashMap<u64, Speech>,
}

impl TcUser {
    pub(crate) fn new(secret: u64, now: Time) -> Self {
        let settings = tcap::Settings {
            shard: 0,
            secret,
            dialogues_max: DIALOGUES_MAX,
            dialogues_per_source_max: DIALOGUES_MAX,
            sources_elsewhere: false,
            idle: IDLE,
        };
        Self { transactions: Transactions::new(settings, now), speeches: HashMap::new() }
    }

    /// Carries a request out; what is sent is added to `outs`, what the role is told to `told`.
    pub(crate) fn request(
        &mut self,
        now: Time,
        request: &Request,
        outs: &mut Vec<Out>,
        told: &mut Vec<Indication>,
    ) {
        let speech = match request {
            Request::Begin { portion, .. } | Request::Uni { portion, .. } => {
                Speech::of(portion.context.as_deref(), &portion.components)
            }
            other => self.speech(other.dialogue().unwrap_or_default()),
        };
        let done = carry_out(now, &mut self.transactions, request, speech, outs);
        let reference = match request {
            Request::Begin { reference, .. } => Some(*reference),
            _ => None,
        };
        match (done, reference) {
            (Ok(Some(id)), Some(reference)) => {
                let dialogue = id.number();
                self.speeches.insert(dialogue, speech);
                told.push(Indication::Begun { reference, dialogue });
            }
            (Ok(_), _) => {}
            (Err(why), reference) => {
                told.push(Indication::Refused { reference, dialogue: request.dialogue(), why });
            }
        }
        if let Request::End { dialogue, .. } | Request::UAbort { dialogue, .. } = request {
            self.speeches.remove(dialogue);
        }
    }

    fn speech(&self, dialogue: u64) -> Speech {
        self.speeches.get(&dialogue).copied().unwrap_or_default()
    }

    /// Data or a notice came.
    pub(crate) fn received(
        &mut self,
        now: Time,
        input: tcap::In,
        outs: &mut Vec<Out>,
        told: &mut Vec<Indication>,
    ) {
        let first = outs.len();
        self.transactions.step(now, input, outs);
        self.tell(first, outs, told);
    }

    /// Timers.
    pub(crate) fn tick(&mut self, now: Time, outs: &mut Vec<Out>, told: &mut Vec<Indication>) {
        let first = outs.len();
        self.transactions.tick(now, outs);
        self.tell(first, outs, told);
    }

    fn tell(&mut self, first: usize, outs: &[Out], told: &mut Vec<Indication>) {
        for it in indications(outs.get(first..).unwrap_or_default()) {
            if let Indication::Begin { dialogue, portion, .. } = &it {
                let speech = Speech::of(portion.context.as_deref(), &portion.components);
                self.speeches.insert(*dialogue, speech);
            }
            if it.is_last() {
                self.speeches.remove(&it.dialogue().unwrap_or_default());
            }
            told.push(it);
        }
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.transactions.deadline()
    }
}
