//! RTCP (RFC 3550 §6, RFC 3611, RFC 4585, RFC 5506).
//!
//! [`Compound`] finds the packets of a datagram, [`Packet`] reads one of them, the functions
//! `write_…` and the methods `write` append one.

mod description;
mod feedback;
mod frame;
mod goodbye;
mod report;
mod sources;
pub mod xr;

pub use description::{
    CHUNKS_MAX, Chunk, Chunks, Item, ItemType, Items, TEXT_BYTES_MAX, write_description,
};
pub use feedback::{
    Feedback, PayloadFormat, Remb, TransportFormat, write_missing, write_picture_request,
};
pub use frame::{Compound, Form, HEADER_BYTES, PacketType, Raw};
pub use goodbye::{Application, Goodbye, SOURCES_MAX};
pub use report::{BLOCKS_MAX, Blocks, Report, ReportBlock, SenderInfo, write_report};
pub use sources::rewrite_sources;

use wire::Malformed;

/// A packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet<'a> {
    /// A sender or a receiver report.
    Report(Report<'a>),
    /// Who is behind sources.
    SourceDescription(Chunks<'a>),
    /// Sources leave.
    Goodbye(Goodbye<'a>),
    /// What an application defines.
    Application(Application<'a>),
    /// Feedback about packets.
    TransportFeedback(Feedback<'a>),
    /// Feedback about the payload.
    PayloadFeedback(Feedback<'a>),
    /// Extended reports.
    ExtendedReport(xr::ExtendedReport<'a>),
    /// One of a type that is not known: to be passed over, or on.
    Unknown(Raw<'a>),
}

impl<'a> Packet<'a> {
    /// Reads a packet of a [`Compound`].
    ///
    /// # Errors
    /// What does not follow the packet's section.
    pub fn read(raw: &Raw<'a>) -> Result<Self, Malformed> {
        let Some(kind) = PacketType::of(raw.number) else { return Ok(Self::Unknown(*raw)) };
        match kind {
            PacketType::SenderReport | PacketType::ReceiverReport => {
                Report::read(raw, kind).map(Self::Report)
            }
            PacketType::SourceDescription => Chunks::read(raw).map(Self::SourceDescription),
            PacketType::Goodbye => Goodbye::read(raw).map(Self::Goodbye),
            PacketType::Application => Application::read(raw).map(Self::Application),
            PacketType::TransportFeedback => Feedback::read(raw).map(Self::TransportFeedback),
            PacketType::PayloadFeedback => Feedback::read(raw).map(Self::PayloadFeedback),
            PacketType::ExtendedReport => xr::ExtendedReport::read(raw).map(Self::ExtendedReport),
        }
    }
}
