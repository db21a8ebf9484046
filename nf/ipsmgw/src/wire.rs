//! The last step of every message of SIP: counted, captured, sent.

use event::Metrics;
use machine::Time;
use runtime::{Effects, Flow};
use sip::MESSAGE_BYTES_MAX;
use trail::{Capture, Event, Field, Seen, protocol_of};

event::metrics! {
    /// What the doorway of SIP counts.
    pub enum DoorMetric {
        /// SIP messages received.
        MessagesReceived = Counter, "ipsmgw_sip_messages_received_total";
        /// SIP messages sent.
        MessagesSent = Counter, "ipsmgw_sip_messages_sent_total";
        /// SIP messages sent once more.
        Resent = Counter, "ipsmgw_sip_messages_resent_total";
        /// SIP messages received once more.
        Retransmissions = Counter, "ipsmgw_sip_retransmissions_total";
        /// SIP messages that could not be read.
        Malformed = Counter, "ipsmgw_sip_malformed_total";
        /// Requests of others than the next hops, refused.
        Untrusted = Counter, "ipsmgw_sip_untrusted_total";
        /// Requests refused: a method or an extension that is not known here, or no sense in it.
        Refused = Counter, "ipsmgw_sip_refused_total";
        /// Requests refused because too much is under way.
        Overload = Counter, "ipsmgw_sip_overload_total";
        /// Messages sent to another target because one failed.
        Failovers = Counter, "ipsmgw_sip_failovers_total";
        /// Messages for which no target was there.
        Unroutable = Counter, "ipsmgw_sip_unroutable_total";
        /// Probes (OPTIONS) sent to next hops.
        Probes = Counter, "ipsmgw_probes_total";
        /// Targets of next hops that do not answer.
        TargetsDown = Gauge, "ipsmgw_targets_down";
        /// Transactions of SIP.
        Transactions = Gauge, "ipsmgw_sip_transactions";
        /// Captured messages and events.
        Captured = Counter, "ipsmgw_captured_total";
        /// Captured messages and events that were lost.
        CaptureShed = Counter, "ipsmgw_capture_shed_total";
        /// Rows that the store keeps.
        Rows = Gauge, "ipsmgw_store_rows";
        /// Octets of memory of those rows.
        RowOctets = Gauge, "ipsmgw_store_octets";
        /// Octets of changes that are not on disk yet.
        RowsUnsynced = Gauge, "ipsmgw_store_unsynced_octets";
        /// Links to signalling gateways that do not stand.
        LinksDown = Gauge, "ipsmgw_links_down";
        /// Dialogues of TCAP under way.
        Dialogues = Gauge, "ipsmgw_dialogues";
        /// Messages that came by links to signalling gateways.
        LinkReceived = Counter, "ipsmgw_link_messages_received_total";
        /// Messages sent by links to signalling gateways.
        LinkSent = Counter, "ipsmgw_link_messages_sent_total";
        /// Links to signalling gateways that stood and were lost.
        LinkLosses = Counter, "ipsmgw_link_losses_total";
        /// Dialogues of TCAP that found no link, or no room.
        LinkShed = Counter, "ipsmgw_dialogues_shed_total";
        /// Messages of links to signalling gateways that were not understood, there or here.
        LinkUnread = Counter, "ipsmgw_link_messages_unread_total";
        /// Rows of the store that could not be read.
        RowsUnread = Counter, "ipsmgw_store_rows_unread_total";
    }
}

/// What every message passes on its way in and out.
#[derive(Debug)]
pub struct Wire {
    /// The way to the collector.
    pub capture: Capture,
    /// The counters.
    pub metrics: Metrics<DoorMetric>,
}

impl Wire {
    pub(crate) fn received(&mut self, now: Time, flow: &Flow, trail: Option<u64>, bytes: &[u8]) {
        let (source, destination) = (flow.remote, flow.local);
        let protocol = protocol_of(flow.transport);
        let seen = Seen { source, destination, protocol, trail, bytes };
        self.capture.message(now, &seen, |_| true);
    }

    /// Sends what `write` writes, unless it is longer than a message may be.
    pub(crate) fn send(
        &mut self,
        now: Time,
        to: Flow,
        trail: Option<u64>,
        out: &mut Effects,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        out.send(to, |buffer| {
            let start = buffer.len();
            write(buffer);
            if buffer.len() - start > MESSAGE_BYTES_MAX {
                buffer.truncate(start);
            }
        });
        let Some((to, bytes)) = out.last() else { return };
        self.metrics.add(DoorMetric::MessagesSent, 1);
        let (source, destination) = (to.local, to.remote);
        let protocol = protocol_of(to.transport);
        let seen = Seen { source, destination, protocol, trail, bytes };
        self.capture.message(now, &seen, |_| true);
    }

    /// A message of another protocol than SIP passed.
    pub(crate) fn passed(&mut self, now: Time, kind: u8, seen: &Seen<'_>) {
        self.capture.message_of(now, kind, seen, |_| true);
    }

    /// Tells the service assurance what happened.
    pub(crate) fn event(
        &mut self,
        now: Time,
        flow: &Flow,
        trail: u64,
        event: Event,
        fields: &[(&str, Field<'_>)],
    ) {
        self.capture.event(now, flow, trail, event, fields);
    }
}
