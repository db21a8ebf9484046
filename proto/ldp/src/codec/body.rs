//! What messages say.

use super::fec::{Fec, mtu_octets, read_mtu};
use super::tlv::{FaultTolerance, TlvKind, Tlvs, write_optional, write_tlv};
use super::{LdpId, Message, MessageType, StatusCode};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{Cursor, Malformed};

/// What every hello says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CommonHello {
    /// Seconds of silence after which the sender is gone; 0: 15, targeted 45; 65,535: never.
    pub hold_s: u16,
    /// T: it is meant for one.
    pub is_targeted: bool,
    /// R: hellos are asked for.
    pub wants_targeted: bool,
    /// G: packets come with a hop limit of 255 (RFC 6720 §2.1).
    pub has_gtsm: bool,
}

/// A hello.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HelloBody {
    /// What every hello says.
    pub common: CommonHello,
    /// Where the session of IPv4 ends.
    pub ipv4: Option<Ipv4Addr>,
    /// Where the session of IPv6 ends.
    pub ipv6: Option<Ipv6Addr>,
    /// Both families are spoken; which one the session prefers: 4 or 6 (RFC 7552 §6.1.1).
    pub dual_stack: Option<u8>,
    /// The number of the sender's configuration.
    pub configuration: Option<u32>,
}

/// What a session shall be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Initialization {
    /// Seconds of silence after which the session is over.
    pub keepalive_s: u16,
    /// A: labels on demand.
    pub is_on_demand: bool,
    /// D: loops are detected.
    pub detects_loops: bool,
    /// Octets of the longest PDU; up to 255: 4,096.
    pub pdu_octets: u16,
    /// For whom it is.
    pub receiver: LdpId,
    /// What is kept when it ends.
    pub fault_tolerance: Option<FaultTolerance>,
    /// Capabilities may change.
    pub is_dynamic: bool,
}

/// A label for what.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabelBody {
    /// For what.
    pub fecs: Vec<Fec>,
    /// The label.
    pub label: Option<u32>,
    /// The number of the request.
    pub request: Option<u32>,
    /// The state of a pseudowire.
    pub pw_status: Option<u32>,
    /// The MTU of a pseudowire that has names.
    pub mtu: Option<u16>,
}

/// Something happened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notification {
    /// What, without the E and F bits.
    pub code: u32,
    /// E: the session ends.
    pub is_fatal: bool,
    /// The message that is meant, and its type.
    pub message: (u32, u16),
    /// What it is about.
    pub fecs: Vec<Fec>,
    /// The state of a pseudowire.
    pub pw_status: Option<u32>,
}

/// What a message says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Something happened.
    Notification(Notification),
    /// A neighbour is there.
    Hello(HelloBody),
    /// What a session shall be.
    Initialization(Initialization),
    /// The session lives.
    KeepAlive,
    /// What can be done has changed; nothing of it is used here.
    Capability,
    /// Addresses that are there.
    Address(Vec<IpAddr>),
    /// Addresses that are gone.
    AddressWithdraw(Vec<IpAddr>),
    /// MAC addresses to forget in a pseudowire's service; none: all but those behind it.
    MacWithdraw(Vec<Fec>, Vec<[u8; 6]>),
    /// A label message: mapping, request, withdrawal, release or abort.
    Label(MessageType, LabelBody),
}

impl Body {
    /// Reads what a message says; `None` where its type is unknown.
    ///
    /// # Errors
    /// What is wrong.
    pub fn read(message: &Message<'_>) -> Result<Option<Self>, Malformed> {
        let Some(kind) = message.kind() else { return Ok(None) };
        Ok(Some(match kind {
            MessageType::Notification => Self::Notification(read_notification(message)?),
            MessageType::Hello => Self::Hello(read_hello(message)?),
            MessageType::Initialization => Self::Initialization(read_initialization(message)?),
            MessageType::KeepAlive => Self::KeepAlive,
            MessageType::Capability => Self::Capability,
            MessageType::Address => Self::Address(read_addresses(message)?.0),
            MessageType::AddressWithdraw => match read_addresses(message)? {
                (_, fecs, Some(macs)) => Self::MacWithdraw(fecs, macs),
                (addresses, ..) => Self::AddressWithdraw(addresses),
            },
            MessageType::LabelMapping
            | MessageType::LabelRequest
            | MessageType::LabelWithdraw
            | MessageType::LabelRelease
            | MessageType::LabelAbort => Self::Label(kind, read_label(message)?),
        }))
    }

    /// Its type.
    #[must_use]
    pub const fn kind(&self) -> MessageType {
        match self {
            Self::Notification(_) => MessageType::Notification,
            Self::Hello(_) => MessageType::Hello,
            Self::Initialization(_) => MessageType::Initialization,
            Self::KeepAlive => MessageType::KeepAlive,
            Self::Capability => MessageType::Capability,
            Self::Address(_) => MessageType::Address,
            Self::AddressWithdraw(_) | Self::MacWithdraw(..) => MessageType::AddressWithdraw,
            Self::Label(kind, _) => *kind,
        }
    }

    /// The message's octets.
    #[must_use]
    pub fn write(&self, id: u32) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::KeepAlive | Self::Capability => {}
            Self::Notification(it) => write_notification(it, &mut out),
            Self::Hello(it) => write_hello(it, &mut out),
            Self::Initialization(it) => write_initialization(it, &mut out),
            Self::Address(all) | Self::AddressWithdraw(all) => write_addresses(all, &mut out),
            Self::MacWithdraw(fecs, macs) => {
                // An empty list of addresses is part of the message (RFC 5036 §3.5.6).
                write_fecs(fecs, &mut out);
                write_optional(&mut out, TlvKind::MacList, &macs.concat());
            }
            Self::Label(_, it) => write_label(it, &mut out),
        }
        super::write_message(self.kind(), id, &out)
    }
}

fn lacks(message: &Message<'_>, what: &'static str) -> Malformed {
    Malformed::new(message.at, what, "RFC 5036 §3.5")
}

fn read_hello(message: &Message<'_>) -> Result<HelloBody, Malformed> {
    let mut found = HelloBody::default();
    let mut has_common = false;
    for tlv in Tlvs::new(message.tlvs, message.at) {
        let tlv = tlv?;
        let mut cursor = tlv.cursor("RFC 5036 §3.5.2");
        let what = "a hello is cut off";
        match tlv.kind() {
            Some(TlvKind::CommonHello) => {
                let (hold_s, flags) = (cursor.be16(what)?, cursor.be16(what)?);
                found.common = CommonHello {
                    hold_s,
                    is_targeted: flags & 0x8000 != 0,
                    wants_targeted: flags & 0x4000 != 0,
                    has_gtsm: flags & 0x2000 != 0,
                };
                has_common = true;
            }
            Some(TlvKind::Ipv4Transport) => {
                found.ipv4.get_or_insert(cursor.be32(what)?.into());
            }
            Some(TlvKind::Ipv6Transport) => {
                let octets: [u8; 16] = cursor.array(what)?;
                found.ipv6.get_or_insert(octets.into());
            }
            Some(TlvKind::Configuration) => found.configuration = Some(cursor.be32(what)?),
            Some(TlvKind::DualStack) => found.dual_stack = Some(cursor.octet(what)? >> 4),
            _ => {}
        }
    }
    has_common.then_some(found).ok_or(lacks(message, "a hello without its parameters"))
}

fn write_hello(it: &HelloBody, out: &mut Vec<u8>) {
    let common = &it.common;
    let flags = u16::from(common.is_targeted) << 15
        | u16::from(common.wants_targeted) << 14
        | u16::from(common.has_gtsm) << 13;
    let value = [common.hold_s.to_be_bytes(), flags.to_be_bytes()].concat();
    write_tlv(out, TlvKind::CommonHello, &value);
    it.ipv4.iter().for_each(|it| write_tlv(out, TlvKind::Ipv4Transport, &it.octets()));
    it.ipv6.iter().for_each(|it| write_tlv(out, TlvKind::Ipv6Transport, &it.octets()));
    if let Some(number) = it.configuration {
        write_tlv(out, TlvKind::Configuration, &number.to_be_bytes());
    }
    if let Some(prefers) = it.dual_stack {
        write_optional(out, TlvKind::DualStack, &[prefers << 4, 0, 0, 0]);
    }
}

fn read_initialization(message: &Message<'_>) -> Result<Initialization, Malformed> {
    let mut common = None;
    let (mut fault_tolerance, mut is_dynamic) = (None, false);
    for tlv in Tlvs::new(message.tlvs, message.at) {
        let tlv = tlv?;
        let mut cursor = tlv.cursor("RFC 5036 §3.5.3");
        let what = "parameters of a session are cut off";
        match tlv.kind() {
            Some(TlvKind::CommonSession) => {
                cursor.be16(what)?;
                let keepalive_s = cursor.be16(what)?;
                let [flags, _] = cursor.array(what)?;
                let pdu_octets = cursor.be16(what)?;
                let receiver = LdpId::read(&mut cursor)?;
                common = Some((keepalive_s, flags, pdu_octets, receiver));
            }
            Some(TlvKind::FaultTolerance) => fault_tolerance = FaultTolerance::read(&tlv)?,
            Some(TlvKind::DynamicCapability) => is_dynamic = true,
            _ => {}
        }
    }
    let lacks = lacks(message, "a session without its parameters");
    let (keepalive_s, flags, pdu_octets, receiver) = common.ok_or(lacks)?;
    let (is_on_demand, detects_loops) = (flags & 0x80 != 0, flags & 0x40 != 0);
    Ok(Initialization {
        keepalive_s,
        is_on_demand,
        detects_loops,
        pdu_octets,
        receiver,
        fault_tolerance,
        is_dynamic,
    })
}

fn write_initialization(it: &Initialization, out: &mut Vec<u8>) {
    let flags = u8::from(it.is_on_demand) << 7 | u8::from(it.detects_loops) << 6;
    let mut value = 1u16.to_be_bytes().to_vec();
    value.extend_from_slice(&it.keepalive_s.to_be_bytes());
    value.extend_from_slice(&[flags, 0]);
    value.extend_from_slice(&it.pdu_octets.to_be_bytes());
    value.extend_from_slice(&it.receiver.octets());
    write_tlv(out, TlvKind::CommonSession, &value);
    it.fault_tolerance.iter().for_each(|it| it.write(out));
    if it.is_dynamic {
        write_optional(out, TlvKind::DynamicCapability, &[0x80]);
    }
}

/// Addresses, FECs and MAC addresses, where there is a list.
type Addresses = (Vec<IpAddr>, Vec<Fec>, Option<Vec<[u8; 6]>>);

fn read_addresses(message: &Message<'_>) -> Result<Addresses, Malformed> {
    let (mut addresses, mut fecs, mut macs) = (Vec::new(), Vec::new(), None);
    for tlv in Tlvs::new(message.tlvs, message.at) {
        let tlv = tlv?;
        let mut cursor = tlv.cursor("RFC 5036 §3.4.3");
        let what = "a list of addresses is cut off";
        match tlv.kind() {
            Some(TlvKind::AddressList) => {
                let unknown = cursor.violation("addresses of another family");
                let family = cursor.be16(what)?;
                while !cursor.is_empty() {
                    addresses.push(match family {
                        1 => IpAddr::V4(cursor.be32(what)?.into()),
                        2 => IpAddr::V6(cursor.array::<16>(what)?.into()),
                        _ => return Err(unknown),
                    });
                }
            }
            Some(TlvKind::Fec) => fecs.extend(Fec::read_all(&mut cursor)?),
            Some(TlvKind::MacList) => {
                let list: &mut Vec<[u8; 6]> = macs.get_or_insert_default();
                while !cursor.is_empty() {
                    list.push(cursor.array(what)?);
                }
            }
            _ => {}
        }
    }
    Ok((addresses, fecs, macs))
}

fn write_addresses(all: &[IpAddr], out: &mut Vec<u8>) {
    let mut families: [Vec<u8>; 2] = [vec![0, 1], vec![0, 2]];
    for address in all {
        match address {
            IpAddr::V4(it) => families[0].extend_from_slice(&it.octets()),
            IpAddr::V6(it) => families[1].extend_from_slice(&it.octets()),
        }
    }
    for value in families.iter().filter(|it| it.len() > 2) {
        write_tlv(out, TlvKind::AddressList, value);
    }
}

fn read_label(message: &Message<'_>) -> Result<LabelBody, Malformed> {
    let mut found = LabelBody::default();
    for tlv in Tlvs::new(message.tlvs, message.at) {
        let tlv = tlv?;
        let mut cursor = tlv.cursor("RFC 5036 §3.4");
        let what = "what a label message says is cut off";
        match tlv.kind() {
            Some(TlvKind::Fec) => found.fecs.extend(Fec::read_all(&mut cursor)?),
            Some(TlvKind::GenericLabel) => {
                let violation = cursor.violation("a label of more than 20 bits");
                let label = cursor.be32(what)?;
                found.label = Some(label);
                if label > 0x000F_FFFF {
                    return Err(violation);
                }
            }
            Some(TlvKind::RequestId) => found.request = Some(cursor.be32(what)?),
            Some(TlvKind::PwStatus) => found.pw_status = Some(cursor.be32(what)?),
            Some(TlvKind::PwInterface) => found.mtu = read_mtu(&mut cursor)?,
            _ => {}
        }
    }
    if found.fecs.is_empty() {
        return Err(lacks(message, "a label for nothing"));
    }
    Ok(found)
}

fn write_fecs(fecs: &[Fec], out: &mut Vec<u8>) {
    let mut value = Vec::new();
    fecs.iter().for_each(|fec| fec.write(&mut value));
    write_tlv(out, TlvKind::Fec, &value);
}

fn write_label(it: &LabelBody, out: &mut Vec<u8>) {
    write_fecs(&it.fecs, out);
    if let Some(label) = it.label {
        write_tlv(out, TlvKind::GenericLabel, &label.to_be_bytes());
    }
    if let Some(request) = it.request {
        write_tlv(out, TlvKind::RequestId, &request.to_be_bytes());
    }
    if let Some(status) = it.pw_status {
        write_optional(out, TlvKind::PwStatus, &status.to_be_bytes());
    }
    if let Some(mtu) = it.mtu {
        write_optional(out, TlvKind::PwInterface, &mtu_octets(mtu));
    }
}

fn read_notification(message: &Message<'_>) -> Result<Notification, Malformed> {
    let mut found = None;
    let (mut fecs, mut pw_status) = (Vec::new(), None);
    for tlv in Tlvs::new(message.tlvs, message.at) {
        let tlv = tlv?;
        let mut cursor: Cursor<'_> = tlv.cursor("RFC 5036 §3.4.6");
        let what = "a status is cut off";
        match tlv.kind() {
            Some(TlvKind::Status) => {
                let word = cursor.be32(what)?;
                found = Some((word, cursor.be32(what)?, cursor.be16(what)?));
            }
            Some(TlvKind::Fec) => fecs.extend(Fec::read_all(&mut cursor)?),
            Some(TlvKind::PwStatus) => pw_status = Some(cursor.be32(what)?),
            _ => {}
        }
    }
    let lacks = lacks(message, "a notification without a status");
    let (word, id, kind) = found.ok_or(lacks)?;
    let (code, is_fatal) = (word & 0x3FFF_FFFF, word & 0x8000_0000 != 0);
    Ok(Notification { code, is_fatal, message: (id, kind), fecs, pw_status })
}

fn write_notification(it: &Notification, out: &mut Vec<u8>) {
    let word = u32::from(it.is_fatal) << 31 | it.code & 0x3FFF_FFFF;
    let mut value = word.to_be_bytes().to_vec();
    value.extend_from_slice(&it.message.0.to_be_bytes());
    value.extend_from_slice(&it.message.1.to_be_bytes());
    write_tlv(out, TlvKind::Status, &value);
    if let Some(status) = it.pw_status {
        write_optional(out, TlvKind::PwStatus, &status.to_be_bytes());
    }
    if !it.fecs.is_empty() {
        write_fecs(&it.fecs, out);
    }
}

impl Notification {
    /// That of a code.
    #[must_use]
    pub fn of(code: StatusCode, message: (u32, u16)) -> Self {
        let is_fatal = code.is_fatal();
        Self { code: code.number(), is_fatal, message, ..Self::default() }
    }
}
