//! What the router's control counts.

event::metrics! {
    /// The metrics of the provider edge.
    pub enum Metric {
        /// Times that a forwarder was found and told everything.
        Adopted = Counter, "pe_forwarder_adopted_total";
        /// Times that the connection to the forwarder ended.
        Lost = Counter, "pe_forwarder_lost_total";
        /// Changes that the forwarder was told.
        Programs = Counter, "pe_programs_total";
        /// Changes and ports that the forwarder refused.
        Refused = Counter, "pe_programs_refused_total";
        /// 1 while the forwarder is there.
        Connected = Gauge, "pe_forwarder_connected";
        /// Ports whose link is there.
        PortsUp = Gauge, "pe_ports_up";
        /// Ports whose link is not there.
        PortsDown = Gauge, "pe_ports_down";
        /// MAC addresses that moved.
        MacsMoved = Counter, "pe_macs_moved_total";
        /// MAC addresses that moved too often and were frozen.
        MacsFrozen = Counter, "pe_macs_frozen_total";
        /// MAC addresses that may move again.
        MacsThawed = Counter, "pe_macs_thawed_total";
        /// MAC addresses that a limit kept from being learnt.
        MacsRefused = Counter, "pe_macs_refused_total";
        /// Workers of the forwarder that panicked and began anew.
        WorkersCrashed = Counter, "pe_workers_crashed_total";
        /// Workers of the forwarder that made no round for 5 s, upon which it was started anew.
        WorkersHung = Counter, "pe_workers_hung_total";
        /// Static routes, those of files included.
        Routes = Gauge, "pe_routes";
    }
}
