//! Requests for an arbiter's vote in the name of a node that never asked: who gets it keeps the
//! other node from serving for as long as he asked.

use crate::datagrams;
use crate::replica::{NODE_B, THE_PAIR, number};
use crate::sockets::{Pace, SocketAttack};

/// First octets, and the kind of a request.
const HEAD: &[u8] = b"TDR1\x03";
const PAIR: u8 = 1;
const NODE: u8 = 2;
const STAMP: u8 = 4;
const PROMISE: u8 = 18;
/// A promise that is asked for, shortest and longest, nanoseconds: a node that just started has
/// promised for so long that it gives none that is longer.
const PROMISES: [u64; 3] = [100_000_000, 1_000_000_000, 60_000_000_000];

pub(crate) fn run(attack: &SocketAttack, pace: &mut Pace) -> anyhow::Result<()> {
    datagrams::send(attack, pace, |_, at, out| {
        out.extend_from_slice(HEAD);
        let promise = PROMISES[usize::try_from(at).unwrap_or_default() % PROMISES.len()];
        let fields = [(PAIR, THE_PAIR), (NODE, NODE_B), (STAMP, 1 + at), (PROMISE, promise)];
        fields.into_iter().for_each(|(tag, value)| number(out, tag, value));
    })
}

#[cfg(test)]
mod tests {
    use crate::SocketKind;
    use crate::datagrams::tests::arrived;
    use machine::Time;
    use replica::{Arbiter, Terms};
    use std::time::Duration;

    #[test]
    fn an_arbiter_that_serves_everybody_gives_the_vote_away() {
        let (all, _) = arrived(SocketKind::Arbiter);
        let terms = Terms { promise_max: Duration::from_secs(60), pairs: Vec::new() };
        let mut arbiter = Arbiter::new(Time::ZERO, &terms, || 1);
        let mut answer = Vec::new();
        let now = Time::from_millis(61_000);
        assert!(all.iter().all(|bytes| arbiter.step(now, bytes, &mut answer).is_ok()));
        assert_eq!(arbiter.pairs(), 1);
    }
}
