//! Any chunks from one who knows the Verification Tag, into an association that stands: nothing
//! panics, what is kept stays within the receive buffer, and the deadline stays ahead. Two octets
//! of the input say how long the chunks of the next packet are and how much time passes before.

use machine::{Duration, Time};
use sctp::codec::{Header, Packet as Octets, seal};
use sctp::{AssociationId, Endpoint, In, Out, Outgoing, Packet, Parameters, Settings};

const RECEIVE_BUFFER: u32 = 10_000;

fn endpoint(side: u8) -> Endpoint {
    let mut parameters = Parameters::telecom(2);
    parameters.receive_buffer = RECEIVE_BUFFER;
    parameters.partial_delivery_point = Some(RECEIVE_BUFFER / 8);
    let port = 1_000 + u16::from(side);
    let addresses = vec![[10, 0, 0, side].into()];
    let settings =
        Settings { port, addresses, listens: side == 1, associations_max: 4, parameters };
    Endpoint::new(settings, [side; 32])
}

/// Carries out what both say until both are silent; the tag of packets to side 1.
fn meet(ends: &mut [Endpoint; 2], mut out: Vec<Out>, now: Time) -> u32 {
    let (mut from, mut tag) = (0u8, 0);
    for _ in 0..8 {
        let mut answer = Vec::new();
        for effect in out {
            let Out::Transmit(sent) = effect else { continue };
            let header = Octets::read(&sent.bytes).expect("ours").header;
            tag = if from == 0 { header.verification_tag } else { tag };
            let source = ([10, 0, 0, from], 0).into();
            let (destination, bytes) = (sent.destination.ip(), sent.bytes.into());
            let packet = Packet { source, destination, bytes };
            ends[usize::from(1 - from)].step(now, In::Packet(packet), &mut answer);
        }
        out = answer;
        from = 1 - from;
    }
    tag
}

pub fn run(input: &[u8]) {
    let mut now = Time::from_millis(1);
    let mut ends = [endpoint(0), endpoint(1)];
    let mut out = Vec::new();
    let peer = [([10, 0, 0, 1], 0).into()];
    ends[0].associate(now, &peer, 1_001, &mut out).expect("there is room");
    let tag = meet(&mut ends, out, now);
    let server = &mut ends[1];
    let id: AssociationId = server.associations().next().expect("it has come up");
    let mut rest = input;
    while let Some(([length, wait], tail)) = rest.split_first_chunk::<2>() {
        let (chunks, tail) = tail.split_at(usize::from(*length).min(tail.len()));
        rest = tail;
        now += Duration::from_millis(u64::from(*wait));
        let mut out = Vec::new();
        server.tick(now, &mut out);
        assert!(server.deadline().is_none_or(|at| at > now), "the deadline advances");
        let mut bytes = Vec::new();
        Header { source_port: 1_000, destination_port: 1_001, verification_tag: tag }
            .write(&mut bytes);
        bytes.extend_from_slice(chunks);
        seal(&mut bytes);
        let source = ([10, 0, 0, 0], 0).into();
        let packet = Packet { source, destination: [10, 0, 0, 1].into(), bytes: bytes.into() };
        server.step(now, In::Packet(packet), &mut out);
        server.step(now, In::Send(id, Outgoing::new(0, 0, vec![1; 200].into())), &mut out);
        let Some(status) = server.status(id) else { return };
        assert!(status.held <= 2 * RECEIVE_BUFFER as usize + (1 << 16) + 1_500);
        let flight: usize = status.paths.iter().map(|path| path.flight).sum();
        // A chunk has a header and at least one octet of user data.
        assert!(flight <= 24 * status.unacknowledged);
    }
}
