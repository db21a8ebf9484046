//! A component that came, looked at by paths of its JSON: what is asked for is found in its octets,
//! and the whole is written as JSON only where that does not lead there.

use crate::message;
use crate::path::Path;
use ber::{Shape, Type};
use core::cell::OnceCell;
use serde_json::Value;
use tcu::{Component, Speech};

/// A component and what is spoken.
pub(crate) struct Seen<'a> {
    component: &'a Component,
    speech: Speech,
    parameter: Option<(&'static str, ber::Placed<'a>)>,
    whole: OnceCell<Value>,
}

impl<'a> Seen<'a> {
    pub(crate) fn new(component: &'a Component, speech: Speech) -> Self {
        let parameter = tcu::parameter_of(component, speech);
        Self { component, speech, parameter, whole: OnceCell::new() }
    }

    /// All of it.
    pub(crate) fn whole(&self) -> &Value {
        self.whole.get_or_init(|| message::shown_component(self.component, self.speech))
    }

    /// What stands at a path.
    pub(crate) fn at(&self, path: &Path) -> Option<Value> {
        let within = self.parameter.and_then(|(member, of)| {
            let (kind, element) = path.within(member, of)?;
            value_of(kind, &element)
        });
        within.or_else(|| path.of(self.whole()).cloned())
    }
}

/// A value as JSON has it.
fn value_of(kind: &Type, element: &ber::Element<'_>) -> Option<Value> {
    let mut text = String::new();
    kind.to_json(element, &mut text).ok()?;
    if let Shape::Octets(_) = kind.shape {
        // Between its quotation marks are hexadecimal digits.
        return Some(Value::String(text.trim_matches('"').to_owned()));
    }
    serde_json::from_str(&text).ok()
}
