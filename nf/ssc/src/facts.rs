//! What the controller counts.

event::facts! {
    /// The facts of the signalling controller.
    pub enum Fact {
        /// A SIP message came in.
        MessagesReceived = Counter, Debug, "ssc_messages_received_total", "SIP messages received";
        /// A SIP message went out.
        MessagesSent = Counter, Debug, "ssc_messages_sent_total", "SIP messages sent";
        /// A message could not be understood.
        Malformed = Counter, Warn, "ssc_messages_malformed_total", "Messages that are not SIP";
        /// A message that was understood is too long, or rules could not be applied to it.
        Unpassable = Counter, Warn, "ssc_messages_unpassable_total",
            "Messages refused since they, or what the rules make of them, are too long";
        /// A message of ours was not sent.
        Unsendable = Counter, Warn, "ssc_messages_unsendable_total",
            "Messages not sent because rules for what leaves could not be applied to them";
        /// A retransmission was answered or absorbed.
        Retransmissions = Counter, Debug, "ssc_retransmissions_received_total",
            "Retransmissions received and absorbed";
        /// A transaction sent its message again.
        Resent = Counter, Debug, "ssc_retransmissions_sent_total",
            "Messages sent again because no answer came";
        /// A response to nothing.
        StrayResponses = Counter, Debug, "ssc_stray_responses_total",
            "Responses that belong to no transaction";
        /// An INVITE began a call.
        CallsStarted = Counter, Debug, "ssc_calls_started_total", "Calls that began with an INVITE";
        /// A call was answered.
        CallsAnswered = Counter, Debug, "ssc_calls_answered_total", "Calls answered with a 2xx";
        /// A call got a final answer other than 2xx.
        CallsFailed = Counter, Debug, "ssc_calls_failed_total",
            "Calls that ended without an answer";
        /// The caller gave up.
        CallsCancelled = Counter, Debug, "ssc_calls_cancelled_total",
            "Calls cancelled by the caller";
        /// An answered call ended.
        CallsEnded = Counter, Debug, "ssc_calls_ended_total", "Answered calls that ended";
        /// The controller ended a call by itself.
        CallsTornDown = Counter, Info, "ssc_calls_torn_down_total",
            "Calls that the controller ended on both legs";
        /// Calls and subscriptions at this moment.
        CallsLive = Gauge, Debug, "ssc_calls_live", "Calls and subscriptions at this moment";
        /// Requests under way.
        RelaysLive = Gauge, Debug, "ssc_requests_live", "Requests that wait for their final answer";
        /// Octets of memory that they take.
        OctetsUnderway = Gauge, Debug, "ssc_requests_octets",
            "Octets of memory that requests under way take";
        /// Transactions at this moment.
        TransactionsLive = Gauge, Debug, "ssc_transactions_live",
            "Transactions at this moment, absorbing ones included";
        /// Time from INVITE to the first ringing.
        PostDialDelay = Histogram, Debug, "ssc_post_dial_delay_us",
            "Time from the INVITE to the first 18x, microseconds";
        /// Length of answered calls.
        CallSeconds = Histogram, Debug, "ssc_call_duration_s", "Length of answered calls, seconds";
        /// A request was refused by the controller itself.
        Refused = Counter, Debug, "ssc_requests_refused_total",
            "Requests that the controller itself refused";
        /// A request inside a dialog came from another realm.
        DialogsOtherRealm = Counter, Warn, "ssc_dialog_other_realm_refused_total",
            "Requests inside calls, and CANCELs, refused since they came by another realm";
        /// A parameter that only the network may write was taken out.
        ClaimsRemoved = Counter, Debug, "ssc_claims_removed_total",
            "Requests from who is not believed that lost parameters of the network";
        /// A dialog of others was to be replaced or joined.
        ReplacesRefused = Counter, Warn, "ssc_replaces_refused_total",
            "Requests refused since Replaces or Join names a dialog of others";
        /// A request inside a dialog came from elsewhere than its far end.
        DialogsElsewhere = Counter, Warn, "ssc_dialog_elsewhere_refused_total",
            "Requests inside calls, and CANCELs, refused since their far end sends from elsewhere";
        /// A request was refused because a limit was reached.
        Overload = Counter, Warn, "ssc_overload_refused_total",
            "Requests answered 503 because a limit was reached";
        /// A call or another new request waited too long.
        CallsShed = Counter, Warn, "ssc_overload_calls_shed_total",
            "Calls and other new requests refused because messages waited too long";
        /// A first registration waited too long.
        RegistrationsShed = Counter, Warn, "ssc_overload_registrations_shed_total",
            "First registrations refused because messages waited too long";
        /// The refresh of a registration waited too long.
        RefreshesShed = Counter, Warn, "ssc_overload_refreshes_shed_total",
            "Refreshes of registrations refused because messages waited too long";
        /// How long messages wait.
        QueueDelay = Histogram, Debug, "ssc_queue_delay_us",
            "Time that messages waited before they were looked at, microseconds";
        /// New calls that were put off.
        CallsWaiting = Gauge, Debug, "ssc_calls_waiting",
            "New calls that wait while there is work for calls in progress";
        /// Whether new requests are being refused.
        Overloaded = Gauge, Warn, "ssc_overloaded", "1 while messages wait too long, else 0";
        /// A realm's limit is reached.
        RealmRefused = Counter, Info, "ssc_limit_realm_refused_total",
            "Calls refused because a limit of the realm they came from was reached";
        /// A next hop's limit is reached.
        NextHopRefused = Counter, Info, "ssc_limit_next_hop_refused_total",
            "Calls refused because a limit of their next hop was reached";
        /// A subscriber's limit is reached.
        SubscriberRefused = Counter, Info, "ssc_limit_subscriber_refused_total",
            "Calls refused because a limit of their subscriber was reached";
        /// The resource units are used up.
        UnitsRefused = Counter, Warn, "ssc_limit_units_refused_total",
            "Calls refused because the resource units of the shard were used up";
        /// Resource units in use.
        UnitsLive = Gauge, Debug, "ssc_resource_units_live", "Resource units that calls hold";
        /// Sessions of the site's pool.
        PoolHeld = Gauge, Debug, "ssc_pool_sessions_held",
            "Sessions that the shard holds of the site's pool";
        /// The pool had no session for a call.
        PoolRefused = Counter, Warn, "ssc_pool_refused_total",
            "Calls refused because the site's pool of sessions was used up";
        /// A call began beyond what the shard holds.
        PoolOverdraft = Counter, Warn, "ssc_pool_overdraft_total",
            "Calls begun beyond the held sessions: the keeper was away, or in an emergency";
        /// The keeper of the pool does not answer.
        PoolKeeperAway = Gauge, Warn, "ssc_pool_keeper_away",
            "1 while the keeper of the site's pool does not answer";
        /// A request went round in a circle.
        Loops = Counter, Warn, "ssc_loops_total", "Requests answered 482 or 483";
        /// A request found no route.
        NoRoute = Counter, Info, "ssc_no_route_total", "Requests that no route or binding matched";
        /// Another target was tried.
        Failovers = Counter, Warn, "ssc_failovers_total",
            "Requests sent to another target after the first failed";
        /// A next hop asked for fewer requests.
        RequestsWithheld = Counter, Warn, "ssc_requests_withheld_total",
            "Requests answered 503 because the next hops asked for fewer (RFC 7339)";
        /// A request outside of calls was passed.
        RequestsRelayed = Counter, Debug, "ssc_requests_relayed_total",
            "Requests passed from one leg to the other";
        /// A fork answered after the call had been answered.
        ForksReleased = Counter, Debug, "ssc_forks_released_total",
            "Further 2xx acknowledged and released";
        /// A 2xx had no ACK.
        AckMissing = Counter, Info, "ssc_ack_missing_total",
            "Answered calls ended because no ACK came";
        /// A session was not refreshed.
        SessionsExpired = Counter, Info, "ssc_sessions_expired_total",
            "Calls ended because their session timer ran out";
        /// A reliable provisional response was passed.
        Reliable = Counter, Debug, "ssc_reliable_provisionals_total",
            "Reliable provisional responses passed";
        /// A session description crossed.
        Descriptions = Counter, Debug, "ssc_media_descriptions_total",
            "Session descriptions that crossed the controller";
        /// A probe was sent.
        Probes = Counter, Debug, "ssc_probes_sent_total", "OPTIONS probes sent to next hops";
        /// A next hop does not answer.
        TargetsDown = Gauge, Warn, "ssc_targets_down", "Targets of next hops that do not answer";
        /// Captured packets.
        Captured = Counter, Debug, "ssc_capture_packets_total", "Packets given to the capture flow";
        /// Captured packets lost.
        CaptureShed = Counter, Warn, "ssc_capture_shed_total",
            "Packets not captured because the collector is away or slow";
        /// A message left out under overload.
        CaptureThinned = Counter, Info, "ssc_capture_thinned_total",
            "Messages of calls that were captured in brief because messages waited too long";
        /// A REGISTER was answered here.
        RegistersLocal = Counter, Debug, "ssc_registers_local_total",
            "REGISTER requests answered from the cache";
        /// A REGISTER was passed on.
        RegistersForwarded = Counter, Debug, "ssc_registers_forwarded_total",
            "REGISTER requests passed to the core";
        /// Bindings at this moment.
        BindingsLive = Gauge, Debug, "ssc_bindings_live", "Registered contacts at this moment";
        /// An INVITE of an unknown source was refused unread.
        ShieldInvites = Counter, Debug, "ssc_shield_refused_invites_total",
            "INVITEs of unknown sources refused before parsing";
        /// A REGISTER of an unknown source was refused unread.
        ShieldRegisters = Counter, Debug, "ssc_shield_refused_registers_total",
            "REGISTERs of unknown sources refused before parsing";
        /// A REGISTER was answered by a challenge, unread.
        ShieldChallenged = Counter, Debug, "ssc_shield_challenged_total",
            "REGISTERs of unknown sources answered 401 in a flood, to prove their return path";
        /// A REGISTER answered such a challenge.
        ShieldProven = Counter, Debug, "ssc_shield_proven_total",
            "REGISTERs of unknown sources that proved their return path in a flood";
        /// Something else of an unknown source was refused unread.
        ShieldOthers = Counter, Debug, "ssc_shield_refused_others_total",
            "Other messages of unknown sources refused before parsing";
        /// Something came from a blacklisted source.
        ShieldBlacklisted = Counter, Debug, "ssc_shield_refused_blacklisted_total",
            "Messages of blacklisted sources refused before parsing";
        /// Blacklisted sources at this moment.
        ShieldBlacklist = Gauge, Info, "ssc_shield_blacklist", "Blacklisted sources at this moment";
        /// Unknown sources that are remembered.
        ShieldSources = Gauge, Debug, "ssc_shield_sources",
            "Unknown sources whose rate is remembered";
        /// A flood was recognised.
        ShieldFloods = Counter, Warn, "ssc_shield_floods_total",
            "Floods recognised since the start";
    }
}
