//! An ASP over TCP beside an echo: MSUs there and back at a rate, for what is measured beside
//! something else.

use anyhow::Context;
use bytes::Bytes;
use m3ua::codec::{Framing, PointCode, RoutingContext};
use m3ua::{Indication, Key, Out, Parameters, PeerSettings, Process, Role, ServerSettings};
use m3ua::{Settings, Side, Transfer};
use machine::{Machine, Time};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// The Service Indicator of MSUs that come back (nobody's).
pub const ECHOED: u8 = 15;
/// Octets of user data of an MSU that is to come back.
const OCTETS: usize = 40;
/// The longest wait for what comes.
const TURN: Duration = Duration::from_millis(2);

/// An ASP over TCP. Its point code is 1, its Routing Context 1; the echo's point code is 2.
#[derive(Debug)]
pub struct Asp {
    process: Process,
    peer: m3ua::PeerId,
    stream: TcpStream,
    buffer: Vec<u8>,
    came: u64,
    others: u64,
    /// Those others that have come in this turn.
    kept: Vec<Transfer>,
}

fn point_code(number: u32) -> anyhow::Result<PointCode> {
    PointCode::new(number).context("a point code")
}

/// Whether an MSU is one of those that [`Asp::echo`] sends.
fn is_echo(msu: &Transfer) -> bool {
    msu.si == ECHOED && msu.payload.len() == OCTETS
}

impl Asp {
    /// Connects, and waits until it is active.
    ///
    /// # Errors
    /// When the gateway refuses it, or it is not active within `limit`.
    pub fn connect(to: SocketAddr, limit: Duration) -> anyhow::Result<Self> {
        let settings = Settings { peers_max: 1, servers_max: 1, parameters: Parameters::rfc4666() };
        let refused = |why: m3ua::Refused| anyhow::anyhow!("the ASP: {why:?}");
        let mut process =
            Process::new(settings).map_err(|why| anyhow::anyhow!("the ASP: {why}"))?;
        let peer = process.add_peer(PeerSettings::new(Role::Asp)).map_err(refused)?;
        let (context, key) = (Some(RoutingContext(1)), Key::of(point_code(1)?));
        let server = process.add_server(ServerSettings::new(Side::Here, context, key));
        let server = server.map_err(refused)?;
        let assigned = process.assign(Time::ZERO, server, peer, &mut Vec::new());
        assigned.map_err(refused)?;
        let stream = TcpStream::connect(to)?;
        stream.set_read_timeout(Some(TURN))?;
        stream.set_nodelay(true)?;
        let (buffer, kept, came, others) = (Vec::new(), Vec::new(), 0, 0);
        let mut asp = Self { process, peer, stream, buffer, came, others, kept };
        asp.tell(m3ua::In::CommunicationUp(peer, None))?;
        let begun = Instant::now();
        while !asp.process.is_active(peer, server) {
            anyhow::ensure!(begun.elapsed() < limit, "the ASP does not become active");
            asp.hear()?;
        }
        Ok(asp)
    }

    fn tell(&mut self, input: m3ua::In) -> anyhow::Result<()> {
        let mut outs = Vec::new();
        self.process.step(Time::ZERO, input, &mut outs);
        for wanted in outs {
            match wanted {
                Out::Send(_, _, bytes) => self.stream.write_all(&bytes)?,
                Out::Indicate(Indication::Transfer(.., msu)) if is_echo(&msu) => self.came += 1,
                Out::Indicate(Indication::Transfer(.., msu)) => {
                    self.others += 1;
                    self.kept.push(msu);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes what comes within a turn: the MSUs that are no echo.
    ///
    /// # Errors
    /// When the connection ends.
    pub fn hear(&mut self) -> anyhow::Result<Vec<Transfer>> {
        let mut octets = [0; 16_384];
        match self.stream.read(&mut octets) {
            Ok(0) => anyhow::bail!("the gateway has closed the connection"),
            Ok(read) => self.buffer.extend_from_slice(&octets[..read]),
            Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) => {}
            Err(error) => return Err(error.into()),
        }
        while let Framing::Message(length) = m3ua::codec::frame(&self.buffer) {
            let message: Vec<u8> = self.buffer.drain(..length).collect();
            self.tell(m3ua::In::Message(self.peer, 0, Bytes::from(message)))?;
        }
        Ok(core::mem::take(&mut self.kept))
    }

    /// Sends an MSU, which is not expected back.
    ///
    /// # Errors
    /// When the connection ends.
    pub fn send(&mut self, msu: Transfer) -> anyhow::Result<()> {
        self.tell(m3ua::In::Transfer(msu))
    }

    fn send_echoed(&mut self, number: u64) -> anyhow::Result<()> {
        let payload = Bytes::copy_from_slice(&number.to_be_bytes().repeat(OCTETS / 8));
        let (opc, dpc) = (point_code(1)?, point_code(2)?);
        let [sls, ..] = number.to_le_bytes();
        let (network, sls) = (None, sls & 15);
        let msu = Transfer { network, opc, dpc, si: ECHOED, ni: 2, mp: 0, sls, payload };
        self.send(msu)
    }

    /// MSUs that came and that are none of those that were sent.
    #[must_use]
    pub const fn others(&self) -> u64 {
        self.others
    }

    /// MSUs to the echo, `rate` a second; how many were due, and how many came back until `drain`
    /// after the time was over.
    ///
    /// # Errors
    /// When the connection ends.
    pub fn echo(
        &mut self,
        rate: f64,
        length: Duration,
        drain: Duration,
    ) -> anyhow::Result<(u64, u64)> {
        self.came = 0;
        let asked = (rate * length.as_secs_f64()) as u64;
        let (begun, mut sent) = (Instant::now(), 0);
        while begun.elapsed() < length + drain && self.came < asked {
            let due = (rate * begun.elapsed().as_secs_f64()) as u64;
            while sent < due.min(asked) {
                self.send_echoed(sent)?;
                sent += 1;
            }
            self.hear()?;
        }
        Ok((asked, self.came.min(asked)))
    }
}
