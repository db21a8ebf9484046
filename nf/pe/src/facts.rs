//! What the router's control counts.

event::facts! {
    /// The facts of the provider edge.
    pub enum Fact {
        /// A forwarder was found and told everything.
        Adopted = Counter, Info, "pe_forwarder_adopted_total",
            "Times that a forwarder was found and told everything";
        /// The connection to the forwarder ended.
        Lost = Counter, Warn, "pe_forwarder_lost_total",
            "Times that the connection to the forwarder ended";
        /// The forwarder was told something.
        Programs = Counter, Debug, "pe_programs_total", "Changes that the forwarder was told";
        /// The forwarder refused something.
        Refused = Counter, Error, "pe_programs_refused_total",
            "Changes and ports that the forwarder refused";
        /// Whether the forwarder is there.
        Connected = Gauge, Debug, "pe_forwarder_connected", "1 while the forwarder is there";
        /// Ports whose link is there.
        PortsUp = Gauge, Debug, "pe_ports_up", "Ports whose link is there";
        /// Ports whose link is not there.
        PortsDown = Gauge, Warn, "pe_ports_down", "Ports whose link is not there";
        /// A MAC address of a bridge domain moved.
        MacsMoved = Counter, Info, "pe_macs_moved_total", "MAC addresses that moved";
        /// One moved too often.
        MacsFrozen = Counter, Warn, "pe_macs_frozen_total",
            "MAC addresses that moved too often and were frozen";
        /// One may move again.
        MacsThawed = Counter, Info, "pe_macs_thawed_total", "MAC addresses that may move again";
        /// One was not learnt.
        MacsRefused = Counter, Warn, "pe_macs_refused_total",
            "MAC addresses that a limit kept from being learnt";
        /// A worker of the forwarder panicked.
        WorkersCrashed = Counter, Error, "pe_workers_crashed_total",
            "Workers of the forwarder that panicked and began anew";
        /// A worker of the forwarder hung.
        WorkersHung = Counter, Error, "pe_workers_hung_total",
            "Workers of the forwarder that made no round for 5 s, upon which it was started anew";
        /// Static routes.
        Routes = Gauge, Debug, "pe_routes", "Static routes, those of files included";
    }
}
