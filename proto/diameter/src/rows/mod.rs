//! The rows: what is spoken here, application by application.

pub mod base;
pub mod cx;
pub mod ro;
pub mod s6c;
pub mod sgd;
pub mod sh;

use crate::row::Application;

/// The Vendor-Id of 3GPP.
pub const VENDOR_3GPP: u32 = 10_415;

/// Every application that has rows here.
pub static APPLICATIONS: &[&Application] =
    &[&base::BASE, &base::ACCOUNTING, &cx::CX, &sh::SH, &s6c::S6C, &sgd::SGD, &ro::RO];
