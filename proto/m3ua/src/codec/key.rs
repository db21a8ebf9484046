//! Routing Keys and the results of their registration (RFC 4666 §3.6).

use super::message::{read_all, words};
use super::{
    ErrorCode, NetworkAppearance, Parameters, PointCode, RoutingContext, TLV_BYTES, Tag, Violation,
    be32,
};

/// A Routing Key parameter, checked against its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutingKey<'a> {
    /// Local-RK-Identifier: the asker's name of it.
    pub identifier: u32,
    /// The context whose key is to be changed.
    pub routing_context: Option<RoutingContext>,
    /// The number of the traffic mode asked for.
    pub mode: Option<u32>,
    /// Which SS7 network.
    pub network: Option<NetworkAppearance>,
    at: usize,
    value: &'a [u8],
}

/// Traffic to one destination that belongs to a key: Destination Point Code, Service Indicators
/// and Originating Point Codes, the last two empty when all belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyGroup<'a> {
    /// The number of the Destination Point Code, its mask included.
    pub destination: u32,
    /// Service Indicators.
    pub service_indicators: &'a [u8],
    originating: &'a [u8],
}

impl KeyGroup<'_> {
    /// Originating Point Codes.
    pub fn originating(&self) -> impl Iterator<Item = PointCode> {
        words(Some(self.originating)).map(PointCode::truncated)
    }
}

impl<'a> RoutingKey<'a> {
    /// Reads the value of the parameter, which stands `at` octets into the message.
    ///
    /// # Errors
    /// [`Violation`] when a parameter inside lacks, does not belong there or has a wrong length.
    pub fn read(at: usize, value: &'a [u8]) -> Result<Self, Violation> {
        let tag = Tag::RoutingKey;
        let (found, _) = read_all(tag.rules(), tag.spec(), at + TLV_BYTES, value)?;
        let mut inner = Parameters::new(at + TLV_BYTES, value).flatten();
        // What would narrow the key must not be passed over: it has a status of its own (§3.6.2).
        let belongs = |it: u16| {
            let rules = tag.rules().iter().any(|rule| rule.tag.number() == it);
            rules || it == Tag::InfoString.number()
        };
        if let Some(unknown) = inner.find(|parameter| !belongs(parameter.tag)) {
            let (code, what) = (ErrorCode::UnexpectedParameter, "no parameter of a Routing Key");
            return Err(Violation::new(code, unknown.at, what, tag.spec()));
        }
        let word = |index: usize| found[index].map(|value| be32(value, 0));
        let key = Self {
            identifier: word(0).unwrap_or_default(),
            routing_context: word(1).map(RoutingContext),
            mode: word(2),
            network: word(4).map(NetworkAppearance),
            at: at + TLV_BYTES,
            value,
        };
        let begins = key.parts().find(|(tag, _)| {
            let grouped = [Tag::ServiceIndicators, Tag::OriginatingPointCodeList];
            *tag == Tag::DestinationPointCode || grouped.contains(tag)
        });
        if begins.is_some_and(|(tag, _)| tag != Tag::DestinationPointCode) {
            let what = "the Destination Point Code stands before what belongs to it";
            return Err(Violation::new(ErrorCode::ProtocolError, at, what, tag.spec()));
        }
        Ok(key)
    }

    /// The Local-RK-Identifier alone, of a key that may be malformed.
    #[must_use]
    pub fn identifier_in(value: &[u8]) -> Option<u32> {
        let tag = Tag::LocalRoutingKeyIdentifier.number();
        let parameter = Parameters::new(0, value).flatten().find(|found| found.tag == tag)?;
        (parameter.value.len() == 4).then(|| be32(parameter.value, 0))
    }

    fn parts(&self) -> impl Iterator<Item = (Tag, &'a [u8])> + use<'a> {
        Parameters::new(self.at, self.value)
            .flatten()
            .filter_map(|parameter| Some((Tag::of(parameter.tag)?, parameter.value)))
    }

    /// Its destinations with what belongs to each.
    #[must_use]
    pub fn groups(&self) -> Vec<KeyGroup<'a>> {
        let mut groups: Vec<KeyGroup<'a>> = Vec::new();
        for (tag, value) in self.parts() {
            match (tag, groups.last_mut()) {
                (Tag::DestinationPointCode, _) => groups.push(KeyGroup {
                    destination: be32(value, 0),
                    service_indicators: &[],
                    originating: &[],
                }),
                (Tag::ServiceIndicators, Some(group)) => group.service_indicators = value,
                (Tag::OriginatingPointCodeList, Some(group)) => group.originating = value,
                _ => {}
            }
        }
        groups
    }
}

/// A Registration Result (RFC 4666 §3.6.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegistrationResult {
    /// Local-RK-Identifier of the request.
    pub identifier: u32,
    /// The number of the Registration Status.
    pub status: u32,
    /// The context; 0 when it was not registered.
    pub routing_context: RoutingContext,
}

impl RegistrationResult {
    /// Reads the value of the parameter, which stands `at` octets into the message.
    ///
    /// # Errors
    /// [`Violation`] when a parameter inside lacks, does not belong there or has a wrong length.
    pub fn read(at: usize, value: &[u8]) -> Result<Self, Violation> {
        let tag = Tag::RegistrationResult;
        let (found, _) = read_all(tag.rules(), tag.spec(), at + TLV_BYTES, value)?;
        let word = |index: usize| found[index].map_or(0, |value| be32(value, 0));
        Ok(Self { identifier: word(0), status: word(1), routing_context: RoutingContext(word(2)) })
    }
}

/// A Deregistration Result (RFC 4666 §3.6.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeregistrationResult {
    /// The context of the request.
    pub routing_context: RoutingContext,
    /// The number of the Deregistration Status.
    pub status: u32,
}

impl DeregistrationResult {
    /// Reads the value of the parameter, which stands `at` octets into the message.
    ///
    /// # Errors
    /// [`Violation`] when a parameter inside lacks, does not belong there or has a wrong length.
    pub fn read(at: usize, value: &[u8]) -> Result<Self, Violation> {
        let tag = Tag::DeregistrationResult;
        let (found, _) = read_all(tag.rules(), tag.spec(), at + TLV_BYTES, value)?;
        let word = |index: usize| found[index].map_or(0, |value| be32(value, 0));
        Ok(Self { routing_context: RoutingContext(word(0)), status: word(1) })
    }
}
