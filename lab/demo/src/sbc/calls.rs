//! What subscribers do: one row a kind of call, each a SIPp scenario of its own.

/// Calls of one kind.
#[derive(Debug, Clone, Copy)]
pub struct Calls {
    /// Name of the scenario, first part of its Call-IDs.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// SIPp's text.
    pub scenario: &'static str,
    /// How many.
    pub calls: u64,
    /// Calls per second.
    pub rate: f64,
    /// What the SAS must say about each.
    pub outcome: &'static str,
}

macro_rules! scenario {
    ($name:literal) => {
        include_str!(concat!("../../scenarios/", $name, ".xml"))
    };
}

/// The network side: softswitch and registrar in one.
pub const NETWORK: &str = scenario!("network");

/// Subscribers come first: their calls may need it.
pub const REGISTRATIONS: Calls = Calls {
    name: "register",
    title: "registrations, each refreshed once",
    scenario: scenario!("register"),
    calls: 20,
    rate: 20.0,
    outcome: "registered",
};

/// The others, all at the same time.
pub const KINDS: &[Calls] = &[
    Calls {
        name: "answered",
        title: "answered calls",
        scenario: scenario!("answered"),
        calls: 40,
        rate: 10.0,
        outcome: "answered",
    },
    Calls {
        name: "busy",
        title: "busy",
        scenario: scenario!("busy"),
        calls: 3,
        rate: 1.0,
        outcome: "busy",
    },
    Calls {
        name: "cancelled",
        title: "cancelled while ringing",
        scenario: scenario!("cancelled"),
        calls: 3,
        rate: 1.0,
        outcome: "cancelled",
    },
    Calls {
        name: "no-answer",
        title: "not answered",
        scenario: scenario!("no-answer"),
        calls: 2,
        rate: 1.0,
        outcome: "no-answer",
    },
    Calls {
        name: "rejected",
        title: "refused by the SSC",
        scenario: scenario!("rejected"),
        calls: 2,
        rate: 1.0,
        outcome: "rejected",
    },
    Calls {
        name: "rules",
        title: "with header rules",
        scenario: scenario!("rules"),
        calls: 1,
        rate: 1.0,
        outcome: "answered",
    },
];

impl Calls {
    /// The Call-ID that SIPp gives its nth call (from 1) when it speaks from `host`.
    #[must_use]
    pub fn call_id(&self, number: u64, host: std::net::IpAddr) -> String {
        format!("{}-{number}@{host}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_call_is_there_and_names_its_file() {
        let names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
        assert_eq!(names, ["answered", "busy", "cancelled", "no-answer", "rejected", "rules"]);
        for kind in KINDS.iter().chain([&REGISTRATIONS]) {
            assert!(kind.scenario.contains(&format!("<scenario name=\"{}\">", kind.name)));
            assert!(kind.calls > 0 && kind.rate > 0.0);
        }
    }
}
