//! Messages of strangers to the transactions of a shard whose user answers, and time that passes:
//! nothing panics, the table keeps its limit, and nothing is left at the end.
//!
//! ```text
//! input = (what, length, octets)…     what: the two low bits say what happens
//! ```

use bytes::Bytes;
use machine::{Duration, Machine, Time};
use sccp::codec::{Address, Class};
use tcap::codec::Code;
use tcap::{Begin, Close, DialogueId, In, Indication, OperationClass, Out, Say, Settings};
use tcap::{Transactions, UAbort};

const DIALOGUES_MAX: u32 = 8;
const CONTEXT: &[u8] = &[4, 0, 0, 1, 0, 20, 3];
const INVOKE: Say<'static> = Say::Invoke {
    id: 1,
    linked_id: None,
    class: OperationClass::One,
    time: Duration::from_secs(10),
    code: Code::Local(45),
    parameter: None,
};

pub fn run(bytes: &[u8]) {
    let settings = Settings {
        shard: 0,
        secret: 7,
        dialogues_max: DIALOGUES_MAX,
        dialogues_per_source_max: DIALOGUES_MAX,
        sources_elsewhere: false,
        idle: Duration::from_secs(60),
    };
    let (mut now, mut out, mut known) = (Time::ZERO, Vec::new(), Vec::<DialogueId>::new());
    let mut transactions = Transactions::new(settings, now);
    let end = Address::subsystem(None, 6);
    let begin = Begin { called: end, calling: end, context: Some(CONTEXT), user_information: &[] };
    let mut rest = bytes;
    while let [what, length, tail @ ..] = rest {
        let (octets, tail) = tail.split_at(usize::from(*length).min(tail.len()));
        rest = tail;
        out.clear();
        let last = known.last().copied();
        match (what & 0x07, last) {
            (0, _) => known.extend(transactions.begin(now, &begin, &[INVOKE], &mut out)),
            (1, Some(id)) => drop(transactions.go_on(now, id, &[], &[INVOKE], &mut out)),
            (2, Some(id)) => drop(transactions.end(now, id, &[], &[], &mut out)),
            (3, Some(id)) => drop(transactions.abort(id, Close::User(&[]), &mut out)),
            (4, _) => {
                now += Duration::from_secs(u64::from(*length));
                transactions.tick(now, &mut out);
                assert!(transactions.deadline().is_none_or(|deadline| deadline > now));
            }
            _ => {
                let class = Class { is_sequenced: false, returns: false };
                let data = Bytes::copy_from_slice(octets);
                let (called, calling, sls, importance) = (end, end, 0, None);
                let unitdata = sccp::Unitdata { called, calling, class, sls, importance, data };
                transactions.step(now, In::Unitdata(unitdata), &mut out);
            }
        }
        for effect in &out {
            match effect {
                Out::Indicate(id, Indication::Begin { .. }) => known.push(*id),
                Out::Indicate(_, Indication::UAbort(UAbort::Refused(_), octets)) => {
                    assert!(!octets.is_empty());
                }
                _ => {}
            }
        }
        assert!(transactions.len() <= DIALOGUES_MAX as usize);
    }
    // A later deadline waits for the earlier entry: two ticks reach it.
    for seconds in [61, 122] {
        transactions.tick(now + Duration::from_secs(seconds), &mut out);
    }
    assert!(transactions.is_empty());
}
