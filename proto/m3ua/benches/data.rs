//! What an MSU costs: DATA written and read, and the way through an SGP and an ASP of a loadshare
//! of four. `valgrind --tool=callgrind --toggle-collect='*::write_data'` counts instructions of
//! one of the functions that are not inlined.
#![allow(missing_docs, reason = "the macros of criterion make public items")]

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use m3ua::codec::{Data, Message, PointCode, ProtocolData, RoutingContext, TrafficMode, frame};
use m3ua::{In, Indication, Key, Out, Parameters, PeerId, PeerSettings, Process, Role};
use m3ua::{ServerSettings, Settings, Side, Transfer};
use machine::{Machine, Time};
use std::hint::black_box;

const ASPS: usize = 4;
const MSU: [u8; 100] = [7; 100];

fn pc(number: u32) -> PointCode {
    PointCode::new(number).expect("24 bits")
}

fn data(sls: u8) -> Data<'static> {
    let (opc, dpc) = (pc(1), pc(2));
    Data {
        network: None,
        routing_context: Some(RoutingContext(1)),
        protocol_data: ProtocolData { opc, dpc, si: 3, ni: 2, mp: 0, sls, payload: &MSU },
        correlation: None,
    }
}

#[inline(never)]
fn write_data(data: &Data<'_>, out: &mut Vec<u8>) {
    out.clear();
    data.write(out);
}

#[inline(never)]
fn read_data(bytes: &[u8]) -> u32 {
    let message = Message::read(bytes).expect("it is well-formed");
    let data = Data::of(&message).expect("it is well-formed");
    let label = data.protocol_data;
    label.dpc.number() + u32::from(label.sls) + label.payload.len() as u32
}

/// An SGP and the first of its ASPs, with traffic.
struct Pair {
    sgp: Process,
    asp: Process,
    sgp_peer: PeerId,
    out: Vec<Out>,
}

fn process(role: Role, side: Side, peers: usize) -> (Process, Vec<PeerId>) {
    let parameters = Parameters::rfc4666();
    let settings = Settings { peers_max: ASPS, servers_max: 1, parameters };
    let mut process = Process::new(settings).expect("they are valid");
    let mut server = ServerSettings::new(side, Some(RoutingContext(1)), Key::of(pc(2)));
    server.mode = Some(TrafficMode::Loadshare);
    let server = process.add_server(server).expect("room");
    let peer = |_| {
        let peer = process.add_peer(PeerSettings::new(role)).expect("room");
        process.assign(Time::ZERO, server, peer, &mut Vec::new()).expect("they go together");
        peer
    };
    let peers = (0..peers).map(peer).collect();
    (process, peers)
}

impl Pair {
    fn new() -> Self {
        let (mut sgp, peers) = process(Role::Sgp, Side::There, ASPS);
        let mut asp = None;
        for peer in peers {
            let (mut other, its) = process(Role::Asp, Side::Here, 1);
            let mut out = Vec::new();
            sgp.step(Time::ZERO, In::CommunicationUp(peer, Some(17)), &mut out);
            other.step(Time::ZERO, In::CommunicationUp(its[0], Some(17)), &mut out);
            let mut is_for_sgp = true;
            while out.iter().any(|effect| matches!(effect, Out::Send(..))) {
                let sent = std::mem::take(&mut out);
                for effect in sent {
                    // Those that tell the other ASPs of the state are not needed here.
                    let Out::Send(to, stream, bytes) = effect else { continue };
                    if is_for_sgp {
                        sgp.step(Time::ZERO, In::Message(peer, stream, bytes), &mut out);
                    } else if to == peer {
                        other.step(Time::ZERO, In::Message(its[0], stream, bytes), &mut out);
                    }
                }
                is_for_sgp = !is_for_sgp;
            }
            asp.get_or_insert((other, its[0]));
        }
        let (asp, sgp_peer) = asp.expect("there are ASPs");
        Self { sgp, asp, sgp_peer, out: Vec::new() }
    }

    #[inline(never)]
    fn transfer(&mut self, payload: &Bytes, sls: u8) -> Option<(u16, Bytes)> {
        let (payload, opc, dpc) = (payload.clone(), pc(1), pc(2));
        let msu = Transfer { network: None, opc, dpc, si: 3, ni: 2, mp: 0, sls, payload };
        self.sgp.step(Time::ZERO, In::Transfer(msu), &mut self.out);
        match self.out.pop() {
            Some(Out::Send(_, stream, bytes)) => Some((stream, bytes)),
            _ => None,
        }
    }

    #[inline(never)]
    fn receive(&mut self, stream: u16, bytes: &Bytes) -> bool {
        let input = In::Message(self.sgp_peer, stream, bytes.clone());
        self.asp.step(Time::ZERO, input, &mut self.out);
        matches!(self.out.pop(), Some(Out::Indicate(Indication::Transfer(..))))
    }
}

fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("data");
    group.throughput(Throughput::Elements(1));
    let mut out = Vec::with_capacity(256);
    let data = data(5);
    write_data(&data, &mut out);
    group.bench_function("write", |b| b.iter(|| write_data(black_box(&data), &mut out)));
    group.bench_function("read", |b| b.iter(|| read_data(black_box(&out))));
    group.bench_function("frame", |b| b.iter(|| frame(black_box(&out))));
    let mut pair = Pair::new();
    let payload = Bytes::from_static(&MSU);
    let mut sls = 0u8;
    group.bench_function("transfer_at_sgp", |b| {
        b.iter(|| {
            sls = sls.wrapping_add(1);
            pair.transfer(black_box(&payload), sls).expect("an ASP is active")
        });
    });
    let (stream, bytes) = pair.transfer(&payload, 0).expect("an ASP is active");
    group.bench_function("receive_at_asp", |b| {
        b.iter(|| assert!(pair.receive(stream, black_box(&bytes))));
    });
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
