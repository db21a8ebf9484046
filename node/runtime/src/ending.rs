//! Streams of a shard: how connections end, and what their timers are for.

use crate::connection::Phase;
use crate::io::Io;
use crate::metrics::RuntimeMetric;
use crate::news::{News, Token, tell};
use crate::port::{ConnId, Flow, PortId};
use crate::stream::StreamPort;
use driver::{Interest, tcp};
use machine::{Duration, Time};
use std::io;

/// A connection whose owner is behind is not read for this long.
const READ_PAUSE: Duration = Duration::from_millis(1);
/// How long a far end may take to finish after we closed.
const LINGER: Duration = Duration::from_secs(2);
/// A connection that we opened and that ends within this time, without a word, was refused.
const QUICK_END: Duration = Duration::from_secs(1);

/// The far end has closed a connection.
pub(crate) const CLOSED: &str = "the far end closed the connection";
const RESET: &str = "the far end reset the connection";
/// What is told of a connection that the far end ended without a word of why.
pub const ENDED_THERE: [&str; 2] = [CLOSED, RESET];

/// What a timer of the streams is for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Due {
    Connection(ConnId),
    Accept(PortId),
    Read(ConnId),
    /// Listening ports whose far ends must sign: what the kernel has dropped is looked at.
    Unproven,
}

impl Io {
    /// A connection that never stood is given up.
    pub(crate) fn fail(&mut self, now: Time, id: ConnId, why: &'static str) {
        let Some(connection) = self.streams.table.remove(id) else { return };
        self.streams.queued -= connection.counted;
        self.metrics.add(RuntimeMetric::SendShed, connection.held_messages());
        if let Some(asked) = connection.asked {
            self.metrics.add(RuntimeMetric::ConnectFailed, 1);
            self.streams.table.cool((asked.port, asked.remote), now, why);
            tell(&mut self.news, News::Down(asked, why));
        }
        self.recount(id);
    }

    /// A connection that stood is lost by the far end's doing. One that we opened and that ended
    /// at once without a word counts as refused: opening it again and again would be no better.
    pub(crate) fn lose_at(&mut self, now: Time, id: ConnId, why: &'static str) {
        let opened = self.streams.table.find(id).and_then(|connection| {
            let since = connection.unheard_since?;
            let far = (connection.flow.port, connection.flow.remote);
            (since + QUICK_END > now).then_some(far)
        });
        self.lose(id, why);
        if let Some(far) = opened {
            self.streams.table.cool(far, now, why);
        }
    }

    /// A connection that stood is lost.
    pub(crate) fn lose(&mut self, id: ConnId, why: &'static str) {
        let Some(connection) = self.streams.table.remove(id) else { return };
        self.streams.queued -= connection.counted;
        if connection.phase != Phase::Closing {
            tell(&mut self.news, News::Lost(connection.flow, why));
        }
        self.recount(id);
    }

    /// The function closes a connection: what is queued goes out first.
    pub(crate) fn close(&mut self, now: Time, flow: Flow) {
        let far = (flow.port, flow.remote);
        let id = if flow.conn == ConnId(0) { self.streams.table.to(&far) } else { Some(flow.conn) };
        let Some(id) = id else { return };
        let found = self.streams.table.find(id).filter(|it| it.leads_to(flow.remote));
        let Some(connection) = found else { return };
        let phase = connection.phase;
        if phase == Phase::Connecting {
            if let Some(connection) = self.streams.table.remove(id) {
                self.streams.queued -= connection.counted;
            }
            self.recount(id);
            return;
        }
        connection.phase = Phase::Closing;
        connection.asked = None;
        if phase == Phase::Open {
            connection.say_goodbye();
        }
        self.streams.table.hide_all(id);
        if phase == Phase::Open {
            self.writable(now, id);
        }
    }

    /// Everything is out: the far end may finish too.
    pub(crate) fn finish(&mut self, now: Time, id: ConnId) {
        let Some(connection) = self.streams.table.find(id) else { return };
        if let Some(stream) = &connection.stream {
            tcp::finish(stream);
        }
        self.watch_connection(id, Interest::Read, false);
        self.arm(now, LINGER, id);
        if let Some(connection) = self.streams.table.find(id) {
            connection.active = now;
        }
    }

    /// Looks after connections whose time has come.
    pub(crate) fn expire(&mut self, now: Time) {
        let mut due = std::mem::take(&mut self.streams.due);
        self.streams.wheel.expire(now, &mut due);
        for what in due.drain(..) {
            match what {
                Due::Accept(id) => self.resume_accept(id),
                Due::Read(id) => self.resume_read(id),
                Due::Connection(id) => self.expire_connection(now, id),
                Due::Unproven => self.look_for_unproven(now),
            }
        }
        self.streams.due = due;
    }

    fn resume_accept(&mut self, id: PortId) {
        if let Some((_, StreamPort { listener: Some(listener), .. })) = self.stream_port(id)
            && let Err(error) = self.poll.add(listener, Token::Port(id).bits(), Interest::Read)
        {
            tracing::error!(%error, port = id.0, "a port can no longer be watched");
        }
    }

    /// The shard that owns what comes over a connection is behind: the kernel keeps it for a
    /// moment, and then the far end.
    pub(crate) fn pause_read(&mut self, now: Time, id: ConnId) {
        let Some(connection) = self.streams.table.find(id).filter(|c| !c.paused) else { return };
        if let Some(stream) = &connection.stream
            && self.poll.remove(stream).is_ok()
        {
            connection.paused = true;
            self.streams.wheel.arm(now + READ_PAUSE, Due::Read(id));
        }
    }

    fn resume_read(&mut self, id: ConnId) {
        let Some(connection) = self.streams.table.find(id).filter(|c| c.paused) else { return };
        connection.paused = false;
        let blocked = connection.blocked.is_some();
        let interest = if blocked { Interest::ReadWrite } else { Interest::Read };
        if !self.watch_connection(id, interest, true) {
            self.lose(id, "the connection cannot be watched");
        }
    }

    fn expire_connection(&mut self, now: Time, id: ConnId) {
        let limits = self.streams.limits;
        let Some(connection) = self.streams.table.find(id) else { return };
        if connection.look_at.is_some_and(|at| at > now) {
            return; // a later look was replaced by an earlier one
        }
        connection.look_at = None;
        match connection.phase {
            Phase::Connecting => self.unanswered(now, id),
            Phase::Shaking => {} // the handshake thread has its own time
            Phase::Closing => {
                let patience = if connection.waiting() > 0 { limits.stall_timeout } else { LINGER };
                let at = connection.active + patience;
                if at <= now {
                    self.lose(id, "closed");
                } else {
                    self.arm(now, at.since(now), id);
                }
            }
            Phase::Open => {
                let stalled = connection.blocked.map(|since| since + limits.stall_timeout);
                let idle = connection.active + limits.idle_timeout;
                let mute = limits.first_message_timeout.map(|time| connection.since + time);
                let mute = mute.filter(|_| connection.accepted && !connection.spoke);
                if mute.is_some_and(|at| at <= now) {
                    self.metrics.add(RuntimeMetric::Mute, 1);
                    self.lose(id, "no whole message came in time");
                } else if stalled.is_some_and(|at| at <= now) {
                    self.metrics.add(RuntimeMetric::TimedOut, 1);
                    self.lose(id, "the far end does not read");
                } else if idle <= now {
                    self.metrics.add(RuntimeMetric::TimedOut, 1);
                    self.lose(id, "nothing moved for too long");
                } else {
                    let at = stalled.map_or(idle, |at| at.min(idle));
                    let at = mute.map_or(at, |mute| mute.min(at));
                    self.arm(now, at.since(now), id);
                }
            }
        }
    }
}

/// Why a connection that stood is gone.
pub(crate) fn lost_words(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ConnectionReset => RESET,
        io::ErrorKind::BrokenPipe => CLOSED,
        io::ErrorKind::TimedOut => "the far end no longer answers",
        _ => "the connection broke",
    }
}
