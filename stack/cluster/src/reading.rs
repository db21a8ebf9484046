//! What is read of a message before it is known whose it is, and what is said in its place.

use sccp::Unitdata;
use tcap::codec::{Message, MessageType, PAbortCause, Writer};

/// The abort of a dialogue that no shard has taken a message of.
#[must_use]
pub fn aborted(unitdata: &Unitdata) -> Option<Unitdata> {
    let message = Message::read(&unitdata.data).ok()?;
    let cause = match message.kind {
        MessageType::Begin => PAbortCause::ResourceLimitation,
        _ => PAbortCause::UnrecognizedTransactionId,
    };
    let mut data = Vec::new();
    Writer::p_abort(message.otid?, cause).write(&mut data, |_| ());
    let (called, calling) = (unitdata.calling, unitdata.called);
    Some(Unitdata { called, calling, data: data.into(), ..unitdata.clone() })
}

/// What tells a dialogue that a message of it is lost: an abort in the place of that.
#[must_use]
pub fn abort_of(unitdata: &Unitdata) -> Option<Unitdata> {
    let dtid = Message::read(&unitdata.data).ok()?.dtid?;
    let mut data = Vec::new();
    Writer::p_abort(dtid, PAbortCause::ResourceLimitation).write(&mut data, |_| ());
    Some(Unitdata { data: data.into(), ..unitdata.clone() })
}

/// Whether a message of SCCP is of management: what it says of subsystems holds for all nodes.
#[must_use]
pub fn is_status(message: &[u8]) -> bool {
    use sccp::codec::{Management, ManagementType, Unit};
    let read = sccp::codec::Message::read(message);
    let Some(it) = read.ok().and_then(|it| Unit::of(&it).ok().flatten()) else { return false };
    let told = [ManagementType::Allowed, ManagementType::Prohibited, ManagementType::Congested];
    it.called.subsystem == Some(1)
        && Management::read(it.data).is_ok_and(|it| told.contains(&it.kind))
}
