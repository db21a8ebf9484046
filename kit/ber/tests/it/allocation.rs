//! Reading allocates nothing.

use crate::shop::{LocationInfoWithLmsi, RoutingInfoForSmRes};
use ber::Element;

#[test]
fn a_checked_read_allocates_nothing() {
    let octets = [
        0x30, 0x80, 0x24, 7, 4, 2, 1, 2, 4, 1, 3, 0xa0, 0x80, 0x81, 1, 0x91, 4, 4, 1, 2, 3, 4, 0,
        0, 0, 0,
    ];
    let info = allocation_counter::measure(|| {
        let result = RoutingInfoForSmRes::read(Element::only(&octets).unwrap()).unwrap();
        assert_eq!(result.octets(RoutingInfoForSmRes::Imsi).unwrap(), [1, 2, 3][..]);
        let location = result.get(RoutingInfoForSmRes::Location).unwrap();
        let location = LocationInfoWithLmsi::read(location).unwrap();
        assert!(location.has(LocationInfoWithLmsi::Lmsi));
    });
    assert_eq!(info.count_total, 0);
}
