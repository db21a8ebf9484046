//! What the doorway shows of its parts, brought up to date when somebody asks.

use crate::function::ShortMessageGateway;
use crate::wire::DoorMetric;

impl ShortMessageGateway {
    /// Brings the gauges up to date.
    pub(crate) fn gauges(&self) {
        self.by_diameter.publish();
        self.records.publish();
        let (metrics, status) = (&self.wire.metrics, self.store.status());
        metrics.set(DoorMetric::Captured, self.wire.capture.captured);
        metrics.set(DoorMetric::CaptureShed, self.wire.capture.shed);
        metrics.set(DoorMetric::Transactions, self.transactions.len() as u64);
        metrics.set(DoorMetric::TargetsDown, self.border.hops.down() as u64);
        metrics.set(DoorMetric::Rows, status.rows as u64);
        metrics.set(DoorMetric::RowOctets, status.octets as u64);
        metrics.set(DoorMetric::RowsUnsynced, status.unsynced);
        if let Some(shared) = status.shared {
            metrics.set(DoorMetric::RowsAsked, shared.under_way as u64);
            metrics.set(DoorMetric::RowsLate, shared.late as u64);
            metrics.set(DoorMetric::RowsAnswered, shared.answered);
            metrics.set(DoorMetric::RowsUnanswered, shared.failed);
        }
        if let Some(pair) = status.pair {
            metrics.set(DoorMetric::StandbyHeld, pair.held as u64);
            metrics.set(DoorMetric::StandbyMissed, pair.unfollowed);
            metrics.set(DoorMetric::StandbyBehind, pair.refused);
        }
        let counts = self.links.counts();
        metrics.set(DoorMetric::LinksDown, self.links.lacking().count() as u64);
        metrics.set(DoorMetric::Dialogues, self.links.dialogues() as u64);
        metrics.set(DoorMetric::LinkReceived, counts.received);
        metrics.set(DoorMetric::LinkSent, counts.sent);
        metrics.set(DoorMetric::LinkLosses, counts.losses);
        metrics.set(DoorMetric::LinkShed, counts.shed);
        metrics.set(DoorMetric::LinkUnread, counts.unread);
    }
}
