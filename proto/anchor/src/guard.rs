//! Which protection an end gets.

use crate::carriage::{Carriage, Security};
use crate::keys::{Key, Secret, Setup, Suite};
use crate::policy::{Feedback, Policy, Protection, Srtp};
use crate::refusal::Reason;
use crate::section::Section;
use crate::stream::Guard;

/// What is answered to an offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    Plain,
    /// That key of the offer.
    Keys(Key),
    Dtls(Setup),
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

/// What an offer in `section` gets.
pub(crate) fn choose(
    section: &Section<'_>,
    srtp: &Srtp,
    has_certificate: bool,
) -> Result<Choice, Reason> {
    let is_plain = section.carriage.security() == Security::Plain;
    let wanted = match srtp.protection {
        Protection::Off if is_plain => return Ok(Choice::Plain),
        Protection::Off => return Err(Reason::Keys),
        Protection::Required => true,
        Protection::Optional | Protection::EndToEnd => !is_plain || srtp.opportunistic,
    };
    if !wanted {
        return Ok(Choice::Plain);
    }
    let dtls = srtp.dtls && has_certificate && section.fingerprint.is_some();
    if dtls && let Some(setup) = answered(section.setup, srtp.active) {
        return Ok(Choice::Dtls(setup));
    }
    // The offerer's order counts (RFC 4568 §5.1.2).
    let is_served = |key: &&Key| srtp.sdes && srtp.suites.contains(&key.suite);
    if let Some(key) = section.keys.iter().find(is_served) {
        return Ok(Choice::Keys(key.clone()));
    }
    if is_plain && srtp.protection != Protection::Required {
        return Ok(Choice::Plain);
    }
    Err(Reason::Keys)
}

/// The role that answers an offered one (RFC 4145 §4.1); without a word the offerer is active.
fn answered(offered: Option<Setup>, prefers_active: bool) -> Option<Setup> {
    match offered {
        Some(Setup::ActPass) if prefers_active => Some(Setup::Active),
        Some(Setup::Active | Setup::ActPass) | None => Some(Setup::Passive),
        Some(Setup::Passive) => Some(Setup::Active),
        Some(Setup::HoldConn) => None,
    }
}

/// What a side is offered when the other one offers `section`.
pub(crate) fn offering(section: &Section<'_>, srtp: &Srtp, has_certificate: bool) -> Offering {
    let dtls = srtp.dtls && has_certificate;
    let security = if dtls && !srtp.sdes { Security::Dtls } else { Security::Srtp };
    let full = Offering { security, keys: srtp.sdes, dtls };
    match srtp.protection {
        Protection::Off => PLAIN,
        Protection::Required => full,
        Protection::Optional | Protection::EndToEnd if srtp.opportunistic => {
            Offering { security: Security::Plain, ..full }
        }
        Protection::Optional | Protection::EndToEnd => {
            if section.carriage.security() == Security::Plain { PLAIN } else { full }
        }
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
    if told.fingerprint.is_some()
        && let Some(fingerprint) = &answer.fingerprint
    {
        let setup = match answer.setup {
            Some(Setup::Passive) => Setup::Active,
            Some(Setup::Active) | None => Setup::Passive,
            Some(Setup::ActPass | Setup::HoldConn) => return Err(Reason::Keys),
        };
        return Ok(Guard::Dtls { fingerprint: Box::new(fingerprint.clone()), setup });
    }
    for key in &answer.keys {
        let offered = told.keys.iter().find(|it| it.tag == key.tag && it.suite == key.suite);
        if let Some(offered) = offered {
            let (receive, send) = (Box::new(key.clone()), Box::new(offered.clone()));
            return Ok(Guard::Keys { receive, send });
        }
    }
    let may_be_plain = told.carriage.security() == Security::Plain
        && answer.carriage.security() == Security::Plain
        && srtp.protection != Protection::Required;
    if may_be_plain { Ok(Guard::None) } else { Err(Reason::Keys) }
}

/// The keys by which one side of a stream is sent to, one for each suite: they stay the same as
/// long as the stream stands.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnKeys(Vec<(Suite, Secret)>);

impl OwnKeys {
    /// The key of a suite under a tag, made if it is new.
    pub fn key(&mut self, suite: Suite, tag: u32, random: &mut dyn FnMut(&mut [u8])) -> Key {
        let found = self.0.iter().find(|(own, _)| *own == suite);
        let secret = match found {
            Some((_, secret)) => secret.clone(),
            None => {
                let secret = Secret::random(suite, random);
                self.0.push((suite, secret.clone()));
                secret
            }
        };
        Key { tag, suite, secret, mki: None }
    }

    /// Keys for an offer: those that stand first, so that nothing changes by asking again.
    pub fn offer(&mut self, suites: &[Suite], random: &mut dyn FnMut(&mut [u8])) -> Vec<Key> {
        let standing: Vec<Suite> = self.0.iter().map(|(suite, _)| *suite).collect();
        let standing = standing.into_iter().filter(|suite| suites.contains(suite));
        let mut order: Vec<Suite> = standing.collect();
        order.extend(suites.iter().filter(|suite| self.0.iter().all(|(own, _)| own != *suite)));
        (1..).zip(order).map(|(tag, suite)| self.key(suite, tag, random)).collect()
    }
}
