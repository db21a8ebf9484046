//! Frames of all kinds, broken at random: nothing panics, and every cell comes back.

use super::world::{HOST, World, echo4, ethernet, packet6, udp4, via};
use nodes::Program;
use nodes::header::seal_ip4;

const ROUNDS: u32 = 150_000;

/// The first seed of those tests that run over seeds: `TANDEM_SEED`, or 1.
pub fn first_seed() -> u64 {
    std::env::var("TANDEM_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1)
}

pub fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d)
}

pub fn kinds() -> Vec<Vec<u8>> {
    let mut options = udp4("10.0.1.9", "192.0.2.7", 64, 64);
    options[0] = 0x4b;
    options[20..30].copy_from_slice(&[7, 7, 4, 0, 0, 0, 0, 148, 4, 0]);
    let mut fragment = udp4("10.0.1.9", "10.0.1.1", 64, 68);
    fragment[6] = 0x20;
    let mut solicitation = vec![135, 0, 0, 0, 0, 0, 0, 0];
    solicitation.extend("2001:db8:1::1".parse::<std::net::Ipv6Addr>().unwrap().octets());
    solicitation.extend([1, 1]);
    solicitation.extend(HOST);
    let hop_by_hop = [59, 0, 5, 2, 0, 0, 1, 0];
    let cut = [17, 0, 0, 1, 0, 0, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8];
    let (near, own, far) = ("2001:db8:1::9", "2001:db8:1::1", "2001:db8:2::2");
    let mut arp = vec![0, 1, 8, 0, 6, 4, 0, 1];
    arp.extend(HOST);
    arp.extend([10, 0, 1, 9, 0, 0, 0, 0, 0, 0, 10, 0, 1, 1]);
    let mut tagged = vec![0, 7, 0x81, 0, 0, 8, 8, 0];
    tagged.extend(udp4("10.0.1.9", "192.0.2.7", 64, 60));
    vec![
        ethernet(0, 0x0800, &udp4("10.0.1.9", "192.0.2.7", 1, 60)),
        ethernet(0, 0x0800, &udp4("10.0.1.9", "10.0.2.2", 64, 1_500)),
        ethernet(0, 0x0800, &echo4("10.0.1.2", "10.0.1.1", 84)),
        ethernet(0, 0x0800, &options),
        ethernet(0, 0x0800, &fragment),
        ethernet(0, 0x0806, &arp),
        [&[1, 0x80, 0xc2, 0, 0, 0x14][..], &HOST, &[0, 40, 0xfe, 0xfe, 3], &[0x83; 60]].concat(),
        ethernet(0, 0x88a8, &tagged),
        ethernet(0, 0x86dd, &packet6(near, own, 255, 58, &solicitation)),
        ethernet(0, 0x86dd, &packet6(near, far, 1, 0, &hop_by_hop)),
        ethernet(0, 0x86dd, &packet6(near, own, 9, 0, &hop_by_hop)),
        ethernet(0, 0x86dd, &packet6(near, own, 9, 44, &cut)),
        ethernet(0, 0x86dd, &packet6(near, own, 9, 58, &[128, 0, 0, 0, 1, 2, 3, 4])),
    ]
}

#[test]
fn broken_frames_of_all_kinds_end_somewhere() {
    let mut world = World::new();
    world.apply(Program::Hop { id: 1, hop: via(2, "10.0.2.2") });
    world.apply(Program::Routes4 { vrf: 0, routes: vec![("192.0.2.0".parse().unwrap(), 24, 1)] });
    let kinds = kinds();
    let mut state = 0x1234_5678_9abc_def1;
    let mut left = 0;
    for round in 0..ROUNDS {
        let mut frame = kinds[random(&mut state) as usize % kinds.len()].clone();
        for _ in 0..random(&mut state) % 4 {
            let at = random(&mut state) as usize % frame.len().min(96);
            frame[at] = random(&mut state) as u8;
        }
        match random(&mut state) % 8 {
            0 => frame.truncate(random(&mut state) as usize % (frame.len() + 1)),
            1 => frame.resize(frame.len() + random(&mut state) as usize % 64, 0xa5),
            // Most checksums are wrong by now: many are made right again.
            2..=5 if frame[12..14] == [8, 0] => {
                let octets = (usize::from(frame[14] & 15) * 4).clamp(20, frame.len() - 14);
                seal_ip4(&mut frame[14..14 + octets]);
            }
            _ => {}
        }
        if frame.is_empty() {
            continue;
        }
        if round % 64 == 0 {
            world.pass(std::time::Duration::from_millis(50));
        }
        let out = world.send(0, &frame);
        left += out.sent.len() + out.punted.len();
    }
    assert!(left > 10_000, "not all of them are broken: {left}");
    assert!(world.dropped().len() > 30, "{:?}", world.dropped());
}
