//! What is counted.

event::metrics! {
    /// Metrics of an SCCP node.
    pub enum Metric {
        /// A message came from MTP3.
        MessagesIn = Counter, "sccp_messages_in_total";
        /// A message was given to MTP3.
        MessagesOut = Counter, "sccp_messages_out_total";
        /// A message was not well-formed and was discarded.
        Malformed = Counter, "sccp_malformed_total";
        /// An N-UNITDATA indication.
        Delivered = Counter, "sccp_delivered_total";
        /// An N-NOTICE indication.
        Notices = Counter, "sccp_notices_total";
        /// A message was sent on to another node.
        Relayed = Counter, "sccp_relayed_total";
        /// A global title was translated.
        Translated = Counter, "sccp_translated_total";
        /// A message could not be delivered and was returned.
        Returned = Counter, "sccp_returned_total";
        /// A message could not be delivered and was discarded.
        Discarded = Counter, "sccp_discarded_total";
        /// No rule for a global title.
        Untranslated = Counter, "sccp_untranslated_total";
        /// A title would have led a message back to the node that it came from.
        Circular = Counter, "sccp_circular_total";
        /// The hop counter of a message ran out.
        HopsExceeded = Counter, "sccp_hops_exceeded_total";
        /// A message went out in segments.
        Segmented = Counter, "sccp_segmented_total";
        /// A message came in segments and is whole.
        Reassembled = Counter, "sccp_reassembled_total";
        /// A segment lacked or came out of order.
        ReassemblyFailed = Counter, "sccp_reassembly_failed_total";
        /// The reassembly timer ran out.
        ReassemblyExpired = Counter, "sccp_reassembly_expired_total";
        /// A segment found no room.
        ReassemblyShed = Counter, "sccp_reassembly_shed_total";
        /// A connection was refused.
        ConnectionsRefused = Counter, "sccp_connections_refused_total";
        /// A connection was established.
        ConnectionsBegun = Counter, "sccp_connections_begun_total";
        /// Two sections of a connection were coupled at this node.
        ConnectionsCoupled = Counter, "sccp_connections_coupled_total";
        /// A connection was released.
        ConnectionsReleased = Counter, "sccp_connections_released_total";
        /// A timer ended a connection.
        ConnectionsExpired = Counter, "sccp_connections_expired_total";
        /// A connection, or data of one, found no room.
        ConnectionsShed = Counter, "sccp_connections_shed_total";
        /// A connection was reset.
        ConnectionResets = Counter, "sccp_connection_resets_total";
        /// A message that does not fit its connection was answered by ERR.
        ConnectionErrors = Counter, "sccp_connection_errors_total";
        /// A message of no connection, or that does not fit its own, was discarded.
        ConnectionMessagesDiscarded = Counter, "sccp_connection_messages_discarded_total";
        /// A message of management came.
        ManagementIn = Counter, "sccp_management_in_total";
        /// A message of management was sent.
        ManagementOut = Counter, "sccp_management_out_total";
        /// The status of a destination found no room.
        RemotesShed = Counter, "sccp_remotes_shed_total";
    }
}
