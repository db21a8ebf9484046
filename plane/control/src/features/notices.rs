//! What is told of MAC addresses: moves, freezes and limits, not that each was learnt or aged.

use machine::Time;
use nodes::bucket::{Bucket, Rate};
use nodes::l2::bridge::PSEUDOWIRE;
use program::{BridgeMember, MacChange, MacLimit, MacNotice};
use table::mac::{MacEvent, MacRefused};

/// Moves and refusals that are told: a loop moves every address, and a flood is refused all over.
const TOLD: Rate = Rate { per_second: 100, burst: 200 };

/// Chooses what is told.
#[derive(Default)]
pub(crate) struct Notices {
    told: Bucket,
}

impl Notices {
    /// What is told of an event, if anything. Freezes and thaws always are: alarms hang on them.
    pub(crate) fn of(&mut self, event: MacEvent, now: Time) -> Option<MacNotice> {
        let (key, what) = match event {
            MacEvent::Moved(key, from, to) => {
                (key, MacChange::Moved { from: member(from), to: member(to) })
            }
            MacEvent::Frozen(key, at) => (key, MacChange::Frozen { at: member(at) }),
            MacEvent::Thawed(key) => (key, MacChange::Thawed),
            MacEvent::Refused(key, at, why) => {
                let limit = match why {
                    MacRefused::TableFull | MacRefused::Crowded => MacLimit::Table,
                    MacRefused::BridgeFull => MacLimit::Bridge,
                    MacRefused::PortFull => MacLimit::Member,
                    MacRefused::Malformed => return None,
                };
                (key, MacChange::Refused { at: member(at), limit })
            }
            MacEvent::Learnt(..) | MacEvent::Aged(..) => return None,
        };
        let always = matches!(what, MacChange::Frozen { .. } | MacChange::Thawed);
        let notice = MacNotice { bridge: u32::from(key.bridge()), mac: key.mac(), what };
        (always || self.told.take(TOLD, now)).then_some(notice)
    }
}

/// The member that a port of the MAC table stands for.
fn member(port: u32) -> BridgeMember {
    match port.checked_sub(PSEUDOWIRE) {
        Some(wire) => BridgeMember::Pseudowire(wire),
        None => BridgeMember::Interface(port),
    }
}
