//! What a rule of a section means to SCCP.

use crate::section::{TargetChoice, TargetRouting, Translation, TranslationOf, TranslationTarget};
use m3ua_stack::config::PointCodeFormat;
use sccp::codec::{Digits, Indicator, Routing};
use sccp::{Change, Choice, Pattern, Rule, Selector, Target};

impl Translation {
    /// Which titles it is for; `None` when a field cannot be read.
    #[must_use]
    pub fn selector(&self) -> Option<Selector> {
        let indicator = match self.indicator {
            None => None,
            Some(number) => Some(indicator(number)?),
        };
        Some(Selector {
            indicator,
            translation_type: self.translation_type,
            plan: self.numbering_plan,
            nature: self.nature_of_address,
            encoding: self.encoding_scheme,
        })
    }

    /// The rule; `None` when a field cannot be read.
    #[must_use]
    pub fn rule(&self, format: PointCodeFormat) -> Option<Rule> {
        let target = |it: &TranslationTarget| {
            let point_code = match &it.point_code {
                None => None,
                Some(text) => Some(format.read(text)?),
            };
            Some(Target {
                point_code,
                subsystem: it.subsystem,
                routing: match it.routing {
                    TargetRouting::Subsystem => Routing::Subsystem,
                    TargetRouting::Title => Routing::Title,
                },
                weight: it.weight,
            })
        };
        let mut targets: Vec<Target> = self.target.iter().map(target).collect::<Option<_>>()?;
        if targets.is_empty() && self.of == TranslationOf::Calling {
            let (point_code, subsystem, weight) = (None, None, 1);
            targets.push(Target { point_code, subsystem, routing: Routing::Title, weight });
        }
        Some(Rule {
            selector: self.selector()?,
            prefix: Pattern::parse(&self.digits)?,
            change: Change {
                strip: self.strip.into(),
                prepend: Digits::parse(&self.prepend)?,
                translation_type: self.new_translation_type,
                plan: self.new_numbering_plan,
                nature: self.new_nature_of_address,
            },
            targets,
            choice: match self.choice {
                TargetChoice::Backup => Choice::Backup,
                TargetChoice::Share => Choice::Share,
            },
        })
    }
}

/// A Global Title Indicator by its number.
#[must_use]
pub const fn indicator(number: u8) -> Option<Indicator> {
    Some(match number {
        1 => Indicator::Nature,
        2 => Indicator::Type,
        3 => Indicator::TypePlan,
        4 => Indicator::TypePlanNature,
        _ => return None,
    })
}
