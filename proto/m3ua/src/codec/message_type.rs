//! Messages: class, type, section, and which parameters belong to each (RFC 4666 §3.1.2, §3.3 to
//! §3.8).

use super::Tag;

wire::rows! {
    /// The classes of messages.
    pub enum MessageClass: u8 {
        /// Management.
        Mgmt = 0, "MGMT", "RFC 4666 §3.8";
        /// Transfer.
        Transfer = 1, "Transfer", "RFC 4666 §3.3";
        /// SS7 Signalling Network Management.
        Ssnm = 2, "SSNM", "RFC 4666 §3.4";
        /// ASP State Maintenance.
        Aspsm = 3, "ASPSM", "RFC 4666 §3.5";
        /// ASP Traffic Maintenance.
        Asptm = 4, "ASPTM", "RFC 4666 §3.7";
        /// Routing Key Management.
        Rkm = 9, "RKM", "RFC 4666 §3.6";
    }
}

wire::rows! {
    /// The messages.
    pub enum MessageType: u16 {
        /// Error.
        Err = 0x0000, "ERR", "RFC 4666 §3.8.1";
        /// Notify.
        Ntfy = 0x0001, "NTFY", "RFC 4666 §3.8.2";
        /// Payload Data.
        Data = 0x0101, "DATA", "RFC 4666 §3.3.1";
        /// Destination Unavailable.
        Duna = 0x0201, "DUNA", "RFC 4666 §3.4.1";
        /// Destination Available.
        Dava = 0x0202, "DAVA", "RFC 4666 §3.4.2";
        /// Destination State Audit.
        Daud = 0x0203, "DAUD", "RFC 4666 §3.4.3";
        /// Signalling Congestion.
        Scon = 0x0204, "SCON", "RFC 4666 §3.4.4";
        /// Destination User Part Unavailable.
        Dupu = 0x0205, "DUPU", "RFC 4666 §3.4.5";
        /// Destination Restricted.
        Drst = 0x0206, "DRST", "RFC 4666 §3.4.6";
        /// ASP Up.
        AspUp = 0x0301, "ASPUP", "RFC 4666 §3.5.1";
        /// ASP Up Acknowledgement.
        AspUpAck = 0x0304, "ASPUP ACK", "RFC 4666 §3.5.2";
        /// ASP Down.
        AspDown = 0x0302, "ASPDN", "RFC 4666 §3.5.3";
        /// ASP Down Acknowledgement.
        AspDownAck = 0x0305, "ASPDN ACK", "RFC 4666 §3.5.4";
        /// Heartbeat.
        Beat = 0x0303, "BEAT", "RFC 4666 §3.5.5";
        /// Heartbeat Acknowledgement.
        BeatAck = 0x0306, "BEAT ACK", "RFC 4666 §3.5.6";
        /// Registration Request.
        RegReq = 0x0901, "REG REQ", "RFC 4666 §3.6.1";
        /// Registration Response.
        RegRsp = 0x0902, "REG RSP", "RFC 4666 §3.6.2";
        /// Deregistration Request.
        DeregReq = 0x0903, "DEREG REQ", "RFC 4666 §3.6.3";
        /// Deregistration Response.
        DeregRsp = 0x0904, "DEREG RSP", "RFC 4666 §3.6.4";
        /// ASP Active.
        AspActive = 0x0401, "ASPAC", "RFC 4666 §3.7.1";
        /// ASP Active Acknowledgement.
        AspActiveAck = 0x0403, "ASPAC ACK", "RFC 4666 §3.7.2";
        /// ASP Inactive.
        AspInactive = 0x0402, "ASPIA", "RFC 4666 §3.7.3";
        /// ASP Inactive Acknowledgement.
        AspInactiveAck = 0x0404, "ASPIA ACK", "RFC 4666 §3.7.4";
    }
}

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
