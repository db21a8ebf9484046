//! What the bench measures: the answer is the same by all codecs, and ours allocate nothing.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../benches/hlr/ours.rs"]
mod ours;
#[path = "../../benches/hlr/theirs.rs"]
mod theirs;

#[test]
fn an_hlr_answers_the_same_by_the_crates_of_others_and_ours_allocate_nothing() {
    let (message, mut buffers) = (ours::request(), ours::Buffers::default());
    ours::turn(&message, &mut buffers);
    let counted = allocation_counter::measure(|| ours::turn(&message, &mut buffers));
    assert_eq!(counted.count_total, 0);
    assert_eq!(theirs::turn(&message), buffers.m3ua);
}
