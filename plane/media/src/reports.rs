//! Reports of RTCP that pass (RFC 3550 §6.4): what they say of streams here, and the sources that
//! they name where those of the other side have other names.
//!
//! ```text
//!   a stream comes at a, and leaves towards its receiver from the place of b
//!   sender report at a    ─→ its Reception: the report was here
//!   receiver report at b ── from ─→ that of a: so long from here to the receiver and back
//!   where a has another source for what leaves: b's reports name it, and are to name the first one
//! ```
//! RTCP with a port of its own comes to the flow beside: its `pair` is the one of RTP. Cells are
//! held one after the other, when the worker holds no other.

use crate::cell::{Known, NONE, Names};
use crate::flow::Use;
use crate::table::Table;
use machine::Time;
use rtp::NtpMiddle;
use rtp::rtcp::{Compound, Form, Packet, Report, ReportBlock, rewrite_sources};

/// What is kept of the reports of one vector, at most.
const SAID_MAX: usize = 64;

/// What is to be told to a flow.
#[derive(Debug, Clone, Copy)]
enum Said {
    /// The source of a flow reported.
    Sent { flow: u32, ssrc: u32, ntp: NtpMiddle },
    /// A receiver reported of what comes to `from`, or if that is nobody to the flow whose other
    /// side `pair` is.
    Received { from: u32, pair: u32, block: ReportBlock },
    /// The source of a flow leaves under another name.
    Named { pair: u32, to: u32, shown: u32, ssrc: u32 },
}

/// What reports said of flows other than their own.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    said: Vec<(Time, Said)>,
}

impl Reports {
    /// Whether there is nothing to tell.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    fn push(&mut self, now: Time, said: Said) {
        if self.said.len() < SAID_MAX {
            self.said.push((now, said));
        }
    }

    /// A datagram of RTCP passes at a flow; whether it was changed.
    pub fn pass(&mut self, now: Time, number: u32, known: &Known, octets: &mut [u8]) -> bool {
        let names = known.extras.as_ref().map(|extras| extras.names).unwrap_or_default();
        let flow = if known.flow.settings().of == Use::Rtcp { known.pair } else { number };
        let Ok(compound) = Compound::read(octets, Form::ReducedSize) else { return false };
        for packet in compound.filter_map(|raw| Packet::read(&raw).ok()) {
            if let Packet::Report(report) = packet {
                self.hear(now, flow, known, &report, names);
            }
        }
        let shown = known.flow.settings().rewrite.ssrc;
        let own = names.own.zip(shown);
        if own.is_none() && names.other.is_none() {
            return false;
        }
        rewrite_sources(octets, |ssrc| match (own, names.other) {
            (Some((own, shown)), _) if ssrc == own => shown,
            (_, Some((shown, other))) if ssrc == shown => other,
            _ => ssrc,
        });
        true
    }

    fn hear(&mut self, now: Time, flow: u32, known: &Known, report: &Report<'_>, names: Names) {
        if let Some(sender) = report.sender {
            let (ssrc, ntp) = (report.ssrc, sender.ntp.middle());
            self.push(now, Said::Sent { flow, ssrc, ntp });
        }
        for block in report.blocks.filter(|block| block.last_sr != 0) {
            let other = names.other.filter(|(shown, _)| *shown == block.ssrc);
            let block = ReportBlock { ssrc: other.map_or(block.ssrc, |(_, ssrc)| ssrc), ..block };
            self.push(now, Said::Received { from: known.from, pair: known.pair, block });
        }
    }

    /// A packet of RTP came to a flow whose sources leave under another name.
    pub fn named(&mut self, now: Time, known: &mut Known) {
        let Some(shown) = known.flow.settings().rewrite.ssrc else { return };
        let Some(ssrc) = known.flow.stream().map(rtp::Reception::ssrc) else { return };
        let extras = known.extras.get_or_insert_default();
        if extras.names.own != Some(ssrc) {
            extras.names.own = Some(ssrc);
            let to = known.way.map_or(NONE, |way| way.to);
            self.push(now, Said::Named { pair: known.pair, to, shown, ssrc });
        }
    }

    /// Tells it to the flows. No cell is held.
    pub fn tell(&mut self, table: &Table) {
        for (now, said) in self.said.drain(..) {
            match said {
                Said::Sent { flow, ssrc, ntp } => sent(table, flow, ssrc, ntp, now),
                Said::Received { from, pair, block } => received(table, from, pair, &block, now),
                Said::Named { pair, to, shown, ssrc } => {
                    rename(table, pair, |names| names.own = Some(ssrc));
                    let beside = with(table, to, |known| known.pair).unwrap_or(NONE);
                    for flow in [to, beside] {
                        rename(table, flow, |names| names.other = Some((shown, ssrc)));
                    }
                }
            }
        }
    }
}

fn with<T>(table: &Table, number: u32, what: impl FnOnce(&mut Known) -> T) -> Option<T> {
    table.cell(number)?.hold().as_mut().map(what)
}

fn sent(table: &Table, flow: u32, ssrc: u32, ntp: NtpMiddle, now: Time) {
    with(table, flow, |known| {
        if let Some(stream) = known.flow.streams().find(|it| it.ssrc() == ssrc) {
            stream.sender_report(ntp, NtpMiddle::of(now));
        }
    });
}

fn received(table: &Table, from: u32, pair: u32, block: &ReportBlock, now: Time) {
    let from = if from == NONE { with(table, pair, |known| known.from) } else { Some(from) };
    let stream = from.and_then(|from| {
        let of_stream = |known: &mut Known| match known.flow.settings().of {
            Use::Rtcp => known.pair,
            _ => from,
        };
        with(table, from, of_stream)
    });
    with(table, stream.unwrap_or(NONE), |known| {
        if let Some(stream) = known.flow.streams().find(|it| it.ssrc() == block.ssrc) {
            // What is about another report than the last one says nothing.
            let _ = stream.reported(block, NtpMiddle::of(now));
        }
    });
}

fn rename(table: &Table, flow: u32, change: impl FnOnce(&mut Names)) {
    with(table, flow, |known| change(&mut known.extras.get_or_insert_default().names));
}
