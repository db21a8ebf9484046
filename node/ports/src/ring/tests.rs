use super::*;
use crate::Port;
use graph::STRIDE;

fn pair(capacity: usize) -> (Pool, Pool, RingPort, RingPort) {
    let (left, right) = (Pool::new(64, STRIDE), Pool::new(64, STRIDE));
    let (first, second) =
        RingPort::pair(capacity, (&left, &right), ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]))
            .unwrap();
    (left, right, first, second)
}

#[test]
fn packets_cross_in_order_and_their_cells_come_back() {
    let (mut left, mut right, mut first, mut second) = pair(8);
    for round in 0..100u8 {
        let mut slots: Vec<Slot> =
            (0..6).map(|n| left.put(&vec![round ^ n; 60 + usize::from(n)]).unwrap()).collect();
        first.send(&mut left, &mut slots);
        assert!(slots.is_empty());
        let mut got = Vec::new();
        assert_eq!(second.receive(&mut right, &mut got), 6);
        for (slot, n) in got.iter().zip(0..) {
            assert_eq!(right.bytes(*slot), vec![round ^ n; 60 + usize::from(n)]);
        }
        right.free_all(&got);
    }
    first.attend(&mut left);
    assert_eq!((left.free_slots(), right.free_slots()), (64, 64));
    assert_eq!(first.counters().sent, second.counters().received);
}

#[test]
fn what_a_full_ring_does_not_take_is_dropped_at_the_tail_and_counted() {
    let (mut left, mut right, mut first, mut second) = pair(4);
    let mut slots: Vec<Slot> = (0..7).map(|n| left.put(&[n; 60]).unwrap()).collect();
    first.send(&mut left, &mut slots);
    assert_eq!(first.counters().not_sent(SendDrop::QueueFull), 3);
    assert_eq!(left.free_slots(), 60, "four cells are in the ring");
    let mut got = Vec::new();
    second.receive(&mut right, &mut got);
    let firsts: Vec<u8> = got.iter().map(|slot| right.bytes(*slot)[0]).collect();
    assert_eq!(firsts, [0, 1, 2, 3]);
}

#[test]
fn an_empty_pool_leaves_packets_in_the_ring() {
    let (mut left, mut right, mut first, mut second) = pair(8);
    let taken: Vec<Slot> = (0..62).map(|_| right.take().unwrap()).collect();
    let mut slots: Vec<Slot> = (0..3).map(|n| left.put(&[n; 60]).unwrap()).collect();
    first.send(&mut left, &mut slots);
    let mut got = Vec::new();
    assert_eq!(second.receive(&mut right, &mut got), 2);
    right.free_all(&taken);
    assert_eq!(second.receive(&mut right, &mut got), 1);
}

#[test]
fn an_end_that_is_closed_takes_nothing_and_gives_all_cells_back() {
    let (mut left, mut right, mut first, second) = pair(8);
    let mut slots: Vec<Slot> = (0..3).map(|n| left.put(&[n; 60]).unwrap()).collect();
    first.send(&mut left, &mut slots);
    assert_eq!(second.close(&mut right), 0);
    let mut slots = vec![left.put(&[9; 60]).unwrap()];
    first.send(&mut left, &mut slots);
    assert_eq!(first.counters().not_sent(SendDrop::Down), 1);
    first.attend(&mut left);
    assert!(!first.is_up());
    assert_eq!(first.close(&mut left), 0);
    assert_eq!(left.free_slots(), 64);
}

#[test]
fn a_sleeper_is_woken_by_a_packet_from_another_thread() {
    let (mut left, mut right, mut first, second) = pair(8);
    let mut second = Port::Ring(second);
    assert!(second.doze(), "nothing is there");
    let sender = std::thread::spawn(move || {
        let mut slots = vec![left.put(&[5; 60]).unwrap()];
        first.send(&mut left, &mut slots);
        (left, first)
    });
    let mut poll = driver::Poll::new().unwrap();
    poll.add(&second.descriptor(), 1, driver::Interest::Read).unwrap();
    assert_eq!(poll.wait(None).unwrap().len(), 1);
    second.rise();
    let mut got = Vec::new();
    assert_eq!(second.receive(&mut right, &mut got), 1);
    assert!(second.doze());
    let (mut left, mut first) = sender.join().unwrap();
    second.rise();
    let mut slots = vec![left.put(&[6; 60]).unwrap()];
    first.send(&mut left, &mut slots);
    assert!(!second.doze(), "something came meanwhile");
}

#[test]
fn two_threads_lose_and_change_nothing() {
    let (mut left, mut right, mut first, mut second) = pair(32);
    const PACKETS: u32 = 20_000;
    let sender = std::thread::spawn(move || {
        let mut next = 0u32;
        while next < PACKETS {
            let before = first.counters().sent.packets;
            let mut slots = Vec::new();
            for number in next..(next + 16).min(PACKETS) {
                let Some(slot) = left.put(&[0; 64]) else { break };
                left.bytes_mut(slot)[..4].copy_from_slice(&number.to_be_bytes());
                left.bytes_mut(slot)[60..].copy_from_slice(&(!number).to_be_bytes());
                slots.push(slot);
            }
            first.send(&mut left, &mut slots);
            // The tail that was dropped is sent again.
            next += (first.counters().sent.packets - before) as u32;
            std::thread::yield_now();
        }
        first
    });
    let (mut seen, mut got) = (0u32, Vec::new());
    while seen < PACKETS {
        if second.receive(&mut right, &mut got) == 0 {
            std::thread::yield_now();
        }
        for slot in got.drain(..) {
            let bytes = right.bytes(slot);
            assert_eq!(bytes[..4], seen.to_be_bytes());
            assert_eq!(bytes[60..], (!seen).to_be_bytes());
            right.free(slot);
            seen += 1;
        }
    }
    drop(sender.join().unwrap());
}
