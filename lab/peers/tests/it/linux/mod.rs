//! The Linux kernel's own SCTP in both roles, over IP protocol 132, and its ESP, with TCP inside
//! too: a kernel of Debian's in qemu, booted once for all tests of this module, and osmo-stp in it.
//! Needs root, qemu and, the first time, the packages of the guest; without them the tests fail and
//! say what is missing.
//!
//! `cargo test -p tandem-peers --test it linux`

mod asp;
mod esp;
mod guest;
mod msc;
mod programs;
mod sccp;
mod sccp_node;
mod stp;
mod tcp;

use crate::peer::against;

against! {
    guest::LINUX;
    associations:
        messages_of_all_sizes_come_back_from_the_peer_in_order,
        what_the_peer_sends_arrives_and_it_ends_in_order,
        megabytes_pass_both_ways_at_once_with_one_packet_of_forty_lost,
        an_abort_of_either_side_ends_it_at_once,
        a_restart_of_ours_is_noticed_and_the_association_goes_on,
        a_port_where_nobody_listens_refuses_on_both_sides;
    extensions:
        i_data_that_fits_a_packet_passes_both_ways,
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
