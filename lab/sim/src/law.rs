//! The laws of [`Machine`], for any of them: what a seed makes up is done to two of a kind.

use crate::Random;
use core::fmt::Debug;
use machine::{Duration, Machine, Time};

/// Inputs of a run.
const INPUTS: u32 = 200;
/// Milliseconds between two inputs, at most.
const PAUSE_MS: u64 = 90_000;
/// Times that a machine may leave work over for the same instant.
const LEFT_OVER_MAX: u32 = 10_000;

/// Gives two machines of a kind the same inputs at the same times and lets time pass between them:
/// both do the same, a tick leaves no deadline behind that is over, and nothing panics.
///
/// # Panics
/// When a law does not hold.
pub fn hold<M: Machine>(
    seed: u64,
    make: impl Fn() -> M,
    mut input: impl FnMut(&mut Random) -> M::In,
) where
    M::In: Clone,
    M::Out: Debug,
{
    let mut random = Random::new(seed);
    let (mut one, mut two) = (make(), make());
    let mut now = Time::from_millis(1);
    for _ in 0..INPUTS {
        now = pass(&mut one, &mut two, now, random.below(PAUSE_MS));
        let input = input(&mut random);
        let (mut outs, mut others) = (Vec::new(), Vec::new());
        one.step(now, input.clone(), &mut outs);
        two.step(now, input, &mut others);
        assert_eq!(format!("{outs:?}"), format!("{others:?}"), "seed {seed}: the same inputs");
    }
    pass(&mut one, &mut two, now, 100 * PAUSE_MS);
}

/// Lets time pass, from one deadline to the next.
fn pass<M: Machine>(one: &mut M, two: &mut M, mut now: Time, pause_ms: u64) -> Time
where
    M::Out: Debug,
{
    let end = now + Duration::from_millis(pause_ms);
    let mut left_over = 0;
    loop {
        let due = one.deadline();
        assert_eq!(due, two.deadline(), "the same inputs give the same deadline");
        let Some(at) = due.filter(|at| *at <= end) else { return end };
        // What was due before is done now: time does not go back.
        left_over = if at > now { 0 } else { left_over + 1 };
        assert!(left_over < LEFT_OVER_MAX, "a tick moves the deadline on: {at:?} at {now:?}");
        now = now.max(at);
        let (mut outs, mut others) = (Vec::new(), Vec::new());
        one.tick(now, &mut outs);
        two.tick(now, &mut others);
        assert_eq!(format!("{outs:?}"), format!("{others:?}"), "a tick is the same for both");
    }
}
