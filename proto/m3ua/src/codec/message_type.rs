//! Messages: class, type, section, and which parameters belong to each (RFC 4666 §3.1.2, §3.3 to
//! §3.8).

use super::Tag;
use super::code::numbers;

wire::rows! {
    /// The classes of messages.
    pub enum MessageClass {
        /// Management.
        Mgmt = "MGMT", "RFC 4666 §3.8";
        /// Transfer.
        Transfer = "Transfer", "RFC 4666 §3.3";
        /// SS7 Signalling Network Management.
        Ssnm = "SSNM", "RFC 4666 §3.4";
        /// ASP State Maintenance.
        Aspsm = "ASPSM", "RFC 4666 §3.5";
        /// ASP Traffic Maintenance.
        Asptm = "ASPTM", "RFC 4666 §3.7";
        /// Routing Key Management.
        Rkm = "RKM", "RFC 4666 §3.6";
    }
}

numbers!(MessageClass: u8 { Mgmt = 0, Transfer = 1, Ssnm = 2, Aspsm = 3, Asptm = 4, Rkm = 9, });

wire::rows! {
    /// The messages.
    pub enum MessageType {
        /// Error.
        Err = "ERR", "RFC 4666 §3.8.1";
        /// Notify.
        Ntfy = "NTFY", "RFC 4666 §3.8.2";
        /// Payload Data.
        Data = "DATA", "RFC 4666 §3.3.1";
        /// Destination Unavailable.
        Duna = "DUNA", "RFC 4666 §3.4.1";
        /// Destination Available.
        Dava = "DAVA", "RFC 4666 §3.4.2";
        /// Destination State Audit.
        Daud = "DAUD", "RFC 4666 §3.4.3";
        /// Signalling Congestion.
        Scon = "SCON", "RFC 4666 §3.4.4";
        /// Destination User Part Unavailable.
        Dupu = "DUPU", "RFC 4666 §3.4.5";
        /// Destination Restricted.
        Drst = "DRST", "RFC 4666 §3.4.6";
        /// ASP Up.
        AspUp = "ASPUP", "RFC 4666 §3.5.1";
        /// ASP Up Acknowledgement.
        AspUpAck = "ASPUP ACK", "RFC 4666 §3.5.2";
        /// ASP Down.
        AspDown = "ASPDN", "RFC 4666 §3.5.3";
        /// ASP Down Acknowledgement.
        AspDownAck = "ASPDN ACK", "RFC 4666 §3.5.4";
        /// Heartbeat.
        Beat = "BEAT", "RFC 4666 §3.5.5";
        /// Heartbeat Acknowledgement.
        BeatAck = "BEAT ACK", "RFC 4666 §3.5.6";
        /// Registration Request.
        RegReq = "REG REQ", "RFC 4666 §3.6.1";
        /// Registration Response.
        RegRsp = "REG RSP", "RFC 4666 §3.6.2";
        /// Deregistration Request.
        DeregReq = "DEREG REQ", "RFC 4666 §3.6.3";
        /// Deregistration Response.
        DeregRsp = "DEREG RSP", "RFC 4666 §3.6.4";
        /// ASP Active.
        AspActive = "ASPAC", "RFC 4666 §3.7.1";
        /// ASP Active Acknowledgement.
        AspActiveAck = "ASPAC ACK", "RFC 4666 §3.7.2";
        /// ASP Inactive.
        AspInactive = "ASPIA", "RFC 4666 §3.7.3";
        /// ASP Inactive Acknowledgement.
        AspInactiveAck = "ASPIA ACK", "RFC 4666 §3.7.4";
    }
}

// Class and type in one: the third and fourth octet of the header.
numbers!(MessageType: u16 {
    Err = 0x0000,
    Ntfy = 0x0001,
    Data = 0x0101,
    Duna = 0x0201,
    Dava = 0x0202,
    Daud = 0x0203,
    Scon = 0x0204,
    Dupu = 0x0205,
    Drst = 0x0206,
    AspUp = 0x0301,
    AspDown = 0x0302,
    Beat = 0x0303,
    AspUpAck = 0x0304,
    AspDownAck = 0x0305,
    BeatAck = 0x0306,
    AspActive = 0x0401,
    AspInactive = 0x0402,
    AspActiveAck = 0x0403,
    AspInactiveAck = 0x0404,
    RegReq = 0x0901,
    RegRsp = 0x0902,
    DeregReq = 0x0903,
    DeregRsp = 0x0904,
});

/// One parameter of a message or of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Which.
    pub tag: Tag,
    /// Whether it must be there.
    pub is_mandatory: bool,
    /// Whether there may be more than one.
    pub repeats: bool,
}

const fn must(tag: Tag) -> Rule {
    Rule { tag, is_mandatory: true, repeats: false }
}

const fn may(tag: Tag) -> Rule {
    Rule { tag, is_mandatory: false, repeats: false }
}

const fn musts(tag: Tag) -> Rule {
    Rule { tag, is_mandatory: true, repeats: true }
}

const fn mays(tag: Tag) -> Rule {
    Rule { tag, is_mandatory: false, repeats: true }
}

const NETWORK: Rule = may(Tag::NetworkAppearance);
const CONTEXT: Rule = may(Tag::RoutingContext);
const AFFECTED: Rule = must(Tag::AffectedPointCode);
const INFO: Rule = may(Tag::InfoString);

const ERR: &[Rule] = &[
    must(Tag::ErrorCode),
    CONTEXT,
    NETWORK,
    may(Tag::AffectedPointCode),
    may(Tag::DiagnosticInformation),
];
const NTFY: &[Rule] = &[must(Tag::Status), may(Tag::AspIdentifier), CONTEXT, INFO];
const DATA: &[Rule] = &[NETWORK, CONTEXT, must(Tag::ProtocolData), may(Tag::CorrelationId)];
const DESTINATIONS: &[Rule] = &[NETWORK, CONTEXT, AFFECTED, INFO];
const SCON: &[Rule] = &[
    NETWORK,
    CONTEXT,
    AFFECTED,
    may(Tag::ConcernedDestination),
    may(Tag::CongestionIndications),
    INFO,
];
const DUPU: &[Rule] = &[NETWORK, CONTEXT, AFFECTED, must(Tag::UserCause), INFO];
const UP: &[Rule] = &[may(Tag::AspIdentifier), INFO];
const DOWN: &[Rule] = &[INFO];
const BEAT: &[Rule] = &[may(Tag::HeartbeatData)];
const ACTIVE: &[Rule] = &[may(Tag::TrafficModeType), CONTEXT, INFO];
const INACTIVE: &[Rule] = &[CONTEXT, INFO];
const KEY: &[Rule] = &[
    must(Tag::LocalRoutingKeyIdentifier),
    CONTEXT,
    may(Tag::TrafficModeType),
    musts(Tag::DestinationPointCode),
    NETWORK,
    mays(Tag::ServiceIndicators),
    mays(Tag::OriginatingPointCodeList),
];
const REGISTERED: &[Rule] = &[
    must(Tag::LocalRoutingKeyIdentifier),
    must(Tag::RegistrationStatus),
    must(Tag::RoutingContext),
];
const REG_REQ: &[Rule] = &[musts(Tag::RoutingKey)];
const REG_RSP: &[Rule] = &[musts(Tag::RegistrationResult)];
const DEREG_REQ: &[Rule] = &[must(Tag::RoutingContext)];
const DEREG_RSP: &[Rule] = &[musts(Tag::DeregistrationResult)];
const DEREGISTERED: &[Rule] = &[must(Tag::RoutingContext), must(Tag::DeregistrationStatus)];

impl MessageType {
    /// The class it belongs to.
    #[must_use]
    pub const fn class(self) -> MessageClass {
        match MessageClass::of((self.number() >> 8) as u8) {
            Some(class) => class,
            None => MessageClass::Mgmt,
        }
    }

    /// Its parameters, in the order in which the RFC lists them.
    #[must_use]
    pub const fn rules(self) -> &'static [Rule] {
        match self {
            Self::Err => ERR,
            Self::Ntfy => NTFY,
            Self::Data => DATA,
            Self::Duna | Self::Dava | Self::Daud | Self::Drst => DESTINATIONS,
            Self::Scon => SCON,
            Self::Dupu => DUPU,
            Self::AspUp | Self::AspUpAck => UP,
            Self::AspDown | Self::AspDownAck => DOWN,
            Self::Beat | Self::BeatAck => BEAT,
            Self::RegReq => REG_REQ,
            Self::RegRsp => REG_RSP,
            Self::DeregReq => DEREG_REQ,
            Self::DeregRsp => DEREG_RSP,
            Self::AspActive | Self::AspActiveAck => ACTIVE,
            Self::AspInactive | Self::AspInactiveAck => INACTIVE,
        }
    }

    /// Whether it is held to stream 0 (RFC 4666 §1.4.7): ASPSM, MGMT and RKM are, except for
    /// BEAT, BEAT ACK and NTFY.
    #[must_use]
    pub const fn wants_stream_zero(self) -> bool {
        match self {
            Self::Beat | Self::BeatAck | Self::Ntfy => false,
            _ => {
                matches!(self.class(), MessageClass::Mgmt | MessageClass::Aspsm | MessageClass::Rkm)
            }
        }
    }
}

impl Tag {
    /// The parameters inside of a group; none for others.
    #[must_use]
    pub const fn rules(self) -> &'static [Rule] {
        match self {
            Self::RoutingKey => KEY,
            Self::RegistrationResult => REGISTERED,
            Self::DeregistrationResult => DEREGISTERED,
            _ => &[],
        }
    }
}
