//! The home subscriber server and members that ask it, alone and with peers that others wrote:
//! freeDiameter (Debian: freediameterd, freediameter-extensions) and python-diameter (`make
//! setup-python`).
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod free_diameter;
mod live;
mod python;
mod secure;
