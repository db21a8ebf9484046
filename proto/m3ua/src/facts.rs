//! What is counted.

event::facts! {
    /// Facts of an M3UA process.
    pub enum Fact {
        /// A message came.
        MessagesIn = Counter, Debug, "m3ua_messages_in_total", "A message came";
        /// A message was sent.
        MessagesOut = Counter, Debug, "m3ua_messages_out_total", "A message was sent";
        /// DATA came and was given to the user.
        DataIn = Counter, Debug, "m3ua_data_in_total", "DATA was given to the user";
        /// DATA was sent.
        DataOut = Counter, Debug, "m3ua_data_out_total", "DATA was sent";
        /// DATA came in a state or for a context that does not take it, and was discarded.
        DataDiscarded = Counter, Info, "m3ua_data_discarded_total",
            "DATA came in a state that does not take it and was discarded";
        /// An MSU found no Application Server and no way to its destination.
        Unroutable = Counter, Info, "m3ua_unroutable_total",
            "An MSU found neither Application Server nor way and was discarded";
        /// An MSU was too long for the 16-bit length of Protocol Data.
        Oversized = Counter, Warn, "m3ua_oversized_total", "An MSU was too long and was refused";
        /// An MSU waits because its Application Server is AS-PENDING.
        Buffered = Counter, Info, "m3ua_buffered_total", "An MSU waits for an ASP";
        /// An MSU that waited was sent.
        Recovered = Counter, Info, "m3ua_recovered_total", "An MSU that waited was sent";
        /// An MSU found the buffer of its Application Server full and was discarded.
        Shed = Counter, Warn, "m3ua_shed_total", "An MSU found the buffer full and was discarded";
        /// An MSU had waited when T(r) ran out and was discarded.
        Expired = Counter, Warn, "m3ua_expired_total", "T(r) ran out for an MSU that waited";
        /// An ERR was sent.
        ErrorsOut = Counter, Info, "m3ua_errors_out_total", "An ERR was sent";
        /// An ERR came.
        ErrorsIn = Counter, Info, "m3ua_errors_in_total", "An ERR came";
        /// An NTFY was sent.
        NotifiesOut = Counter, Info, "m3ua_notifies_out_total", "An NTFY was sent";
        /// An NTFY came.
        NotifiesIn = Counter, Info, "m3ua_notifies_in_total", "An NTFY came";
        /// T(ack) ran out and the message was sent again.
        Retransmissions = Counter, Info, "m3ua_retransmissions_total", "T(ack) ran out";
        /// A peer gave no answer to as many messages as there may be.
        Unanswered = Counter, Warn, "m3ua_unanswered_total", "A peer never answered";
        /// A peer's heartbeat stopped; the association was aborted.
        HeartbeatsLost = Counter, Warn, "m3ua_heartbeats_lost_total", "A peer's heartbeat stopped";
        /// An association came up.
        AssociationsUp = Counter, Info, "m3ua_associations_up_total", "An association came up";
        /// An association was lost or restarted.
        AssociationsLost = Counter, Warn, "m3ua_associations_lost_total", "An association was lost";
        /// An Application Server became AS-ACTIVE.
        ServersActive = Counter, Info, "m3ua_as_active_total", "An AS became AS-ACTIVE";
        /// An Application Server became AS-PENDING.
        ServersPending = Counter, Warn, "m3ua_as_pending_total", "An AS became AS-PENDING";
        /// A Routing Key was registered.
        Registrations = Counter, Info, "m3ua_registrations_total", "A Routing Key was registered";
        /// A registration was refused.
        RegistrationsRefused = Counter, Info, "m3ua_registrations_refused_total",
            "A registration was refused";
        /// A status of a destination found no room and was not kept.
        DestinationsShed = Counter, Warn, "m3ua_destinations_shed_total",
            "A status of a destination found no room";
        /// An audit was answered.
        Audits = Counter, Debug, "m3ua_audits_total", "An audit was answered";
        /// Something was told of a peer or server that does not exist, or of a peer that is not up.
        Stray = Counter, Debug, "m3ua_stray_total", "An input named a peer that is not up";
    }
}
