//! Messages of connections, CR to IT (Q.713 §4.2 to §4.9, §4.12 to §4.17).

use super::{Address, EXPEDITED_BYTES_MAX, Message, MessageType, Parameter as P, Writer};
use wire::Malformed;

/// Octets of data in CR, CC, CREF and RLSD that are read: who takes the 130 octets of Q.713 §4.2
/// for those of the value alone is understood as well, and passed on as it is.
pub(crate) const CONNECT_DATA_READ_MAX: usize = 130;

/// A local reference, 24 bits (Q.713 §3.2, §3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalReference(u32);

impl LocalReference {
    /// The low 24 bits of a number.
    #[must_use]
    pub const fn truncated(number: u32) -> Self {
        Self(number & 0x00ff_ffff)
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    const fn octets(self) -> [u8; 3] {
        let [low, middle, high, _] = self.0.to_le_bytes();
        [low, middle, high]
    }
}

/// The classes of connections (Q.713 §3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConnectionClass {
    /// 2: basic.
    Basic,
    /// 3: with flow control.
    FlowControl,
}

impl ConnectionClass {
    /// The number of the class.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Basic => 2,
            Self::FlowControl => 3,
        }
    }
}

/// Numbers of a message in class 3 (Q.713 §3.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sequencing {
    /// P(S), modulo 128.
    pub send: u8,
    /// P(R), modulo 128: what is expected next.
    pub receive: u8,
    /// M: more data follow.
    pub more: bool,
}

impl Sequencing {
    const fn octets(self) -> [u8; 2] {
        [self.send << 1, self.receive << 1 | self.more as u8]
    }
}

/// CR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionRequest<'a> {
    /// The connection at who sends it.
    pub source: LocalReference,
    /// The class that is proposed.
    pub class: ConnectionClass,
    /// Where to.
    pub called: Address,
    /// The window that is proposed, class 3.
    pub credit: Option<u8>,
    /// Where from.
    pub calling: Option<Address>,
    /// The hop counter.
    pub hops: Option<u8>,
    /// Importance, 0 to 7.
    pub importance: Option<u8>,
    /// The user's data.
    pub data: Option<&'a [u8]>,
}

/// A message of a connection. Causes are numbers: those that nobody knows are carried as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are the parameters of Q.713 §3 by their names")]
pub enum ConnectionMessage<'a> {
    /// CR.
    Request(ConnectionRequest<'a>),
    /// CC.
    Confirm {
        destination: LocalReference,
        source: LocalReference,
        class: ConnectionClass,
        credit: Option<u8>,
        called: Option<Address>,
        importance: Option<u8>,
        data: Option<&'a [u8]>,
    },
    /// CREF.
    Refused {
        destination: LocalReference,
        cause: u8,
        called: Option<Address>,
        importance: Option<u8>,
        data: Option<&'a [u8]>,
    },
    /// RLSD.
    Released {
        destination: LocalReference,
        source: LocalReference,
        cause: u8,
        importance: Option<u8>,
        data: Option<&'a [u8]>,
    },
    /// RLC.
    ReleaseComplete { destination: LocalReference, source: LocalReference },
    /// DT1.
    Data1 { destination: LocalReference, more: bool, data: &'a [u8] },
    /// DT2.
    Data2 { destination: LocalReference, sequencing: Sequencing, data: &'a [u8] },
    /// AK.
    Acknowledgement { destination: LocalReference, receive: u8, credit: u8 },
    /// ED.
    Expedited { destination: LocalReference, data: &'a [u8] },
    /// EA.
    ExpeditedAcknowledgement { destination: LocalReference },
    /// RSR.
    ResetRequest { destination: LocalReference, source: LocalReference, cause: u8 },
    /// RSC.
    ResetConfirm { destination: LocalReference, source: LocalReference },
    /// ERR.
    Error { destination: LocalReference, cause: u8 },
    /// IT.
    InactivityTest {
        destination: LocalReference,
        source: LocalReference,
        class: ConnectionClass,
        sequencing: Sequencing,
        credit: u8,
    },
}

impl<'a> ConnectionMessage<'a> {
    /// The message of a connection that `message` is; `None` for a connectionless one.
    ///
    /// # Errors
    /// An address that is not well-formed, a class that no connection has, and data of a length
    /// that their message does not carry.
    pub fn of(message: &Message<'a>) -> Result<Option<Self>, Malformed> {
        match Self::of_phase(message)? {
            Some(of_phase) => Ok(Some(of_phase)),
            None => Self::of_transfer(message),
        }
    }

    /// Those that establish and release.
    fn of_phase(message: &Message<'a>) -> Result<Option<Self>, Malformed> {
        let octet = |of| message.octet(of).unwrap_or_default();
        let importance = message.octet(P::Importance).map(|it| it & 0x07);
        let credit = message.octet(P::Credit);
        let (destination, source) = references(message);
        Ok(Some(match message.kind {
            MessageType::ConnectionRequest => Self::Request(ConnectionRequest {
                source,
                class: class(message)?,
                called: Address::read(
                    message.value(P::Called).unwrap_or_default(),
                    message.at(P::Called),
                )?,
                credit,
                calling: address(message, P::Calling)?,
                hops: message.octet(P::Hops).map(|it| it & 0x0f),
                importance,
                data: optional_data(message)?,
            }),
            MessageType::ConnectionConfirm => Self::Confirm {
                destination,
                source,
                class: class(message)?,
                credit,
                called: address(message, P::Called)?,
                importance,
                data: optional_data(message)?,
            },
            MessageType::ConnectionRefused => Self::Refused {
                destination,
                cause: octet(P::RefusalCause),
                called: address(message, P::Called)?,
                importance,
                data: optional_data(message)?,
            },
            MessageType::Released => Self::Released {
                destination,
                source,
                cause: octet(P::ReleaseCause),
                importance,
                data: optional_data(message)?,
            },
            MessageType::ReleaseComplete => Self::ReleaseComplete { destination, source },
            _ => return Ok(None),
        }))
    }

    /// Those of a connection that is there.
    fn of_transfer(message: &Message<'a>) -> Result<Option<Self>, Malformed> {
        let octet = |of| message.octet(of).unwrap_or_default();
        let (destination, source) = references(message);
        Ok(Some(match message.kind {
            MessageType::DataForm1 => {
                let more = octet(P::More) & 1 == 1;
                Self::Data1 { destination, more, data: data(message, usize::MAX)? }
            }
            MessageType::DataForm2 => {
                let sequencing = sequencing(message);
                Self::Data2 { destination, sequencing, data: data(message, usize::MAX)? }
            }
            MessageType::Acknowledgement => {
                let (receive, credit) = (octet(P::ReceiveSequence) >> 1, octet(P::Credit));
                Self::Acknowledgement { destination, receive, credit }
            }
            MessageType::ExpeditedData => {
                Self::Expedited { destination, data: data(message, EXPEDITED_BYTES_MAX)? }
            }
            MessageType::ExpeditedAcknowledgement => Self::ExpeditedAcknowledgement { destination },
            MessageType::ResetRequest => {
                Self::ResetRequest { destination, source, cause: octet(P::ResetCause) }
            }
            MessageType::ResetConfirm => Self::ResetConfirm { destination, source },
            MessageType::Error => Self::Error { destination, cause: octet(P::ErrorCause) },
            MessageType::InactivityTest => Self::InactivityTest {
                destination,
                source,
                class: class(message)?,
                sequencing: sequencing(message),
                credit: octet(P::Credit),
            },
            _ => return Ok(None),
        }))
    }

    /// The connection at who gets the message; a CR has none.
    #[must_use]
    pub const fn destination(&self) -> Option<LocalReference> {
        match *self {
            Self::Request(_) => None,
            Self::Confirm { destination, .. }
            | Self::Refused { destination, .. }
            | Self::Released { destination, .. }
            | Self::ReleaseComplete { destination, .. }
            | Self::Data1 { destination, .. }
            | Self::Data2 { destination, .. }
            | Self::Acknowledgement { destination, .. }
            | Self::Expedited { destination, .. }
            | Self::ExpeditedAcknowledgement { destination }
            | Self::ResetRequest { destination, .. }
            | Self::ResetConfirm { destination, .. }
            | Self::Error { destination, .. }
            | Self::InactivityTest { destination, .. } => Some(destination),
        }
    }

    /// The connection at who sends the message, where it says so.
    #[must_use]
    pub const fn source(&self) -> Option<LocalReference> {
        match *self {
            Self::Request(ConnectionRequest { source, .. })
            | Self::Confirm { source, .. }
            | Self::Released { source, .. }
            | Self::ReleaseComplete { source, .. }
            | Self::ResetRequest { source, .. }
            | Self::ResetConfirm { source, .. }
            | Self::InactivityTest { source, .. } => Some(source),
            _ => None,
        }
    }

    /// Appends the message. `None` when a part of it is too long; `out` is as before then.
    #[must_use]
    pub fn write(&self, out: &mut Vec<u8>) -> Option<()> {
        let start = out.len();
        let written = self.write_parts(out);
        if written.is_none() {
            out.truncate(start);
        }
        written
    }

    fn kind(&self) -> MessageType {
        match self {
            Self::Request(_) => MessageType::ConnectionRequest,
            Self::Confirm { .. } => MessageType::ConnectionConfirm,
            Self::Refused { .. } => MessageType::ConnectionRefused,
            Self::Released { .. } => MessageType::Released,
            Self::ReleaseComplete { .. } => MessageType::ReleaseComplete,
            Self::Data1 { .. } => MessageType::DataForm1,
            Self::Data2 { .. } => MessageType::DataForm2,
            Self::Acknowledgement { .. } => MessageType::Acknowledgement,
            Self::Expedited { .. } => MessageType::ExpeditedData,
            Self::ExpeditedAcknowledgement { .. } => MessageType::ExpeditedAcknowledgement,
            Self::ResetRequest { .. } => MessageType::ResetRequest,
            Self::ResetConfirm { .. } => MessageType::ResetConfirm,
            Self::Error { .. } => MessageType::Error,
            Self::InactivityTest { .. } => MessageType::InactivityTest,
        }
    }

    /// The fixed part.
    fn fixed(&self) -> Vec<u8> {
        let destination = self.destination().map(LocalReference::octets);
        let source = self.source().map(LocalReference::octets);
        let mut fixed: Vec<u8> = destination.into_iter().chain(source).flatten().collect();
        match *self {
            Self::Request(ConnectionRequest { class, .. }) | Self::Confirm { class, .. } => {
                fixed.push(class.number());
            }
            Self::Refused { cause, .. }
            | Self::Released { cause, .. }
            | Self::ResetRequest { cause, .. }
            | Self::Error { cause, .. } => fixed.push(cause),
            Self::Data1 { more, .. } => fixed.push(u8::from(more)),
            Self::Data2 { sequencing, .. } => fixed.extend(sequencing.octets()),
            Self::Acknowledgement { receive, credit, .. } => fixed.extend([receive << 1, credit]),
            Self::InactivityTest { class, sequencing, credit, .. } => {
                fixed.push(class.number());
                fixed.extend(sequencing.octets());
                fixed.push(credit);
            }
            Self::ReleaseComplete { .. }
            | Self::Expedited { .. }
            | Self::ExpeditedAcknowledgement { .. }
            | Self::ResetConfirm { .. } => {}
        }
        fixed
    }

    fn write_parts(&self, out: &mut Vec<u8>) -> Option<()> {
        let mut writer = Writer::begin(out, self.kind(), &self.fixed());
        let written = |address: &Address| {
            let mut octets = Vec::with_capacity(16);
            address.write(&mut octets);
            octets
        };
        let (credit, called, calling, importance, data) = match self {
            Self::Request(request) => {
                writer = writer.variable_by(|out| request.called.write(out))?;
                let calling = request.calling.as_ref();
                (request.credit, None, calling, request.importance, request.data)
            }
            Self::Confirm { credit, called, importance, data, .. } => {
                (*credit, called.as_ref(), None, *importance, *data)
            }
            Self::Refused { called, importance, data, .. } => {
                (None, called.as_ref(), None, *importance, *data)
            }
            Self::Released { importance, data, .. } => (None, None, None, *importance, *data),
            Self::Data1 { data, .. } | Self::Data2 { data, .. } | Self::Expedited { data, .. } => {
                writer = writer.variable(data)?;
                (None, None, None, None, None)
            }
            _ => (None, None, None, None, None),
        };
        let hops = match self {
            Self::Request(request) => request.hops,
            _ => None,
        };
        let optional = [
            (P::Credit, credit.map(|it| vec![it])),
            (P::Called, called.map(written)),
            (P::Calling, calling.map(written)),
            (P::Data, data.map(<[u8]>::to_vec)),
            (P::Hops, hops.map(|it| vec![it & 0x0f])),
            (P::Importance, importance.map(|it| vec![it & 0x07])),
        ];
        for (parameter, value) in optional {
            if let Some(value) = value {
                writer = writer.optional(parameter, &value)?;
            }
        }
        writer.end();
        Some(())
    }
}

fn references(message: &Message<'_>) -> (LocalReference, LocalReference) {
    let of = |it| LocalReference::truncated(message.reference(it).unwrap_or_default());
    (of(P::DestinationReference), of(P::SourceReference))
}

fn class(message: &Message<'_>) -> Result<ConnectionClass, Malformed> {
    match message.octet(P::Class).unwrap_or_default() & 0x0f {
        2 => Ok(ConnectionClass::Basic),
        3 => Ok(ConnectionClass::FlowControl),
        _ => Err(Malformed::new(message.at(P::Class), "no class of connections", "Q.713 §3.6")),
    }
}

fn address(message: &Message<'_>, of: P) -> Result<Option<Address>, Malformed> {
    message.value(of).map(|value| Address::read(value, message.at(of))).transpose()
}

fn sequencing(message: &Message<'_>) -> Sequencing {
    let value = message.value(P::Sequencing).unwrap_or_default();
    let octet = |at: usize| value.get(at).copied().unwrap_or_default();
    Sequencing { send: octet(0) >> 1, receive: octet(1) >> 1, more: octet(1) & 1 == 1 }
}

/// Data in the optional part (Q.713 §4.2 to §4.5).
fn optional_data<'a>(message: &Message<'a>) -> Result<Option<&'a [u8]>, Malformed> {
    match message.value(P::Data) {
        None => Ok(None),
        Some(_) => data(message, CONNECT_DATA_READ_MAX).map(Some),
    }
}

fn data<'a>(message: &Message<'a>, most: usize) -> Result<&'a [u8], Malformed> {
    let data = message.value(P::Data).unwrap_or_default();
    match data.len() {
        0 => Err(Malformed::new(message.at(P::Data), "data of no octets", "Q.713 §3.16")),
        length if length > most => {
            Err(Malformed::new(message.at(P::Data), "data of too many octets", "Q.713 §4"))
        }
        _ => Ok(data),
    }
}
