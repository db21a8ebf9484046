//! What the gateway counts, beside what the M3UA process and the SCTP endpoint count themselves.

event::metrics! {
    /// The metrics of the signalling gateway.
    pub enum Metric {
        /// MSUs that came from peers.
        Received = Counter, "sgc_msus_received_total";
        /// MSUs passed on towards their destination.
        Relayed = Counter, "sgc_msus_relayed_total";
        /// MSUs taken by a user of this node.
        Local = Counter, "sgc_msus_local_total";
        /// MSUs that users of this node sent.
        Sent = Counter, "sgc_msus_sent_total";
        /// MSUs discarded because nothing serves or leads to their destination.
        NoRoute = Counter, "sgc_msus_no_route_total";
        /// MSUs discarded because they would have gone back to where they came from.
        Circular = Counter, "sgc_msus_circular_total";
        /// MSUs for this node discarded because no user takes their Service Indicator.
        NoUser = Counter, "sgc_msus_no_user_total";
        /// MSUs discarded because they had waited too long.
        Overload = Counter, "sgc_msus_overload_shed_total";
        /// MSUs discarded because a peer sent them with a point code of this node as origin.
        ScreenedOwn = Counter, "sgc_msus_screened_own_total";
        /// MSUs discarded because their origin is none that may come from their peer.
        ScreenedOrigin = Counter, "sgc_msus_screened_origin_total";
        /// MSUs discarded because their peer may not send to their destination.
        ScreenedDestination = Counter, "sgc_msus_screened_destination_total";
        /// MSUs discarded because their peer may not send their Service or Network Indicator.
        ScreenedService = Counter, "sgc_msus_screened_service_total";
        /// SSNM of ASPs and IPSPs ignored because its destinations are none of their own.
        ScreenedNetwork = Counter, "sgc_ssnm_screened_total";
        /// Messages with TCAP that the rules of a set were asked about.
        RuledJudged = Counter, "sgc_screening_judged_total";
        /// Rules that held, those that only count and those that let pass included.
        RuledHits = Counter, "sgc_screening_hits_total";
        /// Messages that rules refused, and what no rule could be asked about and was refused.
        RuledRefused = Counter, "sgc_screening_refused_total";
        /// Messages for a subsystem of TCAP that were not well-formed.
        RuledUnreadable = Counter, "sgc_screening_unreadable_total";
        /// Segments of messages that this node relays.
        RuledSegments = Counter, "sgc_screening_segments_total";
        /// Subscribers whose last place is known.
        RuledPlaces = Gauge, "sgc_screening_places";
        /// MSUs discarded because the send buffer of their association was full.
        TransportShed = Counter, "sgc_msus_transport_shed_total";
        /// Messages of dialogues that their shard did not take: what began was aborted.
        Unserved = Counter, "sgc_dialogue_messages_unserved_total";
        /// Messages that an association was lost with, or that were given up on the way.
        Lost = Counter, "sgc_messages_lost_total";
        /// Messages for a peer whose association had gone already.
        Unsent = Counter, "sgc_messages_unsent_total";
        /// Associations refused because their address belongs to no peer that waits for one.
        Refused = Counter, "sgc_associations_refused_total";
        /// Associations refused because that of the peer they claim to be stands and answers.
        ClaimRefused = Counter, "sgc_association_claims_refused_total";
        /// Associations that this node set out to open.
        Attempts = Counter, "sgc_associations_attempted_total";
        /// Peers whose association stands.
        Associated = Gauge, "sgc_peers_associated";
        /// Peers whose association does not stand.
        Lacking = Gauge, "sgc_peers_without_association";
        /// Application Servers that are AS-ACTIVE.
        ServersActive = Gauge, "sgc_as_active";
        /// Application Servers that are AS-PENDING.
        ServersPending = Gauge, "sgc_as_pending";
        /// Application Servers that are AS-DOWN or AS-INACTIVE.
        ServersDown = Gauge, "sgc_as_down";
        /// MSUs that wait for an ASP.
        Waiting = Gauge, "sgc_msus_waiting";
        /// Highest level of congestion of any association, 0 to 3.
        Congestion = Gauge, "sgc_congestion_level";
        /// Time that messages waited before they were looked at, microseconds.
        QueueDelay = Histogram, "sgc_queue_delay_us";
    }
}

event::metrics! {
    /// What is counted of each application.
    pub enum ApplicationMetric {
        /// Instances that are connected.
        Instances = Gauge, "sgc_application_instances";
        /// Dialogues that stand.
        Dialogues = Gauge, "sgc_application_dialogues";
        /// Dialogues that began elsewhere and were given to an instance.
        BegunThere = Counter, "sgc_application_begun_there_total";
        /// Dialogues that instances began.
        BegunHere = Counter, "sgc_application_begun_here_total";
        /// Dialogues that began anew at a second instance.
        Again = Counter, "sgc_application_again_total";
        /// Dialogues that were resumed at a second instance.
        Resumed = Counter, "sgc_application_resumed_total";
        /// Dialogues that were aborted because their instance was lost.
        Lost = Counter, "sgc_application_lost_total";
        /// Dialogues that were refused because there are as many as there may be.
        ShedFull = Counter, "sgc_application_shed_full_total";
        /// Dialogues that were refused because too much waits for every instance, and connections
        /// of which more came than theirs reads.
        ShedSlow = Counter, "sgc_application_shed_slow_total";
        /// Dialogues that were aborted because they waited too long for their instance to read.
        ShedLate = Counter, "sgc_application_shed_late_total";
        /// Messages that were not said because they are too long: their dialogues were aborted.
        TooLong = Counter, "sgc_application_too_long_total";
        /// Dialogues and messages that came while no instance was there.
        Absent = Counter, "sgc_application_absent_total";
        /// Messages of instances that were not understood.
        Malformed = Counter, "sgc_application_malformed_total";
        /// Requests of instances that were not carried out.
        Refused = Counter, "sgc_application_refused_total";
        /// Connections that were turned away.
        TurnedAway = Counter, "sgc_application_turned_away_total";
        /// Instances that were lost.
        Ended = Counter, "sgc_application_ended_total";
        /// Instances that were closed because they read too slowly.
        TooSlow = Counter, "sgc_application_too_slow_total";
    }
}
