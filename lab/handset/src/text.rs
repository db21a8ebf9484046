//! What phones say.

use machine::identity::{hex, mix};
use std::net::{IpAddr, SocketAddr};

/// The port of media that descriptions name; nobody sends there.
const MEDIA_PORT: u16 = 40_000;

/// A subscription: a card, and what it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscriber {
    /// The private identity.
    pub impi: String,
    /// The public identity: `sip:+4930…@ims.example.org`.
    pub impu: String,
    /// The home network.
    pub realm: String,
    /// The secret key of its card.
    pub k: [u8; 16],
    /// What Milenage makes of the operator's part.
    pub opc: [u8; 16],
}

impl Subscriber {
    /// The subscriber of that number; each has keys of its own.
    #[must_use]
    pub fn number(number: u64) -> Self {
        let octets = |salt: u64| {
            let mut octets = [0; 16];
            octets[..8].copy_from_slice(&mix(number ^ salt).to_be_bytes());
            octets[8..].copy_from_slice(&mix(number.wrapping_add(salt)).to_be_bytes());
            octets
        };
        let realm = "ims.example.org".to_owned();
        Self {
            impi: format!("00101{number:010}@{realm}"),
            impu: format!("sip:+49{number:010}@{realm}"),
            realm,
            k: octets(0x6b),
            opc: octets(0x6f70_6300),
        }
    }

    /// The algorithm of its card.
    #[must_use]
    pub fn algorithm(&self) -> aka::Algorithm {
        aka::Algorithm::Milenage(aka::Milenage::new(&self.k, &self.opc))
    }

    /// The user part of its public identity.
    #[must_use]
    pub fn user(&self) -> &str {
        let rest = self.impu.strip_prefix("sip:").unwrap_or(&self.impu);
        rest.split('@').next().unwrap_or_default()
    }
}

/// Words that are drawn by seed.
#[derive(Debug)]
pub(crate) struct Draw(u64);

impl Draw {
    pub const fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    pub const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        mix(mix(self.0))
    }

    pub fn word(&mut self) -> String {
        String::from_utf8_lossy(&hex(self.number())).into_owned()
    }
}

/// A REGISTER.
pub(crate) struct Register<'a> {
    pub subscriber: &'a Subscriber,
    pub via: SocketAddr,
    /// Whether it leaves by TCP, and whether the phone is reached by TCP.
    pub tcp: (bool, bool),
    pub contact: SocketAddr,
    pub is_emergency: bool,
    pub branch: &'a str,
    pub tag: &'a str,
    pub call_id: &'a str,
    pub cseq: u32,
    pub expires_s: u32,
    pub authorization: Option<&'a [u8]>,
    pub client: &'a [u8],
    pub verify: Option<&'a [u8]>,
}

impl Register<'_> {
    pub fn write(&self) -> Vec<u8> {
        let Subscriber { impi, impu, realm, .. } = self.subscriber;
        let user = self.subscriber.user();
        let (carrier, transport) = (carrier(self.tcp.0), transport(self.tcp.1));
        let sos = if self.is_emergency { ";sos" } else { "" };
        let mut out = format!(
            "REGISTER sip:{realm} SIP/2.0\r\n\
             Via: SIP/2.0/{carrier} {};branch=z9hG4bK{}\r\n\
             Max-Forwards: 70\r\n\
             From: <{impu}>;tag={}\r\n\
             To: <{impu}>\r\n\
             Call-ID: {}\r\n\
             CSeq: {} REGISTER\r\n\
             Contact: <sip:{user}@{}{transport}{sos}>;expires={}\r\n\
             Supported: path, sec-agree\r\n\
             Require: sec-agree\r\n\
             Proxy-Require: sec-agree\r\n",
            self.via, self.branch, self.tag, self.call_id, self.cseq, self.contact, self.expires_s,
        )
        .into_bytes();
        match self.authorization {
            Some(value) => line(&mut out, "Authorization", value),
            None => {
                let value = format!(
                    "Digest username=\"{impi}\", realm=\"{realm}\", nonce=\"\", \
                     uri=\"sip:{realm}\", response=\"\""
                );
                line(&mut out, "Authorization", value.as_bytes());
            }
        }
        line(&mut out, "Security-Client", self.client);
        if let Some(verify) = self.verify {
            line(&mut out, "Security-Verify", verify);
        }
        out.extend_from_slice(b"Content-Length: 0\r\n\r\n");
        out
    }
}

/// What Via calls it.
pub(crate) const fn carrier(is_tcp: bool) -> &'static str {
    if is_tcp { "TCP" } else { "UDP" }
}

/// The parameter of a URI that is reached so.
pub(crate) const fn transport(is_tcp: bool) -> &'static str {
    if is_tcp { ";transport=tcp" } else { "" }
}

pub(crate) fn line(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    sip::write::line(out, name, value);
}

/// One stream of speech, which nobody sends.
pub(crate) fn description(address: IpAddr) -> Vec<u8> {
    let version = if address.is_ipv4() { "IP4" } else { "IP6" };
    format!(
        "v=0\r\no=- 1 1 IN {version} {address}\r\ns=-\r\nc=IN {version} {address}\r\nt=0 0\r\n\
         m=audio {MEDIA_PORT} RTP/AVP 8\r\na=rtpmap:8 PCMA/8000\r\n"
    )
    .into_bytes()
}
