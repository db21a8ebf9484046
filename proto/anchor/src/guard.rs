//! Which protection an end gets.

use crate::carriage::{Carriage, Security};
use crate::policy::{Feedback, Policy, Protection, Srtp};
use crate::refusal::Reason;
use crate::section::Section;
use crate::stream::Guard;
use srtp::dtls::{Role, Setup};
use srtp::{MasterKey, Suite, sdes};
use zeroize::Zeroizing;

/// What is answered to an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice<'a> {
    Plain,
    /// That line of the offer.
    Keys(sdes::Choice<'a>),
    Dtls(Setup, Role),
}

/// What is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offering {
    pub security: Security,
    pub keys: bool,
    pub dtls: bool,
}

const PLAIN: Offering = Offering { security: Security::Plain, keys: false, dtls: false };

/// Whether keys pass from end to end.
pub(crate) fn is_end_to_end(policies: [&Policy; 2]) -> bool {
    policies.iter().all(|policy| policy.srtp.protection == Protection::EndToEnd)
}

/// The role that a policy prefers.
pub(crate) const fn preferred(srtp: &Srtp) -> Role {
    if srtp.active { Role::Client } else { Role::Server }
}

/// What an offer in `section` gets.
pub(crate) fn choose<'s>(
    section: &'s Section<'_>,
    srtp: &Srtp,
    has_certificate: bool,
    prefers: Role,
) -> Result<Choice<'s>, Reason> {
    let is_plain = section.carriage.security() == Security::Plain;
    let is_wanted = match srtp.protection {
        Protection::Off if is_plain => return Ok(Choice::Plain),
        Protection::Off => return Err(Reason::Protected),
        Protection::Required => true,
        Protection::Optional | Protection::EndToEnd => !is_plain || srtp.opportunistic,
    };
    if !is_wanted {
        return Ok(Choice::Plain);
    }
    let dtls = section.dtls.as_ref().filter(|_| srtp.dtls && has_certificate);
    let dtls = dtls.filter(|dtls| !dtls.fingerprints.is_empty());
    if let Some((setup, role)) = dtls.and_then(|dtls| dtls.setup.answer(prefers)) {
        return Ok(Choice::Dtls(setup, role));
    }
    if let Some(choice) = sdes::choose(&section.keys, &srtp.sdes) {
        return Ok(Choice::Keys(choice));
    }
    if is_plain && srtp.protection != Protection::Required {
        return Ok(Choice::Plain);
    }
    let has_nothing = is_plain && section.dtls.is_none() && !section.keys.has_any();
    Err(if has_nothing { Reason::Unprotected } else { Reason::Keys })
}

/// What a side is offered when the other one offers `section`. What stands there stays: a side that
/// has keys is not offered less because the other one has none, and a way to keys that was agreed
/// on stays the only one.
pub(crate) fn offering(
    section: &Section<'_>,
    srtp: &Srtp,
    has_certificate: bool,
    standing: Option<&Guard>,
) -> Offering {
    let dtls = srtp.dtls && has_certificate;
    let keys = !srtp.sdes.suites.is_empty();
    let by_keys = Offering { security: Security::Srtp, keys: true, dtls: false };
    let by_dtls = Offering { security: Security::Dtls, keys: false, dtls: true };
    let is_plain = section.carriage.security() == Security::Plain;
    let (full, stands) = match standing {
        Some(Guard::Keys { .. }) if keys => (by_keys, true),
        Some(Guard::Dtls { .. }) if dtls => (by_dtls, true),
        _ if keys => (Offering { dtls, ..by_keys }, false),
        _ => (Offering { dtls, ..by_dtls }, false),
    };
    match srtp.protection {
        Protection::Off => PLAIN,
        Protection::Required => full,
        Protection::Optional | Protection::EndToEnd if srtp.opportunistic => {
            Offering { security: Security::Plain, ..full }
        }
        Protection::Optional | Protection::EndToEnd if stands => full,
        Protection::Optional | Protection::EndToEnd => match section.carriage.security() {
            _ if is_plain => PLAIN,
            Security::Dtls if dtls => by_dtls,
            _ => full,
        },
    }
}

/// The profile that a side is offered.
pub(crate) fn profile(section: &Section<'_>, security: Security, policy: &Policy) -> Carriage {
    let Carriage::Rtp { feedback, .. } = section.carriage else { return section.carriage };
    let feedback = match policy.feedback {
        Feedback::Follow => feedback,
        Feedback::Off => false,
        Feedback::On => true,
    };
    Carriage::Rtp { security, feedback }
}

/// The protection of an end that answered what it was told.
pub(crate) fn settled(
    told: &Section<'_>,
    answer: &Section<'_>,
    srtp: &Srtp,
) -> Result<Guard, Reason> {
    if let (Some(told), Some(peer)) = (&told.dtls, &answer.dtls)
        && !peer.fingerprints.is_empty()
    {
        let role = told.setup.accept(peer.setup).ok_or(Reason::Keys)?;
        return Ok(Guard::Dtls { peer: Box::new(peer.clone()), role });
    }
    if told.keys.has_any() && answer.keys.has_any() {
        let agreed = sdes::accept(&told.keys, &answer.keys).map_err(|_| Reason::Keys)?;
        let (receive, send) = (Box::new(agreed.theirs), Box::new(agreed.ours));
        return Ok(Guard::Keys { receive, send });
    }
    let is_plain = answer.carriage.security() == Security::Plain;
    let is_required = srtp.protection == Protection::Required;
    if is_plain && !is_required && told.carriage.security() == Security::Plain {
        return Ok(Guard::None);
    }
    let has_nothing = is_plain && answer.dtls.is_none() && !answer.keys.has_any();
    Err(if has_nothing && is_required { Reason::UnprotectedAnswer } else { Reason::Keys })
}

/// The keys by which one side of a stream is sent to, one for each suite: they stay the same as
/// long as the stream stands.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnKeys(Vec<MasterKey>);

impl OwnKeys {
    /// Keys that another node told.
    pub const fn of(keys: Vec<MasterKey>) -> Self {
        Self(keys)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &MasterKey> {
        self.0.iter()
    }

    /// The key of a suite, made if it is new.
    pub fn key(&mut self, suite: Suite, random: &mut dyn FnMut(&mut [u8])) -> MasterKey {
        if let Some(key) = self.0.iter().find(|key| key.suite() == suite) {
            return key.clone();
        }
        let mut octets = Zeroizing::new(vec![0; MasterKey::octets_of(suite)]);
        random(&mut octets);
        let key = MasterKey::of(suite, &octets).expect("its octets are as many as it wants");
        self.0.push(key.clone());
        key
    }

    /// Lines for an offer: the keys that stand first, so that nothing changes by asking again.
    pub fn offer(
        &mut self,
        suites: &[Suite],
        random: &mut dyn FnMut(&mut [u8]),
    ) -> Vec<sdes::Crypto> {
        let standing = self.0.iter().map(MasterKey::suite).filter(|suite| suites.contains(suite));
        let mut order: Vec<Suite> = standing.collect();
        let is_new = |suite: &Suite| self.0.iter().all(|key| key.suite() != *suite);
        order.extend(suites.iter().copied().filter(is_new));
        sdes::Offer::write(&order, |suite| self.key(suite, random)).lines().to_vec()
    }
}
