//! Candidates as lines of SDP (RFC 8839 §5.1). The other lines of ICE are words:
//! `a=ice-lite`, `a=end-of-candidates` (RFC 8838 §8.2), `a=ice-options:…`.

use core::fmt::Write;
use core::net::IpAddr;
use wire::Malformed;

const SPEC: &str = "RFC 8839 §5.1";
/// Characters of a foundation at most.
const FOUNDATION_MAX: usize = 32;
/// Components that a candidate can belong to.
const COMPONENTS: core::ops::RangeInclusive<u16> = 1..=256;

wire::rows! {
    /// How a candidate was found; its preference in a priority (RFC 8445 §5.1.2.2).
    pub enum CandidateType: u8 {
        /// By a server that passes packets on.
        Relayed = 0, "relay", "RFC 8839 §5.1";
        /// By a server that told the address.
        ServerReflexive = 100, "srflx", "RFC 8839 §5.1";
        /// By a check.
        PeerReflexive = 110, "prflx", "RFC 8839 §5.1";
        /// On an interface.
        Host = 126, "host", "RFC 8839 §5.1";
    }
}

/// How it is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport<'a> {
    /// By UDP.
    Udp,
    /// By something else: `TCP` of RFC 6544, or what no one knows.
    Other(&'a str),
}

/// Where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host<'a> {
    /// At an address.
    Address(IpAddr),
    /// Where a name is, `….local` of browsers among others.
    Name(&'a str),
}

/// A candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// What candidates of one interface and server have in common.
    pub foundation: &'a str,
    /// The component: 1 is RTP, 2 RTCP.
    pub component: u16,
    /// How it is reached.
    pub transport: Transport<'a>,
    /// Its priority.
    pub priority: u32,
    /// Where it is.
    pub host: Host<'a>,
    /// Its port.
    pub port: u16,
    /// How it was found: `host`, `srflx`, `prflx`, `relay`, or what no one knows.
    pub kind: &'a str,
    /// What it was found from, and further words.
    pub rest: &'a str,
}

fn is_token(word: &str) -> bool {
    let is_character = |it: u8| it.is_ascii_alphanumeric() || b"+/-_.!%*'`~".contains(&it);
    !word.is_empty() && word.bytes().all(is_character)
}

impl<'a> Candidate<'a> {
    /// A host candidate for UDP of an agent that has one address.
    #[must_use]
    pub const fn host(component: u16, address: IpAddr, port: u16) -> Self {
        Self {
            foundation: "1",
            component,
            transport: Transport::Udp,
            priority: host_priority(component),
            host: Host::Address(address),
            port,
            kind: "host",
            rest: "",
        }
    }

    /// Reads the value of `a=candidate`: what stands behind the colon.
    ///
    /// # Errors
    /// Words that lack or are none of the grammar.
    pub fn read(value: &'a str) -> Result<Self, Malformed> {
        let mut words = value.split(' ');
        let mut at = 0;
        let mut word = |what: &'static str| {
            let start = at;
            let found = words.next().filter(|word| !word.is_empty());
            at += found.map_or(0, |word| word.len() + 1);
            found.map(|word| (word, start)).ok_or(Malformed::new(start, what, SPEC))
        };
        let number = |(word, at): (&str, usize), what, most: u32| {
            let is_plain = word.bytes().all(|it| it.is_ascii_digit());
            let found = word.parse().ok().filter(|number| is_plain && *number <= most);
            found.ok_or(Malformed::new(at, what, SPEC))
        };
        let (foundation, _) = word("the foundation lacks")?;
        let is_foundation = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'+' | b'/');
        if foundation.len() > FOUNDATION_MAX || !foundation.bytes().all(is_foundation) {
            return Err(Malformed::new(0, "the foundation is none", SPEC));
        }
        let what = "the component is none";
        let found = word(what)?;
        let component = u16::try_from(number(found, what, u32::from(*COMPONENTS.end()))?);
        let component = component.ok().filter(|it| COMPONENTS.contains(it));
        let component = component.ok_or(Malformed::new(found.1, what, SPEC))?;
        let (transport, _) = word("the transport lacks")?;
        let what = "the priority is none";
        let priority = number(word(what)?, what, i32::MAX.unsigned_abs())?;
        let (host, at_host) = word("the address lacks")?;
        let what = "the port is none";
        let port = number(word(what)?, what, u32::from(u16::MAX))?;
        let (typ, at_type) = word("the type lacks")?;
        if typ != "typ" {
            return Err(Malformed::new(at_type, "the type lacks", SPEC));
        }
        let (kind, at_kind) = word("the type lacks")?;
        if !is_token(kind) {
            return Err(Malformed::new(at_kind, "the type is none", SPEC));
        }
        Ok(Self {
            foundation,
            component,
            transport: match transport.eq_ignore_ascii_case("udp") {
                true => Transport::Udp,
                false => Transport::Other(transport),
            },
            priority,
            host: Host::read(host, at_host)?,
            port: u16::try_from(port).unwrap_or(u16::MAX),
            kind,
            rest: value.get(at..).unwrap_or_default(),
        })
    }

    /// Appends the line of SDP.
    pub fn write_line(&self, out: &mut String) {
        let transport = match self.transport {
            Transport::Udp => "udp",
            Transport::Other(name) => name,
        };
        let host = match self.host {
            Host::Address(address) => address.to_string(),
            Host::Name(name) => name.to_owned(),
        };
        let Self { foundation, component, priority, port, kind, .. } = self;
        // Writing into a string cannot fail.
        let _ = write!(
            out,
            "a=candidate:{foundation} {component} {transport} {priority} {host} {port} typ {kind}"
        );
        if !self.rest.is_empty() {
            out.extend([" ", self.rest]);
        }
        out.push_str("\r\n");
    }

    /// What it was found from, of a candidate that is not of an interface: `raddr` and `rport`.
    #[must_use]
    pub fn related(&self) -> Option<(IpAddr, u16)> {
        let mut words = self.rest.split(' ');
        let is = |word: Option<&str>, name| word == Some(name);
        if !is(words.next(), "raddr") {
            return None;
        }
        let address = words.next()?.parse().ok()?;
        is(words.next(), "rport")
            .then(|| words.next()?.parse().ok())
            .flatten()
            .map(|it| (address, it))
    }
}

impl<'a> Host<'a> {
    fn read(word: &'a str, at: usize) -> Result<Self, Malformed> {
        if let Ok(address) = word.parse() {
            return Ok(Self::Address(address));
        }
        let is_name = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'.' | b'_');
        match word.bytes().all(is_name) && word.len() <= 255 {
            true => Ok(Self::Name(word)),
            false => Err(Malformed::new(at, "the address is none", SPEC)),
        }
    }
}

/// The priority of a host candidate of an agent that has one address (RFC 8445 §5.1.2.1).
#[must_use]
pub const fn host_priority(component: u16) -> u32 {
    let preference = CandidateType::Host.number() as u32;
    (preference << 24) + (65_535 << 8) + 256u32.saturating_sub(component as u32)
}
