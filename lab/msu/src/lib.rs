//! An ASP on a command line: it comes up at a signalling gateway over TCP or SCTP (RFC 4666
//! §1.4.2), sends MSUs of given addresses, and tells what comes back.
//!
//! ```text
//!   connect → ASP Up → ASP Active → N × DATA → what comes, until nobody speaks → ASP Down
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]

pub mod association;
pub mod operation;
pub mod sccp;

use anyhow::{Context as _, bail};
use association::{Association, Event};
use bytes::Bytes;
use m3ua::codec::{Affected, ErrorCode, Framing, NetworkAppearance, PointCode, RoutingContext};
use m3ua::{
    In, Indication, Key, Out, Parameters, PeerId, PeerSettings, Process, Role, ServerId,
    ServerSettings, Settings, Side, Transfer,
};
use machine::{Machine as _, Time};
pub use sctp_stack::Carrier;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Longest wait for the connection and for the gateway's acknowledgements.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at the clock while nothing comes.
const LOOK: Duration = Duration::from_millis(20);
/// The Service Indicator of SCCP.
const SCCP: u8 = ::sccp::codec::SERVICE_INDICATOR;
/// Octets of one read.
const READ_BYTES: usize = 64 * 1024;

/// What the messages are carried by.
#[derive(Debug, Clone)]
pub enum Transport {
    /// TCP, each message framed by its length.
    Tcp,
    /// An association of SCTP.
    Sctp {
        /// Addresses here; none: as the routes say.
        local: Vec<IpAddr>,
        /// What carries its packets.
        carrier: Carrier,
        /// The gateway's UDP port with [`Carrier::Udp`] (RFC 6951).
        udp_port: u16,
    },
}

/// What is sent, and to whom.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The gateway: address and port of TCP or SCTP.
    pub to: SocketAddr,
    /// How it is reached.
    pub transport: Transport,
    /// The routing context of the Application Server; absent: the gateway has one for this ASP.
    pub context: Option<u32>,
    /// The network appearance in DATA; absent: none.
    pub network: Option<u32>,
    /// Originating point code: that of the Application Server here.
    pub opc: PointCode,
    /// Destination point code.
    pub dpc: PointCode,
    /// Service indicator.
    pub si: u8,
    /// Network indicator.
    pub ni: u8,
    /// Signalling link selection of the first MSU; absent: each of 16 in turn.
    pub sls: Option<u8>,
    /// MSUs.
    pub count: u32,
    /// MSUs a second at most.
    pub rate: u32,
    /// Octets of user data in each.
    pub octets: u16,
    /// What is in them, where it is a message of SCCP.
    pub sccp: Option<sccp::Sccp>,
    /// How long nothing may come before the end.
    pub quiet: Duration,
}

/// What was sent and what came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// MSUs that were sent.
    pub sent: u32,
    /// MSUs that came.
    pub came: u32,
    /// What the gateway said against destinations and messages (DUNA, DUPU, SCON, ERR).
    pub told: u32,
}

/// Carries a plan out; `tell` hears each thing that happens, in a line, with point codes as `show`
/// writes them.
///
/// # Errors
/// The gateway cannot be reached, or does not let the ASP become active.
pub fn run(
    plan: &Plan,
    show: &dyn Fn(PointCode) -> String,
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<Outcome> {
    let (mut asp, streams) = Asp::connect(plan, show)?;
    asp.step(In::CommunicationUp(asp.peer, streams), tell)?;
    let until = Instant::now() + PATIENCE;
    while !asp.process.is_active(asp.peer, asp.server) {
        if Instant::now() >= until || asp.has_ended {
            bail!("{} does not let the ASP become active: {}", plan.to, asp.last);
        }
        asp.listen(tell)?;
    }
    tell("active");
    asp.send(plan, tell)?;
    let mut heard = (Instant::now(), asp.outcome);
    // Of SCCP each message is answered, or comes back.
    let has_all = |asp: &Asp<'_>| plan.sccp.is_some() && asp.outcome.came >= plan.count;
    while heard.0.elapsed() < plan.quiet && !asp.has_ended && !has_all(&asp) {
        asp.listen(tell)?;
        if asp.outcome != heard.1 {
            heard = (Instant::now(), asp.outcome);
        }
    }
    if !asp.has_ended {
        asp.step(In::AspDown(asp.peer), tell)?;
        if let Connection::Sctp(association) = &asp.connection {
            association.shut_down();
        }
    }
    Ok(asp.outcome)
}

/// The way to the gateway.
enum Connection {
    /// With what has come and is no whole message yet.
    Tcp(TcpStream, Vec<u8>),
    Sctp(Box<Association>),
}

impl Connection {
    /// Connects; how many streams lead to the gateway, where there are streams.
    fn open(plan: &Plan) -> anyhow::Result<(Self, Option<u16>)> {
        let Transport::Sctp { local, carrier, udp_port } = &plan.transport else {
            let stream = TcpStream::connect_timeout(&plan.to, PATIENCE);
            let stream = stream.with_context(|| format!("{} cannot be reached", plan.to))?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(LOOK))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            return Ok((Self::Tcp(stream, Vec::new()), None));
        };
        let (association, streams) = Association::open(plan.to, local, *carrier, *udp_port)?;
        Ok((Self::Sctp(Box::new(association)), Some(streams)))
    }

    fn send(&mut self, stream: u16, message: Bytes) -> anyhow::Result<()> {
        match self {
            Self::Tcp(tcp, _) => Ok(tcp.write_all(&message)?),
            Self::Sctp(association) => association.send(stream, message),
        }
    }

    /// The messages that come within a moment, each with its stream; `Err` with the reason when no
    /// more will.
    fn take(&mut self, came: &mut Vec<(u16, Bytes)>) -> anyhow::Result<Result<(), String>> {
        match self {
            Self::Tcp(tcp, buffer) => {
                let mut octets = vec![0; READ_BYTES];
                let mut end = Ok(());
                match tcp.read(&mut octets) {
                    Ok(0) => end = Err("the gateway closed the connection".into()),
                    Ok(read) => buffer.extend_from_slice(&octets[..read]),
                    Err(error)
                        if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                    Err(error) => return Err(error.into()),
                }
                while let Framing::Message(length) = m3ua::codec::frame(buffer) {
                    came.push((0, buffer.drain(..length).collect::<Vec<u8>>().into()));
                }
                Ok(end)
            }
            Self::Sctp(association) => {
                let mut patience = LOOK;
                while let Some(event) = association.next(patience) {
                    patience = Duration::ZERO;
                    match event {
                        Event::Message(stream, message) => came.push((stream, message)),
                        Event::Ended(why) => {
                            return Ok(Err(format!("the association has ended: {why}")));
                        }
                        Event::Up(_) => {}
                    }
                }
                Ok(Ok(()))
            }
        }
    }
}

struct Asp<'a> {
    show: &'a dyn Fn(PointCode) -> String,
    sccp: Option<sccp::Sccp>,
    process: Process,
    peer: PeerId,
    server: ServerId,
    connection: Connection,
    begun: Instant,
    outcome: Outcome,
    has_ended: bool,
    /// What the gateway said last that was no acknowledgement.
    last: String,
}

impl<'a> Asp<'a> {
    /// One that is connected, and how many streams lead to the gateway.
    fn connect(
        plan: &Plan,
        show: &'a dyn Fn(PointCode) -> String,
    ) -> anyhow::Result<(Self, Option<u16>)> {
        let settings = Settings { peers_max: 1, servers_max: 1, parameters: Parameters::rfc4666() };
        let mut process = Process::new(settings).map_err(anyhow::Error::msg)?;
        let refused = |error: m3ua::Refused| anyhow::anyhow!("{error:?}");
        let peer = process.add_peer(PeerSettings::new(Role::Asp)).map_err(refused)?;
        let mut key = Key::of(plan.opc);
        key.network = plan.network.map(NetworkAppearance);
        let context = plan.context.map(RoutingContext);
        let settings = ServerSettings::new(Side::Here, context, key);
        let server = process.add_server(settings).map_err(refused)?;
        process.assign(Time::ZERO, server, peer, &mut Vec::new()).map_err(refused)?;
        let (connection, streams) = Connection::open(plan)?;
        let it = Self {
            show,
            sccp: plan.sccp.clone(),
            process,
            peer,
            server,
            connection,
            begun: Instant::now(),
            outcome: Outcome::default(),
            has_ended: false,
            last: "it says nothing".into(),
        };
        Ok((it, streams))
    }

    fn now(&self) -> Time {
        Time::ZERO + self.begun.elapsed()
    }

    fn send(&mut self, plan: &Plan, tell: &mut dyn FnMut(&str)) -> anyhow::Result<()> {
        let begun = Instant::now();
        for number in 0..plan.count {
            let due = Duration::from_secs(1) * number / plan.rate.max(1);
            while begun.elapsed() < due && !self.has_ended {
                self.listen(tell)?;
            }
            if self.has_ended {
                return Ok(());
            }
            let payload = match &plan.sccp {
                Some(sccp) => sccp.payload(number)?,
                None => {
                    let mut payload = vec![0; usize::from(plan.octets).max(4)];
                    payload[..4].copy_from_slice(&number.to_be_bytes());
                    payload
                }
            };
            let [.., low] = number.to_be_bytes();
            let msu = Transfer {
                network: plan.network.map(NetworkAppearance),
                opc: plan.opc,
                dpc: plan.dpc,
                si: plan.si,
                ni: plan.ni,
                mp: 0,
                sls: plan.sls.unwrap_or(low & 15),
                payload: Bytes::from(payload),
            };
            self.step(In::Transfer(msu), tell)?;
            self.outcome.sent += 1;
        }
        Ok(())
    }

    /// Takes what comes within a moment.
    fn listen(&mut self, tell: &mut dyn FnMut(&str)) -> anyhow::Result<()> {
        let mut came = Vec::new();
        if let Err(why) = self.connection.take(&mut came)? {
            self.has_ended = true;
            self.last = why;
            tell(&self.last);
        }
        for (stream, message) in came {
            self.step(In::Message(self.peer, stream, message), tell)?;
        }
        let (now, mut outs) = (self.now(), Vec::new());
        self.process.tick(now, &mut outs);
        self.carry_out(outs, tell)
    }

    fn step(&mut self, input: In, tell: &mut dyn FnMut(&str)) -> anyhow::Result<()> {
        let (now, mut outs) = (self.now(), Vec::new());
        self.process.step(now, input, &mut outs);
        self.carry_out(outs, tell)
    }

    fn carry_out(&mut self, outs: Vec<Out>, tell: &mut dyn FnMut(&str)) -> anyhow::Result<()> {
        for wanted in outs {
            match wanted {
                Out::Send(..) if self.has_ended => {}
                Out::Send(_, stream, bytes) => self.connection.send(stream, bytes)?,
                Out::Abort(_) => self.has_ended = true,
                Out::Indicate(Indication::Transfer(.., msu)) => {
                    self.outcome.came += 1;
                    tell(&said(&msu, self.show));
                    if let Some(sccp) = self.sccp.as_ref().filter(|_| msu.si == SCCP) {
                        tell(&sccp.show(&msu, self.show));
                    }
                }
                Out::Indicate(other) => self.indicated(&other, tell),
            }
        }
        Ok(())
    }

    fn indicated(&mut self, what: &Indication, tell: &mut dyn FnMut(&str)) {
        let range = |affected: &Affected| range(*affected, self.show);
        let text = match what {
            Indication::Pause(_, affected) => format!("DUNA: no way to {}", range(affected)),
            Indication::Resume(_, affected) => {
                return tell(&format!("DAVA: a way to {}", range(affected)));
            }
            Indication::Restrict(_, affected) => {
                return tell(&format!("DRST: a worse way to {}", range(affected)));
            }
            Indication::Status(_, affected, cause, _) => format!("{}: {cause:?}", range(affected)),
            Indication::Error(_, number) => match ErrorCode::of(*number) {
                Some(code) => format!("ERR {number}: {}", code.name()),
                None => format!("ERR {number}"),
            },
            Indication::Unroutable(..) => "no way: it was not sent".into(),
            Indication::Unanswered(_, kind) => format!("{kind:?} is not answered"),
            _ => return,
        };
        self.outcome.told += 1;
        tell(&text);
        self.last = text;
    }
}

/// Destinations in words.
fn range(affected: Affected, show: &dyn Fn(PointCode) -> String) -> String {
    let (first, last) = affected.bounds();
    match (affected.canonical() == Affected::ALL, first == last) {
        (true, _) => "all destinations".to_owned(),
        (_, true) => show(first),
        _ => format!("{} to {}", show(first), show(last)),
    }
}

/// An MSU in a line.
fn said(msu: &Transfer, show: &dyn Fn(PointCode) -> String) -> String {
    let digits = msu.payload.iter().take(16).map(|octet| format!("{octet:02x}"));
    let more = if msu.payload.len() > 16 { "…" } else { "" };
    format!(
        "MSU {} → {}  SI {} NI {} SLS {}  {} octets  {}{more}",
        show(msu.opc),
        show(msu.dpc),
        msu.si,
        msu.ni,
        msu.sls,
        msu.payload.len(),
        digits.collect::<Vec<_>>().concat()
    )
}
