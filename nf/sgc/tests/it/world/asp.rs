//! A scripted far end: an M3UA process with connections, that numbers what it sends and keeps what
//! it gets.

use bytes::Bytes;
use m3ua::codec::{PointCode, RoutingContext};
use m3ua::{
    In as Input, Indication, Key, Out, Parameters, PeerId, PeerSettings, Process, Role, ServerId,
    ServerSettings, Settings, Side, Transfer,
};
use machine::{Duration, Machine, Time};
use runtime::{Effects, Flow, In, PortId, Transport};
use std::collections::BTreeMap;
use std::net::SocketAddr;

const AGAIN: Duration = Duration::from_millis(500);

/// A connection, wanted or accepted.
struct Wire {
    peer: PeerId,
    /// Where it connects; `None`: it is connected to.
    target: Option<SocketAddr>,
    flow: Option<Flow>,
    retry_at: Option<Time>,
}

pub struct Asp {
    pub process: Process,
    pub listen: Option<SocketAddr>,
    pub received: Vec<Transfer>,
    pub indications: Vec<Indication>,
    local: SocketAddr,
    wires: Vec<Wire>,
    sent: BTreeMap<u8, u32>,
    outs: Vec<Out>,
}

pub fn point_code(number: u32) -> PointCode {
    PointCode::new(number).expect("24 bits")
}

impl Asp {
    /// A process at that address, without peers.
    pub fn new(ip: &str) -> Self {
        let mut parameters = Parameters::rfc4666();
        parameters.t_ack = Duration::from_millis(200);
        parameters.t_refused = Duration::from_secs(1);
        parameters.registration = m3ua::Registration::Open;
        let settings = Settings { peers_max: 8, servers_max: 64, parameters };
        Self {
            process: Process::new(settings).expect("they are valid"),
            listen: None,
            received: Vec::new(),
            indications: Vec::new(),
            local: format!("{ip}:0").parse().expect("an address"),
            wires: Vec::new(),
            sent: BTreeMap::new(),
            outs: Vec::new(),
        }
    }

    /// An ASP of one Application Server that connects to a gateway.
    pub fn of(ip: &str, gateway: &str, context: u32, dpc: u32) -> Self {
        let mut it = Self::new(ip);
        it.connects(Role::Asp, gateway, 0);
        it.serves(Side::Here, Some(context), dpc, &[0]);
        it
    }

    /// It connects there, in that role.
    pub fn connects(&mut self, role: Role, to: &str, gateway: u16) -> PeerId {
        let target = Some(to.parse().expect("an address"));
        let std::net::IpAddr::V4(ip) = self.local.ip() else { panic!("IPv4 only") };
        let asp_identifier = Some(ip.to_bits() & 0xFFFF);
        let settings = PeerSettings { gateway, asp_identifier, ..PeerSettings::new(role) };
        let peer = self.process.add_peer(settings).expect("there is room");
        let retry_at = Some(Time::ZERO);
        self.wires.push(Wire { peer, target, flow: None, retry_at });
        peer
    }

    /// It listens there for one peer.
    pub fn listens(&mut self, role: Role, at: &str) -> PeerId {
        self.listen = Some(at.parse().expect("an address"));
        let peer = self.process.add_peer(PeerSettings::new(role)).expect("there is room");
        self.wires.push(Wire { peer, target: None, flow: None, retry_at: None });
        peer
    }

    /// An Application Server at the peers with these numbers.
    pub fn serves(
        &mut self,
        side: Side,
        context: Option<u32>,
        dpc: u32,
        peers: &[usize],
    ) -> ServerId {
        let key = Key::of(point_code(dpc));
        self.serves_as(ServerSettings::new(side, context.map(RoutingContext), key), peers)
    }

    pub fn serves_as(&mut self, settings: ServerSettings, peers: &[usize]) -> ServerId {
        let server = self.process.add_server(settings).expect("there is room");
        for number in peers {
            let peer = self.wires[*number].peer;
            let assigned = self.process.assign(Time::ZERO, server, peer, &mut self.outs);
            assigned.expect("they go together");
        }
        server
    }

    pub fn peer(&self, number: usize) -> PeerId {
        self.wires[number].peer
    }

    /// Sends octets to the peer of that number.
    pub fn say(&mut self, number: usize, bytes: Bytes) {
        self.outs.push(Out::Send(self.wires[number].peer, 0, bytes));
    }

    /// It asks its first peer for a destination (DAUD).
    pub fn audit(&mut self, now: Time, of: m3ua::codec::Affected) {
        let peer = self.wires[0].peer;
        self.tell(now, Input::Audit(peer, None, vec![of]));
    }

    pub fn tell(&mut self, now: Time, input: Input) {
        self.process.step(now, input, &mut self.outs);
    }

    /// Sends an MSU of SCCP; its payload is the number of those with the same SLS.
    pub fn send(&mut self, now: Time, opc: u32, dpc: u32, sls: u8) {
        self.send_of(now, (opc, dpc), sls, 3);
    }

    pub fn send_of(&mut self, now: Time, (opc, dpc): (u32, u32), sls: u8, si: u8) {
        let number = self.sent.entry(sls).or_default();
        let payload = Bytes::copy_from_slice(&number.to_be_bytes());
        *number += 1;
        let (opc, dpc) = (point_code(opc), point_code(dpc));
        let msu = Transfer { network: None, opc, dpc, si, ni: 2, mp: 0, sls, payload };
        self.tell(now, Input::Transfer(msu));
    }

    /// The numbers that came, by SLS.
    pub fn numbers(&self) -> BTreeMap<u8, Vec<u32>> {
        let mut numbers: BTreeMap<u8, Vec<u32>> = BTreeMap::new();
        for msu in &self.received {
            let number: [u8; 4] = msu.payload[..4].try_into().expect("four octets");
            numbers.entry(msu.sls).or_default().push(u32::from_be_bytes(number));
        }
        numbers
    }

    pub fn deadline(&self) -> Option<Time> {
        let retries = self.wires.iter().filter_map(|wire| wire.retry_at);
        retries.chain(self.process.deadline()).min()
    }

    pub fn tick(&mut self, now: Time, out: &mut Effects) {
        for wire in &mut self.wires {
            if wire.retry_at.is_some_and(|at| at <= now) {
                wire.retry_at = None;
                let target = wire.target.expect("only those that connect have a time");
                out.open(Flow::to(PortId(0), Transport::Tcp, self.local, target));
            }
        }
        if self.process.deadline().is_some_and(|at| at <= now) {
            self.process.tick(now, &mut self.outs);
        }
        self.flush(out);
    }

    pub fn step(&mut self, now: Time, input: &In<'_>, out: &mut Effects) {
        match input {
            In::Up { flow } => {
                let fits = |wire: &&mut Wire| {
                    wire.flow.is_none() && wire.target.is_none_or(|to| to == flow.remote)
                };
                let wire = self.wires.iter_mut().find(fits).expect("it is awaited");
                wire.flow = Some(*flow);
                let peer = wire.peer;
                self.tell(now, Input::CommunicationUp(peer, None));
            }
            In::Message { flow, bytes } => {
                let wire = self.wires.iter().find(|wire| wire.flow == Some(*flow));
                if let Some(peer) = wire.map(|wire| wire.peer) {
                    self.tell(now, Input::Message(peer, 0, Bytes::copy_from_slice(bytes)));
                }
            }
            In::Down { flow, .. } => {
                let fits = |wire: &&mut Wire| {
                    wire.flow == Some(*flow)
                        || wire.flow.is_none() && wire.target == Some(flow.remote)
                };
                let Some(wire) = self.wires.iter_mut().find(fits) else { return };
                wire.retry_at = wire.target.map(|_| now + AGAIN);
                let (peer, was_up) = (wire.peer, wire.flow.take().is_some());
                if was_up {
                    self.tell(now, Input::CommunicationLost(peer));
                }
            }
            _ => {}
        }
        self.flush(out);
    }

    /// What the process wants.
    pub fn flush(&mut self, out: &mut Effects) {
        for wanted in core::mem::take(&mut self.outs) {
            match wanted {
                Out::Send(peer, _, bytes) => {
                    let wire = self.wires.iter().find(|wire| wire.peer == peer);
                    if let Some(flow) = wire.and_then(|wire| wire.flow) {
                        out.send(flow, |buffer| buffer.extend_from_slice(&bytes));
                    }
                }
                Out::Abort(_) => {}
                Out::Indicate(Indication::Transfer(.., msu)) => self.received.push(msu),
                Out::Indicate(indication) => self.indications.push(indication),
            }
        }
    }
}
