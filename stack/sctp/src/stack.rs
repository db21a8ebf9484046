//! Whose SCTP it is: the machine's own, or the kernel's behind the same interface.

use crate::kernel::Kernel;
use bytes::Bytes;
use core::net::{IpAddr, SocketAddr};
use machine::Time;
use sctp::{Answers, AssociationId, Counts, Endpoint, In, Out, Parameters, Refused, Status};

/// An endpoint.
#[derive(Debug)]
pub(crate) enum Stack {
    Own(Box<Endpoint>),
    Kernel(Box<Kernel>),
    /// The kernel's could not be had, for this reason.
    Failed(String),
}

impl Stack {
    pub(crate) fn associate(
        &mut self,
        now: Time,
        paths: &[SocketAddr],
        port: u16,
        out: &mut Vec<Out>,
    ) -> Result<AssociationId, Refused> {
        match self {
            Self::Own(endpoint) => endpoint.associate(now, paths, port, out),
            Self::Kernel(kernel) => {
                let of_port = |path: &SocketAddr| SocketAddr::new(path.ip(), port);
                kernel.associate(&paths.iter().map(of_port).collect::<Vec<_>>())
            }
            Self::Failed(_) => Err(Refused::Addresses),
        }
    }

    pub(crate) fn step(&mut self, now: Time, wish: In, out: &mut Vec<Out>) {
        match self {
            Self::Own(endpoint) => endpoint.step(now, wish, out),
            Self::Kernel(kernel) => kernel.step(now, wish, out),
            Self::Failed(_) => {}
        }
    }

    pub(crate) fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        match self {
            Self::Own(endpoint) => endpoint.tick(now, out),
            Self::Kernel(kernel) => kernel.tick(now, out),
            Self::Failed(_) => {}
        }
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        match self {
            Self::Own(endpoint) => endpoint.deadline(),
            Self::Kernel(kernel) => kernel.deadline(),
            Self::Failed(_) => None,
        }
    }

    pub(crate) fn status(&self, id: AssociationId) -> Option<Status> {
        match self {
            Self::Own(endpoint) => endpoint.status(id),
            Self::Kernel(kernel) => kernel.status(id),
            Self::Failed(_) => None,
        }
    }

    /// The packets that abort an association, on every path; none of the kernel's: it sends them
    /// itself when the process dies.
    pub(crate) fn abort_packets(&self, id: AssociationId) -> Vec<sctp::Transmit> {
        match self {
            Self::Own(endpoint) => endpoint.abort_packets(id),
            Self::Kernel(_) | Self::Failed(_) => Vec::new(),
        }
    }

    pub(crate) fn associations(&self) -> Vec<AssociationId> {
        match self {
            Self::Own(endpoint) => endpoint.associations().collect(),
            Self::Kernel(kernel) => kernel.associations(),
            Self::Failed(_) => Vec::new(),
        }
    }

    pub(crate) fn set_limits(&mut self, parameters: Parameters, listens: bool, most: usize) {
        match self {
            Self::Own(endpoint) => endpoint.set_limits(parameters, listens, most),
            Self::Kernel(kernel) => kernel.set_limits(parameters, most),
            Self::Failed(_) => {}
        }
    }

    pub(crate) fn set_answers(&mut self, rates: Answers, known: Vec<IpAddr>) {
        // The kernel answers as it likes.
        if let Self::Own(endpoint) = self {
            endpoint.set_answers(rates, known);
        }
    }

    pub(crate) fn set_addresses(&mut self, addresses: &[IpAddr]) {
        match self {
            Self::Own(endpoint) => endpoint.set_addresses(addresses.to_vec()),
            Self::Kernel(kernel) => kernel.set_addresses(addresses),
            Self::Failed(_) => {}
        }
    }

    pub(crate) fn set_shared_keys(&mut self, keys: Vec<(u16, Bytes)>, active: u16) {
        if let Self::Own(endpoint) = self {
            endpoint.set_shared_keys(keys, active);
        }
    }

    pub(crate) fn recycle(&mut self, buffer: Vec<u8>) {
        if let Self::Own(endpoint) = self {
            endpoint.recycle(buffer);
        }
    }

    /// What the machine has counted; the kernel counts for all at `/proc/net/sctp/snmp`.
    pub(crate) fn counts(&self) -> Counts {
        match self {
            Self::Own(endpoint) => endpoint.counts(),
            Self::Kernel(_) | Self::Failed(_) => Counts::default(),
        }
    }
}
