//! What a scheduler does with packets of known lengths.

use super::*;
use graph::STRIDE;
use std::time::Duration;

const OCTETS: usize = 1_000;

fn class(classes: &[u8], discipline: Discipline) -> Class {
    Class { classes: classes.to_vec(), discipline, rate: 0, packets_max: 1_000, wred: None }
}

fn service(interface: u32, weight: u16, rate: u64, classes: Vec<Class>) -> Service {
    Service { interfaces: vec![interface], rate, burst: 16_384, weight, classes }
}

fn config(rate: u64, services: Vec<Service>) -> Config {
    let other = service(9_999, 1, 0, vec![class(&[], Discipline::Weight(1))]);
    Config { rate, burst: 0, overhead: 0, packets_max: 100_000, services, other }
}

struct Port {
    scheduler: Scheduler,
    pool: Pool,
    now: Time,
    dropped: Vec<Slot>,
}

impl Port {
    fn new(config: &Config) -> Self {
        let now = Time::from_millis(5_000);
        let scheduler = Scheduler::new(config, 1, 7, now).unwrap();
        Self { scheduler, pool: Pool::new(8_192, STRIDE), now, dropped: Vec::new() }
    }

    fn put(&mut self, interface: u32, class: u8, count: usize) {
        for _ in 0..count {
            let slot = self.pool.put(&[0; OCTETS]).unwrap();
            let meta = self.pool.meta_mut(slot);
            (meta.transmit, meta.class) = (interface, class);
            self.scheduler.enqueue(self.now, &[slot], &mut self.pool, &mut self.dropped);
        }
        self.pool.free_all(&self.dropped);
        self.dropped.clear();
    }

    /// Packets by interface and class that are sent until `time` has passed.
    fn send(&mut self, time: Duration, budget: usize) -> Vec<(u32, u8)> {
        let end = self.now + time;
        let (mut sent, mut out) = (Vec::new(), Vec::new());
        while self.now < end {
            let left = budget - sent.len();
            self.scheduler.poll(self.now, left.min(16), &mut self.pool, &mut out);
            for slot in out.drain(..) {
                let meta = self.pool.meta(slot);
                sent.push((meta.transmit, meta.class));
                self.pool.free(slot);
            }
            if sent.len() >= budget {
                break;
            }
            self.now += Duration::from_micros(20);
        }
        sent
    }
}

fn count(sent: &[(u32, u8)], of: (u32, u8)) -> usize {
    sent.iter().filter(|one| **one == of).count()
}

#[test]
fn services_share_a_port_by_weight_and_classes_a_service() {
    let classes = || vec![class(&[1], Discipline::Weight(3)), class(&[0], Discipline::Weight(1))];
    let services = vec![service(1, 1, 0, classes()), service(2, 2, 0, classes())];
    let mut port = Port::new(&config(0, services));
    for interface in [1, 2] {
        port.put(interface, 0, 900);
        port.put(interface, 1, 900);
    }
    let sent = port.send(Duration::from_secs(1), 1_200);
    let counts = [(1, 0), (1, 1), (2, 0), (2, 1)].map(|of| count(&sent, of));
    for (counted, wanted) in counts.iter().zip([100, 300, 200, 600]) {
        assert!(counted.abs_diff(wanted) <= 8, "{counts:?}");
    }
}

#[test]
fn a_strict_class_goes_first_and_a_service_keeps_to_its_rate() {
    let classes = vec![class(&[7], Discipline::Strict), class(&[0], Discipline::Weight(1))];
    // 8 Mbit/s: a packet a millisecond.
    let mut port = Port::new(&config(0, vec![service(1, 1, 8_000_000, classes)]));
    port.put(1, 0, 400);
    port.put(1, 7, 100);
    let sent = port.send(Duration::from_millis(300), 10_000);
    assert_eq!(sent[..100], [(1, 7); 100]);
    assert!((314..=318).contains(&sent.len()), "the burst and one a millisecond: {}", sent.len());
    assert_eq!(port.scheduler.held(), 500 - sent.len());
    let deadline = port.scheduler.deadline().unwrap();
    assert!(deadline <= port.now + Duration::from_millis(2));
}

#[test]
fn a_shaped_class_leaves_the_rest_of_the_service_to_the_others() {
    let mut shaped = class(&[1], Discipline::Strict);
    shaped.rate = 8_000_000;
    let classes = vec![shaped, class(&[0], Discipline::Weight(1))];
    let mut port = Port::new(&config(80_000_000, vec![service(1, 1, 0, classes)]));
    port.put(1, 0, 900);
    port.put(1, 1, 500);
    let sent = port.send(Duration::from_millis(60), 10_000);
    let (strict, weighted) = (count(&sent, (1, 1)), count(&sent, (1, 0)));
    assert!((74..=79).contains(&strict), "{strict}");
    assert!((612..=624).contains(&(strict + weighted)), "{}", strict + weighted);
}

#[test]
fn early_drops_grow_with_the_queue_and_hit_red_packets_first() {
    let drops = |min_octets, max_octets| Drops { min_octets, max_octets, permille: 100 };
    let mut wred = class(&[0], Discipline::Weight(1));
    wred.wred = Some([drops(400_000, 900_000), drops(200_000, 400_000), drops(50_000, 100_000)]);
    let mut port = Port::new(&config(8_000_000, vec![service(1, 1, 0, vec![wred])]));
    for turn in 0..6_000_u32 {
        let slot = port.pool.put(&[0; OCTETS]).unwrap();
        let meta = port.pool.meta_mut(slot);
        (meta.transmit, meta.colour) = (1, (turn % 3) as u8);
        port.scheduler.enqueue(port.now, &[slot], &mut port.pool, &mut port.dropped);
    }
    let colours = port.dropped.iter().fold([0_u32; 3], |mut sum, slot| {
        sum[usize::from(port.pool.meta(*slot).colour)] += 1;
        sum
    });
    assert!(colours[2] > colours[1] && colours[1] > colours[0], "{colours:?}");
    let (_, counters) = port.scheduler.leaf(1, 0).unwrap();
    assert!(counters.early_dropped > 0 && port.scheduler.held() <= 1_000, "{counters:?}");
}

#[test]
fn other_queues_keep_what_waits_and_what_was_counted() {
    let one = || vec![class(&[0], Discipline::Weight(1))];
    let mut port = Port::new(&config(8_000_000, vec![service(1, 1, 0, one())]));
    port.put(1, 0, 100);
    port.put(5, 0, 50);
    let before = port.send(Duration::from_millis(20), 10_000).len();
    let two = vec![class(&[3], Discipline::Strict), class(&[0], Discipline::Weight(1))];
    let config = config(0, vec![service(1, 1, 0, one()), service(5, 1, 0, two)]);
    let mut new = Scheduler::new(&config, 1, 7, port.now).unwrap();
    let old =
        std::mem::replace(&mut port.scheduler, Scheduler::new(&config, 1, 7, port.now).unwrap());
    new.follow(port.now, old, &mut port.pool, &mut port.dropped);
    port.scheduler = new;
    let after = port.send(Duration::from_millis(1), 10_000).len();
    assert_eq!((before + after, port.dropped.len()), (150, 0));
    assert_eq!(port.scheduler.leaf(1, 0).unwrap().1.packets, 100);
    assert_eq!(port.pool.free_slots(), port.pool.slots());
}

#[test]
fn ten_thousand_leaves_each_get_their_part() {
    let classes = || (0..8).map(|at| class(&[at], Discipline::Weight(1))).collect();
    let services = (0..1_250).map(|interface| service(interface, 1, 0, classes())).collect();
    let mut port = Port::new(&config(0, services));
    port.pool = Pool::new(32_768, 512);
    for interface in 0..1_250 {
        for class in 0..8 {
            let slot = port.pool.put(&[0; 100]).unwrap();
            let meta = port.pool.meta_mut(slot);
            (meta.transmit, meta.class) = (interface, class);
            port.scheduler.enqueue(port.now, &[slot], &mut port.pool, &mut port.dropped);
        }
    }
    let mut sent = port.send(Duration::from_secs(1), 10_000);
    sent.sort_unstable();
    sent.dedup();
    assert_eq!(sent.len(), 10_000);
}

#[test]
fn what_cannot_be_is_refused() {
    let one = || vec![class(&[0], Discipline::Weight(1))];
    let cases = [
        (config(0, vec![service(1, 0, 0, one())]), Refused::Weight(0)),
        (config(0, vec![service(1, 1, 0, Vec::new())]), Refused::Classes(0)),
        (config(RATE_MAX + 1, Vec::new()), Refused::Rate(RATE_MAX + 1)),
        (config(0, vec![service(1, 1, 0, one()), service(1, 1, 0, one())]), Refused::Interface(1)),
    ];
    for (config, refused) in cases {
        assert_eq!(config.check(), Err(refused));
    }
}
