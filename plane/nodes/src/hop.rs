//! What the fields of a [`table::hop::Line`] mean to these nodes.

/// `Line::next` of a rewrite that ends with the EtherType of IPv4.
pub const NEXT_IP4: u16 = 4;
/// `Line::next` of a rewrite that ends with the EtherType of IPv6.
pub const NEXT_IP6: u16 = 6;
/// `Line::next` of a rewrite that ends with labels has this bit; the others say of what form
/// (`mpls::push`).
pub const NEXT_LABELS: u16 = 1 << 15;

/// `Line::reason`: there is no route.
pub const NO_ROUTE: u16 = 0;
/// `Line::reason`: silently.
pub const BLACKHOLE: u16 = 1;
/// `Line::reason`: the sender hears of it.
pub const UNREACHABLE: u16 = 2;
/// `Line::reason`: the sender hears that it may not.
pub const PROHIBITED: u16 = 3;
/// `Line::reason`: the interface is down, or a group has no member.
pub const DOWN: u16 = 4;
/// `Line::reason`: the broadcast address of a subnet.
pub const BROADCAST: u16 = 5;

/// `Line::argument` of a local line whose packets were sent to all hosts of a subnet.
pub const TO_ALL: u32 = 1;
