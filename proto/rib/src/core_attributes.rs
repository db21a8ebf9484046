//! Attributes that steer a provider's core, at the border of a VPN's table: they pass neither from
//! a customer into it nor from there to a customer unasked.

use bgp::codec::{AttributeType, Attributes, ExtendedCommunity};

/// Whether any stands there.
pub(crate) fn stand(mut attributes: Attributes<'_>) -> bool {
    attributes.any(|it| match it.ok().and_then(|it| Some((it.kind()?, it.value))) {
        Some((AttributeType::ExtendedCommunities, value)) => {
            ExtendedCommunity::all(value).any(ExtendedCommunity::steers_core)
        }
        it => it.is_some_and(|(kind, _)| kind.steers_core()),
    })
}

/// The types that go altogether.
pub(crate) fn kinds() -> impl Iterator<Item = AttributeType> {
    AttributeType::ALL.iter().copied().filter(|it| it.steers_core())
}

/// The extended communities that stay.
pub(crate) fn rest(attributes: Attributes<'_>) -> impl Iterator<Item = ExtendedCommunity> {
    let value = attributes.value(AttributeType::ExtendedCommunities).unwrap_or_default();
    ExtendedCommunity::all(value).filter(|it| !it.steers_core())
}
