//! The four transaction machines as tables: every state, every event, what follows.
//!
//! A row is a state, a column an event; a cell is the next state (`.` for the same) and what is
//! done on the way. Compare RFC 3261 Figures 6 and 8, RFC 6026 Figures 5 and 7.

use std::fmt::Debug;
use std::fmt::Write as _;
use transaction::act::Act;
use transaction::{invite_client, invite_server, non_invite_client, non_invite_server};

fn table<S: Copy + Debug + PartialEq, E: Copy + Debug>(
    states: &[S],
    events: &[E],
    step: impl Fn(S, E) -> (S, Act),
) -> String {
    let mut text = String::new();
    for &state in states {
        let _ = writeln!(text, "{state:?}");
        for &event in events {
            let (next, act) = step(state, event);
            if next == state && act == Act::NOTHING {
                continue;
            }
            let next = if next == state { ".".to_owned() } else { format!("{next:?}") };
            let _ = writeln!(text, "  {event:?}: {next} {act:?}");
        }
    }
    text
}

/// Leading blanks of a raw table.
fn unindented(text: &str) -> String {
    text.lines().skip(1).map(|line| line.strip_prefix("        ").unwrap_or(line)).fold(
        String::new(),
        |mut all, line| {
            if !line.trim().is_empty() {
                let _ = writeln!(all, "{line}");
            }
            all
        },
    )
}

#[test]
fn the_invite_client_follows_figure_5_of_rfc_6026() {
    use invite_client::{Event::*, State};
    let states =
        [State::Calling, State::Proceeding, State::Completed, State::Accepted, State::Terminated];
    let events = [Provisional, Success, Failure, TimerA, TimerB, TimerD, TimerM, TransportError];
    let expected = "
        Calling
          Provisional: Proceeding pass
          Success: Accepted pass+forget
          Failure: Completed pass+ack
          TimerA: . resend
          TimerB: Terminated timeout
          TransportError: Terminated error
        Proceeding
          Provisional: . pass
          Success: Accepted pass+forget
          Failure: Completed pass+ack
          TimerB: Terminated timeout
        Completed
          Failure: . ack
          TimerD: Terminated -
          TransportError: Terminated error
        Accepted
          Success: . pass
          TimerM: Terminated -
        Terminated
    ";
    assert_eq!(table(&states, &events, State::step), unindented(expected));
}

#[test]
fn the_non_invite_client_follows_figure_6_of_rfc_3261() {
    use non_invite_client::{Event::*, State};
    let states = [State::Trying, State::Proceeding, State::Completed, State::Terminated];
    let events = [Provisional, Final, TimerE, TimerF, TimerK, TransportError];
    let expected = "
        Trying
          Provisional: Proceeding pass
          Final: Completed pass+forget
          TimerE: . resend
          TimerF: Terminated timeout
          TransportError: Terminated error
        Proceeding
          Provisional: . pass
          Final: Completed pass+forget
          TimerE: . resend
          TimerF: Terminated timeout
          TransportError: Terminated error
        Completed
          TimerK: Terminated -
        Terminated
    ";
    assert_eq!(table(&states, &events, State::step), unindented(expected));
}

#[test]
fn the_invite_server_follows_figure_7_of_rfc_6026() {
    use invite_server::{Event::*, State};
    let states =
        [State::Proceeding, State::Completed, State::Confirmed, State::Accepted, State::Terminated];
    let events = [
        Invite,
        Ack,
        Provisional,
        Success,
        Failure,
        TimerG,
        TimerH,
        TimerI,
        TimerL,
        TransportError,
    ];
    let expected = "
        Proceeding
          Invite: . resend
          Provisional: . store
          Success: Accepted forget
          Failure: Completed store
          TransportError: Terminated error
        Completed
          Invite: . resend
          Ack: Confirmed pass+forget
          TimerG: . resend
          TimerH: Terminated timeout
          TransportError: Terminated error
        Confirmed
          TimerI: Terminated -
        Accepted
          Ack: . pass
          TimerL: Terminated -
        Terminated
    ";
    assert_eq!(table(&states, &events, State::step), unindented(expected));
}

#[test]
fn the_non_invite_server_follows_figure_8_of_rfc_3261() {
    use non_invite_server::{Event::*, State};
    let states = [State::Trying, State::Proceeding, State::Completed, State::Terminated];
    let events = [Request, Provisional, Final, TimerJ, TransportError];
    let expected = "
        Trying
          Provisional: Proceeding store
          Final: Completed store
        Proceeding
          Request: . resend
          Provisional: . store
          Final: Completed store
          TransportError: Terminated error
        Completed
          Request: . resend
          TimerJ: Terminated -
          TransportError: Terminated error
        Terminated
    ";
    assert_eq!(table(&states, &events, State::step), unindented(expected));
}
