//! What a side offers in its INIT or INIT ACK (RFC 9260 §5.1.2, RFC 5061 §4.2.7).

use crate::association::{PATHS_MAX, RANDOM_BYTES, write_auth_parameters};
use crate::codec::{ChunkType, Init, List, Parameter, Parameters, TLV_BYTES, Tlv};
use crate::parameters::Parameters as Settings;
use core::net::IpAddr;

/// Octets of unrecognized parameters that are reported.
const REPORT_BYTES_MAX: usize = 512;
/// The smallest window that INIT and INIT ACK may advertise, octets (RFC 9260 §3.3.2).
const A_RWND_MIN: u32 = 1500;
/// Octets of a proper RANDOM.
const AUTH_RANDOM_BYTES: usize = TLV_BYTES + RANDOM_BYTES;

/// RANDOM, CHUNKS and HMAC-ALGO of a side, whole; empty when they lack (RFC 4895 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct AuthOffer<'a> {
    random: &'a [u8],
    chunks: &'a [u8],
    hmacs: &'a [u8],
}

impl<'a> AuthOffer<'a> {
    /// The key vector (RFC 4895 §6.1).
    pub(crate) fn vector(&self) -> Vec<u8> {
        [self.random, self.chunks, self.hmacs].concat()
    }

    /// The types that shall be authenticated.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = u8> + 'a {
        self.chunks.iter().skip(TLV_BYTES).copied()
    }

    /// HMAC Identifiers, the preferred one first.
    pub(crate) fn algorithms(&self) -> impl Iterator<Item = u16> + 'a {
        List::<u16>::new(&self.hmacs[TLV_BYTES.min(self.hmacs.len())..]).iter()
    }
}

/// An INIT or INIT ACK as the other side understands it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offer<'a> {
    pub(crate) tag: u32,
    pub(crate) a_rwnd: u32,
    pub(crate) outbound_streams: u16,
    pub(crate) inbound_streams: u16,
    pub(crate) initial_tsn: u32,
    /// Addresses listed; the source of the packet is one more.
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) forward_tsn: bool,
    pub(crate) i_data: bool,
    pub(crate) reconfiguration: bool,
    pub(crate) asconf: bool,
    auth: AuthOffer<'a>,
    pub(crate) adaptation: Option<u32>,
    pub(crate) zero_checksum: Option<u32>,
    pub(crate) cookie: Option<&'a [u8]>,
    /// Milliseconds that the peer wants its cookie to live longer.
    pub(crate) preservative: u32,
    /// Parameters to report as unrecognized.
    pub(crate) unrecognized: Vec<u8>,
    pub(crate) host_name: Option<&'a [u8]>,
}

impl<'a> Offer<'a> {
    /// Understands what it can; `None` when a parameter is malformed.
    pub(crate) fn read(init: &Init<'a>) -> Option<Self> {
        let mut offer = Self {
            tag: init.initiate_tag,
            a_rwnd: init.a_rwnd,
            outbound_streams: init.outbound_streams,
            inbound_streams: init.inbound_streams,
            initial_tsn: init.initial_tsn,
            addresses: Vec::new(),
            forward_tsn: false,
            i_data: false,
            reconfiguration: false,
            asconf: false,
            auth: AuthOffer::default(),
            adaptation: None,
            zero_checksum: None,
            cookie: None,
            preservative: 0,
            unrecognized: Vec::new(),
            host_name: None,
        };
        for tlv in init.parameters.tlvs() {
            if !offer.take(&tlv)? {
                break;
            }
        }
        Some(offer)
    }

    /// Addresses that nobody can have are left out.
    fn list(&mut self, address: IpAddr) {
        if !is_unicast(address) {
            return;
        }
        if self.addresses.len() < PATHS_MAX && !self.addresses.contains(&address) {
            self.addresses.push(address);
        }
    }

    /// Takes one parameter and says whether the next one counts.
    fn take(&mut self, tlv: &Tlv<'a>) -> Option<bool> {
        match Parameter::read(tlv).ok()? {
            Parameter::Address(address) => self.list(address),
            Parameter::StateCookie(cookie) => self.cookie = Some(cookie),
            Parameter::CookiePreservative(more) => self.preservative = more,
            Parameter::HostNameAddress(_) => self.host_name = Some(tlv.whole),
            Parameter::ForwardTsnSupported => self.forward_tsn = true,
            Parameter::ZeroChecksumAcceptable(method) => self.zero_checksum = Some(method),
            Parameter::SupportedExtensions(types) => {
                self.forward_tsn |= types.contains(&(ChunkType::ForwardTsn.number()));
                self.reconfiguration |= types.contains(&(ChunkType::ReConfig.number()));
                self.i_data |= types.contains(&(ChunkType::IData.number()));
                self.asconf |= types.contains(&(ChunkType::Asconf.number()));
            }
            Parameter::Random(_) => self.auth.random = tlv.whole,
            Parameter::ChunkList(_) => self.auth.chunks = tlv.whole,
            Parameter::HmacAlgorithms(_) => self.auth.hmacs = tlv.whole,
            Parameter::AdaptationLayer(indication) => self.adaptation = Some(indication),
            Parameter::Unknown(kind, whole) => {
                let unknown = Parameter::unknown(kind);
                if unknown.is_reported && self.unrecognized.len() < REPORT_BYTES_MAX {
                    Parameter::Unknown(kind, whole).write(&mut self.unrecognized);
                }
                return Some(unknown.is_skipped);
            }
            _ => {}
        }
        Some(true)
    }

    /// What of it breaks the rules of RFC 9260 §3.3.2 and §3.3.3.
    pub(crate) const fn violation(&self) -> Option<&'static str> {
        match (self.tag, self.outbound_streams, self.inbound_streams) {
            (0, ..) => Some("the Initiate Tag is zero"),
            (_, 0, _) | (_, _, 0) => Some("a number of streams is zero"),
            _ if self.a_rwnd < A_RWND_MIN => Some("the window is smaller than 1500"),
            _ => self.auth_violation(),
        }
    }

    /// RFC 4895 §6.1, RFC 5061 §4.2.7.
    const fn auth_violation(&self) -> Option<&'static str> {
        match (self.auth.random.len(), self.auth.hmacs.len()) {
            (0, _) | (_, 0..=TLV_BYTES) if self.asconf => Some("ASCONF without authentication"),
            (0, _) | (AUTH_RANDOM_BYTES, _) => None,
            _ => Some("the random number has not 32 octets"),
        }
    }

    /// What it says of authentication, if it has all that is necessary.
    pub(crate) fn auth(&self) -> Option<AuthOffer<'a>> {
        let is_whole = !self.auth.random.is_empty() && self.auth.hmacs.len() > TLV_BYTES;
        is_whole.then_some(self.auth)
    }
}

/// Whether a packet can come from there or go there: the others are not believed and never answered
/// (RFC 9260 §8.4).
pub(crate) fn is_unicast(address: IpAddr) -> bool {
    let is_broadcast = address == IpAddr::V4(core::net::Ipv4Addr::BROADCAST);
    !(address.is_unspecified() || address.is_multicast() || is_broadcast)
}

/// What one side says of itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Own<'a> {
    pub(crate) tag: u32,
    pub(crate) initial_tsn: u32,
    pub(crate) addresses: &'a [IpAddr],
    pub(crate) settings: &'a Settings,
    /// Our random number (RFC 4895 §3.1).
    pub(crate) random: &'a [u8; RANDOM_BYTES],
}

impl Own<'_> {
    /// Appends the parameters of an INIT or INIT ACK.
    pub(crate) fn write_parameters(&self, out: &mut Vec<u8>) {
        if self.addresses.len() > 1 {
            for address in self.addresses.iter().take(PATHS_MAX) {
                Parameter::Address(*address).write(out);
            }
        }
        Parameter::SupportedAddressTypes(List::new(&[0, 5, 0, 6])).write(out);
        let extensions = &self.settings.extensions;
        if extensions.partial_reliability {
            Parameter::ForwardTsnSupported.write(out);
        }
        let types = self.extension_types();
        if !types.is_empty() {
            Parameter::SupportedExtensions(&types).write(out);
        }
        if extensions.authentication || extensions.address_reconfiguration {
            write_auth_parameters(extensions, self.random, out);
        }
        if let Some(indication) = extensions.adaptation {
            Parameter::AdaptationLayer(indication).write(out);
        }
        if let Some(method) = extensions.zero_checksum {
            Parameter::ZeroChecksumAcceptable(method).write(out);
        }
    }

    /// Types for Supported Extensions (RFC 5061 §4.2.7).
    fn extension_types(&self) -> Vec<u8> {
        let has = &self.settings.extensions;
        let rows = [
            (has.partial_reliability, ChunkType::ForwardTsn),
            (has.reconfiguration, ChunkType::ReConfig),
            (has.interleaving, ChunkType::IData),
            (has.partial_reliability && has.interleaving, ChunkType::IForwardTsn),
            (has.authentication || has.address_reconfiguration, ChunkType::Auth),
            (has.address_reconfiguration, ChunkType::Asconf),
            (has.address_reconfiguration, ChunkType::AsconfAck),
        ];
        rows.iter().filter(|row| row.0).map(|row| row.1.number()).collect()
    }

    /// The fixed part with `parameters`.
    pub(crate) const fn init<'a>(&self, parameters: Parameters<'a>) -> Init<'a> {
        Init {
            initiate_tag: self.tag,
            a_rwnd: if self.settings.receive_buffer < A_RWND_MIN {
                A_RWND_MIN
            } else {
                self.settings.receive_buffer
            },
            outbound_streams: self.settings.outbound_streams,
            inbound_streams: self.settings.inbound_streams,
            initial_tsn: self.initial_tsn,
            parameters,
        }
    }
}
