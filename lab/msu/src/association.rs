//! The association of an ASP over SCTP (RFC 4666 §1.4.2), by Tandem's own SCTP or the kernel's: a
//! shard has the endpoint, and this thread tells it what to send and hears what came.
//!
//! ```text
//!   begin → Up(streams) → send(stream, message) … → Message(stream, octets) … → shut_down → Ended
//! ```

use anyhow::{Context as _, bail};
use bytes::Bytes;
use machine::Time;
use runtime::Running;
use sctp::{Failure, Indication, Outgoing};
use sctp_stack::host::{self, Host, User};
use sctp_stack::{AssociationId, Carrier, Config, Peer, SctpEndpoint};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

/// Messages that wait to be sent; who sends waits with the next one.
const ORDERS_MAX: usize = 64;
/// What has happened and is not heard yet; beyond that the association is given up.
const EVENTS_MAX: usize = 65_536;
/// Longest wait for an association to stand.
const PATIENCE: Duration = Duration::from_secs(10);
/// The first of the ports that IANA assigns to nobody, and how many there are (RFC 6335 §6).
const DYNAMIC_FIRST: u16 = 49_152;
const DYNAMIC: u32 = 16_384;
/// Associations that this process has opened: each has a port of its own.
static OPENED: AtomicU32 = AtomicU32::new(0);
/// Longest wait for an orderly end.
const GRACE: Duration = Duration::from_secs(2);

enum Order {
    Send(u16, Bytes),
    Shutdown,
}

/// What happened to the association.
#[derive(Debug)]
pub enum Event {
    /// It stands, with that many streams to the peer.
    Up(u16),
    /// A message came, on that stream.
    Message(u16, Bytes),
    /// It is no more, and why.
    Ended(String),
}

/// An association that was begun.
pub struct Association {
    sending: Sending,
    events: Receiver<Event>,
}

/// The half of an association that sends; it ends with it.
pub struct Sending {
    running: Running<Host>,
    orders: SyncSender<Order>,
}

impl Sending {
    /// Wakes the endpoint.
    fn pump(&self) -> anyhow::Result<()> {
        host::pump(&self.running).map_err(|error| anyhow::anyhow!("the endpoint: {error}"))
    }

    /// Sends a message on a stream; waits while the peer takes none.
    ///
    /// # Errors
    /// The association is no more.
    pub fn send(&self, stream: u16, message: Bytes) -> anyhow::Result<()> {
        self.orders.send(Order::Send(stream, message)).ok().context("the association has ended")?;
        self.pump()
    }

    /// Ends it once everything that was sent has been acknowledged; [`Event::Ended`] follows.
    /// Whether that was heard.
    #[must_use]
    pub fn shut_down(&self) -> bool {
        self.orders.try_send(Order::Shutdown).is_ok() && self.pump().is_ok()
    }
}

impl Association {
    /// Begins one; [`Event::Up`] follows, or [`Event::Ended`].
    ///
    /// # Errors
    /// The endpoint cannot be opened.
    pub fn begin(config: Config, peer: Peer) -> anyhow::Result<Self> {
        let (orders, ordered) = sync_channel(ORDERS_MAX);
        let (happened, events) = sync_channel(EVENTS_MAX);
        let user = Asp {
            peer: Some(peer),
            orders: ordered,
            events: happened,
            id: None,
            waiting: None,
            is_full: false,
            has_ended: false,
        };
        let running = host::start(config, user)?;
        let it = Self { sending: Sending { running, orders }, events };
        it.sending.pump()?;
        Ok(it)
    }

    /// Begins one with a gateway, and waits until it stands; how many streams lead there. `local`
    /// has the addresses here, none: as the routes say; `udp_port` is the gateway's with
    /// [`Carrier::Udp`] (RFC 6951).
    ///
    /// # Errors
    /// It does not come to stand.
    pub fn open(
        to: SocketAddr,
        local: &[IpAddr],
        carrier: Carrier,
        udp_port: u16,
    ) -> anyhow::Result<(Self, u16)> {
        let any: IpAddr = match to {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let own = OPENED.fetch_add(1, Ordering::Relaxed).wrapping_add(std::process::id());
        let config = Config {
            addresses: if local.is_empty() { vec![any] } else { local.to_vec() },
            port: DYNAMIC_FIRST + (own % DYNAMIC) as u16,
            carrier,
            encapsulation_port: 0,
            listens: false,
            ..Config::default()
        };
        let peer = Peer { addresses: vec![to.ip()], port: to.port(), encapsulation_port: udp_port };
        let mut issues = Vec::new();
        config.validate(&mut issues);
        peer.validate(&mut issues);
        if let Some(issue) = issues.first() {
            bail!("{}: {}; {}", issue.path, issue.what, issue.hint);
        }
        let reached = || format!("{to} cannot be reached");
        let association = Self::begin(config, peer).with_context(reached)?;
        let streams = association.stands(PATIENCE).with_context(reached)?;
        Ok((association, streams))
    }

    /// Who sends and who hears may be two threads.
    #[must_use]
    pub fn split(self) -> (Sending, Receiver<Event>) {
        (self.sending, self.events)
    }

    /// Sends a message on a stream; waits while the peer takes none.
    ///
    /// # Errors
    /// The association is no more.
    pub fn send(&self, stream: u16, message: Bytes) -> anyhow::Result<()> {
        self.sending.send(stream, message)
    }

    /// What happened next, within that time.
    #[must_use]
    pub fn next(&self, patience: Duration) -> Option<Event> {
        match self.events.recv_timeout(patience) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Event::Ended("the endpoint failed".into())),
        }
    }

    /// Ends it once everything that was sent has been acknowledged, or after [`GRACE`].
    pub fn shut_down(&self) {
        let has_heard = self.sending.shut_down();
        let until = Instant::now() + GRACE;
        while has_heard && Instant::now() < until {
            if let Some(Event::Ended(_)) =
                self.next(until.saturating_duration_since(Instant::now()))
            {
                return;
            }
        }
    }

    /// Waits until it stands; how many streams lead to the peer.
    ///
    /// # Errors
    /// It does not come to stand.
    pub fn stands(&self, patience: Duration) -> anyhow::Result<u16> {
        match self.next(patience) {
            Some(Event::Up(streams)) => Ok(streams),
            Some(Event::Ended(why)) => bail!("the association does not come to stand: {why}"),
            Some(Event::Message(..)) => bail!("a message came before the association"),
            None => bail!("nobody answers the association within {} s", patience.as_secs()),
        }
    }
}

/// Who has the association.
struct Asp {
    /// With whom the association is, until it is begun.
    peer: Option<Peer>,
    orders: Receiver<Order>,
    events: SyncSender<Event>,
    /// The association, once it stands.
    id: Option<AssociationId>,
    /// What found the send buffer full.
    waiting: Option<(u16, Bytes)>,
    is_full: bool,
    has_ended: bool,
}

impl User for Asp {
    fn indicated(&mut self, _: &mut SctpEndpoint, _: Time, id: AssociationId, what: Indication) {
        let event = match what {
            Indication::CommunicationUp(streams, _) => {
                self.id = Some(id);
                Event::Up(streams)
            }
            Indication::Data(it) | Indication::DataPart(it, _) => {
                Event::Message(it.stream, it.payload)
            }
            Indication::SendFailure(_, Failure::BufferFull) => {
                self.is_full = true;
                return;
            }
            Indication::SendBufferFree => {
                self.is_full = false;
                return;
            }
            Indication::ShutdownComplete => Event::Ended("it was ended".into()),
            Indication::CommunicationLost(why) => Event::Ended(format!("{why:?}")),
            _ => return,
        };
        self.has_ended |= matches!(event, Event::Ended(_));
        // Who does not hear that much hears no more.
        self.has_ended |= matches!(self.events.try_send(event), Err(TrySendError::Full(_)));
    }

    fn pump(&mut self, endpoint: &mut SctpEndpoint, now: Time) {
        if let Some(peer) = self.peer.take()
            && endpoint.associate(now, &peer).is_err()
        {
            self.has_ended = true;
        }
        while let Some(id) = self.id.filter(|_| !self.is_full && !self.has_ended) {
            let (stream, message) = match self.waiting.take() {
                Some(waiting) => waiting,
                None => match self.orders.try_recv() {
                    Ok(Order::Send(stream, message)) => (stream, message),
                    Ok(Order::Shutdown) => return endpoint.wish(now, sctp::In::Shutdown(id)),
                    Err(_) => return,
                },
            };
            let outgoing = Outgoing::new(stream, m3ua::codec::SCTP_PPID, message.clone());
            endpoint.wish(now, sctp::In::Send(id, outgoing));
            while let Some((id, what)) = endpoint.next() {
                self.indicated(endpoint, now, id, what);
            }
            self.waiting = self.is_full.then_some((stream, message));
        }
        if self.has_ended {
            // Who waits to send waits for nobody.
            while self.orders.try_recv().is_ok() {}
        }
    }
}
