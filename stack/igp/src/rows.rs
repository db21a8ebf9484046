//! What protocols say of themselves: rows of neighbours, interfaces, databases, routes, runs of
//! SPF.

use question::rows;
use runtime::AskError;
use std::net::{IpAddr, Ipv4Addr};

/// The state of one that is heard, and no neighbour.
pub(crate) const REFUSED: &str = "refused";
/// Links of an LSA that its row shows at most.
pub(crate) const LINKS_MAX: usize = 16;

rows! {
    /// How a protocol stands.
    pub struct IgpRow {
        /// `ospf` or `isis`.
        protocol: &'static str,
        /// `running`, or `restarting` while neighbours bear that.
        state: &'static str,
        /// Of IS-IS the system ID.
        router_id: String,
        /// Of IS-IS levels.
        areas: usize,
        interfaces: usize,
        neighbours: usize,
        adjacencies: usize,
        /// Of IS-IS LSPs.
        lsas: usize,
        routes: usize,
        /// Neighbours whose BFD session is up, and those that have one.
        bfd_up: usize,
        bfd_sessions: usize,
        /// Whether packets come and go.
        door_open: bool,
    }

    /// A neighbour.
    pub struct IgpNeighbourRow {
        protocol: &'static str,
        interface: String,
        /// `0.0.0.0`; of IS-IS `level-1`, `level-2` or `level-1-2`.
        area: String,
        address: Option<IpAddr>,
        /// Of IS-IS the system ID.
        router_id: String,
        /// Its name, if it says one.
        name: Option<String>,
        state: &'static str,
        /// `DR`, `Backup` or `DR Other` on a link with a designated router, `DIS` of IS-IS.
        role: Option<&'static str>,
        priority: u8,
        /// Seconds since its state is that one.
        state_s: u64,
        /// Seconds until it counts as dead; null while its restart is borne.
        dead_s: Option<u64>,
        /// Seconds for which its restart is borne.
        restart_s: Option<u64>,
        /// State of its BFD session.
        bfd: Option<&'static str>,
        /// LSAs; null of IS-IS.
        unacknowledged: Option<usize>,
        requested: Option<usize>,
        /// Why it is none, or no use of it: what its last hello or description was not believed
        /// for, or that it does not hear this router. One that is no neighbour at all for that has
        /// the state `refused`.
        why: Option<String>,
    }

    /// An interface.
    pub struct IgpInterfaceRow {
        protocol: &'static str,
        interface: String,
        area: String,
        address: Option<IpAddr>,
        length: Option<u8>,
        network: &'static str,
        state: &'static str,
        cost: u32,
        priority: u8,
        /// The designated router's address; of IS-IS pseudonodes, by level.
        designated: Option<String>,
        backup: Option<Ipv4Addr>,
        hello_s: u16,
        dead_s: u32,
        passive: bool,
        neighbours: usize,
        adjacencies: usize,
    }

    /// An LSA, or a fragment of an LSP.
    pub struct IgpLsaRow {
        protocol: &'static str,
        /// Its area or level; null: the whole domain.
        area: Option<String>,
        kind: &'static str,
        id: String,
        /// Of IS-IS the system ID.
        router_id: String,
        /// Seconds since it was said; null of IS-IS.
        age_s: Option<u16>,
        /// Seconds that it lives on; null of OSPF.
        lives_s: Option<u16>,
        /// In hexadecimal digits, as in RFC 2328 §12.1.6.
        sequence: String,
        octets: Option<u16>,
        /// This router says it.
        own: bool,
        /// What it says, in short.
        says: String,
    }

    /// A session of BFD.
    pub struct BfdRow {
        interface: String,
        address: IpAddr,
        /// Who wants it: `ospf`, `isis`; none while it stays because its neighbour is lost.
        by: Vec<&'static str>,
        /// Null: the forwarder has not said yet.
        state: Option<&'static str>,
        /// The neighbour's state, as it said it last.
        remote_state: Option<&'static str>,
        /// The plane does without the neighbour.
        lost: bool,
        /// Why it went down last.
        diagnostic: Option<&'static str>,
        /// Microseconds between packets in force.
        interval_us: u32,
        /// Microseconds without a packet after which the neighbour is lost.
        detection_us: u32,
        /// Kind of its packets' authentication.
        authentication: Option<&'static str>,
        /// How often it left the state Up, and seconds since it did so last.
        downs: u32,
        down_s: Option<u64>,
        received: u64,
        sent: u64,
        discriminator: u32,
        remote_discriminator: u32,
        /// Packets in the neighbour's name that did not name the session as they must.
        misnamed: u32,
    }

    /// A way of a route.
    pub struct IgpWayRow {
        interface: String,
        /// Null: on the link itself.
        gateway: Option<IpAddr>,
    }

    /// A route.
    pub struct IgpRouteRow {
        protocol: &'static str,
        prefix: String,
        /// `intra-area`, `inter-area`, `external-1` or `external-2`; `level-1`, `level-2`, `leaked`
        /// or `attached`.
        kind: &'static str,
        area: Option<String>,
        /// Its preference: of several routes to the prefix the one with the lowest holds.
        distance: u8,
        cost: u32,
        /// The metric of an external route of type 2.
        metric: Option<u32>,
        tag: u32,
        /// Whose route to the prefix holds: `connected`, `static`, `ospf` or `isis`; null while the
        /// forwarder was not told.
        held_by: Option<&'static str>,
        via: Vec<IgpWayRow>,
        /// Where packets go while the only way does not work; null: nowhere.
        repair: Option<IgpRepairRow>,
    }

    /// The repair of a route.
    pub struct IgpRepairRow {
        interface: String,
        gateway: IpAddr,
        /// The end of the tunnel in which packets leave; null: they leave as they are.
        tunnel: Option<String>,
        /// `ready`, `in use` while the way of the route does not work, or `no label` while there is
        /// none for the tunnel.
        state: &'static str,
    }

    /// A router or a network of a topology.
    pub struct IgpNodeRow {
        /// `192.0.2.1`, a network by its designated router's address with `lan` in front; of IS-IS
        /// the system ID, with the number of a pseudonode behind.
        id: String,
        name: Option<String>,
        /// `router` or `network`.
        kind: &'static str,
        /// This router.
        own: bool,
        /// It leads to other areas, of IS-IS to level 2.
        border: bool,
        /// It says routes from outside. Of IS-IS always false.
        boundary: bool,
        /// Nothing passes through it. Of OSPF always false.
        overloaded: bool,
        /// What the way to it costs; null: there is none.
        cost: Option<u32>,
    }

    /// One direction of a link of a topology, which both ends describe.
    pub struct IgpLinkRow {
        from: String,
        to: String,
        cost: u32,
        /// The interface, where it is this router's.
        interface: Option<String>,
        /// State of the BFD session by it, and of all where it has several: `Up` is that of none
        /// that is not.
        bfd: Option<&'static str>,
    }

    /// The topology of an area or a level, as SPF last saw it.
    pub struct IgpTopologyRow {
        protocol: &'static str,
        area: String,
        /// Of this router: `lfa`, `remote-lfa`; null: routes are not repaired.
        repair: Option<&'static str>,
        /// Those that are the nearest, where there are more than are shown.
        nodes: Vec<IgpNodeRow>,
        /// Nodes that are not shown.
        more: usize,
        links: Vec<IgpLinkRow>,
    }

    /// One direction of a link that changed.
    pub struct IgpEdgeRow {
        from: String,
        to: String,
        /// What it cost; null: it was not there.
        before: Option<u32>,
        /// What it costs; null: it is gone.
        after: Option<u32>,
    }

    /// What a run of SPF saw change.
    pub struct IgpChangeRow {
        protocol: &'static str,
        area: String,
        /// The number of the run, from 1.
        run: u64,
        /// Milliseconds since then.
        ago_ms: u64,
        links: Vec<IgpEdgeRow>,
    }

    /// A step of a path.
    pub struct IgpStepRow {
        from: String,
        to: String,
        cost: u32,
    }

    /// The paths between two routers of an area or a level.
    pub struct IgpPathRow {
        protocol: &'static str,
        area: String,
        from: String,
        to: String,
        /// What the shortest paths cost.
        cost: u32,
        /// One of them, in order.
        path: Vec<IgpStepRow>,
        /// The steps of all of them.
        equal: Vec<IgpStepRow>,
        /// By which method the first router repairs it: `lfa`, `remote-lfa` or `equal` where other
        /// paths stand in; null: not at all.
        repaired_by: Option<&'static str>,
        /// Where packets go then, in order.
        repair: Vec<IgpStepRow>,
        /// The end of the tunnel in which they begin.
        tunnel: Option<String>,
    }

    /// What SPF does in an area or a level.
    pub struct IgpSpfRow {
        protocol: &'static str,
        area: String,
        kind: &'static str,
        lsas: usize,
        /// Runs that began from nothing, and those that followed single changes.
        full_runs: u64,
        updates: u64,
        /// Runs of all areas.
        runs: u64,
        /// Seconds since the last run of all areas, and routes that were others after it.
        last_run_s: Option<u64>,
        last_routes_changed: Option<usize>,
        /// Milliseconds until the next one, while one waits.
        next_run_ms: Option<u64>,
    }
}

pub(crate) fn wrong(why: &str) -> AskError {
    AskError::BadParameter(why.to_owned())
}
