//! What came from a peer that begins: the first scenario plays that fits it.

use super::{Player, Want, Wanted};
use crate::came;
use crate::play::{Came, Stands};
use crate::program::Step;
use machine::Time;
use std::sync::Arc;
use tcu::{Indication, Portion, Request, Speech};

impl Player {
    /// Answers a BEGIN, or takes a UNI.
    pub(super) fn answer(&mut self, now: Time, role: usize, number: Option<u64>, it: Indication) {
        let program = Arc::clone(&self.program);
        let it = &Came::Tc(it);
        let portion = it.portion();
        let context = portion.and_then(|it| it.context.as_deref());
        let components = portion.map(|it| &it.components[..]).unwrap_or_default();
        let speech = Speech::of(context, components);
        let mut why = "no scenario of this role answers".to_owned();
        let candidates = program.answers.get(role).map(Vec::as_slice).unwrap_or_default();
        for at in candidates {
            let Some(Step::Await(step)) = program.scenarios[*at].steps.first() else { continue };
            let Some(slot) = self.open(now, *at) else {
                self.tally.scenarios[*at].begun += 1;
                self.full(*at);
                return self.refuse(role, number, it);
            };
            let play = &mut self.plays[slot];
            let of = &mut play.dialogues[step.dialogue];
            (of.speech, of.stands) = (speech, number.map_or(Stands::Over, Stands::Open));
            let fits = came::fits(step, it, of).and_then(|()| came::take(step, it, play, &program));
            if let Err((_, words)) = fits {
                why = words;
                self.release(slot);
                continue;
            }
            if let Some(portion) = portion {
                came::note(portion, &mut play.dialogues[step.dialogue]);
            }
            self.tally.scenarios[*at].begun += 1;
            self.number += 1;
            if let Some(number) = number {
                self.dialogues.insert((role, number), (slot, step.dialogue));
            }
            self.plays[slot].step = 1;
            return self.advance(now, slot);
        }
        self.tally.unanswered += 1;
        let name = &program.roles[role].name;
        self.tally.example(|| format!("{name} was asked what no scenario fits: {why}"));
        self.refuse(role, number, it);
    }

    /// Nothing answers it.
    fn refuse(&mut self, role: usize, number: Option<u64>, it: &Came) {
        let Some(dialogue) = number else { return };
        let context = it.portion().and_then(|it| it.context.clone());
        let portion = Portion { context, ..Portion::default() };
        let what = Wanted::Request(Request::UAbort { dialogue, portion });
        self.out.push(Want { role, what });
        self.tally.messages_out += 1;
    }
}
