//! Records of dialogues as another node of a cluster would tell them: what is not understood is
//! refused, and what is restored can be told again, stands in its partition, and goes.

use machine::{Machine, Time};
use tcap::{PARTITIONS, Report, Settings, Transactions};

/// Runs one input: partition, slot, then the fields.
pub fn run(bytes: &[u8]) {
    let [partition, a, b, c, fields @ ..] = bytes else { return };
    let settings = Settings {
        shard: 0,
        secret: 7,
        dialogues_max: 8,
        dialogues_per_source_max: 8,
        sources_elsewhere: false,
        idle: machine::Duration::from_secs(60),
    };
    let now = Time::from_millis(1_000);
    let mut transactions = Transactions::shared(settings, now);
    let slot = u32::from_be_bytes([0, *a, *b, *c]);
    let restored = transactions.restore(now, *partition, slot, fields);
    assert_eq!(transactions.len(), usize::from(restored.is_ok()));
    if let Ok(id) = restored {
        assert!(*partition < PARTITIONS);
        assert_eq!(Transactions::partition_of_number(id.number()), *partition);
        let mut told = Vec::new();
        let next = transactions.standing(now, *partition, 0, true, &mut |it| {
            if let Report::Stands(_, slot, octets) = it {
                told.push((slot, octets.to_vec()));
            }
            true
        });
        assert!(next.is_none() && told.len() == 1 && told[0].0 == slot);
        // The same again, at another node.
        let mut other = Transactions::shared(settings, now);
        assert!(other.restore(now, *partition, slot, &told[0].1).is_ok());
        other.serve(*partition, 3, 9);
        other.tick(Time::from_millis(1 << 40), &mut Vec::new());
        assert_eq!(transactions.leave(*partition), 1);
    }
    assert!(transactions.is_empty());
}
