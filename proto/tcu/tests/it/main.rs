//! Tests of the TC-user primitives: both spellings, and the gateway's end of an application.

mod application;
mod documentation;
mod spelling;
mod values;
mod world;
