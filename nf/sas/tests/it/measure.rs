//! The measurements run, in their small form.
#![allow(dead_code, clippy::duplicate_mod, reason = "two examples, each with its own `main`")]

#[path = "../../examples/ingest.rs"]
mod ingest;
#[path = "../../examples/search.rs"]
mod search;

#[test]
fn ingest_keeps_every_message() {
    ingest::run(true, None);
}

#[test]
fn searches_answer_over_many_calls() {
    search::run(true, None);
}
