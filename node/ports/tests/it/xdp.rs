//! `AF_XDP` on veths.

use crate::echo::{Host, frames};
use crate::field::{FAR_MAC, Field, NEAR_MAC};
use crate::packet::{answers_pings, mirrors_everything};
use driver::Redirect;
use driver::packet::{Offload, PacketBatch, PacketSocket};
use graph::{Pool, STRIDE, Slot};
use ports::xdp::{ENTRIES, Umem, XdpPort};
use ports::{Device, Port, SendDrop};

const SLOTS: usize = 8_192;

fn host(pool: Pool) -> Host {
    let redirect = Redirect::attach("near0").unwrap();
    assert!(redirect.is_native(), "veth can");
    let mut umem = Umem::new(&pool, false).unwrap();
    let port = XdpPort::open(&redirect, 0, ENTRIES, &mut umem).unwrap();
    let mut host = Host::new(Port::Xdp(port), pool);
    host.port.attend(&mut host.pool);
    host
}

#[test]
fn the_kernel_pings_through_an_xdp_port() {
    let field = Field::joined("xdp-ping");
    field.in_far(|| Device::open("far0").unwrap().set_offloads_off().unwrap());
    let mut host = host(Pool::new(SLOTS, STRIDE));
    assert_eq!((host.port.mac(), host.port.mtu(), host.port.is_up()), (NEAR_MAC, 1_500, true));
    answers_pings(&field, &mut host);
    let Host { port, mut pool, .. } = host;
    assert_eq!(port.close(&mut pool), 0);
    assert_eq!(pool.free_slots(), SLOTS, "every cell is back");
}

#[test]
fn frames_of_all_lengths_pass_an_xdp_port_bit_by_bit() {
    let field = Field::joined("xdp-bits");
    let mut host = host(Pool::new(SLOTS, STRIDE));
    let socket = field.in_far(|| PacketSocket::open("far0", 8 << 20).unwrap());
    mirrors_everything(&socket, &mut host);
}

#[test]
fn what_comes_in_by_one_port_leaves_by_another_from_the_same_cell() {
    let field = Field::joined("xdp-across");
    field.near_ip("link add near1 type veth peer name out1");
    field.near_ip("link set near1 up");
    field.near_ip("link set out1 up");
    let mut pool = Pool::new(SLOTS, STRIDE);
    let mut umem = Umem::new(&pool, false).unwrap();
    let mut open = |name| {
        let redirect = Redirect::attach(name).unwrap();
        Port::Xdp(XdpPort::open(&redirect, 0, ENTRIES, &mut umem).unwrap())
    };
    let (mut first, mut second) = (open("near0"), open("near1"));
    first.attend(&mut pool);
    second.attend(&mut pool);
    let sender = field.in_far(|| PacketSocket::open("far0", 1 << 20).unwrap());
    let receiver = PacketSocket::open("out1", 8 << 20).unwrap();
    let wanted = frames(NEAR_MAC, FAR_MAC);
    let (mut batch, mut got, mut cells) = (PacketBatch::new(), Vec::new(), Vec::new());
    for some in wanted.chunks(32) {
        let with = some.iter().map(|frame| (Offload::default(), &frame[..]));
        assert_eq!(sender.send(with).unwrap(), some.len());
        for _ in 0..200 {
            first.receive(&mut pool, &mut cells);
            second.send(&mut pool, &mut cells);
            batch.receive(&receiver).unwrap();
            for frame in batch.frames() {
                let tag = frame.tag.map(|tag| tag.to_vec()).unwrap_or_default();
                got.push([frame.head, &tag, frame.tail].concat());
            }
        }
    }
    assert!(got == wanted, "{} of {}", got.len(), wanted.len());
    assert_eq!((first.close(&mut pool), second.close(&mut pool)), (0, 0));
    assert_eq!(pool.free_slots(), SLOTS);
}

#[test]
fn a_port_is_opened_again_after_it_was_closed_and_after_the_first_of_two_was() {
    let field = Field::joined("xdp-again");
    field.near_ip("link add near1 type veth peer name out1");
    field.near_ip("link set near1 up");
    field.near_ip("link set out1 up");
    let mut pool = Pool::new(SLOTS, STRIDE);
    let mut umem = Umem::new(&pool, false).unwrap();
    let redirects = ["near0", "near1"].map(|name| Redirect::attach(name).unwrap());
    let mut open = |at: usize| Port::Xdp(XdpPort::open(&redirects[at], 0, 256, &mut umem).unwrap());
    let (first, second) = (open(0), open(1));
    first.close(&mut pool);
    let again = open(0);
    second.close(&mut pool);
    again.close(&mut pool);
    open(1).close(&mut pool);
    assert_eq!(pool.free_slots(), SLOTS);
    let fresh = Redirect::attach("near0");
    assert!(fresh.is_err(), "another has the whole interface");
}

#[test]
fn what_a_full_queue_or_a_link_that_is_down_sheds_is_counted_and_comes_back() {
    let field = Field::joined("xdp-full");
    let mut pool = Pool::new(SLOTS, STRIDE);
    let mut umem = Umem::new(&pool, true).unwrap();
    let redirect = Redirect::attach("near0").unwrap();
    let mut port = Port::Xdp(XdpPort::open(&redirect, 0, 64, &mut umem).unwrap());
    let mut slots: Vec<Slot> = (0..100).map(|_| pool.put(&[0x42; 60]).unwrap()).collect();
    slots.push(pool.put(&[1; 1_600]).unwrap());
    slots.insert(0, pool.put(&[1; 1_600]).unwrap());
    port.send(&mut pool, &mut slots);
    let counters = port.counters();
    assert_eq!((counters.sent.packets, counters.not_sent(SendDrop::TooLong)), (64, 1));
    assert_eq!(counters.not_sent(SendDrop::QueueFull), 37);
    field.near_ip("link set near0 down");
    port.attend(&mut pool);
    assert!(!port.is_up());
    let mut slots = vec![pool.put(&[1; 60]).unwrap()];
    port.send(&mut pool, &mut slots);
    assert_eq!(port.counters().not_sent(SendDrop::Down), 1);
    port.close(&mut pool);
    assert_eq!(pool.free_slots(), SLOTS);
}

#[test]
fn an_interface_whose_driver_cannot_is_served_in_the_generic_way() {
    let _field = Field::bare("xdp-generic");
    let mut pool = Pool::new(2_048, STRIDE);
    let redirect = Redirect::attach("lo").unwrap();
    assert!(!redirect.is_native());
    let mut umem = Umem::new(&pool, false).unwrap();
    let port = XdpPort::open(&redirect, 0, 256, &mut umem).unwrap();
    assert!(!port.is_zero_copy());
    let mut port = Port::Xdp(port);
    port.attend(&mut pool);
    let sender = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let mark = b"a frame of its own, told from all others";
    sender.send_to(mark, "127.0.0.1:9").unwrap();
    let mut slots = Vec::new();
    for _ in 0..30_000 {
        port.receive(&mut pool, &mut slots);
        if slots.iter().any(|slot| pool.bytes(*slot).ends_with(mark)) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("{:?}", port.counters());
}
