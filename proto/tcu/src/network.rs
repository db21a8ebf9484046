//! Primitives of the network service (Q.711 §6.2, §6.3.2) for the application of a subsystem that
//! has no TCAP: connections of classes 2 and 3, and N-UNITDATA.
//!
//! ```text
//!   n-connect ─→ n-connecting, n-connected │ n-disconnect      (this side asks)
//!   n-connect ←─ then n-accept │ n-disconnect ─→               (the other side asks)
//!   n-data, n-expedited-data, n-reset, n-inform, n-disconnect  (both ways)
//! ```

use crate::tagged::Kind;
use bytes::Bytes;
use sccp::codec::Address;

/// What an application asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkRequest {
    /// N-CONNECT request; [`NetworkIndication::Connecting`] answers, or
    /// [`NetworkIndication::Disconnect`] with the reference.
    Connect {
        /// Any number, by which the answer is told.
        reference: u64,
        /// Where to.
        called: Address,
        /// Where from.
        calling: Address,
        /// 2 or 3.
        class: u8,
        /// Up to 128 octets.
        data: Bytes,
    },
    /// N-CONNECT response.
    Accept {
        /// Which connection.
        connection: u32,
        /// The class: that of the indication, or 2; none: that of the indication.
        class: Option<u8>,
        /// Up to 128 octets.
        data: Bytes,
    },
    /// N-DATA request.
    Data {
        /// On which connection.
        connection: u32,
        /// Up to 8,192 octets.
        data: Bytes,
    },
    /// N-EXPEDITED-DATA request, class 3.
    Expedited {
        /// On which connection.
        connection: u32,
        /// Up to 32 octets.
        data: Bytes,
    },
    /// N-RESET request, class 3.
    Reset {
        /// Which connection.
        connection: u32,
        /// The number of the reset cause (Q.713 §3.13).
        cause: u8,
    },
    /// N-RESET response.
    ResetResponse {
        /// Which connection.
        connection: u32,
    },
    /// N-DISCONNECT request.
    Disconnect {
        /// Which connection.
        connection: u32,
        /// The number of the refusal cause before it is there, of the release cause then
        /// (Q.713 §3.15, §3.11).
        cause: u8,
        /// Up to 128 octets.
        data: Bytes,
    },
    /// N-UNITDATA request.
    Unitdata {
        /// Where to.
        called: Address,
        /// Where from.
        calling: Address,
        /// 0, or 1: in sequence.
        class: u8,
        /// It comes back when it cannot be delivered.
        returns: bool,
        /// Up to 3,952 octets.
        data: Bytes,
    },
}

/// What an application is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkIndication {
    /// The connection that was asked for has a number.
    Connecting {
        /// The number that the request had.
        reference: u64,
        /// Names the connection from now on.
        connection: u32,
    },
    /// N-CONNECT indication: to be accepted, or disconnected.
    Connect {
        /// Names the connection from now on.
        connection: u32,
        /// Where to.
        called: Address,
        /// Where from.
        calling: Option<Address>,
        /// The class that is proposed.
        class: u8,
        /// What comes with it.
        data: Bytes,
    },
    /// N-CONNECT confirm.
    Connected {
        /// Which connection.
        connection: u32,
        /// The class that was agreed.
        class: u8,
        /// What comes with it.
        data: Bytes,
    },
    /// N-DATA indication, whole.
    Data {
        /// On which connection.
        connection: u32,
        /// The data.
        data: Bytes,
    },
    /// N-EXPEDITED-DATA indication.
    Expedited {
        /// On which connection.
        connection: u32,
        /// The data.
        data: Bytes,
    },
    /// N-RESET indication: to be responded. Data on the way are lost.
    Reset {
        /// Which connection.
        connection: u32,
        /// The number of the reset cause.
        cause: u8,
    },
    /// N-RESET confirm.
    ResetConfirm {
        /// Which connection.
        connection: u32,
    },
    /// N-DISCONNECT indication: the connection is no more.
    Disconnect {
        /// That of the request, where it got no number.
        reference: Option<u64>,
        /// Which connection.
        connection: Option<u32>,
        /// Whether it was refused: `cause` is a refusal cause then, else a release cause.
        is_refused: bool,
        /// The number of the cause.
        cause: u8,
        /// What comes with it.
        data: Bytes,
    },
    /// N-INFORM: there is no way to the other node, or there is one again.
    Inform {
        /// Of which connection.
        connection: u32,
        /// Whether there is a way.
        is_available: bool,
    },
    /// Data were not sent: too long, of the wrong class, without room, or of no connection.
    NotSent {
        /// Of which connection.
        connection: u32,
    },
    /// The connection goes on here: another node of a cluster has served it before. What was on
    /// its way to that node is lost.
    Resume {
        /// Which connection.
        connection: u32,
        /// Its class: until it is agreed, the one that was proposed.
        class: u8,
        /// Whether it is there. Else its answer is awaited: this side's, whatever it has said to
        /// the other node, or the other side's.
        is_there: bool,
    },
    /// N-UNITDATA indication.
    Unitdata {
        /// Where to.
        called: Address,
        /// Where from.
        calling: Address,
        /// The data.
        data: Bytes,
    },
    /// N-NOTICE: data came back.
    Notice {
        /// Where they were sent to.
        called: Address,
        /// Where from.
        calling: Address,
        /// The number of the return cause (Q.713 §3.12).
        cause: u8,
        /// The data, or their first segment.
        data: Bytes,
    },
}

/// What primitives carry, whichever they are: both spellings have a member for each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) reference: Option<u64>,
    pub(crate) connection: Option<u32>,
    pub(crate) called: Option<Address>,
    pub(crate) calling: Option<Address>,
    pub(crate) class: Option<u8>,
    pub(crate) cause: Option<u8>,
    /// N-UNITDATA asks to be returned; an N-DISCONNECT is a refusal; N-INFORM says that there is a
    /// way; a connection that goes on is there.
    pub(crate) is: Option<bool>,
    pub(crate) data: Bytes,
}

/// What [`Parts::is`] is called in JSON.
pub(crate) const fn name_of_is(kind: Kind) -> &'static str {
    match kind {
        Kind::NetworkUnitdata => "return",
        Kind::NetworkDisconnect => "refused",
        Kind::NetworkResume => "established",
        _ => "available",
    }
}

impl Parts {
    fn of(connection: u32) -> Self {
        Self { connection: Some(connection), ..Self::default() }
    }

    fn need_connection(&self) -> Result<u32, &'static str> {
        self.connection.ok_or("the connection lacks")
    }

    fn need_called(&self) -> Result<Address, &'static str> {
        self.called.ok_or("the called address lacks")
    }

    fn need_calling(&self) -> Result<Address, &'static str> {
        self.calling.ok_or("the calling address lacks")
    }

    fn need_cause(&self) -> Result<u8, &'static str> {
        self.cause.ok_or("the cause lacks")
    }

    fn connection_class(&self) -> Result<u8, &'static str> {
        self.class.filter(|it| (2..=3).contains(it)).ok_or("a connection has class 2 or 3")
    }
}

impl NetworkRequest {
    /// The connection that it is about.
    #[must_use]
    pub const fn connection(&self) -> Option<u32> {
        match self {
            Self::Accept { connection, .. }
            | Self::Data { connection, .. }
            | Self::Expedited { connection, .. }
            | Self::Reset { connection, .. }
            | Self::ResetResponse { connection }
            | Self::Disconnect { connection, .. } => Some(*connection),
            Self::Connect { .. } | Self::Unitdata { .. } => None,
        }
    }

    /// Its kind, and what it carries.
    pub(crate) fn parts(&self) -> (Kind, Parts) {
        match self.clone() {
            Self::Connect { reference, called, calling, class, data } => {
                let (called, calling) = (Some(called), Some(calling));
                let (reference, class) = (Some(reference), Some(class));
                let parts = Parts { reference, called, calling, class, data, ..Parts::default() };
                (Kind::NetworkConnect, parts)
            }
            Self::Accept { connection, class, data } => {
                (Kind::NetworkAccept, Parts { class, data, ..Parts::of(connection) })
            }
            Self::Data { connection, data } => {
                (Kind::NetworkData, Parts { data, ..Parts::of(connection) })
            }
            Self::Expedited { connection, data } => {
                (Kind::NetworkExpedited, Parts { data, ..Parts::of(connection) })
            }
            Self::Reset { connection, cause } => {
                (Kind::NetworkReset, Parts { cause: Some(cause), ..Parts::of(connection) })
            }
            Self::ResetResponse { connection } => {
                (Kind::NetworkResetResponse, Parts::of(connection))
            }
            Self::Disconnect { connection, cause, data } => {
                let cause = Some(cause);
                (Kind::NetworkDisconnect, Parts { cause, data, ..Parts::of(connection) })
            }
            Self::Unitdata { called, calling, class, returns, data } => {
                let (called, calling) = (Some(called), Some(calling));
                let (class, is) = (Some(class), Some(returns));
                let parts = Parts { called, calling, class, is, data, ..Parts::default() };
                (Kind::NetworkUnitdata, parts)
            }
        }
    }

    /// The request of that kind.
    ///
    /// # Errors
    /// What lacks; a kind of the other side.
    pub(crate) fn of(kind: Kind, it: Parts) -> Result<Self, &'static str> {
        Ok(match kind {
            Kind::NetworkConnect => Self::Connect {
                reference: it.reference.ok_or("the reference lacks")?,
                called: it.need_called()?,
                calling: it.need_calling()?,
                class: it.connection_class()?,
                data: it.data,
            },
            Kind::NetworkAccept => Self::Accept {
                connection: it.need_connection()?,
                class: match it.class {
                    None => None,
                    Some(_) => Some(it.connection_class()?),
                },
                data: it.data,
            },
            Kind::NetworkData => Self::Data { connection: it.need_connection()?, data: it.data },
            Kind::NetworkExpedited => {
                Self::Expedited { connection: it.need_connection()?, data: it.data }
            }
            Kind::NetworkReset => {
                Self::Reset { connection: it.need_connection()?, cause: it.need_cause()? }
            }
            Kind::NetworkResetResponse => Self::ResetResponse { connection: it.need_connection()? },
            Kind::NetworkDisconnect => Self::Disconnect {
                connection: it.need_connection()?,
                cause: it.need_cause()?,
                data: it.data,
            },
            Kind::NetworkUnitdata => Self::Unitdata {
                called: it.need_called()?,
                calling: it.need_calling()?,
                class: match it.class.unwrap_or(0) {
                    class @ 0..=1 => class,
                    _ => return Err("N-UNITDATA has class 0 or 1"),
                },
                returns: it.is.unwrap_or(false),
                data: it.data,
            },
            _ => return Err("a message of the other side"),
        })
    }
}

impl NetworkIndication {
    /// Its kind, and what it carries.
    pub(crate) fn parts(&self) -> (Kind, Parts) {
        match self.clone() {
            Self::Connecting { reference, connection } => {
                let reference = Some(reference);
                (Kind::NetworkConnecting, Parts { reference, ..Parts::of(connection) })
            }
            Self::Connect { connection, called, calling, class, data } => {
                let (called, class) = (Some(called), Some(class));
                let parts = Parts { called, calling, class, data, ..Parts::of(connection) };
                (Kind::NetworkConnect, parts)
            }
            Self::Connected { connection, class, data } => {
                let class = Some(class);
                (Kind::NetworkConnected, Parts { class, data, ..Parts::of(connection) })
            }
            Self::Data { connection, data } => {
                (Kind::NetworkData, Parts { data, ..Parts::of(connection) })
            }
            Self::Expedited { connection, data } => {
                (Kind::NetworkExpedited, Parts { data, ..Parts::of(connection) })
            }
            Self::Reset { connection, cause } => {
                (Kind::NetworkReset, Parts { cause: Some(cause), ..Parts::of(connection) })
            }
            Self::ResetConfirm { connection } => (Kind::NetworkResetConfirm, Parts::of(connection)),
            Self::Disconnect { reference, connection, is_refused, cause, data } => {
                let (cause, is) = (Some(cause), Some(is_refused));
                let parts = Parts { reference, connection, cause, is, data, ..Parts::default() };
                (Kind::NetworkDisconnect, parts)
            }
            Self::Inform { connection, is_available } => {
                (Kind::NetworkInform, Parts { is: Some(is_available), ..Parts::of(connection) })
            }
            Self::NotSent { connection } => (Kind::NetworkNotSent, Parts::of(connection)),
            Self::Resume { connection, class, is_there } => {
                let (class, is) = (Some(class), Some(is_there));
                (Kind::NetworkResume, Parts { class, is, ..Parts::of(connection) })
            }
            Self::Unitdata { called, calling, data } => {
                let (called, calling) = (Some(called), Some(calling));
                (Kind::NetworkUnitdata, Parts { called, calling, data, ..Parts::default() })
            }
            Self::Notice { called, calling, cause, data } => {
                let (called, calling, cause) = (Some(called), Some(calling), Some(cause));
                let parts = Parts { called, calling, cause, data, ..Parts::default() };
                (Kind::NetworkNotice, parts)
            }
        }
    }

    /// The indication of that kind.
    ///
    /// # Errors
    /// What lacks; a kind of the other side.
    pub(crate) fn of(kind: Kind, it: Parts) -> Result<Self, &'static str> {
        let connection = || it.need_connection();
        Ok(match kind {
            Kind::NetworkConnecting => {
                let reference = it.reference.ok_or("the reference lacks")?;
                Self::Connecting { reference, connection: connection()? }
            }
            Kind::NetworkConnect => Self::Connect {
                connection: connection()?,
                called: it.need_called()?,
                calling: it.calling,
                class: it.connection_class()?,
                data: it.data,
            },
            Kind::NetworkConnected => {
                let (connection, class) = (connection()?, it.connection_class()?);
                Self::Connected { connection, class, data: it.data }
            }
            Kind::NetworkData => Self::Data { connection: connection()?, data: it.data },
            Kind::NetworkExpedited => Self::Expedited { connection: connection()?, data: it.data },
            Kind::NetworkReset => {
                Self::Reset { connection: connection()?, cause: it.need_cause()? }
            }
            Kind::NetworkResetConfirm => Self::ResetConfirm { connection: connection()? },
            Kind::NetworkDisconnect => Self::Disconnect {
                reference: it.reference,
                connection: it.connection,
                is_refused: it.is.unwrap_or(false),
                cause: it.need_cause()?,
                data: it.data,
            },
            Kind::NetworkInform => {
                let is_available = it.is.ok_or("whether there is a way lacks")?;
                Self::Inform { connection: connection()?, is_available }
            }
            Kind::NetworkNotSent => Self::NotSent { connection: connection()? },
            Kind::NetworkResume => Self::Resume {
                connection: connection()?,
                class: it.connection_class()?,
                is_there: it.is.ok_or("whether it is there lacks")?,
            },
            Kind::NetworkUnitdata => Self::Unitdata {
                called: it.need_called()?,
                calling: it.need_calling()?,
                data: it.data,
            },
            Kind::NetworkNotice => Self::Notice {
                called: it.need_called()?,
                calling: it.need_calling()?,
                cause: it.need_cause()?,
                data: it.data,
            },
            _ => return Err("a message of the other side"),
        })
    }
}
