//! How a gateway is set up.

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
    /// Digits with one of which the titles of those begin who may ask here; none: all may.
    pub allowed: Vec<String>,
    /// Whether a terminal takes short messages of which that was not told.
    pub takes_by_default: bool,
    /// Flows at once.
    pub flows_max: u32,
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
