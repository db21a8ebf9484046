//! Metrics of the operations of applications: by operation, and by why something failed.

use crate::Gateway;
use event::Table;

event::metrics! {
    /// What is counted of an operation of an application.
    pub enum OperationMetric {
        /// A peer has asked for it.
        AskedThere = Counter, "sgc_operation_asked_there_total";
        /// The application has asked for it.
        AskedHere = Counter, "sgc_operation_asked_here_total";
        /// The application has answered it with a result.
        AnsweredHere = Counter, "sgc_operation_answered_here_total";
        /// A peer has answered it with a result.
        AnsweredThere = Counter, "sgc_operation_answered_there_total";
    }
}

event::metrics! {
    /// How often operations and dialogues of an application failed for one cause: an error, a
    /// reject, an abort, no answer in time, or a message that came back.
    pub enum FailureMetric {
        /// The application said so.
        SaidHere = Counter, "sgc_failures_said_here_total";
        /// A peer said so, or nothing came of it.
        SaidThere = Counter, "sgc_failures_said_there_total";
    }
}

/// By application and operation; rows of MAP and CAP, and `other`, are all that there may be.
pub type OperationTable = Table<OperationMetric, 2>;
/// By application and cause; rows of MAP, CAP and TCAP, and `other`, are all that there may be.
pub type FailureTable = Table<FailureMetric, 2>;

/// The tables of applications without a row.
#[must_use]
pub fn empty_tables() -> Vec<event::MetricCells> {
    let tables = Tables::new();
    tables.cells().into_iter().chain([tables.cluster.cells()]).collect()
}

/// The tables of applications.
pub(crate) struct Tables {
    pub(crate) applications: crate::application_listeners::ApplicationTable,
    operations: OperationTable,
    failures: FailureTable,
    pub(crate) partitions: crate::PartitionTable,
    /// Of a node of a cluster.
    pub(crate) cluster: event::Metrics<crate::ClusterMetric>,
}

impl Tables {
    pub(crate) fn new() -> Self {
        let applications = crate::application_listeners::application_table();
        let operations = Table::new(&["application", "operation"]);
        let failures = Table::new(&["application", "cause"]);
        let (partitions, cluster) = (crate::clustered::partition_table(), event::Metrics::new());
        Self { applications, operations, failures, partitions, cluster }
    }

    pub(crate) fn cells(&self) -> [event::MetricCells; 4] {
        let applications = [self.applications.cells(), self.operations.cells()];
        let [a, b] = applications;
        [a, b, self.failures.cells(), self.partitions.cells()]
    }
}

/// Brings the tables up to date.
pub(crate) fn show(of: &Gateway) {
    use {FailureMetric as C, OperationMetric as F};
    let applications = || of.sccp.applications().iter();
    let operations = applications().flat_map(|(name, end)| {
        end.tally().operations().map(move |(operation, counts)| {
            let values = [
                (F::AskedThere, counts.asked_there),
                (F::AskedHere, counts.asked_here),
                (F::AnsweredHere, counts.answered_here),
                (F::AnsweredThere, counts.answered_there),
            ];
            ([name, operation], values)
        })
    });
    of.tables.operations.show(operations);
    let failures = applications().flat_map(|(name, end)| {
        end.tally().causes().map(move |(cause, counts)| {
            let values = [(C::SaidHere, counts.said_here), (C::SaidThere, counts.said_there)];
            ([name, cause], values)
        })
    });
    of.tables.failures.show(failures);
}
