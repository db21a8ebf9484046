//! Streams of a shard: accepting, opening, sending, closing.

use crate::connection::{Connection, Phase, Room};
use crate::crowd::Source;
use crate::ending::{Due, lost_words};
use crate::function::Effects;
use crate::guard::{self, Guard, Unproven, guard_for};
use crate::handshake::{Established, Shaken, Shaking, words};
use crate::helper_threads::HelperThreads;
use crate::io::{Io, OpenPort, PortKind};
use crate::metrics::RuntimeMetric;
use crate::news::{News, Token, tell};
use crate::port::{ConnId, Flow, PortId, Transport};
use crate::ring::{Rings, ShardMessage};
use crate::spec::{PortSpec, StreamLimits};
use crate::table::Table;
use driver::{Interest, SocketOptions, tcp};
use machine::{Duration, Time, Wheel};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use tls::{Context, Session};

/// Of a full table this part loses its place at a time.
const ROOM_SHARE: usize = 64;
/// Connections accepted in one turn from one port.
const ACCEPTS_PER_TURN: usize = 64;
/// After running out of descriptors, a port accepts nothing for this long.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// A connection is looked at this often, whatever its timeouts.
const LOOK_MAX: Duration = Duration::from_secs(86_400);
/// Octets that wait unsent in the kernel for a connection of a paced port.
const UNSENT_BYTES_MAX: u32 = 256 << 10;
/// Why a paced connection ends that was given more than it may hold.
const OVERRUN: &str = "more waits for the far end than its queue may hold";
/// Why an attempt to connect ends that nobody answers.
const TOO_LONG: &str = "the connection attempt took too long";
/// Names remembered for the certificates of far ends; when full, all are forgotten.
const NAMES_MAX: usize = 4_096;

/// A stream port of a shard.
pub(crate) struct StreamPort {
    pub(crate) listener: Option<TcpListener>,
    pub(crate) tls: Option<Arc<Context>>,
}

impl StreamPort {
    /// Demands of the far ends what the port says now, when it said `before`. A new socket was
    /// born with it.
    pub(crate) fn guard(&self, spec: &PortSpec, before: Option<&[Guard]>) {
        let (Some(listener), Some(before)) = (&self.listener, before) else { return };
        let (is_ipv4, guards) = (spec.listen.is_ipv4(), spec.guards());
        if let Err(error) = guard::arm_listener(listener, is_ipv4, before, &guards) {
            tracing::error!(%error, port = spec.name, "the guards of a port cannot be changed");
        }
    }
}

/// A connection that stands since now, after its handshake.
pub(crate) struct Stood {
    pub(crate) flow: Flow,
    /// Application data that came with the handshake.
    pub(crate) plain: Vec<u8>,
    /// What the far end's certificate carries.
    pub(crate) names: Vec<String>,
}

/// The streams of a shard.
pub(crate) struct Streams {
    pub(crate) table: Table,
    pub(crate) names: HashMap<SocketAddr, String>,
    shard: u16,
    pub(crate) limits: StreamLimits,
    pub(crate) wheel: Wheel<Due>,
    pub(crate) due: Vec<Due>,
    gather: Vec<u8>,
    /// Far ends whose silence was told in this flush.
    told: Vec<(PortId, SocketAddr)>,
    /// Paced connections that may have written since their functions were told, each once.
    written: Vec<ConnId>,
    pub(crate) queued: usize,
    unproven: Unproven,
    helper_threads: Arc<HelperThreads>,
}

impl Streams {
    pub(crate) fn new(
        shard: u16,
        limits: StreamLimits,
        helper_threads: Arc<HelperThreads>,
        now: Time,
    ) -> Self {
        Self {
            table: Table::new(shard, limits),
            names: HashMap::new(),
            shard,
            limits,
            wheel: Wheel::new(now),
            due: Vec::new(),
            gather: Vec::new(),
            told: Vec::new(),
            written: Vec::new(),
            queued: 0,
            unproven: Unproven::default(),
            helper_threads,
        }
    }

    pub(crate) fn helper_threads(&self) -> &Arc<HelperThreads> {
        &self.helper_threads
    }

    /// When a connection must be looked at.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.wheel.deadline()
    }

    /// Remembers the name that the certificate of `remote` must carry.
    pub(crate) fn name(&mut self, remote: SocketAddr, name: String) {
        if self.names.len() >= NAMES_MAX {
            self.names.clear();
        }
        self.names.insert(remote, name);
    }

    pub(crate) fn start_flush(&mut self) {
        self.told.clear();
    }

    /// Whether functions shall be told what the kernel took.
    pub(crate) fn has_written(&self) -> bool {
        !self.written.is_empty()
    }

    /// What the kernel took of paced connections since this was asked last: octets, and how many
    /// still wait.
    pub(crate) fn written(&mut self) -> Vec<(Flow, u64, u64)> {
        let mut told = Vec::with_capacity(self.written.len());
        for id in self.written.drain(..) {
            let Some(connection) = self.table.find(id) else { continue };
            connection.listed = false;
            let (octets, left) = connection.written();
            if octets > 0 && connection.phase == Phase::Open {
                told.push((connection.flow, octets, left));
            }
        }
        told
    }
}

impl Io {
    pub(crate) fn stream_port(&self, id: PortId) -> Option<(&OpenPort, &StreamPort)> {
        let port = self.ports.get(usize::from(id.0))?.as_ref()?;
        match &port.kind {
            PortKind::Streams(streams) => Some((port, streams)),
            PortKind::Datagrams(_) => None,
        }
    }

    /// Whether the port loses no message.
    pub(crate) fn is_paced(&self, id: PortId) -> bool {
        self.stream_port(id).is_some_and(|(port, _)| port.spec.is_paced())
    }

    /// How much may wait for a connection of this port.
    fn room(&self, id: PortId) -> Room {
        let spec = self.stream_port(id).map(|(port, _)| &port.spec);
        let own = spec.and_then(PortSpec::stream).and_then(|stream| stream.queue_bytes_max);
        let octets_max = own.unwrap_or(self.streams.limits.queue_bytes_max);
        Room { octets_max, paced: spec.is_some_and(PortSpec::is_paced) }
    }

    /// The function of a paced connection is told at the next turn what the kernel took.
    fn list_written(&mut self, id: ConnId) {
        let streams = &mut self.streams;
        if let Some(connection) = streams.table.find(id)
            && !connection.listed
        {
            connection.listed = true;
            streams.written.push(id);
        }
    }

    /// Shows the gauges, once a turn.
    pub(crate) fn show_gauges(&self) {
        self.metrics.set(RuntimeMetric::Connections, self.streams.table.len() as u64);
        self.metrics.set(RuntimeMetric::Queued, (self.streams.queued + self.backlog()) as u64);
    }

    /// Brings the sum of the queues up to date after something changed with one connection.
    pub(crate) fn recount(&mut self, id: ConnId) {
        let streams = &mut self.streams;
        if let Some(connection) = streams.table.find(id) {
            streams.queued = streams.queued - connection.counted + connection.waiting();
            connection.counted = connection.waiting();
        }
    }

    /// Accepts what waits at a port; plain connections stand at once and are returned.
    pub(crate) fn accept(&mut self, now: Time, id: PortId) -> Vec<Flow> {
        let mut standing = Vec::new();
        for _ in 0..ACCEPTS_PER_TURN {
            let Some((port, streams)) = self.stream_port(id) else { break };
            let (transport, tls) = (port.spec.transport(), streams.tls.clone());
            let Some(listener) = &streams.listener else { break };
            match tcp::accept(listener) {
                Ok(None) => break,
                Ok(Some((stream, remote))) => {
                    if !guard::admit(&stream, remote.ip(), &port.spec.guards()).unwrap_or(false) {
                        self.metrics.add(RuntimeMetric::TooFar, 1);
                        continue;
                    }
                    let local = stream.local_addr().unwrap_or(port.local);
                    let flow = Flow::to(id, transport, local, remote);
                    standing.extend(self.accepted(now, flow, stream, tls));
                }
                Err(error) => {
                    self.pause_accept(now, id, &error);
                    break;
                }
            }
        }
        standing
    }

    fn accepted(
        &mut self,
        now: Time,
        flow: Flow,
        stream: TcpStream,
        tls: Option<Arc<Context>>,
    ) -> Option<Flow> {
        if !self.streams.table.has_room() && !self.make_room(now, Source::of(flow.remote.ip())) {
            self.metrics.add(RuntimeMetric::Refused, 1);
            return None;
        }
        if flow.transport == Transport::Tls {
            let session = tls.and_then(|context| Session::server(&context).ok())?;
            let mut connection = Connection::new(flow, Phase::Shaking, None, now);
            connection.accepted = true;
            let id = self.streams.table.insert(connection);
            self.hand_over(id, stream, session);
            return None;
        }
        self.limit_unsent(flow.port, &stream);
        let mut connection = Connection::new(flow, Phase::Open, Some(stream), now);
        connection.accepted = true;
        let id = self.streams.table.insert(connection);
        if !self.watch_connection(id, Interest::Read, true) {
            self.streams.table.remove(id);
            return None;
        }
        self.metrics.add(RuntimeMetric::Accepted, 1);
        self.arm(now, self.streams.limits.patience(), id);
        self.recount(id);
        Some(Flow { conn: id, ..flow })
    }

    /// The table is full: those who filled it lose connections, several at once, so that looking
    /// for them does not cost more than the newcomers.
    fn make_room(&mut self, now: Time, newcomer: Source) -> bool {
        let most = (self.streams.table.len() / ROOM_SHARE).max(1);
        let victims = self.streams.table.victims(now, newcomer, most);
        self.metrics.add(RuntimeMetric::Displaced, victims.len() as u64);
        for &id in &victims {
            let found = self.streams.table.find(id);
            if found.is_some_and(|connection| connection.stream.is_none()) {
                // It shakes hands; the function has not heard of it.
                self.fail(now, id, "others needed the room");
                self.streams.helper_threads.forget(id);
            } else {
                self.lose(id, "others needed the room");
            }
        }
        !victims.is_empty()
    }

    /// What a paced port sends waits here rather than in the kernel, where nothing is shared.
    fn limit_unsent(&self, port: PortId, stream: &TcpStream) {
        if self.is_paced(port)
            && let Err(error) = tcp::limit_unsent(stream, UNSENT_BYTES_MAX)
        {
            tracing::debug!(%error, "the kernel does not limit what waits in it");
        }
    }

    /// Out of descriptors: looking again at once would burn the core.
    fn pause_accept(&mut self, now: Time, id: PortId, error: &io::Error) {
        self.metrics.add(RuntimeMetric::Refused, 1);
        tracing::warn!(%error, port = id.0, "connections cannot be accepted for a moment");
        if let Some((_, StreamPort { listener: Some(listener), .. })) = self.stream_port(id) {
            // One that cannot be removed is looked at again too early, no more.
            let _ = self.poll.remove(listener);
        }
        self.streams.wheel.arm(now + ACCEPT_PAUSE, Due::Accept(id));
    }

    /// Gives a connection to the handshake thread.
    fn hand_over(&mut self, id: ConnId, stream: TcpStream, session: Session) {
        let Some(connection) = self.streams.table.find(id) else { return };
        let remote = connection.flow.remote.ip();
        let job = Shaking {
            shard: self.streams.shard,
            conn: id,
            stream,
            session: Box::new(session),
            timeout: self.streams.limits.connect_timeout,
            handshakes_max: self.streams.limits.handshakes_max,
            source: Source::of(remote),
        };
        if !self.streams.helper_threads.shake(job) {
            self.metrics.add(RuntimeMetric::HandshakeShed, 1);
            self.streams.table.remove(id);
        }
        self.recount(id);
    }

    /// Looks at a connection after that time, or before.
    pub(crate) fn arm(&mut self, now: Time, wait: Duration, id: ConnId) {
        let at = now + wait.min(LOOK_MAX);
        let Some(connection) = self.streams.table.find(id) else { return };
        if connection.look_at.is_none_or(|before| at < before) {
            connection.look_at = Some(at);
            self.streams.wheel.arm(at, Due::Connection(id));
        }
    }

    /// Changes what the connection is watched for; whether that worked.
    pub(crate) fn watch_connection(&mut self, id: ConnId, interest: Interest, fresh: bool) -> bool {
        let Some(connection) = self.streams.table.find(id) else { return false };
        let Some(stream) = &connection.stream else { return true };
        let token = Token::Connection(id).bits();
        let done = if fresh {
            self.poll.add(stream, token, interest)
        } else {
            self.poll.modify(stream, token, interest)
        };
        done.is_ok()
    }

    /// Sends the messages of one group (one port, one remote) in order.
    pub(crate) fn send_stream(
        &mut self,
        now: Time,
        effects: &Effects,
        order: &[u32],
        rings: &mut Rings,
    ) {
        let mut start = 0;
        while start < order.len() {
            let (flow, _) = effects.message(order[start] as usize);
            let same = |number: &&u32| effects.message(**number as usize).0.conn == flow.conn;
            let end = start + order[start..].iter().take_while(same).count();
            let run = &order[start..end];
            start = end;
            match flow.conn.shard() {
                Some(shard) if rings.is_other(shard) => {
                    self.send_away(shard, effects, run, rings);
                }
                Some(_) => self.send_to(now, flow.conn, flow, effects, run),
                None => {
                    if let Some(id) = self.connection_to(now, flow) {
                        self.send_to(now, id, flow, effects, run);
                    }
                }
            }
        }
    }

    /// Hands messages for a connection to the shard that has it.
    fn send_away(&mut self, shard: u16, effects: &Effects, order: &[u32], rings: &mut Rings) {
        for &number in order {
            let (flow, bytes) = effects.message(number as usize);
            let (send, metrics) = (ShardMessage::Send, &self.metrics);
            match effects.shared(number as usize) {
                _ if !self.is_paced(flow.port) => rings.push(shard, send, flow, bytes, metrics),
                _ if rings.is_overrun(shard) => {
                    rings.push_paced(shard, ShardMessage::Close, flow, &[], &self.metrics);
                    return tell(&mut self.news, News::Lost(flow, "its shard does not keep up"));
                }
                Some(piece) => rings.push_shared(shard, flow, piece.clone(), &self.metrics),
                None => rings.push_paced(shard, send, flow, bytes, metrics),
            }
        }
    }

    /// The connection to the flow's far end: the one that stands, or one that is opened now.
    /// `None` when it cannot be opened; the function is told.
    pub(crate) fn connection_to(&mut self, now: Time, flow: Flow) -> Option<ConnId> {
        let far = (flow.port, flow.remote);
        if let Some(id) = self.streams.table.to(&far)
            && (!self.is_paced(flow.port) || self.leaves_from(id, flow.local.ip()))
        {
            return Some(id);
        }
        if let Some(why) = self.streams.table.cold(&far, now) {
            if !self.streams.told.contains(&far) {
                self.streams.told.push(far);
                tell(&mut self.news, News::Down(flow, why));
            }
            return None;
        }
        if !self.streams.table.has_room() && !self.make_room(now, Source::HERE) {
            self.metrics.add(RuntimeMetric::Refused, 1);
            tell(&mut self.news, News::Down(flow, "too many connections"));
            return None;
        }
        match self.open(now, flow) {
            Ok(id) => Some(id),
            Err(error) => {
                let why = connect_words(&error);
                self.metrics.add(RuntimeMetric::ConnectFailed, 1);
                self.streams.table.cool(far, now, why);
                tell(&mut self.news, News::Down(flow, why));
                None
            }
        }
    }

    /// Whether a connection has this address on our side. The ends of a paced one are what it is.
    fn leaves_from(&mut self, id: ConnId, local: IpAddr) -> bool {
        let found = self.streams.table.find(id).map(|connection| connection.flow.local.ip());
        local.is_unspecified() || found.is_none_or(|ip| ip.is_unspecified() || ip == local)
    }

    fn open(&mut self, now: Time, flow: Flow) -> io::Result<ConnId> {
        let (port, _) = self.stream_port(flow.port).ok_or(io::ErrorKind::NotFound)?;
        let ip = if flow.local.ip().is_unspecified() { port.local.ip() } else { flow.local.ip() };
        let source = (!ip.is_unspecified() && ip.is_ipv4() == flow.remote.is_ipv4())
            .then_some(SocketAddr::new(ip, 0));
        let options =
            SocketOptions { device: port.spec.device.clone(), ..SocketOptions::default() };
        let guards = port.spec.guards();
        if guard_for(&guards, flow.remote.ip()).is_some_and(|it| it.md5.is_some()) {
            self.streams.unproven.look(now);
        }
        let stream = tcp::connect(source, flow.remote, &options, |socket| {
            guard::arm_connecting(socket, flow.remote.ip(), &guards)
        })?;
        self.limit_unsent(flow.port, &stream);
        let mut connection = Connection::new(flow, Phase::Connecting, Some(stream), now);
        connection.asked = Some(flow);
        let id = self.streams.table.insert(connection);
        if !self.watch_connection(id, Interest::Write, true) {
            self.streams.table.remove(id);
            return Err(io::Error::from(io::ErrorKind::OutOfMemory));
        }
        self.arm(now, self.streams.limits.connect_timeout, id);
        self.recount(id);
        Ok(id)
    }

    fn send_to(&mut self, now: Time, id: ConnId, flow: Flow, effects: &Effects, order: &[u32]) {
        let room = self.room(flow.port);
        let streams = &mut self.streams;
        let Some(connection) = streams.table.find(id).filter(|c| c.leads_to(flow.remote)) else {
            let far = (flow.port, flow.remote);
            if !streams.told.contains(&far) {
                streams.told.push(far);
                tell(&mut self.news, News::Lost(flow, "the connection is gone"));
            }
            return;
        };
        let closing = connection.phase == Phase::Closing;
        let outcome = connection.send(effects, order, room, &mut streams.gather);
        match outcome {
            Ok(sent) if room.paced && sent.shed > 0 && !closing => self.lose(id, OVERRUN),
            Ok(sent) => {
                self.metrics.add(RuntimeMetric::MessageOut, sent.messages);
                self.metrics.add(RuntimeMetric::BytesOut, sent.bytes);
                self.metrics.add(RuntimeMetric::SendShed, sent.shed);
                self.after_write(now, id);
                if room.paced {
                    self.list_written(id);
                }
            }
            Err(error) => self.lose(id, lost_words(&error)),
        }
    }

    /// Watches for writability when something is left to write, and for silence.
    fn after_write(&mut self, now: Time, id: ConnId) {
        let Some(connection) = self.streams.table.find(id) else { return };
        if !matches!(connection.phase, Phase::Open | Phase::Closing) {
            return;
        }
        connection.active = now;
        if connection.waiting() > 0 && connection.blocked.is_none() {
            connection.blocked = Some(now);
            self.watch_connection(id, Interest::ReadWrite, false);
            self.arm(now, self.streams.limits.stall_timeout, id);
        }
        self.recount(id);
    }

    /// TLS may have answered what was read (key updates, alerts): it goes out.
    pub(crate) fn after_read(&mut self, now: Time, id: ConnId) {
        let Some(connection) = self.streams.table.find(id) else { return };
        if connection.waiting() == 0 || connection.blocked.is_some() {
            return;
        }
        match connection.push() {
            Ok(_) => self.after_write(now, id),
            Err(error) => self.lose(id, lost_words(&error)),
        }
    }

    /// Answers a keep-alive on the connection it came on.
    pub(crate) fn answer(&mut self, now: Time, id: ConnId, bytes: &[u8]) {
        let Some(connection) = self.streams.table.find(id) else { return };
        let port = connection.flow.port;
        let room = self.room(port);
        let Some(connection) = self.streams.table.find(id) else { return };
        match connection.answer(bytes, room) {
            Ok(()) => self.after_write(now, id),
            Err(error) => self.lose(id, lost_words(&error)),
        }
    }

    /// The kernel has something to say about a connection's writing side. Returns the flow of a
    /// plain connection that stands since now.
    pub(crate) fn writable(&mut self, now: Time, id: ConnId) -> Option<Flow> {
        let connection = self.streams.table.find(id)?;
        match connection.phase {
            Phase::Connecting => self.connected(now, id),
            Phase::Shaking => None,
            Phase::Open | Phase::Closing => {
                let before = connection.waiting();
                let pushed = connection.push();
                let after = connection.waiting();
                match pushed {
                    Err(error) => self.lose(id, lost_words(&error)),
                    Ok(drained) => self.pushed(now, id, drained, after < before),
                }
                None
            }
        }
    }

    fn pushed(&mut self, now: Time, id: ConnId, drained: bool, moved: bool) {
        let Some(connection) = self.streams.table.find(id) else { return };
        let port = connection.flow.port;
        if moved {
            connection.active = now;
            connection.blocked = (!drained).then_some(now);
            if self.is_paced(port) {
                self.list_written(id);
            }
        }
        let Some(connection) = self.streams.table.find(id) else { return };
        if !drained {
            self.recount(id);
            return;
        }
        connection.blocked = None;
        if connection.phase == Phase::Closing {
            self.finish(now, id);
        } else {
            self.watch_connection(id, Interest::Read, false);
        }
        self.recount(id);
    }

    /// Nobody answered a connection attempt.
    pub(crate) fn unanswered(&mut self, now: Time, id: ConnId) {
        let asked = self.streams.table.find(id).and_then(|connection| connection.asked);
        let guards = asked.and_then(|it| Some((it, self.stream_port(it.port)?.0.spec.guards())));
        let has_key = guards.is_some_and(|(flow, guards)| {
            guard_for(&guards, flow.remote.ip()).is_some_and(|it| it.md5.is_some())
        });
        if has_key {
            self.streams.unproven.look(now);
        }
        let why = if has_key { self.streams.unproven.words(now) } else { TOO_LONG };
        self.fail(now, id, why);
    }

    /// Listening ports whose far ends must sign.
    fn signed_ports(&self) -> impl Iterator<Item = &OpenPort> {
        let all = self.ports.iter().flatten();
        all.filter(|port| match &port.kind {
            PortKind::Streams(StreamPort { listener: Some(_), .. }) => {
                port.spec.guards().iter().any(|it| it.md5.is_some())
            }
            PortKind::Streams(_) | PortKind::Datagrams(_) => false,
        })
    }

    /// Looks from time to time whether the kernel drops segments that are not signed as they must
    /// be: nobody hears of a far end with another password otherwise. The first shard does.
    pub(crate) fn watch_for_unproven(&mut self, now: Time) {
        let is_wanted = self.streams.shard == 0 && self.signed_ports().next().is_some();
        if is_wanted && !std::mem::replace(&mut self.streams.unproven.is_watched, true) {
            self.streams.unproven.look(now);
            self.streams.wheel.arm(now + guard::LOOK_EVERY, Due::Unproven);
        }
    }

    /// Tells ports whose far ends must sign that some do not.
    pub(crate) fn look_for_unproven(&mut self, now: Time) {
        self.streams.unproven.is_watched = false;
        if self.streams.unproven.look(now) {
            let nobody = |local: SocketAddr| match local.is_ipv4() {
                true => SocketAddr::from(([0; 4], 0)),
                false => SocketAddr::from(([0_u16; 8], 0)),
            };
            let of = |port: &OpenPort| {
                Flow::to(port.spec.id, Transport::Tcp, port.local, nobody(port.local))
            };
            let flows: Vec<Flow> = self.signed_ports().map(of).collect();
            flows.into_iter().for_each(|it| tell(&mut self.news, News::Down(it, guard::UNPROVEN)));
        }
        self.watch_for_unproven(now);
    }

    /// A connection attempt ended.
    fn connected(&mut self, now: Time, id: ConnId) -> Option<Flow> {
        let connection = self.streams.table.find(id)?;
        let stream = connection.stream.as_ref()?;
        let local = match tcp::outcome(stream) {
            Ok(local) => local,
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                self.unanswered(now, id);
                return None;
            }
            Err(error) => {
                self.fail(now, id, connect_words(&error));
                return None;
            }
        };
        connection.flow.local = local;
        let flow = connection.flow;
        if flow.transport != Transport::Tls {
            return self.stands(now, id, RuntimeMetric::Opened);
        }
        let stream = self.streams.table.find(id)?.stream.take()?;
        // The handshake thread watches it from now on.
        let _ = self.poll.remove(&stream);
        let name = self.streams.names.get(&flow.remote).map(String::as_str);
        let context = self.stream_port(flow.port).and_then(|(_, port)| port.tls.clone())?;
        match Session::client(&context, name, flow.remote.ip()) {
            Ok(session) => {
                self.streams.table.find(id)?.phase = Phase::Shaking;
                self.hand_over(id, stream, session);
            }
            Err(error) => self.fail(now, id, words(&error)),
        }
        None
    }

    /// A connection stands: what was held for it goes out.
    fn stands(&mut self, now: Time, id: ConnId, how: RuntimeMetric) -> Option<Flow> {
        let connection = self.streams.table.find(id)?;
        connection.unheard_since = connection.asked.is_some().then_some(now);
        let stood = connection.stand();
        let (flow, blocked) = (connection.flow, connection.waiting() > 0);
        if let Err(error) = stood {
            self.lose(id, lost_words(&error));
            return None;
        }
        self.metrics.add(how, 1);
        self.watch_connection(id, Interest::Read, false);
        self.arm(now, self.streams.limits.idle_timeout, id);
        if blocked {
            self.after_write(now, id);
        }
        if self.is_paced(flow.port) {
            self.list_written(id); // what was held
        }
        self.recount(id);
        Some(flow)
    }

    /// A handshake is done. Returns the flow that stands, the bytes that came with it, and the
    /// names that the far end has proved.
    pub(crate) fn shaken(&mut self, now: Time, shaken: Shaken) -> Option<Stood> {
        let id = shaken.conn;
        let connection = self.streams.table.find(id)?;
        let Established { stream, session, plain, wire } = match shaken.outcome {
            Ok(established) => established,
            Err(why) => {
                let is_shed = why == crate::handshake::DISPLACED;
                let metric = if is_shed {
                    RuntimeMetric::HandshakeShed
                } else {
                    RuntimeMetric::HandshakeFailed
                };
                self.metrics.add(metric, 1);
                self.fail(now, id, why);
                return None;
            }
        };
        let (names, resumed) = (session.peer_names(), session.is_resumed());
        self.metrics.add(RuntimeMetric::Resumed, u64::from(resumed));
        connection.stream = Some(stream);
        connection.session = Some(session);
        connection.wire(|queue| queue.extend_from_slice(&wire));
        let opened = connection.asked.is_some();
        let closing = connection.phase == Phase::Closing;
        if !self.watch_connection(id, Interest::Read, true) {
            self.lose(id, "the connection cannot be watched");
            return None;
        }
        let how = if opened { RuntimeMetric::Opened } else { RuntimeMetric::Accepted };
        let flow = self.stands(now, id, how)?;
        if closing {
            self.close(now, flow);
            return None;
        }
        Some(Stood { flow, plain, names })
    }
}

fn connect_words(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "nobody listens there (connection refused)",
        io::ErrorKind::HostUnreachable => "the host cannot be reached",
        io::ErrorKind::NetworkUnreachable => "the network cannot be reached",
        io::ErrorKind::TimedOut => TOO_LONG,
        io::ErrorKind::AddrNotAvailable => "our address or all of its ports are not available",
        io::ErrorKind::NotFound => "there is no such port",
        _ => "the connection cannot be opened",
    }
}
