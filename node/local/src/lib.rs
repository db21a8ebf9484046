//! The control sockets of the sites of this machine: a site listens at one, `tandem ctl` finds it.
//!
//! ```text
//!   a site, as whom                              its socket
//!   of a unit of systemd (RuntimeDirectory)      $RUNTIME_DIRECTORY/NAME.sock
//!   root                                         /run/tandem/NAME.sock
//!   a user that root became                      /run/tandem/UID/NAME.sock
//!   another user                                 $XDG_RUNTIME_DIR/tandem/NAME.sock, or
//!                                                /run/user/UID/tandem/, or /tmp/tandem-UID/
//! ```
//! `$TANDEM_RUN` names a folder in place of all these. A path leads to the same socket from every
//! network namespace. Only root and the site's user reach it: the file has the mode 0600, and the
//! kernel says who is at the other end (`SO_PEERCRED`).
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]

mod find;
mod folders;
mod listen;
mod request;
mod transport;

pub use find::{Found, connect, doubt, doubted, sites, trusted};
pub use folders::prepare;
pub use listen::ControlSocket;
pub use request::{query, segment};
pub use transport::agent;

/// Longest time for a connection to be accepted by the kernel of a site that lives.
const CONNECT: std::time::Duration = std::time::Duration::from_secs(5);

/// The name of a site as a file's: what is no letter, digit, `-`, `_` or `.` is percent-encoded.
fn file_name(site: &str) -> String {
    let mut out = String::new();
    for byte in site.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out += &format!("%{byte:02X}");
        }
    }
    out
}

/// The name of a site by its file's, less `.sock`.
fn site_name(file: &str) -> String {
    let mut octets = Vec::new();
    let mut rest = file.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(octet) if *first == b'%' => {
                octets.push(octet);
                rest = &after[2..];
            }
            _ => {
                octets.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&octets).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_s_name_becomes_a_file_s_and_back() {
        for name in ["edge", "Köln 1/2", "100%", "..", "a.b_c-d"] {
            let file = file_name(name);
            assert!(!file.contains('/'), "{file}");
            assert_eq!(site_name(&file), name);
        }
    }
}
