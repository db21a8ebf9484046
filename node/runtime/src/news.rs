//! What a shard is woken by, and what it tells its function at the next turn.

use crate::function::Answer;
use crate::port::{ConnId, Flow, PortId};
use driver::Why;
use machine::narrow::{at_most, half};
use std::collections::VecDeque;

/// Events that wait to be told to the function; more are as good as lost datagrams.
const NEWS_MAX: usize = 65_536;

/// What shall be told to the function at the next turn.
#[derive(Debug)]
pub(crate) enum News {
    /// A far end that this shard wanted cannot be reached.
    Down(Flow, &'static str),
    /// A connection that stood is gone: all shards may hold its flow.
    Lost(Flow, &'static str),
    /// A datagram came back.
    Returned(Flow, Why, Vec<u8>),
    /// A name was looked up.
    Resolved(u64, Answer),
}

/// What an epoll token stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    Waker,
    Port(PortId),
    /// The part of a port that passes by the kernel's IP.
    Bypass(PortId),
    Connection(ConnId),
    /// A descriptor of the function's own.
    Watched(PortId),
    /// A channel to another process.
    Channel(PortId),
}

impl Token {
    pub(crate) fn bits(self) -> u64 {
        match self {
            Self::Waker => 0,
            Self::Port(id) => 1 << 32 | u64::from(id.0),
            Self::Connection(id) => 2 << 32 | u64::from(id.0),
            Self::Watched(id) => 3 << 32 | u64::from(id.0),
            Self::Bypass(id) => 4 << 32 | u64::from(id.0),
            Self::Channel(id) => 5 << 32 | u64::from(id.0),
        }
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        let (kind, number) = (bits >> 32, half(bits));
        let port = PortId(at_most(number.into(), u16::MAX));
        match kind {
            1 => Self::Port(port),
            2 => Self::Connection(ConnId(number)),
            3 => Self::Watched(port),
            4 => Self::Bypass(port),
            5 => Self::Channel(port),
            _ => Self::Waker,
        }
    }
}

/// Puts news where the next turn finds it.
pub(crate) fn tell(news: &mut VecDeque<News>, what: News) {
    if news.len() < NEWS_MAX {
        news.push_back(what);
    }
}
