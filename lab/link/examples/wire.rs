//! Packets a second through two packet sockets and a pipe between them, and how late they leave.
//! Needs root. Frames come from a packet socket as well, on another core.
#![allow(clippy::print_stdout, reason = "it prints a table")]

use attack::{Namespace, Veth};
use driver::{FRAMES_MAX, FrameSocket};
use link::{Emulator, LinkPlan, Plan, Way};
use std::time::{Duration, Instant};

const TIME: Duration = Duration::from_secs(3);
/// What was on its way when the last frame was sent arrives.
const REST: Duration = Duration::from_millis(200);
const RATES: [u32; 9] =
    [8_000, 20_000, 50_000, 100_000, 150_000, 200_000, 300_000, 400_000, 600_000];

/// Sends frames of that length at that rate; how many.
fn send(socket: &FrameSocket, octets: usize, per_s: u32) -> anyhow::Result<u64> {
    // To nobody, of the EtherType for experiments (IEEE 802 §9.2.3).
    let mut frame = vec![2, 0, 0, 0, 9, 9, 2, 0, 0, 0, 9, 8, 0x88, 0xb5];
    frame.resize(octets, 7);
    let batch = frame.repeat(FRAMES_MAX);
    let (begun, mut sent) = (Instant::now(), 0u64);
    while begun.elapsed() < TIME {
        let due = (begun.elapsed().as_secs_f64() * f64::from(per_s)) as u64;
        let count = due.saturating_sub(sent).min(FRAMES_MAX as u64) as usize;
        if count == 0 {
            std::thread::yield_now();
            continue;
        }
        sent += socket.send(&batch[..count * octets], octets)? as u64;
    }
    Ok(sent)
}

fn main() -> anyhow::Result<()> {
    let [left, right, middle] = ["left", "right", "middle"].map(Namespace::new);
    let (left, right, middle) = (left?, right?, middle?);
    for (end, namespace) in [(1, &left), (2, &right)] {
        let (near, far) = (format!("near{end}"), format!("far{end}"));
        let mac = |side: usize| format!("02:00:00:0{side}:00:0{end}");
        let one = Veth { namespace, interface: &near, addresses: &[], mac: &mac(0) };
        let other = Veth { namespace: &middle, interface: &far, addresses: &[], mac: &mac(1) };
        Veth::pair(one, other)?;
    }
    let cores = driver::cores();
    let (ours, theirs) = (cores[0], cores[cores.len() - 1]);
    attack::enter(left.name())?;
    let socket = FrameSocket::open("near1")?;
    println!("octets  offered/s  carried/s   missed  late us p50     p99   p99.9     max");
    for octets in [100, 1_500] {
        for per_s in RATES {
            // The emulator's thread inherits the core.
            driver::pin(ours)?;
            let between = [format!("{}/far1", middle.name()), format!("{}/far2", middle.name())];
            let [one, two] = between.map(|place| place.parse().map_err(anyhow::Error::msg));
            let way: Way = toml::from_str("delay = \"1ms\"")?;
            let link = LinkPlan::new("bench".into(), [one?, two?], &way, &Way::default(), &[]);
            let plan = Plan { seed: 1, links: vec![link.map_err(anyhow::Error::msg)?] };
            let emulator = Emulator::start(&plan)?;
            driver::pin(theirs)?;
            let sent = send(&socket, octets, per_s)?;
            std::thread::sleep(REST);
            let summary = emulator.end()?;
            let way = &summary.links[0].forward;
            let late = way.late_us.unwrap_or_default();
            println!(
                "{octets:6} {:10.0} {:10.0} {:8} {:12.1} {:7.1} {:7.1} {:7.1}",
                sent as f64 / TIME.as_secs_f64(),
                way.counts.delivered as f64 / TIME.as_secs_f64(),
                way.missed,
                late.p50,
                late.p99,
                late.p999,
                late.max,
            );
        }
    }
    Ok(())
}
