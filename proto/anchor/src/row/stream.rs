//! A stream as fields.

use crate::codec::Codec;
use crate::policy::Dtmf;
use crate::port::Local;
use crate::row::fields::{SPEC, violation};
use crate::side::Side;
use crate::stream::{
    Action, Bundle, Checks, Coding, End, Event, Flow, Guard, Kind, PARAMETERS_MAX, Payload, Rtcp,
    SSRC_MAX, Stream, Trace,
};
use core::net::IpAddr;
use sdp::Direction;
use srtp::dtls::{Description, Fingerprint, Role, Setup};
use srtp::sdes::{self, Crypto};
use wire::field;
use wire::field::value::{
    address, each, end, flag, number, put, put_address, put_socket, required, socket,
};
use wire::{Cursor, Malformed};

/// Payload types of both directions.
const PAYLOADS_MAX: usize = 256;

mod tag {
    pub const KIND: u8 = 1;
    pub const FLOW: u8 = 2;
    pub const TIMEOUT: u8 = 3;
    pub const END_A: u8 = 4;
    pub const END_B: u8 = 5;
    pub const PAYLOAD: u8 = 6;
    pub const TRAIL: u8 = 7;
    pub const CALL_ID: u8 = 8;
}

mod end_tag {
    pub const LOCAL: u8 = 1;
    pub const REMOTE: u8 = 2;
    pub const MUX: u8 = 3;
    pub const RTCP: u8 = 4;
    pub const DIRECTION: u8 = 5;
    pub const LATCHING: u8 = 6;
    pub const RECEIVE: u8 = 7;
    pub const SEND: u8 = 8;
    pub const FINGERPRINT: u8 = 9;
    pub const ROLE: u8 = 10;
    pub const SETUP: u8 = 11;
    pub const TLS_ID: u8 = 12;
    /// Four of them: names and passwords, ours first.
    pub const CHECKS: u8 = 13;
    pub const SSRC: u8 = 17;
    pub const POLICE: u8 = 18;
    pub const DSCP: u8 = 19;
    pub const PACKET_MS: u8 = 20;
    pub const DTMF: u8 = 21;
    pub const EVENT: u8 = 22;
    pub const LEAD: u8 = 23;
    pub const MID: u8 = 24;
    pub const LATCHING_ANYWHERE: u8 = 25;
    pub const SIGNALLER: u8 = 26;
    pub const PARAMETERS: u8 = 27;
}

const DIRECTIONS: [Direction; 4] =
    [Direction::SendRecv, Direction::SendOnly, Direction::RecvOnly, Direction::Inactive];
const SETUPS: [Setup; 4] = [Setup::Active, Setup::Passive, Setup::ActPass, Setup::HoldConn];
const RTCP_NONE: u64 = 0;
const RTCP_MUX: u64 = 1;
const RTCP_APART: u64 = 2;

/// Appends a stream.
pub fn write_stream(stream: &Stream, out: &mut Vec<u8>) {
    put(out, tag::KIND, stream.kind.number().into());
    put(out, tag::FLOW, stream.flow.number().into());
    put(out, tag::TIMEOUT, stream.timeout_s.into());
    field::nested(out, tag::END_A, |out| write_end(&stream.ends[0], out));
    field::nested(out, tag::END_B, |out| write_end(&stream.ends[1], out));
    for payload in &stream.payloads {
        field::nested(out, tag::PAYLOAD, |out| write_payload(payload, out));
    }
    let Trace { trail, call_id } = &stream.trace;
    if let Some(trail) = trail {
        put(out, tag::TRAIL, *trail);
    }
    if !call_id.is_empty() {
        field::bytes(out, tag::CALL_ID, call_id);
    }
}

/// Reads a stream.
///
/// # Errors
/// A field that lacks, is cut off or has another length or number than it may.
pub fn read_stream(octets: &[u8]) -> Result<Stream, Malformed> {
    let (mut kind, mut flow, mut timeout_s) = (None, None, 0);
    let (mut a, mut b, mut payloads) = (None, None, Vec::new());
    let mut trace = Trace::default();
    each(octets, |tag, value| {
        match tag {
            tag::KIND => kind = Some(row(value, Kind::of)?),
            tag::FLOW => flow = Some(row(value, Flow::of)?),
            tag::TIMEOUT => timeout_s = number(value)?,
            tag::END_A => a = Some(read_end(value)?),
            tag::END_B => b = Some(read_end(value)?),
            tag::PAYLOAD if payloads.len() < PAYLOADS_MAX => payloads.push(read_payload(value)?),
            tag::PAYLOAD => return Err(violation("there are too many payload types")),
            tag::TRAIL => trace.trail = Some(number(value)?),
            tag::CALL_ID if value.len() <= Trace::CALL_ID_MAX => trace.call_id = value.into(),
            tag::CALL_ID => return Err(violation("a Call-ID is too long")),
            _ => {}
        }
        Ok(())
    })?;
    Ok(Stream {
        kind: required(kind)?,
        flow: required(flow)?,
        ends: [required(a)?, required(b)?],
        payloads,
        timeout_s,
        trace,
    })
}

/// Reads of a stream what its call is known by, and nothing else.
#[must_use]
pub fn read_trace(octets: &[u8]) -> Trace {
    let mut trace = Trace::default();
    for (tag, value) in field::Fields::new(octets) {
        match tag {
            tag::TRAIL => trace.trail = number(value).ok(),
            tag::CALL_ID if value.len() <= Trace::CALL_ID_MAX => trace.call_id = value.into(),
            _ => {}
        }
    }
    trace
}

fn row<T>(value: &[u8], of: impl Fn(u8) -> Option<T>) -> Result<T, Malformed> {
    of(number(value)?).ok_or(violation("a row is not known"))
}

/// Appends an end.
pub fn write_end(end: &End, out: &mut Vec<u8>) {
    field::nested(out, end_tag::LOCAL, |out| {
        out.extend_from_slice(&end.local.address.to_be_bytes());
        out.extend_from_slice(&end.local.port.to_be_bytes());
    });
    if let Some(remote) = end.remote {
        put_socket(out, end_tag::REMOTE, remote);
    }
    let (kind, apart) = match end.rtcp {
        Rtcp::None => (RTCP_NONE, None),
        Rtcp::Mux => (RTCP_MUX, None),
        Rtcp::Apart(place) => (RTCP_APART, place),
    };
    put(out, end_tag::MUX, kind);
    if let Some(apart) = apart {
        put_socket(out, end_tag::RTCP, apart);
    }
    let direction = DIRECTIONS.iter().position(|it| *it == end.direction).unwrap_or(0);
    put(out, end_tag::DIRECTION, direction as u64);
    put(out, end_tag::LATCHING, end.latching.into());
    if end.latching_anywhere {
        put(out, end_tag::LATCHING_ANYWHERE, 1);
    }
    if let Some(signaller) = end.signaller {
        put_address(out, end_tag::SIGNALLER, signaller);
    }
    write_guard(&end.guard, out);
    if let Some(checks) = &end.checks {
        let Checks { name, password, remote_name, remote_password } = &**checks;
        for (tag, text) in (end_tag::CHECKS..).zip([name, password, remote_name, remote_password]) {
            field::bytes(out, tag, text);
        }
    }
    for ssrc in &end.ssrcs {
        put(out, end_tag::SSRC, u64::from(*ssrc));
    }
    put(out, end_tag::POLICE, end.police_bps);
    if let Some(dscp) = end.dscp {
        put(out, end_tag::DSCP, dscp.into());
    }
    put(out, end_tag::PACKET_MS, end.packet_ms.into());
    put(out, end_tag::DTMF, end.dtmf.number().into());
    if let Some(event) = end.event {
        field::nested(out, end_tag::EVENT, |out| {
            out.extend_from_slice(&[event.receive, event.send]);
            out.extend_from_slice(&event.clock.to_be_bytes());
        });
    }
    if let Some(bundle) = &end.bundle {
        put(out, end_tag::LEAD, bundle.lead.into());
        field::bytes(out, end_tag::MID, &bundle.mid);
    }
    if !end.parameters.is_empty() {
        field::bytes(out, end_tag::PARAMETERS, &end.parameters);
    }
}

fn write_guard(guard: &Guard, out: &mut Vec<u8>) {
    match guard {
        Guard::None => {}
        Guard::Keys { receive, send } => {
            field::nested(out, end_tag::RECEIVE, |out| receive.write(out));
            field::nested(out, end_tag::SEND, |out| send.write(out));
        }
        Guard::Dtls { peer, role } => {
            for fingerprint in &peer.fingerprints {
                field::bytes(out, end_tag::FINGERPRINT, fingerprint.to_string().as_bytes());
            }
            put(out, end_tag::ROLE, u64::from(*role == Role::Server));
            let setup = SETUPS.iter().position(|it| *it == peer.setup).unwrap_or(0);
            put(out, end_tag::SETUP, setup as u64);
            if let Some(id) = &peer.tls_id {
                field::bytes(out, end_tag::TLS_ID, id);
            }
        }
    }
}

/// An end as its fields come.
#[derive(Default)]
struct Draft {
    local: Option<Local>,
    remote: Option<core::net::SocketAddr>,
    rtcp: u64,
    rtcp_place: Option<core::net::SocketAddr>,
    direction: Direction,
    latching: bool,
    latching_anywhere: bool,
    signaller: Option<IpAddr>,
    guard: GuardDraft,
    checks: [Option<Box<[u8]>>; 4],
    ssrcs: Vec<u32>,
    police_bps: u64,
    dscp: Option<u8>,
    packet_ms: u16,
    dtmf: Dtmf,
    event: Option<Event>,
    lead: Option<u8>,
    mid: Option<Box<[u8]>>,
    parameters: Box<[u8]>,
}

/// What guards an end, as its fields come.
#[derive(Default)]
struct GuardDraft {
    receive: Option<Crypto>,
    send: Option<Crypto>,
    peer: Option<Description>,
    role: Option<Role>,
}

/// Reads an end.
///
/// # Errors
/// As [`read_stream`].
pub fn read_end(octets: &[u8]) -> Result<End, Malformed> {
    let mut draft = Draft::default();
    each(octets, |tag, value| draft.take(tag, value))?;
    draft.finish()
}

impl GuardDraft {
    fn peer(&mut self) -> &mut Description {
        self.peer.get_or_insert_with(|| Description {
            fingerprints: Vec::new(),
            setup: Setup::Active,
            tls_id: None,
        })
    }

    fn finish(self) -> Result<Guard, Malformed> {
        match (self.receive, self.send, self.peer) {
            (None, None, None) => Ok(Guard::None),
            (Some(receive), Some(send), None) => {
                Ok(Guard::Keys { receive: Box::new(receive), send: Box::new(send) })
            }
            (None, None, Some(peer)) => {
                Ok(Guard::Dtls { peer: Box::new(peer), role: required(self.role)? })
            }
            _ => Err(violation("keys are half, or of two kinds")),
        }
    }
}

impl Draft {
    fn take(&mut self, tag: u8, value: &[u8]) -> Result<(), Malformed> {
        match tag {
            end_tag::LOCAL => self.local = Some(local(value)?),
            end_tag::REMOTE => self.remote = Some(socket(value)?),
            end_tag::MUX => self.rtcp = number(value)?,
            end_tag::RTCP => self.rtcp_place = Some(socket(value)?),
            end_tag::DIRECTION => self.direction = one_of(value, &DIRECTIONS)?,
            end_tag::LATCHING => self.latching = flag(value)?,
            end_tag::RECEIVE => self.guard.receive = Some(crypto(value)?),
            end_tag::SEND => self.guard.send = Some(crypto(value)?),
            end_tag::FINGERPRINT => {
                let fingerprint = Fingerprint::parse(value)?;
                let fingerprint = fingerprint.ok_or(violation("a hash is not known"))?;
                let peer = self.guard.peer();
                if peer.fingerprints.len() == srtp::dtls::FINGERPRINTS_MAX {
                    return Err(violation("there are too many fingerprints"));
                }
                peer.fingerprints.push(fingerprint);
            }
            end_tag::ROLE => {
                self.guard.role = Some(if flag(value)? { Role::Server } else { Role::Client });
            }
            end_tag::SETUP => self.guard.peer().setup = one_of(value, &SETUPS)?,
            end_tag::TLS_ID => self.guard.peer().tls_id = Some(value.into()),
            _ => return self.take_rest(tag, value),
        }
        Ok(())
    }

    fn take_rest(&mut self, tag: u8, value: &[u8]) -> Result<(), Malformed> {
        match tag {
            end_tag::CHECKS..end_tag::SSRC => {
                self.checks[usize::from(tag - end_tag::CHECKS)] = Some(value.into());
            }
            end_tag::SSRC if self.ssrcs.len() < SSRC_MAX => self.ssrcs.push(number(value)?),
            end_tag::SSRC => return Err(violation("there are too many sources")),
            end_tag::POLICE => self.police_bps = number(value)?,
            end_tag::DSCP => self.dscp = Some(number(value)?),
            end_tag::PACKET_MS => self.packet_ms = number(value)?,
            end_tag::DTMF => self.dtmf = row(value, Dtmf::of)?,
            end_tag::EVENT => self.event = Some(event(value)?),
            end_tag::LEAD => self.lead = Some(number(value)?),
            end_tag::MID => self.mid = Some(value.into()),
            end_tag::LATCHING_ANYWHERE => self.latching_anywhere = flag(value)?,
            end_tag::PARAMETERS if value.len() <= PARAMETERS_MAX => {
                self.parameters = value.into();
            }
            end_tag::PARAMETERS => return Err(violation("parameters are too long")),
            end_tag::SIGNALLER => self.signaller = Some(address(value)?),
            _ => {}
        }
        Ok(())
    }

    fn finish(self) -> Result<End, Malformed> {
        let guard = self.guard.finish()?;
        let rtcp = match (self.rtcp, self.rtcp_place) {
            (RTCP_NONE, None) => Rtcp::None,
            (RTCP_MUX, None) => Rtcp::Mux,
            (RTCP_APART, place) => Rtcp::Apart(place),
            _ => return Err(violation("RTCP is neither apart nor with RTP")),
        };
        let checks = match self.checks {
            [None, None, None, None] => None,
            [Some(name), Some(password), Some(remote_name), Some(remote_password)] => {
                Some(Box::new(Checks { name, password, remote_name, remote_password }))
            }
            _ => return Err(violation("connectivity checks are half")),
        };
        let bundle = match (self.lead, self.mid) {
            (None, None) => None,
            (Some(lead), Some(mid)) => Some(Box::new(Bundle { lead, mid })),
            _ => return Err(violation("a group is half")),
        };
        Ok(End {
            local: required(self.local)?,
            remote: self.remote,
            rtcp,
            direction: self.direction,
            latching: self.latching,
            latching_anywhere: self.latching_anywhere,
            signaller: self.signaller,
            guard,
            checks,
            ssrcs: self.ssrcs,
            police_bps: self.police_bps,
            dscp: self.dscp,
            packet_ms: self.packet_ms,
            dtmf: self.dtmf,
            event: self.event,
            bundle,
            parameters: self.parameters,
        })
    }
}

fn one_of<T: Copy>(value: &[u8], list: &[T]) -> Result<T, Malformed> {
    let at: usize = number(value)?;
    list.get(at).copied().ok_or(violation("a number names nothing"))
}

fn local(value: &[u8]) -> Result<Local, Malformed> {
    let mut cursor = Cursor::new(value, 0, SPEC);
    let address = cursor.be16("a port is not 4 octets")?;
    let port = cursor.be16("a port is not 4 octets")?;
    end(&cursor)?;
    if port < 2 || !port.is_multiple_of(2) {
        return Err(violation("a port is not even"));
    }
    Ok(Local { address, port })
}

fn event(value: &[u8]) -> Result<Event, Malformed> {
    let what = "events are not 6 octets";
    let mut cursor = Cursor::new(value, 0, SPEC);
    let (receive, send) = (cursor.octet(what)?, cursor.octet(what)?);
    let clock = cursor.be32(what)?;
    end(&cursor)?;
    Ok(Event { receive, send, clock })
}

/// A key, as `a=crypto` writes it.
fn crypto(value: &[u8]) -> Result<Crypto, Malformed> {
    let offer = sdes::read_all(core::iter::once(value))?;
    offer.lines().first().cloned().ok_or(violation("a key is not known"))
}

const PASS: u8 = 0;
const DIGIT: u8 = 1;
const TRANSCODE: u8 = 2;

fn write_payload(payload: &Payload, out: &mut Vec<u8>) {
    let codec = |codec: Option<Codec>| codec.map_or(0, Codec::number);
    let from = u8::from(payload.from == Side::B);
    out.extend_from_slice(&[from, payload.number, payload.becomes, codec(payload.codec)]);
    out.extend_from_slice(&payload.clock.to_be_bytes());
    out.push(payload.channels);
    match payload.action {
        Action::Pass => out.push(PASS),
        Action::Digit => out.push(DIGIT),
        Action::Transcode(coding) => {
            out.extend_from_slice(&[TRANSCODE, coding.codec.number()]);
            out.extend_from_slice(&coding.clock.to_be_bytes());
            out.push(coding.channels);
        }
    }
}

fn read_payload(value: &[u8]) -> Result<Payload, Malformed> {
    let what = "a payload type is cut off";
    let known = |number: u8| Codec::of(number).ok_or(violation("a codec is not known"));
    let mut cursor = Cursor::new(value, 0, SPEC);
    let [from, number, becomes, codec] = cursor.array(what)?;
    let clock = cursor.be32(what)?;
    let channels = cursor.octet(what)?;
    let action = match cursor.octet(what)? {
        PASS => Action::Pass,
        DIGIT => Action::Digit,
        TRANSCODE => Action::Transcode(Coding {
            codec: known(cursor.octet(what)?)?,
            clock: cursor.be32(what)?,
            channels: cursor.octet(what)?,
        }),
        _ => return Err(violation("an action is not known")),
    };
    end(&cursor)?;
    if from > 1 || number > 127 || becomes > 127 {
        return Err(violation("a payload type is none"));
    }
    Ok(Payload {
        from: if from == 0 { Side::A } else { Side::B },
        number,
        becomes,
        codec: if codec == 0 { None } else { Some(known(codec)?) },
        clock,
        channels,
        action,
    })
}
