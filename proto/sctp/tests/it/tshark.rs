//! tshark decodes what the codec writes: every chunk by its name, no complaint, CRC32c good.
//! tshark must be there (Debian: tshark).
#![allow(clippy::print_stdout)]

use crate::world::{self, Link, World};
use machine::Duration;
use sctp::codec::{
    Auth, Cause, Causes, Chunk, ChunkType, Data, DataFlags, ForwardTsn, Gaps, Header, IData,
    IForwardTsn, Init, List, Parameter, Parameters, Reset, Response, Sack, Skips, Words, seal,
};
use sctp::{AddressRequest, In, Indication, Parameters as Settings, Request};
use std::process::Command;

const HEADER: Header =
    Header { source_port: 1001, destination_port: 1002, verification_tag: 0xABCD };

/// A classic pcap file of raw IPv4 packets that carry `packets`.
fn pcap(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 101] {
        file.extend_from_slice(&word.to_be_bytes());
    }
    for (number, packet) in packets.iter().enumerate() {
        let length = packet.len() + 20;
        for word in [number as u32, 0, length as u32, length as u32] {
            file.extend_from_slice(&word.to_be_bytes());
        }
        let mut ip = [0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 132, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        ip[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        let sum: u32 = ip.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
        let sum = !((sum & 0xFFFF) + (sum >> 16)) as u16;
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        file.extend_from_slice(&ip);
        file.extend_from_slice(packet);
    }
    file
}

fn parameters() -> Vec<u8> {
    let mut out = Vec::new();
    for parameter in [
        Parameter::Address([10, 0, 0, 1].into()),
        Parameter::Address([0xfd00, 0, 0, 0, 0, 0, 0, 1].into()),
        Parameter::CookiePreservative(1_000),
        Parameter::SupportedAddressTypes(List::new(&[0, 5, 0, 6])),
        Parameter::ForwardTsnSupported,
        Parameter::SupportedExtensions(&[0xC0, 0xC1, 0x80, 0x82, 0x0F, 0x40, 0xC2]),
        Parameter::Random(&[7; 32]),
        Parameter::ChunkList(&[0xC1, 0x80]),
        Parameter::HmacAlgorithms(List::new(&[0, 3, 0, 1])),
        Parameter::AdaptationLayer(3),
    ] {
        parameter.write(&mut out);
    }
    out
}

fn reconfig() -> Vec<u8> {
    let mut out = Vec::new();
    let streams = List::new(&[0, 1, 0, 2]);
    let reset = Reset { request: 1, response: 2, last_tsn: 3, streams };
    Parameter::OutgoingSsnReset(reset).write(&mut out);
    Parameter::Response(Response { response: 4, result: 1, next_tsns: None }).write(&mut out);
    out
}

fn all_chunks(visit: &mut dyn FnMut(Chunk<'_>)) {
    let (parameters, reconfig) = (parameters(), reconfig());
    let mut init_ack = parameters.clone();
    Parameter::StateCookie(&[9; 40]).write(&mut init_ack);
    let mut causes = Vec::new();
    Cause::InvalidStream(3).write(&mut causes);
    Cause::StaleCookie(1_000).write(&mut causes);
    Cause::ProtocolViolation(b"why").write(&mut causes);
    let mut asconf = Vec::new();
    Parameter::Address([10, 0, 0, 1].into()).write(&mut asconf);
    Parameter::AddIp(1, [10, 0, 1, 1].into()).write(&mut asconf);
    Parameter::SetPrimary(2, [10, 0, 1, 1].into()).write(&mut asconf);
    let mut success = Vec::new();
    Parameter::Success(1).write(&mut success);
    let init = Init {
        initiate_tag: 1,
        a_rwnd: 65_536,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: 77,
        parameters: Parameters::new(&parameters),
    };
    let flags = DataFlags(DataFlags::BEGIN | DataFlags::END | DataFlags::IMMEDIATE);
    let data = Data { flags, tsn: 77, stream: 1, ssn: 2, ppid: 0, payload: b"hello" };
    let (mid, ppid_or_fsn) = (2, 0);
    let i_data = IData { flags, tsn: 78, stream: 1, mid, ppid_or_fsn, payload: b"hello" };
    let gaps = Gaps::new(&[0, 2, 0, 3, 0, 5, 0, 9]);
    let duplicates = Words::new(&[0, 0, 0, 70]);
    let skips = Skips::new(&[0, 1, 0, 0, 0, 0, 0, 9]);
    for chunk in [
        Chunk::Data(data),
        Chunk::Init(init),
        Chunk::InitAck(Init { parameters: Parameters::new(&init_ack), ..init }),
        Chunk::Sack(Sack { cumulative_tsn_ack: 76, a_rwnd: 9_000, gaps, duplicates }),
        Chunk::Heartbeat(b"information"),
        Chunk::HeartbeatAck(b"information"),
        Chunk::Abort { is_reflected: true, causes: Causes::new(&causes) },
        Chunk::Shutdown { cumulative_tsn_ack: 76 },
        Chunk::ShutdownAck,
        Chunk::Error(Causes::new(&causes)),
        Chunk::CookieEcho(&[9; 40]),
        Chunk::CookieAck,
        Chunk::Ecne(76),
        Chunk::Cwr(76),
        Chunk::ShutdownComplete { is_reflected: true },
        Chunk::Auth(Auth { key: 0, hmac_id: 3, hmac: &[5; 32] }),
        Chunk::IData(i_data),
        Chunk::AsconfAck(1, Parameters::new(&success)),
        Chunk::ReConfig(Parameters::new(&reconfig)),
        Chunk::Pad(20),
        Chunk::ForwardTsn(ForwardTsn { new_cumulative_tsn: 80, skips: gaps }),
        Chunk::Asconf(1, Parameters::new(&asconf)),
        Chunk::IForwardTsn(IForwardTsn { new_cumulative_tsn: 80, skips }),
    ] {
        visit(chunk);
    }
}

/// What tshark says of each packet: type of the chunks, state of the checksum, remarks.
fn dissect(packets: &[Vec<u8>]) -> Vec<[String; 3]> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap(packets)).unwrap();
    let output = Command::new("tshark")
        .args(["-o", "sctp.checksum:CRC 32c", "-T", "fields", "-E", "separator=|"])
        .args(["-e", "sctp.chunk_type", "-e", "sctp.checksum.status"])
        .args(["-e", "_ws.expert.message", "-e", "_ws.malformed", "-r"])
        .arg(file.path())
        .output()
        .expect("tshark is installed (make setup)");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), packets.len(), "{text}");
    let lines = text.lines().map(|line| {
        let fields: Vec<&str> = line.split('|').collect();
        [fields[0].into(), fields[1].into(), [fields[2], fields[3]].concat()]
    });
    lines.collect()
}

#[test]
fn tshark_names_every_chunk_and_finds_no_fault() {
    let mut packets = Vec::new();
    all_chunks(&mut |chunk| {
        let mut bytes = Vec::new();
        HEADER.write(&mut bytes);
        chunk.write(&mut bytes);
        seal(&mut bytes);
        packets.push(bytes);
    });
    assert_eq!(packets.len(), ChunkType::ALL.len());
    let lines = dissect(&packets);
    for ([types, checksum, complaint], bytes) in lines.iter().zip(&packets) {
        assert_eq!(*types, bytes[12].to_string(), "the type");
        assert_eq!(checksum, "1", "the checksum is good: {types}");
        let is_known = KNOWN.iter().any(|known| complaint.contains(known));
        assert!(complaint.is_empty() || is_known, "{types}: {complaint}");
    }
}

/// What tshark remarks on proper chunks: an ABORT is an ABORT.
const KNOWN: &[&str] = &["Association ABORT", "ABORT"];

#[test]
fn tshark_follows_whole_associations_and_finds_no_fault() {
    let mut parameters = Settings::rfc9260();
    parameters.extensions.address_reconfiguration = true;
    parameters.extensions.adaptation = Some(3);
    parameters.extensions.interleaving = true;
    parameters.path.pmtu = 1280;
    parameters.path.pmtu_max = Some(1500);
    let mut world = World::new(1, parameters, &[Link::perfect(10); 2]);
    world.keeps_packets = true;
    let ids = world.up();
    for stream in 0..3 {
        world.send(0, ids[0], stream, vec![7; 4_000]);
        world.send(1, ids[1], stream, vec![7; 100]);
    }
    let primary = AddressRequest::SetPrimary(world::address(1, 0));
    for request in [primary, AddressRequest::Delete(world::address(0, 0))] {
        world.run(Duration::from_secs(3));
        world.step(0, In::ChangeAddress(ids[0], request));
    }
    world.step(0, In::Reconfigure(ids[0], Request::ResetOutgoing(vec![1, 2])));
    world.run(Duration::from_secs(3));
    world.step(0, In::Shutdown(ids[0]));
    world.run(Duration::from_secs(3));
    assert_eq!(world.told(1).last(), Some(&Indication::ShutdownComplete));
    let packets: Vec<Vec<u8>> = world.sent.into_iter().map(|it| it.3).collect();
    let lines = dissect(&packets);
    for (number, [types, checksum, complaint]) in lines.iter().enumerate() {
        assert_eq!(checksum, "1", "packet {number}: {types}");
        assert!(complaint.is_empty(), "packet {number}: {types}: {complaint}");
    }
    for kind in [0x0F, 0xC1, 0x80, 0x82, 0x84, 0x40, 0x03, 0x04, 0x05, 0x07, 0x08, 0x0E] {
        let is_seen = |line: &[String; 3]| line[0].split(',').any(|it| it == kind.to_string());
        assert!(lines.iter().any(is_seen), "type {kind:#x}");
    }
}
