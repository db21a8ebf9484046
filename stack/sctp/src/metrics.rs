//! What an endpoint counts.

event::metrics! {
    /// The metrics of one endpoint.
    pub enum AssociationMetric {
        /// Associations that stand.
        Standing = Gauge, "sctp_associations";
        /// Associations that came to stand.
        Up = Counter, "sctp_associations_up_total";
        /// Associations that ended by a shutdown.
        Ended = Counter, "sctp_associations_shut_down_total";
        /// Associations that were aborted or whose peer no longer answered.
        Lost = Counter, "sctp_associations_lost_total";
        /// Restarts of peers whose association stood.
        Restarted = Counter, "sctp_associations_restarted_total";
        /// Associations that the function wanted and could not begin.
        Refused = Counter, "sctp_associations_refused_total";
        /// Packets received.
        PacketIn = Counter, "sctp_packets_in_total";
        /// Packets sent.
        PacketOut = Counter, "sctp_packets_out_total";
        /// User messages received.
        MessageIn = Counter, "sctp_messages_in_total";
        /// User messages given to associations for sending.
        MessageOut = Counter, "sctp_messages_out_total";
        /// User messages whose arrival is not certain, a full send buffer included.
        SendFailed = Counter, "sctp_send_failures_total";
        /// Paths that became inactive or potentially failed.
        PathFailed = Counter, "sctp_paths_failed_total";
        /// Paths that became active.
        PathWorks = Counter, "sctp_paths_active_total";
        /// Errors that peers reported.
        PeerError = Counter, "sctp_errors_in_total";
        /// Packets dropped because their checksum was wrong.
        Checksum = Counter, "sctp_dropped_checksum_total";
        /// Packets dropped because their header or first chunk was malformed.
        Malformed = Counter, "sctp_dropped_malformed_total";
        /// Packets dropped because their Verification Tag was wrong.
        Tag = Counter, "sctp_dropped_tag_total";
        /// Packets that belonged to no association.
        OutOfTheBlue = Counter, "sctp_out_of_the_blue_total";
        /// Cookies dropped because they were not signed here or belong to nothing.
        Cookie = Counter, "sctp_dropped_cookie_total";
        /// Cookies that were too old.
        Stale = Counter, "sctp_cookies_stale_total";
        /// Cookies refused because there were as many associations as there may be.
        Full = Counter, "sctp_associations_full_total";
        /// Packets without an association that were not answered: too many from there, or in all.
        Unanswered = Counter, "sctp_unanswered_total";
        /// Packets dropped because no port has an address of their family.
        Unsent = Counter, "sctp_dropped_no_port_total";
    }
}
