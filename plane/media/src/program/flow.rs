//! A flow as it is said: what comes to a place, what leaves from it, and where that goes on.

use super::fields::{SPEC, place, violation};
use super::{Place, Snapshot, put_place};
use crate::flow::{PayloadTypes, SOURCES_MAX, Settings, Sources, Use};
use crate::latch::Expected;
use crate::police::Rate;
use core::net::{IpAddr, SocketAddr};
use machine::Duration;
use rtp::{ClockRate, Rewrite};
use srtp::{
    Allowance, KeyDerivationRate, KeyEntry, MASTER_KEYS_MAX, MasterKey, Mki, Parameters, Suite,
};
use wire::field;
use wire::field::value::{
    address, each, end, flag, number, put, put_address, put_socket, required, socket,
};
use wire::{Cursor, Malformed};

/// Payload types that become another one, at most.
pub const PAYLOADS_MAX: usize = 32;
/// Branches of a flow, at most.
pub const BRANCHES_MAX: usize = 64;
/// Packets of types that go up a second, unless it is said: twice those of 20 ms.
pub const UP_PER_S: u16 = 100;
/// The longest time without a packet that is waited for.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(86_400);

/// The keys of one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    /// What they protect with.
    pub parameters: Parameters,
    /// The keys, 1 to [`MASTER_KEYS_MAX`].
    pub entries: Vec<KeyEntry>,
}

impl Keys {
    /// Appends them as fields.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_keys(self, out);
    }

    /// Reads what [`Self::write`] wrote.
    ///
    /// # Errors
    /// A field that lacks, is cut off or has another length or number than it may.
    pub fn read(octets: &[u8]) -> Result<Self, Malformed> {
        read_keys(octets)
    }
}

/// What protects packets between a place and whoever is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guard {
    /// Nothing: RTP.
    None,
    /// SRTP.
    Keys {
        /// What comes is opened with these.
        receive: Keys,
        /// What leaves is protected with these.
        send: Keys,
    },
    /// SRTP whose keys DTLS has not agreed yet: nothing but STUN and DTLS passes. A flow that has
    /// keys of the same [`FlowSaid::association`] keeps them: a control that was here before has
    /// agreed on them.
    Dtls,
}

/// Packets of a flow that leave from another place than the rest of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branch {
    /// The flow of the other side from whose place they leave.
    pub to: Place,
    /// Payload types, as they come.
    pub payload_types: PayloadTypes,
    /// `false`: RTP of these types. `true`: RTCP of the sources that send them; without types, of
    /// all others.
    pub reports: bool,
}

/// What comes to a place, and what leaves from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowSaid {
    /// The place.
    pub at: Place,
    /// The flow of the other side: what comes here leaves from that place, to where its own packets
    /// come from, or as long as none did, to where its other side was signalled to be. `None`:
    /// what comes here ends here.
    pub to: Option<Place>,
    /// What was agreed of what comes here.
    pub settings: Settings,
    /// From where it comes.
    pub expected: Expected,
    /// How packets between here and there are protected.
    pub guard: Guard,
    /// How packets that leave from here are marked (RFC 2474), 0 to 63; `None`: as they came.
    pub dscp: Option<u8>,
    /// After how long without a packet it is told; `None`: never.
    pub timeout: Option<Duration>,
    /// Payload types that become another one on their way (RFC 3264 §6.1), before and after, beside
    /// `settings.rewrite`.
    pub becomes: Vec<(u8, u8)>,
    /// Packets that leave from another place than `to`, [`BRANCHES_MAX`] kinds at most.
    pub branches: Vec<Branch>,
    /// Payload types that go up ([`super::CLASS_FRAMES`]) instead of on: they are transcoded, or
    /// are digits that become another thing.
    pub up: PayloadTypes,
    /// Packets of these types a second, at most, and half of a second's at once; 0: [`UP_PER_S`].
    pub up_per_s: u16,
    /// Whether STUN goes up ([`super::CLASS_STUN`]), at most 50 packets a second with DTLS: checks
    /// of connectivity were agreed. Else it is dropped.
    pub stun: bool,
    /// Whether DTLS goes up ([`super::CLASS_DTLS`]), as STUN does: it agrees on keys.
    pub dtls: bool,
    /// Payload types whose digits are told (RFC 4733), whether they go on or up.
    pub digits: PayloadTypes,
    /// The association of DTLS that its keys are of; `None`: none that anybody would know again. As
    /// long as [`Guard::Dtls`] keeps keys, [`FlowSaid::expected`] without a port keeps who is
    /// expected, too: checks have chosen that one.
    pub association: Option<u64>,
    /// What another forwarder knew of the flow: it goes on from there, indices ahead of it, also
    /// where that is nothing. What is known here and has come as far counts more. `None`: no other
    /// forwarder had these keys.
    pub resume: Option<Snapshot>,
}

mod tag {
    pub const TO: u8 = 1;
    pub const USE: u8 = 2;
    pub const ACTIVE: u8 = 3;
    pub const PAYLOAD_TYPES: u8 = 4;
    pub const UNTIMED: u8 = 5;
    pub const SSRC: u8 = 6;
    pub const CLOCK: u8 = 7;
    pub const RATE: u8 = 8;
    pub const REWRITE: u8 = 9;
    pub const EXPECTED: u8 = 10;
    pub const SIGNALLER: u8 = 11;
    pub const ANYWHERE: u8 = 12;
    pub const RECEIVE: u8 = 13;
    pub const SEND: u8 = 14;
    pub const DTLS: u8 = 15;
    pub const DSCP: u8 = 16;
    pub const TIMEOUT: u8 = 17;
    pub const BECOMES: u8 = 18;
    pub const UP: u8 = 19;
    pub const DIGITS: u8 = 20;
    pub const RESUME: u8 = 21;
    pub const STUN_UP: u8 = 22;
    pub const DTLS_UP: u8 = 23;
    pub const BRANCH: u8 = 24;
    pub const UP_PER_S: u8 = 25;
    pub const SSRCS: u8 = 26;
    pub const ASSOCIATION: u8 = 27;
}

mod rewrite_tag {
    pub const SSRC: u8 = 1;
    pub const PAYLOAD_TYPE: u8 = 2;
    pub const SEQUENCE: u8 = 3;
    pub const TIMESTAMP: u8 = 4;
}

mod branch_tag {
    pub const TO: u8 = 1;
    pub const PAYLOAD_TYPES: u8 = 2;
    pub const REPORTS: u8 = 3;
}

mod keys_tag {
    pub const SUITE: u8 = 1;
    pub const KDR: u8 = 2;
    pub const CLEAR_RTP: u8 = 3;
    pub const CLEAR_RTCP: u8 = 4;
    pub const OPEN_RTP: u8 = 5;
    pub const ENTRY: u8 = 6;
}

mod entry_tag {
    pub const KEY: u8 = 1;
    pub const MKI: u8 = 2;
    pub const RTP_LEFT: u8 = 3;
    pub const RTCP_LEFT: u8 = 4;
}

const USES: [Use; 4] = [Use::Rtp, Use::Rtcp, Use::Muxed, Use::Datagrams];

impl FlowSaid {
    /// Appends all but its name.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        if let Some(to) = &self.to {
            put_place(out, tag::TO, to);
        }
        write_settings(&self.settings, out);
        put_socket(out, tag::EXPECTED, self.expected.address);
        if let Some(signaller) = self.expected.signaller {
            put_address(out, tag::SIGNALLER, signaller);
        }
        put(out, tag::ANYWHERE, self.expected.anywhere.into());
        match &self.guard {
            Guard::None => {}
            Guard::Keys { receive, send } => {
                field::nested(out, tag::RECEIVE, |out| write_keys(receive, out));
                field::nested(out, tag::SEND, |out| write_keys(send, out));
            }
            Guard::Dtls => put(out, tag::DTLS, 1),
        }
        if let Some(dscp) = self.dscp {
            put(out, tag::DSCP, dscp.into());
        }
        if let Some(timeout) = self.timeout {
            put(out, tag::TIMEOUT, machine::narrow::millis(timeout));
        }
        for (before, after) in &self.becomes {
            field::bytes(out, tag::BECOMES, &[*before, *after]);
        }
        for branch in &self.branches {
            field::nested(out, tag::BRANCH, |out| write_branch(branch, out));
        }
        put_types(out, tag::UP, self.up);
        put(out, tag::UP_PER_S, self.up_per_s.into());
        put_types(out, tag::DIGITS, self.digits);
        for (tag, _) in
            [(tag::STUN_UP, self.stun), (tag::DTLS_UP, self.dtls)].iter().filter(|it| it.1)
        {
            put(out, *tag, 1);
        }
        if let Some(association) = self.association {
            put(out, tag::ASSOCIATION, association);
        }
        if let Some(resume) = &self.resume {
            field::nested(out, tag::RESUME, |out| resume.write(out));
        }
    }

    /// Reads what was said of the flow at a place.
    ///
    /// # Errors
    /// A field that lacks, is cut off or has another length or number than it may.
    pub(super) fn read(at: Place, value: &[u8]) -> Result<Self, Malformed> {
        let mut draft = Draft::default();
        each(value, |tag, value| draft.take(tag, value))?;
        draft.finish(at)
    }
}

fn put_types(out: &mut Vec<u8>, tag: u8, types: PayloadTypes) {
    field::bytes(out, tag, &types.bits().to_be_bytes());
}

fn write_branch(branch: &Branch, out: &mut Vec<u8>) {
    put_place(out, branch_tag::TO, &branch.to);
    put_types(out, branch_tag::PAYLOAD_TYPES, branch.payload_types);
    put(out, branch_tag::REPORTS, branch.reports.into());
}

fn read_branch(octets: &[u8]) -> Result<Branch, Malformed> {
    let (mut to, mut payload_types, mut reports) = (None, PayloadTypes::default(), false);
    each(octets, |tag, value| {
        match tag {
            branch_tag::TO => to = Some(place(value)?),
            branch_tag::PAYLOAD_TYPES => payload_types = types(value)?,
            branch_tag::REPORTS => reports = flag(value)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(Branch { to: required(to)?, payload_types, reports })
}

fn write_settings(settings: &Settings, out: &mut Vec<u8>) {
    let of = USES.iter().position(|it| *it == settings.of).unwrap_or(0);
    put(out, tag::USE, of as u64);
    put(out, tag::ACTIVE, settings.is_active.into());
    put_types(out, tag::PAYLOAD_TYPES, settings.payload_types);
    put_types(out, tag::UNTIMED, settings.untimed);
    match settings.ssrcs.all() {
        [] => {}
        [only] => put(out, tag::SSRC, (*only).into()),
        several => {
            let octets: Vec<u8> = several.iter().flat_map(|it| it.to_be_bytes()).collect();
            field::bytes(out, tag::SSRCS, &octets);
        }
    }
    put(out, tag::CLOCK, settings.clock.hertz().into());
    put(out, tag::RATE, settings.rate.octet_ps());
    field::nested(out, tag::REWRITE, |out| {
        let Rewrite { ssrc, payload_type, sequence, timestamp } = settings.rewrite;
        if let Some(ssrc) = ssrc {
            put(out, rewrite_tag::SSRC, ssrc.into());
        }
        if let Some(payload_type) = payload_type {
            put(out, rewrite_tag::PAYLOAD_TYPE, payload_type.into());
        }
        put(out, rewrite_tag::SEQUENCE, sequence.into());
        put(out, rewrite_tag::TIMESTAMP, timestamp.into());
    });
}

fn write_keys(keys: &Keys, out: &mut Vec<u8>) {
    let Parameters { suite, kdr, encrypts_rtp, encrypts_rtcp, authenticates_rtp } = keys.parameters;
    field::bytes(out, keys_tag::SUITE, suite.name().as_bytes());
    if let Some(exponent) = kdr.exponent() {
        put(out, keys_tag::KDR, exponent.into());
    }
    put(out, keys_tag::CLEAR_RTP, (!encrypts_rtp).into());
    put(out, keys_tag::CLEAR_RTCP, (!encrypts_rtcp).into());
    put(out, keys_tag::OPEN_RTP, (!authenticates_rtp).into());
    for entry in &keys.entries {
        field::nested(out, keys_tag::ENTRY, |out| {
            field::bytes(out, entry_tag::KEY, entry.key.expose());
            if let Some(mki) = entry.mki {
                field::nested(out, entry_tag::MKI, |out| {
                    out.extend_from_slice(&mki.value().to_be_bytes());
                    out.push(machine::narrow::at_most(mki.octets() as u64, u8::MAX));
                });
            }
            put(out, entry_tag::RTP_LEFT, entry.allowance.rtp);
            put(out, entry_tag::RTCP_LEFT, entry.allowance.rtcp);
        });
    }
}

/// A flow as its fields come.
#[derive(Default)]
struct Draft {
    to: Option<Place>,
    of: Option<Use>,
    is_active: bool,
    payload_types: PayloadTypes,
    untimed: PayloadTypes,
    ssrcs: Sources,
    clock: Option<ClockRate>,
    rate: Option<Rate>,
    rewrite: Rewrite,
    expected: Option<SocketAddr>,
    signaller: Option<IpAddr>,
    anywhere: bool,
    receive: Option<Keys>,
    send: Option<Keys>,
    dtls: bool,
    dscp: Option<u8>,
    timeout: Option<Duration>,
    rest: Rest,
}

/// What concerns single payload types, and what another one knew.
#[derive(Default)]
struct Rest {
    becomes: Vec<(u8, u8)>,
    branches: Vec<Branch>,
    up: PayloadTypes,
    up_per_s: u16,
    digits: PayloadTypes,
    stun: bool,
    dtls: bool,
    association: Option<u64>,
    resume: Option<Snapshot>,
}

impl Draft {
    fn take(&mut self, tag: u8, value: &[u8]) -> Result<(), Malformed> {
        match tag {
            tag::TO => self.to = Some(place(value)?),
            tag::USE => {
                let of = USES.get(number::<usize>(value)?);
                self.of = Some(*of.ok_or(violation("the use of a port is not known"))?);
            }
            tag::ACTIVE => self.is_active = flag(value)?,
            tag::PAYLOAD_TYPES => self.payload_types = types(value)?,
            tag::UNTIMED => self.untimed = types(value)?,
            tag::SSRC => self.ssrcs = Sources::of([number(value)?]),
            tag::SSRCS => self.ssrcs = sources(value)?,
            tag::CLOCK => {
                let clock = ClockRate::new(number(value)?);
                self.clock = Some(clock.ok_or(violation("a clock stands still"))?);
            }
            tag::RATE => self.rate = Some(Rate::of_octet_ps(number(value)?)),
            tag::REWRITE => self.rewrite = read_rewrite(value)?,
            tag::EXPECTED => self.expected = Some(socket(value)?),
            tag::SIGNALLER => self.signaller = Some(address(value)?),
            tag::ANYWHERE => self.anywhere = flag(value)?,
            tag::RECEIVE => self.receive = Some(read_keys(value)?),
            tag::SEND => self.send = Some(read_keys(value)?),
            tag::DTLS => self.dtls = flag(value)?,
            _ => return self.take_rest(tag, value),
        }
        Ok(())
    }

    fn take_rest(&mut self, tag: u8, value: &[u8]) -> Result<(), Malformed> {
        let rest = &mut self.rest;
        match tag {
            tag::DSCP => {
                let dscp = number::<u8>(value)?;
                if dscp > 63 {
                    return Err(violation("a mark has more than 6 bits"));
                }
                self.dscp = Some(dscp);
            }
            tag::TIMEOUT => {
                let timeout = Duration::from_millis(number::<u32>(value)?.into());
                if timeout > TIMEOUT_MAX || timeout == Duration::from_millis(0) {
                    return Err(violation("a timeout is none, or longer than a day"));
                }
                self.timeout = Some(timeout);
            }
            tag::BECOMES => match *value {
                [before @ 0..=127, after @ 0..=127] if rest.becomes.len() < PAYLOADS_MAX => {
                    rest.becomes.push((before, after));
                }
                _ => return Err(violation("a payload type is none, or there are too many")),
            },
            tag::BRANCH if rest.branches.len() < BRANCHES_MAX => {
                rest.branches.push(read_branch(value)?);
            }
            tag::BRANCH => return Err(violation("there are too many branches")),
            tag::UP => rest.up = types(value)?,
            tag::UP_PER_S => rest.up_per_s = number(value)?,
            tag::DIGITS => rest.digits = types(value)?,
            tag::STUN_UP => rest.stun = flag(value)?,
            tag::DTLS_UP => rest.dtls = flag(value)?,
            tag::ASSOCIATION => rest.association = Some(number(value)?),
            tag::RESUME => rest.resume = Some(Snapshot::read(value)?),
            _ => {}
        }
        Ok(())
    }

    fn finish(self, at: Place) -> Result<FlowSaid, Malformed> {
        let guard = match (self.receive, self.send, self.dtls) {
            (None, None, false) => Guard::None,
            (Some(receive), Some(send), false) => Guard::Keys { receive, send },
            (None, None, true) => Guard::Dtls,
            _ => return Err(violation("keys are half, or of two kinds")),
        };
        let settings = Settings {
            of: required(self.of)?,
            is_active: self.is_active,
            payload_types: self.payload_types,
            untimed: self.untimed,
            ssrcs: self.ssrcs,
            clock: required(self.clock)?,
            rate: required(self.rate)?,
            rewrite: self.rewrite,
        };
        let expected = Expected {
            address: required(self.expected)?,
            signaller: self.signaller,
            anywhere: self.anywhere,
        };
        if expected.address.is_ipv4() != at.address.is_ipv4() {
            return Err(violation("a flow and its other side are of two families"));
        }
        Ok(FlowSaid {
            at,
            to: self.to,
            settings,
            expected,
            guard,
            dscp: self.dscp,
            timeout: self.timeout,
            becomes: self.rest.becomes,
            branches: self.rest.branches,
            up: self.rest.up,
            up_per_s: self.rest.up_per_s,
            digits: self.rest.digits,
            stun: self.rest.stun,
            dtls: self.rest.dtls,
            association: self.rest.association,
            resume: self.rest.resume,
        })
    }
}

fn sources(value: &[u8]) -> Result<Sources, Malformed> {
    let (all, rest) = value.as_chunks::<4>();
    if !rest.is_empty() || !(2..=SOURCES_MAX).contains(&all.len()) {
        return Err(violation("sources are not four octets each, or there are too many"));
    }
    Ok(Sources::of(all.iter().map(|it| u32::from_be_bytes(*it))))
}

fn types(value: &[u8]) -> Result<PayloadTypes, Malformed> {
    let bits =
        <[u8; 16]>::try_from(value).map_err(|_| violation("payload types are not 16 octets"));
    Ok(PayloadTypes::of_bits(u128::from_be_bytes(bits?)))
}

fn read_rewrite(octets: &[u8]) -> Result<Rewrite, Malformed> {
    let mut rewrite = Rewrite::default();
    each(octets, |tag, value| {
        match tag {
            rewrite_tag::SSRC => rewrite.ssrc = Some(number(value)?),
            rewrite_tag::PAYLOAD_TYPE => {
                let payload_type = number::<u8>(value)?;
                if payload_type > 127 {
                    return Err(violation("a payload type is none"));
                }
                rewrite.payload_type = Some(payload_type);
            }
            rewrite_tag::SEQUENCE => rewrite.sequence = number(value)?,
            rewrite_tag::TIMESTAMP => rewrite.timestamp = number(value)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(rewrite)
}

fn read_keys(octets: &[u8]) -> Result<Keys, Malformed> {
    let mut suite = None;
    let mut entries: Vec<&[u8]> = Vec::new();
    let (mut kdr, mut clear) = (KeyDerivationRate::ONCE, [false; 3]);
    each(octets, |tag, value| {
        match tag {
            keys_tag::SUITE => {
                suite = Some(Suite::named(value).ok_or(violation("a suite is not known"))?);
            }
            keys_tag::KDR => {
                let rate = KeyDerivationRate::every_power(number(value)?);
                kdr = rate.ok_or(violation("a key derivation rate is past its limit"))?;
            }
            keys_tag::CLEAR_RTP..=keys_tag::OPEN_RTP => {
                clear[usize::from(tag - keys_tag::CLEAR_RTP)] = flag(value)?;
            }
            keys_tag::ENTRY if entries.len() < MASTER_KEYS_MAX => entries.push(value),
            keys_tag::ENTRY => return Err(violation("a direction has four master keys at most")),
            _ => {}
        }
        Ok(())
    })?;
    let suite = required(suite)?;
    let [clear_rtp, clear_rtcp, open_rtp] = clear;
    let parameters = Parameters {
        suite,
        kdr,
        encrypts_rtp: !clear_rtp,
        encrypts_rtcp: !clear_rtcp,
        authenticates_rtp: !open_rtp,
    };
    let entries: Result<Vec<_>, _> = entries.iter().map(|it| read_entry(suite, it)).collect();
    let entries = entries?;
    if entries.is_empty() || !parameters.are_sound() {
        return Err(violation("a direction has no key, or its parameters contradict the suite"));
    }
    Ok(Keys { parameters, entries })
}

fn read_entry(suite: Suite, octets: &[u8]) -> Result<KeyEntry, Malformed> {
    let (mut key, mut mki, mut allowance) = (None, None, Allowance::FULL);
    each(octets, |tag, value| {
        match tag {
            entry_tag::KEY => {
                let of = MasterKey::of(suite, value);
                key = Some(of.ok_or(violation("a key has another length than its suite"))?);
            }
            entry_tag::MKI => {
                let what = "an identifier is not 9 octets";
                let mut cursor = Cursor::new(value, 0, SPEC);
                let (number, octets) = (cursor.be64(what)?, cursor.octet(what)?);
                end(&cursor)?;
                let of = Mki::new(number, octets);
                mki = Some(of.ok_or(violation("an identifier does not fit its octets"))?);
            }
            entry_tag::RTP_LEFT => allowance.rtp = number(value)?,
            entry_tag::RTCP_LEFT => allowance.rtcp = number(value)?,
            _ => {}
        }
        Ok(())
    })?;
    // More than RFC 3711 §9.2 allows is nobody's to give.
    let allowance = Allowance {
        rtp: allowance.rtp.min(srtp::RTP_PACKETS_MAX),
        rtcp: allowance.rtcp.min(srtp::RTCP_PACKETS_MAX),
    };
    Ok(KeyEntry { key: required(key)?, mki, allowance })
}
