//! SCCP (Q.711 to Q.714): codec, and a node as a machine without clock and sockets: connectionless
//! control (SCLC), connection-oriented control (SCOC), routing control (SCRC) with global title
//! translation, and management (SCMG).
//!
//! ```text
//!         In::Unitdata, State                 Out::Indicate(Unitdata, Notice, State, …)
//!   user ───────────────────────────→ Node ───────────────────────────────────────────→ user
//!         In::Transfer, Pause, Resume,  │     Out::Transfer
//!   MTP3 ───────────────────────────→   └─────────────────────────────────────────────→ MTP3
//! ```
//! - A node has one point code in one network. Its subsystems are those that said so by
//!   [`In::State`]; SSN 1 is management.
//! - A title is translated by [`Rules`], by the node that is addressed; what does not stay goes on
//!   with its hop counter lessened.
//! - What cannot be delivered comes back when its class says so, with the cause of Q.713 §3.12, and
//!   is counted either way.
//! - Connections (classes 2 and 3) are for the subsystems that take them
//!   ([`ConnectionInput::Serve`]); what is asked of another is refused (CREF). A CR whose title
//!   leads elsewhere goes on by a section that is coupled with the one it came by
//!   ([`Parameters::couples`]), or without one: then this node has no part of that connection.
//!
//! ```
//! use bytes::Bytes;
//! use machine::{Machine, Time};
//! use sccp::codec::{Address, Class};
//! use sccp::{In, Indication, Node, Out, Parameters, Rules, Settings, Unitdata};
//!
//! let point_code = |number| m3ua::codec::PointCode::new(number).expect("24 bits");
//! let mut nodes = [1, 2].map(|number| {
//!     let settings = Settings {
//!         network: None,
//!         point_code: point_code(number),
//!         aliases: Vec::new(),
//!         network_indicator: 2,
//!         concerned: Vec::new(),
//!         parameters: Parameters::q714(),
//!     };
//!     Node::new(settings, Rules::default())
//! });
//! let (mut out, now) = (Vec::new(), Time::ZERO);
//! nodes[1].step(now, In::State(6, true), &mut out);
//! let unitdata = Unitdata {
//!     called: Address::subsystem(Some(point_code(2)), 6),
//!     calling: Address::subsystem(Some(point_code(1)), 8),
//!     class: Class { is_sequenced: false, returns: true },
//!     sls: 0,
//!     importance: None,
//!     data: Bytes::from_static(b"BEGIN"),
//! };
//! nodes[0].step(now, In::Unitdata(unitdata), &mut out);
//! let Some(Out::Transfer(msu)) = out.pop() else { panic!("it is sent") };
//! nodes[1].step(now, In::Transfer(msu), &mut out);
//! let Some(Out::Indicate(Indication::Unitdata(_, came))) = out.pop() else { panic!("it came") };
//! assert_eq!(came.data, b"BEGIN"[..]);
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

pub mod codec;
mod connection;
mod effects;
mod metrics;
mod node;
mod pattern;
mod reassembly;
mod room;
mod settings;
mod translation;

pub use connection::{
    Accept, Connect, ConnectionEvent, ConnectionInput, ConnectionParameters, ConnectionReport,
    ConnectionStatus, Disconnect, Disconnected, Inform, Restored, Standing,
};
pub use effects::{In, Indication, Out, Unitdata};
pub use metrics::Metric;
pub use node::{Node, RemoteStatus};
pub use pattern::{Pattern, Shape};
pub use reassembly::SegmentsOf;
pub use settings::{Parameters, Settings};
pub use translation::{
    CHOICES_MAX, Change, Choice, Outcome, RULES_MAX, Rule, Rules, SHAPES_MAX, Selector, Target,
    Untranslated,
};
