//! What the reflector counts.

event::facts! {
    /// The facts of the route reflector.
    pub enum Fact {
        /// Routes can be exchanged with a peer.
        Established = Counter, Info, "rr_sessions_established_total",
            "Sessions that came to exchange routes";
        /// A session that exchanged routes ended.
        Dropped = Counter, Warn, "rr_sessions_dropped_total", "Sessions that ended";
        /// A connection ended before routes were exchanged.
        Failed = Counter, Info, "rr_sessions_failed_total",
            "Connections that ended before routes were exchanged";
        /// A connection was opened.
        Attempts = Counter, Debug, "rr_connections_attempted_total",
            "Connections that this node set out to open";
        /// A connection from an address of no peer.
        Refused = Counter, Warn, "rr_connections_refused_total",
            "Connections refused because their address belongs to no peer";
        /// A connection from a range whose group has as many peers as it may.
        RangeFull = Counter, Warn, "rr_connections_range_full_total",
            "Connections refused because the group of their range has as many peers as it may";
        /// A connection from a range where too many of its neighbours have said no OPEN yet.
        RangeSilent = Counter, Warn, "rr_connections_range_silent_total",
            "Connections refused because too many from the same /64 have sent no OPEN yet";
        /// A hold timer expired.
        HoldExpired = Counter, Warn, "rr_hold_expired_total",
            "Sessions that ended because nothing came for the hold time";
        /// A send hold timer expired.
        SendHoldExpired = Counter, Warn, "rr_send_hold_expired_total",
            "Sessions that ended because the peer read nothing for the send hold time";
        /// A peer sent what ended its session.
        Offended = Counter, Warn, "rr_offences_total",
            "Messages of peers that ended their session";
        /// An UPDATE offended, and the session went on.
        Tolerated = Counter, Warn, "rr_offences_tolerated_total",
            "UPDATEs that offended and were answered without an end of the session (RFC 7606)";
        /// A peer had more routes than it may.
        Exceeded = Counter, Warn, "rr_prefix_limits_exceeded_total",
            "Times that a peer had more routes than it may";
        /// An UPDATE came.
        UpdatesIn = Counter, Debug, "rr_updates_received_total", "UPDATEs that came";
        /// Routes were announced by peers.
        RoutesIn = Counter, Debug, "rr_routes_announced_total", "Routes that peers announced";
        /// Routes were withdrawn by peers.
        WithdrawnIn = Counter, Debug, "rr_routes_withdrawn_total", "Routes that peers withdrew";
        /// UPDATEs were given to the transport.
        UpdatesOut = Counter, Debug, "rr_updates_sent_total",
            "UPDATEs that were given to the transport";
        /// Octets of UPDATEs given to the transport.
        OctetsOut = Counter, Debug, "rr_update_octets_sent_total",
            "Octets of UPDATEs that were given to the transport";
        /// A peer asked for everything again.
        Refreshes = Counter, Info, "rr_refreshes_received_total",
            "ROUTE-REFRESHes by which peers asked for a family again";
        /// A cache of validated prefixes answered.
        CacheLoads = Counter, Info, "rr_rpki_loads_total",
            "Answers of caches of validated prefixes that were taken up";
        /// A cache of validated prefixes failed.
        CacheFailures = Counter, Warn, "rr_rpki_failures_total",
            "Failures of caches of validated prefixes";
        /// No cache confirmed the records for too long.
        CacheExpired = Counter, Warn, "rr_rpki_expired_total",
            "Times that the validated prefixes expired because no cache confirmed them";
        /// Paths that another verdict befell since the validated prefixes changed.
        Rejudged = Counter, Info, "rr_rpki_paths_changed_total",
            "Paths that a policy judged otherwise since the validated prefixes changed";
        /// Validated prefixes.
        CacheRecords = Gauge, Debug, "rr_rpki_records", "Validated prefixes of both families";
        /// Caches that should answer and do not.
        CachesDown = Gauge, Warn, "rr_rpki_caches_down",
            "Caches of validated prefixes that should answer and do not";
        /// A connection with a station stands.
        StationsUp = Counter, Info, "rr_bmp_sessions_total",
            "Connections with monitoring stations that stood";
        /// A station was told every table.
        StationsComplete = Counter, Info, "rr_bmp_tables_told_total",
            "Times that a monitoring station had been told every table";
        /// A station read too slowly.
        StationsSlow = Counter, Warn, "rr_bmp_overflows_total",
            "Monitoring stations that were disconnected because they read too slowly";
        /// Stations that are not told.
        StationsDown = Gauge, Warn, "rr_bmp_stations_down",
            "Monitoring stations without connection";
        /// Octets that wait for stations.
        StationsWaiting = Gauge, Debug, "rr_bmp_waiting_octets",
            "Octets that wait for monitoring stations to read";
        /// Octets were recorded.
        Recorded = Counter, Debug, "rr_mrt_octets_total", "Octets of MRT that were recorded";
        /// Octets could not be recorded.
        RecordsLost = Counter, Warn, "rr_mrt_octets_lost_total",
            "Octets of MRT that were not recorded because the file was too slow";
        /// Peers, dynamic ones included.
        Peers = Gauge, Debug, "rr_peers", "Peers, those that came from ranges included";
        /// Peers that came from ranges.
        DynamicPeers = Gauge, Debug, "rr_peers_dynamic", "Peers that came from ranges";
        /// Peers whose session stands.
        PeersEstablished = Gauge, Debug, "rr_peers_established", "Peers whose session stands";
        /// Peers whose session should stand and does not.
        PeersDown = Gauge, Warn, "rr_peers_down",
            "Peers whose session should stand and does not";
        /// Routes of all families.
        Routes = Gauge, Debug, "rr_routes", "Routes of all families, however many paths they have";
        /// Their paths.
        Paths = Gauge, Debug, "rr_paths", "Paths of all routes";
        /// Attribute sets.
        AttributeSets = Gauge, Debug, "rr_attribute_sets", "Attribute sets that paths share";
        /// Octets of the tables.
        TableOctets = Gauge, Debug, "rr_table_octets", "Octets that the tables take";
        /// Update groups.
        Groups = Gauge, Debug, "rr_update_groups", "Groups of peers that are told the same";
        /// Their cohorts.
        Cohorts = Gauge, Debug, "rr_update_cohorts",
            "Parts of update groups that stand at different places";
        /// Octets that wait for peers.
        Waiting = Gauge, Debug, "rr_waiting_octets", "Octets that wait for peers to read";
    }
}
