//! What the gateway counts, beside what the M3UA process and the SCTP doorway count themselves.

event::facts! {
    /// The facts of the signalling gateway.
    pub enum Fact {
        /// An MSU came from a peer.
        Received = Counter, Debug, "sgc_msus_received_total", "MSUs that came from peers";
        /// An MSU was given to the Application Server or the gateway of its destination.
        Relayed = Counter, Debug, "sgc_msus_relayed_total",
            "MSUs passed on towards their destination";
        /// An MSU for a point code of this node was taken by a user here.
        Local = Counter, Debug, "sgc_msus_local_total", "MSUs taken by a user of this node";
        /// A user here sent an MSU.
        Sent = Counter, Debug, "sgc_msus_sent_total", "MSUs that users of this node sent";
        /// An MSU had no way to its destination.
        NoRoute = Counter, Info, "sgc_msus_no_route_total",
            "MSUs discarded because nothing serves or leads to their destination";
        /// An MSU would have gone back to where it came from.
        Circular = Counter, Warn, "sgc_msus_circular_total",
            "MSUs discarded because they would have gone back to where they came from";
        /// No user here takes that Service Indicator.
        NoUser = Counter, Info, "sgc_msus_no_user_total",
            "MSUs for this node discarded because no user takes their Service Indicator";
        /// An MSU waited too long before it was looked at.
        Overload = Counter, Warn, "sgc_msus_overload_shed_total",
            "MSUs discarded because they had waited too long";
        /// An MSU said that it comes from this node.
        ScreenedOwn = Counter, Warn, "sgc_msus_screened_own_total",
            "MSUs discarded because a peer sent them with a point code of this node as origin";
        /// The origin of an MSU was none of its peer's.
        ScreenedOrigin = Counter, Warn, "sgc_msus_screened_origin_total",
            "MSUs discarded because their origin is none that may come from their peer";
        /// An MSU went where its peer may not send.
        ScreenedDestination = Counter, Warn, "sgc_msus_screened_destination_total",
            "MSUs discarded because their peer may not send to their destination";
        /// An MSU was of a kind that its peer may not send.
        ScreenedService = Counter, Warn, "sgc_msus_screened_service_total",
            "MSUs discarded because their peer may not send their Service or Network Indicator";
        /// An ASP or IPSP told of destinations that are none of its own.
        ScreenedNetwork = Counter, Warn, "sgc_ssnm_screened_total",
            "SSNM of ASPs and IPSPs ignored because its destinations are none of their own";
        /// An association's send buffer was full.
        TransportShed = Counter, Warn, "sgc_msus_transport_shed_total",
            "MSUs discarded because the send buffer of their association was full";
        /// A message was given to an association that was lost before it arrived, or one of
        /// management found its send buffer full.
        Lost = Counter, Warn, "sgc_messages_lost_total",
            "Messages that an association was lost with, or that were given up on the way";
        /// A message was for a peer without an association.
        Unsent = Counter, Info, "sgc_messages_unsent_total",
            "Messages for a peer whose association had gone already";
        /// An association from an address of no peer.
        Refused = Counter, Warn, "sgc_associations_refused_total",
            "Associations refused because their address belongs to no peer that waits for one";
        /// An association claimed a peer whose own stands and answers.
        ClaimRefused = Counter, Warn, "sgc_association_claims_refused_total",
            "Associations refused because that of the peer they claim to be stands and answers";
        /// An association was asked for.
        Attempts = Counter, Info, "sgc_associations_attempted_total",
            "Associations that this node set out to open";
        /// Peers with an association.
        Associated = Gauge, Debug, "sgc_peers_associated", "Peers whose association stands";
        /// Peers without one.
        Lacking = Gauge, Warn, "sgc_peers_without_association",
            "Peers whose association does not stand";
        /// Application Servers that are AS-ACTIVE.
        ServersActive = Gauge, Debug, "sgc_as_active", "Application Servers that are AS-ACTIVE";
        /// Application Servers that are AS-PENDING.
        ServersPending = Gauge, Warn, "sgc_as_pending", "Application Servers that are AS-PENDING";
        /// Application Servers without an active ASP.
        ServersDown = Gauge, Warn, "sgc_as_down",
            "Application Servers that are AS-DOWN or AS-INACTIVE";
        /// MSUs that wait for an ASP.
        Waiting = Gauge, Debug, "sgc_msus_waiting", "MSUs that wait for an ASP";
        /// Highest level of congestion of any association.
        Congestion = Gauge, Warn, "sgc_congestion_level",
            "Highest level of congestion of any association, 0 to 3";
        /// How long messages wait.
        QueueDelay = Histogram, Debug, "sgc_queue_delay_us",
            "Time that messages waited before they were looked at, microseconds";
    }
}
