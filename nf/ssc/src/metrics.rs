//! What the controller counts.

use machine::Time;
use sip_stack::next_hop::{Health, NextHops};

event::metrics! {
    /// The metrics of the signalling controller.
    pub enum Metric {
        /// SIP messages received.
        MessagesReceived = Counter, "ssc_messages_received_total";
        /// SIP messages sent.
        MessagesSent = Counter, "ssc_messages_sent_total";
        /// Messages that are not SIP.
        Malformed = Counter, "ssc_messages_malformed_total";
        /// Messages refused since they, or what the rules make of them, are too long.
        Unpassable = Counter, "ssc_messages_unpassable_total";
        /// Messages not sent because rules for what leaves could not be applied to them.
        Unsendable = Counter, "ssc_messages_unsendable_total";
        /// Retransmissions received and absorbed.
        Retransmissions = Counter, "ssc_retransmissions_received_total";
        /// Messages sent again because no answer came.
        Resent = Counter, "ssc_retransmissions_sent_total";
        /// Responses that belong to no transaction.
        StrayResponses = Counter, "ssc_stray_responses_total";
        /// Calls that began with an INVITE.
        CallsStarted = Counter, "ssc_calls_started_total";
        /// Calls answered with a 2xx.
        CallsAnswered = Counter, "ssc_calls_answered_total";
        /// Calls that ended without an answer.
        CallsFailed = Counter, "ssc_calls_failed_total";
        /// Calls cancelled by the caller.
        CallsCancelled = Counter, "ssc_calls_cancelled_total";
        /// Answered calls that ended.
        CallsEnded = Counter, "ssc_calls_ended_total";
        /// Calls that the controller ended on both legs.
        CallsTornDown = Counter, "ssc_calls_torn_down_total";
        /// Calls and subscriptions at this moment.
        CallsLive = Gauge, "ssc_calls_live";
        /// Requests that wait for their final answer.
        RelaysLive = Gauge, "ssc_requests_live";
        /// Octets of memory that requests under way take.
        OctetsUnderway = Gauge, "ssc_requests_octets";
        /// Transactions at this moment, absorbing ones included.
        TransactionsLive = Gauge, "ssc_transactions_live";
        /// Time from the INVITE to the first 18x, microseconds.
        PostDialDelay = Histogram, "ssc_post_dial_delay_us";
        /// Length of answered calls, seconds.
        CallSeconds = Histogram, "ssc_call_duration_s";
        /// Requests that the controller itself refused.
        Refused = Counter, "ssc_requests_refused_total";
        /// Requests inside calls, and CANCELs, refused since they came by another realm.
        DialogsOtherRealm = Counter, "ssc_dialog_other_realm_refused_total";
        /// Requests from who is not believed that lost parameters of the network.
        ClaimsRemoved = Counter, "ssc_claims_removed_total";
        /// Requests refused since Replaces or Join names a dialog of others.
        ReplacesRefused = Counter, "ssc_replaces_refused_total";
        /// Requests inside calls, and CANCELs, refused since their far end sends from elsewhere.
        DialogsElsewhere = Counter, "ssc_dialog_elsewhere_refused_total";
        /// New calls answered 503 because the other node of the pair lacked too much.
        Behind = Counter, "ssc_behind_refused_total";
        /// Requests answered 503 because a limit was reached.
        Overload = Counter, "ssc_overload_refused_total";
        /// Calls and other new requests refused because messages waited too long.
        CallsShed = Counter, "ssc_overload_calls_shed_total";
        /// First registrations refused because messages waited too long.
        RegistrationsShed = Counter, "ssc_overload_registrations_shed_total";
        /// Refreshes of registrations refused because messages waited too long.
        RefreshesShed = Counter, "ssc_overload_refreshes_shed_total";
        /// Time that messages waited before they were looked at, microseconds.
        QueueDelay = Histogram, "ssc_queue_delay_us";
        /// New calls that wait while there is work for calls in progress.
        CallsWaiting = Gauge, "ssc_calls_waiting";
        /// 1 while messages wait too long, else 0.
        Overloaded = Gauge, "ssc_overloaded";
        /// Calls refused because a limit of the realm they came from was reached.
        RealmRefused = Counter, "ssc_limit_realm_refused_total";
        /// Calls refused because a limit of their next hop was reached.
        NextHopRefused = Counter, "ssc_limit_next_hop_refused_total";
        /// Calls refused because a limit of their subscriber was reached.
        SubscriberRefused = Counter, "ssc_limit_subscriber_refused_total";
        /// Calls refused because the resource units of the shard were used up.
        UnitsRefused = Counter, "ssc_limit_units_refused_total";
        /// Resource units that calls hold.
        UnitsLive = Gauge, "ssc_resource_units_live";
        /// Sessions that the shard holds of the site's pool.
        PoolHeld = Gauge, "ssc_pool_sessions_held";
        /// Calls refused because the site's pool of sessions was used up.
        PoolRefused = Counter, "ssc_pool_refused_total";
        /// Calls begun beyond the held sessions: the keeper was away, or in an emergency.
        PoolOverdraft = Counter, "ssc_pool_overdraft_total";
        /// 1 while the keeper of the site's pool does not answer.
        PoolKeeperAway = Gauge, "ssc_pool_keeper_away";
        /// Requests answered 482 or 483.
        Loops = Counter, "ssc_loops_total";
        /// Requests that no route or binding matched.
        NoRoute = Counter, "ssc_no_route_total";
        /// Requests sent to another target after the first failed.
        Failovers = Counter, "ssc_failovers_total";
        /// Requests answered 503 because the next hops asked for fewer (RFC 7339).
        RequestsWithheld = Counter, "ssc_requests_withheld_total";
        /// Requests passed from one leg to the other.
        RequestsRelayed = Counter, "ssc_requests_relayed_total";
        /// Further 2xx acknowledged and released.
        ForksReleased = Counter, "ssc_forks_released_total";
        /// Answered calls ended because no ACK came.
        AckMissing = Counter, "ssc_ack_missing_total";
        /// Calls ended because their session timer ran out.
        SessionsExpired = Counter, "ssc_sessions_expired_total";
        /// Reliable provisional responses passed.
        Reliable = Counter, "ssc_reliable_provisionals_total";
        /// Session descriptions that crossed the controller.
        Descriptions = Counter, "ssc_media_descriptions_total";
        /// Requests refused because of what they say of media.
        MediaRefused = Counter, "ssc_media_refused_total";
        /// OPTIONS probes sent to next hops.
        Probes = Counter, "ssc_probes_sent_total";
        /// Targets of next hops that do not answer.
        TargetsDown = Gauge, "ssc_targets_down";
        /// Packets given to the capture flow.
        Captured = Counter, "ssc_capture_packets_total";
        /// Packets not captured because the collector is away or slow.
        CaptureShed = Counter, "ssc_capture_shed_total";
        /// Messages of calls that were captured in brief because messages waited too long.
        CaptureThinned = Counter, "ssc_capture_thinned_total";
        /// REGISTER requests answered from the cache.
        RegistersLocal = Counter, "ssc_registers_local_total";
        /// REGISTER requests passed to the core.
        RegistersForwarded = Counter, "ssc_registers_forwarded_total";
        /// Registered contacts at this moment.
        BindingsLive = Gauge, "ssc_bindings_live";
        /// INVITEs of unknown sources refused before parsing.
        ShieldInvites = Counter, "ssc_shield_refused_invites_total";
        /// REGISTERs of unknown sources refused before parsing.
        ShieldRegisters = Counter, "ssc_shield_refused_registers_total";
        /// REGISTERs of unknown sources answered 401 in a flood, to prove their return path.
        ShieldChallenged = Counter, "ssc_shield_challenged_total";
        /// REGISTERs of unknown sources that proved their return path in a flood.
        ShieldProven = Counter, "ssc_shield_proven_total";
        /// Other messages of unknown sources refused before parsing.
        ShieldOthers = Counter, "ssc_shield_refused_others_total";
        /// Messages of blacklisted sources refused before parsing.
        ShieldBlacklisted = Counter, "ssc_shield_refused_blacklisted_total";
        /// Blacklisted sources at this moment.
        ShieldBlacklist = Gauge, "ssc_shield_blacklist";
        /// Unknown sources whose rate is remembered.
        ShieldSources = Gauge, "ssc_shield_sources";
        /// Floods recognised since the start.
        ShieldFloods = Counter, "ssc_shield_floods_total";
    }
}

event::metrics! {
    /// The metrics of one target of a next hop; its labels are `next_hop`, `target`, `transport`.
    pub enum NextHopMetric {
        /// 1 while a target takes calls: it answers its probes, or has none.
        Up = Gauge, "ssc_next_hop_up";
        /// Calls (INVITE) that a target was sent.
        Calls = Counter, "ssc_next_hop_calls_total";
        /// Calls that a target did not answer, answered with 408 or 5xx, or was given up for.
        Failed = Counter, "ssc_next_hop_failures_total";
        /// New requests in a hundred that a target asked not to be sent (RFC 7339).
        Unwanted = Gauge, "ssc_next_hop_unwanted_percent";
    }
}

/// A table of [`NextHopMetric`]s.
pub type NextHopTable = event::Table<NextHopMetric, 3>;

/// A table without rows.
#[must_use]
pub fn next_hop_table() -> NextHopTable {
    NextHopTable::new(&["next_hop", "target", "transport"])
}

/// Shows every target of the next hops in `table`.
pub(crate) fn show_next_hops(hops: &NextHops, table: &NextHopTable, now: Time) {
    let rows = hops.rows().iter().flat_map(|hop| hop.endpoints.iter().map(move |it| (hop, it)));
    table.show(rows.map(|(hop, it)| {
        let metrics = [
            (NextHopMetric::Up, (it.health == Health::Up).into()),
            (NextHopMetric::Calls, it.calls),
            (NextHopMetric::Failed, it.failed),
            (NextHopMetric::Unwanted, it.loss(now).into()),
        ];
        let target = it.flow.remote.to_string();
        ([hop.name.clone(), target, it.flow.transport.word().to_owned()], metrics)
    }));
}
