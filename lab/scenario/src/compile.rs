//! A file becomes a program: names, templates and values are checked, and what never changes is
//! written once.

use crate::changes::Changes;
use crate::file::{self, Awaited, File, Sent};
use crate::filter::{FILTERS, Filter};
use crate::message;
use crate::path::Path as JsonPath;
use crate::program::{
    Await, Capture, Check, ComponentKind, DIALOGUES_MAX, Expected, Find, Identifier, Made, Number,
    Program, Scenario, Send, Sending, Step,
};
use crate::table::Table;
use crate::template::{Name, Scope, Template};
use config::{Diagnostic, Issue, meant};
use machine::Duration;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tcu::Speech;

/// How long a message is waited for where nothing says it.
const WITHIN: Duration = Duration::from_secs(30);

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistakes(pub Vec<Diagnostic>);

/// Reads a file; `base` is the folder that its own files are in.
///
/// # Errors
/// Everything that is wrong, with line and hint.
pub fn read(text: &str, base: &Path) -> Result<Program, Mistakes> {
    read_changed(text, base, &Changes::default())
}

/// The same of a file in which something is to be otherwise.
///
/// # Errors
/// Everything that is wrong then, at its place in the file.
pub fn read_changed(text: &str, base: &Path, changes: &Changes) -> Result<Program, Mistakes> {
    let mut file: File = config::read(text).map_err(Mistakes)?;
    let mut issues = Vec::new();
    changes.apply(&mut file, &mut issues);
    if issues.is_empty() {
        crate::validate::validate(&file, &mut issues);
    }
    if issues.is_empty() {
        let program = program(&file, base, &mut issues);
        if issues.is_empty() {
            return Ok(program);
        }
    }
    Err(Mistakes(config::placed(text, issues)))
}

fn program(file: &File, base: &Path, issues: &mut Vec<Issue>) -> Program {
    let mut tables = Vec::new();
    for (at, of) in file.table.iter().enumerate() {
        let table = Table::new(of, base).unwrap_or_else(|wrong| {
            issues.push(Issue::new(format!("table[{at}]"), wrong, "docs/scenarios.md has tables"));
            Table::empty(&of.name)
        });
        tables.push(table);
    }
    let mut scenarios = Vec::new();
    let mut answers = vec![Vec::new(); file.role.len()];
    // Without its tables nearly every name would be a mistake.
    let count = if issues.is_empty() { file.scenario.len() } else { 0 };
    for (at, of) in file.scenario.iter().take(count).enumerate() {
        let mut compiler = Compiler::new(file, of, &mut tables, format!("scenario[{at}]"), issues);
        let scenario = compiler.scenario(of);
        if !scenario.begins {
            answers[scenario.role].push(at);
        }
        scenarios.push(scenario);
    }
    crate::program::number(&mut scenarios);
    let (name, about) = (file.name.clone(), file.about.clone());
    let calls = |role: &file::Role| {
        let steps = file.scenario.iter().flat_map(|of| of.step.iter().map(move |it| (of, it)));
        let mut calling = steps.filter(|(_, step)| step.send == Some(Sent::Call));
        calling.any(|(of, step)| *step.role.as_ref().unwrap_or(&of.role) == role.name)
    };
    Program {
        calls: file.role.iter().map(calls).collect(),
        name,
        about,
        load: file.load.clone(),
        roles: file.role.clone(),
        tables,
        scenarios,
        answers,
    }
}

/// A dialogue of the scenario that is compiled.
struct Dialogue {
    name: String,
    role: usize,
    /// What is spoken in it, where that is known.
    speech: Option<Speech>,
    /// Whether the peer begins it, and says what is spoken.
    is_answered: bool,
}

struct Compiler<'c> {
    file: &'c File,
    tables: &'c mut Vec<Table>,
    path: String,
    issues: &'c mut Vec<Issue>,
    role: usize,
    dialogues: Vec<Dialogue>,
    captured: BTreeMap<String, usize>,
    /// The tables of the play's rows.
    rows: Vec<usize>,
    times: Vec<String>,
}

/// Names have the first row of their tables: what a template becomes is held against its type.
struct Sample<'s> {
    tables: &'s [Table],
    rows: &'s [usize],
}

impl Scope for Sample<'_> {
    fn value(&self, name: &Name) -> Option<Value> {
        match name {
            Name::Constant(value) => Some(value.clone()),
            Name::Captured(_) => None,
            Name::Column(row, column) => {
                let table = self.tables.get(*self.rows.get(*row)?)?;
                table.cell(0, *column).map(Value::from)
            }
            Name::Count => Some(Value::from(0)),
        }
    }
}

impl<'c> Compiler<'c> {
    fn new(
        file: &'c File,
        of: &file::Scenario,
        tables: &'c mut Vec<Table>,
        path: String,
        issues: &'c mut Vec<Issue>,
    ) -> Self {
        let role = file.role.iter().position(|it| it.name == of.role).unwrap_or(0);
        let table = of.table.as_ref();
        let rows = table.and_then(|name| tables.iter().position(|it| it.name == *name));
        Self {
            file,
            tables,
            path,
            issues,
            role,
            dialogues: Vec::new(),
            captured: BTreeMap::new(),
            rows: rows.into_iter().collect(),
            times: Vec::new(),
        }
    }

    fn object(&mut self, path: &str, what: impl Into<String>, hint: impl Into<String>) {
        self.issues.push(Issue::new(format!("{}{path}", self.path), what, hint));
    }

    fn scenario(&mut self, of: &file::Scenario) -> Scenario {
        let table = self.rows.first().copied();
        let mut steps = Vec::new();
        for (at, step) in of.step.iter().enumerate() {
            let compiled = self.step(step, &format!(".step[{at}]"));
            steps.extend(compiled);
        }
        Scenario {
            name: of.name.clone(),
            weight: of.weight,
            role: self.dialogues.first().map_or(self.role, |it| it.role),
            begins: of.step.first().is_some_and(|it| it.send.is_some()),
            table,
            order: of.order,
            dialogues: self.dialogues.iter().map(|it| it.role).collect(),
            captured: self.captured.len(),
            rows: self.rows.clone(),
            steps,
            times: core::mem::take(&mut self.times),
        }
    }

    fn step(&mut self, of: &file::Step, path: &str) -> Option<Step> {
        if let Some(pause) = of.pause_ms {
            let (least, most) = match pause {
                file::Pause::Of(ms) => (ms, ms),
                file::Pause::Between(least, most) => (least, most.max(least)),
            };
            return Some(Step::Pause(Duration::from_millis(least), Duration::from_millis(most)));
        }
        let role = of.role.as_ref().unwrap_or(&self.file.role[self.role].name).clone();
        let number = self.file.role.iter().position(|it| it.name == role).unwrap_or(self.role);
        let begins = matches!(of.send, Some(Sent::Begin | Sent::Uni | Sent::Call))
            || matches!(of.awaits, Some(Awaited::Begin | Awaited::Uni));
        let name = of.dialogue.clone().unwrap_or(role);
        let dialogue = self.dialogue(&name, number, begins, path)?;
        match (of.send, of.awaits) {
            (Some(kind), _) => Some(Step::Send(self.send(kind, dialogue, of, path))),
            (_, Some(kind)) => Some(Step::Await(Box::new(self.awaits(kind, dialogue, of, path)))),
            _ => None,
        }
    }

    /// The number of a dialogue.
    fn dialogue(&mut self, name: &str, role: usize, begins: bool, path: &str) -> Option<usize> {
        let known = self.dialogues.iter().position(|it| it.name == name);
        match (known, begins) {
            (Some(at), false) => Some(at),
            (Some(_), true) => {
                let hint = "give the second one a name: dialogue = \"…\"";
                self.object(path, format!("`{name}` has begun already"), hint);
                None
            }
            (None, false) => {
                let names: Vec<String> = self.dialogues.iter().map(|it| it.name.clone()).collect();
                let hint = meant(name, names.iter().map(|it| &**it), "none has begun");
                self.object(path, format!("no dialogue `{name}` has begun"), hint);
                None
            }
            (None, true) if self.dialogues.len() == DIALOGUES_MAX => {
                self.object(path, format!("more than {DIALOGUES_MAX} dialogues"), "");
                None
            }
            (None, true) => {
                let name = name.to_owned();
                self.dialogues.push(Dialogue { name, role, speech: None, is_answered: false });
                Some(self.dialogues.len() - 1)
            }
        }
    }

    /// What a name stands for here.
    fn named(&self, name: &str) -> Option<Name> {
        if let Some(at) = self.captured.get(name) {
            return Some(Name::Captured(*at));
        }
        for (row, table) in self.rows.iter().enumerate().rev() {
            if let Some(column) = self.tables.get(*table).and_then(|it| it.column(name)) {
                return Some(Name::Column(row, column));
            }
        }
        if name == "n" {
            return Some(Name::Count);
        }
        self.file.values.get(name).map(message::constant)
    }

    fn template(&mut self, value: &Value, path: &str) -> Template {
        let template = Template::new(value, &|name| self.named(name));
        template.unwrap_or_else(|wrong| {
            let names = self.names();
            let hint = if wrong.starts_with("nothing") { names } else { String::new() };
            self.object(path, wrong, hint);
            Template::default()
        })
    }

    /// The names that there are, for a hint.
    fn names(&self) -> String {
        let columns = self.rows.iter().filter_map(|it| self.tables.get(*it));
        let columns = columns.flat_map(|it| it.columns.iter());
        let all = self.captured.keys().chain(columns).chain(self.file.values.keys());
        let all: Vec<&str> = all.map(String::as_str).chain(["n"]).collect();
        format!("there are: {}", all.join(", "))
    }

    /// What a template becomes, held against what it is for. Where a name has no value yet, it is
    /// seen when it is played.
    fn made<T>(
        &mut self,
        template: Template,
        path: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Made<T> {
        let mut text = String::new();
        let scope = Sample { tables: self.tables, rows: &self.rows };
        let is_known = template.names().all(|it| scope.value(it).is_some());
        let read = template.render(&scope, &mut text).and_then(|()| read(&text));
        match read {
            Ok(value) if template.is_fixed() => return Made::Fixed(value),
            Err(wrong) if is_known && template != Template::default() => {
                self.object(path, wrong, "docs/map.md and docs/cap.md have the types");
            }
            _ => {}
        }
        Made::Each(template, Number::default())
    }

    fn context(&mut self, of: &file::Step, path: &str) -> Option<bytes::Bytes> {
        let name = of.context.as_ref()?;
        match message::context(name) {
            Ok(context) => Some(context),
            Err(_) => {
                let hint = "write it as shortMsgGatewayContext-v3; docs/map.md and docs/cap.md \
                            have them all";
                self.object(&format!("{path}.context"), format!("no context `{name}`"), hint);
                None
            }
        }
    }

    fn send(&mut self, kind: Sent, dialogue: usize, of: &file::Step, path: &str) -> Send {
        let context = self.context(of, path);
        let begins = matches!(kind, Sent::Begin | Sent::Uni);
        if begins {
            let speech = context.as_deref().map(Speech::of_context);
            self.dialogues[dialogue].speech = speech;
        }
        let addresses = of.called.as_ref().filter(|_| begins).map(|called| {
            let role = &self.file.role[self.dialogues[dialogue].role];
            let own = match &role.title {
                Some(title) => json!({ "ssn": role.subsystem, "gt": title }),
                None => json!({ "ssn": role.subsystem }),
            };
            let calling = of.calling.as_ref().unwrap_or(&own);
            let mut address = |value, key| {
                let path = format!("{path}.{key}");
                let template = self.template(value, &path);
                self.made(template, &path, message::address)
            };
            (address(called, "called"), address(calling, "calling"))
        });
        let information = of.user_information.as_ref().map(|value| {
            let path = format!("{path}.user_information");
            let template = self.template(value, &path);
            self.made(template, &path, message::information)
        });
        let mut components = Vec::new();
        for (at, it) in of.component.iter().enumerate() {
            components.push(self.sending(it, dialogue, &format!("{path}.component[{at}]")));
        }
        let own = Value::from("{n}");
        let subscriber = (kind == Sent::Call).then(|| {
            let value = of.subscriber.as_ref().unwrap_or(&own);
            self.template(value, &format!("{path}.subscriber"))
        });
        Send { kind, dialogue, context, addresses, information, components, subscriber }
    }

    fn sending(&mut self, of: &file::Component, dialogue: usize, path: &str) -> Sending {
        let speech = self.dialogues[dialogue].speech;
        let (kind, name) = kind_of(of);
        let mut members = Map::new();
        let mut put = |member: &str, value: Value| members.insert(member.to_owned(), value);
        let parameter = |value: &Option<Value>, member: &'static str| match value {
            Some(Value::Object(raw)) if raw.len() == 1 && raw.contains_key("raw") => {
                Some(("raw", raw["raw"].clone()))
            }
            other => other.clone().map(|it| (member, it)),
        };
        let has = match kind {
            ComponentKind::Invoke => {
                put("invoke", json!(1));
                put("operation", message::code(name));
                parameter(&of.argument, "argument")
            }
            ComponentKind::Result => {
                put("result", json!(1));
                let value = parameter(&of.value, "value");
                if value.is_some() {
                    put("operation", message::code(name));
                }
                value
            }
            ComponentKind::Error => {
                put("error", json!(1));
                put("name", message::code(name));
                parameter(&of.parameter, "parameter")
            }
            ComponentKind::Reject => {
                put("reject", json!(1));
                put("problem", json!(name));
                None
            }
        };
        let has: Vec<(&str, Value)> = has.into_iter().collect();
        for (member, value) in has {
            put(member, value);
        }
        let more =
            [("class", of.class.map(Value::from)), ("timeout_ms", of.timeout_ms.map(Value::from))];
        for (member, value) in more {
            value.map(|value| put(member, value));
        }
        if of.part {
            put("part", json!(true));
        }
        let template = self.template(&Value::Object(members), path);
        let is = self.component(template, kind, dialogue, path);
        let operation = (kind == ComponentKind::Invoke).then(|| Arc::from(name));
        if let (Made::Fixed(component), None) = (&is, speech) {
            // Without a context the first operation says what is spoken.
            let first = core::slice::from_ref(component);
            self.dialogues[dialogue].speech = Some(Speech::of(None, first));
        }
        let id = self.identifier(of, kind, name, path);
        Sending { id, operation, linked: of.linked.as_deref().map(Arc::from), is }
    }

    /// A component; what is spoken may be known only when it is played.
    fn component(
        &mut self,
        template: Template,
        kind: ComponentKind,
        dialogue: usize,
        path: &str,
    ) -> Made<tcu::Component> {
        let Dialogue { speech, is_answered, .. } = self.dialogues[dialogue];
        if speech.is_none() && (is_answered || kind != ComponentKind::Invoke) {
            return Made::Each(template, Number::default());
        }
        self.made(template, path, |text| message::component(text, speech))
    }

    fn identifier(
        &mut self,
        of: &file::Component,
        kind: ComponentKind,
        name: &str,
        path: &str,
    ) -> Identifier {
        if let Some(id) = &of.id {
            return Identifier::Is(self.template(id, &format!("{path}.id")));
        }
        match kind {
            ComponentKind::Invoke => Identifier::Next,
            ComponentKind::Result => Identifier::Answers(Some(Arc::from(name))),
            ComponentKind::Error | ComponentKind::Reject => Identifier::Answers(None),
        }
    }

    fn awaits(&mut self, kind: Awaited, dialogue: usize, of: &file::Step, path: &str) -> Await {
        let context = self.context(of, path);
        if kind == Awaited::Begin {
            self.dialogues[dialogue].speech = context.as_deref().map(Speech::of_context);
            self.dialogues[dialogue].is_answered = true;
        }
        let mut components = Vec::new();
        for (at, it) in of.component.iter().enumerate() {
            let path = format!("{path}.component[{at}]");
            let (kind, name) = kind_of(it);
            self.is_named(kind, name, dialogue, &path);
            let checks = self.checks(&it.check, &format!("{path}.check"));
            let captures = self.captures(&it.capture, &format!("{path}.capture"));
            components.push(Expected { kind, name: Arc::from(name), checks, captures });
        }
        let checks = self.checks(&of.check, &format!("{path}.check"));
        let captures = self.captures(&of.capture, &format!("{path}.capture"));
        let find = of.find.as_ref().and_then(|find| self.find(find, &format!("{path}.find")));
        let time = of.time.as_ref().map(|name| {
            let known = self.times.iter().position(|it| it == name);
            known.unwrap_or_else(|| {
                self.times.push(name.clone());
                self.times.len() - 1
            })
        });
        let within = of.within_ms.map_or(WITHIN, Duration::from_millis);
        Await { kind, dialogue, context, components, checks, captures, find, within, time }
    }

    /// Whether what is waited for can come at all.
    fn is_named(&mut self, kind: ComponentKind, name: &str, dialogue: usize, path: &str) {
        let speech = self.dialogues[dialogue].speech;
        let (member, json) = match kind {
            ComponentKind::Invoke => {
                ("invoke", json!({ "invoke": 1, "operation": message::code(name) }))
            }
            ComponentKind::Error => ("error", json!({ "error": 1, "name": message::code(name) })),
            ComponentKind::Result => {
                ("result", json!({ "result": 1, "operation": message::code(name) }))
            }
            ComponentKind::Reject => ("reject", json!({ "reject": 1, "problem": name })),
        };
        if speech.is_none() && kind != ComponentKind::Reject {
            return;
        }
        if message::component(&json.to_string(), speech).is_err() {
            let what = format!("the dialogue has no {member} `{name}`");
            let hint = "docs/map.md and docs/cap.md have the operations of each context";
            self.object(&format!("{path}.{member}"), what, hint);
        }
    }

    fn checks(&mut self, of: &BTreeMap<String, Value>, path: &str) -> Vec<Check> {
        let mut checks = Vec::new();
        for (word, value) in of {
            let is = self.template(value, path);
            match JsonPath::read(word) {
                Some(path) => checks.push(Check { word: word.clone(), path, is }),
                None => self.no_path(word, path),
            }
        }
        checks
    }

    fn no_path(&mut self, word: &str, path: &str) {
        self.object(
            path,
            format!("`{word}` is no path"),
            "write argument.bcsmEvents[0].monitorMode",
        );
    }

    fn captures(&mut self, of: &BTreeMap<String, String>, path: &str) -> Vec<Capture> {
        let mut captures = Vec::new();
        for (name, text) in of {
            let mut words = text.split('|').map(str::trim);
            let word = words.next().unwrap_or_default();
            let filters: Option<Vec<Filter>> = words.map(Filter::named).collect();
            let next = self.captured.len();
            match (JsonPath::read(word), filters) {
                (Some(path), Some(filters)) => {
                    let into = *self.captured.entry(name.clone()).or_insert(next);
                    captures.push(Capture { word: text.clone(), path, filters, into });
                }
                (None, _) => self.no_path(word, path),
                (_, None) => {
                    let hint = format!("there are: {}", FILTERS.map(|it| it.0).join(", "));
                    self.object(path, format!("no such filter in `{text}`"), hint);
                }
            }
        }
        captures
    }

    fn find(&mut self, of: &file::Find, path: &str) -> Option<Find> {
        let table = self.tables.iter().position(|it| it.name == of.table)?;
        let is = self.template(&Value::String(of.is.clone()), &format!("{path}.is"));
        let Some(column) = self.tables[table].column(&of.column) else {
            let columns = self.tables[table].columns.clone();
            let hint = meant(&of.column, columns.iter().map(|it| &**it), "it has none");
            let what = format!("the table has no column `{}`", of.column);
            self.object(&format!("{path}.column"), what, hint);
            return None;
        };
        self.tables[table].index(column);
        self.rows.push(table);
        let word = format!("{}.{} = {}", of.table, of.column, of.is);
        Some(Find { table, column, is, row: self.rows.len() - 1, word })
    }
}

fn kind_of(of: &file::Component) -> (ComponentKind, &str) {
    let all = [
        (ComponentKind::Invoke, &of.invoke),
        (ComponentKind::Result, &of.result),
        (ComponentKind::Error, &of.error),
        (ComponentKind::Reject, &of.reject),
    ];
    let found = all.into_iter().find_map(|(kind, name)| Some((kind, name.as_deref()?)));
    found.unwrap_or((ComponentKind::Invoke, ""))
}
