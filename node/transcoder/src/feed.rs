//! The channel by which packets come from a forwarder and go back there: one class, which
//! has a share of the rings. What comes while they are full is shed by the forwarder, the newest
//! first; what goes back while they are full is shed here. Nothing waits anywhere else.

use channel::{Absent, Came, Channel, Connect as _, PacketTo, Packets};
use codec::{Place, Side};
use core::net::SocketAddr;
use driver::{Interest, Poll};
use forwarder::ToPackets;
use machine::{Duration, Time};
use packet::datagram::Datagram;
use std::collections::HashMap;

/// Records of a ring that packets to be transcoded may fill: all that it has.
pub const CLASS_RECORDS: u16 = 512;
/// Time between two attempts to open the packet channel.
const RETRY: Duration = Duration::from_millis(100);

/// The packet channel.
pub(crate) struct Feed {
    to: Option<ToPackets>,
    channel: Option<Box<dyn Channel>>,
    /// The forwarder gave it.
    is_open: bool,
    retry: Time,
    /// Why it could not be opened, as it was said last.
    why: String,
    places: HashMap<Place, (u32, Side)>,
    packets: Packets,
    shed: u64,
}

impl Feed {
    /// One that is opened with the first tick; `None`: packets come and go by the control.
    pub fn new(to: Option<ToPackets>, now: Time) -> Self {
        Self {
            to,
            channel: None,
            is_open: false,
            retry: now,
            why: String::new(),
            places: HashMap::new(),
            packets: Packets::default(),
            shed: 0,
        }
    }

    /// Whether packets come.
    pub const fn is_open(&self) -> bool {
        self.is_open
    }

    /// Packets that the forwarder did not take.
    pub const fn shed(&self) -> u64 {
        self.shed
    }

    /// When [`Feed::tick`] wants to be called next.
    pub fn deadline(&self) -> Option<Time> {
        (self.to.is_some() && self.channel.is_none()).then_some(self.retry)
    }

    /// Opens the packet channel when it is time.
    pub fn tick(&mut self, now: Time, poll: &Poll, token: u64) {
        let Some(to) = self.to.as_ref().filter(|_| self.channel.is_none()) else { return };
        if now < self.retry {
            return;
        }
        self.retry = now + RETRY;
        match to.connect() {
            Ok(channel) => {
                let watched = poll.add(&channel.descriptor(), token, Interest::Read);
                self.channel = Some(channel).filter(|_| watched.is_ok());
            }
            Err(Absent::Starting) => {}
            Err(Absent::Failed(why)) => self.say(why),
        }
    }

    /// What is said again and again is logged once.
    fn say(&mut self, why: String) {
        if self.why != why {
            tracing::info!(target: "transcoder", why, "no packets come");
            self.why = why;
        }
    }

    /// Reads some of what has come, and gives each packet of a known place to `take`: its stream,
    /// the end that it came from, and the packet of RTP. Returns how many came.
    pub fn read(&mut self, mut take: impl FnMut(u32, Side, &[u8])) -> usize {
        let Some(channel) = &mut self.channel else { return 0 };
        let mut count = 0;
        let (places, is_open) = (&self.places, &mut self.is_open);
        let read = channel.read(&mut |came| match came {
            Came::Message(_) => *is_open = true,
            Came::Packet(record, packet) => {
                count += 1;
                let Some(datagram) = Datagram::read(packet) else { return };
                let (address, port) = (datagram.to.ip(), datagram.to.port());
                let place = Place { vrf: record.vrf, address, port };
                if let Some(&(stream, end)) = places.get(&place) {
                    take(stream, end, datagram.payload);
                }
            }
        });
        match read {
            Ok(()) if self.is_open && !self.why.is_empty() => {
                tracing::info!(target: "transcoder", "packets come");
                self.why.clear();
            }
            Ok(()) => {}
            Err(why) => {
                // Closing takes it out of the poll as well.
                (self.channel, self.is_open) = (None, false);
                self.say(why);
            }
        }
        count
    }

    /// A packet of RTP leaves from a place. Where it goes is the forwarder's to know.
    pub fn push(&mut self, place: &Place, octets: &[u8]) {
        let at = SocketAddr::new(place.address, place.port);
        let to = PacketTo::Feature { class: 0, interface: 0, vrf: place.vrf };
        let datagram = Datagram { from: at, to: at, payload: octets };
        self.packets.push(to, |out| datagram.write(out));
    }

    /// Sends what was pushed.
    pub fn flush(&mut self) {
        if self.packets.is_empty() {
            return;
        }
        let packets = core::mem::take(&mut self.packets);
        let sent = match &mut self.channel {
            Some(channel) if self.is_open => channel.send(&packets),
            _ => Ok(packets.len()),
        };
        match sent {
            Ok(shed) => self.shed += shed as u64,
            Err(why) => {
                (self.channel, self.is_open) = (None, false);
                self.say(why);
            }
        }
        self.packets = packets;
        self.packets.clear();
    }

    /// The places of a stream's ends; those that it had before count no more.
    pub fn place(&mut self, stream: u32, before: [Option<Place>; 2], now: [Option<Place>; 2]) {
        for place in before.into_iter().flatten() {
            if self.places.get(&place).is_some_and(|it| it.0 == stream) {
                self.places.remove(&place);
            }
        }
        for (place, side) in now.into_iter().zip([Side::A, Side::B]) {
            if let Some(place) = place {
                self.places.insert(place, (stream, side));
            }
        }
    }
}
