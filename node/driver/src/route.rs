//! What the routes say.

use std::net::{IpAddr, SocketAddr, UdpSocket};

/// A port to ask for; nothing is sent there.
const DISCARD: u16 = 9;

/// The source address that the kernel chooses towards `destination`; `None` without a route.
#[must_use]
pub fn source_for(destination: IpAddr) -> Option<IpAddr> {
    let any: SocketAddr = match destination {
        IpAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
        IpAddr::V6(_) => ([0u16; 8], 0).into(),
    };
    let socket = UdpSocket::bind(any).ok()?;
    // Connecting a UDP socket looks the route up and sends nothing.
    socket.connect((destination, DISCARD)).ok()?;
    socket.local_addr().ok().map(|local| local.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_oneself_begins_at_oneself() {
        for text in ["127.0.0.1", "::1"] {
            let here: IpAddr = text.parse().unwrap();
            assert_eq!(source_for(here), Some(here));
        }
        assert_eq!(source_for(IpAddr::from([127, 0, 0, 9])), Some(IpAddr::from([127, 0, 0, 1])));
    }
}
