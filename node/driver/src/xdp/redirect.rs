//! The frames of an interface that come to the sockets of its queues: all, or those to one target.

use crate::filter::octets;
use crate::xdp::{Link, Mode, Owner};
use std::io;
use std::net::IpAddr;
use std::os::fd::RawFd;
use std::sync::Arc;

/// What comes to a port, in the program before the interface; nothing any more when the last
/// holder lets go, or the process ends.
#[derive(Debug)]
pub struct Redirect {
    // First: what comes goes to the kernel before the program does.
    owner: Owner,
    link: Arc<Link>,
    interface: String,
}

impl Redirect {
    /// All frames of an interface, but for those that a filter drops and those to the targets of
    /// others. Frames of queues without a port go on to the kernel.
    ///
    /// # Errors
    /// In words: not permitted, a program of somebody else stands there, another port has all.
    pub fn attach(interface: &str) -> io::Result<Arc<Self>> {
        let words = || "another port has all that the interface receives".to_owned();
        Self::attached(interface, words, |owner, index| owner.put_whole(index))
    }

    /// Whole packets of one protocol to one address only, and to one port of it (UDP, TCP, SCTP)
    /// unless any will do; without IP options and tags. All others, and frames of queues without a
    /// port, go on to the kernel.
    ///
    /// # Errors
    /// As [`Redirect::attach`]; another port has these.
    pub fn attach_for(
        interface: &str,
        address: IpAddr,
        protocol: u8,
        port: Option<u16>,
    ) -> io::Result<Arc<Self>> {
        let mut target = [0; 24];
        target[..16].copy_from_slice(&octets(address));
        target[16..18].copy_from_slice(&port.unwrap_or(0).to_be_bytes());
        target[18] = protocol;
        let words =
            || format!("another port has what comes to {address} by IP protocol {protocol}");
        Self::attached(interface, words, |owner, index| {
            target[20..].copy_from_slice(&index.to_ne_bytes());
            owner.put_route(&target)
        })
    }

    fn attached(
        interface: &str,
        taken: impl FnOnce() -> String,
        put: impl FnOnce(&Owner, u32) -> io::Result<bool>,
    ) -> io::Result<Arc<Self>> {
        let index = crate::link::interface(interface)?;
        let owner = Owner::new()?;
        let link = owner.stand(index)?;
        if !put(&owner, index)? {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, taken()));
        }
        Ok(Arc::new(Self { owner, link, interface: interface.to_owned() }))
    }

    /// The interface.
    #[must_use]
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// Whether it runs in the driver; otherwise the kernel has made a buffer of each packet first.
    #[must_use]
    pub fn is_native(&self) -> bool {
        self.link.mode == Mode::Native
    }

    /// Hands what comes in by a queue to a socket, as long as that lives.
    /// What comes to a queue of the interface goes to this socket (`AF_XDP`).
    ///
    /// # Errors
    /// The kernel's.
    pub fn steer(&self, queue: u32, socket: RawFd) -> io::Result<()> {
        self.owner.put_socket(queue, socket)
    }
}
