//! Hundreds of calls over links that lose one message in a hundred: every call ends, and the
//! state of the controller returns to zero.

use crate::world::*;
use machine::{Duration, Time};
use std::collections::HashMap;

const CALLS: usize = 400;
const STEP: Duration = Duration::from_millis(50);
const AGAIN: Duration = Duration::from_millis(500);
/// An endpoint gives up after 64 T1 (RFC 3261 timers B, F and H).
const PATIENCE: Duration = Duration::from_secs(32);

/// A generator that any seed repeats (Marsaglia's xorshift).
struct Dice(u64);

impl Dice {
    fn lost(&mut self) -> bool {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.is_multiple_of(100)
    }
}

/// A message that is sent until something answers it.
struct Repeated {
    text: String,
    next: Time,
    end: Time,
}

impl Repeated {
    fn new(text: String, now: Time) -> Self {
        Self { text, next: now, end: now + PATIENCE }
    }
}

#[derive(Default)]
struct CallerState {
    sending: Option<Repeated>,
    hang_up_at: Option<Time>,
    cancel_at: Option<Time>,
    is_answered: bool,
    is_over: bool,
}

#[derive(Default)]
struct CalleeState {
    invite: String,
    answer: Option<Repeated>,
    is_over: bool,
}

struct Soak {
    world: World,
    dice: Dice,
    callers: Vec<(Caller, CallerState)>,
    callees: HashMap<String, CalleeState>,
}

impl Soak {
    fn feed(&mut self, from: &str, listener: &str, text: &str) {
        if !self.dice.lost() {
            self.world.receive(from, listener, text);
        }
    }

    fn deliver(&mut self) {
        while let Some(sent) = self.world.sent.pop_front() {
            if self.dice.lost() {
                continue;
            }
            match sent.to.to_string().as_str() {
                ALICE => self.alice(&sent.text),
                BOB | BACKUP => self.bob(&sent.text, &sent.to.to_string()),
                other => panic!("sent to {other}:\n{}", sent.text),
            }
        }
    }

    fn alice(&mut self, text: &str) {
        let n: usize = header(text, "Call-ID").trim_start_matches("soak-").parse().unwrap();
        let now = self.world.now;
        if text.starts_with("BYE") {
            self.callers[n].1.is_over = true;
            self.callers[n].1.hang_up_at = None;
            return self.feed(ALICE, ACCESS, &respond(text, "200 OK", "", "", ""));
        }
        let status: u16 = text[8..11].parse().unwrap();
        let is_invite = header(text, "CSeq").ends_with("INVITE");
        let (caller, state) = &mut self.callers[n];
        if status >= 200 || is_invite {
            state.sending = None;
        }
        if !is_invite {
            state.is_over |= header(text, "CSeq").ends_with("BYE");
            return;
        }
        if status < 200 {
            return;
        }
        state.cancel_at = None;
        let mut ack = caller.clone();
        ack.cseq = 1;
        if status >= 300 {
            state.is_over = true;
            let text = ack.request("ACK", "", "").replace("z9hG4bKACK", "z9hG4bKINVITE");
            return self.feed(ALICE, ACCESS, &text);
        }
        if !state.is_answered {
            state.is_answered = true;
            caller.learn(text);
            ack.learn(text);
            caller.cseq = 2;
            state.hang_up_at = Some(now + Duration::from_secs(n as u64 % 7));
        }
        self.feed(ALICE, ACCESS, &ack.request("ACK", "", ""));
    }

    fn bob(&mut self, text: &str, at: &str) {
        let now = self.world.now;
        let id = header(text, "Call-ID").to_owned();
        let callee = self.callees.entry(id).or_default();
        let method = text.split(' ').next().unwrap();
        let answers = match method {
            "INVITE" if callee.invite.is_empty() => {
                callee.invite = text.to_owned();
                let number = self.callers.len() as u64 + now.as_nanos() / 50_000_000;
                if number.is_multiple_of(5) {
                    let busy = respond(text, "486 Busy Here", "b", BOB_CONTACT, "");
                    callee.answer = Some(Repeated::new(busy, now));
                    vec![]
                } else {
                    let ok = respond(text, "200 OK", "b", BOB_CONTACT, SDP);
                    let mut answer = Repeated::new(ok, now);
                    answer.next = now + Duration::from_secs(2);
                    callee.answer = Some(answer);
                    vec![respond(text, "180 Ringing", "b", BOB_CONTACT, "")]
                }
            }
            "INVITE" => vec![respond(text, "180 Ringing", "b", BOB_CONTACT, "")],
            "ACK" => {
                callee.answer = None;
                vec![]
            }
            "CANCEL" => {
                let was = callee.answer.as_ref().is_some_and(|answer| answer.next > now);
                if was {
                    let end = respond(&callee.invite, "487 Request Terminated", "b", "", "");
                    callee.answer = Some(Repeated::new(end, now));
                }
                vec![respond(text, "200 OK", "b", "", "")]
            }
            "BYE" => {
                callee.is_over = true;
                callee.answer = None;
                vec![respond(text, "200 OK", "", "", "")]
            }
            other => panic!("Bob got {other}"),
        };
        for answer in answers {
            self.feed(at, CORE, &answer);
        }
    }

    /// Endpoints send what is due.
    fn act(&mut self) {
        let now = self.world.now;
        let mut due = Vec::new();
        for (caller, state) in &mut self.callers {
            if state.hang_up_at.is_some_and(|at| at <= now) {
                state.hang_up_at = None;
                state.sending = Some(Repeated::new(caller.request("BYE", "", ""), now));
            }
            if state.cancel_at.is_some_and(|at| at <= now) {
                state.cancel_at = None;
                let cancel = caller.request("CANCEL", "", "");
                let cancel = cancel.replace("z9hG4bKCANCEL", "z9hG4bKINVITE");
                state.sending = Some(Repeated::new(cancel, now));
            }
            due.extend(repeat(&mut state.sending, now).map(|text| (ALICE, ACCESS, text)));
        }
        for callee in self.callees.values_mut() {
            due.extend(repeat(&mut callee.answer, now).map(|text| (BOB, CORE, text)));
        }
        due.sort(); // a map's order is no seed's
        for (from, listener, text) in due {
            self.feed(from, listener, &text);
        }
    }

    fn pass(&mut self) {
        self.act();
        self.deliver();
        self.world.pass(STEP);
        self.deliver();
    }
}

fn repeat(sending: &mut Option<Repeated>, now: Time) -> Option<String> {
    let message = sending.as_mut()?;
    if message.end <= now {
        *sending = None;
        return None;
    }
    if message.next > now {
        return None;
    }
    message.next = now + AGAIN;
    Some(message.text.clone())
}

#[test]
fn with_one_percent_loss_every_call_ends_and_nothing_is_left() {
    let world = World::new(SITE);
    let (callers, callees) = (Vec::new(), HashMap::new());
    let mut soak = Soak { world, dice: Dice(0x1234_5678_9abc_def1), callers, callees };
    for n in 0..CALLS {
        let caller = Caller::new(&format!("soak-{n}"));
        let mut state = CallerState::default();
        let invite = caller.request("INVITE", "", SDP);
        state.sending = Some(Repeated::new(invite, soak.world.now));
        state.cancel_at = (n % 11 == 0).then(|| soak.world.now + Duration::from_secs(1));
        soak.callers.push((caller, state));
        soak.pass();
    }
    for _ in 0..4_000 {
        soak.pass();
    }
    let over = soak.callers.iter().filter(|(_, state)| state.is_over).count();
    assert!(over * 100 >= CALLS * 99, "{over} of {CALLS} calls came to their end");
    let metrics = ["ssc_calls_answered_total", "ssc_calls_ended_total"];
    let [answered, ended] = metrics.map(|name| soak.world.metric(name));
    assert!(answered > CALLS as u64 / 2);
    assert_eq!(answered, ended, "every answered call ended");
    assert!(soak.world.ask("calls", &[]).as_array().unwrap().is_empty());
    soak.world.expect_idle();
}
