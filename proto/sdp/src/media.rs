//! A stream of a description (RFC 8866 §5.14).

use crate::line::{Attribute, Kind, Line, Lines, number, words};
use crate::precondition::Precondition;
use crate::{Connection, Direction, Malformed, Session};

/// One `m=` with the lines behind it.
#[derive(Debug, Clone, Copy)]
pub struct Media<'a> {
    /// `audio`, `video`, `text`, `application`, `message`, `image`.
    pub kind: &'a [u8],
    /// The port; 0 means: refused, or no more wanted (RFC 3264 §5.1, §6).
    pub port: u16,
    /// How many ports, for layered streams; 1 if not said.
    pub port_count: u16,
    /// `RTP/AVP`, `RTP/SAVPF`, `UDP/TLS/RTP/SAVPF`, …
    pub protocol: &'a [u8],
    /// The formats as one text.
    pub formats: &'a [u8],
    section: &'a [u8],
    at: usize,
    connection: Option<Connection<'a>>,
    direction: Direction,
}

/// Kind, port, number of ports, protocol and formats.
type Head<'a> = (&'a [u8], u16, u16, &'a [u8], &'a [u8]);

/// Whether an attribute may be `sendrecv`, `sendonly`, `recvonly` or `inactive`.
const fn may_be_direction(attribute: &[u8]) -> bool {
    matches!(attribute, [b's' | b'r' | b'i', b'e' | b'n', ..])
}

impl<'a> Media<'a> {
    pub(crate) fn head(line: &Line<'a>) -> Result<Head<'a>, Malformed> {
        let what = "a stream is not kind, port, protocol and formats";
        let violation = Malformed::new(line.at, what, "RFC 8866 §5.14");
        let mut words = words(line.value);
        let mut word = || words.next().ok_or(violation);
        let (kind, ports, protocol, first) = (word()?, word()?, word()?, word()?);
        let (port, count) = match memchr::memchr(b'/', ports) {
            Some(slash) => (&ports[..slash], Some(&ports[slash + 1..])),
            None => (ports, None),
        };
        let small = |word| number(word).and_then(|n| u16::try_from(n).ok()).ok_or(violation);
        let count = count.map_or(Ok(1), small)?;
        let from = first.as_ptr() as usize - line.value.as_ptr() as usize;
        Ok((kind, small(port)?, count, protocol, &line.value[from..]))
    }

    /// The stream that begins with `line`.
    pub(crate) fn of(session: &Session<'a>, line: &Line<'a>) -> Option<Self> {
        let start = line.at + line.raw.len();
        let rest = session.raw().get(start..)?;
        Self::of_lines(session, line, Lines::new(rest, start))
    }

    /// The stream that begins with `line`, an `m=` of the session, with the lines behind it, up to
    /// the next `m=` or the end; `None` if it is none.
    pub fn of_lines(
        session: &Session<'a>,
        line: &Line<'a>,
        lines: impl Iterator<Item = Line<'a>>,
    ) -> Option<Self> {
        let (kind, port, port_count, protocol, formats) = Self::head(line).ok()?;
        let start = line.at + line.raw.len();
        let rest = session.raw().get(start..)?;
        let (mut length, mut connection, mut direction) = (0, None, None);
        for line in lines.take_while(|line| line.kind != Kind::Media) {
            match line.kind {
                // The first of each counts.
                Kind::Connection => {
                    connection = connection.or_else(|| Connection::parse(&line).ok());
                }
                // None of the others begins like this.
                Kind::Attribute if direction.is_none() && may_be_direction(line.value) => {
                    direction = line.attribute().and_then(|it| Direction::parse(it.name));
                }
                _ => {}
            }
            length += line.raw.len();
        }
        Some(Self {
            kind,
            port,
            port_count,
            protocol,
            formats,
            section: rest.get(..length)?,
            at: start,
            connection: connection.or(session.connection()),
            direction: direction.unwrap_or(session.direction()),
        })
    }

    /// A stream of which nothing is known but these: it has no lines and no address.
    #[must_use]
    pub const fn bare(
        kind: &'a [u8],
        port: u16,
        protocol: &'a [u8],
        formats: &'a [u8],
        direction: Direction,
    ) -> Self {
        Self {
            kind,
            port,
            port_count: 1,
            protocol,
            formats,
            section: &[],
            at: 0,
            connection: None,
            direction,
        }
    }

    /// The lines behind `m=`.
    #[must_use]
    pub const fn lines(&self) -> Lines<'a> {
        Lines::new(self.section, self.at)
    }

    /// The attributes.
    pub fn attributes(&self) -> impl Iterator<Item = Attribute<'a>> + use<'a> {
        self.lines().filter_map(|line| line.attribute())
    }

    /// The values of the attributes with that name (`rtpmap`, `fmtp`, `candidate`, …).
    pub fn values(&self, name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.attributes().filter(move |a| a.name == name).filter_map(|a| a.value)
    }

    /// The formats, one by one.
    pub fn format_list(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        words(self.formats)
    }

    /// Where it is received: its own address, or the session's.
    #[must_use]
    pub const fn connection(&self) -> Option<Connection<'a>> {
        self.connection
    }

    /// Its direction: its own, or the session's, or both ways.
    #[must_use]
    pub const fn direction(&self) -> Direction {
        self.direction
    }

    /// Whether it is refused or ended.
    #[must_use]
    pub const fn is_refused(&self) -> bool {
        self.port == 0
    }

    /// Whether its writer does not want to receive: refused, only sent, inactive, or at the null
    /// address (RFC 3264 §8.4).
    #[must_use]
    pub fn is_on_hold(&self) -> bool {
        self.is_refused()
            || !self.direction.receives()
            || self.connection.is_some_and(|connection| connection.is_null())
    }

    /// Where RTCP is received: the port of `a=rtcp` (RFC 3605), else the next one.
    #[must_use]
    pub fn rtcp_port(&self) -> Option<u16> {
        let said = self.values(b"rtcp").next().and_then(|value| words(value).next());
        match said {
            Some(port) => number(port).and_then(|port| u16::try_from(port).ok()),
            None if self.is_refused() => None,
            None => self.port.checked_add(1),
        }
    }

    /// The preconditions (RFC 3312 §4), in their order.
    pub fn preconditions(&self) -> impl Iterator<Item = Precondition<'a>> + use<'a> {
        self.attributes().filter_map(|attribute| Precondition::parse(&attribute))
    }

    /// Whether all mandatory preconditions are met: each desired one has a current status that
    /// covers it (RFC 3312 §5).
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.preconditions()
            .filter(Precondition::is_mandatory)
            .all(|desired| self.preconditions().any(|current| current.meets(&desired)))
    }
}
