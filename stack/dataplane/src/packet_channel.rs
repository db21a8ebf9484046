//! A packet channel of one function: those of its classes come up with what the forwarder knows
//! of them, and packets go down by an interface, by the routes of a table, or to a feature.
//!
//! It stands beside the control and is none: it says nothing of what is forwarded, and each of the
//! two goes on while the other is away.

use crate::WELCOME;
use forwarder::ToPackets;
use machine::{Duration, Time};
use runtime::{ChannelEvent, Effects, PacketRecord, PacketTo, PortId};
use std::sync::Arc;

/// Time between two attempts to open it.
const RETRY: Duration = Duration::from_millis(250);

/// What happened at a packet channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketChannelEvent<'a> {
    /// It is open: packets of its classes come from now on.
    Opened,
    /// A packet came up.
    Packet(PacketRecord, &'a [u8]),
    /// It is closed, or could not be opened: why. It is tried again.
    Closed(&'a str),
}

/// What has gone through a packet channel since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PacketChannelTally {
    /// Packets that came up.
    pub up: u64,
    /// Packets that were sent, those among them that were shed.
    pub down: u64,
    /// Packets sent that found no room in the ring, or no open packet channel.
    pub shed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The next attempt is at that time.
    Away(Time),
    /// The forwarder has not given it yet; it must until then.
    Opening(Time),
    Open,
}

/// A packet channel of one function.
#[derive(Debug)]
pub struct PacketChannel {
    port: PortId,
    to: Arc<ToPackets>,
    state: State,
    tally: PacketChannelTally,
}

impl PacketChannel {
    /// One that is opened with the first tick, by the channel of this number.
    #[must_use]
    pub fn new(now: Time, port: PortId, to: ToPackets) -> Self {
        Self {
            port,
            to: Arc::new(to),
            state: State::Away(now),
            tally: PacketChannelTally::default(),
        }
    }

    /// Takes what happened on a channel; that of another number is passed over.
    pub fn step<'a>(
        &mut self,
        now: Time,
        port: PortId,
        event: ChannelEvent<'a>,
    ) -> Option<PacketChannelEvent<'a>> {
        if port != self.port {
            return None;
        }
        match event {
            ChannelEvent::Up => None,
            ChannelEvent::Shed(count) => {
                self.tally.shed += count as u64;
                None
            }
            // The one message that comes says that the packet channel is open.
            ChannelEvent::Message(_) => {
                self.state = State::Open;
                Some(PacketChannelEvent::Opened)
            }
            ChannelEvent::Packet(record, packet) => {
                self.tally.up += 1;
                Some(PacketChannelEvent::Packet(record, packet))
            }
            ChannelEvent::Absent(why) => {
                self.state = State::Away(now + RETRY);
                Some(PacketChannelEvent::Closed(why.unwrap_or("it is being started")))
            }
            ChannelEvent::Down(why) => {
                self.state = State::Away(now + RETRY);
                Some(PacketChannelEvent::Closed(why))
            }
        }
    }

    /// Opens it when it is time, and gives up a forwarder that does not give it in its time.
    pub fn tick(&mut self, now: Time, out: &mut Effects) {
        match self.state {
            State::Away(at) if now >= at => {
                self.state = State::Opening(now + WELCOME);
                out.connect(self.port, self.to.clone());
            }
            State::Opening(until) if now >= until => {
                self.state = State::Away(now + RETRY);
                out.hang_up(self.port);
            }
            State::Away(_) | State::Opening(_) | State::Open => {}
        }
    }

    /// When [`PacketChannel::tick`] wants to be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        match self.state {
            State::Away(at) | State::Opening(at) => Some(at),
            State::Open => None,
        }
    }

    /// Whether packets come and go.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// What has gone through it.
    #[must_use]
    pub fn tally(&self) -> PacketChannelTally {
        self.tally
    }

    /// Closes it: who made it forgets it.
    pub fn close(&self, out: &mut Effects) {
        out.hang_up(self.port);
    }

    /// Sends the packet that `write` appends. A packet channel that is closed or full sheds it, and
    /// counts.
    pub fn send(&mut self, out: &mut Effects, to: PacketTo, write: impl FnOnce(&mut Vec<u8>)) {
        self.tally.down += 1;
        if self.is_open() {
            out.packet(self.port, to, write);
        } else {
            self.tally.shed += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::ChannelOrder;

    const PORT: PortId = PortId(9);

    #[test]
    fn a_packet_channel_is_tried_again_until_it_is_open_and_sheds_what_it_cannot_take() {
        let (mut now, mut out) = (Time::from_millis(1_000), Effects::default());
        let classes = vec![("bgp".to_owned(), 8)];
        let to = ToPackets { socket: "/nowhere".into(), keys: None, classes, epoch: None };
        let mut channel = PacketChannel::new(now, PORT, to);
        assert_eq!(channel.deadline(), Some(now));
        channel.tick(now, &mut out);
        assert_eq!(channel.deadline(), Some(now + WELCOME), "it waits for an answer");
        // A forwarder that says nothing is given up and tried again.
        now += WELCOME;
        let mut given_up = Effects::default();
        channel.tick(now, &mut given_up);
        assert!(matches!(given_up.channels[..], [(PORT, ChannelOrder::HangUp)]));
        assert_eq!(channel.deadline(), Some(now + RETRY));
        now += RETRY;
        channel.tick(now, &mut out);
        assert_eq!(channel.deadline(), Some(now + WELCOME));
        assert_eq!(channel.step(now, PortId(1), ChannelEvent::Down("another's")), None);
        let absent = channel.step(now, PORT, ChannelEvent::Absent(Some("nobody")));
        assert_eq!(absent, Some(PacketChannelEvent::Closed("nobody")));
        channel.send(&mut out, PacketTo::Vrf(0), |_| panic!("nobody takes it"));
        now = channel.deadline().unwrap();
        channel.tick(now, &mut out);
        assert_eq!(channel.step(now, PORT, ChannelEvent::Up), None);
        assert!(!channel.is_open(), "the forwarder has not given it");
        assert_eq!(
            channel.step(now, PORT, ChannelEvent::Message(&[])),
            Some(PacketChannelEvent::Opened)
        );
        channel.send(&mut out, PacketTo::Vrf(0), |octets| octets.push(0x45));
        channel.step(now, PORT, ChannelEvent::Shed(1));
        let record = PacketRecord::default();
        let came = channel.step(now, PORT, ChannelEvent::Packet(record, &[1]));
        assert_eq!(came, Some(PacketChannelEvent::Packet(record, &[1])));
        assert_eq!(channel.tally(), PacketChannelTally { up: 1, down: 2, shed: 2 });
        assert_eq!(
            channel.step(now, PORT, ChannelEvent::Down("over")),
            Some(PacketChannelEvent::Closed("over"))
        );
        assert_eq!(channel.deadline(), Some(now + RETRY));
    }
}
