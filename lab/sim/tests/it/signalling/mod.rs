//! An M3UA end over SCTP as a node of a world: it numbers what it sends and keeps what it gets.

use bytes::Bytes;
use m3ua::codec::{PointCode, RoutingContext};
use m3ua::{
    Key, Out, Parameters, PeerId, PeerSettings, Process, Role, ServerSettings, Settings, Side,
    Transfer,
};
use machine::{Duration, Machine, Time};
use runtime::{Effects, Flow, PortId, Seed, Transport};
use sctp::{Indication, Outgoing};
use sctp_stack::{AssociationId, Config, Peer, SctpEndpoint};
use sim::{Node, Outbox, Random};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

const AGAIN: Duration = Duration::from_millis(200);
const PPID: u32 = m3ua::codec::SCTP_PPID;
/// MSUs with the same SLS keep their order.
pub const FLOWS: u32 = 16;

/// What an end is.
#[derive(Clone)]
pub struct Plan {
    pub addresses: Vec<IpAddr>,
    /// Addresses of the gateways it is an ASP of.
    pub gateways: Vec<Vec<IpAddr>>,
    pub context: u32,
    pub own: u32,
    /// Where it sends to, how many MSUs and how often; `None`: it only listens.
    pub sends: Option<(u32, u32, Duration)>,
    pub preset: &'static str,
    /// Its SCTP port.
    pub port: u16,
    /// The UDP port that its packets leave from.
    pub udp_port: u16,
}

struct Wire {
    peer: PeerId,
    addresses: Vec<IpAddr>,
    association: Option<AssociationId>,
    is_up: bool,
    retry_at: Option<Time>,
}

/// The end while it lives.
struct Life {
    endpoint: SctpEndpoint,
    process: Process,
    wires: Vec<Wire>,
    outs: Vec<Out>,
}

pub struct End {
    plan: Plan,
    life: Option<Life>,
    random: Random,
    next: Option<Time>,
    /// Number of MSUs sent so far.
    pub sent: u32,
    /// Numbers that came, by SLS, in the order in which they came.
    pub came: BTreeMap<u8, Vec<u32>>,
    /// Messages whose arrival SCTP could not confirm.
    pub unsure: u64,
    effects: Effects,
}

fn point_code(number: u32) -> PointCode {
    PointCode::new(number).expect("24 bits")
}

impl End {
    pub fn new(plan: Plan, seed: u64, start: Time, sends_from: Duration) -> Self {
        let next = plan.sends.map(|_| start + sends_from);
        let mut it = Self {
            plan,
            life: None,
            random: Random::new(seed),
            next,
            sent: 0,
            came: BTreeMap::new(),
            unsure: 0,
            effects: Effects::default(),
        };
        it.live(start);
        it
    }

    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.plan.addresses.iter().map(|ip| SocketAddr::new(*ip, self.plan.udp_port)).collect()
    }

    /// It has that port when it begins anew.
    pub fn at_port(&mut self, port: u16) {
        self.plan.port = port;
    }

    /// Nothing of it is left.
    pub fn crash(&mut self) {
        self.life = None;
    }

    /// It begins anew, with no memory.
    pub fn live(&mut self, now: Time) {
        let config = Config {
            addresses: self.plan.addresses.clone(),
            preset: self.plan.preset.to_owned(),
            port: self.plan.port,
            encapsulation_port: self.plan.udp_port,
            ..Config::default()
        };
        let seed = Seed { shard: 0, shards: 1, random: self.random.seed(), now };
        let endpoint = SctpEndpoint::simulated(&config, PortId(0), &seed);
        let mut parameters = Parameters::rfc4666();
        parameters.t_ack = Duration::from_millis(500);
        let settings = Settings { peers_max: 8, servers_max: 8, parameters };
        let mut process = Process::new(settings).expect("they are valid");
        let (context, key) =
            (Some(RoutingContext(self.plan.context)), Key::of(point_code(self.plan.own)));
        let server = ServerSettings::new(Side::Here, context, key);
        let server = process.add_server(server).expect("there is room");
        let mut outs = Vec::new();
        let mut wires = Vec::new();
        for (gateway, addresses) in (0..).zip(&self.plan.gateways) {
            let settings = PeerSettings { gateway, ..PeerSettings::new(Role::Asp) };
            let peer = process.add_peer(settings).expect("there is room");
            process.assign(now, server, peer, &mut outs).expect("they go together");
            let addresses = addresses.clone();
            wires.push(Wire {
                peer,
                addresses,
                association: None,
                is_up: false,
                retry_at: Some(now),
            });
        }
        self.life = Some(Life { endpoint, process, wires, outs });
    }

    fn send_due(&mut self, now: Time) {
        let Some((dpc, most, pause)) = self.plan.sends else { return };
        while let Some(at) = self.next.filter(|at| *at <= now) {
            self.next = (self.sent + 1 < most).then_some(at + pause);
            let (sls, number) = ((self.sent % FLOWS) as u8, self.sent);
            self.sent += 1;
            let Some(life) = &mut self.life else { continue };
            let payload = Bytes::copy_from_slice(&number.to_be_bytes());
            let (opc, dpc) = (point_code(self.plan.own), point_code(dpc));
            let msu = Transfer { network: None, opc, dpc, si: 3, ni: 2, mp: 0, sls, payload };
            life.process.step(now, m3ua::In::Transfer(msu), &mut life.outs);
        }
    }

    /// Everything that follows, until nothing does.
    fn run(&mut self, now: Time, out: &mut Outbox) {
        let Some(life) = &mut self.life else { return };
        loop {
            for wanted in core::mem::take(&mut life.outs) {
                match wanted {
                    Out::Send(peer, stream, bytes) => {
                        let wire = life.wires.iter().find(|wire| wire.peer == peer);
                        if let Some(id) = wire.and_then(|wire| wire.association) {
                            let message = Outgoing::new(stream, PPID, bytes);
                            life.endpoint.wish(now, sctp::In::Send(id, message));
                        }
                    }
                    Out::Indicate(m3ua::Indication::Transfer(.., msu)) => {
                        let number = msu.payload[..4].try_into().expect("four octets");
                        let came = self.came.entry(msu.sls).or_default();
                        came.push(u32::from_be_bytes(number));
                    }
                    _ => {}
                }
            }
            let Some((id, what)) = life.endpoint.next() else { break };
            if matches!(what, Indication::SendFailure(..)) {
                self.unsure += 1;
            }
            life.told(now, id, what);
        }
        life.endpoint.flush(&mut self.effects);
        for (flow, bytes) in self.effects.sends() {
            out.send(flow.local, flow.remote, bytes);
        }
        self.effects.clear();
    }
}

impl Life {
    fn told(&mut self, now: Time, id: AssociationId, what: Indication) {
        let wire = self.wires.iter_mut().find(|wire| wire.association == Some(id));
        let Some(wire) = wire else { return };
        let peer = wire.peer;
        let input = match what {
            Indication::CommunicationUp(streams, _) => {
                wire.is_up = true;
                m3ua::In::CommunicationUp(peer, Some(streams))
            }
            Indication::Data(message) => m3ua::In::Message(peer, message.stream, message.payload),
            Indication::Restart => m3ua::In::CommunicationRestart(peer),
            Indication::ShutdownComplete | Indication::CommunicationLost(_) => {
                wire.association = None;
                wire.retry_at = Some(now + AGAIN);
                if !core::mem::take(&mut wire.is_up) {
                    return;
                }
                m3ua::In::CommunicationLost(peer)
            }
            _ => return,
        };
        self.process.step(now, input, &mut self.outs);
    }

    fn associate(&mut self, now: Time) {
        for wire in &mut self.wires {
            if wire.retry_at.is_some_and(|at| at <= now) {
                let addresses = wire.addresses.clone();
                let peer = Peer { addresses, port: 2_905, encapsulation_port: 9_899 };
                wire.association = self.endpoint.associate(now, &peer).ok();
                wire.retry_at = wire.association.is_none().then_some(now + AGAIN);
            }
        }
    }
}

impl Node for End {
    fn receive(
        &mut self,
        now: Time,
        from: SocketAddr,
        to: SocketAddr,
        bytes: &[u8],
        out: &mut Outbox,
    ) {
        if let Some(life) = &mut self.life {
            let place = self.plan.addresses.iter().position(|ip| *ip == to.ip()).unwrap_or(0);
            let flow = Flow::to(PortId(place as u16), Transport::Udp, to, from);
            life.endpoint.message(now, &flow, bytes);
        }
        self.run(now, out);
    }

    fn tick(&mut self, now: Time, out: &mut Outbox) {
        if let Some(life) = &mut self.life {
            life.associate(now);
            life.process.tick(now, &mut life.outs);
        }
        self.send_due(now);
        self.run(now, out);
        if let Some(life) = &mut self.life {
            life.endpoint.tick(now);
        }
        self.run(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        let life = self.life.as_ref();
        let retries = life.into_iter().flat_map(|it| &it.wires).filter_map(|it| it.retry_at);
        let machines =
            life.into_iter().flat_map(|it| [it.endpoint.deadline(), it.process.deadline()]);
        retries.chain(machines.flatten()).chain(self.next).min()
    }
}
