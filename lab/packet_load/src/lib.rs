//! Packets by the million from a seed, what became of them, and the methods that make a figure of
//! it.
//!
//! ```text
//!   Plan (streams: layers · flows · sizes · order) ─→ Generator ──write──→ cells, octets
//!                                                        │ sent, per flow      │ device
//!   Method (next trial) ←─ Measured ←─ Report ←─ settle ─┴─ Analyser ←─receive─┘
//! ```
//! Nothing here knows a clock, a socket or a thread: time is an argument. The same plan gives the
//! same packets. Sizes are those of RFC 2544: with the four octets of the frame check sequence,
//! which no packet in memory has.
//!
//! A stream may be speech: RTP or SRTP with sequence numbers and timestamps that go on from trial
//! to trial, and pauses where it has silence suppression ([`Voice`]). Its packets are signed in
//! their payload like all others; what is signed is found again after SRTP was opened.
#![forbid(unsafe_code)]

mod analyser;
mod flow;
mod generator;
mod histogram;
mod layer;
mod listener;
mod method;
mod order;
mod prefixes;
mod random;
mod records;
mod report;
mod schedule;
mod signature;
mod sizes;
mod speaker;
mod stream;
mod sum;
mod talk;
mod values;
mod voice;

pub use analyser::Analyser;
pub use flow::WINDOW;
pub use generator::Generator;
pub use histogram::{Histogram, PRECISION};
pub use layer::{ADDRESS_BITS_V6, Layer};
pub use method::{
    BackToBack, Bounds, Burst, FrameLoss, Goal, Latency, LatencyFigures, Measured, Method, Search,
    SearchOutcome, TRIALS_MAX, Trial, drive,
};
pub use order::Order;
pub use prefixes::{Route, hosts, table_v4, table_v6};
pub use random::Random;
pub use report::{Delays, Report, StreamReport, VoiceReport};
pub use schedule::Schedule;
pub use signature::Form;
pub use sizes::{FCS, IMIX, REPORT, SIZE_MAX, SIZE_MIN, Sizes};
pub use stream::{FLOWS_MAX, Plan, Refused, STREAMS_MAX, Stream};
pub use talk::Suppression;
pub use values::{Part, Values, Vary};
pub use voice::{Codec, Guard, PACKETS_PER_S, Voice};
