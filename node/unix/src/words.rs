//! What a function and the channel of a socket say to each other.
//!
//! ```text
//!   event: connection (8) │ kind (1) │ octets …                  one a message of the channel
//!   order: connection (8) │ kind (1) │ length (4) │ octets …     one behind the other
//! ```

/// What happened at a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// It stands; the user at the other end.
    Up(u32),
    /// A whole message.
    Message(&'a [u8]),
    /// The kernel took octets: so many are left.
    Written(u64),
    /// It is over: why.
    Down(&'a str),
}

const UP: u8 = 0;
const MESSAGE: u8 = 1;
const WRITTEN: u8 = 2;
const DOWN: u8 = 3;

impl<'a> Event<'a> {
    /// Appends the event of that connection.
    pub(crate) fn write(&self, connection: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&connection.to_be_bytes());
        match self {
            Self::Up(user) => {
                out.push(UP);
                out.extend_from_slice(&user.to_be_bytes());
            }
            Self::Message(octets) => {
                out.push(MESSAGE);
                out.extend_from_slice(octets);
            }
            Self::Written(left) => {
                out.push(WRITTEN);
                out.extend_from_slice(&left.to_be_bytes());
            }
            Self::Down(why) => {
                out.push(DOWN);
                out.extend_from_slice(why.as_bytes());
            }
        }
    }

    /// Reads a message of the channel: the connection, and what happened there.
    #[must_use]
    pub fn read(message: &'a [u8]) -> Option<(u64, Self)> {
        let (connection, rest) = message.split_first_chunk::<8>()?;
        let (kind, octets) = rest.split_first()?;
        let event = match *kind {
            UP => Self::Up(u32::from_be_bytes(octets.try_into().ok()?)),
            MESSAGE => Self::Message(octets),
            WRITTEN => Self::Written(u64::from_be_bytes(octets.try_into().ok()?)),
            DOWN => Self::Down(core::str::from_utf8(octets).ok()?),
            _ => return None,
        };
        Some((u64::from_be_bytes(*connection), event))
    }
}

/// What is wanted of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order<'a> {
    /// Octets are to be sent.
    Send(&'a [u8]),
    /// It is to be closed, once what was sent is out.
    Close,
}

impl<'a> Order<'a> {
    /// Appends the order for that connection.
    pub fn write(&self, connection: u64, out: &mut Vec<u8>) {
        let (kind, octets) = match self {
            Self::Send(octets) => (0, *octets),
            Self::Close => (1, &[][..]),
        };
        // What is longer is nobody's message.
        let Ok(length) = u32::try_from(octets.len()) else { return };
        out.extend_from_slice(&connection.to_be_bytes());
        out.push(kind);
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(octets);
    }

    /// Reads the first order: the connection, what is wanted, and what follows.
    pub(crate) fn read(orders: &'a [u8]) -> Option<(u64, Self, &'a [u8])> {
        let (connection, rest) = orders.split_first_chunk::<8>()?;
        let (kind, rest) = rest.split_first()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (octets, rest) = rest.split_at_checked(length)?;
        let order = if *kind == 0 { Self::Send(octets) } else { Self::Close };
        Some((u64::from_be_bytes(*connection), order, rest))
    }
}
