//! How a gateway is set up.

use crate::effects::Way;
use machine::Duration;
use machine::bucket::Rate;
use mapsms::deposit::Local;
use mapsms::identity::{Msisdn, begins, canonical};
use sccp::codec::Address;
use smsdiameter::DestinationKeys;

/// What a gateway is told of its networks. All of it has been checked.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The gateway's own address: what HLRs and service centres are told, and its title.
    pub number: Msisdn,
    /// Its own SCCP address.
    pub address: Address,
    /// Subsystem of HLRs, service centres and MSCs that are addressed by their titles.
    pub subsystems: Subsystems,
    /// Whose subscribers are served, and how; none where the gateway is a centre itself.
    pub networks: Vec<Network>,
    /// What peers may take.
    pub shares: Shares,
    /// Mobile country and network code of correlation IMSIs.
    pub correlation_prefix: String,
    /// How long routing information is good.
    pub correlation_time: Duration,
    /// How long a terminal has for its delivery report.
    pub report_time: Duration,
    /// How long a flow may take at all.
    pub flow_time: Duration,
    /// How long a message that came from a terminal is known when it comes again.
    pub duplicate_time: Duration,
    /// How long service centres wait to be alerted.
    pub waiting_time: Duration,
    /// RP-Causes of a terminal after which no other way is tried.
    pub final_causes: Vec<u8>,
    /// Octets of an argument that goes with its BEGIN.
    pub begin_octets_max: usize,
    /// Messages that one subscriber may send.
    pub sender_rate: Rate,
    /// Digits with one of which the titles of those begin who may ask here, `*` for all; none:
    /// nobody may.
    pub allowed: Vec<String>,
    /// Flows at once.
    pub flows_max: u32,
    /// Whether another node may have to go on with what is under way: it is told of that.
    pub has_standby: bool,
    /// Whose terminals are served.
    pub terminals: Terminals,
    /// The gateway is a service centre itself, for a network without one.
    pub local: Option<Local>,
    /// What the home subscriber server is asked.
    pub home: Home,
}

/// What flows may ask by Diameter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Home {
    /// For numbers.
    pub numbers: bool,
    /// For word of who can be reached.
    pub reachability: bool,
    /// Whether messages of terminals are charged (Ro).
    pub charges: bool,
    /// Whether messages to terminals are.
    pub charges_deliveries: bool,
    /// Of whom in place of MAP.
    pub destinations: Vec<DestinationKeys>,
    /// How long a peer that asks is answered in, before its node here gives the answer up; absent:
    /// whenever the flow ends.
    pub answer_time: Option<Duration>,
}

/// Terminals of an IMS core.
#[derive(Debug, Clone)]
pub struct Terminals {
    /// Domains whose identities are those of subscribers.
    pub domains: Vec<String>,
    /// Whether a terminal takes short messages of which that was not told.
    pub take_by_default: bool,
}

/// Subscribers who are dealt with alike.
#[derive(Debug, Clone)]
pub struct Network {
    /// What an operator calls it.
    pub name: String,
    /// Digits with one of which their numbers begin; none: any.
    pub numbers: Vec<String>,
    /// The HLR, where it is not found by the subscriber's number.
    pub hlr: Hlr,
    /// In which order deliveries are tried; at least one.
    pub ways: Vec<Way>,
    /// Digits with one of which the numbers of service centres begin that they may send to, `*` for
    /// all; none: nothing is sent.
    pub centres: Vec<String>,
}

/// What peers may take: of the rows that outlive a flow, and of what is under way.
#[derive(Debug, Clone, Copy)]
pub struct Shares {
    /// Correlations that stand at once.
    pub correlations_max: usize,
    /// Subscribers of whom service centres wait to hear.
    pub waiting_max: usize,
    /// Subscribers of whom one service centre may begin to wait to hear.
    pub waiting_rate: Rate,
    /// Deliveries to one subscriber at once, those that wait among them.
    pub deliveries_max: usize,
}

/// Subsystem numbers (TS 23.003 §8).
#[derive(Debug, Clone, Copy)]
pub struct Subsystems {
    /// Of HLRs.
    pub hlr: u8,
    /// Of service centres.
    pub centre: u8,
    /// Of MSCs.
    pub msc: u8,
}

impl Network {
    /// How many of a number's digits it names; none: it is another one's.
    fn names(&self, msisdn: &Msisdn) -> Option<usize> {
        let digits = msisdn.digits();
        let named = self.numbers.iter().filter(|it| digits.starts_with(*it)).map(String::len);
        named.max().or(self.numbers.is_empty().then_some(0))
    }

    /// Whether a subscriber may send to that service centre.
    #[must_use]
    pub fn has_centre(&self, centre: &Msisdn) -> bool {
        begins(centre.digits(), &self.centres)
    }
}

impl Settings {
    /// The network of a number: the one that names most of its digits.
    #[must_use]
    pub fn network(&self, msisdn: &Msisdn) -> Option<&Network> {
        let named = self.networks.iter().filter_map(|it| Some((it.names(msisdn)?, it)));
        // Of two alike the first.
        named.rev().max_by_key(|it| it.0).map(|it| it.1)
    }

    /// Whether who has that title may ask.
    #[must_use]
    pub fn is_allowed(&self, digits: &str) -> bool {
        begins(digits, &self.allowed)
    }

    /// Whether a number is that of a subscriber of here.
    #[must_use]
    pub fn serves(&self, msisdn: &Msisdn) -> bool {
        self.local.is_some() || self.network(msisdn).is_some()
    }

    /// The number that an identity is: of a `tel:` URI, or of a `sip:` URI of a domain of its own.
    #[must_use]
    pub fn msisdn_of(&self, uri: &str) -> Option<Msisdn> {
        let parsed = sip::Uri::parse(uri.as_bytes()).ok()?;
        let is_own = |it: &String| parsed.host.eq_ignore_ascii_case(it.as_bytes());
        let is_here = parsed.host.is_empty() || self.terminals.domains.iter().any(is_own);
        Msisdn::of_uri(uri).filter(|_| is_here)
    }

    /// Whether one of the identities that the network asserts is that subscriber's.
    #[must_use]
    pub fn is_asserted(&self, asserted: &[String], identity: &str, msisdn: &Msisdn) -> bool {
        let own = canonical(identity);
        let is_own =
            |it: &String| canonical(it) == own || self.msisdn_of(it).as_ref() == Some(msisdn);
        asserted.iter().any(is_own)
    }
}

/// Where the HLR is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hlr {
    /// Found by the subscriber's number, with that translation type: what is asked must not come
    /// back here.
    Number(u8),
    /// At one address.
    Address(Box<Address>),
    /// It is never asked: the gateway itself knows who is there, and who waits.
    Suppressed,
}
