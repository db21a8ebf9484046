//! When SPF runs (RFC 8405).

use machine::{Duration, Time};
use spf::{Backoff, SpfDelays};

#[test]
fn delays_grow_while_changes_go_on_and_begin_anew_after_a_rest() {
    let delays = SpfDelays::default();
    let mut backoff = Backoff::new(delays);
    let mut waits = Vec::new();
    let mut now = Time::from_millis(1_000);
    for _ in 0..8 {
        backoff.change(now);
        let due = backoff.due().unwrap();
        waits.push(due.since(now));
        backoff.change(now + Duration::from_millis(1));
        assert_eq!(backoff.due(), Some(due), "a run that waits is not put off");
        assert!(!backoff.take(now) && backoff.take(due) && !backoff.take(due));
        now = due + Duration::from_millis(60);
    }
    assert_eq!((waits[0], waits[1]), (delays.initial, delays.short));
    assert_eq!(*waits.last().unwrap(), delays.long);
    now += delays.holddown;
    backoff.change(now);
    assert_eq!(backoff.due(), Some(now + delays.initial));
}
