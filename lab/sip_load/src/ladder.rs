//! A message flow as data: one ladder, read from TOML, that both ends follow.
//!
//! ```toml
//! name = "busy"
//! steps = [
//!   { caller = "INVITE", body = "offer" },
//!   { hop = "100 INVITE" },          # from the next hop itself, not from the far end
//!   { answerer = "486 INVITE" },
//!   { caller = "ACK" },
//! ]
//! ```
//! Each end sends its own steps and expects the others, in order. `optional` steps may be
//! missing. `{ hold = true }` is the call's hold time, kept by the end that sends next.

use serde::Deserialize;
use sip::Method;

/// Steps of a ladder; one bit each in a leg's memory of what it has seen.
pub const STEPS_MAX: usize = 64;

/// Flows that come with Tandem.
const BUILT_IN: &[&str] = &[
    include_str!("../flows/sip.toml"),
    include_str!("../flows/volte.toml"),
    include_str!("../flows/callee-ends.toml"),
    include_str!("../flows/busy.toml"),
    include_str!("../flows/register.toml"),
    include_str!("../flows/options.toml"),
];

/// Who sends a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Places the calls.
    Caller,
    /// Takes them.
    Answerer,
    /// The element next to the caller, for itself.
    Hop,
}

/// What a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A request.
    Request(Method),
    /// A response with this status to a request of this method.
    Response(u16, Method),
    /// Time passes.
    Hold,
}

/// The body of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Body {
    /// No body.
    #[default]
    None,
    /// A session description that offers.
    Offer,
    /// A session description that answers.
    Answer,
    /// The session description again, its resources reserved (RFC 3312 §5).
    Reserved,
}

/// One message of a ladder, checked.
#[derive(Debug, Clone)]
pub struct Step {
    /// Who sends it.
    pub side: Side,
    /// What it is.
    pub what: What,
    /// Its body.
    pub body: Body,
    /// A provisional response sent reliably (RFC 3262).
    pub reliable: bool,
    /// The other end goes on without it.
    pub optional: bool,
    /// Carries what a VoLTE terminal adds to its INVITE (TS 24.229 §5.1.3).
    pub volte: bool,
    /// Header lines to add, without line end.
    pub headers: Vec<String>,
    /// Names of headers that a response copies from its request.
    pub echo: Vec<String>,
    /// For a request its place among its sender's requests (an ACK has its INVITE's), for a
    /// response that of its request: CSeq is the first request's plus this.
    pub number: u32,
    /// For a reliable provisional response its place among them; for a PRACK the place of the
    /// response that it acknowledges.
    pub reliable_number: u32,
}

impl Step {
    /// Whether `side` sends this step.
    #[must_use]
    pub fn sent_by(&self, side: Side) -> bool {
        self.side == side && self.what != What::Hold
    }

    /// Method of the request, or of the request that is answered.
    #[must_use]
    pub const fn method(&self) -> Method {
        match self.what {
            What::Request(method) | What::Response(_, method) => method,
            What::Hold => Method::Other,
        }
    }
}

/// Why a flow is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlowError {
    /// Not the shape of a flow.
    #[error("{0}")]
    Toml(String),
    /// A step makes no sense where it stands.
    #[error("step {step}: {what}")]
    Step {
        /// Counted from one.
        step: usize,
        /// What is wrong with it.
        what: String,
    },
    /// No flow of that name comes with Tandem.
    #[error("no flow `{0}`")]
    Unknown(String),
}

/// A whole flow.
#[derive(Debug, Clone)]
pub struct Ladder {
    /// Its name.
    pub name: String,
    /// Its steps; the first is the caller's request.
    pub steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LadderFile {
    name: String,
    steps: Vec<StepRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepRow {
    caller: Option<String>,
    answerer: Option<String>,
    hop: Option<String>,
    #[serde(default)]
    hold: bool,
    #[serde(default)]
    body: Body,
    #[serde(default)]
    reliable: bool,
    #[serde(default)]
    optional: bool,
    #[serde(default)]
    volte: bool,
    #[serde(default)]
    headers: Vec<String>,
    #[serde(default)]
    echo: Vec<String>,
}

impl Ladder {
    /// The flow of this name among those that come with Tandem.
    ///
    /// # Errors
    /// [`FlowError::Unknown`].
    pub fn built_in(name: &str) -> Result<Self, FlowError> {
        let found = BUILT_IN.iter().filter_map(|text| Self::parse(text).ok());
        found.into_iter().find(|l| l.name == name).ok_or_else(|| FlowError::Unknown(name.into()))
    }

    /// Reads a flow.
    ///
    /// # Errors
    /// When the text is no flow, or a step makes no sense where it stands.
    pub fn parse(text: &str) -> Result<Self, FlowError> {
        let file: LadderFile = toml::from_str(text).map_err(|e| FlowError::Toml(e.to_string()))?;
        if file.steps.is_empty() || file.steps.len() > STEPS_MAX {
            return Err(FlowError::Toml(format!("a flow has 1 to {STEPS_MAX} steps")));
        }
        let mut steps: Vec<Step> = Vec::with_capacity(file.steps.len());
        for (at, row) in file.steps.into_iter().enumerate() {
            let fail = |what: String| FlowError::Step { step: at + 1, what };
            let mut step = row.step().map_err(fail)?;
            number(&mut step, &steps).map_err(fail)?;
            steps.push(step);
        }
        let opens = matches!(steps[0].what, What::Request(_)) && steps[0].side == Side::Caller;
        if !opens {
            return Err(FlowError::Step { step: 1, what: "the caller's request opens".into() });
        }
        Ok(Self { name: file.name, steps })
    }

    /// Messages on one leg.
    #[must_use]
    pub fn messages(&self) -> usize {
        self.steps.iter().filter(|step| step.what != What::Hold).count()
    }

    /// The answer that sets the call up: the first final response to the first request.
    #[must_use]
    pub fn set_up(&self) -> Option<usize> {
        let opens = self.steps[0].method();
        self.steps
            .iter()
            .position(|step| matches!(step.what, What::Response(s, m) if s >= 200 && m == opens))
    }
}

impl StepRow {
    fn step(self) -> Result<Step, String> {
        let mut sides =
            [(Side::Caller, self.caller), (Side::Answerer, self.answerer), (Side::Hop, self.hop)]
                .into_iter()
                .filter_map(|(side, text)| Some((side, text?)));
        let (side, what) = match (sides.next(), self.hold) {
            (Some((side, text)), false) => (side, what(&text)?),
            (None, true) => (Side::Hop, What::Hold),
            _ => return Err("one of caller, answerer, hop, hold".into()),
        };
        if sides.next().is_some() {
            return Err("only one of caller, answerer, hop".into());
        }
        if self.reliable && !matches!(what, What::Response(101..=199, Method::Invite)) {
            return Err("only 101 to 199 to an INVITE is sent reliably (RFC 3262 §3)".into());
        }
        Ok(Step {
            side,
            what,
            body: self.body,
            reliable: self.reliable,
            optional: self.optional,
            volte: self.volte,
            headers: self.headers,
            echo: self.echo,
            number: 0,
            reliable_number: 0,
        })
    }
}

/// `"INVITE"` or `"200 INVITE"`.
fn what(text: &str) -> Result<What, String> {
    let method = |name: &str| match Method::parse(name.as_bytes()) {
        Method::Other => Err(format!("unknown method `{name}`")),
        method => Ok(method),
    };
    let Some((status, name)) = text.split_once(' ') else {
        return Ok(What::Request(method(text)?));
    };
    match status.parse() {
        Ok(status @ 100..=699) => Ok(What::Response(status, method(name)?)),
        _ => Err(format!("`{status}` is no status")),
    }
}

/// Gives a step its CSeq and RSeq places, from the steps before it.
fn number(step: &mut Step, before: &[Step]) -> Result<(), String> {
    let find = |side: Side, method: Method| {
        let is = |s: &&Step| s.what == What::Request(method) && (s.side == side);
        before.iter().rev().find(is).map(|s| s.number)
    };
    let reliable = before.iter().filter(|s| s.reliable).count() as u32;
    let counts = |s: &&Step| {
        s.side == step.side
            && matches!(s.what, What::Request(m) if m != Method::Ack && m != Method::Cancel)
    };
    match step.what {
        What::Hold => {}
        What::Request(method @ (Method::Ack | Method::Cancel)) => {
            step.number = find(step.side, Method::Invite)
                .ok_or_else(|| format!("{} without an INVITE before it", method.name()))?;
        }
        What::Request(method) => {
            step.number = before.iter().filter(counts).count() as u32;
            if method == Method::Prack && reliable == 0 {
                return Err("PRACK without a reliable response before it".into());
            }
            step.reliable_number = reliable.saturating_sub(1);
        }
        What::Response(_, method) => {
            let other = if step.side == Side::Caller { Side::Answerer } else { Side::Caller };
            step.number = find(other, method)
                .ok_or_else(|| format!("a response without its {}", method.name()))?;
            step.reliable_number = reliable;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flows_have_the_reports_message_counts() {
        assert_eq!(Ladder::built_in("SIP").unwrap().messages(), 7);
        assert_eq!(Ladder::built_in("VoLTE").unwrap().messages(), 20);
        for text in BUILT_IN {
            Ladder::parse(text).unwrap();
        }
    }

    #[test]
    fn requests_are_numbered_by_their_sender() {
        let volte = Ladder::built_in("VoLTE").unwrap();
        let requests: Vec<_> = volte
            .steps
            .iter()
            .filter_map(|s| match s.what {
                What::Request(m) => Some((m, s.number, s.reliable_number)),
                _ => None,
            })
            .collect();
        assert_eq!(
            requests,
            [
                (Method::Invite, 0, 0),
                (Method::Prack, 1, 0),
                (Method::Prack, 2, 1),
                (Method::Update, 3, 1),
                (Method::Prack, 4, 2),
                (Method::Prack, 5, 3),
                (Method::Ack, 0, 0),
                (Method::Bye, 6, 3),
            ]
        );
    }

    #[test]
    fn a_step_that_makes_no_sense_is_refused_with_its_place() {
        let refused = |text: &str| Ladder::parse(text).unwrap_err().to_string();
        assert!(refused("name='x'\nsteps=[{answerer='INVITE'}]").contains("step 1"));
        assert!(
            refused("name='x'\nsteps=[{caller='INVITE'},{answerer='200 BYE'}]")
                .contains("step 2: a response without its BYE")
        );
        assert!(refused("name='x'\nsteps=[{caller='JUMP'}]").contains("unknown method"));
        assert!(
            refused("name='x'\nsteps=[{caller='INVITE', answerer='ACK'}]").contains("only one of")
        );
    }
}
