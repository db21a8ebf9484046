//! What a route reflector leaves open to others beside its sessions.

use config::Issue;
use rr::config::Rr;
use std::net::IpAddr;

/// What is read and told in clear, beside BGP.
pub fn feeds(section: &Rr, found: &mut Vec<Issue>) {
    let is_far = |ip: &IpAddr| !ip.to_canonical().is_loopback();
    for (n, _) in section.rpki.iter().enumerate().filter(|(_, it)| is_far(&it.address)) {
        let what =
            "who is on the way to this cache decides which origins are valid: RTR is in clear";
        let hint = "reach it through a private network, a tunnel, or a cache on this machine";
        found.push(Issue::new(format!("rpki[{n}].address"), what, hint));
    }
    for (n, station) in section.bmp.iter().enumerate().filter(|(_, it)| is_far(&it.address)) {
        let what = format!("all routes go to `{}` in clear (BMP)", station.name);
        let hint = "reach it through a private network or a tunnel";
        found.push(Issue::new(format!("bmp[{n}].address"), what, hint));
    }
}
