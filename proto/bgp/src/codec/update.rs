//! UPDATE: withdrawn routes, path attributes, routes; checked in one pass by RFC 7606, on internal
//! sessions as on external ones.

use super::attribute::{Attribute, AttributeType, Attributes, Flags, Rule, Shape};
use super::reach::{Reach, Refused, Unreach};
use super::tlv::Tlvs;
use super::violation::{Approach, Data, Violation};
use super::{AsPath, Asn, HEADER_BYTES, Notice, TunnelTlvs, UpdateError, be16, be32, word};
use crate::family::{Family, FamilySet, Layout, Routes};
use wire::Malformed;

/// Attribute types that are known.
const KINDS: usize = AttributeType::ALL.len();
/// Octets of the attributes that count, at most: what the longest message can carry (RFC 8654 §4).
const CANONICAL_BYTES_MAX: usize = super::EXTENDED_MESSAGE_BYTES_MAX - HEADER_BYTES - 4;

/// Which side of the AS's border the peer stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peering {
    /// In the same AS.
    Internal,
    /// In another AS of the same confederation (RFC 5065).
    Confederation,
    /// In another AS.
    External,
}

/// What was negotiated, as far as UPDATEs are read by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    /// Where the peer stands.
    pub peering: Peering,
    /// ASes have four octets (RFC 6793 §4).
    pub four_octet_as: bool,
    /// Families that were negotiated.
    pub families: FamilySet,
    /// Families whose routes come with path identifiers (RFC 7911 §4).
    pub add_path: FamilySet,
    /// Families whose next hop may be IPv6 (RFC 8950 §4).
    pub extended_next_hop: FamilySet,
    /// Families whose routes come with several labels (RFC 8277 §2.1).
    pub multiple_labels: FamilySet,
    /// AIGP is taken (RFC 7311 §3.1).
    pub aigp: bool,
    /// The AS that must stand first in the path (RFC 4271 §6.3).
    pub first_as: Option<Asn>,
}

impl Context {
    /// How the routes of a family are written.
    #[must_use]
    pub const fn layout(&self, family: Family, withdrawn: bool) -> Layout {
        Layout {
            add_path: self.add_path.has(family),
            multiple_labels: self.multiple_labels.has(family),
            withdrawn,
        }
    }
}

/// An UPDATE that was read: nothing is copied.
#[derive(Debug, Clone)]
pub struct Update<'a> {
    message: &'a [u8],
    withdrawn: Routes<'a>,
    attributes: &'a [u8],
    /// The offset in the message at which they begin.
    attributes_at: usize,
    announced: Routes<'a>,
    reach: Option<Reach<'a>>,
    unreach: Option<Unreach<'a>>,
    /// Offset and length of the value of each known attribute that counts.
    slots: [(u16, u16); KINDS],
    /// Numbers of the attributes that were there.
    seen: [u64; 4],
    /// Numbers of those that were dropped.
    dropped: [u64; 4],
    kept: Kept,
    /// The strongest violation, the first one of them.
    violation: Option<Violation>,
    is_withdrawn: bool,
    four_octet_as: bool,
}

/// What is left of the attributes when those that do not count are left out.
#[derive(Debug, Clone, Copy)]
struct Kept {
    from: usize,
    to: usize,
    /// It is one piece that needs no change.
    is_plain: bool,
}

impl Kept {
    fn take(&mut self, attribute: &Attribute<'_>) {
        if self.to == 0 {
            self.from = attribute.at;
        } else if self.to != attribute.at {
            self.is_plain = false;
        }
        self.to = attribute.at + attribute.octets.len();
    }
}

fn bit(number: u8) -> (usize, u64) {
    (usize::from(number >> 6), 1 << (number & 63))
}

fn notice(error: UpdateError) -> Notice {
    Notice::update(error)
}

impl<'a> Update<'a> {
    /// Reads a message that [`super::frame`] found.
    ///
    /// # Errors
    /// A violation that is answered by a session reset. All others are told by
    /// [`Update::violation`].
    pub fn read(message: &'a [u8], context: &Context) -> Result<Self, Violation> {
        let mut update = Self::outline(message, context)?;
        update.ignore_routes(context)?;
        update.check_routes()?;
        if !update.attributes.is_empty() {
            update.read_attributes(context)?;
            update.check_whole()?;
        } else if !update.announced.is_empty() {
            update.lacks(AttributeType::Origin);
        }
        Ok(update)
    }

    /// Finds the three fields.
    fn outline(message: &'a [u8], context: &Context) -> Result<Self, Violation> {
        let violation = |at, what| {
            let notice = notice(UpdateError::MalformedAttributeList);
            Err(Violation::reset(notice, at, what, "RFC 4271 §6.3"))
        };
        let body = &message[HEADER_BYTES..];
        let Some((withdrawn, rest)) = body[2..].split_at_checked(usize::from(be16(body, 0))) else {
            return violation(HEADER_BYTES, "the withdrawn routes are longer than the message");
        };
        let at = HEADER_BYTES + 2 + withdrawn.len();
        let Some((length, rest)) = rest.split_first_chunk::<2>() else {
            return violation(at, "the length of the attributes is cut off");
        };
        let length = usize::from(u16::from_be_bytes(*length));
        let Some((attributes, announced)) = rest.split_at_checked(length) else {
            return violation(at, "the attributes are longer than the message");
        };
        let family = Family::Ipv4Unicast;
        Ok(Self {
            message,
            withdrawn: Routes::new(family, context.layout(family, true), withdrawn),
            attributes,
            attributes_at: at + 2,
            announced: Routes::new(family, context.layout(family, false), announced),
            reach: None,
            unreach: None,
            slots: [(0, 0); KINDS],
            seen: [0; 4],
            dropped: [0; 4],
            kept: Kept { from: 0, to: 0, is_plain: true },
            violation: None,
            is_withdrawn: false,
            four_octet_as: context.four_octet_as,
        })
    }

    /// Both plain fields are passed over where IPv4 was not negotiated (RFC 4760 §8).
    fn ignore_routes(&mut self, context: &Context) -> Result<(), Violation> {
        let has_none = self.withdrawn.is_empty() && self.announced.is_empty();
        if has_none || context.families.has(Family::Ipv4Unicast) {
            return Ok(());
        }
        let notice = notice(UpdateError::InvalidNetworkField);
        let what = "the family was not negotiated";
        let at = match self.withdrawn.is_empty() {
            true => self.message.len() - self.announced.octets().len(),
            false => HEADER_BYTES + 2,
        };
        self.withdrawn = Routes::new(Family::Ipv4Unicast, Layout::default(), &[]);
        self.announced = self.withdrawn;
        let violation = Violation::reset(notice, at, what, "RFC 4760 §8");
        self.note(violation.answered(Approach::AttributeDiscard))
    }

    /// Both plain fields, before anything is done with them (RFC 7606 §3 i, j).
    fn check_routes(&self) -> Result<(), Violation> {
        let announced_at = self.message.len() - self.announced.octets().len();
        for (routes, at) in [(&self.withdrawn, HEADER_BYTES + 2), (&self.announced, announced_at)] {
            if let Err(malformed) = routes.check() {
                let Malformed { at, what, spec } = malformed.shifted(at);
                let notice = notice(UpdateError::InvalidNetworkField);
                return Err(Violation::reset(notice, at, what, spec));
            }
        }
        Ok(())
    }

    fn read_attributes(&mut self, context: &Context) -> Result<(), Violation> {
        let base = self.attributes_at;
        for attribute in Attributes::new(self.attributes) {
            let attribute = match attribute {
                Ok(attribute) => attribute,
                Err(malformed) => {
                    self.kept.is_plain = false;
                    let Malformed { at, what, spec } = malformed.shifted(base);
                    let notice = notice(UpdateError::MalformedAttributeList);
                    let violation = Violation::reset(notice, at, what, spec);
                    return self.note(violation.answered(Approach::TreatAsWithdraw));
                }
            };
            let (word, mask) = bit(attribute.number);
            if self.seen[word] & mask != 0 {
                self.twice(&attribute)?;
                continue;
            }
            self.seen[word] |= mask;
            match attribute.kind() {
                Some(kind) => self.read_known(kind, &attribute, context)?,
                None => self.read_unknown(&attribute)?,
            }
        }
        Ok(())
    }

    /// An attribute came again (RFC 7606 §3 g).
    fn twice(&mut self, attribute: &Attribute<'_>) -> Result<(), Violation> {
        let is_mp = matches!(
            attribute.kind(),
            Some(AttributeType::MpReachNlri | AttributeType::MpUnreachNlri)
        );
        let approach = if is_mp { Approach::SessionReset } else { Approach::AttributeDiscard };
        self.kept.is_plain = false;
        let error = UpdateError::MalformedAttributeList;
        let what = "the attribute stands there twice";
        self.note(self.violation_in(attribute, error, 0, what, "RFC 7606 §3").answered(approach))
    }

    /// What nobody here knows: passed on if it is transitive (RFC 4271 §5, §9).
    fn read_unknown(&mut self, attribute: &Attribute<'_>) -> Result<(), Violation> {
        if !attribute.flags.has(Flags::OPTIONAL) {
            let error = UpdateError::UnrecognizedWellKnownAttribute;
            let what = "a well-known attribute is not known";
            return Err(self.violation_in(attribute, error, 0, what, "RFC 4271 §6.3"));
        }
        if attribute.flags.has(Flags::TRANSITIVE) {
            self.kept.take(attribute);
            self.kept.is_plain &= attribute.flags.has(Flags::PARTIAL);
        } else {
            self.drop_attribute(attribute.number);
        }
        Ok(())
    }

    fn drop_attribute(&mut self, number: u8) {
        let (word, mask) = bit(number);
        self.dropped[word] |= mask;
    }

    #[inline]
    fn read_known(
        &mut self,
        kind: AttributeType,
        attribute: &Attribute<'a>,
        context: &Context,
    ) -> Result<(), Violation> {
        let rule = kind.rule();
        if let Some(violation) = self.out_of_place(kind, attribute, context) {
            self.drop_attribute(attribute.number);
            return violation.map_or(Ok(()), |violation| self.note(violation));
        }
        let flags = attribute.flags.0 & (Flags::OPTIONAL | Flags::TRANSITIVE);
        if flags != rule.flags {
            let error = UpdateError::AttributeFlagsError;
            let what = "the flags are not those of the attribute";
            let violation = self.violation_in(attribute, error, 0, what, "RFC 7606 §3");
            return self.answer(attribute, rule, violation);
        }
        match rule.shape {
            Shape::Reach | Shape::Unreach => return self.read_routes(kind, attribute, context),
            shape => {
                if let Err((error, malformed)) = check_value(shape, attribute.value, context) {
                    let head = attribute.octets.len() - attribute.value.len();
                    let Malformed { at, what, spec } = malformed.shifted(head);
                    let violation = self.violation_in(attribute, error, at, what, spec);
                    return self.answer(attribute, rule, violation);
                }
            }
        }
        let head = attribute.octets.len() - attribute.value.len();
        let at = word(self.attributes_at + attribute.at + head);
        self.slots[kind as usize] = (at, word(attribute.value.len()));
        match kind {
            AttributeType::As4Path | AttributeType::As4Aggregator => {}
            AttributeType::AsPath | AttributeType::Aggregator if !context.four_octet_as => {
                self.kept.take(attribute);
                self.kept.is_plain &= attribute.value.is_empty();
            }
            _ => self.kept.take(attribute),
        }
        Ok(())
    }

    /// Attributes that this session does not take: dropped, and whether that is a violation.
    fn out_of_place(
        &self,
        kind: AttributeType,
        attribute: &Attribute<'_>,
        context: &Context,
    ) -> Option<Option<Violation>> {
        match kind {
            kind if kind.is_internal() && context.peering == Peering::External => {
                let error = UpdateError::OptionalAttributeError;
                let what = "the attribute stays inside of an AS";
                let violation = self.violation_in(attribute, error, 0, what, "RFC 7606 §7");
                Some(Some(violation.answered(Approach::AttributeDiscard)))
            }
            // RFC 6793 §4.1: between speakers of four octets these do not count.
            AttributeType::As4Path | AttributeType::As4Aggregator if context.four_octet_as => {
                Some(None)
            }
            // RFC 7311 §3.1: as one that is not known.
            AttributeType::Aigp if !context.aigp => Some(None),
            _ => None,
        }
    }

    /// Drops the attribute, or all routes, as its rule says.
    fn answer(
        &mut self,
        attribute: &Attribute<'_>,
        rule: Rule,
        violation: Violation,
    ) -> Result<(), Violation> {
        self.drop_attribute(attribute.number);
        self.note(violation.answered(rule.approach))
    }

    fn read_routes(
        &mut self,
        kind: AttributeType,
        attribute: &Attribute<'a>,
        context: &Context,
    ) -> Result<(), Violation> {
        let read = if kind == AttributeType::MpReachNlri {
            Reach::read(attribute.value, context).map(|reach| self.reach = Some(reach))
        } else {
            Unreach::read(attribute.value, context).map(|unreach| self.unreach = Some(unreach))
        };
        let Err(refused) = read else { return Ok(()) };
        let (approach, family, malformed) = match refused {
            Refused::Broken(malformed) => (Approach::SessionReset, None, malformed),
            Refused::Family(family, malformed) => {
                (Approach::DisableFamily, Some(family), malformed)
            }
            Refused::Ignored(malformed) => (Approach::AttributeDiscard, None, malformed),
        };
        self.drop_attribute(attribute.number);
        let head = attribute.octets.len() - attribute.value.len();
        let Malformed { at, what, spec } = malformed.shifted(head);
        let error = UpdateError::OptionalAttributeError;
        let violation = self.violation_in(attribute, error, at, what, spec);
        self.note(Violation { family, ..violation.answered(approach) })
    }

    /// A violation `at` octets into an attribute; the NOTIFICATION carries the attribute.
    fn violation_in(
        &self,
        attribute: &Attribute<'_>,
        error: UpdateError,
        at: usize,
        what: &'static str,
        spec: &'static str,
    ) -> Violation {
        let start = self.attributes_at + attribute.at;
        let data = Data::Message(word(start), word(attribute.octets.len()));
        let data = if error == UpdateError::MalformedAttributeList { Data::None } else { data };
        Violation::reset(notice(error), start + at, what, spec).with(data)
    }

    /// Takes account of a violation: the strongest answer counts (RFC 7606 §3 h).
    fn note(&mut self, violation: Violation) -> Result<(), Violation> {
        if violation.approach == Approach::SessionReset {
            return Err(violation);
        }
        self.is_withdrawn |= violation.approach == Approach::TreatAsWithdraw;
        if self.violation.is_none_or(|known| known.approach < violation.approach) {
            self.violation = Some(violation);
        }
        Ok(())
    }

    /// A mandatory attribute lacks (RFC 7606 §3 d).
    fn lacks(&mut self, kind: AttributeType) {
        let (what, spec) = ("a mandatory attribute lacks", "RFC 7606 §3");
        let notice = notice(UpdateError::MissingWellKnownAttribute);
        let violation = Violation::reset(notice, self.attributes_at, what, spec)
            .with(Data::Octet(kind.number()))
            .answered(Approach::TreatAsWithdraw);
        self.is_withdrawn = true;
        if self.violation.is_none_or(|known| known.approach < violation.approach) {
            self.violation = Some(violation);
        }
    }

    /// ASes of two octets become four: what is too long then for any message cannot be passed on.
    /// AS4_PATH may shorten the path, but a path as long as that is no honest one.
    fn check_widened(&mut self) {
        let path = self.value(AttributeType::AsPath).map_or(0, <[u8]>::len);
        if self.four_octet_as || self.attributes.len() + path <= CANONICAL_BYTES_MAX {
            return;
        }
        let (what, spec) = ("the path with ASes of four octets is too long", "RFC 8654 §4");
        let notice = notice(UpdateError::MalformedAsPath);
        let violation = Violation::reset(notice, self.attributes_at, what, spec)
            .answered(Approach::TreatAsWithdraw);
        self.is_withdrawn = true;
        if self.violation.is_none_or(|known| known.approach < violation.approach) {
            self.violation = Some(violation);
        }
    }

    /// What concerns the message as a whole.
    fn check_whole(&mut self) -> Result<(), Violation> {
        let came = |kind: AttributeType| {
            let (word, mask) = bit(kind.number());
            self.seen[word] & mask != 0
        };
        // A MP_REACH_NLRI that is not taken announces routes all the same.
        let is_mp = came(AttributeType::MpReachNlri)
            && self.reach.is_none_or(|reach| !reach.routes.is_empty());
        let announces = is_mp || !self.announced.is_empty();
        if announces {
            let mandatory = [
                (AttributeType::Origin, true),
                (AttributeType::AsPath, true),
                (AttributeType::NextHop, !self.announced.is_empty()),
            ];
            let missing = mandatory.into_iter().find(|(kind, counts)| *counts && !came(*kind));
            if let Some((kind, _)) = missing {
                self.lacks(kind);
            }
        }
        self.check_widened();
        match self.violation {
            // RFC 7606 §5.2: nothing can be withdrawn if nothing was announced.
            Some(violation) if self.is_withdrawn && !announces => {
                Err(violation.answered(Approach::SessionReset))
            }
            _ => Ok(()),
        }
    }

    /// The whole message.
    #[must_use]
    pub const fn message(&self) -> &'a [u8] {
        self.message
    }

    /// What is wrong with it: the strongest violation. Of [`Approach::AttributeDiscard`], the
    /// attributes are dropped already; of [`Approach::DisableFamily`], the family's routes do
    /// not appear in [`Update::reach`] and [`Update::unreach`].
    #[must_use]
    pub const fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// Whether every route it announces counts as withdrawn (RFC 7606 §2).
    #[must_use]
    pub const fn is_withdrawn(&self) -> bool {
        self.is_withdrawn
    }

    /// Withdrawn IPv4 routes of the field without attributes.
    #[must_use]
    pub const fn withdrawn(&self) -> Routes<'a> {
        self.withdrawn
    }

    /// IPv4 routes of the last field; their next hop is the attribute NEXT_HOP.
    #[must_use]
    pub const fn announced(&self) -> Routes<'a> {
        self.announced
    }

    /// Routes of MP_REACH_NLRI, with their next hop.
    #[must_use]
    pub const fn reach(&self) -> Option<&Reach<'a>> {
        self.reach.as_ref()
    }

    /// Withdrawn routes of MP_UNREACH_NLRI.
    #[must_use]
    pub const fn unreach(&self) -> Option<&Unreach<'a>> {
        self.unreach.as_ref()
    }

    /// The family whose RIB ends here (RFC 4724 §2).
    #[must_use]
    pub fn end_of_rib(&self) -> Option<Family> {
        if self.message.len() == HEADER_BYTES + 4 {
            return Some(Family::Ipv4Unicast);
        }
        let (word, mask) = bit(AttributeType::MpUnreachNlri.number());
        let mut only = [0; 4];
        only[word] = mask;
        let is_alone = self.seen == only
            && self.withdrawn.is_empty()
            && self.announced.is_empty()
            && self.violation.is_none();
        self.unreach.filter(|it| is_alone && it.routes.is_empty()).map(|it| it.family)
    }

    /// The value of an attribute; `None` if it is not there or was dropped. AS_PATH and AGGREGATOR
    /// are as they came, of two octets where that was negotiated.
    #[inline]
    #[must_use]
    pub fn value(&self, kind: AttributeType) -> Option<&'a [u8]> {
        let (at, length) = self.slots[kind as usize];
        let (at, length) = (usize::from(at), usize::from(length));
        if at == 0 { None } else { Some(&self.message[at..at + length]) }
    }

    /// The path attributes as they came, with those that do not count.
    #[must_use]
    pub const fn attributes(&self) -> &'a [u8] {
        self.attributes
    }

    /// The attributes that count, for all routes of the message: without MP_REACH_NLRI and
    /// MP_UNREACH_NLRI, without what was dropped, ASes of four octets, unknown ones marked as
    /// partial. Where they stand in the message like that, as of every speaker of four octets
    /// that puts them in order, they are borrowed from it, else they are written into `scratch`.
    pub fn canonical<'s>(&self, scratch: &'s mut Vec<u8>) -> &'s [u8]
    where
        'a: 's,
    {
        if self.kept.is_plain {
            return &self.attributes[self.kept.from..self.kept.to];
        }
        scratch.clear();
        let mut done = self.dropped;
        for attribute in Attributes::new(self.attributes).map_while(Result::ok) {
            let (word, mask) = bit(attribute.number);
            if done[word] & mask == 0 {
                done[word] |= mask;
                self.put_canonical(&attribute, scratch);
            }
        }
        scratch
    }

    fn put_canonical(&self, attribute: &Attribute<'_>, out: &mut Vec<u8>) {
        use AttributeType::{Aggregator, As4Aggregator, As4Path, MpReachNlri, MpUnreachNlri};
        match attribute.kind() {
            Some(MpReachNlri | MpUnreachNlri | As4Path | As4Aggregator) => {}
            Some(AttributeType::AsPath) if !self.four_octet_as => {
                let mut path = Vec::with_capacity(2 * attribute.value.len());
                self.as_path_widened(&mut path);
                super::write_attribute(attribute.flags.0, attribute.number, &path, out);
            }
            Some(Aggregator) if !self.four_octet_as => {
                let widened = self.aggregator().map(super::Aggregator::octets);
                let value = widened.as_ref().map_or(attribute.value, |octets| octets);
                super::write_attribute(attribute.flags.0, attribute.number, value, out);
            }
            None => {
                let start = out.len();
                out.extend_from_slice(attribute.octets);
                out[start] |= Flags::PARTIAL;
            }
            Some(_) => out.extend_from_slice(attribute.octets),
        }
    }

    /// Whether AS4_PATH and AS4_AGGREGATOR count: not if somebody of two octets aggregated
    /// behind them (RFC 6793 §4.2.3).
    fn trusts_as4(&self) -> bool {
        let own = self.value(AttributeType::Aggregator).and_then(super::Aggregator::read);
        let theirs = self.value(AttributeType::As4Aggregator);
        !(own.is_some_and(|it| it.asn != super::AS_TRANS) && theirs.is_some())
    }

    /// Appends the AS_PATH with ASes of four octets, AS4_PATH taken into account.
    pub fn as_path_widened(&self, out: &mut Vec<u8>) {
        let value = self.value(AttributeType::AsPath).unwrap_or_default();
        if self.four_octet_as {
            return out.extend_from_slice(value);
        }
        let theirs = self.value(AttributeType::As4Path).filter(|_| self.trusts_as4());
        AsPath::new(value, false).widen(theirs.map(|it| AsPath::new(it, true)), out);
    }

    /// The AS_PATH as it came.
    #[must_use]
    pub fn as_path(&self) -> AsPath<'a> {
        let value = self.value(AttributeType::AsPath).unwrap_or_default();
        AsPath::new(value, self.four_octet_as)
    }

    /// Who aggregated, AS4_AGGREGATOR taken into account.
    #[must_use]
    pub fn aggregator(&self) -> Option<super::Aggregator> {
        let own = super::Aggregator::read(self.value(AttributeType::Aggregator)?)?;
        let theirs = self.value(AttributeType::As4Aggregator).and_then(super::Aggregator::read);
        Some(theirs.filter(|_| own.asn == super::AS_TRANS).unwrap_or(own))
    }
}

/// Checks a value; the subcode and the violation with its offset in the value.
#[inline]
fn check_value(
    shape: Shape,
    value: &[u8],
    context: &Context,
) -> Result<(), (UpdateError, Malformed)> {
    let length = |is_right, spec| match is_right {
        true => Ok(()),
        false => {
            let what = "the attribute does not have its length";
            Err((UpdateError::AttributeLengthError, Malformed::new(0, what, spec)))
        }
    };
    match shape {
        Shape::Any | Shape::Reach | Shape::Unreach => Ok(()),
        Shape::Exactly(octets) => length(value.len() == octets, "RFC 7606 §7"),
        Shape::AtLeast(octets) => length(value.len() >= octets, "RFC 7606 §7"),
        Shape::Times(octets) => {
            length(!value.is_empty() && value.len().is_multiple_of(octets), "RFC 7606 §7")
        }
        Shape::Origin => {
            length(value.len() == 1, "RFC 7606 §7.1")?;
            let (error, what) = (UpdateError::InvalidOriginAttribute, "no such origin");
            let malformed = Malformed::new(0, what, "RFC 7606 §7.1");
            if value[0] > 2 { Err((error, malformed)) } else { Ok(()) }
        }
        Shape::AsPath => check_as_path(value, context),
        Shape::NextHop => {
            length(value.len() == 4, "RFC 7606 §7.3")?;
            let (error, what) = (UpdateError::InvalidNextHopAttribute, "no host has that address");
            let malformed = Malformed::new(0, what, "RFC 4271 §6.3");
            if value[0] >= 224 || be32(value, 0) == 0 { Err((error, malformed)) } else { Ok(()) }
        }
        Shape::Aggregator => {
            let octets = if context.four_octet_as { 8 } else { 6 };
            length(value.len() == octets, "RFC 7606 §7.7")?;
            let is_zero = value[..octets - 4].iter().all(|octet| *octet == 0);
            let malformed = Malformed::new(0, "AS 0 aggregated", "RFC 7607 §2");
            if is_zero { Err((UpdateError::OptionalAttributeError, malformed)) } else { Ok(()) }
        }
        Shape::As4Path => {
            length(value.len() >= 6, "RFC 6793 §6")?;
            let error = UpdateError::OptionalAttributeError;
            AsPath::new(value, true).check().map_err(|malformed| (error, malformed))
        }
        Shape::Aigp => length(Tlvs::aigp(value).are_whole(), "RFC 7311 §3"),
        Shape::Tunnel => length(TunnelTlvs::new(value).are_whole(), "RFC 9012 §13"),
    }
}

fn check_as_path(value: &[u8], context: &Context) -> Result<(), (UpdateError, Malformed)> {
    let error = UpdateError::MalformedAsPath;
    let path = AsPath::new(value, context.four_octet_as);
    path.check().map_err(|malformed| (error, malformed))?;
    let violation = |what, spec| Err((error, Malformed::new(0, what, spec)));
    if context.peering == Peering::Internal {
        return Ok(());
    }
    let is_confederation = path.segments().next().is_some_and(|it| it.kind.is_confederation());
    match context.peering {
        Peering::External if path.has_confederation() => {
            violation("a confederation's path left it", "RFC 5065 §5")
        }
        Peering::Confederation if !is_confederation => {
            violation("the path does not begin inside of the confederation", "RFC 5065 §5")
        }
        _ if context.first_as.is_some() && path.neighbour() != context.first_as => {
            violation("the path does not begin with the peer's AS", "RFC 4271 §6.3")
        }
        _ => Ok(()),
    }
}
