//! Packet channels as the main thread has them: it opens and closes them.

use super::channels::Part;
use super::rings::{CLASSES_MAX, Corrupt, Geometry, Rings, UPS_MAX};
use crate::asked::Warning;
use crate::ipc::{Reply, WorkerState};
use crate::serve::{Forwarder, WORKERS_MAX};
use crate::worker::Order;
use machine::narrow::at_most;
use plane_control::Handed;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd as _;

/// Packet channels at once.
const PACKET_CHANNELS_MAX: usize = 8;
/// 2 to this many records of a ring.
const LOG2_SIZE: u8 = 9;
/// Characters of a name that somebody else chose, in what is said of it.
const NAME_CHARS_MAX: usize = 64;
/// Octets of a record in a forwarder of short and of long frames.
const CELLS: [u32; 2] = [2_048, 10_240];
const _: () = assert!(WORKERS_MAX <= UPS_MAX);

/// The beginning of a name that may be of any length.
fn short(name: &str) -> &str {
    name.char_indices().nth(NAME_CHARS_MAX).map_or(name, |(at, _)| &name[..at])
}

impl Forwarder {
    /// Somebody wants the packets of these classes. With a key, only who proves it gets any, and
    /// without one only the forwarder's own user and root.
    pub(crate) fn open_channel(
        &mut self,
        number: u64,
        classes: Vec<(String, u16)>,
        epoch: Option<u64>,
    ) {
        let Some(connection) = self.connections.get(&number) else { return };
        let challenge = connection.challenge.as_ref();
        if let Err(why) = self.listener.gives_packets(connection.is_own, challenge) {
            return self.turn_away(number, why);
        }
        if let Err(why) = self.leads(epoch) {
            return self.turn_away(number, &why);
        }
        if self.channels.len() >= PACKET_CHANNELS_MAX || self.channels.contains_key(&number) {
            return self.turn_away(number, "there are too many packet channels");
        }
        match self.classes_of(&classes).and_then(|of| self.hand_out(number, &classes, &of)) {
            Ok(()) => {
                if let Some(connection) = self.connections.get_mut(&number) {
                    connection.epoch = epoch;
                }
                self.channels.insert(number, classes);
            }
            Err(why) => self.turn_away(number, &why),
        }
    }

    /// The classes that are asked for, none of them twice or another packet channel's.
    fn classes_of(&self, classes: &[(String, u16)]) -> Result<Vec<Handed>, String> {
        if classes.is_empty() || classes.len() > CLASSES_MAX {
            return Err(format!("a packet channel has 1 to {CLASSES_MAX} classes"));
        }
        let known: BTreeMap<String, Handed> =
            self.plane.handed().map(|class| (class.name.clone(), class)).collect();
        let found = classes.iter().enumerate().map(|(at, (name, _))| {
            let mut others = self.channels.values().flatten().chain(&classes[..at]);
            if others.any(|(other, _)| other == name) {
                return Err(format!("packets of class {name} have a packet channel"));
            }
            known.get(name).cloned().ok_or_else(|| format!("there is no class {}", short(name)))
        });
        found.collect()
    }

    fn hand_out(
        &mut self,
        number: u64,
        asked: &[(String, u16)],
        classes: &[Handed],
    ) -> Result<(), String> {
        let words = |error: io::Error| format!("a packet channel: {error}");
        let cell = CELLS[usize::from(self.spec.stride > graph::STRIDE)];
        let ups = at_most(self.hands.len() as u64, u16::MAX);
        let geometry = Geometry { ups, log2_size: LOG2_SIZE, cell };
        let shares: Vec<u16> = asked.iter().map(|(_, share)| *share).collect();
        let Rings { ups, down, given } = Rings::new(geometry, &shares).map_err(words)?;
        let Geometry { ups: count, log2_size, cell } = geometry;
        let reply = Reply::PacketChannel { ups: count, log2_size, cell };
        let Some(connection) = self.connections.get_mut(&number) else { return Ok(()) };
        let beside = given.each_ref().map(|fd| fd.as_fd());
        connection.stream.send_beside(&reply, &beside).map_err(words)?;
        let mut hands = self.hands.iter();
        let well = hands.position(|hand| hand.life.state == WorkerState::Forwards).unwrap_or(0);
        let mut down = Some(down);
        for (worker, (hand, up)) in self.hands.iter().zip(ups).enumerate() {
            let down = if worker == well { down.take() } else { None };
            let part = Part { number, up, down, classes: classes.to_vec() };
            hand.give(Order::PacketChannel(Box::new(part)));
        }
        Ok(())
    }

    /// A connection is over, and its packet channel with it.
    pub(crate) fn close_channel(&mut self, number: u64) {
        if self.channels.remove(&number).is_some() {
            self.hands.iter().for_each(|hand| hand.give(Order::ClosePacketChannel(number)));
        }
    }

    /// A worker that died held an end of every packet channel: whoever wants them opens them anew.
    pub(crate) fn close_channels(&mut self, why: &str) {
        for number in self.channels.keys().copied().collect::<Vec<_>>() {
            self.turn_away(number, why);
        }
    }

    /// The other side of a packet channel wrote what cannot be.
    pub(crate) fn channel_broke(&mut self, number: u64, corrupt: Corrupt) {
        if self.channels.contains_key(&number) {
            // Whoever writes it may open a packet channel again and do the same.
            if self.may_warn(Warning::PacketChannel) {
                let door = number; // as the question `doors` calls it
                tracing::error!(target: "forwarder", door, %corrupt, "a packet channel is closed");
            }
            *self.channels_broken.entry(corrupt.to_string()).or_default() += 1;
            self.turn_away(number, &corrupt.to_string());
        }
    }
}
