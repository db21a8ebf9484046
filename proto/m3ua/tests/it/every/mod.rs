//! Every message with every parameter it may have, and damage by seed.

use m3ua::codec::{
    Affected, ErrorCode, MessageType, Notification, PointCode, RoutingContext, Shape, Tag, Writer,
};

/// Chance by a seed (SplitMix64).
#[derive(Debug, Clone)]
pub struct Rng(pub u64);

impl Rng {
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end.max(1) as u64) as usize
    }
}

/// A proper value for a parameter.
fn write<'o>(writer: Writer<'o>, tag: Tag, kind: Option<MessageType>) -> Writer<'o> {
    let one = Affected::one(PointCode::truncated(0x1234));
    let range = Affected { point_code: PointCode::truncated(0x5600), mask: 8 };
    match (tag, tag.shape()) {
        (Tag::RoutingContext, _) if kind == Some(MessageType::Data) || kind.is_none() => {
            writer.word(tag, 1)
        }
        (Tag::RoutingContext, _) => writer.routing_contexts([1, 2].map(RoutingContext).into_iter()),
        (Tag::AffectedPointCode, _) if kind == Some(MessageType::Dupu) => writer.affected(&[one]),
        (Tag::AffectedPointCode, _) => writer.affected(&[one, range]),
        (Tag::ErrorCode, _) => writer.word(tag, ErrorCode::InvalidRoutingContext.number()),
        (Tag::Status, _) => writer.word(tag, Notification::AlternateAspActive.number()),
        (Tag::TrafficModeType, _) => writer.word(tag, 2),
        (Tag::UserCause, _) => writer.word(tag, 0x0001_0003),
        (Tag::CongestionIndications, _) => writer.word(tag, 2),
        (Tag::DiagnosticInformation, _) => writer.octets(tag, &[1, 0, 3, 1, 0, 0, 0, 8]),
        (Tag::ServiceIndicators, _) => writer.octets(tag, &[3, 5]),
        (Tag::RegistrationStatus | Tag::DeregistrationStatus, _) => writer.word(tag, 0),
        (_, Shape::Word) => writer.word(tag, 0x77),
        (_, Shape::Words) => writer.words(tag, [5, 6].into_iter()),
        (_, Shape::Labelled) => {
            // Service Indicator 15 is spare: a decoder does not look into it.
            let label = [0, 0, 0, 1, 0, 0, 0, 2, 15, 2, 0, 9];
            writer.octets(tag, &[&label[..], b"an MSU"].concat())
        }
        (_, Shape::Octets(_) | Shape::Free(_)) => writer.octets(tag, b"hello"),
        (_, Shape::Group) => writer.group(tag, |mut inner| {
            for rule in tag.rules() {
                inner = write(inner, rule.tag, None);
            }
            inner
        }),
    }
}

pub fn every_message() -> Vec<(MessageType, Vec<u8>)> {
    let whole = |kind: &MessageType| {
        let mut bytes = Vec::new();
        let mut writer = Writer::begin(&mut bytes, *kind);
        for rule in kind.rules() {
            writer = write(writer, rule.tag, Some(*kind));
        }
        writer.end();
        (*kind, bytes)
    };
    MessageType::ALL.iter().map(whole).collect()
}

/// One small damage: an octet set, a piece dropped, doubled, or moved in from another message;
/// the header's length follows in half of the cases.
pub fn mutate(bytes: &mut Vec<u8>, other: &[u8], chance: &mut Rng) {
    let at = chance.below(bytes.len());
    let length = chance.below(16).min(bytes.len() - at);
    match chance.below(6) {
        0 | 1 if !bytes.is_empty() => bytes[at] = chance.number() as u8,
        2 if !bytes.is_empty() => bytes[at] ^= 1 << chance.below(8),
        3 => drop(bytes.drain(at..at + length)),
        4 => {
            let piece = bytes[at..at + length].to_vec();
            bytes.splice(at..at, piece);
        }
        _ => {
            let from = chance.below(other.len());
            let piece = other[from..(from + length).min(other.len())].to_vec();
            bytes.splice(at..at, piece);
        }
    }
    if chance.below(2) == 0 && bytes.len() >= 8 {
        let length = (bytes.len() as u32).to_be_bytes();
        bytes[4..8].copy_from_slice(&length);
    }
}
