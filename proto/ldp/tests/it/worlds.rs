//! Worlds by seed: links and speakers come and go, hellos are lost; at rest every way out of every
//! prefix has the label that its next hop gave.

use crate::net::{Net, SECOND, settings};
use ldp::{Control, Settings};
use machine::Duration;

fn ordered(speaker: usize) -> Settings {
    Settings { control: Control::Ordered, ..settings(speaker) }
}

fn restarts(speaker: usize) -> Settings {
    Settings { restart: Some((SECOND * 10, SECOND * 10)), ..settings(speaker) }
}

#[test]
fn whatever_happened_labels_lead_to_every_speaker_at_rest() {
    for seed in 0..18 {
        let count = 3 + (seed % 6) as usize;
        let mut net = Net::new(seed, count);
        net.settings = [settings, ordered, restarts][(seed % 3) as usize];
        for speaker in 1..count {
            let other = net.below(speaker);
            net.link(speaker, other);
        }
        for _ in 0..count / 2 {
            let (one, two) = (net.below(count), net.below(count));
            if one != two {
                net.link(one, two);
            }
        }
        (0..count).for_each(|it| net.start(it));
        net.route_all();
        net.run(SECOND * 20);
        net.check(&format!("seed {seed}, at first"));
        for step in 0..4 {
            net.loss = 100;
            for _ in 0..3 {
                let (link, speaker) = (net.below(net.links.len()), net.below(count));
                match net.below(5) {
                    0 => net.stop(speaker),
                    1 => net.start(speaker),
                    2 => net.break_connections(speaker),
                    _ => net.links[link].1 = !net.links[link].1,
                }
                net.route_all();
                let pause = net.below(6_000) as u64;
                net.run(Duration::from_millis(pause));
            }
            net.loss = 0;
            net.run(SECOND * 90);
            net.check(&format!("seed {seed}, step {step}"));
        }
    }
}
