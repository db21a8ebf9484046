//! Reading allocates nothing.

use crate::messages::{rp, tpdu};
use sms::Kind;
use sms::rp::{self, Message};

#[test]
fn a_read_of_any_message_allocates_nothing() {
    let tpdus: Vec<_> = Kind::ALL.iter().map(|it| (*it, tpdu(*it, 7))).collect();
    let messages: Vec<_> = rp::Kind::ALL.iter().map(|it| rp(*it, 7)).collect();
    let info = allocation_counter::measure(|| {
        for (kind, octets) in &tpdus {
            let read = kind.read(octets).expect("it is a TPDU");
            if let Some(data) = read.user_data() {
                let _ = data.header().map(|it| it.concatenation());
            }
        }
        for octets in &messages {
            Message::read(octets).expect("it is an RP message");
        }
    });
    assert_eq!(info.count_total, 0);
}
