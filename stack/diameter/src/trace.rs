//! The last messages that passed, by their headers: what is said of a user is not kept.

use crate::peers::Peers;
use diameter::Connection;
use diameter::codec::{Flags, Header, Message, ResultCode};
use diameter::rows::base;
use machine::Time;
use question::{Parameter, rows};
use runtime::{Ask, AskError};
use std::collections::VecDeque;

/// Messages that are kept.
pub const TRACED_MAX: usize = 2_000;
/// Octets of a Session-Id that are kept.
const SESSION_MAX: usize = 128;

/// Rows at most.
pub const LIMIT: Parameter = Parameter::number("limit", "the last so many");
/// One peer.
pub const PEER: Parameter = Parameter::text("peer", "only this peer");

/// A message that passed.
#[derive(Debug, Clone)]
struct Traced {
    at: Time,
    peer: Option<String>,
    is_sent: bool,
    header: Header,
    result: Option<(bool, u32)>,
    session: String,
    octets: usize,
}

/// The last messages.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    rows: VecDeque<Traced>,
}

impl Trace {
    fn push(&mut self, row: Traced) {
        if self.rows.len() >= TRACED_MAX {
            self.rows.pop_front();
        }
        self.rows.push_back(row);
    }
}

rows! {
    /// A message of Diameter that passed.
    pub struct DiameterTraceRow {
        at_us: u64,
        /// The peer, as soon as it is known.
        peer: Option<String>,
        /// `in` or `out`.
        way: &'static str,
        /// `UDR`, `UDA`, …; a number where there is no such command.
        command: String,
        /// `Sh`, …; a number where there is no such application.
        application: String,
        /// Letters of the flags that are set: `R`, `P`, `E`, `T`.
        flags: String,
        /// What an answer says came of it.
        result: Option<String>,
        hop_by_hop: u32,
        end_to_end: u32,
        session: String,
        octets: usize,
    }
}

/// What an answer says came of it: whether that is an Experimental-Result, and the code.
fn result(message: &Message<'_>) -> Option<(bool, u32)> {
    if message.is_request() {
        return None;
    }
    if let Some(code) = message.avps().find(&base::RESULT_CODE) {
        return code.unsigned32().ok().map(|it| (false, it));
    }
    let experimental = message.avps().find(&base::EXPERIMENTAL_RESULT)?.group();
    let code = experimental.find(&base::EXPERIMENTAL_RESULT_CODE)?;
    code.unsigned32().ok().map(|it| (true, it))
}

impl Peers {
    /// Keeps the header of a message.
    pub(crate) fn trace(&mut self, at: Time, name: Connection, octets: &[u8], is_sent: bool) {
        let Ok(message) = Message::read(octets) else { return };
        let peer = self.links.get(&name).and_then(|link| link.peer);
        let peer = peer.and_then(|id| self.rows.get(&id)).map(|row| row.name.clone());
        let session = message.avps().find(&base::SESSION_ID).map(|it| it.data).unwrap_or_default();
        let session = session.get(..SESSION_MAX).unwrap_or(session);
        self.seen.traced.push(Traced {
            at,
            peer,
            is_sent,
            header: message.header,
            result: result(&message),
            session: String::from_utf8_lossy(session).into_owned(),
            octets: octets.len(),
        });
    }

    /// The last messages, the newest last.
    ///
    /// # Errors
    /// `limit` is no number.
    pub fn show_trace(&self, ask: &Ask) -> Result<Vec<DiameterTraceRow>, AskError> {
        let wrong = |_| AskError::BadParameter(String::from("limit is a number"));
        let limit = ask.params.get("limit").map(|text| text.parse::<usize>());
        let limit = limit.transpose().map_err(wrong)?.unwrap_or(TRACED_MAX);
        let peer = ask.params.get("peer");
        let is_wanted = |it: &&Traced| peer.is_none() || peer == it.peer.as_ref();
        let last = self.seen.traced.rows.iter().rev().filter(is_wanted).take(limit);
        let mut rows: Vec<_> = last.map(|it| self.row(it)).collect();
        rows.reverse();
        Ok(rows)
    }

    fn row(&self, it: &Traced) -> DiameterTraceRow {
        let (dictionary, header) = (self.node.dictionary(), it.header);
        let id = header.application;
        let command =
            dictionary.command(&header).map(|row| match header.flags.has(Flags::REQUEST) {
                true => row.request.to_owned(),
                false => row.answer.to_owned(),
            });
        let application = dictionary.application(id).map(|it| it.name.to_owned());
        let result = |(is_experimental, code): (bool, u32)| {
            let name = match is_experimental {
                true => dictionary.experimental_result(id, code),
                false => ResultCode::of(code).map(ResultCode::name),
            };
            name.map_or_else(
                || code.to_string(),
                |it| it.trim_start_matches("DIAMETER_").to_owned(),
            )
        };
        DiameterTraceRow {
            at_us: it.at.as_micros(),
            peer: it.peer.clone(),
            way: if it.is_sent { "out" } else { "in" },
            command: command.unwrap_or_else(|_| header.command.to_string()),
            application: application.unwrap_or_else(|| id.to_string()),
            flags: header.flags.letters(),
            result: it.result.map(result),
            hop_by_hop: header.hop_by_hop,
            end_to_end: header.end_to_end,
            session: it.session.clone(),
            octets: it.octets,
        }
    }
}
