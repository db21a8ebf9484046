//! The delay of RFC 8333.

use machine::{Duration, Time};
use spf::{MicroloopDelay, Verdict};

const DELAY: Duration = Duration::from_secs(2);

fn at(ms: u64) -> Time {
    Time::from_millis(ms)
}

#[test]
fn routes_wait_after_a_local_link_went_down_and_nothing_else_happened() {
    let mut delay = MicroloopDelay::new(DELAY);
    assert_eq!(delay.computed(at(0)), Verdict::Install);
    delay.link_down(at(1_000), 7);
    assert_eq!(delay.computed(at(1_050)), Verdict::Hold);
    delay.link_down(at(1_060), 7);
    assert_eq!((delay.computed(at(2_999)), delay.deadline()), (Verdict::Hold, Some(at(3_000))));
    assert!(!delay.expire(at(2_999)) && delay.expire(at(3_000)) && !delay.expire(at(3_001)));
    assert_eq!((delay.computed(at(3_002)), delay.aborted()), (Verdict::Install, 0));
}

#[test]
fn another_event_ends_the_delay_and_one_before_the_run_prevents_it() {
    let mut delay = MicroloopDelay::new(DELAY);
    delay.link_down(at(0), 7);
    delay.disturb();
    assert_eq!((delay.computed(at(10)), delay.aborted()), (Verdict::Install, 1));
    delay.link_down(at(100), 7);
    delay.link_down(at(101), 8);
    assert_eq!((delay.computed(at(110)), delay.aborted()), (Verdict::Install, 2), "two neighbours");
    delay.disturb();
    delay.link_down(at(120), 9);
    assert_eq!(delay.computed(at(130)), Verdict::Install);
    let mut off = MicroloopDelay::new(Duration::ZERO);
    off.link_down(at(0), 7);
    assert_eq!((off.computed(at(1)), off.deadline()), (Verdict::Install, None));
}
