//! What an endpoint counts.

event::facts! {
    /// The facts of one endpoint.
    pub enum AssociationFact {
        /// Associations that stand.
        Standing = Gauge, Debug, "sctp_associations", "Associations that stand";
        /// An association came to stand.
        Up = Counter, Info, "sctp_associations_up_total", "Associations that came to stand";
        /// An association ended in order.
        Ended = Counter, Info, "sctp_associations_shut_down_total",
            "Associations that ended by a shutdown";
        /// An association was lost.
        Lost = Counter, Warn, "sctp_associations_lost_total",
            "Associations that were aborted or whose peer no longer answered";
        /// A peer restarted.
        Restarted = Counter, Warn, "sctp_associations_restarted_total",
            "Restarts of peers whose association stood";
        /// An association could not begin.
        Refused = Counter, Warn, "sctp_associations_refused_total",
            "Associations that the function wanted and could not begin";
        /// Packets received.
        PacketIn = Counter, Debug, "sctp_packets_in_total", "Packets received";
        /// Packets sent.
        PacketOut = Counter, Debug, "sctp_packets_out_total", "Packets sent";
        /// Messages received.
        MessageIn = Counter, Debug, "sctp_messages_in_total", "User messages received";
        /// Messages taken for sending.
        MessageOut = Counter, Debug, "sctp_messages_out_total",
            "User messages given to associations for sending";
        /// Messages that came back.
        SendFailed = Counter, Warn, "sctp_send_failures_total",
            "User messages whose arrival is not certain, a full send buffer included";
        /// A path stopped to work.
        PathFailed = Counter, Warn, "sctp_paths_failed_total",
            "Paths that became inactive or potentially failed";
        /// A path works again.
        PathWorks = Counter, Info, "sctp_paths_active_total", "Paths that became active";
        /// The peer reported an error.
        PeerError = Counter, Info, "sctp_errors_in_total", "Errors that peers reported";
        /// A checksum was wrong.
        Checksum = Counter, Warn, "sctp_dropped_checksum_total",
            "Packets dropped because their checksum was wrong";
        /// A packet was malformed.
        Malformed = Counter, Warn, "sctp_dropped_malformed_total",
            "Packets dropped because their header or first chunk was malformed";
        /// A Verification Tag was wrong.
        Tag = Counter, Warn, "sctp_dropped_tag_total",
            "Packets dropped because their Verification Tag was wrong";
        /// A packet belonged to nothing.
        OutOfTheBlue = Counter, Info, "sctp_out_of_the_blue_total",
            "Packets that belonged to no association";
        /// A cookie was not ours.
        Cookie = Counter, Warn, "sctp_dropped_cookie_total",
            "Cookies dropped because they were not signed here or belong to nothing";
        /// A cookie was too old.
        Stale = Counter, Info, "sctp_cookies_stale_total", "Cookies that were too old";
        /// A cookie found no room.
        Full = Counter, Warn, "sctp_associations_full_total",
            "Cookies refused because there were as many associations as there may be";
        /// A packet without an association was not answered.
        Unanswered = Counter, Warn, "sctp_unanswered_total",
            "Packets without an association that were not answered: too many from there, or in all";
        /// A packet found no port.
        Unsent = Counter, Warn, "sctp_dropped_no_port_total",
            "Packets dropped because no port has an address of their family";
    }
}
