//! What a side offers in its INIT or INIT ACK (RFC 9260 §5.1.2, RFC 5061 §4.2.7).

use crate::association::PATHS_MAX;
use crate::codec::{ChunkType, Init, List, Parameter, Parameters, Tlv};
use crate::parameters::{Extensions, Parameters as Settings};
use core::net::IpAddr;

/// Octets of unrecognized parameters that are reported.
const REPORT_BYTES_MAX: usize = 512;

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

    fn list(&mut self, address: IpAddr) {
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
                self.forward_tsn |= types.contains(&(ChunkType::ForwardTsn as u8));
                self.reconfiguration |= types.contains(&(ChunkType::ReConfig as u8));
                self.i_data |= types.contains(&(ChunkType::IData as u8));
            }
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
            _ => None,
        }
    }
}

/// What one side says of itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Own<'a> {
    pub(crate) tag: u32,
    pub(crate) initial_tsn: u32,
    pub(crate) addresses: &'a [IpAddr],
    pub(crate) settings: &'a Settings,
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
        let Extensions { partial_reliability, interleaving, reconfiguration, zero_checksum } =
            self.settings.extensions;
        let mut types = Vec::new();
        if partial_reliability {
            Parameter::ForwardTsnSupported.write(out);
            types.push(ChunkType::ForwardTsn as u8);
        }
        if reconfiguration {
            types.push(ChunkType::ReConfig as u8);
        }
        if interleaving {
            types.push(ChunkType::IData as u8);
        }
        if partial_reliability && interleaving {
            types.push(ChunkType::IForwardTsn as u8);
        }
        if !types.is_empty() {
            Parameter::SupportedExtensions(&types).write(out);
        }
        if let Some(method) = zero_checksum {
            Parameter::ZeroChecksumAcceptable(method).write(out);
        }
    }

    /// The fixed part with `parameters`.
    pub(crate) const fn init<'a>(&self, parameters: Parameters<'a>) -> Init<'a> {
        Init {
            initiate_tag: self.tag,
            a_rwnd: self.settings.receive_buffer,
            outbound_streams: self.settings.outbound_streams,
            inbound_streams: self.settings.inbound_streams,
            initial_tsn: self.initial_tsn,
            parameters,
        }
    }
}
