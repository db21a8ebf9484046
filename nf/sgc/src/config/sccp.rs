//! The keys of SCCP and TCAP: what this node is there, and its subsystems.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// SCCP of this node (Q.711 to Q.716), which is there as soon as a subsystem or a translation is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sccp {
    /// Network Indicator of what this node sends: 0 international, 2 national.
    pub network_indicator: u8,
    /// Point codes that are told when a subsystem here changes its status (SSA, SSP).
    pub concerned: Vec<String>,
    /// Octets of a message without the routing label, at most; what is longer goes in segments. 268
    /// where links of 64 kbit/s are on the way (Q.703), more where all is M3UA.
    pub message_octets_max: u32,
    /// Long data go as LUDT where a message may be so long.
    pub long_unitdata: bool,
    /// The hop counter of what is sent, 1 to 15.
    pub hops: u8,
    /// A UDT that goes on by its title (`routing = "title"`) leaves as XUDT: its hop counter ends a
    /// circle of translations. False where a next node reads no XUDT.
    pub relay_extended: bool,
    /// T(reass): how long segments of a message are waited for, milliseconds.
    pub t_reassembly_ms: u32,
    /// T(stat info): first pause before a subsystem elsewhere that is out of service is asked
    /// again, milliseconds; it doubles.
    pub t_status_ms: u32,
    /// The longest of these pauses, milliseconds.
    pub t_status_max_ms: u32,
    /// Octets of all messages that wait for segments, with 256 for each; no association has more
    /// than is left by the others, no point code more than is left of that.
    pub reassembly_octets_max: u32,
    /// Point codes of which is kept what is not as it should be, of those that translations lead to
    /// or that are concerned.
    pub destinations_max: u32,
    /// Connections of classes 2 and 3.
    pub connections: Connections,
}

/// Connections of classes 2 and 3 (Q.714 §3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Connections {
    /// A connection that a title leads on is coupled of two sections here, so that both ends know
    /// this node alone; else they speak to each other without it.
    pub coupled: bool,
    /// T(conn est): how long a connection that is asked for may take, milliseconds.
    pub t_conn_est_ms: u32,
    /// T(ias): after so long without anything sent, a test is, milliseconds.
    pub t_ias_ms: u32,
    /// T(iar): after so long without anything heard a connection is released, milliseconds; more
    /// than T(ias) of the other side.
    pub t_iar_ms: u32,
    /// T(rel), T(repeat rel): how long a release waits for its answer before it is said again,
    /// milliseconds.
    pub t_rel_ms: u32,
    /// T(int): how long it is said again before it is given up, milliseconds.
    pub t_int_ms: u32,
    /// T(reset): how long a reset waits for its answer, milliseconds.
    pub t_reset_ms: u32,
    /// The window of class 3, messages.
    pub credit_max: u8,
    /// Local references in use or frozen; a connection that is coupled has two. No association has
    /// more than is left by the others, no point code more than is left of that.
    pub references_max: u32,
    /// Octets that wait in all connections, shared out like references.
    pub waiting_octets_max: u32,
}

impl Default for Connections {
    fn default() -> Self {
        Self {
            coupled: false,
            t_conn_est_ms: 90_000,
            t_ias_ms: 420_000,
            t_iar_ms: 900_000,
            t_rel_ms: 15_000,
            t_int_ms: 60_000,
            t_reset_ms: 15_000,
            credit_max: 16,
            references_max: 65_536,
            waiting_octets_max: 4 << 20,
        }
    }
}

impl Default for Sccp {
    fn default() -> Self {
        Self {
            network_indicator: 2,
            concerned: Vec::new(),
            message_octets_max: 268,
            long_unitdata: false,
            hops: 15,
            relay_extended: true,
            t_reassembly_ms: 15_000,
            t_status_ms: 10_000,
            t_status_max_ms: 600_000,
            reassembly_octets_max: 4 << 20,
            destinations_max: 4_096,
            connections: Connections::default(),
        }
    }
}

/// TCAP of this node (Q.771 to Q.775).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tcap {
    /// Dialogues at most; a begin beyond them is aborted (resourceLimitation).
    pub dialogues_max: u32,
    /// Dialogues that one point code may have begun by one association, whatever calls.
    pub dialogues_per_source_max: u32,
    /// How long nothing may be heard or said of a dialogue before it is broken off, milliseconds.
    pub t_idle_ms: u32,
    /// How long a begin may have waited before it is looked at, milliseconds: one that is older is
    /// aborted (resourceLimitation), so that under overload what this node can do is done for the
    /// dialogues that stand. 0 is off.
    pub begin_delay_max_ms: u32,
}

impl Default for Tcap {
    fn default() -> Self {
        Self {
            dialogues_max: 500_000,
            dialogues_per_source_max: 100_000,
            t_idle_ms: 300_000,
            begin_delay_max_ms: 100,
        }
    }
}

/// Who takes the data of a subsystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SubsystemUser {
    /// Data that ask to be returned when they cannot be delivered come back as they are, without
    /// that wish: a test of the way there and back.
    Echo,
    /// TCAP: the data are messages of dialogues.
    Tcap,
    /// Its application itself: connections of classes 2 and 3, and N-UNITDATA as it comes.
    Sccp,
}

/// What becomes of the dialogues that begin at a subsystem of TCAP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Dialogues {
    /// They are refused: no application is there.
    #[default]
    Refused,
    /// They end at once, each operation with its argument as its result: a test of the way there
    /// and back.
    Echoed,
}

/// A subsystem of this node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subsystem {
    /// Name, unique in the function.
    pub name: String,
    /// Subsystem number: 6 HLR, 7 VLR, 8 MSC, 146 CAP, 147 gsmSCF (TS 23.003 §8).
    pub number: u8,
    /// Who takes its data: `tcap`; `sccp`, an application that has connections; or `echo`.
    pub user: SubsystemUser,
    /// With `tcap`: dialogues that begin are `refused` or `echoed`.
    #[serde(default)]
    pub dialogues: Dialogues,
    /// It is in service from the start; `tandem ctl sccp block` and `unblock` hold until the next
    /// restart, or until this key changes.
    #[serde(default = "super::yes")]
    pub enabled: bool,
}
