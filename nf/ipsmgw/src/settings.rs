//! How a gateway is set up.

use crate::by_diameter::home::Home;
use crate::centre::Plan;
use crate::effects::Way;
use crate::identity::Msisdn;
use machine::Duration;
use machine::bucket::Rate;
use sccp::codec::Address;

/// What a gateway is told of its networks. All of it has been checked.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The gateway's own address: what HLRs and service centres are told, and its title.
    pub number: Msisdn,
    /// Its own SCCP address.
    pub address: Address,
    /// Subsystem of HLRs, service centres and MSCs that are addressed by their titles.
    pub subsystems: Subsystems,
    /// The HLR, where it is not found by the subscriber's number.
    pub hlr: Hlr,
    /// In which order deliveries are tried; at least one.
    pub ways: Vec<Way>,
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
    /// Deliveries to one subscriber at once, those that wait among them.
    pub deliveries_max: usize,
    /// Whose terminals are served.
    pub terminals: Terminals,
    /// The gateway is a service centre itself, for a network without one.
    pub local: Option<Local>,
    /// What the home subscriber server is asked.
    pub home: Home,
}

/// Terminals of an IMS core.
#[derive(Debug, Clone)]
pub struct Terminals {
    /// Domains whose identities are those of subscribers.
    pub domains: Vec<String>,
    /// Whether a terminal takes short messages of which that was not told.
    pub take_by_default: bool,
}

/// A service centre of the gateway's own.
#[derive(Debug, Clone)]
pub struct Local {
    /// Digits with one of which numbers of subscribers begin; none: any.
    pub numbers: Vec<String>,
    /// What stands in front of a national number; none: such numbers are unknown.
    pub country_code: Option<String>,
    /// How much is taken, and when it is tried again.
    pub plan: Plan,
    /// How long a message is good that says nothing of that.
    pub validity: Duration,
    /// How long a message is good at most.
    pub validity_max: Duration,
    /// Messages that one text may need.
    pub parts_max: usize,
    /// Quarters of an hour that time stamps are east of Greenwich.
    pub quarters: i8,
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

impl Settings {
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
        let is_own = |it: &String| it == identity || self.msisdn_of(it).as_ref() == Some(msisdn);
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
