use super::*;
use crate::ReceiveDrop;
use crate::shared::{Descriptor, NEXT};
use graph::STRIDE;
use std::path::PathBuf;

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("tandem-memif-{}-{name}", std::process::id()))
}

struct End {
    port: MemifPort,
    pool: Pool,
}

impl End {
    fn new(spec: &Spec) -> Self {
        Self { port: MemifPort::open(spec).unwrap(), pool: Pool::new(256, STRIDE) }
    }

    fn attend(&mut self) {
        self.port.attend(&mut self.pool);
    }

    fn send(&mut self, packets: &[Vec<u8>]) {
        let mut slots = packets.iter().map(|packet| self.pool.put(packet).unwrap()).collect();
        self.port.send(&mut self.pool, &mut slots);
    }

    fn receive(&mut self) -> Vec<Vec<u8>> {
        let mut slots = Vec::new();
        self.port.receive(&mut self.pool, &mut slots);
        let packets = slots.iter().map(|slot| self.pool.bytes(*slot).to_vec()).collect();
        self.pool.free_all(&slots);
        packets
    }
}

fn agree(master: &mut End, slave: &mut End) {
    for _ in 0..60_000 {
        slave.attend();
        master.attend();
        if slave.port.is_up() && master.port.is_up() {
            return;
        }
        // There is a pause between two connections.
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("no agreement: {slave:?} {master:?}", slave = slave.port, master = master.port);
}

fn pair(name: &str, change: impl Fn(&mut Spec)) -> (End, End) {
    let mut spec = Spec::new(&path(name), 3, Role::Master, MAC);
    change(&mut spec);
    let mut master = End::new(&spec);
    let mut slave = End::new(&Spec { role: Role::Slave, ..spec });
    agree(&mut master, &mut slave);
    (master, slave)
}

fn packets(count: usize, longest: usize) -> Vec<Vec<u8>> {
    let length = |n: usize| 60 + n * 97 % (longest - 59);
    (0..count).map(|n| (0..length(n)).map(|at| (at * 3 + n) as u8).collect()).collect()
}

#[test]
fn packets_pass_both_ways_many_times_around_the_rings() {
    let (mut master, mut slave) = pair("around", |spec| spec.log2_size = 4);
    let some = packets(9, 1_514);
    for _ in 0..10_000 {
        master.send(&some);
        slave.send(&some);
        assert!(slave.receive() == some && master.receive() == some);
    }
    assert_eq!((master.pool.free_slots(), slave.pool.free_slots()), (256, 256));
    assert_eq!(master.port.counters().sent, slave.port.counters().received);
}

#[test]
fn a_packet_longer_than_a_buffer_goes_in_pieces() {
    let (mut master, mut slave) = pair("pieces", |spec| {
        (spec.buffer_octets, spec.log2_size) = (64, 5);
    });
    let some = packets(3, 600);
    for _ in 0..1_000 {
        master.send(&some);
        slave.send(&some);
        assert!(slave.receive() == some && master.receive() == some);
    }
}

#[test]
fn what_a_full_ring_does_not_take_is_dropped_at_the_tail() {
    let (mut master, mut slave) = pair("full", |spec| spec.log2_size = 2);
    let some = packets(6, 100);
    master.send(&some);
    slave.send(&some);
    assert_eq!(master.port.counters().not_sent(SendDrop::QueueFull), 2);
    assert_eq!(slave.port.counters().not_sent(SendDrop::QueueFull), 2);
    assert_eq!((slave.receive(), master.receive()), (some[..4].to_vec(), some[..4].to_vec()));
    let longer = packets(4, 1_514).into_iter().map(|_| vec![1; 1_523]).collect::<Vec<_>>();
    slave.send(&longer[..1]);
    assert_eq!(slave.port.counters().not_sent(SendDrop::TooLong), 1);
}

#[test]
fn flows_are_spread_over_the_rings_and_no_ring_is_no_way() {
    let (mut master, mut slave) = pair("rings", |spec| spec.rings = (3, 2));
    let mut slots: Vec<_> = (0..60).map(|n| slave.pool.put(&[n; 60]).unwrap()).collect();
    for (slot, n) in slots.iter().zip(0..) {
        let meta = slave.pool.meta_mut(*slot);
        (meta.flags, meta.hash) = (HASHED, n);
    }
    slave.port.send(&mut slave.pool, &mut slots);
    let waiting = master.port.rings.as_ref().unwrap().receive.iter();
    assert_eq!(waiting.map(|queue| queue.ring.head()).collect::<Vec<_>>(), [20, 20, 20]);
    let mut got = master.receive();
    got.sort_unstable();
    assert_eq!(got, (0..60).map(|n| vec![n; 60]).collect::<Vec<_>>());
    let (mut master, mut slave) = pair("none", |spec| spec.rings = (0, 1));
    slave.send(&packets(1, 60));
    assert_eq!(slave.port.counters().not_sent(SendDrop::Down), 1);
    master.send(&packets(1, 60));
    assert_eq!(slave.receive(), packets(1, 60));
}

#[test]
fn a_master_refuses_a_wrong_secret_and_a_wrong_number() {
    let spec = Spec {
        secret: *b"known to both of the two",
        ..Spec::new(&path("secret"), 3, Role::Master, MAC)
    };
    let mut master = End::new(&spec);
    let slave = Spec { role: Role::Slave, ..spec };
    for wrong in [Spec { secret: [0; SECRET], ..slave.clone() }, Spec { id: 4, ..slave.clone() }] {
        let mut slave = End::new(&wrong);
        for _ in 0..50 {
            slave.attend();
            master.attend();
            assert!(!slave.port.is_up() && !master.port.is_up());
        }
    }
    agree(&mut master, &mut End::new(&slave));
}

#[test]
fn either_end_comes_back_after_it_was_gone() {
    let (mut master, mut slave) = pair("back", |_| ());
    let (master_spec, slave_spec) = (master.port.hub.spec().clone(), slave.port.hub.spec().clone());
    assert_eq!(slave.port.close(&mut slave.pool), 0);
    master.attend();
    assert!(!master.port.is_up());
    master.send(&packets(1, 60));
    assert_eq!(master.port.counters().not_sent(SendDrop::Down), 1);
    let mut slave = End::new(&slave_spec);
    agree(&mut master, &mut slave);
    drop(master);
    slave.attend();
    slave.attend();
    assert!(!slave.port.is_up());
    let mut master = End::new(&master_spec);
    agree(&mut master, &mut slave);
    slave.send(&packets(5, 900));
    assert_eq!(master.receive(), packets(5, 900));
}

#[test]
fn a_second_master_is_refused_and_a_socket_left_behind_taken_over() {
    let spec = Spec::new(&path("left"), 0, Role::Master, MAC);
    let first = MemifPort::open(&spec).unwrap();
    assert_eq!(MemifPort::open(&spec).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    drop(first);
    assert!(!spec.socket.exists());
    // What a process that was killed leaves: a socket where nobody listens.
    drop(std::os::unix::net::UnixListener::bind(&spec.socket).unwrap());
    assert!(spec.socket.exists());
    let master = MemifPort::open(&spec).unwrap();
    drop(master);
}

#[test]
fn a_sleeper_is_woken_by_the_other_end_and_by_nothing_else() {
    let spec = Spec::new(&path("sleep"), 3, Role::Master, MAC);
    let mut master = End::new(&spec);
    // Workers wait at a port from its beginning, whoever comes and goes.
    let mut outer = Poll::new().unwrap();
    outer.add(&master.port.descriptor(), 1, Interest::Read).unwrap();
    let spec = Spec { role: Role::Slave, ..spec };
    agree(&mut master, &mut End::new(&spec));
    master.attend();
    let mut slave = End::new(&spec);
    agree(&mut master, &mut slave);
    let none = Some(std::time::Duration::ZERO);
    slave.send(&packets(1, 60));
    assert!(outer.wait(none).unwrap().is_empty(), "awake: no interrupt is written");
    assert!(!master.port.doze(), "something is there");
    master.port.rise();
    assert_eq!(master.receive().len(), 1);
    assert!(master.port.doze());
    slave.send(&packets(1, 60));
    assert_eq!(outer.wait(None).unwrap().len(), 1);
    master.port.rise();
    assert!(outer.wait(none).unwrap().is_empty(), "the interrupt is forgotten");
    assert!(master.port.doze() || master.receive().len() == 1);
}

#[test]
fn a_peer_that_makes_its_interrupts_block_holds_no_worker_up() {
    use std::os::fd::AsRawFd;
    let (mut master, mut slave) = pair("blocks", |_| ());
    // Each end reads by an eventfd that the other has as well.
    for rings in [&slave.port.rings, &master.port.rings] {
        let fd = rings.as_ref().unwrap().receive[0].ring.interrupts();
        let full = u64::MAX - 1;
        // SAFETY: takes numbers, and writes eight octets of an integer.
        unsafe {
            assert_eq!(libc::fcntl(fd.as_fd().as_raw_fd(), libc::F_SETFL, 0), 0);
            libc::write(fd.as_fd().as_raw_fd(), (&raw const full).cast(), 8);
        }
    }
    for end in [&mut slave, &mut master] {
        end.port.doze();
    }
    master.send(&packets(3, 60));
    slave.send(&packets(3, 60));
    for end in [&mut slave, &mut master] {
        end.port.rise();
        end.port.rise();
        assert_eq!(end.receive().len(), 3);
    }
}

/// Has whoever rings an eventfd walk over tens of thousands of waiters.
fn crowd(fd: &std::os::fd::OwnedFd) -> (Vec<std::os::fd::OwnedFd>, Vec<Poll>) {
    let copies: Vec<_> = (0..60).map(|_| fd.try_clone().unwrap()).collect();
    let polls: Vec<_> = (0..300).map(|_| Poll::new().unwrap()).collect();
    for poll in &polls {
        copies.iter().for_each(|copy| poll.add(copy, 0, Interest::Read).unwrap());
    }
    (copies, polls)
}

#[test]
fn a_peer_whose_interrupts_take_their_time_is_let_go() {
    use std::io::Write;
    for is_rung in [true, false] {
        let (mut master, mut slave) = pair(if is_rung { "slow" } else { "slow-read" }, |_| ());
        let reader = if is_rung { &slave } else { &master };
        let fd = reader.port.rings.as_ref().unwrap().receive[0].ring.interrupts();
        let fd = fd.as_fd().try_clone_to_owned().unwrap();
        let _crowd = crowd(&fd);
        let mut slow = std::fs::File::from(fd);
        for _ in 0..200 {
            if is_rung {
                slave.port.doze();
                master.send(&packets(1, 60));
                slave.receive();
            } else {
                slow.write_all(&1_u64.to_ne_bytes()).unwrap();
                master.port.rise();
            }
        }
        master.attend();
        assert!(!master.port.is_up(), "{is_rung}");
    }
}

#[test]
fn a_slave_that_lies_about_its_descriptors_harms_nobody() {
    let (mut master, mut slave) = pair("lies", |_| ());
    let queue = |end: &End| Arc::clone(&end.port.rings.as_ref().unwrap().send[0]);
    let ring = |end: &End| queue(end).lock().unwrap().ring.head();
    let lie = |end: &End, number, (flags, region), length, offset| {
        let queue = queue(end);
        let queue = queue.lock().unwrap();
        let descriptor = Descriptor { flags, region, length, offset, metadata: 0 };
        queue.ring.set_descriptor(number, descriptor);
        queue.ring.set_head(number + 1);
    };
    let start = ring(&slave);
    lie(&slave, start, (0, 0), 60, u32::MAX - 10);
    lie(&slave, start + 1, (0, 0), u32::MAX, 0);
    assert!(master.receive().is_empty());
    let counters = master.port.counters();
    assert_eq!(counters.not_received(ReceiveDrop::Malformed), 1);
    assert_eq!(counters.not_received(ReceiveDrop::TooLong), 1);
    assert_eq!(master.pool.free_slots(), 256);
    // What no slave can mean ends the connection: a region that is not there, a packet of more
    // pieces than a cell can need, a ring with more than it holds.
    let ends: [&dyn Fn(&End); 3] = [
        &|slave: &End| lie(slave, ring(slave), (0, 7), 60, 0),
        &|slave: &End| (0..200).for_each(|_| lie(slave, ring(slave), (NEXT, 0), 1, 0)),
        &|slave: &End| queue(slave).lock().unwrap().ring.set_head(5_000),
    ];
    for what in ends {
        what(&slave);
        assert!(master.receive().is_empty());
        master.attend();
        assert!(!master.port.is_up());
        assert_eq!(master.pool.free_slots(), 256);
        slave.attend();
        agree(&mut master, &mut slave);
    }
}

#[test]
fn descriptors_that_are_worth_nothing_are_looked_at_a_few_at_a_time() {
    let (mut master, slave) = pair("nothing", |spec| spec.log2_size = 12);
    let queue = Arc::clone(&slave.port.rings.as_ref().unwrap().send[0]);
    let too_long = Descriptor { length: u32::MAX, ..Descriptor::default() };
    {
        let queue = queue.lock().unwrap();
        (0..4_096).for_each(|number| queue.ring.set_descriptor(number, too_long));
        queue.ring.set_head(4_096);
    }
    for call in 1..=8 {
        assert!(master.receive().is_empty());
        assert_eq!(master.port.counters().not_received(ReceiveDrop::TooLong), call * 512);
    }
}

#[test]
fn past_the_limits_nothing_is_opened() {
    let spec = Spec::new(&path("limits"), 0, Role::Slave, MAC);
    for wrong in [
        Spec { rings: (RINGS_MAX + 1, 1), ..spec.clone() },
        Spec { log2_size: LOG2_SIZE_MAX + 1, ..spec.clone() },
        Spec { buffer_octets: 100, ..spec },
    ] {
        assert_eq!(MemifPort::open(&wrong).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}

/// The parts of one end, each of a worker of its own.
fn parts(spec: &Spec, count: usize) -> Vec<End> {
    let hub = Hub::new(spec, count);
    let join = |part| MemifPort::join(&hub, part).unwrap();
    (0..count).map(|part| End { port: join(part), pool: Pool::new(256, STRIDE) }).collect()
}

fn all_agree(master: &mut [End], slave: &mut [End]) {
    for _ in 0..60_000 {
        slave.iter_mut().chain(&mut *master).for_each(End::attend);
        if slave[0].port.is_up() && master[0].port.is_up() {
            return slave.iter_mut().chain(master).for_each(End::attend);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("no agreement");
}

#[test]
fn workers_have_rings_of_their_own_and_share_them_where_there_are_fewer() {
    for (name, rings, workers) in [("own", (2, 2), 2), ("dealt", (4, 6), 2), ("few", (1, 2), 3)] {
        let spec = Spec { rings, ..Spec::new(&path(name), 3, Role::Master, MAC) };
        let mut masters = parts(&spec, workers);
        let mut slaves = parts(&Spec { role: Role::Slave, ..spec }, workers);
        all_agree(&mut masters, &mut slaves);
        let some = packets(5, 600);
        for (from, to) in [(0, 1), (1, 0)] {
            let ends = [&mut masters, &mut slaves];
            ends[from].iter_mut().for_each(|end| end.send(&some));
            let mut got: Vec<_> = ends[to].iter_mut().flat_map(End::receive).collect();
            let mut wanted = vec![some.clone(); workers].concat();
            got.sort_unstable();
            wanted.sort_unstable();
            assert!(got == wanted, "{name}: what all workers sent arrives once");
        }
        let share = |end: &End| {
            let rings = end.port.rings.as_ref().unwrap();
            (rings.receive.len(), rings.send.len())
        };
        let shares: Vec<_> = masters.iter().map(share).collect();
        let (receive, send) = rings;
        let wanted = (0..workers).map(|at| {
            let dealt = |count: usize| count / workers + usize::from(at < count % workers);
            (dealt(receive), dealt(send).max(1))
        });
        assert_eq!(shares, wanted.collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn a_connection_ends_and_comes_back_for_all_workers() {
    let spec = Spec { rings: (2, 2), ..Spec::new(&path("ends"), 3, Role::Master, MAC) };
    let mut masters = parts(&spec, 2);
    let slave = Spec { role: Role::Slave, ..spec.clone() };
    let mut slaves = parts(&slave, 2);
    all_agree(&mut masters, &mut slaves);
    drop(slaves);
    masters.iter_mut().for_each(End::attend);
    for master in &mut masters {
        assert!(!master.port.is_up());
        master.send(&packets(1, 60));
        assert_eq!(master.port.counters().not_sent(SendDrop::Down), 1);
    }
    let mut slaves = parts(&slave, 2);
    all_agree(&mut masters, &mut slaves);
    // What the second worker finds broken ends it for both.
    let ring = slaves[1].port.rings.as_ref().unwrap().send[0].clone();
    ring.lock().unwrap().ring.set_head(5_000);
    assert!(masters[1].receive().is_empty());
    masters.iter_mut().for_each(End::attend);
    assert!(masters.iter().all(|end| !end.port.is_up() && end.port.rings.is_none()));
    slaves.iter_mut().for_each(End::attend);
    all_agree(&mut masters, &mut slaves);
    slaves[1].send(&packets(3, 90));
    assert_eq!(masters[1].receive(), packets(3, 90));
    let third = MemifPort::join(&slaves[0].port.hub, 2);
    assert_eq!(third.unwrap_err().kind(), io::ErrorKind::InvalidInput);
}
