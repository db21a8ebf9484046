//! What a node of a pair counts.

event::facts! {
    /// The facts of one node.
    pub enum ReplicaFact {
        /// Whether it is active.
        Active = Gauge, Info, "replica_active", "1 while this node is the active one of its pair";
        /// Its epoch.
        Epoch = Gauge, Info, "replica_epoch", "Epoch that this node knows";
        /// Unacknowledged deltas.
        Lag = Gauge, Debug, "replica_lag", "Deltas that the standby has not acknowledged";
        /// Whether the arbiter answers.
        ArbiterAlive = Gauge, Warn, "replica_arbiter_alive",
            "1 while the arbiter of the pair answers; 0 also where the pair has none";
        /// Whether it waits for a vote.
        WaitsForVote = Gauge, Warn, "replica_waits_for_vote",
            "1 while this node hears nobody, asks the arbiter for its vote, and gets none";
        /// Deltas told.
        Told = Counter, Debug, "replica_deltas_sent_total", "Deltas given to the stream";
        /// Deltas applied.
        Applied = Counter, Debug, "replica_deltas_applied_total",
            "Deltas of the other node applied here";
        /// Changes of role.
        Activations = Counter, Warn, "replica_activations_total",
            "Times that this node became the active one";
        /// Snapshots.
        Snapshots = Counter, Info, "replica_snapshots_total",
            "Snapshots told because the standby was new or out of date";
        /// Datagrams of neither node.
        Strangers = Counter, Warn, "replica_strangers_total",
            "Datagrams on the link that do not come from the other node's address; dropped";
        /// Datagrams that are not sealed.
        Unsealed = Counter, Warn, "replica_unsealed_total",
            "Datagrams of the other node's or the arbiter's address that are not sealed; dropped";
        /// Datagrams with a wrong seal.
        Forged = Counter, Warn, "replica_forged_total",
            "Datagrams that no key of key_file has sealed; dropped";
        /// Datagrams that came before.
        Replayed = Counter, Warn, "replica_replayed_total",
            "Datagrams that came a second time, or too late to know; dropped";
        /// Datagrams of a life that has not proved that it is there.
        Unproved = Counter, Info, "replica_unproved_total",
            "Datagrams of a life of the other end that has not proved to be present; a few at \
             each start; dropped";
        /// Overflows of the log.
        Overflows = Gauge, Warn, "replica_overflows_total",
            "Times that the log was full and the standby fell out of date";
    }
}

event::facts! {
    /// The facts of an arbiter.
    pub enum ArbiterFact {
        /// Pairs.
        Pairs = Gauge, Info, "arbiter_pairs", "Pairs that the arbiter serves";
        /// Votes given.
        Votes = Counter, Debug, "arbiter_votes_total", "Votes given or renewed";
        /// Votes that the other node has.
        Given = Counter, Info, "arbiter_votes_held_total",
            "Requests while the other node of the pair had the vote, or the arbiter just started";
        /// Unreadable datagrams.
        Unreadable = Counter, Warn, "arbiter_unreadable_total",
            "Datagrams that are no request of a node; dropped";
        /// Pairs that are not known.
        UnknownPair = Counter, Warn, "arbiter_unknown_pair_total",
            "Datagrams of pairs that the arbiter does not know; dropped";
        /// Datagrams that are not sealed by the node that they name.
        Forged = Counter, Warn, "arbiter_forged_total",
            "Datagrams that the node they name has not sealed; dropped";
        /// Datagrams that came before.
        Replayed = Counter, Warn, "arbiter_replayed_total",
            "Datagrams that came a second time or out of order; dropped";
        /// Datagrams of a life that has not proved that it is there.
        Unproved = Counter, Info, "arbiter_unproved_total",
            "Datagrams of a life of a node that has not proved to be present; dropped";
        /// Promises that are too long.
        LongPromise = Counter, Warn, "arbiter_long_promise_total",
            "Requests for a longer promise than promise_max_ms; refused";
        /// No place.
        Full = Counter, Warn, "arbiter_full_total",
            "Requests of unknown pairs when all places are taken; refused";
    }
}
