//! A session description (RFC 8866 §5).

use crate::line::{Attribute, Kind, Line, Lines, number, words};
use crate::media::Media;
use crate::{Direction, Malformed};

/// Octets of a description.
pub const SESSION_BYTES_MAX: usize = 65_535;
/// Streams of a description.
pub const MEDIA_MAX: usize = 64;

/// Who made the session (RFC 8866 §5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin<'a> {
    /// The user's name, or `-`.
    pub username: &'a [u8],
    /// The session's number, with the rest unique.
    pub session_id: u64,
    /// Grows by one with each changed offer (RFC 3264 §8).
    pub version: u64,
    /// `IN`.
    pub net: &'a [u8],
    /// `IP4` or `IP6`.
    pub family: &'a [u8],
    /// The maker's address.
    pub address: &'a [u8],
}

/// Where media is received (RFC 8866 §5.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection<'a> {
    /// `IN`.
    pub net: &'a [u8],
    /// `IP4` or `IP6`.
    pub family: &'a [u8],
    /// Address or name, without TTL and count.
    pub address: &'a [u8],
    /// `/ttl`, `/ttl/count` or `/count` of a multicast address.
    pub suffix: &'a [u8],
}

impl<'a> Connection<'a> {
    pub(crate) fn parse(line: &Line<'a>) -> Result<Self, Malformed> {
        let what = "a connection is not network, family and address";
        let violation = Malformed::new(line.at, what, "RFC 8866 §5.7");
        let mut words = words(line.value);
        let mut word = || words.next().ok_or(violation);
        let (net, family, whole) = (word()?, word()?, word()?);
        if words.next().is_some() {
            return Err(violation);
        }
        let end = memchr::memchr(b'/', whole).unwrap_or(whole.len());
        Ok(Self { net, family, address: &whole[..end], suffix: &whole[end..] })
    }

    /// Whether the address says "do not send", as RFC 2543 put a stream on hold (RFC 3264 §8.4).
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self.address, b"0.0.0.0" | b"::")
    }
}

/// A description, borrowed from its bytes; what [`Session::parse`] accepted reads without error.
#[derive(Debug, Clone, Copy)]
pub struct Session<'a> {
    bytes: &'a [u8],
    /// Where the first `m=` stands.
    head: usize,
    origin: Origin<'a>,
    name: &'a [u8],
    connection: Option<Connection<'a>>,
    direction: Direction,
}

impl<'a> Session<'a> {
    /// Reads a description. Version, origin and name stand first, a time before the first
    /// stream; the other lines may stand in any order, since many do. Unknown letters are
    /// ignored.
    ///
    /// # Errors
    /// [`Malformed`] with the offset of the offending line.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        Self::parse_with(bytes, |_| {})
    }

    /// As [`Session::parse`], and gives each line to `each` as it is read: for who wants the lines
    /// without reading them again. Of a description that is refused, some may have been given.
    ///
    /// # Errors
    /// Those of [`Session::parse`].
    pub fn parse_with(bytes: &'a [u8], mut each: impl FnMut(&Line<'a>)) -> Result<Self, Malformed> {
        if bytes.len() > SESSION_BYTES_MAX {
            return Err(Malformed::new(SESSION_BYTES_MAX, "too long", "RFC 8866 §5"));
        }
        let mut lines = Lines::new(bytes, 0);
        let version = required(&mut lines, Kind::Version, "the first line is not v=")?;
        if version.value != b"0" {
            return Err(Malformed::new(version.at, "the version is not 0", "RFC 8866 §5.1"));
        }
        let second = required(&mut lines, Kind::Origin, "the second line is not o=")?;
        let origin = origin(&second)?;
        let third = required(&mut lines, Kind::Name, "the third line is not s=")?;
        let name = third.value;
        [version, second, third].iter().for_each(&mut each);
        let mut session = Self {
            bytes,
            head: bytes.len(),
            origin,
            name,
            connection: None,
            direction: Direction::default(),
        };
        session.read_rest(lines, each)?;
        Ok(session)
    }

    fn read_rest(
        &mut self,
        mut lines: Lines<'a>,
        mut each: impl FnMut(&Line<'a>),
    ) -> Result<(), Malformed> {
        let (mut timed, mut streams) = (false, 0);
        while let Some(line) = lines.read()? {
            each(&line);
            match line.kind {
                Kind::Version | Kind::Origin | Kind::Name => {
                    return Err(Malformed::new(line.at, "a line stands twice", "RFC 8866 §5"));
                }
                Kind::Media => {
                    streams += 1;
                    if streams == 1 {
                        self.head = line.at;
                    }
                    if streams > MEDIA_MAX {
                        return Err(Malformed::new(line.at, "too many streams", "RFC 8866 §5.14"));
                    }
                    Media::head(&line)?;
                }
                Kind::Connection => {
                    let connection = Connection::parse(&line)?;
                    self.connection = self.connection.or((streams == 0).then_some(connection));
                }
                Kind::Time => {
                    check_time(&line)?;
                    timed |= streams == 0;
                }
                Kind::Attribute if streams == 0 => {
                    self.direction = Direction::parse(line.value).unwrap_or(self.direction);
                }
                _ => {}
            }
        }
        if timed { Ok(()) } else { Err(Malformed::new(self.head, "no t=", "RFC 8866 §5.9")) }
    }

    /// Everything, as it came.
    #[must_use]
    pub const fn raw(&self) -> &'a [u8] {
        self.bytes
    }

    /// Who made it.
    #[must_use]
    pub const fn origin(&self) -> Origin<'a> {
        self.origin
    }

    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &'a [u8] {
        self.name
    }

    /// The address for streams that have none of their own.
    #[must_use]
    pub const fn connection(&self) -> Option<Connection<'a>> {
        self.connection
    }

    /// The direction of streams that have none of their own.
    #[must_use]
    pub const fn direction(&self) -> Direction {
        self.direction
    }

    /// All lines; their `raw`s one after the other are the description.
    #[must_use]
    pub const fn lines(&self) -> Lines<'a> {
        Lines::new(self.bytes, 0)
    }

    /// The attributes of the session, those of its streams left out.
    pub fn attributes(&self) -> impl Iterator<Item = Attribute<'a>> + use<'a> {
        Lines::new(&self.bytes[..self.head], 0).filter_map(|line| line.attribute())
    }

    /// The streams, in order.
    pub fn media(&self) -> impl Iterator<Item = Media<'a>> + use<'a> {
        let session = *self;
        let starts = Lines::new(&self.bytes[self.head..], self.head);
        starts
            .filter(|line| line.kind == Kind::Media)
            .filter_map(move |line| Media::of(&session, &line))
    }

    /// Whether every stream is on hold: refused, inactive, only sent, or at the null address
    /// (RFC 3264 §8.4). A session without streams is not.
    #[must_use]
    pub fn is_on_hold(&self) -> bool {
        self.media().next().is_some() && self.media().all(|media| media.is_on_hold())
    }
}

fn required<'a>(
    lines: &mut Lines<'a>,
    kind: Kind,
    what: &'static str,
) -> Result<Line<'a>, Malformed> {
    match lines.read()? {
        Some(line) if line.kind == kind => Ok(line),
        Some(line) => Err(Malformed::new(line.at, what, kind.spec())),
        None => Err(Malformed::new(lines.offset(), what, kind.spec())),
    }
}

fn origin<'a>(line: &Line<'a>) -> Result<Origin<'a>, Malformed> {
    let what = "an origin is not user, number, version, network, family and address";
    let violation = Malformed::new(line.at, what, "RFC 8866 §5.2");
    let mut words = words(line.value);
    let mut word = || words.next().ok_or(violation);
    let username = word()?;
    let session_id = number(word()?).ok_or(violation)?;
    let version = number(word()?).ok_or(violation)?;
    let (net, family, address) = (word()?, word()?, word()?);
    if words.next().is_some() {
        return Err(violation);
    }
    Ok(Origin { username, session_id, version, net, family, address })
}

fn check_time(line: &Line<'_>) -> Result<(), Malformed> {
    let mut words = words(line.value);
    let both = [words.next(), words.next()].map(|word| word.and_then(number).is_some());
    if both == [true, true] && words.next().is_none() {
        return Ok(());
    }
    Err(Malformed::new(line.at, "a time is not two numbers", "RFC 8866 §5.9"))
}
