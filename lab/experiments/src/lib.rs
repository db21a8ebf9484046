//! The published tables, rerun: each experiment is one file that names its published rows, its
//! topology, its load and its criterion.
//!
//! Another experiment is another file below `src/<report>/` and one line in [`list`].

mod contract;
pub mod demo;
mod hardening;
mod host;
mod page;
mod progress;
pub mod published;
mod report;
pub mod router;
pub mod sbc;
mod scratch;
mod sctp_throughput;
mod sipp;
mod site;
mod site_file;
pub mod ss7;

pub use contract::{Options, Outcome, Peer, Plane, Reflection, Row, thousands};
pub use sipp::{SippCheck, SippFound, sipp_check};

/// An experiment as `tandem lab list` shows it.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// The name that `tandem lab run` takes.
    pub name: &'static str,
    /// What it measures, in a line.
    pub line: &'static str,
    run: fn(&Options) -> anyhow::Result<Outcome>,
}

const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "call-signalling",
        line: "calls per second on one core: SIP, SIP over TLS, VoLTE, beside Kamailio",
        run: sbc::call_signalling::run,
    },
    Experiment {
        name: "registration",
        line: "registrations per second on one core, 700,000 bindings and their restart storm",
        run: sbc::registration::run,
    },
    Experiment {
        name: "service-assurance",
        line: "every call of a full-rate run is found in the SAS by its Call-ID, none missing",
        run: sbc::service_assurance::run,
    },
    Experiment {
        name: "sbc",
        line: "all of the report's signalling tables and their page (over an hour; --quick 10 min)",
        run: sbc::report::run,
    },
    Experiment {
        name: "session-capacity",
        line: "calls standing at once and what each costs in memory: SIP, SIP over TLS, VoLTE",
        run: sbc::session_capacity::run,
    },
    Experiment {
        name: "ddos",
        line: "calls held under INVITE, REGISTER, ICMP and SYN floods of forged sources",
        run: sbc::ddos::run,
    },
    Experiment {
        name: "generator",
        line: "the lab's own SIP generator against itself: the ceiling of every call rate",
        run: sbc::generator::run,
    },
    Experiment {
        name: "overload",
        line: "calls served at twice and four times the maximum, beside Kamailio",
        run: sbc::overload::run,
    },
    Experiment {
        name: "softswitch-shielding",
        line: "a next hop gets exactly its rate, the excess is answered 486",
        run: sbc::softswitch_shielding::run,
    },
    Experiment {
        name: "header-manipulation",
        line: "what two changed and two added headers a message cost, beside Kamailio",
        run: sbc::header_manipulation::run,
    },
    Experiment {
        name: "ssc-failover",
        line: "the active SSC of a pair killed under 1,000 calls/s, then a planned switchover",
        run: sbc::ssc_failover::run,
    },
    Experiment {
        name: "sctp-throughput",
        line: "messages a second over one SCTP association, UDP and IP, beside usrsctp",
        run: sctp_throughput::run,
    },
    Experiment {
        name: "sctp-failover",
        line: "SCTP's failover under M3UA: the report's 110 runs in virtual time, or --live",
        run: ss7::sctp_failover::run,
    },
    Experiment {
        name: "ss7",
        line: "all tables of the reports on signalling over IP, and their page",
        run: ss7::report::run,
    },
    Experiment {
        name: "reflection-ipv4",
        line: "updates/s of the route reflector to 100 to 1,000 clients, beside --peer",
        run: router::reflection_ipv4::run,
    },
    Experiment {
        name: "reflection-evpn",
        line: "a million MACs to 200 clients, with and without route-target constraint",
        run: router::reflection_evpn::run,
    },
    Experiment {
        name: "throughput",
        line: "packets/s a core by size and flows, 20 ppm of loss, beside Linux forwarding",
        run: router::throughput::run,
    },
    Experiment {
        name: "services",
        line: "IP VPNs, VPWS and VPLS all at once, with filters and policers; --full: all 2,250",
        run: router::services::run,
    },
    Experiment {
        name: "denial-of-service",
        line: "what forwarded packets lose by a flood of echo requests at the router itself",
        run: router::denial_of_service::run,
    },
    Experiment {
        name: "hardening",
        line: "what is left of good traffic beside each attack of `tandem lab attack`",
        run: hardening::run,
    },
    Experiment {
        name: "sipp",
        line: "SIPp's own scenarios through the SSC, every call found in the SAS",
        run: sipp::run,
    },
];

impl Experiment {
    /// Whether it has sizes and a peer to choose.
    #[must_use]
    pub fn has_sizes(&self) -> bool {
        [router::reflection_ipv4::NAME, router::reflection_evpn::NAME].contains(&self.name)
    }

    /// Whether it has sizes of the packet plane to choose.
    #[must_use]
    pub fn has_plane(&self) -> bool {
        let names =
            [router::throughput::NAME, router::services::NAME, router::denial_of_service::NAME];
        names.contains(&self.name)
    }

    /// Whether another `tandem` than this one can be measured.
    #[must_use]
    pub fn has_binary(&self) -> bool {
        self.name == hardening::NAME
    }

    /// Whether it runs in simulation unless it is told to run live.
    #[must_use]
    pub fn has_live(&self) -> bool {
        self.name == ss7::sctp_failover::NAME
    }
}

/// Every experiment, in the order of the reports.
#[must_use]
pub const fn list() -> &'static [Experiment] {
    EXPERIMENTS
}

/// Runs the experiment with this name. Progress goes to standard error.
///
/// # Errors
/// When there is no such experiment, or it could not be set up. A check that did not hold is no
/// error: see [`Outcome::held`].
pub fn run(name: &str, options: &Options) -> anyhow::Result<Outcome> {
    let experiment = EXPERIMENTS.iter().find(|experiment| experiment.name == name);
    let experiment = experiment
        .ok_or_else(|| anyhow::anyhow!("no experiment `{name}`; see `tandem lab list`"))?;
    (experiment.run)(options)
}
