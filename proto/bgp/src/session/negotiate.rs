//! Both OPENs held together: what the session can do, or why there is none (RFC 4271 §6.2,
//! RFC 5492, RFC 6286, RFC 9234).

use super::settings::Settings;
use crate::codec::{
    Context, Data, EXTENDED_MESSAGE_BYTES_MAX, MESSAGE_BYTES_MAX, Notice, Offer, Open, OpenError,
    Peering, Violation,
};
use crate::family::{Family, FamilySet};
use crate::pack::Limits;
use machine::Duration;

/// SendHoldTime at least (RFC 9687 §3.1).
const SEND_HOLD_TIME_MIN: Duration = Duration::from_secs(480);

/// What both sides agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Negotiated {
    /// How the peer's UPDATEs are read.
    pub context: Context,
    /// What the peer said.
    pub peer: Offer,
    /// The hold time, zero for none.
    pub hold_time: Duration,
    /// Time between KEEPALIVEs, zero for none.
    pub keepalive_time: Duration,
    /// Time for which the peer may take nothing, zero for ever.
    pub send_hold_time: Duration,
    /// Octets of a message to the peer at most.
    pub message_max: usize,
    /// Families whose routes go to the peer with path identifiers.
    pub add_path_send: FamilySet,
    /// Families for which the peer is sent several labels, if it takes them.
    pub multiple_labels_send: FamilySet,
    /// ROUTE-REFRESH may be sent.
    pub route_refresh: bool,
    /// Its beginning and end may be sent, and come.
    pub enhanced_refresh: bool,
    /// Families whose routes outlive the session.
    pub graceful_restart: FamilySet,
    /// They outlive a NOTIFICATION as well (RFC 8538).
    pub notification_restart: bool,
    /// Families whose routes become stale for long.
    pub long_lived: FamilySet,
}

impl Negotiated {
    /// How UPDATEs to the peer are packed.
    #[must_use]
    pub const fn limits(&self, family: Family) -> Limits {
        Limits { message_max: self.message_max, add_path: self.add_path_send.has(family) }
    }

    /// Whether the peer is of the same AS.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        self.context.peering == Peering::Internal
    }
}

fn violation(error: OpenError, at: usize, what: &'static str, spec: &'static str) -> Violation {
    Violation::reset(Notice::open(error), at, what, spec)
}

/// What an OPEN offends of what is configured.
fn check(settings: &Settings, open: &Open, peering: Peering) -> Result<(), Violation> {
    let (ours, theirs) = (&settings.offer, &open.offer);
    if !settings.peer_as.admits(theirs.asn, ours.asn) {
        let what = "the AS is not the one that is configured";
        let violation = violation(OpenError::BadPeerAs, 20, what, "RFC 4271 §6.2");
        return Err(violation.with(Data::OfAs(theirs.asn)));
    }
    if theirs.asn == ours.asn && theirs.identifier == ours.identifier {
        let what = "the identifier is ours";
        return Err(violation(OpenError::BadBgpIdentifier, 24, what, "RFC 6286 §2.2"));
    }
    if theirs.hold_time_s != 0 && theirs.hold_time_s < settings.hold_time_min_s {
        let what = "the hold time is shorter than what is configured";
        return Err(violation(OpenError::UnacceptableHoldTime, 22, what, "RFC 4271 §6.2"));
    }
    let families = ours.families.and(theirs.families);
    if families.is_empty() || !settings.required.without(families).is_empty() {
        let what = "a family that is needed lacks";
        let needed = if families.is_empty() { ours.families } else { settings.required };
        let violation = violation(OpenError::UnsupportedCapability, 29, what, "RFC 5492 §5");
        return Err(violation.with(Data::Families(needed.without(theirs.families))));
    }
    let Some(role) = ours.role.filter(|_| peering == Peering::External) else { return Ok(()) };
    let is_right = match theirs.role {
        Some(theirs) => role.counterpart() == theirs,
        None => !settings.role_strict,
    };
    if !is_right || open.offer.roles_differ {
        let what = "the roles do not go together";
        return Err(violation(OpenError::RoleMismatch, 29, what, "RFC 9234 §4.2"));
    }
    Ok(())
}

/// Holds the peer's OPEN against our settings.
///
/// # Errors
/// Why there is no session.
pub(super) fn negotiate(settings: &Settings, open: Open) -> Result<Negotiated, Violation> {
    let (ours, theirs) = (&settings.offer, &open.offer);
    let peering = match theirs.asn == ours.asn {
        true => Peering::Internal,
        false if settings.confederation => Peering::Confederation,
        false => Peering::External,
    };
    check(settings, &open, peering)?;
    let families = ours.families.and(theirs.families);
    let labels = |offer: &Offer| {
        families.iter().filter(|family| offer.labels_max[*family as usize] > 1).collect()
    };
    let both_label: FamilySet = FamilySet::and(labels(ours), labels(theirs));
    let hold_time_s = ours.hold_time_s.min(theirs.hold_time_s);
    let hold_time = Duration::from_secs(hold_time_s.into());
    let send_hold_time = settings.send_hold.unwrap_or(SEND_HOLD_TIME_MIN.max(2 * hold_time));
    let first_as = settings.first_as && peering == Peering::External;
    let context = Context {
        peering,
        four_octet_as: ours.four_octet_as && theirs.four_octet_as,
        families,
        add_path: families.and(ours.add_path_receive).and(theirs.add_path_send),
        extended_next_hop: families.and(ours.extended_next_hop).and(theirs.extended_next_hop),
        multiple_labels: both_label,
        aigp: settings.aigp,
        first_as: first_as.then_some(theirs.asn),
    };
    let both = |of: fn(&Offer) -> bool| of(ours) && of(theirs);
    let restart = ours.graceful_restart.as_ref().zip(theirs.graceful_restart.as_ref());
    let stale = ours.long_lived.as_ref().zip(theirs.long_lived.as_ref());
    let of_theirs = restart.map_or(FamilySet::EMPTY, |(_, theirs)| theirs.families);
    Ok(Negotiated {
        context,
        hold_time,
        keepalive_time: hold_time / 3,
        // Without a hold time as well: who takes nothing costs as much.
        send_hold_time,
        message_max: match theirs.extended_message && ours.extended_message {
            true => EXTENDED_MESSAGE_BYTES_MAX,
            false => MESSAGE_BYTES_MAX,
        },
        add_path_send: families.and(ours.add_path_send).and(theirs.add_path_receive),
        multiple_labels_send: both_label,
        route_refresh: both(|offer| offer.route_refresh),
        enhanced_refresh: both(|offer| offer.enhanced_refresh && offer.route_refresh),
        graceful_restart: families.and(of_theirs),
        notification_restart: restart
            .is_some_and(|(our, its)| our.notification && its.notification),
        // RFC 9494 §4.1: it counts only beside graceful restart.
        long_lived: match stale.filter(|_| restart.is_some()) {
            Some((our, its)) => families.and(our.families).and(its.families),
            None => FamilySet::EMPTY,
        },
        peer: open.offer,
    })
}
