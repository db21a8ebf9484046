//! What an application may have, and what is counted of it.

use crate::json::PointCodes;
use authentication::Keys;
use m3ua::codec::PointCode;
use machine::Duration;
use sccp::codec::Digits;

/// What an application is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Its name.
    pub name: String,
    /// The function's name.
    pub function: String,
    /// The subsystem that it serves.
    pub subsystem: u8,
    /// It has connections and N-UNITDATA of its subsystem, which has no TCAP.
    pub is_network: bool,
    /// What the tags of connections that it asks for begin with, above 40 bits.
    pub tag: u64,
    /// The point codes of its node: with none, one of these and its subsystem it may call.
    pub point_codes: Vec<PointCode>,
    /// How point codes are written in lines of JSON.
    pub shown: PointCodes,
    /// What the digits of the titles begin with by which it may call.
    pub titles: Vec<Digits>,
    /// The keys of which an instance has to have one.
    pub keys: Option<Keys>,
    /// The groups of instances: the first one that can take a dialogue gets it. None: all are one.
    pub groups: Vec<String>,
    /// Instances at most; those that have not greeted yet are [`super::GREETING_MAX`] beside them.
    pub instances_max: u32,
    /// Dialogues at most.
    pub dialogues_max: u32,
    /// Octets that wait for one instance, at most; half of them for dialogues that begin.
    pub queue_octets_max: u32,
    /// Octets of indications that are held for who would take dialogues over, at most.
    pub held_octets_max: u32,
    /// How long a dialogue that begins may wait for its instance to read.
    pub wait: Duration,
    /// How long an instance may take nothing, while something waits, before it counts as slow.
    pub slow: Duration,
    /// How long dialogues of an instance that was lost wait for another one.
    pub resume: Duration,
}

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Dialogues that began elsewhere and were given to an instance.
    pub begun_there: u64,
    /// Dialogues that instances began.
    pub begun_here: u64,
    /// Dialogues that were given to a second instance, which had to begin anew.
    pub again: u64,
    /// Dialogues that were resumed at a second instance.
    pub resumed: u64,
    /// Dialogues that another node has served, and that went on with their instance.
    pub moved: u64,
    /// Dialogues that were aborted because their instance was lost.
    pub lost: u64,
    /// Dialogues that were refused because there is no room for more.
    pub shed_full: u64,
    /// Dialogues that were refused because too much waits for every instance, and connections of
    /// which more came than theirs reads.
    pub shed_slow: u64,
    /// Dialogues that were aborted because they waited too long for their instance to read.
    pub shed_late: u64,
    /// Messages that were not said because they are longer than a message may be.
    pub too_long: u64,
    /// Dialogues and messages that came while no instance was there.
    pub absent: u64,
    /// Messages of instances that were not understood.
    pub malformed: u64,
    /// Requests that were not carried out.
    pub refused: u64,
    /// Greetings that were refused.
    pub turned_away: u64,
    /// Instances that were taken in.
    pub welcomed: u64,
    /// Instances that were lost.
    pub ended: u64,
    /// Instances that were closed because they read too slowly.
    pub too_slow: u64,
}
