//! The system calls: UDP by the batch, TCP, epoll, XDP, pinning.
//!
//! Everything above calls safe wrappers and never sees a pointer, but for packet ports
//! (`node/ports`), whose memory is shared with the kernel. Nothing here blocks, except
//! [`Poll::wait`] when it is asked to.
//!
//! ```text
//!   recvmmsg + UDP_GRO ──→ ReceiveBatch::datagrams()          epoll_pwait2 ──→ Poll::wait()
//!   SendBatch::fill()  ──→ sendmmsg + UDP_SEGMENT             eventfd      ──→ Waker
//!   connect, accept4   ──→ tcp::{connect, accept, listen}
//!   TCP_MD5SIG_EXT, IP_MINTTL ──→ guard
//!   AF_PACKET          ──→ packet::{PacketSocket, PacketBatch}
//!   SOCK_RAW           ──→ DatagramSocket::raw, by the same batches
//!   XDP, bpf           ──→ filter::Filter, Redirect
//! ```
#![allow(unsafe_code, reason = "it talks to the kernel directly")]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod address;
pub mod call;
mod clock;
mod control;
mod datagram;
pub mod filter;
mod frame;
pub mod guard;
mod interfaces;
pub mod link;
pub mod memory;
pub mod packet;
mod poll;
pub mod privilege;
mod process;
pub mod reach;
mod receive;
mod route;
pub mod sctp;
mod send;
mod socket;
pub mod tcp;
pub mod unix_socket;
mod xdp;

pub use clock::{Clock, Timed};
pub use datagram::{DatagramSocket, Returned, Why};
pub use frame::{FRAMES_MAX, FrameSocket};
pub use interfaces::{INTERFACES_MAX, Interface, interfaces};
pub use poll::{Interest, Poll, Ready, Waker};
pub use process::{cores, keep_to, pin, random, stand_back};
pub use receive::{Datagram, RECEIVE_SLOTS, ReceiveBatch};
pub use route::source_for;
pub use send::{Filling, SEND_MESSAGES_MAX, SEND_PARTS_MAX, SendBatch};
pub use socket::{SocketOptions, make_room};
pub use xdp::{QUEUES_MAX, Redirect};
