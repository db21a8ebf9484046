//! What the gateway counts.

event::metrics! {
    /// The metrics of the IP short message gateway.
    pub enum Metric {
        /// Third-party registrations that were stored.
        Registered = Counter, "ipsmgw_registrations_total";
        /// Third-party registrations refused: no number, or no room.
        RegistrationRefused = Counter, "ipsmgw_registrations_refused_total";
        /// Registrations that were ended.
        Deregistered = Counter, "ipsmgw_deregistrations_total";
        /// Messages of terminals that a service centre took.
        Submitted = Counter, "ipsmgw_submissions_total";
        /// Messages of terminals that were refused or lost.
        SubmissionFailed = Counter, "ipsmgw_submissions_failed_total";
        /// Messages delivered over IP.
        DeliveredByIp = Counter, "ipsmgw_deliveries_ps_total";
        /// Messages delivered by an MSC, SGSN or MME.
        DeliveredByCircuits = Counter, "ipsmgw_deliveries_cs_total";
        /// Messages that were not delivered.
        DeliveryFailed = Counter, "ipsmgw_deliveries_failed_total";
        /// Attempts after which the next way was tried.
        Fallbacks = Counter, "ipsmgw_fallbacks_total";
        /// Routing information that was given out.
        Routed = Counter, "ipsmgw_routing_total";
        /// Questions for routing information that were answered with an error.
        RoutingFailed = Counter, "ipsmgw_routing_failed_total";
        /// Messages of terminals that came again and were not sent again.
        Duplicates = Counter, "ipsmgw_duplicates_total";
        /// Messages of terminals refused because their sender sent too many.
        Limited = Counter, "ipsmgw_senders_limited_total";
        /// Deliveries refused because their correlation IMSI was never given out.
        Uncorrelated = Counter, "ipsmgw_deliveries_uncorrelated_total";
        /// Messages of terminals refused because they may not send to the service centre.
        CentreRefused = Counter, "ipsmgw_centres_refused_total";
        /// Messages and operations that could not be read.
        Malformed = Counter, "ipsmgw_malformed_total";
        /// Dialogues refused: another context, or an address that may not.
        DialoguesRefused = Counter, "ipsmgw_dialogues_refused_total";
        /// Rows that peers would have had stored, beyond their share.
        SharesRefused = Counter, "ipsmgw_shares_refused_total";
        /// What was refused because the table of flows was full.
        Overload = Counter, "ipsmgw_flows_refused_total";
        /// Terminals that said that they have memory again.
        MemoryAvailable = Counter, "ipsmgw_memory_available_total";
        /// Alerts to service centres.
        Alerts = Counter, "ipsmgw_alerts_total";
        /// Attempts of the gateway's own centre after which a message waits on.
        Postponed = Counter, "ipsmgw_postponed_total";
        /// Messages of the gateway's own centre whose validity ended.
        Expired = Counter, "ipsmgw_expired_total";
        /// Messages refused because too many wait.
        Full = Counter, "ipsmgw_full_total";
        /// Status reports that found no room.
        ReportsLost = Counter, "ipsmgw_status_reports_lost_total";
        /// Messages that wait at the gateway's own centre.
        Waiting = Gauge, "ipsmgw_waiting_messages";
        /// Subscribers whose messages wait at the gateway's own centre.
        WaitingSubscribers = Gauge, "ipsmgw_waiting_subscribers";
        /// Flows under way.
        Flows = Gauge, "ipsmgw_flows";
    }
}
