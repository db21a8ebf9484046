//! What is counted of Sh, S6c and SGd.

event::metrics! {
    /// Metrics of a gateway and its peers of Diameter.
    pub enum HomeMetric {
        /// Requests of Sh that were sent.
        Asked = Counter, "ipsmgw_sh_requests_total";
        /// Requests of Sh that nobody answered, or that were answered with an error.
        Failed = Counter, "ipsmgw_sh_failures_total";
        /// Numbers of subscribers that the home subscriber server told.
        Numbers = Counter, "ipsmgw_sh_numbers_total";
        /// Subscribers who could be reached again, as the home subscriber server told.
        Reachable = Counter, "ipsmgw_sh_reachable_total";
        /// Notifications of what was not subscribed to.
        Unwanted = Counter, "ipsmgw_sh_notifications_refused_total";
        /// Subscribers whose reachability is not waited for, since that of too many is.
        Crowded = Counter, "ipsmgw_sh_subscriptions_refused_total";
        /// Requests of S6c and SGd that were sent.
        PeersAsked = Counter, "ipsmgw_s6c_sgd_requests_total";
        /// Requests of S6c and SGd that nobody answered, or that were answered with an error.
        PeersFailed = Counter, "ipsmgw_s6c_sgd_failures_total";
        /// Requests of S6c and SGd that peers sent and that are answered by what became of them.
        PeersServed = Counter, "ipsmgw_s6c_sgd_served_total";
        /// Requests of S6c and SGd refused: they lack something, or their peer may not ask.
        PeersRefused = Counter, "ipsmgw_s6c_sgd_refused_total";
        /// Messages, or texts, that an online charging system has debited.
        Debited = Counter, "ipsmgw_ro_debited_total";
        /// Messages, or texts, that were not taken and were refunded.
        Refunded = Counter, "ipsmgw_ro_refunded_total";
        /// Requests of Ro that were answered with an error.
        ChargesRefused = Counter, "ipsmgw_ro_refused_total";
        /// Requests of Ro that nobody answered, and refunds that were not given.
        ChargesFailed = Counter, "ipsmgw_ro_failures_total";
        /// Subscribers whose reachability is waited for.
        Watched = Gauge, "ipsmgw_sh_subscriptions";
    }
}
