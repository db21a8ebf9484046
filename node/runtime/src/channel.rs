//! The channels of a shard to other processes of this machine.

use crate::function::{ChannelEvent, ChannelOrder, Effects};
use crate::news::Token;
use crate::port::PortId;
use ::channel::{Absent, Came, Channel, Connect};
use driver::{Interest, Poll};
use std::collections::{BTreeMap, VecDeque};

/// A channel, and whether it is watched for room to write.
struct Open {
    channel: Box<dyn Channel>,
    is_writing: bool,
}

/// What became of an order.
enum News {
    /// The channel stands.
    Up,
    /// It cannot be had.
    Absent(Option<String>),
    /// It is over.
    Down(String),
    /// It had no room for so many packets.
    Shed(usize),
}

/// The channels, by the numbers that the function gave them.
#[derive(Default)]
pub(crate) struct Channels {
    open: BTreeMap<PortId, Open>,
    /// What the function was not told yet, the oldest first: as much as it ordered.
    news: VecDeque<(PortId, News)>,
}

impl Channels {
    /// Carries out what the function wants; what becomes of it is told at the next turn.
    pub(crate) fn carry_out(&mut self, poll: &Poll, effects: &mut Effects) {
        for (port, order) in effects.channels.drain(..) {
            self.order(poll, port, order);
        }
    }

    fn order(&mut self, poll: &Poll, port: PortId, order: ChannelOrder) {
        match order {
            ChannelOrder::Connect(to) => {
                self.hang_up(poll, port);
                let news = match self.connect(poll, port, &*to) {
                    Ok(()) => News::Up,
                    Err(Absent::Starting) => News::Absent(None),
                    Err(Absent::Failed(why)) => News::Absent(Some(why)),
                };
                self.news.push_back((port, news));
            }
            ChannelOrder::Write(octets) => {
                let Some(open) = self.open.get_mut(&port) else { return };
                let written = open.channel.write(octets);
                if let Err(why) = written.and_then(|()| self.watch(poll, port)) {
                    self.hang_up(poll, port);
                    self.news.push_back((port, News::Down(why)));
                }
            }
            ChannelOrder::Send(packets) => {
                let Some(open) = self.open.get_mut(&port) else { return };
                match open.channel.send(&packets) {
                    Ok(0) => {}
                    Ok(shed) => self.news.push_back((port, News::Shed(shed))),
                    Err(why) => {
                        self.hang_up(poll, port);
                        self.news.push_back((port, News::Down(why)));
                    }
                }
            }
            ChannelOrder::HangUp => {
                self.hang_up(poll, port);
                // What was not told yet is of the one that ended.
                self.news.retain(|(of, _)| *of != port);
            }
        }
    }

    fn connect(&mut self, poll: &Poll, port: PortId, to: &dyn Connect) -> Result<(), Absent> {
        let channel = to.connect()?;
        let is_writing = channel.waits();
        let token = Token::Channel(port).bits();
        poll.add(&channel.descriptor(), token, interest(is_writing))
            .map_err(|error| Absent::Failed(error.to_string()))?;
        self.open.insert(port, Open { channel, is_writing });
        Ok(())
    }

    /// Whether the function was not told everything yet.
    pub(crate) fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    /// Tells the function what became of its orders.
    pub(crate) fn tell(&mut self, take: &mut dyn FnMut(PortId, ChannelEvent<'_>)) {
        for (port, news) in self.news.drain(..) {
            news.tell(&mut |event| take(port, event));
        }
    }

    /// Takes what has come on a channel, and writes what waits; when it is over, why.
    pub(crate) fn ready(
        &mut self,
        poll: &Poll,
        port: PortId,
        take: &mut dyn FnMut(ChannelEvent<'_>),
    ) {
        // The other side may speak before this turn has told that the channel stands.
        for (of, news) in std::mem::take(&mut self.news) {
            if of == port {
                news.tell(take);
            } else {
                self.news.push_back((of, news));
            }
        }
        let Some(open) = self.open.get_mut(&port) else { return };
        let read = open.channel.read(&mut |came| match came {
            Came::Message(message) => take(ChannelEvent::Message(message)),
            Came::Packet(record, packet) => take(ChannelEvent::Packet(record, packet)),
        });
        let over = read.and_then(|()| open.channel.write(Vec::new()));
        if let Err(why) = over.and_then(|()| self.watch(poll, port)) {
            self.hang_up(poll, port);
            take(ChannelEvent::Down(&why));
        }
    }

    /// Watches a channel for room to write as long as something waits.
    fn watch(&mut self, poll: &Poll, port: PortId) -> Result<(), String> {
        let Some(open) = self.open.get_mut(&port) else { return Ok(()) };
        let waits = open.channel.waits();
        if std::mem::replace(&mut open.is_writing, waits) != waits {
            let token = Token::Channel(port).bits();
            let watched = poll.modify(&open.channel.descriptor(), token, interest(waits));
            watched.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn hang_up(&mut self, poll: &Poll, port: PortId) {
        if let Some(open) = self.open.remove(&port) {
            // Closing ends the watch; that it was not watched does no harm.
            let _ = poll.remove(&open.channel.descriptor());
        }
    }
}

impl News {
    fn tell(&self, take: &mut dyn FnMut(ChannelEvent<'_>)) {
        take(match self {
            Self::Up => ChannelEvent::Up,
            Self::Absent(why) => ChannelEvent::Absent(why.as_deref()),
            Self::Down(why) => ChannelEvent::Down(why),
            Self::Shed(count) => ChannelEvent::Shed(*count),
        });
    }
}

fn interest(is_writing: bool) -> Interest {
    if is_writing { Interest::ReadWrite } else { Interest::Read }
}
