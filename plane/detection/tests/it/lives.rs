//! Whatever the feature is told and hears, it does not panic, and keeps what it was told.

use detection::program::{Name, Notice, Said};
use proptest::prelude::*;

proptest! {
    #[test]
    fn words_that_are_read_are_written_as_they_were(
        key in proptest::collection::vec(any::<u8>(), 0..24),
        value in proptest::collection::vec(any::<u8>(), 0..80),
    ) {
        if let Ok(said) = Said::read(&key, &value) {
            prop_assert_eq!(Said::read(&said.name.key(), &said.value()), Ok(said));
        }
        if let Ok(notice) = Notice::read(&value) {
            prop_assert_eq!(Notice::read(&notice.value()), Ok(notice));
        }
        let _ = Name::read(&key);
    }
}

#[test]
fn what_is_said_and_told_is_read_as_it_was() {
    let said = super::world::session(0, 1, super::world::ms(10));
    assert_eq!(Said::read(&said.name.key(), &said.value()), Ok(said));
    let notice = Notice { turn: 7, is_lost: true, received: u64::MAX, ..Notice::default() };
    assert_eq!(Notice::read(&notice.value()), Ok(notice));
}
