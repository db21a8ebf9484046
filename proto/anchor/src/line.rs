//! A stream of a call, and what the media controller keeps for it.

use crate::answer::{Agreement, Own, Sections, checks_with};
use crate::guard::{OwnKeys, is_end_to_end};
use crate::means::Means;
use crate::offer::{Plan, rtcp};
use crate::policy::Ice;
use crate::port::{Local, Source};
use crate::refusal::Reason;
use crate::section::Section;
use crate::side::Side;
use crate::stream::Stream;
use crate::write::{Credentials, Relayed, State};
use core::net::{IpAddr, SocketAddr};
use srtp::dtls::Setup;

/// Letters and digits of ICE (RFC 8839 §5.4).
const ICE_CHARACTERS: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Whether a place that a description names can be sent to from a port of `own`. What is of one
/// host or of one link is reached from there alone.
pub(crate) fn reach(section: &Section<'_>, own: IpAddr) -> Result<(), Reason> {
    let is_near = |ip: IpAddr| match ip.to_canonical() {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unicast_link_local(),
    };
    for place in [section.remote(), section.remote_rtcp()].into_iter().flatten() {
        if place.is_ipv6() != own.is_ipv6() {
            return Err(Reason::Family);
        }
        if is_near(place.ip()) && !is_near(own) {
            return Err(Reason::Place);
        }
    }
    Ok(())
}

/// A stream of the call, and what the media controller keeps for it.
#[derive(Debug, Default)]
pub(crate) struct Line {
    pub locals: [Option<Local>; 2],
    pub keys: [OwnKeys; 2],
    pub ice: [Option<Credentials>; 2],
    pub stream: Option<Stream>,
    pub generation: u32,
}

impl Line {
    /// Whether the places that a side names can be sent to from its own port, and are none of the
    /// call's own ports, `own`: its packets would go around without end.
    pub fn reaches(
        &self,
        section: &Section<'_>,
        side: Side,
        own: &[Local],
        ports: &dyn Source,
    ) -> Result<(), Reason> {
        let Some(local) = self.locals[side.index()] else { return Ok(()) };
        let address = ports.address(local.address);
        // What was leased is not known just now: nobody may be told an address that is none.
        if address.is_unspecified() {
            return Err(Reason::Room);
        }
        reach(section, address)?;
        let is_own = |place: SocketAddr| {
            own.iter().any(|local| {
                let is_port = place.port() & !1 == local.port;
                is_port && place.ip() == ports.address(local.address)
            })
        };
        let places = [section.remote(), section.remote_rtcp()];
        if places.into_iter().flatten().any(is_own) { Err(Reason::Place) } else { Ok(()) }
    }

    /// The stream as `to` is offered it.
    pub fn offered<'a>(
        &mut self,
        section: &Section<'a>,
        plan: &Plan<'a>,
        to: Side,
        means: &mut Means<'_>,
    ) -> Option<Relayed<'a>> {
        let policy = means.policies[to.index()];
        let end = self.stream.as_ref().map(|stream| stream.end(to));
        // A port that is shared stays so (RFC 9143 §7.5).
        let shared = end.filter(|end| end.bundle.is_some()).map(|end| end.local);
        let local = shared.or(self.locals[to.index()])?;
        let address = means.ports.address(local.address);
        let standing = end.is_some_and(|end| end.checks.is_some());
        let has_ice = match policy.ice {
            Ice::Remove => false,
            Ice::Accept => standing,
            Ice::Follow => standing || section.ice.is_some(),
            Ice::Offer => true,
        };
        let keys = if plan.offering.keys {
            self.keys[to.index()].offer(&policy.srtp.sdes.suites, means.random)
        } else {
            Vec::new()
        };
        let fingerprint = means.ports.fingerprint().filter(|_| plan.offering.dtls).cloned();
        let is_same = plan.profile == section.carriage;
        Some(Relayed {
            local: SocketAddr::new(address, local.port),
            is_held: section.is_held(),
            protocol: if is_same { section.media.protocol } else { plan.profile.name().as_bytes() },
            formats: plan.formats.clone(),
            direction: section.media.direction(),
            rtcp: rtcp(section, policy),
            says_rtcp: policy.rtcp_attribute,
            keys,
            dtls: fingerprint.map(|fingerprint| (Setup::ActPass, fingerprint)),
            ice: has_ice.then(|| self.credentials(to, means.random).clone()),
            packet_ms: policy.packet_ms.or(section.packet_ms),
            mid: section.mid,
            is_end_to_end: is_end_to_end(means.policies),
        })
    }

    /// The stream that an answer makes, and what the offerer is told.
    pub fn agree<'a>(
        &mut self,
        sections: Sections<'_, 'a>,
        offerer: Side,
        own: &[Local],
        means: &mut Means<'_>,
    ) -> Result<(State<'a>, Option<Stream>), Reason> {
        let [Some(a), Some(b)] = self.locals else { return Ok((State::Passed, None)) };
        self.reaches(sections.offered, offerer, own, means.ports)?;
        self.reaches(sections.answered, offerer.other(), own, means.ports)?;
        let policies = means.as_speaks(offerer);
        if checks_with(sections.offered, policies.from) {
            self.credentials(offerer, means.random);
        }
        let local = if offerer == Side::A { a } else { b };
        let own = Own {
            offerer,
            locals: [a, b],
            address: means.ports.address(local.address),
            ice: [self.ice[0].as_ref(), self.ice[1].as_ref()],
            fingerprint: means.ports.fingerprint(),
            standing: self.stream.as_ref(),
        };
        let keys = &mut self.keys[offerer.index()];
        let random = &mut *means.random;
        let agreement = Agreement { sections, policies, own };
        let (relayed, stream) = agreement.agree(|suite| keys.key(suite, random))?;
        Ok((State::Relayed(Box::new(relayed)), Some(stream)))
    }

    /// Name and password of connectivity checks, made if there are none yet (RFC 8445 §5.3).
    pub fn credentials(&mut self, side: Side, random: &mut dyn FnMut(&mut [u8])) -> &Credentials {
        self.ice[side.index()].get_or_insert_with(|| {
            let mut word = |length: usize| {
                let mut octets = vec![0; length];
                random(&mut octets);
                for octet in &mut octets {
                    *octet = ICE_CHARACTERS[usize::from(*octet & 63)];
                }
                octets.into_boxed_slice()
            };
            Credentials { name: word(8), password: word(24) }
        })
    }
}
