//! What is counted.

event::metrics! {
    /// Metrics of the transactions of a shard.
    pub enum Metric {
        /// A message came.
        MessagesIn = Counter, "tcap_messages_in_total";
        /// A message was sent.
        MessagesOut = Counter, "tcap_messages_out_total";
        /// A dialogue was begun from here.
        BegunHere = Counter, "tcap_begun_here_total";
        /// A dialogue was begun from elsewhere.
        BegunThere = Counter, "tcap_begun_there_total";
        /// A message was not well-formed.
        Malformed = Counter, "tcap_malformed_total";
        /// A message was of no transaction.
        Unrecognized = Counter, "tcap_unrecognized_total";
        /// A begin found no room.
        Shed = Counter, "tcap_shed_total";
        /// A begin of a source that has its share was refused.
        ShedOfSource = Counter, "tcap_shed_of_source_total";
        /// A begin that had waited too long was refused: what stands goes first under overload.
        ShedLate = Counter, "tcap_shed_late_total";
        /// An abort was sent by TCAP itself.
        AbortsOut = Counter, "tcap_p_aborts_out_total";
        /// An abort came.
        AbortsIn = Counter, "tcap_aborts_in_total";
        /// A component was rejected here.
        Rejected = Counter, "tcap_rejected_total";
        /// An operation had no answer in time.
        Cancelled = Counter, "tcap_cancelled_total";
        /// Nothing was heard of a dialogue for too long.
        Idle = Counter, "tcap_idle_total";
        /// A message came back.
        Notices = Counter, "tcap_notices_total";
        /// Dialogues that stand.
        Dialogues = Gauge, "tcap_dialogues";
    }
}
