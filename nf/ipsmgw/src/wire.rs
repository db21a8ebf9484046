//! What is counted of messages of SIP, and of what else the gateway has.

use sip_stack::egress::{Counted, Egress};

event::metrics! {
    /// What the gateway counts of SIP, and of what else it has.
    pub enum SipMetric {
        /// SIP messages received.
        MessagesReceived = Counter, "ipsmgw_sip_messages_received_total";
        /// SIP messages sent.
        MessagesSent = Counter, "ipsmgw_sip_messages_sent_total";
        /// SIP messages sent once more.
        Resent = Counter, "ipsmgw_sip_messages_resent_total";
        /// SIP messages that are longer than one may be, and were not sent.
        Unsendable = Counter, "ipsmgw_sip_unsendable_total";
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
        /// Octets of changes that are not on disk, or in the ring, yet.
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
        /// Answers that wait until the standby of the pair has what they say.
        StandbyHeld = Gauge, "ipsmgw_store_standby_waiting";
        /// Answers that left though the standby had not said that it has what they say.
        StandbyMissed = Counter, "ipsmgw_store_standby_missed_total";
        /// Rows that were refused because the standby is behind.
        StandbyBehind = Counter, "ipsmgw_store_standby_behind_total";
        /// Questions to the ring of the store that it has not answered yet.
        RowsAsked = Gauge, "ipsmgw_store_ring_under_way";
        /// Rows that the ring of the store has yet to be told.
        RowsLate = Gauge, "ipsmgw_store_ring_late_rows";
        /// Questions that the ring of the store has answered.
        RowsAnswered = Counter, "ipsmgw_store_ring_answered_total";
        /// Questions that the ring of the store has not answered, or not in time.
        RowsUnanswered = Counter, "ipsmgw_store_ring_unanswered_total";
    }
}

/// What every message passes on its way in and out.
pub(crate) type Wire = Egress<SipMetric>;

/// How messages that leave are counted.
pub(crate) const COUNTED: Counted<SipMetric> = Counted {
    sent: SipMetric::MessagesSent,
    resent: SipMetric::Resent,
    unsendable: SipMetric::Unsendable,
};
