//! What an answer makes of a stream: what is answered to the offerer, and what the media plane is
//! told.

use crate::format::Format;
use crate::guard::{Choice, choose, preferred, settled};
use crate::offer::{Policies, apart};
use crate::payload::{Formats, Outcome, lay};
use crate::policy::{Ice, Policy, RtcpMux};
use crate::port::Local;
use crate::refusal::Reason;
use crate::section::Section;
use crate::side::Side;
use crate::stream::{
    Checks, End, Event, Flow, Guard, Kind, PARAMETERS_MAX, Payload, Rtcp, Stream, Trace,
};
use crate::write::{Credentials, Relayed, RtcpLines};
use core::net::{IpAddr, SocketAddr};
use sdp::Direction;
use srtp::dtls::Fingerprint;
use srtp::{MasterKey, Suite, sdes};

/// Bits a second that the headers of 50 packets take, with some room.
const HEADERS_BPS: u64 = 32_000;

/// The three descriptions of a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sections<'d, 'a> {
    pub offered: &'d Section<'a>,
    pub told: &'d Section<'a>,
    pub answered: &'d Section<'a>,
    /// The hosts that the offer and the answer came from.
    pub signallers: [Option<IpAddr>; 2],
}

/// What the media controller itself has for a stream.
#[derive(Debug)]
pub(crate) struct Own<'m> {
    pub offerer: Side,
    /// The ports of A and B.
    pub locals: [Local; 2],
    /// The address that the offerer sees.
    pub address: IpAddr,
    /// Name and password of connectivity checks with A and B.
    pub ice: [Option<&'m Credentials>; 2],
    pub fingerprint: Option<&'m Fingerprint>,
    /// The stream as it stood before.
    pub standing: Option<&'m Stream>,
}

/// A stream on its way to be agreed.
#[derive(Debug)]
pub(crate) struct Agreement<'d, 'a, 'm> {
    pub sections: Sections<'d, 'a>,
    pub policies: Policies<'m>,
    pub own: Own<'m>,
}

impl<'a> Agreement<'_, 'a, '_> {
    /// What is written to the offerer, and the stream. `key` makes the key by which the offerer is
    /// sent to.
    pub fn agree(
        &self,
        key: impl FnOnce(Suite) -> MasterKey,
    ) -> Result<(Relayed<'a>, Stream), Reason> {
        let Sections { offered, answered, .. } = self.sections;
        if let Some(reason) = answered.fault {
            return Err(reason);
        }
        let flow = Flow::carried_by(offered.carriage).ok_or(Reason::Lines)?;
        if Flow::carried_by(answered.carriage) != Some(flow) {
            return Err(Reason::Lines);
        }
        let outcome = self.outcome(flow)?;
        let guarded = flow == Flow::Rtp && !self.policies.is_end_to_end;
        let choice = if guarded { self.choice()? } else { Choice::Plain };
        let guard = if guarded {
            settled(self.sections.told, answered, &self.policies.to.srtp)?
        } else {
            Guard::None
        };
        let agreed = match choice {
            Choice::Keys(choice) => {
                let key = key(choice.line().suite);
                // A key that comes back would use each index twice.
                Some(sdes::answer(choice, key).ok_or(Reason::Keys)?)
            }
            Choice::Plain | Choice::Dtls(..) => None,
        };
        let relayed = self.relayed(&outcome, choice, agreed.as_ref());
        let guards = [self.guard(choice, agreed)?, guard];
        Ok((relayed, self.stream(flow, outcome, guards)))
    }

    fn outcome(&self, flow: Flow) -> Result<Outcome<'a>, Reason> {
        let Sections { offered, told, answered, .. } = self.sections;
        if flow != Flow::Rtp {
            return Ok(Outcome {
                list: Vec::new(),
                payloads: Vec::new(),
                events: [None; 2],
                coded: [None; 2],
            });
        }
        let formats =
            Formats { offered: &offered.formats, told: &told.formats, answered: &answered.formats };
        lay(formats, self.own.offerer, &self.policies).ok_or(Reason::Codec)
    }

    /// The protection of the offerer's end. The role in DTLS stays as long as the association
    /// does (RFC 8842 §5.3).
    fn choice(&self) -> Result<Choice<'_>, Reason> {
        let offered = self.sections.offered;
        let Policies { from, has_certificate, .. } = self.policies;
        let standing = self.own.standing.map(|stream| &stream.end(self.own.offerer).guard);
        let role = match (standing, &offered.dtls) {
            (Some(Guard::Dtls { peer, role }), Some(now)) if peer.goes_on_as(now) => *role,
            _ => preferred(&from.srtp),
        };
        choose(offered, &from.srtp, has_certificate, role)
    }

    fn guard(&self, choice: Choice<'_>, agreed: Option<sdes::Agreed>) -> Result<Guard, Reason> {
        Ok(match (choice, agreed) {
            (Choice::Keys(_), Some(agreed)) => {
                Guard::Keys { receive: Box::new(agreed.theirs), send: Box::new(agreed.ours) }
            }
            (Choice::Dtls(_, role), _) => {
                let peer = self.sections.offered.dtls.clone().ok_or(Reason::Keys)?;
                Guard::Dtls { peer: Box::new(peer), role }
            }
            _ => Guard::None,
        })
    }

    fn relayed(
        &self,
        outcome: &Outcome<'a>,
        choice: Choice<'_>,
        agreed: Option<&sdes::Agreed>,
    ) -> Relayed<'a> {
        let Sections { offered, answered, .. } = self.sections;
        let from = self.policies.from;
        let side = self.own.offerer.index();
        let rtcp = match (offered.carriage.is_rtp(), self.muxes()) {
            (false, _) => RtcpLines::None,
            (true, true) => RtcpLines::Mux,
            (true, false) => apart(from),
        };
        let dtls = match choice {
            Choice::Dtls(setup, _) => self.own.fingerprint.map(|print| (setup, *print)),
            _ => None,
        };
        Relayed {
            local: SocketAddr::new(self.own.address, self.own.locals[side].port),
            is_held: answered.is_held(),
            protocol: offered.media.protocol,
            formats: outcome.list.clone(),
            direction: within(answered.media.direction(), offered.media.direction()),
            rtcp,
            says_rtcp: from.rtcp_attribute,
            keys: agreed.map(|agreed| agreed.ours.clone()).into_iter().collect(),
            dtls,
            ice: self.own.ice[side].filter(|_| checks_with(offered, from)).cloned(),
            packet_ms: from.packet_ms.or(answered.packet_ms),
            mid: offered.mid,
            is_end_to_end: self.policies.is_end_to_end,
        }
    }

    fn stream(&self, flow: Flow, outcome: Outcome<'a>, guards: [Guard; 2]) -> Stream {
        let Sections { offered, told, answered, .. } = self.sections;
        let Policies { from, to, .. } = self.policies;
        let (offerer, answerer) = (self.own.offerer, self.own.offerer.other());
        let [offerer_guard, answerer_guard] = guards;
        let is_mux = told.has_mux && answered.has_mux;
        let Outcome { payloads, events, coded, .. } = outcome;
        let ends = [
            End {
                checks: self.checks(offerer, offered, checks_with(offered, from)),
                ..self.end(offerer, offered, from, self.muxes())
            },
            End {
                checks: self.checks(answerer, answered, told.ice.is_some()),
                ..self.end(answerer, answered, to, is_mux)
            },
        ];
        let [mut one, mut other] = ends;
        (one.guard, other.guard) = (offerer_guard, answerer_guard);
        (one.event, other.event) = (events[0], events[1]);
        (one.parameters, other.parameters) = (parameters(coded[0]), parameters(coded[1]));
        one.police_bps = police(offerer, &payloads, answered, from);
        other.police_bps = police(answerer, &payloads, offered, to);
        let times = [from.timeout_s, to.timeout_s].into_iter().filter(|seconds| *seconds > 0);
        Stream {
            kind: Kind::named(offered.media.kind),
            flow,
            ends: if offerer == Side::A { [one, other] } else { [other, one] },
            payloads,
            timeout_s: times.min().unwrap_or(0),
            trace: Trace::default(),
        }
    }

    /// An end without its protection, its checks, its events and its rate.
    fn end(&self, side: Side, section: &Section<'a>, policy: &Policy, is_mux: bool) -> End {
        let rtcp = match (section.carriage.is_rtp(), is_mux) {
            (false, _) => Rtcp::None,
            (true, true) => Rtcp::Mux,
            (true, false) => Rtcp::Apart(section.remote_rtcp()),
        };
        End {
            local: self.own.locals[side.index()],
            remote: section.remote(),
            rtcp,
            direction: section.media.direction(),
            latching: policy.latching,
            latching_anywhere: policy.latching && policy.latching_anywhere,
            signaller: self.sections.signallers[usize::from(side != self.own.offerer)],
            guard: Guard::None,
            checks: None,
            ssrcs: section.ssrcs.clone(),
            police_bps: 0,
            dscp: policy.dscp,
            packet_ms: section.packet_ms.unwrap_or(0),
            dtmf: policy.dtmf,
            event: None::<Event>,
            bundle: None,
            parameters: Box::default(),
        }
    }
}

impl Agreement<'_, '_, '_> {
    /// Whether the offerer gets RTP and RTCP on one port.
    fn muxes(&self) -> bool {
        let Sections { offered, told, answered, .. } = self.sections;
        offered.has_mux
            && match self.policies.from.rtcp_mux {
                RtcpMux::Off => false,
                RtcpMux::Follow => told.has_mux && answered.has_mux,
                RtcpMux::Accept | RtcpMux::Offer | RtcpMux::Require => true,
            }
    }

    /// Connectivity checks with an end, if both have them.
    fn checks(&self, side: Side, section: &Section<'_>, has_checks: bool) -> Option<Box<Checks>> {
        let (name, password) = section.ice?;
        let own = self.own.ice[side.index()].filter(|_| has_checks)?;
        Some(Box::new(Checks {
            name: own.name.clone(),
            password: own.password.clone(),
            remote_name: name.into(),
            remote_password: password.into(),
        }))
    }
}

/// Whether a side that offered them gets connectivity checks.
pub(crate) fn checks_with(offered: &Section<'_>, policy: &Policy) -> bool {
    offered.ice.is_some() && policy.ice != Ice::Remove
}

/// The parameters of a codec that the media plane may have to code.
fn parameters(format: Option<Format<'_>>) -> Box<[u8]> {
    let coded = format.filter(|it| it.is_coded() && it.parameters.len() <= PARAMETERS_MAX);
    coded.map_or_else(Box::default, |it| it.parameters.into())
}

/// A direction that gives no more than was offered (RFC 3264 §6.1).
fn within(answer: Direction, offer: Direction) -> Direction {
    match (answer.sends() && offer.receives(), answer.receives() && offer.sends()) {
        (true, true) => Direction::SendRecv,
        (true, false) => Direction::SendOnly,
        (false, true) => Direction::RecvOnly,
        (false, false) => Direction::Inactive,
    }
}

/// What a side may send: a quarter more than the other one asked for, or than its codecs take.
fn police(side: Side, payloads: &[Payload], receiver: &Section<'_>, policy: &Policy) -> u64 {
    if !policy.bandwidth.police {
        return 0;
    }
    let sent = payloads.iter().filter(|payload| payload.from == side);
    let rates = sent.filter_map(|payload| payload.codec).map(|codec| codec.shape().rate_bps);
    let rate = receiver.rate_bps.or_else(|| rates.max().filter(|rate| *rate > 0).map(u64::from));
    rate.map_or(0, |rate| rate + rate / 4 + HEADERS_BPS)
}
