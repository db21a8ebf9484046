//! What a node of a cluster counts.

event::metrics! {
    /// The metrics of one node.
    pub enum ClusterMetric {
        /// Groups that this node serves.
        Serves = Gauge, "cluster_groups_served";
        /// Groups of this node that no standby follows that has everything.
        Unfollowed = Gauge, "cluster_groups_unfollowed";
        /// Nodes of the cluster that are heard, without this one.
        Nodes = Gauge, "cluster_nodes_heard";
        /// Changes that standbys have not acknowledged, of the group that is behind most.
        Lag = Gauge, "cluster_lag";
        /// Octets of them.
        LagBytes = Gauge, "cluster_lag_bytes";
        /// 1 while all that this node tracks is good.
        Fit = Gauge, "cluster_fit";
        /// Times that this node began to serve a group.
        Activations = Counter, "cluster_activations_total";
        /// Changes of other nodes that were applied here.
        Applied = Counter, "cluster_changes_applied_total";
        /// Standbys that this node began to tell everything.
        Fills = Counter, "cluster_fills_total";
        /// Times that a standby did not keep up and was given up.
        Overflows = Gauge, "cluster_overflows_total";
        /// Changes that are too long to be told: standbys lack them.
        TooLong = Gauge, "cluster_too_long_total";
        /// Datagrams on the link that come from no node's address; dropped.
        Strangers = Counter, "cluster_strangers_total";
        /// Datagrams that are not sealed; dropped.
        Unsealed = Counter, "cluster_unsealed_total";
        /// Datagrams that no key of key_file has sealed; dropped.
        Forged = Counter, "cluster_forged_total";
        /// Datagrams that came a second time, or too late to know; dropped.
        Replayed = Counter, "cluster_replayed_total";
        /// Datagrams of a life of a node that has not proved to be present; a few at each start;
        /// dropped.
        Unproved = Counter, "cluster_unproved_total";
    }
}
