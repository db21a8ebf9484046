//! What is counted.

event::metrics! {
    /// Metrics of a Diameter node.
    pub enum Metric {
        /// A message came.
        MessagesIn = Counter, "diameter_messages_in_total";
        /// A message was sent.
        MessagesOut = Counter, "diameter_messages_out_total";
        /// A request came for this node.
        RequestsIn = Counter, "diameter_requests_in_total";
        /// A request of this node was sent.
        RequestsOut = Counter, "diameter_requests_out_total";
        /// A request was relayed.
        RequestsRelayed = Counter, "diameter_requests_relayed_total";
        /// A request was redirected.
        RequestsRedirected = Counter, "diameter_requests_redirected_total";
        /// A request was sent again to another peer, with the T bit.
        FailedOver = Counter, "diameter_requests_failed_over_total";
        /// A request was sent to another peer, since one has refused to deliver it.
        Rerouted = Counter, "diameter_requests_rerouted_total";
        /// Nobody has answered a request in time.
        Expired = Counter, "diameter_requests_expired_total";
        /// A request found no peer, or no room.
        NotSent = Counter, "diameter_requests_not_sent_total";
        /// A request came again.
        Duplicates = Counter, "diameter_duplicates_total";
        /// An answer that no request waits for was discarded.
        Stray = Counter, "diameter_stray_total";
        /// An answer found the connection of its request gone.
        AnswersLost = Counter, "diameter_answers_lost_total";
        /// The application has not answered in time.
        Unanswered = Counter, "diameter_unanswered_total";
        /// An answer with the E bit was sent.
        ErrorsOut = Counter, "diameter_errors_out_total";
        /// An answer with the E bit came.
        ErrorsIn = Counter, "diameter_errors_in_total";
        /// A message that offends came.
        Malformed = Counter, "diameter_malformed_total";
        /// A request was here before.
        Loops = Counter, "diameter_loops_total";
        /// A request was refused for want of room.
        Shed = Counter, "diameter_shed_total";
        /// A peer can be sent requests.
        PeersUp = Counter, "diameter_peers_up_total";
        /// A peer cannot be sent requests any more.
        PeersDown = Counter, "diameter_peers_down_total";
        /// A peer has left a watchdog unanswered.
        Suspects = Counter, "diameter_watchdogs_missed_total";
        /// A connection was refused.
        ConnectionsRefused = Counter, "diameter_connections_refused_total";
        /// Two connections with a peer stood, and one had to go.
        Elections = Counter, "diameter_elections_total";
    }
}
