//! Datagrams from many addresses: sockets that are bound once and used in turn.

use crate::sockets::{Numbers, Pace, SocketAttack};
use anyhow::Context;
use std::net::{Ipv4Addr, UdpSocket};

/// Sockets of one attack at most.
const SOCKETS_MAX: usize = 64;

/// Sends what `write` makes until the time is over: it is told where the datagram comes from and
/// how many came before it.
pub(crate) fn send(
    attack: &SocketAttack,
    pace: &mut Pace,
    mut write: impl FnMut(Ipv4Addr, u64, &mut Vec<u8>),
) -> anyhow::Result<()> {
    let sockets = bind(attack)?;
    let (mut bytes, mut number) = (Vec::new(), 0);
    while let Some(due) = pace.due() {
        for _ in 0..due {
            let (source, socket) = &sockets[usize::try_from(number)? % sockets.len()];
            bytes.clear();
            write(*source, number, &mut bytes);
            number += 1;
            // A target that is full, or refuses by ICMP, is attacked all the same.
            if socket.send_to(&bytes, attack.target).is_ok() {
                pace.sent(bytes.len());
            }
        }
    }
    Ok(())
}

fn bind(attack: &SocketAttack) -> anyhow::Result<Vec<(Ipv4Addr, UdpSocket)>> {
    let mut random = Numbers::new(0x5eed);
    let mut sockets: Vec<(Ipv4Addr, UdpSocket)> = Vec::new();
    for _ in 0..SOCKETS_MAX {
        let source = attack.sources.pick(random.next());
        if sockets.iter().any(|(known, _)| *known == source) {
            continue;
        }
        let socket = UdpSocket::bind((source, 0)).with_context(|| source.to_string())?;
        socket.set_nonblocking(true)?;
        sockets.push((source, socket));
    }
    Ok(sockets)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sockets::tests::attack;
    use crate::{SocketKind, run_by_sockets};
    use std::collections::BTreeSet;
    use std::time::Duration;

    /// What arrives of an attack, and how many sources it came from.
    pub(crate) fn arrived(kind: SocketKind) -> (Vec<Vec<u8>>, usize) {
        let target = UdpSocket::bind("127.0.0.1:0").unwrap();
        target.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let std::net::SocketAddr::V4(address) = target.local_addr().unwrap() else {
            panic!("an address of version 4")
        };
        let report = run_by_sockets(&attack(kind, address)).unwrap();
        let (mut all, mut sources) = (Vec::new(), BTreeSet::new());
        let mut bytes = [0; 2_048];
        while let Ok((length, from)) = target.recv_from(&mut bytes) {
            assert!(from.ip().to_string().starts_with("127.66.0."));
            all.push(bytes[..length].to_vec());
            sources.insert(from.ip());
        }
        assert!(!all.is_empty() && all.len() as u64 <= report.frames);
        (all, sources.len())
    }

    #[test]
    fn a_range_of_sources_is_used() {
        let (all, sources) = arrived(SocketKind::Strangers);
        assert!(sources > all.len().min(SOCKETS_MAX) / 2, "{sources} of {}", all.len());
    }
}
