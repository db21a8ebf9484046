//! What the reflector counts.

event::metrics! {
    /// The metrics of the route reflector.
    pub enum Metric {
        /// Sessions that came to exchange routes.
        Established = Counter, "rr_sessions_established_total";
        /// Sessions that ended.
        Dropped = Counter, "rr_sessions_dropped_total";
        /// Connections that ended before routes were exchanged.
        Failed = Counter, "rr_sessions_failed_total";
        /// Connections that this node set out to open.
        Attempts = Counter, "rr_connections_attempted_total";
        /// Connections refused because their address belongs to no peer.
        Refused = Counter, "rr_connections_refused_total";
        /// Connections refused because the group of their range has as many peers as it may.
        RangeFull = Counter, "rr_connections_range_full_total";
        /// Connections refused because too many from the same /64 have sent no OPEN yet.
        RangeSilent = Counter, "rr_connections_range_silent_total";
        /// Sessions that ended because nothing came for the hold time.
        HoldExpired = Counter, "rr_hold_expired_total";
        /// Sessions that ended because the peer read nothing for the send hold time.
        SendHoldExpired = Counter, "rr_send_hold_expired_total";
        /// Messages of peers that ended their session.
        Offended = Counter, "rr_offences_total";
        /// UPDATEs that offended and were answered without an end of the session (RFC 7606).
        Tolerated = Counter, "rr_offences_tolerated_total";
        /// Times that a peer had more routes than it may.
        Exceeded = Counter, "rr_prefix_limits_exceeded_total";
        /// UPDATEs that came.
        UpdatesIn = Counter, "rr_updates_received_total";
        /// Routes that peers announced.
        RoutesIn = Counter, "rr_routes_announced_total";
        /// Routes that peers withdrew.
        WithdrawnIn = Counter, "rr_routes_withdrawn_total";
        /// UPDATEs that were given to the transport.
        UpdatesOut = Counter, "rr_updates_sent_total";
        /// Octets of UPDATEs that were given to the transport.
        OctetsOut = Counter, "rr_update_octets_sent_total";
        /// ROUTE-REFRESHes by which peers asked for a family again.
        Refreshes = Counter, "rr_refreshes_received_total";
        /// Answers of caches of validated prefixes that were taken up.
        CacheLoads = Counter, "rr_rpki_loads_total";
        /// Failures of caches of validated prefixes.
        CacheFailures = Counter, "rr_rpki_failures_total";
        /// Times that the validated prefixes expired because no cache confirmed them.
        CacheExpired = Counter, "rr_rpki_expired_total";
        /// Paths that a policy judged otherwise since the validated prefixes changed.
        Rejudged = Counter, "rr_rpki_paths_changed_total";
        /// Validated prefixes of both families.
        CacheRecords = Gauge, "rr_rpki_records";
        /// Caches of validated prefixes that should answer and do not.
        CachesDown = Gauge, "rr_rpki_caches_down";
        /// Connections with monitoring stations that stood.
        StationsUp = Counter, "rr_bmp_sessions_total";
        /// Times that a monitoring station had been told every table.
        StationsComplete = Counter, "rr_bmp_tables_told_total";
        /// Monitoring stations that were disconnected because they read too slowly.
        StationsSlow = Counter, "rr_bmp_overflows_total";
        /// Monitoring stations without connection.
        StationsDown = Gauge, "rr_bmp_stations_down";
        /// Octets that wait for monitoring stations to read.
        StationsWaiting = Gauge, "rr_bmp_waiting_octets";
        /// Octets of MRT that were recorded.
        Recorded = Counter, "rr_mrt_octets_total";
        /// Octets of MRT that were not recorded because the file was too slow.
        RecordsLost = Counter, "rr_mrt_octets_lost_total";
        /// Peers, those that came from ranges included.
        Peers = Gauge, "rr_peers";
        /// Peers that came from ranges.
        DynamicPeers = Gauge, "rr_peers_dynamic";
        /// Peers whose session stands.
        PeersEstablished = Gauge, "rr_peers_established";
        /// Peers whose session should stand and does not.
        PeersDown = Gauge, "rr_peers_down";
        /// Peers from ranges whose session has ended and that have neither come back nor been
        /// forgotten.
        PeersAway = Gauge, "rr_peers_away";
        /// Routes of all families, however many paths they have, and whether or not import
        /// policies refuse these.
        Routes = Gauge, "rr_routes";
        /// Paths of all routes.
        Paths = Gauge, "rr_paths";
        /// Paths that import policies refuse.
        PathsRefused = Gauge, "rr_paths_refused";
        /// Attribute sets that paths share.
        AttributeSets = Gauge, "rr_attribute_sets";
        /// Octets that the tables take.
        TableOctets = Gauge, "rr_table_octets";
        /// Groups of peers that are told the same.
        Groups = Gauge, "rr_update_groups";
        /// Parts of update groups that stand at different places.
        Cohorts = Gauge, "rr_update_cohorts";
        /// Octets that wait for peers to read.
        Waiting = Gauge, "rr_waiting_octets";
    }
}
