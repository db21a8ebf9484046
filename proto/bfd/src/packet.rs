//! The control packet (RFC 5880 §4.1) and its authentication section.

use crate::rows::{AuthType, Diagnostic, Discard, State};

/// Octets of the mandatory section.
pub const MANDATORY_OCTETS: usize = 24;
/// What the field Length says of them.
const LENGTH: u8 = 24;
/// Octets of the longest packet: with a SHA1 digest.
pub const OCTETS_MAX: usize = MANDATORY_OCTETS + 28;
const VERSION: u8 = 1;

const POLL: u8 = 0x20;
const FINAL: u8 = 0x10;
const CONTROL_PLANE_INDEPENDENT: u8 = 0x08;
const AUTHENTICATION: u8 = 0x04;
const DEMAND: u8 = 0x02;
const MULTIPOINT: u8 = 0x01;

/// A control packet. Times are in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Why the sender's session went down last.
    pub diagnostic: Diagnostic,
    /// The sender's state.
    pub state: State,
    /// An answer is wanted.
    pub poll: bool,
    /// It is the answer.
    pub is_final: bool,
    /// The sender's control may die without the session.
    pub control_plane_independent: bool,
    /// The sender wants no packets while both are up.
    pub demand: bool,
    /// Intervals without a packet after which the receiver counts the sender as lost.
    pub detect_mult: u8,
    /// The sender's number of the session.
    pub my_discriminator: u32,
    /// The receiver's number of the session; 0 if unknown.
    pub your_discriminator: u32,
    /// The interval at which the sender would like to send.
    pub desired_min_tx_us: u32,
    /// The interval at which it can receive; 0: it wants nothing.
    pub required_min_rx_us: u32,
    /// The interval at which it can send echoes back; 0: not at all.
    pub required_min_echo_rx_us: u32,
}

/// The authentication section of a packet that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthSection<'a> {
    /// The number of its kind, which may be one without a row.
    pub number: u8,
    /// Which key.
    pub key: u8,
    /// What follows the key's number: a password; or an octet, the sequence number and a digest.
    pub rest: &'a [u8],
}

/// A packet as it is sent: no memory but its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    octets: [u8; OCTETS_MAX],
    length: u8,
}

impl Datagram {
    /// Its octets.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.octets[..usize::from(self.length)]
    }

    pub(crate) fn octets_mut(&mut self) -> &mut [u8] {
        &mut self.octets[..usize::from(self.length)]
    }

    /// Makes room for an authentication section, which is zero, and counts it in Length. More than
    /// the longest one is not made.
    pub(crate) fn extend(&mut self, octets: u8) {
        let length = self.length.saturating_add(octets);
        if usize::from(length) <= OCTETS_MAX {
            self.length = length;
            self.octets[3] = length;
            self.octets[1] |= AUTHENTICATION;
        }
    }
}

fn be32(octets: &[u8; MANDATORY_OCTETS], at: usize) -> u32 {
    u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]])
}

impl Packet {
    /// Reads a packet and its authentication section. Octets behind what Length says are no part
    /// of it.
    ///
    /// # Errors
    /// The first check of RFC 5880 §6.8.6 that fails.
    pub fn read(octets: &[u8]) -> Result<(Self, Option<AuthSection<'_>>), Discard> {
        let head = octets.first_chunk::<MANDATORY_OCTETS>().ok_or(Discard::Length)?;
        if head[0] >> 5 != VERSION {
            return Err(Discard::Version);
        }
        let (flags, length) = (head[1], usize::from(head[3]));
        let has_auth = flags & AUTHENTICATION != 0;
        let least = MANDATORY_OCTETS + if has_auth { 2 } else { 0 };
        if length < least || length > octets.len() {
            return Err(Discard::Length);
        }
        let packet = Self {
            diagnostic: Diagnostic::of(head[0] & 0x1F).unwrap_or(Diagnostic::None),
            state: State::of(flags >> 6).unwrap_or(State::Down),
            poll: flags & POLL != 0,
            is_final: flags & FINAL != 0,
            control_plane_independent: flags & CONTROL_PLANE_INDEPENDENT != 0,
            demand: flags & DEMAND != 0,
            detect_mult: head[2],
            my_discriminator: be32(head, 4),
            your_discriminator: be32(head, 8),
            desired_min_tx_us: be32(head, 12),
            required_min_rx_us: be32(head, 16),
            required_min_echo_rx_us: be32(head, 20),
        };
        packet.check(flags)?;
        let section = &octets[MANDATORY_OCTETS..length];
        if !has_auth {
            return Ok((packet, None));
        }
        match *section {
            [number, octets, key, ref rest @ ..] if usize::from(octets) == section.len() => {
                Ok((packet, Some(AuthSection { number, key, rest })))
            }
            _ => Err(Discard::AuthLength),
        }
    }

    fn check(&self, flags: u8) -> Result<(), Discard> {
        match () {
            () if self.detect_mult == 0 => Err(Discard::DetectMult),
            () if flags & MULTIPOINT != 0 => Err(Discard::Multipoint),
            () if self.my_discriminator == 0 => Err(Discard::MyDiscriminator),
            () if self.poll && self.is_final => Err(Discard::PollAndFinal),
            () => Ok(()),
        }
    }

    /// Writes the mandatory section.
    #[must_use]
    pub fn write(&self) -> Datagram {
        let mut octets = [0; OCTETS_MAX];
        let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        octets[0] = VERSION << 5 | self.diagnostic.number();
        octets[1] = self.state.number() << 6
            | flag(self.poll, POLL)
            | flag(self.is_final, FINAL)
            | flag(self.control_plane_independent, CONTROL_PLANE_INDEPENDENT)
            | flag(self.demand, DEMAND);
        octets[2] = self.detect_mult;
        octets[3] = LENGTH;
        let numbers = [
            self.my_discriminator,
            self.your_discriminator,
            self.desired_min_tx_us,
            self.required_min_rx_us,
            self.required_min_echo_rx_us,
        ];
        for (place, number) in octets[4..MANDATORY_OCTETS].chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        Datagram { octets, length: LENGTH }
    }
}

/// The row of a section's kind.
impl AuthSection<'_> {
    /// Its kind, if it is known.
    #[must_use]
    pub fn kind(&self) -> Option<AuthType> {
        AuthType::of(self.number)
    }
}
