//! A plain UPDATE is read without allocating, and packed without allocating more than the buffer.
//! A program of its own: what counts allocations replaces the allocator of all of it.
#![allow(clippy::unwrap_used, missing_docs)]

#[allow(dead_code, reason = "it needs a part")]
#[path = "it/every/mod.rs"]
mod every;

use bgp::codec::{AttributeType, Messages, Update};
use bgp::family::{Ipv4Prefix, Ipv4Routes};
use bgp::pack::{Announcement, Limits};

#[test]
fn reading_and_packing_updates_allocates_nothing() {
    let limits = Limits { message_max: 4_096, add_path: false };
    let attributes = every::all_attributes();
    let prefix = |number: u32| Ipv4Prefix::new((number << 8).into(), 24).unwrap();
    let mut buffer = Vec::with_capacity(1 << 20);
    let packed = allocation_counter::measure(|| {
        let mut packing = Announcement::plain(limits, &attributes, &mut buffer).unwrap();
        (0..100_000).for_each(|number| packing.prefix(0, prefix(number)));
        assert_eq!(packing.finish(), 100_000);
    });
    assert_eq!(packed.count_total, 0);
    let context = every::context();
    let (mut sum, mut octets) = (0u64, 0);
    let read = allocation_counter::measure(|| {
        let mut scratch = Vec::new();
        for (_, message) in Messages::new(&buffer, 4_096) {
            let update = Update::read(message, &context).unwrap();
            octets += update.canonical(&mut scratch).len();
            octets += update.value(AttributeType::Communities).map_or(0, <[u8]>::len);
            octets += update.as_path().hops();
            for (_, prefix) in Ipv4Routes::new(update.announced().octets(), false) {
                sum += prefix.packed();
            }
        }
    });
    assert!(sum > 0 && octets > 0);
    assert_eq!(read.count_total, 0);
    // Those of other families as well.
    let updates = every::updates(every::routes);
    let mut count = 0;
    let read = allocation_counter::measure(|| {
        for (_, message) in &updates {
            let update = Update::read(message, &context).unwrap();
            count += update.reach().map_or(0, |it| it.routes.count());
            count += update.unreach().map_or(0, |it| it.routes.count());
        }
    });
    assert!(count > 50);
    assert_eq!(read.count_total, 0);
    let control = allocation_counter::measure(|| drop(buffer.clone()));
    assert_eq!(control.count_total, 1, "the counter counts");
}
