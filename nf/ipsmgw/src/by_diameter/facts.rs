//! What is counted of Sh.

event::facts! {
    /// Facts of a gateway and its home subscriber server.
    pub enum HomeFact {
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
        /// Subscribers whose reachability is waited for.
        Watched = Gauge, "ipsmgw_sh_subscriptions";
    }
}
