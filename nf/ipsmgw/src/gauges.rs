//! What the gateway shows of its parts, brought up to date when somebody asks.

use crate::function::ShortMessageGateway;
use crate::wire::SipMetric;

impl ShortMessageGateway {
    /// Brings the gauges up to date.
    pub(crate) fn gauges(&self) {
        self.by_diameter.publish();
        self.records.publish();
        let (metrics, status) = (&self.wire.metrics, self.store.status());
        metrics.set(SipMetric::Captured, self.wire.capture.captured);
        metrics.set(SipMetric::CaptureShed, self.wire.capture.shed);
        metrics.set(SipMetric::Transactions, self.transactions.len() as u64);
        metrics.set(SipMetric::TargetsDown, self.border.hops.down() as u64);
        metrics.set(SipMetric::Rows, status.rows as u64);
        metrics.set(SipMetric::RowOctets, status.octets as u64);
        metrics.set(SipMetric::RowsUnsynced, status.unsynced);
        if let Some(shared) = status.shared {
            metrics.set(SipMetric::RowsAsked, shared.under_way as u64);
            metrics.set(SipMetric::RowsLate, shared.late as u64);
            metrics.set(SipMetric::RowsAnswered, shared.answered);
            metrics.set(SipMetric::RowsUnanswered, shared.failed);
        }
        if let Some(pair) = status.pair {
            metrics.set(SipMetric::StandbyHeld, pair.held as u64);
            metrics.set(SipMetric::StandbyMissed, pair.unfollowed);
            metrics.set(SipMetric::StandbyBehind, pair.refused);
        }
        let counts = self.links.counts();
        metrics.set(SipMetric::LinksDown, self.links.lacking().count() as u64);
        metrics.set(SipMetric::Dialogues, self.links.dialogues() as u64);
        metrics.set(SipMetric::LinkReceived, counts.received);
        metrics.set(SipMetric::LinkSent, counts.sent);
        metrics.set(SipMetric::LinkLosses, counts.losses);
        metrics.set(SipMetric::LinkShed, counts.shed);
        metrics.set(SipMetric::LinkUnread, counts.unread);
    }
}
