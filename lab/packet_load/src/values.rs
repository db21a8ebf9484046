//! What differs from flow to flow.

use crate::layer::Layer;
use crate::random::mix;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// A field of a header that differs from flow to flow.
#[derive(Debug, Clone)]
pub struct Vary {
    /// The header: its number in the stream's layers.
    pub layer: usize,
    /// Which field of it.
    pub part: Part,
    /// By what.
    pub values: Values,
}

/// A field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Source: link-layer address, IP address, port, an echo's identifier, or that of RTP.
    Source,
    /// Destination: link-layer address, IP address, port.
    Destination,
    /// The VLAN of a tag.
    Vlan,
    /// The label of a label stack entry.
    Label,
}

/// The value that a flow has.
#[derive(Debug, Clone)]
pub enum Values {
    /// `first + step * (flow / every % count)`.
    Count {
        /// That of the first flow.
        first: u128,
        /// From one value to the next.
        step: u128,
        /// Different values; at least 1.
        count: u32,
        /// Neighbouring flows with the same value; at least 1.
        every: u32,
    },
    /// One of a list, by `flow % length`.
    Table(Arc<[u128]>),
    /// `first` with its low bits by chance, the same for the same flow and seed.
    Random {
        /// The other bits.
        first: u128,
        /// How many are by chance, at most 64.
        bits: u8,
    },
}

impl Values {
    /// `count` numbers from `first` on, another one for every flow.
    #[must_use]
    pub fn count(first: impl Into<u128>, count: u32) -> Self {
        Self::Count { first: first.into(), step: 1, count, every: 1 }
    }

    /// The value of a flow; `None` if there is none.
    pub(crate) fn of(&self, flow: u32, seed: u64) -> Option<u128> {
        match self {
            Self::Count { first, step, count, every } => {
                let number = flow.checked_div(*every)?.checked_rem(*count)?;
                first.checked_add(step.checked_mul(number.into())?)
            }
            Self::Table(table) => table.get((flow as usize).checked_rem(table.len())?).copied(),
            Self::Random { first, bits } => {
                let mask =
                    u64::MAX.checked_shr(64 - u32::from((*bits).min(64))).unwrap_or_default();
                Some(first & !u128::from(mask) | u128::from(mix(seed ^ u64::from(flow)) & mask))
            }
        }
    }
}

fn link_address(value: u128) -> Option<[u8; 6]> {
    let [zero @ .., a, b, c, d, e, f] = value.to_be_bytes();
    (zero == [0; 10]).then_some([a, b, c, d, e, f])
}

/// `value` below `2^bits`.
fn narrow(value: u128, bits: u32) -> Option<u32> {
    (value >> bits == 0).then_some(value as u32)
}

impl Part {
    /// Sets the field; `None` if the layer has none such or the value does not fit.
    pub(crate) fn set(self, layer: &mut Layer, value: u128) -> Option<()> {
        match (self, layer) {
            (Self::Source, Layer::Ethernet { source: place, .. })
            | (Self::Destination, Layer::Ethernet { destination: place, .. }) => {
                *place = link_address(value)?;
            }
            (Self::Source, Layer::Ipv4 { source: place, .. })
            | (Self::Destination, Layer::Ipv4 { destination: place, .. }) => {
                *place = Ipv4Addr::from_bits(narrow(value, 32)?);
            }
            (Self::Source, Layer::Ipv6 { source: place, .. })
            | (Self::Destination, Layer::Ipv6 { destination: place, .. }) => {
                *place = Ipv6Addr::from_bits(value);
            }
            (
                Self::Source,
                Layer::Udp { source: place, .. }
                | Layer::Tcp { source: place, .. }
                | Layer::Echo { identifier: place },
            )
            | (
                Self::Destination,
                Layer::Udp { destination: place, .. } | Layer::Tcp { destination: place, .. },
            ) => *place = narrow(value, 16)? as u16,
            (Self::Source, Layer::Rtp { ssrc }) => *ssrc = narrow(value, 32)?,
            (Self::Vlan, Layer::Vlan { id, .. }) => *id = narrow(value, 12)? as u16,
            (Self::Label, Layer::Mpls { label, .. }) => *label = narrow(value, 20)?,
            _ => return None,
        }
        Some(())
    }

    /// Where the words of four octets begin that hold the field, from the layer's start.
    pub(crate) const fn words(self, layer: &Layer) -> &'static [usize] {
        match (self, layer) {
            (Self::Destination, Layer::Ethernet { .. }) => &[0, 2],
            (Self::Source, Layer::Ethernet { .. }) => &[6, 8],
            (Self::Source, Layer::Ipv4 { .. }) => &[12],
            (Self::Destination, Layer::Ipv4 { .. }) => &[16],
            (Self::Source, Layer::Ipv6 { .. }) => &[8, 12, 16, 20],
            (Self::Destination, Layer::Ipv6 { .. }) => &[24, 28, 32, 36],
            (_, Layer::Echo { .. }) => &[4],
            (_, Layer::Rtp { .. }) => &[8],
            _ => &[0],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_count_repeat_and_are_drawn_by_flow() {
        let count = Values::Count { first: 10, step: 3, count: 2, every: 2 };
        let all: Vec<_> = (0..6).map(|flow| count.of(flow, 0).unwrap()).collect();
        assert_eq!(all, [10, 10, 13, 13, 10, 10]);
        let table = Values::Table(Arc::from([7, 8]));
        assert_eq!((table.of(2, 0), Values::Table(Arc::from([])).of(0, 0)), (Some(7), None));
        let random = Values::Random { first: 0x1_0000, bits: 8 };
        let drawn = random.of(3, 5).unwrap();
        assert!(drawn >> 8 == 0x100 && random.of(3, 5) == Some(drawn));
        assert_eq!(Values::Random { first: 9, bits: 0 }.of(1, 1), Some(9));
        assert_eq!(Values::Count { first: 0, step: 1, count: 0, every: 1 }.of(0, 0), None);
    }

    #[test]
    fn a_value_that_does_not_fit_is_refused() {
        let mut tag = Layer::Vlan { is_service: false, priority: 0, id: 1 };
        assert!(Part::Vlan.set(&mut tag, 4_095).is_some());
        assert!(
            Part::Vlan.set(&mut tag, 4_096).is_none() && Part::Label.set(&mut tag, 1).is_none()
        );
    }
}
