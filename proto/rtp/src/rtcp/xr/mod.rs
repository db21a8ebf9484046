//! Extended reports (RFC 3611): what RTCP's own reports have no room for.

mod block;
mod frame;
mod reference;
mod runs;
mod summary;
mod times;
mod voip;

pub use block::{Block, Blocks, ExtendedReport, write_extended_report};
pub use frame::{BlockType, RawBlock};
pub use reference::{Dlrr, Dlrrs, write_dlrr, write_reference_time};
pub use runs::{Interval, RunLengths, Runs, write_run_lengths};
pub use summary::{HopLimit, HopLimits, Losses, Spread, StatisticsSummary};
pub use times::{ReceiptTimes, write_receipt_times};
pub use voip::{Concealment, JitterBuffer, NO_LEVEL, NO_SCORE, VoipMetrics};
