//! Laws of the codec: what is written is read again, damage is an error with a place, nothing
//! panics.
#![allow(clippy::needless_range_loop)]

use proptest::prelude::*;
use sctp::codec::{
    Auth, Cause, Causes, Chunk, ChunkType, Data, DataFlags, ForwardTsn, Gaps, HEADER_BYTES, Header,
    IData, IForwardTsn, Init, List, Packet, Parameter, Parameters, Reset, Response, Sack, Skips,
    Words, crc32c, seal,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A source of numbers and octets made from what proptest drew.
struct Draw {
    bytes: Vec<u8>,
    at: usize,
}

impl Draw {
    fn byte(&mut self) -> u8 {
        self.at += 1;
        self.bytes[self.at % self.bytes.len()]
    }
    fn half(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }
    fn word(&mut self) -> u32 {
        u32::from_be_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }
    fn take(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.byte()).collect()
    }
    fn address(&mut self) -> IpAddr {
        match self.byte() & 1 {
            0 => Ipv4Addr::from(self.word()).into(),
            _ => Ipv6Addr::from([self.half(); 8]).into(),
        }
    }
}

/// Every parameter of the table, with values drawn.
fn parameters(draw: &mut Draw, visit: &mut dyn FnMut(Parameter<'_>)) {
    let length = usize::from(draw.byte() % 9);
    let (bytes, halves) = (draw.take(length), draw.take(length & !1));
    let mut causes = Vec::new();
    Cause::StaleCookie(draw.word()).write(&mut causes);
    Cause::UserAbort(&bytes).write(&mut causes);
    let list = List::new(&halves);
    let reset =
        Reset { request: draw.word(), response: draw.word(), last_tsn: draw.word(), streams: list };
    let response = Response { response: draw.word(), result: draw.word(), next_tsns: None };
    let tsns = Some((draw.word(), draw.word()));
    let mut unknown = vec![0x3F, 1, 0, 4 + length as u8];
    unknown.extend_from_slice(&bytes);
    for parameter in [
        Parameter::HeartbeatInfo(&bytes),
        Parameter::Address(draw.address()),
        Parameter::StateCookie(&bytes),
        Parameter::UnrecognizedParameter(&unknown),
        Parameter::CookiePreservative(draw.word()),
        Parameter::HostNameAddress(&bytes),
        Parameter::SupportedAddressTypes(list),
        Parameter::OutgoingSsnReset(reset),
        Parameter::IncomingSsnReset(draw.word(), list),
        Parameter::SsnTsnReset(draw.word()),
        Parameter::Response(response),
        Parameter::Response(Response { next_tsns: tsns, ..response }),
        Parameter::AddOutgoingStreams(draw.word(), draw.half()),
        Parameter::AddIncomingStreams(draw.word(), draw.half()),
        Parameter::EcnCapable,
        Parameter::ZeroChecksumAcceptable(draw.word()),
        Parameter::Random(&bytes),
        Parameter::ChunkList(&bytes),
        Parameter::HmacAlgorithms(list),
        Parameter::Padding(&bytes),
        Parameter::SupportedExtensions(&bytes),
        Parameter::ForwardTsnSupported,
        Parameter::AddIp(draw.word(), draw.address()),
        Parameter::DeleteIp(draw.word(), draw.address()),
        Parameter::ErrorCauses(draw.word(), Causes::new(&causes)),
        Parameter::SetPrimary(draw.word(), draw.address()),
        Parameter::Success(draw.word()),
        Parameter::AdaptationLayer(draw.word()),
        Parameter::Unknown(0x3F01, &unknown),
    ] {
        visit(parameter);
    }
}

/// Every error cause of the table.
fn causes(draw: &mut Draw, visit: &mut dyn FnMut(Cause<'_>)) {
    let length = usize::from(draw.byte() % 9);
    let (bytes, halves) = (draw.take(length), draw.take(length & !1));
    for cause in [
        Cause::InvalidStream(draw.half()),
        Cause::MissingParameter(List::new(&halves)),
        Cause::StaleCookie(draw.word()),
        Cause::OutOfResource,
        Cause::UnresolvableAddress(&bytes),
        Cause::UnrecognizedChunk(&bytes),
        Cause::InvalidParameter,
        Cause::UnrecognizedParameters(&bytes),
        Cause::NoUserData(draw.word()),
        Cause::CookieWhileShuttingDown,
        Cause::RestartWithNewAddresses(&bytes),
        Cause::UserAbort(&bytes),
        Cause::ProtocolViolation(&bytes),
        Cause::DeleteLastAddress(&bytes),
        Cause::ResourceShortage(&bytes),
        Cause::DeleteSourceAddress(&bytes),
        Cause::IllegalAsconfAck,
        Cause::NotAuthorized(&bytes),
        Cause::UnsupportedHmac(draw.half()),
        Cause::Unknown(0x7777, &bytes),
    ] {
        visit(cause);
    }
}

/// Every chunk of the table.
fn chunks(draw: &mut Draw, visit: &mut dyn FnMut(Chunk<'_>)) {
    let (length, gaps) = (1 + usize::from(draw.byte() % 40), usize::from(draw.byte() % 6));
    let (payload, gaps, skips) = (draw.take(length), draw.take(4 * gaps), draw.take(4 * gaps));
    let (mut some, mut why) = (Vec::new(), Vec::new());
    parameters(draw, &mut |parameter| parameter.write(&mut some));
    causes(draw, &mut |cause| cause.write(&mut why));
    let (parameters, causes) = (Parameters::new(&some), Causes::new(&why));
    let flags = DataFlags(draw.byte() & 15);
    let (tsn, stream, ssn) = (draw.word(), draw.half(), draw.half());
    let data = Data { flags, tsn, stream, ssn, ppid: draw.word(), payload: &payload };
    let (mid, ppid_or_fsn) = (draw.word(), draw.word());
    let i_data = IData { flags, tsn, stream, mid, ppid_or_fsn, payload: &payload };
    let init = Init {
        initiate_tag: draw.word(),
        a_rwnd: draw.word(),
        outbound_streams: stream,
        inbound_streams: ssn,
        initial_tsn: tsn,
        parameters,
    };
    let sack = Sack {
        cumulative_tsn_ack: tsn,
        a_rwnd: draw.word(),
        gaps: Gaps::new(&gaps),
        duplicates: Words::new(&skips),
    };
    let mut unknown = vec![0x55, 0, 0, 4 + length as u8];
    unknown.extend_from_slice(&payload);
    let is_reflected = draw.byte() & 1 != 0;
    let forward = ForwardTsn { new_cumulative_tsn: tsn, skips: Gaps::new(&gaps) };
    let eights: Vec<u8> = [[0, 7, 0, 1, 0, 0, 1, 2], [0, 9, 0, 0, 9, 9, 9, 9]].concat();
    let i_forward = IForwardTsn { new_cumulative_tsn: tsn, skips: Skips::new(&eights) };
    for chunk in [
        Chunk::Data(data),
        Chunk::Init(init),
        Chunk::InitAck(init),
        Chunk::Sack(sack),
        Chunk::Heartbeat(&payload),
        Chunk::HeartbeatAck(&payload),
        Chunk::Abort { is_reflected, causes },
        Chunk::Shutdown { cumulative_tsn_ack: tsn },
        Chunk::ShutdownAck,
        Chunk::Error(causes),
        Chunk::CookieEcho(&payload),
        Chunk::CookieAck,
        Chunk::Ecne(tsn),
        Chunk::Cwr(tsn),
        Chunk::ShutdownComplete { is_reflected },
        Chunk::Auth(Auth { key: stream, hmac_id: ssn, hmac: &payload }),
        Chunk::IData(i_data),
        Chunk::AsconfAck(tsn, parameters),
        Chunk::ReConfig(parameters),
        Chunk::Pad(length),
        Chunk::ForwardTsn(forward),
        Chunk::Asconf(tsn, parameters),
        Chunk::IForwardTsn(i_forward),
        Chunk::Unknown(0x55, &unknown),
    ] {
        visit(chunk);
    }
}

const HEADER: Header = Header { source_port: 2905, destination_port: 7, verification_tag: 9 };

fn packet(chunk: &Chunk<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    HEADER.write(&mut bytes);
    chunk.write(&mut bytes);
    seal(&mut bytes);
    bytes
}

/// Reads everything there is in a packet, down to the last cause.
fn read_all(bytes: &[u8]) -> Result<usize, wire::Malformed> {
    let packet = Packet::read(bytes)?;
    let mut count = 0;
    for raw in packet.chunks() {
        let chunk = Chunk::read(&raw?)?;
        count += 1;
        let (parameters, causes) = match chunk {
            Chunk::Init(init) | Chunk::InitAck(init) => (init.parameters, Causes::new(&[])),
            Chunk::Asconf(_, it) | Chunk::AsconfAck(_, it) | Chunk::ReConfig(it) => {
                (it, Causes::new(&[]))
            }
            Chunk::Abort { causes, .. } | Chunk::Error(causes) => (Parameters::new(&[]), causes),
            _ => continue,
        };
        for parameter in parameters.iter() {
            parameter?;
        }
        for cause in causes.iter() {
            cause?;
        }
    }
    Ok(count)
}

proptest! {
    #[test]
    fn every_parameter_is_read_as_it_was_written(bytes in prop::collection::vec(any::<u8>(), 64)) {
        parameters(&mut Draw { bytes, at: 0 }, &mut |parameter| {
            let mut out = Vec::new();
            parameter.write(&mut out);
            assert_eq!(out.len() % 4, 0, "{parameter:?}");
            let list = Parameters::read(0, &out).unwrap();
            assert_eq!(list.iter().collect::<Vec<_>>(), [Ok(parameter)]);
        });
    }

    #[test]
    fn every_cause_is_read_as_it_was_written(bytes in prop::collection::vec(any::<u8>(), 64)) {
        causes(&mut Draw { bytes, at: 0 }, &mut |cause| {
            let mut out = Vec::new();
            cause.write(&mut out);
            assert_eq!(out.len() % 4, 0, "{cause:?}");
            let list = Causes::read(0, &out).unwrap();
            assert_eq!(list.iter().collect::<Vec<_>>(), [Ok(cause)]);
        });
    }

    #[test]
    fn every_chunk_is_read_as_it_was_written(bytes in prop::collection::vec(any::<u8>(), 64)) {
        let mut kinds = std::collections::BTreeSet::new();
        chunks(&mut Draw { bytes, at: 0 }, &mut |chunk| {
            let bytes = packet(&chunk);
            assert_eq!(bytes.len() % 4, 0, "{chunk:?}");
            let packet = Packet::read(&bytes).unwrap();
            assert!(packet.checksum_holds() && packet.header == HEADER);
            let raw: Vec<_> = packet.chunks().map(Result::unwrap).collect();
            assert_eq!(raw.len(), 1);
            assert_eq!(Chunk::read(&raw[0]), Ok(chunk));
            kinds.insert(raw[0].kind);
        });
        prop_assert_eq!(kinds.len(), ChunkType::ALL.len() + 1, "every row of the table is tried");
    }

    /// A damaged packet fails its checksum; read all the same, it is an error inside the packet
    /// or something proper, never a panic.
    #[test]
    fn damage_never_panics(
        bytes in prop::collection::vec(any::<u8>(), 64),
        (which, with, cut) in (0usize..24, 1u8..=255, 0usize..99),
        at in any::<prop::sample::Index>(),
    ) {
        let mut number = 0;
        chunks(&mut Draw { bytes, at: 0 }, &mut |chunk| {
            number += 1;
            if number != which + 1 { return; }
            let mut bytes = packet(&chunk);
            let place = at.index(bytes.len());
            bytes[place] ^= with;
            assert!(!Packet::read(&bytes).is_ok_and(|packet| packet.checksum_holds()));
            bytes.truncate(bytes.len().saturating_sub(cut));
            if let Err(malformed) = read_all(&bytes) {
                assert!(malformed.at <= bytes.len(), "{malformed}");
            }
        });
    }

    #[test]
    fn noise_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_all(&bytes);
        let mut framed = vec![0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        framed.extend_from_slice(&bytes);
        let _ = read_all(&framed);
    }
}

#[test]
fn the_checksum_is_that_of_appendix_a() {
    // Check value of CRC-32C over "123456789", at the start of a packet with a zero checksum.
    let mut bytes = b"12345678\0\0\0\0abcd".to_vec();
    assert_eq!(crc32c(&bytes), crc32c::crc32c(&bytes));
    assert_eq!(crc32c::crc32c(b"123456789"), 0xE306_9283);
    seal(&mut bytes);
    assert_eq!(bytes[8..12], crc32c::crc32c(b"12345678\0\0\0\0abcd").to_le_bytes());
    assert!(Packet::read(&bytes).unwrap().checksum_holds());
}

#[test]
fn malformed_chunks_name_their_place_and_section() {
    let head = |rest: &[u8]| {
        let mut bytes = packet(&Chunk::CookieAck);
        bytes.extend_from_slice(rest);
        bytes
    };
    let first = HEADER_BYTES + 4;
    for (rest, at, what) in [
        (&[0x03, 0, 0][..], first, "type, flags and length are cut off"),
        (&[0x03, 0, 0, 3], first + 2, "the chunk length is less than four"),
        (&[0x03, 0, 0, 16, 0, 0, 0, 0], first + 2, "the chunk length points past the end"),
        (&[0x03, 0, 0, 8, 0, 0, 0, 0], first, "the chunk is cut off"),
        (&[0x04, 0, 0, 8, 0, 1, 0, 9], first + 6, "the length points past the end"),
        (&[0x04, 0, 0, 8, 0, 2, 0, 4], first + 4, "there is no Heartbeat Info"),
        (&[0x09, 0, 0, 8, 0, 1, 0, 4], first + 4, "the error cause is too short"),
        (&[0xC0, 0, 0, 10, 0, 0, 0, 1, 0, 1, 0, 0], first, "the last stream is cut off"),
    ] {
        let malformed = read_all(&head(rest)).expect_err(what);
        assert_eq!((malformed.at, malformed.what), (at, what));
        assert!(malformed.spec.starts_with("RFC "), "{malformed}");
    }
    let short = Packet::read(&[0; 15]).expect_err("no room");
    assert_eq!(short.what, "the packet is cut off");
}

#[test]
fn the_high_bits_of_an_unknown_type_say_what_to_do() {
    for (kind, is_skipped, is_reported) in
        [(0x3E, false, false), (0x7E, false, true), (0xBE, true, false), (0xFE, true, true)]
    {
        let chunk = Chunk::unknown(kind);
        assert_eq!((chunk.is_skipped, chunk.is_reported), (is_skipped, is_reported));
        let parameter = Parameter::unknown(u16::from(kind) << 8);
        assert_eq!(parameter, chunk);
    }
}

#[test]
fn the_last_chunk_may_lack_its_padding() {
    let mut bytes = packet(&Chunk::CookieEcho(b"12345"));
    bytes.truncate(bytes.len() - 3);
    assert_eq!(read_all(&bytes), Ok(1));
}
