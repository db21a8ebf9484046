//! What a packet costs the generator and the analyser: `cargo run --release -p tandem-packet-load
//! --example clocks`.

use graph::{Pool, STRIDE, Slot};
use machine::Time;
use packet_load::{
    Layer, Order, Part, Plan, Sizes, Stream, Values, Vary, hosts, table_v4, table_v6,
};
use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Instant;

const VECTOR: usize = 256;
const PACKETS: usize = 20_000_000;
const ROUTES: usize = 1_000_000;

fn ethernet() -> Layer {
    Layer::Ethernet { destination: [2, 0, 0, 0, 0, 1], source: [2, 0, 0, 0, 0, 2] }
}

fn v4(flows: u32, order: Order) -> Stream {
    let (source, destination) = (Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::UNSPECIFIED);
    let ip = Layer::Ipv4 { source, destination, class: 0, ttl: 64 };
    let udp = Layer::Udp { source: 1_024, destination: 7 };
    let mut stream = Stream::new("IPv4", vec![ethernet(), ip, udp], 64);
    let to = Arc::from(hosts(&table_v4(ROUTES, 1), flows as usize, 32, 1));
    stream.vary = vec![
        Vary { layer: 1, part: Part::Destination, values: Values::Table(to) },
        Vary { layer: 2, part: Part::Source, values: Values::count(1_024_u32, 60_000) },
    ];
    (stream.flows, stream.order) = (flows, order);
    stream
}

fn v6(flows: u32) -> Stream {
    let source = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1);
    let ip = Layer::Ipv6 { source, destination: source, class: 0, hop_limit: 64 };
    let udp = Layer::Udp { source: 1_024, destination: 7 };
    let mut stream = Stream::new("IPv6", vec![ethernet(), ip, udp], 78);
    let to = Arc::from(hosts(&table_v6(ROUTES / 4, 1), flows as usize, 128, 1));
    stream.vary = vec![Vary { layer: 1, part: Part::Destination, values: Values::Table(to) }];
    (stream.flows, stream.order) = (flows, Order::Random);
    stream
}

fn measure(name: &str, stream: Stream) -> std::io::Result<()> {
    let Ok(mut generator) = Plan::of(stream, 1).generator() else { return Ok(()) };
    let mut analyser = generator.analyser();
    let mut pool = Pool::new(VECTOR, STRIDE);
    let mut slots = [Slot::default(); VECTOR];
    pool.take_all(&mut slots);
    let (mut writing, mut reading) = (0.0, 0.0);
    for turn in 0..PACKETS / VECTOR {
        let now = Time::from_nanos(turn as u64 * 10_000);
        let begun = Instant::now();
        generator.fill(now, &mut pool, &slots);
        let written = Instant::now();
        slots.iter().for_each(|slot| analyser.receive(now, pool.bytes(*slot)));
        writing += (written - begun).as_secs_f64();
        reading += written.elapsed().as_secs_f64();
    }
    let report = analyser.settle(&generator);
    let mpps = |seconds: f64| report.all.sent as f64 / seconds / 1e6;
    let (wrote, read, lost) = (mpps(writing), mpps(reading), report.all.lost);
    writeln!(
        std::io::stdout(),
        "{name:32} generator {wrote:6.1} Mpps, analyser {read:6.1} Mpps, {lost} lost"
    )
}

fn main() -> std::io::Result<()> {
    for flows in [1, 1_000, 1_000_000, 2_000_000] {
        measure(&format!("IPv4 64, {flows} in turn"), v4(flows, Order::RoundRobin))?;
        measure(&format!("IPv4 64, {flows} by chance"), v4(flows, Order::Random))?;
    }
    measure("IPv4 64, 1000000 by Zipf", v4(1_000_000, Order::Zipf { exponent: 1.0 }))?;
    measure("IPv6 78, 1000000 by chance", v6(1_000_000))?;
    let mut imix = v4(1_000_000, Order::Random);
    imix.sizes = Sizes::imix();
    measure("IPv4 IMIX, 1000000 by chance", imix)
}
