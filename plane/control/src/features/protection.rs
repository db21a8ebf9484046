//! What the control plane accepts: control-plane policing.

use nodes::Refused;
use nodes::feature::{Change, Feature, Start};
use nodes::protection::Protection;
use nodes::view::Shared;
use program::{Program, Removed};
use table::epoch::Publisher;

/// The feature. The nodes of packets for this system read its table; what it says holds at once.
pub(crate) struct ControlProtection {
    out: Publisher<Protection>,
}

impl Feature for ControlProtection {
    fn new(start: &Start<'_>) -> Self {
        Self { out: Publisher::new(start.domain, Protection::default()) }
    }

    fn name(&self) -> &'static str {
        "protection"
    }

    fn apply(&mut self, program: &Program, _: &mut Change<'_>) -> Result<bool, Refused> {
        let Program::Protection { rows } = program else { return Ok(false) };
        self.out.publish(Protection::of(rows));
        Ok(true)
    }

    fn remove(&mut self, removed: &Removed, _: &mut Change<'_>) -> Result<bool, Refused> {
        let Removed::Protection = removed else { return Ok(false) };
        self.out.publish(Protection::default());
        Ok(true)
    }

    fn said(&self) -> Vec<Removed> {
        vec![Removed::Protection]
    }

    fn share(&self, shared: &mut Shared) {
        shared.protection = self.out.published();
    }
}
