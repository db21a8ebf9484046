//! Sending datagrams by the batch: `sendmmsg` with `UDP_SEGMENT`.

use crate::address::RawAddress;
use crate::control::{self, CONTROL_BYTES, Control};
use crate::datagram::DatagramSocket;
use machine::narrow::place;
use std::io;
use std::marker::PhantomData;
use std::net::{IpAddr, SocketAddr};

/// Kernel messages in one batch; each may carry a run of datagrams.
pub const SEND_MESSAGES_MAX: usize = 64;
/// Pieces of memory in one batch, all messages together.
pub const SEND_PARTS_MAX: usize = 1_024;

/// Room for one batch, made once per shard.
pub struct SendBatch {
    headers: Vec<libc::mmsghdr>,
    iovecs: Vec<libc::iovec>,
    names: Vec<RawAddress>,
    controls: Vec<Control>,
}

/// A batch being filled with bytes that live for `'a`.
pub struct Filling<'b, 'a> {
    batch: &'b mut SendBatch,
    messages: usize,
    parts: usize,
    bytes: PhantomData<&'a [u8]>,
}

impl Default for SendBatch {
    fn default() -> Self {
        Self::new()
    }
}

impl SendBatch {
    /// Room for [`SEND_MESSAGES_MAX`] messages.
    #[must_use]
    pub fn new() -> Self {
        // SAFETY: headers and vectors of integers and null pointers are values.
        let (header, iovec): (libc::mmsghdr, libc::iovec) = unsafe { std::mem::zeroed() };
        Self {
            headers: vec![header; SEND_MESSAGES_MAX],
            iovecs: vec![iovec; SEND_PARTS_MAX],
            names: vec![RawAddress::zeroed(); SEND_MESSAGES_MAX],
            controls: vec![Control([0; CONTROL_BYTES]); SEND_MESSAGES_MAX],
        }
    }

    /// Starts an empty batch.
    pub fn fill<'b, 'a>(&'b mut self) -> Filling<'b, 'a> {
        Filling { batch: self, messages: 0, parts: 0, bytes: PhantomData }
    }
}

impl<'a> Filling<'_, 'a> {
    /// Number of messages so far.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.messages
    }

    /// Whether there is no message yet.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.messages == 0
    }

    /// Appends one message to `remote`: a datagram made of `parts`, or, with a `segment` size
    /// above 0, a run of datagrams of that size of which only the last may be shorter. `source`
    /// is our address where the socket has several. `false` when the batch is full.
    pub fn push(
        &mut self,
        remote: &SocketAddr,
        source: Option<IpAddr>,
        segment: u16,
        parts: impl Iterator<Item = &'a [u8]>,
    ) -> bool {
        let at = self.messages;
        if at == SEND_MESSAGES_MAX {
            return false;
        }
        let first = self.parts;
        for part in parts {
            if self.parts == SEND_PARTS_MAX {
                self.parts = first;
                return false;
            }
            self.batch.iovecs[self.parts] =
                libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() };
            self.parts += 1;
        }
        let name = &mut self.batch.names[at];
        let header = &mut self.batch.headers[at].msg_hdr;
        header.msg_namelen = name.set(remote);
        header.msg_name = (&raw mut *name).cast();
        header.msg_iov = &raw mut self.batch.iovecs[first];
        header.msg_iovlen = self.parts - first;
        header.msg_controllen = 0;
        header.msg_control = std::ptr::null_mut();
        if segment > 0 || source.is_some() {
            let control = &mut self.batch.controls[at];
            header.msg_controllen = control::write(control, segment, source);
            header.msg_control = control.0.as_mut_ptr().cast();
        }
        self.messages += 1;
        true
    }

    /// Sends the messages from number `from` on; returns how many the kernel took. Call again
    /// for the rest.
    ///
    /// # Errors
    /// The kernel's for message number `from`: `WouldBlock` when its queue is full, an earlier
    /// ICMP error, a size or destination that it refuses. That message was not sent.
    pub fn send(&mut self, socket: &DatagramSocket, from: usize) -> io::Result<usize> {
        let headers = &mut self.batch.headers[from.min(self.messages)..self.messages];
        if headers.is_empty() {
            return Ok(0);
        }
        // SAFETY: each of these headers was filled by `push`: names, controls and vectors live in
        // the batch, which is borrowed and never resized; the bytes live for 'a, which outlives
        // `self`. The kernel only reads them.
        let sent = unsafe {
            libc::sendmmsg(
                socket.fd(),
                headers.as_mut_ptr(),
                place(headers.len()),
                libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
            )
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interest, Poll, ReceiveBatch, SocketOptions};

    fn socket(address: &str) -> DatagramSocket {
        DatagramSocket::bind(address.parse().unwrap(), &SocketOptions::default()).unwrap()
    }

    /// Receives until `count` datagrams came, as (bytes, local address beside them).
    fn collect(socket: &DatagramSocket, count: usize) -> Vec<(Vec<u8>, Option<IpAddr>)> {
        let mut poll = Poll::new().unwrap();
        poll.add(socket, 0, Interest::Read).unwrap();
        let mut batch = ReceiveBatch::new();
        let mut got = Vec::new();
        while got.len() < count {
            poll.wait(None).unwrap();
            batch.receive(socket).unwrap();
            for datagram in batch.datagrams() {
                got.extend(datagram.segments().map(|s| (s.to_vec(), datagram.local)));
            }
        }
        got
    }

    #[test]
    fn a_run_of_equal_datagrams_crosses_the_kernel_as_one_and_arrives_as_many() {
        for wildcard in ["0.0.0.0:0", "[::]:0"] {
            let receiver = socket(wildcard);
            let loopback: IpAddr = if receiver.local().is_ipv4() {
                [127, 0, 0, 1].into()
            } else {
                "::1".parse().unwrap()
            };
            let sender = socket(&SocketAddr::new(loopback, 0).to_string());
            let remote = SocketAddr::new(loopback, receiver.local().port());
            let pieces: Vec<Vec<u8>> = (0..5u8).map(|n| vec![n; 100]).collect();
            let tail = [9u8; 7];
            let mut batch = SendBatch::new();
            let mut filling = batch.fill();
            let parts = pieces.iter().map(Vec::as_slice).chain([&tail[..]]);
            assert!(filling.push(&remote, None, 100, parts));
            assert!(filling.push(&remote, None, 0, [&b"alone"[..]].into_iter()));
            assert_eq!(filling.send(&sender, 0).unwrap(), 2);
            let got = collect(&receiver, 7);
            let bytes: Vec<_> = got.iter().map(|(bytes, _)| bytes.clone()).collect();
            let mut want = pieces.clone();
            want.extend([tail.to_vec(), b"alone".to_vec()]);
            assert_eq!(bytes, want);
            assert!(got.iter().all(|(_, local)| *local == Some(loopback)));
        }
    }

    #[test]
    fn the_source_address_can_be_chosen_on_a_wildcard_socket() {
        let receiver = socket("127.0.0.1:0");
        let sender = socket("0.0.0.0:0");
        let mut batch = SendBatch::new();
        let mut filling = batch.fill();
        let source = Some([127, 0, 0, 77].into());
        assert!(filling.push(&receiver.local(), source, 0, [&b"x"[..]].into_iter()));
        assert_eq!(filling.send(&sender, 0).unwrap(), 1);
        let mut poll = Poll::new().unwrap();
        poll.add(&receiver, 0, Interest::Read).unwrap();
        poll.wait(None).unwrap();
        let mut batch = ReceiveBatch::new();
        batch.receive(&receiver).unwrap();
        let remotes: Vec<IpAddr> = batch.datagrams().map(|d| d.remote.ip()).collect();
        assert_eq!(remotes, [IpAddr::from([127, 0, 0, 77])]);
    }

    #[test]
    fn a_full_batch_refuses_the_next_message_and_keeps_the_others() {
        let mut batch = SendBatch::new();
        let mut filling = batch.fill();
        let remote: SocketAddr = "127.0.0.1:9".parse().unwrap();
        for _ in 0..SEND_MESSAGES_MAX {
            assert!(filling.push(&remote, None, 0, [&b"x"[..]].into_iter()));
        }
        assert!(!filling.push(&remote, None, 0, [&b"x"[..]].into_iter()));
        assert_eq!(filling.len(), SEND_MESSAGES_MAX);
    }

    #[test]
    fn an_icmp_error_names_the_remote_that_is_not_there() {
        for loopback in ["127.0.0.1:0", "[::1]:0"] {
            let gone = socket(loopback).local();
            let sender = socket(loopback);
            let mut batch = SendBatch::new();
            let mut filling = batch.fill();
            assert!(filling.push(&gone, None, 0, [&b"x"[..]].into_iter()));
            assert_eq!(filling.send(&sender, 0).unwrap(), 1);
            let mut poll = Poll::new().unwrap();
            poll.add(&sender, 0, Interest::Read).unwrap();
            assert!(poll.wait(None).unwrap()[0].error);
            let mut errors = Vec::new();
            sender.errors(8, &mut errors);
            assert_eq!(errors[0].remote, gone);
            assert_eq!(errors[0].errno, libc::ECONNREFUSED);
        }
    }
}
