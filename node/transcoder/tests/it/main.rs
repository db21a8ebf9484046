//! A process that transcodes, as its control sees it.
#![allow(missing_docs)]

mod process;
