//! One phone with an endpoint of its own.

use crate::phone::Agreed;
use crate::phone::{Phone, Ports, Turn, is_answer_to_register};
use crate::text::Draw;
use crate::{Carrier, Config, Event, Packet, State};
use esp::{Spi, Udp};
use ipsec::{Address, Arrived, Endpoint, Incoming, Lane, Settings, Streams, Way};
use machine::slots::Key;
use machine::{Duration, Time};
use runtime::{Flow, PortId, Transport};
use secagree::Agreement;
use sip::Framing;
use std::net::SocketAddr;

const PORTS: Ports = Ports { raw: PortId(1), in_udp: PortId(2) };
/// Sets of one phone: those of now and before, one under way, and those that are asked for in vain.
const SETS_MAX: u32 = 16;
/// A phone keeps its connections for as long as it has them; those of sets that are gone end.
const IDLE: Duration = Duration::from_secs(86_400);

/// A phone.
#[derive(Debug)]
pub struct Handset {
    phone: Phone,
    esp: Endpoint,
    streams: Streams,
    /// When it was last told the time.
    now: Time,
}

impl Handset {
    /// A phone that is off.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let mut draw = Draw::new(config.seed);
        let in_udp = Some((PORTS.in_udp, Udp::PORT));
        let address = Address { ip: config.address, raw: PORTS.raw, bypass: false, in_udp };
        let settings = Settings { addresses: vec![address], sets_max: SETS_MAX };
        let esp = Endpoint::new(settings, 0, draw.number(), Time::ZERO);
        let streams = Streams::new(draw.number(), IDLE);
        Self { phone: Phone::new(config, PORTS, draw), esp, streams, now: Time::ZERO }
    }

    /// Whether it speaks TCP inside of ESP, or UDP. The first REGISTER is in the clear by UDP.
    pub const fn speak_tcp(&mut self, on: bool) {
        self.phone.speak_tcp(on);
    }

    /// Whether it registers for emergencies (TS 24.229 §5.1.6.2).
    pub const fn call_for_help(&mut self, on: bool) {
        self.phone.call_for_help(on);
    }

    /// A kernel does its ESP from now on: what it protects leaves as it is between the protected
    /// ports, and so does what comes ([`Carrier::Clear`]). UDP alone.
    pub fn leave_esp(&mut self) {
        self.phone.leave_esp();
    }

    /// The next agreement that the kernel must know before what leaves with it.
    pub fn agreed(&mut self) -> Option<Agreed> {
        self.phone.agreed()
    }

    /// Sets of associations that it has, those of a registration under way with them.
    #[must_use]
    pub fn sets(&self) -> u64 {
        self.esp.count(ipsec::Metric::SetsLive)
    }

    /// Connections of TCP that it has.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.streams.len()
    }

    /// Connections of TCP that the network has reset or refused, or that it answered no more.
    #[must_use]
    pub fn failed_connections(&self) -> u64 {
        self.esp.count(ipsec::Metric::StreamsFailed)
    }

    /// Closes the connection that it has opened under the agreement that it uses.
    pub fn hang_up(&mut self, out: &mut Vec<Packet>) {
        if let Some(set) = self.phone.set() {
            self.streams.close(Way { set, lane: Lane::First });
        }
        self.leave(out);
    }

    /// Does something, and lets leave what comes of it.
    fn turn(&mut self, out: &mut Vec<Packet>, what: impl FnOnce(&mut Phone, &mut Turn<'_>)) {
        let streams = Some(&mut self.streams);
        what(&mut self.phone, &mut Turn { now: self.now, esp: &mut self.esp, streams, out });
        self.leave(out);
    }

    /// What connections have to say leaves.
    fn leave(&mut self, out: &mut Vec<Packet>) {
        self.streams.leave(self.now, &mut self.esp, |flow, bytes| {
            let carrier = if flow.port == PORTS.raw { Carrier::Esp } else { Carrier::InUdp };
            let bytes = bytes.to_vec();
            out.push(Packet { carrier, from: flow.local, to: flow.remote, bytes });
        });
    }

    /// How far it is.
    #[must_use]
    pub const fn state(&self) -> State {
        self.phone.state()
    }

    /// Its configuration.
    #[must_use]
    pub const fn config(&self) -> &Config {
        self.phone.config()
    }

    /// What happened, in order.
    pub fn event(&mut self) -> Option<Event> {
        self.phone.event()
    }

    /// The agreement that it uses.
    #[must_use]
    pub fn agreement(&self) -> Option<&Agreement> {
        self.phone.agreement()
    }

    /// The indices of the network by which it sends and its own by which it receives, of the set
    /// that it uses.
    #[must_use]
    pub fn indices(&self) -> Option<[Spi; 4]> {
        let agreement = self.phone.agreement()?;
        let (ue, pcscf) = (agreement.ue.ipsec, agreement.pcscf.ipsec);
        Some([pcscf.spi_s, pcscf.spi_c, ue.spi_c, ue.spi_s])
    }

    /// The Call-ID of its registrations.
    #[must_use]
    pub fn call_id(&self) -> &str {
        self.phone.call_id()
    }

    /// Its address and server port, by which the network knows it.
    #[must_use]
    pub const fn contact(&self) -> SocketAddr {
        self.phone.contact()
    }

    /// Seconds that the network granted its registration.
    #[must_use]
    pub const fn granted_s(&self) -> u32 {
        self.phone.granted_s()
    }

    /// What Security-Client said in the agreement that is used.
    #[must_use]
    pub fn client(&self) -> Option<&[u8]> {
        self.phone.client()
    }

    /// Registers, or registers again: in the clear where it has no agreement.
    pub fn register(&mut self, now: Time, out: &mut Vec<Packet>) {
        self.now = now;
        self.turn(out, |phone, turn| phone.register(turn));
    }

    /// De-registers.
    pub fn deregister(&mut self, now: Time, out: &mut Vec<Packet>) {
        self.now = now;
        self.turn(out, |phone, turn| phone.deregister(turn));
    }

    /// Forgets all of its agreements, as one that was switched off and on.
    pub fn restart(&mut self) {
        self.streams.clear();
        self.phone.restart(&mut self.esp);
    }

    /// Sends a request or an answer of the caller's under the agreement that is used; requests get
    /// what they must say (RFC 3329 §2.3.1).
    pub fn send(&mut self, bytes: &[u8], out: &mut Vec<Packet>) {
        self.turn(out, |phone, turn| phone.send(bytes, turn));
    }

    /// A request as [`Handset::send`] sends it under the agreement that is used.
    #[must_use]
    pub fn verified(&self, bytes: &[u8]) -> Vec<u8> {
        self.phone.verified(bytes)
    }

    /// Sends octets as they are, by a connection of TCP if it speaks that.
    pub fn say(&mut self, bytes: &[u8], out: &mut Vec<Packet>) {
        self.turn(out, |phone, turn| phone.say(bytes, turn));
    }

    /// Takes a packet that came.
    pub fn receive(&mut self, now: Time, packet: &Packet, out: &mut Vec<Packet>) {
        self.now = now;
        if let Some(set) = self.phone.opened(packet) {
            return self.message(set, packet.bytes.clone(), out);
        }
        if packet.carrier == Carrier::Clear {
            return self.turn(out, |phone, turn| phone.answered(None, &packet.bytes, turn));
        }
        let port = if packet.carrier == Carrier::Esp { PORTS.raw } else { PORTS.in_udp };
        let local = SocketAddr::new(self.config().address, packet.to.port());
        let flow = Flow::to(port, Transport::Udp, local, packet.from);
        let Some(arrived) = self.esp.unprotect(now, &flow, &packet.bytes) else { return };
        if arrived.protocol == ipsec::TCP {
            return self.segment(&arrived, out);
        }
        let bytes = self.esp.octets()[arrived.payload.clone()].to_vec();
        self.message(arrived.set, bytes, out);
    }

    fn message(&mut self, set: Key, bytes: Vec<u8>, out: &mut Vec<Packet>) {
        if !is_answer_to_register(&bytes) {
            return self.phone.came(bytes);
        }
        self.turn(out, |phone, turn| phone.answered(Some(set), &bytes, turn));
    }

    /// A segment of TCP: the network opens connections to the server port alone.
    fn segment(&mut self, arrived: &Arrived, out: &mut Vec<Packet>) {
        let to_server = arrived.destination.port() == self.config().server_port;
        let may_begin = self.phone.speaks_tcp() && arrived.lane == Lane::Second && to_server;
        self.streams.arrived(self.now, &mut self.esp, arrived, may_begin);
        let way = Way { set: arrived.set, lane: arrived.lane };
        while let Some(Incoming { octets, .. }) = self.streams.incoming(way) {
            let taken = match sip::frame(octets) {
                Framing::Message(taken) if taken <= octets.len() => taken,
                Framing::Message(_) => break, // its body is on its way
                Framing::Skip(skipped @ 1..) => {
                    octets.drain(..skipped);
                    continue;
                }
                Framing::Skip(_) | Framing::Partial => break,
                Framing::Broken(_) => {
                    self.streams.abort(way);
                    break;
                }
            };
            let bytes = octets.drain(..taken).collect();
            self.message(arrived.set, bytes, out);
        }
        self.leave(out);
    }

    /// Answers a request that came ([`Event::Came`]) with `status`.
    pub fn answer(&mut self, request: &[u8], status: u16, body: &[u8], out: &mut Vec<Packet>) {
        self.turn(out, |phone, turn| phone.answer(request, status, body, turn));
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Time, out: &mut Vec<Packet>) {
        self.now = now;
        self.streams.tick(now);
        self.turn(out, |phone, turn| phone.tick(turn));
    }

    /// When [`Handset::tick`] wants to be called.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let deadlines = self.phone.deadline().into_iter().chain(self.streams.deadline());
        deadlines.min()
    }
}
