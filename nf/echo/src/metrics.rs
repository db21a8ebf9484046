//! What a responder counts.

event::metrics! {
    /// The metrics of a responder.
    pub enum Metric {
        /// Datagrams that were sent back.
        Answered = Counter, "echo_answered_total";
        /// Datagrams that were not: too long, or of a service.
        Refused = Counter, "echo_refused_total";
    }
}
