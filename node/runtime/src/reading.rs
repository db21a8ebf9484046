//! Reading streams: bytes from the kernel, out of TLS, cut into messages, given to the function.

use crate::connection::{Connection, Partial, Phase};
use crate::ending::{CLOSED, lost_words};
use crate::engine::Engine;
use crate::function::{Frame, Function};
use crate::handshake::words;
use crate::io::Io;
use crate::metrics::RuntimeMetric;
use crate::port::{ConnId, Flow};
use crate::spec::StreamLimits;
use driver::{Clock, tcp};
use machine::Time;
use tls::Progress;

/// Bytes of one read: some hundred messages, so that one connection does not keep the others
/// waiting for long.
const READ_BYTES: usize = 64 << 10;

/// Room for reading, one per shard.
pub(crate) struct Reader {
    raw: Vec<u8>,
    plain: Vec<u8>,
    message_bytes_max: usize,
    /// Bytes read since somebody asked.
    taken: usize,
}

/// What became of a read.
enum Outcome {
    /// This many bytes stand at the front of the buffer, the partial message before them included;
    /// when the last of them arrived.
    Bytes(usize, Option<u64>),
    /// Nothing to cut (yet).
    Nothing,
    /// The stream ended.
    Ended(&'static str),
}

impl Reader {
    pub(crate) fn new(limits: &StreamLimits) -> Self {
        Self {
            raw: vec![0; READ_BYTES + limits.message_bytes_max],
            plain: Vec::new(),
            message_bytes_max: limits.message_bytes_max,
            taken: 0,
        }
    }

    /// Forgets what was being read. The buffer that the function was given is lost with a panic:
    /// reads into none would look like the end of every stream.
    pub(crate) fn begin_anew(&mut self) {
        self.raw.resize(READ_BYTES + self.message_bytes_max, 0);
        self.plain.clear();
        self.taken = 0;
    }

    /// Whether more than `limit` bytes were read since it last was so.
    pub(crate) const fn has_taken(&mut self, limit: usize) -> bool {
        let has = self.taken > limit;
        if has {
            self.taken = 0;
        }
        has
    }

    /// Reads once from a connection and gives its messages to the function.
    pub(crate) fn read<F: Function>(
        &mut self,
        now: Time,
        id: ConnId,
        engine: &mut Engine<F>,
        io: &mut Io,
    ) {
        let Some(connection) = io.streams.table.find(id) else { return };
        let flow = connection.flow;
        match connection.phase {
            Phase::Open => {}
            Phase::Closing => return self.discard(id, io),
            Phase::Connecting | Phase::Shaking => return,
        }
        let sealed = connection.session.is_some();
        let outcome = if sealed {
            self.take_sealed::<F>(connection)
        } else {
            self.take_plain::<F>(connection)
        };
        if sealed {
            io.after_read(now, id);
        }
        let (length, ended) = match outcome {
            Outcome::Bytes(length, arrived_ns) => {
                if let Some(arrived_ns) = arrived_ns {
                    engine.arrived(now, Clock::date_ns(), arrived_ns);
                }
                (length, None)
            }
            Outcome::Nothing => return,
            Outcome::Ended(why) => (if sealed { self.plain.len() } else { 0 }, Some(why)),
        };
        let mut buffer = std::mem::take(if sealed { &mut self.plain } else { &mut self.raw });
        if length > 0
            && let Some(connection) = io.streams.table.find(id)
        {
            connection.unheard_since = None;
        }
        self.cut(now, flow, &buffer[..length], engine, io);
        if sealed {
            buffer.clear();
            self.plain = buffer;
        } else {
            self.raw = buffer;
        }
        if let Some(why) = ended {
            io.flush(now, &mut engine.effects, &mut engine.rings); // the answers go out first
            io.lose_at(now, id, why);
        }
    }

    /// Takes application data that came with a handshake.
    pub(crate) fn resume<F: Function>(
        &mut self,
        now: Time,
        id: ConnId,
        plain: Vec<u8>,
        engine: &mut Engine<F>,
        io: &mut Io,
    ) {
        let Some(connection) = io.streams.table.find(id) else { return };
        let flow = connection.flow;
        self.cut(now, flow, &plain, engine, io);
        // Records may wait behind the handshake, and the kernel has nothing more to report.
        self.read(now, id, engine, io);
    }

    /// We closed: what still comes is of no interest.
    fn discard(&mut self, id: ConnId, io: &mut Io) {
        let Some(connection) = io.streams.table.find(id) else { return };
        let Some(stream) = &connection.stream else { return };
        if !matches!(tcp::read(stream, &mut self.raw), Ok(None | Some(1..))) {
            io.lose(id, "closed");
        }
    }

    fn take_plain<F: Function>(&mut self, connection: &mut Connection) -> Outcome {
        let Some(stream) = &connection.stream else { return Outcome::Nothing };
        let start = connection.partial.octets.len();
        let (count, arrived_ns) = match tcp::read_stamped(stream, &mut self.raw[start..]) {
            Ok(None) => return Outcome::Nothing,
            Ok(Some((0, _))) => return Outcome::Ended(CLOSED),
            Ok(Some(read)) => read,
            Err(error) => return Outcome::Ended(lost_words(&error)),
        };
        self.taken += count;
        let end = start + count;
        if !is_due::<F>(connection, &self.raw[start..end], self.message_bytes_max) {
            return Outcome::Nothing;
        }
        self.raw[..start].copy_from_slice(&connection.partial.octets);
        connection.partial.octets.clear();
        Outcome::Bytes(end, arrived_ns)
    }

    fn take_sealed<F: Function>(&mut self, connection: &mut Connection) -> Outcome {
        let Some(stream) = &connection.stream else { return Outcome::Nothing };
        let Some(mut session) = connection.session.take() else { return Outcome::Nothing };
        let start = session.pending().len();
        if start >= self.raw.len() / 2 {
            return Outcome::Ended("its TLS records are too long");
        }
        self.raw[..start].copy_from_slice(session.pending());
        let ((count, arrived_ns), mut ended) =
            match tcp::read_stamped(stream, &mut self.raw[start..]) {
                Ok(None) => ((0, None), None),
                Ok(Some((0, _))) => ((0, None), Some(CLOSED)),
                Ok(Some(read)) => (read, None),
                Err(error) => return Outcome::Ended(lost_words(&error)),
            };
        self.taken += count;
        self.plain.clear();
        let bytes = &mut self.raw[..start + count];
        let plain = &mut self.plain;
        let result = connection.wire(|wire| session.process(bytes, plain, wire));
        connection.session = Some(session);
        match result {
            Ok(Progress::Closed) => ended = ended.or(Some(CLOSED)),
            Ok(_) => {}
            Err(error) => ended = Some(words(&error)),
        }
        let head = connection.partial.octets.len();
        if ended.is_none()
            && (self.plain.is_empty()
                || !is_due::<F>(connection, &self.plain, self.message_bytes_max))
        {
            self.plain.clear();
            return Outcome::Nothing;
        }
        self.plain.append(&mut connection.partial.octets);
        self.plain.rotate_right(head);
        match ended {
            Some(why) => Outcome::Ended(why),
            None => Outcome::Bytes(self.plain.len(), arrived_ns),
        }
    }

    /// Cuts a buffer into messages; what is left stays with the connection.
    fn cut<F: Function>(
        &mut self,
        now: Time,
        flow: Flow,
        buffer: &[u8],
        engine: &mut Engine<F>,
        io: &mut Io,
    ) {
        let (mut at, mut wanted, mut searched, mut has_spoken) = (0, 0, 0, false);
        let mut broken = None;
        let paced = io.is_paced(flow.port);
        while at < buffer.len() {
            let rest = &buffer[at..];
            match F::frame(flow.port, rest) {
                Frame::Partial if rest.len() > self.message_bytes_max => {
                    broken = Some("its message is too long");
                }
                Frame::Partial => {
                    searched = rest.len();
                    break;
                }
                Frame::Skip(count @ 1..) => at += count.min(rest.len()),
                Frame::Answer(count @ 1.., words) => {
                    // What the function said before goes first.
                    io.flush(now, &mut engine.effects, &mut engine.rings);
                    io.answer(now, flow.conn, words);
                    at += count.min(rest.len());
                }
                Frame::Message(count) if count > self.message_bytes_max => {
                    broken = Some("its message is too long");
                }
                Frame::Message(count) if count > rest.len() => {
                    wanted = count;
                    break;
                }
                Frame::Message(count @ 1..) => {
                    has_spoken = true;
                    engine.message(now, &flow, paced, &rest[..count]);
                    at += count;
                }
                Frame::Skip(_) | Frame::Answer(..) | Frame::Message(_) => {
                    broken = Some("its message has no bytes");
                }
                Frame::Broken(why) => broken = Some(why),
            }
            if broken.is_some() {
                break;
            }
            if Io::is_heavy(&engine.effects) {
                io.flush(now, &mut engine.effects, &mut engine.rings);
            }
        }
        if let Some(why) = broken {
            // What is due to the messages before goes first.
            io.flush(now, &mut engine.effects, &mut engine.rings);
            engine.metrics.add(RuntimeMetric::Broken, 1);
            io.lose(flow.conn, why);
        } else if let Some(connection) = io.streams.table.find(flow.conn) {
            // Octets of a message that never ends are no sign of life.
            if at > 0 {
                connection.active = now;
            }
            let partial = &mut connection.partial;
            (partial.wanted, partial.searched) = (wanted, searched);
            partial.octets.extend_from_slice(&buffer[at..]);
            if has_spoken {
                io.streams.table.spoke(flow.conn);
            }
        }
    }
}

/// Whether what waits of a connection, with what is `new` behind it, is worth the function's look:
/// if not, `new` waits too. As long as less is new than waits, only that is searched; once it is as
/// much, all of it is: no octet costs more than two others, however they are cut into segments.
fn is_due<F: Function>(connection: &mut Connection, new: &[u8], message_bytes_max: usize) -> bool {
    let Partial { octets, wanted, searched } = &mut connection.partial;
    let end = octets.len() + new.len();
    if end < *wanted {
        octets.extend_from_slice(new);
        return false;
    }
    if *searched <= new.len() || end > message_bytes_max {
        return true;
    }
    octets.extend_from_slice(new);
    let is_due = F::ends_frame(connection.flow.port, octets, *searched);
    *searched = end;
    if is_due {
        octets.truncate(end - new.len());
    }
    is_due
}
