//! The words of SCCP (Q.713): every message and every parameter is a row; reading, checking and
//! writing follow from the tables. Nothing is copied but addresses, which are small.

mod address;
mod cause;
mod connection;
mod digits;
mod management;
mod message;
mod message_type;
mod parameter;
mod unit;
mod writer;

pub use address::{Address, Indicator, Routing, Title};
pub use cause::{ErrorCause, RefusalCause, ReleaseCause, ResetCause, ReturnCause};
pub(crate) use connection::CONNECT_DATA_READ_MAX;
pub use connection::{
    ConnectionClass, ConnectionMessage, ConnectionRequest, LocalReference, Sequencing,
};
pub use digits::{DIGITS_MAX, Digits};
pub use management::{Management, ManagementType};
pub use message::Message;
pub use message_type::MessageType;
pub use parameter::Parameter;
pub use unit::{Class, Form, Segmentation, Unit, Word};
pub use writer::Writer;

/// The Service Indicator of SCCP in MTP3 (Q.704 §14.2.1).
pub const SERVICE_INDICATOR: u8 = 3;
/// The subsystem of SCCP management (Q.713 §3.4.2.2).
pub const MANAGEMENT_SSN: u8 = 1;
/// Octets of data in a message with one octet of length, at most (Q.713 §4.10, §4.18).
pub const DATA_BYTES_MAX: usize = 255;
/// Octets of data in a LUDT, at most (Q.713 §4.20).
pub const LONG_DATA_BYTES_MAX: usize = 3_952;
/// The largest hop counter (Q.713 §3.18).
pub const HOPS_MAX: u8 = 15;
/// Octets of data in CR, CC, CREF and RLSD that are sent, at most: the 130 of Q.713 §4.2 have name
/// and length in them.
pub const CONNECT_DATA_BYTES_MAX: usize = 128;
/// Octets of expedited data, at most (Q.713 §4.12).
pub const EXPEDITED_BYTES_MAX: usize = 32;
