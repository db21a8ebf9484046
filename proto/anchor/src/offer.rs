//! What becomes of the streams of an offer.

use crate::carriage::Carriage;
use crate::codec::Codec;
use crate::format::Format;
use crate::guard::{Offering, choose, offering, preferred, profile};
use crate::policy::{Dtmf, Policy, RtcpMux};
use crate::refusal::Reason;
use crate::section::Section;
use crate::stream::{Flow, Guard};
use crate::write::RtcpLines;

/// The policies of the side that speaks and of the one that is spoken to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Policies<'p> {
    pub from: &'p Policy,
    pub to: &'p Policy,
    pub is_end_to_end: bool,
    /// Whether there is a certificate for DTLS.
    pub has_certificate: bool,
    /// What the media plane codes anew: a bit for the number of each codec.
    pub codecs: u32,
}

impl Policies<'_> {
    /// Whether the media plane decodes that format and codes it anew.
    pub fn codes(&self, format: &Format<'_>) -> bool {
        let is_there = |codec: Codec| self.codecs >> codec.number() & 1 == 1;
        format.is_coded() && format.codec.is_some_and(is_there)
    }
}

/// What becomes of an offered stream.
#[derive(Debug)]
pub(crate) enum Verdict<'a> {
    Relay(Plan<'a>),
    /// It is no datagrams and goes past the media controller.
    Pass,
    /// It is not wanted: by its writer, or for a reason.
    Refuse(Option<Reason>),
}

/// How a stream is offered to the other side.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    /// Empty where it is no RTP.
    pub formats: Vec<Format<'a>>,
    pub profile: Carriage,
    pub offering: Offering,
}

/// Judges a stream; `standing` is how the other side's end is protected so far.
pub(crate) fn judge<'a>(
    section: &Section<'a>,
    policies: &Policies<'_>,
    standing: Option<&Guard>,
) -> Verdict<'a> {
    let Policies { from, to, is_end_to_end, has_certificate, .. } = *policies;
    if section.is_refused() {
        return Verdict::Refuse(None);
    }
    let kind = section.media.kind;
    if !from.kinds.allow(kind) || !to.kinds.allow(kind) {
        return Verdict::Refuse(Some(Reason::Kind));
    }
    if Flow::carried_by(section.carriage).is_none() {
        let passes = from.other && to.other;
        return if passes { Verdict::Pass } else { Verdict::Refuse(Some(Reason::Kind)) };
    }
    if let Some(reason) = section.fault.or_else(|| excess(section, policies)) {
        return Verdict::Refuse(Some(reason));
    }
    if !section.carriage.is_rtp() {
        let offering = offering(section, &to.srtp, false, None);
        return Verdict::Relay(Plan { formats: Vec::new(), profile: section.carriage, offering });
    }
    let formats = formats(section, policies);
    if formats.iter().all(Format::is_auxiliary) {
        return Verdict::Refuse(Some(Reason::Codec));
    }
    if is_end_to_end {
        let security = section.carriage.security();
        let offering = Offering { security, keys: false, dtls: false };
        return Verdict::Relay(Plan { formats, profile: section.carriage, offering });
    }
    let role = preferred(&from.srtp);
    if let Err(reason) = choose(section, &from.srtp, has_certificate, role) {
        return Verdict::Refuse(Some(reason));
    }
    let offering = offering(section, &to.srtp, has_certificate, standing);
    let profile = profile(section, offering.security, to);
    Verdict::Relay(Plan { formats, profile, offering })
}

/// More bandwidth than one of the sides has.
fn excess(section: &Section<'_>, policies: &Policies<'_>) -> Option<Reason> {
    let limits = [policies.from, policies.to].map(|policy| policy.bandwidth.kbps_max);
    let limit = limits.into_iter().flatten().min()?;
    let is_over = section.rate_bps.is_some_and(|rate| rate > u64::from(limit) * 1_000);
    is_over.then_some(Reason::Bandwidth)
}

/// The formats of the other side's offer, in the order that it prefers.
fn formats<'a>(section: &Section<'a>, policies: &Policies<'_>) -> Vec<Format<'a>> {
    let Policies { from, to, .. } = *policies;
    let usable = || section.formats.iter().filter(|format| from.codecs.allows(format));
    let is_event = |format: &Format<'_>| format.codec == Some(Codec::TelephoneEvent);
    let takes_events = matches!(to.dtmf, Dtmf::Pass | Dtmf::Events);
    let fits = |format: &&Format<'a>| {
        to.codecs.allows(format) && !to.codecs.masks(format) && (takes_events || !is_event(format))
    };
    let mut list: Vec<Format<'a>> = usable().filter(fits).copied().collect();
    if usable().any(|format| policies.codes(format)) {
        for name in &to.codecs.transcode {
            if list.iter().any(|format| name.names(format)) {
                continue;
            }
            let Some(format) = name.format(&[&section.formats[..], &list].concat()) else {
                continue;
            };
            if !policies.codes(&format) {
                continue;
            }
            // Behind the last codec, before what goes beside one.
            let last = list.iter().rposition(|format| !format.is_auxiliary());
            list.insert(last.map_or(0, |at| at + 1), format);
            if list.iter().any(is_event) {
                add_event(&mut list, name.clock(), &section.formats);
            }
        }
    }
    list.sort_by_key(|format| to.codecs.rank(format));
    let main = list.iter().find(|format| !format.is_auxiliary());
    if let Some(clock) = main.map(|format| if format.clock == 0 { 8_000 } else { format.clock })
        && to.dtmf == Dtmf::Events
        && section.media.kind == b"audio"
        && !list.iter().any(is_event)
    {
        add_event(&mut list, clock, &section.formats);
    }
    list
}

/// Adds events of a clock, before those of others, unless there are some (RFC 4733 §7.1.1).
fn add_event<'a>(list: &mut Vec<Format<'a>>, clock: u32, offered: &[Format<'a>]) {
    let is_it = |it: &Format<'_>| it.codec == Some(Codec::TelephoneEvent) && it.clock == clock;
    let taken = [offered, list].concat();
    if !list.iter().any(is_it)
        && let Some(event) = Format::added(Codec::TelephoneEvent, clock, &taken)
    {
        let first = list.iter().position(|it| it.codec == event.codec);
        list.insert(first.unwrap_or(list.len()), event);
    }
}

/// What a description for a side says of RTCP on a port of its own.
pub(crate) const fn apart(policy: &Policy) -> RtcpLines {
    if policy.rtcp_attribute { RtcpLines::Apart } else { RtcpLines::Silent }
}

/// What an offer to a side says of RTCP.
pub(crate) fn rtcp(section: &Section<'_>, to: &Policy) -> RtcpLines {
    if !section.carriage.is_rtp() {
        return RtcpLines::None;
    }
    match to.rtcp_mux {
        RtcpMux::Follow | RtcpMux::Accept if section.has_mux => RtcpLines::Either,
        RtcpMux::Off | RtcpMux::Follow | RtcpMux::Accept => apart(to),
        RtcpMux::Offer => RtcpLines::Either,
        RtcpMux::Require => RtcpLines::MuxOnly,
    }
}
