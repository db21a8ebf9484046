//! VRFs that have as many routes as they may, and what was refused to them or withheld of them: it
//! is judged anew when there is room, but not again and again by routes around the limit.

use crate::vpn::retell;
use crate::vrf::{Vrf, families};
use crate::{Vpn, VrfId};
use bgp::codec::ExtendedCommunity;
use machine::{Duration, Time};
use rib::Rib;

/// Time between two times at which what was refused or withheld is judged anew. All of it is read
/// again then.
pub const RELIEF_INTERVAL: Duration = Duration::from_secs(10);

/// Whether there is room among so many at most: an eighth of them.
const fn has_room(count: usize, most: usize) -> bool {
    count < most - most.div_ceil(8)
}

impl Vrf {
    /// What it was refused may be imported.
    fn has_room(&self) -> bool {
        has_room(self.prefixes(), self.settings.routes_max)
    }

    /// What was withheld of it may be exported.
    fn may_export_more(&self) -> bool {
        let exported = usize::try_from(self.counters.exported).unwrap_or(usize::MAX);
        has_room(exported, self.settings.routes_max)
    }
}

impl Vpn {
    /// VRFs that were refused routes, and those of which some are withheld, that have room now.
    fn relievable(&self) -> [Vec<VrfId>; 2] {
        let of =
            |id: &VrfId, is_it: fn(&Vrf) -> bool| self.vrfs.get(id).is_some_and(|it| is_it(it));
        let short = self.short.iter().filter(|id| of(id, Vrf::has_room));
        let withheld = self.withheld.iter().filter(|id| of(id, Vrf::may_export_more));
        [short.copied().collect(), withheld.copied().collect()]
    }

    /// Has judged anew what was refused to VRFs or withheld of them, where there is room and the
    /// last time is [`RELIEF_INTERVAL`] ago: whether [`Vpn::work`] has something to do.
    pub fn tick(&mut self, now: Time, core: &mut Rib) -> bool {
        if self.deadline().is_none_or(|at| now < at) {
            return false;
        }
        self.relieved = Some(now);
        let [short, withheld] = self.relievable();
        let mut targets: Vec<ExtendedCommunity> = Vec::new();
        for id in short {
            self.short.remove(&id);
            targets.extend(self.vrfs.get(&id).into_iter().flat_map(|it| &it.settings.import));
        }
        retell(core, &targets);
        withheld.into_iter().for_each(|id| self.export_anew(id));
        true
    }

    /// When [`Vpn::tick`] wants to be called; none as long as no VRF is full or all are.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let is_due = self.relievable().iter().any(|it| !it.is_empty());
        is_due.then(|| self.relieved.map_or(Time::ZERO, |at| at + RELIEF_INTERVAL))
    }

    /// All of a VRF is exported anew, as far as there is room.
    pub(crate) fn export_anew(&mut self, id: VrfId) {
        let Some(vrf) = self.vrfs.get_mut(&id) else { return };
        self.withheld.remove(&id);
        vrf.rib.close_reader(vrf.reader);
        vrf.reader = vrf.rib.reader(families(), 1);
        self.touch(id);
    }
}
