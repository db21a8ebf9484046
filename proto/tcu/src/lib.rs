//! TC-user primitives (Q.771): what TCAP and an application say to each other, in two spellings,
//! and the two ends of that.
//!
//! ```text
//!   tcap::Transactions ⇄ Indication, Request
//!                            ⇅
//!                      Application ─┬───────────────────────────────────────── Service
//!                         │         └ an instance without a connection         inside the gateway
//!                         └── groups, instances, queues ── octets ⇄ Client ⇄ Service
//!                             tagged fields or JSON lines              in a program apart
//! ```
//! - A [`Service`] is told [`Indication`]s and asks for [`Request`]s. It is the same inside the
//!   gateway ([`Application::serve_inside`]) and in a program apart ([`Client`]).
//! - [`ToApplication`] and [`ToGateway`] are what goes over a connection, each in the spelling that
//!   the application began with ([`Spelling`]): tagged fields, or a line of JSON in which
//!   operations and parameters bear their ASN.1 names.
//! - [`Application`] is the gateway's end: instances that connected, the dialogues that each has,
//!   what is held for who would take a dialogue over, and what waits for a slow reader.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod application;
mod client;
mod frame;
mod json;
mod message;
mod names;
mod network;
mod primitive;
mod service;
mod spelling;
mod tagged;

pub use application::{
    Application, Count, Failures, GREETING_MAX, Happened, InstanceId, InstanceStatus, Network,
    Notice, Operations, Settings, Side, Status, Tally, Wanted, application_of,
};
pub use client::{Client, ClientEvent};
pub use frame::{Cut, MESSAGE_OCTETS_MAX, cut, ends_within};
pub use json::{PointCodes, component_json, parameter_of, problem_name};
pub use message::{
    Hello, Misread, Named, PROOF_LABEL, ToApplication, ToGateway, VERSION, Welcome, proof_text,
};
pub use names::{Speech, context_name};
pub use network::{NetworkIndication, NetworkRequest};
pub use primitive::{
    Code, Component, Indication, PointCodeStatus, Portion, Refusal, Request, STATE_OCTETS_MAX,
};
pub use service::{
    Echo, Hlr, Monitor, Refuse, Service, Subscribers, Unusable, carry_out, indications,
};
pub use spelling::Spelling;
pub use tagged::{Kind, Tag};
