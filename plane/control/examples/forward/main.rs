//! What the nodes cost, in memory, on one core: packets come from a table of flows, are written
//! into cells, go through the whole graph and leave into a sink that frees them.
//!
//! `cargo run --release -p tandem-plane-control --example forward --`
//! `[row…] [--flows N] [--seconds S]`
#![allow(missing_docs, unsafe_code, reason = "a measurement")]
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "it measures and prints")]

mod case;
mod ip;
mod queues;
mod services;

use case::{Case, measure};

/// Rows by name.
type Row = (&'static str, fn(usize) -> Case);

const ROWS: &[Row] = &[
    ("ipv4", ip::ipv4),
    ("ipv6", ip::ipv6),
    ("ipv4-vrf", ip::ipv4_vrf),
    ("vpws", services::vpws),
    ("vpls", services::vpls),
    ("vrf-mpls", services::vrf_mpls),
    ("filter", services::filter),
    ("filter-apart", services::filter_apart),
    ("policer", services::policer),
    ("services", services::services),
];

fn main() {
    let (mut rows, mut flows, mut seconds) = (Vec::new(), 1_000_000, 2.0);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--flows" => flows = number(arguments.next()) as usize,
            "--seconds" => seconds = number(arguments.next()),
            row => rows.push(row.to_owned()),
        }
    }
    println!("{:<12} {:>9} {:>8} {:>8} {:>8}", "row", "flows", "Mpps", "clocks", "writing");
    for (name, make) in ROWS {
        if rows.is_empty() || rows.iter().any(|row| row == name) {
            measure(name, make(flows), seconds);
        }
    }
    if rows.is_empty() || rows.iter().any(|row| row == "scheduler") {
        queues::measure(seconds);
    }
}

fn number(argument: Option<String>) -> f64 {
    argument.and_then(|text| text.parse().ok()).expect("a number")
}
