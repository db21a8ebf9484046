//! Any octets as what a cache says: nothing panics, the client ends, its table holds what the
//! answers that were whole said, and its deadline is later than now.

use machine::{Duration, Machine, Time};
use rpki::{CacheId, Client, In, Out, Settings};

pub fn run(octets: &[u8]) {
    let mut client = Client::new(Settings::new(2));
    let (mut out, mut now, cache) = (Vec::new(), Time::ZERO, CacheId(0));
    client.step(now, In::Start, &mut out);
    client.step(now, In::Connected(cache), &mut out);
    // The first octet of each piece says how long it is.
    let (mut rest, mut waiting) = (octets, Vec::new());
    while let Some((&length, tail)) = rest.split_first() {
        let (piece, tail) = tail.split_at(tail.len().min(usize::from(length)));
        rest = tail;
        waiting.extend_from_slice(piece);
        let taken = client.receive(now, cache, &waiting, &mut out);
        waiting.drain(..taken);
        now += Duration::from_millis(u64::from(length) * 100);
        client.tick(now, &mut out);
        assert!(client.deadline().is_none_or(|at| at > now));
        if out.drain(..).any(|out| out == Out::Connect(cache)) {
            waiting.clear();
            client.step(now, In::Connected(cache), &mut out);
        }
    }
    let (ipv4, ipv6) = client.table().len();
    assert!(ipv4 * 20 + ipv6 * 32 <= octets.len());
    assert_eq!(client.table().iter_ipv4().filter(|it| client.table().has_ipv4(it)).count(), ipv4);
}
