//! What calls cost: the units that they take from a shard's stock.

use crate::limits::Limits;
use machine::narrow::index;
use runtime::Transport;
use sip::{Header, Message};

impl Limits {
    /// What a call costs, by the transport it comes over, its flow and its media.
    #[must_use]
    pub fn cost(&self, transport: Transport, message: &Message<'_>) -> u16 {
        let units = &self.resources;
        let way = match transport {
            Transport::Udp => 0,
            Transport::Tcp => units.tcp,
            Transport::Tls => units.tls,
        };
        let lists = |header| message.lists(header, b"100rel");
        let is_reliable = lists(Header::Supported) || lists(Header::Require);
        let flow = if is_reliable { units.reliable } else { 0 };
        let lines = memchr::memmem::find_iter(message.body(), b"\nm=").count();
        let lines = index(lines);
        let media = units.media.saturating_mul(lines.saturating_sub(1));
        units.call.saturating_add(way).saturating_add(flow).saturating_add(media)
    }

    /// What its media cost beyond that, where they are anchored; `protected` are the sides with
    /// SRTP.
    #[must_use]
    pub fn media_cost(&self, protected: u16, is_transcoded: bool) -> u16 {
        let units = &self.resources;
        let srtp = units.srtp.saturating_mul(protected);
        let transcoding = if is_transcoded { units.transcoding } else { 0 };
        units.anchored.saturating_add(srtp).saturating_add(transcoding)
    }
}
