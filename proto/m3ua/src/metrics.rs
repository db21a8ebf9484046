//! What is counted.

event::metrics! {
    /// Metrics of an M3UA process.
    pub enum Metric {
        /// A message came.
        MessagesIn = Counter, "m3ua_messages_in_total";
        /// A message was sent.
        MessagesOut = Counter, "m3ua_messages_out_total";
        /// DATA was given to the user.
        DataIn = Counter, "m3ua_data_in_total";
        /// DATA was sent.
        DataOut = Counter, "m3ua_data_out_total";
        /// DATA came in a state that does not take it and was discarded.
        DataDiscarded = Counter, "m3ua_data_discarded_total";
        /// An MSU found neither Application Server nor way and was discarded.
        Unroutable = Counter, "m3ua_unroutable_total";
        /// An MSU was too long and was refused.
        Oversized = Counter, "m3ua_oversized_total";
        /// An MSU waits for an ASP.
        Buffered = Counter, "m3ua_buffered_total";
        /// An MSU that waited was sent.
        Recovered = Counter, "m3ua_recovered_total";
        /// An MSU found the buffer full and was discarded.
        Shed = Counter, "m3ua_shed_total";
        /// T(r) ran out for an MSU that waited.
        Expired = Counter, "m3ua_expired_total";
        /// A parameter that a message has not was passed over.
        ParametersIgnored = Counter, "m3ua_parameters_ignored_total";
        /// An ERR was sent.
        ErrorsOut = Counter, "m3ua_errors_out_total";
        /// An ERR came.
        ErrorsIn = Counter, "m3ua_errors_in_total";
        /// An NTFY was sent.
        NotifiesOut = Counter, "m3ua_notifies_out_total";
        /// An NTFY came.
        NotifiesIn = Counter, "m3ua_notifies_in_total";
        /// T(ack) ran out.
        Retransmissions = Counter, "m3ua_retransmissions_total";
        /// A peer never answered.
        Unanswered = Counter, "m3ua_unanswered_total";
        /// A peer's heartbeat stopped.
        HeartbeatsLost = Counter, "m3ua_heartbeats_lost_total";
        /// An association came up.
        AssociationsUp = Counter, "m3ua_associations_up_total";
        /// An association was lost.
        AssociationsLost = Counter, "m3ua_associations_lost_total";
        /// An AS became AS-ACTIVE.
        ServersActive = Counter, "m3ua_as_active_total";
        /// An AS became AS-PENDING.
        ServersPending = Counter, "m3ua_as_pending_total";
        /// A Routing Key was registered.
        Registrations = Counter, "m3ua_registrations_total";
        /// A registration was refused.
        RegistrationsRefused = Counter, "m3ua_registrations_refused_total";
        /// A status of a destination found no room.
        DestinationsShed = Counter, "m3ua_destinations_shed_total";
        /// An audit was answered.
        Audits = Counter, "m3ua_audits_total";
        /// An input named a peer that is not up.
        Stray = Counter, "m3ua_stray_total";
    }
}
