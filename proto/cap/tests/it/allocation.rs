//! Reading allocates nothing.

use crate::values::{types, value};
use ber::Element;

#[test]
fn a_checked_read_of_any_type_allocates_nothing() {
    let values: Vec<_> = types().into_iter().map(|of| (of, value(of, 7))).collect();
    let info = allocation_counter::measure(|| {
        for (of, octets) in &values {
            let element = Element::only(octets).expect("it is an element");
            of.check_tagged(&element).expect("it is of its type");
        }
    });
    assert_eq!(info.count_total, 0);
}
