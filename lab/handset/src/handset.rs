//! One phone with a doorway of its own.

use crate::phone::{Phone, Ports, Turn, is_answer_to_register};
use crate::text::Draw;
use crate::{Carrier, Config, Event, Packet, State};
use esp::{Spi, Udp};
use ipsec::{Address, Endpoint, Settings};
use machine::Time;
use runtime::{Flow, PortId, Transport};
use secagree::Agreement;
use std::net::SocketAddr;

const PORTS: Ports = Ports { raw: PortId(1), in_udp: PortId(2) };
/// Sets of one phone: those of now and before, one under way, and those that are asked for in vain.
const SETS_MAX: u32 = 16;

/// A phone.
#[derive(Debug)]
pub struct Handset {
    phone: Phone,
    esp: Endpoint,
}

impl Handset {
    /// A phone that is off.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let mut draw = Draw::new(config.seed);
        let in_udp = Some((PORTS.in_udp, Udp::PORT));
        let address = Address { ip: config.address, raw: PORTS.raw, in_udp };
        let settings = Settings { addresses: vec![address], sets_max: SETS_MAX };
        let esp = Endpoint::new(settings, 0, draw.number(), Time::ZERO);
        Self { phone: Phone::new(config, PORTS, draw), esp }
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
        self.phone.register(&mut Turn { now, esp: &mut self.esp, out });
    }

    /// De-registers.
    pub fn deregister(&mut self, now: Time, out: &mut Vec<Packet>) {
        self.phone.deregister(&mut Turn { now, esp: &mut self.esp, out });
    }

    /// Forgets all of its agreements, as one that was switched off and on.
    pub fn restart(&mut self) {
        self.phone.restart(&mut self.esp);
    }

    /// Sends a request or an answer of the caller's under the agreement that is used; requests get
    /// what they must say (RFC 3329 §2.3.1).
    pub fn send(&mut self, bytes: &[u8], out: &mut Vec<Packet>) {
        self.phone.send(bytes, &mut Turn { now: Time::ZERO, esp: &mut self.esp, out });
    }

    /// Takes a packet that came.
    pub fn receive(&mut self, now: Time, packet: &Packet, out: &mut Vec<Packet>) {
        if packet.carrier == Carrier::Clear {
            let mut turn = Turn { now, esp: &mut self.esp, out };
            return self.phone.answered(None, &packet.bytes, &mut turn);
        }
        let port = if packet.carrier == Carrier::Esp { PORTS.raw } else { PORTS.in_udp };
        let local = SocketAddr::new(self.config().address, packet.to.port());
        let flow = Flow::to(port, Transport::Udp, local, packet.from);
        let Some(arrived) = self.esp.unprotect(now, &flow, &packet.bytes) else { return };
        let bytes = self.esp.octets()[arrived.payload.clone()].to_vec();
        if !is_answer_to_register(&bytes) {
            return self.phone.came(bytes);
        }
        let mut turn = Turn { now, esp: &mut self.esp, out };
        self.phone.answered(Some(arrived.set), &bytes, &mut turn);
    }

    /// Answers a request that came ([`Event::Came`]) with `status`.
    pub fn answer(&mut self, request: &[u8], status: u16, body: &[u8], out: &mut Vec<Packet>) {
        let mut turn = Turn { now: Time::ZERO, esp: &mut self.esp, out };
        self.phone.answer(request, status, body, &mut turn);
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Time, out: &mut Vec<Packet>) {
        self.phone.tick(&mut Turn { now, esp: &mut self.esp, out });
    }

    /// When [`Handset::tick`] wants to be called.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.phone.deadline()
    }
}
