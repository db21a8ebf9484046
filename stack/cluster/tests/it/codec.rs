//! Messages: read as they were written, and whatever comes does no harm.

use crate::world::Random;
use cluster::message::{self, Beat, Datagram, Entry};
use cluster::{NodeId, Partition, Table, Version};
use machine::Time;

fn table() -> Table {
    let mut table = Table::default();
    table.version = Version { term: 7, number: 9 };
    let row = table.row_mut(Partition::new(47).unwrap());
    (row.active, row.standby) = (NodeId::new(1), NodeId::new(16));
    (row.joining, row.epoch) = (NodeId::new(2), u32::MAX);
    table
}

#[test]
fn a_heartbeat_and_a_table_are_read_as_they_were_written() {
    let beat = Beat {
        life: 1,
        stamp: Time::from_millis(2),
        term: 3,
        claims: true,
        grants: true,
        drains: true,
        stored: Version { term: 4, number: 5 },
        serving: [Partition::new(47).unwrap()].into_iter().collect(),
        weight: 255,
        digest: u64::MAX,
        session: (6, 7),
        applied: 8,
        ..Beat::default()
    };
    let octets = message::beat(&beat);
    assert!(matches!(message::read(&octets), Ok(Datagram::Beat(it)) if it == beat));
    let table = table();
    let octets = message::table(&table);
    assert!(matches!(message::read(&octets), Ok(Datagram::Table(it)) if it == table));
}

#[test]
fn entries_are_read_as_they_were_written() {
    let partition = Partition::new(3).unwrap();
    let all = [
        Entry::Work(b"work"),
        Entry::Begin(partition, 1, 9),
        Entry::Record(partition, 2, 3, b"record"),
        Entry::Gone(partition, 4, 5),
        Entry::End(partition, 6),
        Entry::Handed(partition, 7),
    ];
    let mut datagram = message::entries((1, 2), 3);
    for entry in &all {
        let mut octets = Vec::new();
        message::write_entry(entry, &mut octets);
        message::entry(&mut datagram, &octets);
    }
    let Ok(Datagram::Entries((1, 2), 3, entries)) = message::read(&datagram) else {
        panic!("entries")
    };
    assert_eq!(entries.collect::<Result<Vec<_>, _>>().unwrap(), all);
}

#[test]
fn what_is_cut_off_or_changed_is_refused_or_read_and_never_more() {
    let mut random = Random::new(1);
    let whole = [message::beat(&Beat::default()), message::table(&table())];
    for octets in whole {
        for end in 0..octets.len() {
            drop(message::read(&octets[..end]));
        }
        for _ in 0..20_000 {
            let mut octets = octets.clone();
            let at = random.below(octets.len() as u64) as usize;
            octets[at] = random.below(256) as u8;
            if let Ok(Datagram::Entries(_, _, entries)) = message::read(&octets) {
                entries.for_each(drop);
            }
        }
    }
    assert!(message::read(b"TDC1").is_err() && message::read(b"").is_err());
}
