//! usrsctp (Debian `libusrsctp-dev`) in both roles over IP protocol 132, in namespaces of its own:
//! two stacks with raw sockets must not share one, as each answers the other's packets by an ABORT.
//! Needs root and a C compiler; without them the tests fail and say what is missing.

use crate::node::wire::Wire;
use crate::peer::{Field, Place, against};
use attack::{Namespace, Veth};
use peers::{GUEST_ADDRESSES, ProcessSpec, Talk};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering};

const GUEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/guest");

/// The driver program on top of usrsctp. Another process of these tests may start it while this
/// one makes it: under its name there is a whole one at any time.
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = directory.join("association-usrsctp");
    let made = directory.join(format!("association-usrsctp.{}", std::process::id()));
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-DUSRSCTP", "-o"]).arg(&made);
    compiler.arg(Path::new(GUEST).join("association.c")).arg("-lusrsctp");
    let output = compiler.output().expect("there is no C compiler (Debian: build-essential)");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "is usrsctp there (Debian: libusrsctp-dev)? {words}");
    std::fs::rename(&made, &program).unwrap();
    program
});

struct Usrsctp;

const MACS: [[u8; 6]; 2] = [[2, 0, 0, 2, 0, 1], [2, 0, 0, 2, 0, 2]];

fn mac_words(mac: [u8; 6]) -> String {
    mac.map(|octet| format!("{octet:02x}")).join(":")
}

impl Field for Usrsctp {
    fn place(&self) -> Place {
        static NEXT: AtomicU8 = AtomicU8::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let [here, there] = ["here", "there"].map(|end| {
            Namespace::new(&format!("usrsctp-{end}{number}")).expect("namespaces need root")
        });
        let mut wires = Vec::new();
        for (path, address) in GUEST_ADDRESSES.iter().enumerate() {
            let (ours, theirs) = (format!("near{path}"), format!("far{path}"));
            let (near, far) = (mac_words(MACS[0]), mac_words(MACS[1]));
            Veth::pair(
                Veth { namespace: &here, interface: &ours, addresses: &[], mac: &near },
                Veth {
                    namespace: &there,
                    interface: &theirs,
                    addresses: &[&format!("{address}/24")],
                    mac: &far,
                },
            )
            .unwrap();
            let [a, b, c, _] = address.octets();
            let name = here.name();
            let inside = || {
                attack::enter(name).unwrap();
                Wire::open(&ours, [a, b, c, 1].into(), MACS[0], MACS[1])
            };
            wires.push(std::thread::scope(|scope| scope.spawn(inside).join().unwrap()));
        }
        let start = move |words: &str| {
            // It stands as long as programs are started.
            let _ = &here;
            let mut spec = ProcessSpec::new("association", &*PROGRAM, Path::new("/"));
            spec.namespace = Some(there.name().into());
            Talk::start(&spec.with(words.split_whitespace())).unwrap()
        };
        Place { wires, start: Box::new(start) }
    }
}

against! {
    Usrsctp;
    associations:
        messages_of_all_sizes_come_back_from_the_peer_in_order,
        what_the_peer_sends_arrives_and_it_ends_in_order,
        megabytes_pass_both_ways_at_once_with_one_packet_of_forty_lost,
        an_abort_of_either_side_ends_it_at_once,
        a_restart_of_ours_is_noticed_and_the_association_goes_on,
        a_port_where_nobody_listens_refuses_on_both_sides;
    extensions:
        i_data_that_fits_a_packet_passes_both_ways,
        by_i_data_a_short_message_passes_a_long_one_of_another_stream,
        i_data_of_the_peer_is_put_together,
        streams_are_reset_at_our_wish,
        streams_are_reset_and_added_and_everything_begins_anew_at_the_wish_of_the_peer,
        messages_of_ours_whose_time_is_over_are_skipped,
        messages_of_the_peer_whose_time_is_over_are_skipped,
        data_is_authenticated_both_ways_with_keys_that_change,
        the_peer_takes_our_address_changes,
        we_take_the_address_changes_of_the_peer;
    failover:
        messages_of_ours_go_on_by_the_second_path_when_the_first_is_cut_and_return_when_it_heals,
        messages_of_the_peer_go_on_by_the_second_path_when_the_first_is_cut,
        the_primary_is_chosen_by_either_side,
        without_any_path_both_sides_give_up;
}
