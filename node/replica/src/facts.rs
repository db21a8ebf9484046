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
        /// Overflows of the log.
        Overflows = Gauge, Warn, "replica_overflows_total",
            "Times that the log was full and the standby fell out of date";
    }
}
