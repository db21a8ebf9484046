//! TPDUs (TS 23.040 §9.2.2): which parameters each has, where they stand, and their values.

mod json;
mod kind;
mod parameter;
mod read;
mod write;

pub use kind::{Direction, Field, Kind, Place};
pub use parameter::{Parameter, Shape};

use crate::address::Address;
use crate::coding::Coding;
use crate::names::{Command, FailureCause, Status};
use crate::time::{Time, Validity};
use crate::user_data::UserData;
use core::fmt;

/// The value of a parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// A bit of the first octet.
    Flag(bool),
    /// An octet.
    Octet(u8),
    /// An address.
    Address(Address),
    /// A time.
    Time(Time),
    /// A validity period.
    Validity(Validity),
    /// User data.
    UserData(UserData<'a>),
    /// Octets: command data, and the parameter indicator.
    Octets(&'a [u8]),
}

/// Without what the message says, as a log may have it.
impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(it) => it.fmt(f),
            Self::Octet(it) => it.fmt(f),
            Self::Address(it) => it.fmt(f),
            Self::Time(it) => it.fmt(f),
            Self::Validity(it) => it.fmt(f),
            Self::UserData(it) => it.fmt(f),
            Self::Octets(it) => write!(f, "{} octets", it.len()),
        }
    }
}

/// A TPDU.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Tpdu<'a> {
    kind: Kind,
    values: [Option<Value<'a>>; Parameter::ALL.len()],
    /// What an indicator with bits that are reserved announces, behind all else.
    rest: &'a [u8],
}

/// Its parameters, likewise without what the message says.
impl fmt::Debug for Tpdu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct(self.kind.name());
        for (parameter, value) in Parameter::ALL.iter().zip(&self.values) {
            if let Some(value) = value {
                out.field(parameter.name(), value);
            }
        }
        out.finish()
    }
}

impl<'a> Tpdu<'a> {
    /// A TPDU without values.
    #[must_use]
    pub const fn new(kind: Kind) -> Self {
        Self { kind, values: [None; Parameter::ALL.len()], rest: &[] }
    }

    /// The same with a value of a parameter. User data bring TP-DCS and TP-UDHI with them.
    #[must_use]
    pub fn with(mut self, parameter: Parameter, value: Value<'a>) -> Self {
        if let Value::UserData(data) = value {
            self.put(Parameter::HeaderIndicator, Value::Flag(data.has_header));
            if data.coding != Coding::GSM7 {
                self.put(Parameter::DataCodingScheme, Value::Octet(data.coding.0));
            }
        }
        self.put(parameter, value);
        self
    }

    /// The same with an octet.
    #[must_use]
    pub fn octet(self, parameter: Parameter, value: u8) -> Self {
        self.with(parameter, Value::Octet(value))
    }

    fn put(&mut self, parameter: Parameter, value: Value<'a>) {
        self.values[usize::from(parameter.number())] = Some(value);
    }

    /// Which one it is.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The value of a parameter.
    #[must_use]
    pub fn get(&self, parameter: Parameter) -> Option<&Value<'a>> {
        self.values[usize::from(parameter.number())].as_ref()
    }

    /// A bit of the first octet; false where the TPDU has none.
    #[must_use]
    pub fn flag(&self, parameter: Parameter) -> bool {
        matches!(self.get(parameter), Some(Value::Flag(true)))
    }

    fn number(&self, parameter: Parameter) -> Option<u8> {
        match self.get(parameter) {
            Some(Value::Octet(octet)) => Some(*octet),
            _ => None,
        }
    }

    /// TP-MR.
    #[must_use]
    pub fn reference(&self) -> Option<u8> {
        self.number(Parameter::MessageReference)
    }

    /// TP-FCS, if it has a name.
    #[must_use]
    pub fn failure_cause(&self) -> Option<FailureCause> {
        self.number(Parameter::FailureCause).and_then(FailureCause::of)
    }

    /// TP-ST, if it has a name.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        self.number(Parameter::Status).and_then(Status::of)
    }

    /// TP-CT, if it has a name.
    #[must_use]
    pub fn command(&self) -> Option<Command> {
        self.number(Parameter::CommandType).and_then(Command::of)
    }

    /// TP-DCS; the default alphabet where it is not there.
    #[must_use]
    pub fn coding(&self) -> Coding {
        self.number(Parameter::DataCodingScheme).map_or(Coding::GSM7, Coding)
    }

    /// TP-OA, TP-DA or TP-RA: the other end of the message.
    #[must_use]
    pub fn address(&self) -> Option<&Address> {
        let all = [
            Parameter::OriginatingAddress,
            Parameter::DestinationAddress,
            Parameter::RecipientAddress,
        ];
        all.into_iter().find_map(|it| match self.get(it) {
            Some(Value::Address(address)) => Some(address),
            _ => None,
        })
    }

    /// TP-SCTS or TP-DT.
    #[must_use]
    pub fn time(&self, parameter: Parameter) -> Option<Time> {
        match self.get(parameter) {
            Some(Value::Time(time)) => Some(*time),
            _ => None,
        }
    }

    /// TP-VP.
    #[must_use]
    pub fn validity(&self) -> Option<Validity> {
        match self.get(Parameter::ValidityPeriod) {
            Some(Value::Validity(validity)) => Some(*validity),
            _ => None,
        }
    }

    /// TP-UD.
    #[must_use]
    pub fn user_data(&self) -> Option<&UserData<'a>> {
        match self.get(Parameter::UserData) {
            Some(Value::UserData(data)) => Some(data),
            _ => None,
        }
    }
}
