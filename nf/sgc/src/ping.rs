//! `sccp/ping`: whether the SCCP of a node answers, and a subsystem of it, by the test that SCCP
//! management has for that (SST, Q.714 §5.3.4).
//!
//! ```text
//!   SST(1), SST(n) ─→ SSA or SSP of both, or WAIT is over ─→ the answer
//! ```

use crate::Gateway;
use m3ua::codec::PointCode;
use machine::{Duration, Time};
use question::rows;
use runtime::{Answered, Ask, AskError, Effects, Ticket};
use sccp::In;
use sccp::codec::{MANAGEMENT_SSN, ReturnCause};
use std::collections::BTreeMap;

/// The question.
pub(crate) const PING: &str = "sccp/ping";
/// How long answers are waited for: less than the runtime waits for this function.
const WAIT: Duration = Duration::from_millis(1_500);
/// Pings that wait at most.
const PINGS_MAX: usize = 32;

rows! {
    /// What a subsystem elsewhere answered to a test.
    pub(crate) struct PingRow {
        point_code: String,
        /// 1 is the management of its SCCP.
        subsystem: u8,
        /// `answers`, `prohibited`, `silent` or `unreachable`.
        state: &'static str,
        rtt_us: Option<u64>,
        why: String,
    }
}

/// A node that was asked.
struct Ping {
    ticket: Ticket,
    of: PointCode,
    subsystems: Vec<u8>,
    begun: Time,
    /// Whether it is in service, and after what time that was heard.
    heard: BTreeMap<u8, (bool, Duration)>,
}

/// Who is asked.
#[derive(Default)]
pub(crate) struct Pings(Vec<Ping>);

impl Pings {
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.0.iter().map(|ping| ping.begun + WAIT).min()
    }

    /// A subsystem of a node has answered: whether it is in service.
    pub(crate) fn heard(&mut self, now: Time, of: PointCode, subsystem: u8, is: bool) {
        for ping in self.0.iter_mut().filter(|ping| ping.of == of) {
            ping.heard.entry(subsystem).or_insert((is, now.since(ping.begun)));
        }
    }
}

/// Tests a node and a subsystem of it; the answer comes later, but where there is no way.
pub(crate) fn ping(
    gateway: &mut Gateway,
    now: Time,
    ask: &Ask,
    ticket: Ticket,
) -> Option<Answered> {
    let (of, subsystems) = match pinged(gateway, ask) {
        Ok(pinged) => pinged,
        Err(error) => return Some(Err(error)),
    };
    if let Some((why, _)) = gateway.no_way_in_words(of) {
        let point_code = gateway.config.point_code_format.show(of);
        let rows = subsystems.into_iter().map(|subsystem| PingRow {
            point_code: point_code.clone(),
            subsystem,
            state: "unreachable",
            rtt_us: None,
            why: why.clone(),
        });
        return Some(Ok(question::value(rows.collect::<Vec<_>>())));
    }
    let heard = BTreeMap::new();
    gateway.sccp.pings.0.push(Ping {
        ticket,
        of,
        subsystems: subsystems.clone(),
        begun: now,
        heard,
    });
    let mut wants = Vec::new();
    for subsystem in subsystems {
        gateway.sccp.step(now, In::Test(of, subsystem), &mut wants);
    }
    gateway.send_all(now, wants);
    None
}

/// The node that is asked for, and its subsystems: the management first.
fn pinged(gateway: &Gateway, ask: &Ask) -> Result<(PointCode, Vec<u8>), AskError> {
    let wrong = |text: String| AskError::BadParameter(text);
    if !gateway.config.has_sccp() {
        return Err(wrong("this function has no SCCP: it has no subsystem and no rule".into()));
    }
    if gateway.sccp.pings.0.len() >= PINGS_MAX {
        return Err(wrong("too many nodes are asked at once".into()));
    }
    let format = gateway.config.point_code_format;
    let of = ask.params.get("point_code").and_then(|text| format.read(text));
    let of = of.ok_or_else(|| wrong(format!("point_code: {}", format.example())))?;
    let mut subsystems = vec![MANAGEMENT_SSN];
    if let Some(text) = ask.params.get("subsystem") {
        let number = text.parse::<u8>().ok().filter(|number| (1..=254).contains(number));
        let number = number.ok_or_else(|| wrong("subsystem: a number from 1 to 254".into()))?;
        subsystems.extend(Some(number).filter(|it| *it != MANAGEMENT_SSN));
    }
    Ok((of, subsystems))
}

/// Tells what was heard, once it is all, or its time is over.
pub(crate) fn pings_heard(gateway: &mut Gateway, now: Time, out: &mut Effects) {
    let is_over = |ping: &Ping| {
        let has_all = ping.subsystems.iter().all(|it| ping.heard.contains_key(it));
        has_all || now >= ping.begun + WAIT
    };
    let (over, waiting) = core::mem::take(&mut gateway.sccp.pings.0).into_iter().partition(is_over);
    gateway.sccp.pings.0 = waiting;
    for ping in over {
        let rows: Vec<PingRow> =
            ping.subsystems.iter().map(|it| ping_row(gateway, &ping, *it)).collect();
        out.answer(ping.ticket, Ok(question::value(rows)));
    }
}

fn ping_row(gateway: &Gateway, ping: &Ping, subsystem: u8) -> PingRow {
    let known = gateway.sccp.node.can_take(Some(ping.of), None);
    let (state, why) = match ping.heard.get(&subsystem) {
        Some((true, _)) => ("answers", "SSA"),
        Some((false, _)) => ("prohibited", "SSP: it is out of service"),
        None if known == Err(ReturnCause::SccpFailure) => {
            ("silent", "its MTP3 has said that no SCCP is there (DUPU)")
        }
        None if ping.heard.contains_key(&MANAGEMENT_SSN) => {
            ("silent", "its SCCP answers, and not for this one: out of service, or none")
        }
        None => ("silent", "neither SSA nor SSP has come within 1.5 s"),
    };
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    PingRow {
        point_code: gateway.config.point_code_format.show(ping.of),
        subsystem,
        state,
        rtt_us: ping.heard.get(&subsystem).map(|it| micros(it.1)),
        why: why.to_owned(),
    }
}
