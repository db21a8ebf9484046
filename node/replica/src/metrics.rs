//! What a node of a pair counts.

event::metrics! {
    /// The metrics of one node.
    pub enum ReplicaMetric {
        /// 1 while this node is the active one of its pair.
        Active = Gauge, "replica_active";
        /// Epoch that this node knows.
        Epoch = Gauge, "replica_epoch";
        /// Deltas that the standby has not acknowledged.
        Lag = Gauge, "replica_lag";
        /// 1 while the arbiter of the pair answers; 0 also where the pair has none.
        ArbiterAlive = Gauge, "replica_arbiter_alive";
        /// 1 while this node hears nobody, asks the arbiter for its vote, and gets none.
        WaitsForVote = Gauge, "replica_waits_for_vote";
        /// 1 while all that this node tracks is good.
        Fit = Gauge, "replica_fit";
        /// 1 while the standby does not keep up with what it is told.
        Behind = Gauge, "replica_behind";
        /// Changes of the other node that shards of this one could not take yet.
        Waiting = Gauge, "replica_changes_waiting";
        /// Times that a shard took no change of the other node for 5 s while some waited for it.
        Stuck = Counter, "replica_shards_stuck_total";
        /// Deltas given to the stream.
        Told = Counter, "replica_deltas_sent_total";
        /// Deltas of the other node applied here.
        Applied = Counter, "replica_deltas_applied_total";
        /// Times that this node became the active one.
        Activations = Counter, "replica_activations_total";
        /// Snapshots told because the standby was new or out of date.
        Snapshots = Counter, "replica_snapshots_total";
        /// Datagrams on the link that do not come from the other node's address; dropped.
        Strangers = Counter, "replica_strangers_total";
        /// Datagrams of the other node's or the arbiter's address that are not sealed; dropped.
        Unsealed = Counter, "replica_unsealed_total";
        /// Datagrams that no key of key_file has sealed; dropped.
        Forged = Counter, "replica_forged_total";
        /// Datagrams that came a second time, or too late to know; dropped.
        Replayed = Counter, "replica_replayed_total";
        /// Datagrams of a life of the other end that has not proved to be present; a few at each
        /// start; dropped.
        Unproved = Counter, "replica_unproved_total";
        /// Times that the log was full and the standby fell out of date.
        Overflows = Gauge, "replica_overflows_total";
        /// Changes that are too long to be told (60,000 octets): the standby does not have them.
        TooLong = Gauge, "replica_deltas_too_long_total";
    }
}

event::metrics! {
    /// The metrics of an arbiter.
    pub enum ArbiterMetric {
        /// Pairs that the arbiter serves.
        Pairs = Gauge, "arbiter_pairs";
        /// Votes given or renewed.
        Votes = Counter, "arbiter_votes_total";
        /// Requests while the other node of the pair had the vote, or the arbiter just started.
        Given = Counter, "arbiter_votes_held_total";
        /// Datagrams that are no request of a node; dropped.
        Unreadable = Counter, "arbiter_unreadable_total";
        /// Datagrams of pairs that the arbiter does not know; dropped.
        UnknownPair = Counter, "arbiter_unknown_pair_total";
        /// Datagrams that the node they name has not sealed; dropped.
        Forged = Counter, "arbiter_forged_total";
        /// Datagrams that came a second time or out of order; dropped.
        Replayed = Counter, "arbiter_replayed_total";
        /// Datagrams of a life of a node that has not proved to be present; dropped.
        Unproved = Counter, "arbiter_unproved_total";
        /// Requests for a longer promise than promise_max_ms; refused.
        LongPromise = Counter, "arbiter_long_promise_total";
        /// Requests of unknown pairs when all places are taken; refused.
        Full = Counter, "arbiter_full_total";
    }
}
