//! Requests to the API by who has no token, a monitor's, an operator's, an administrator's or a
//! wrong one, over every route with any query and body. No answer is a failure of ours (5xx),
//! nobody does what his role may not, what says that it is JSON is, and whatever was committed or
//! taken back, what runs is a valid configuration.

use crate::script::Script;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode, header};
use config::{Archive, Entry, Issue, ListenAddress, Reconfigure, Store};
use oam::core::Core;
use oam::http::connections::Limits;
use oam::http::rights::{RIGHTS, Right};
use oam::log::Levels;
use oam::token::{Role, Tokens};
use oam::{Registry, Section, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use tower::ServiceExt as _;

/// The first text.
const TEXT: &str = "[[ssc]]\nname = \"ssc\"\n[[ssc.realm]]\nname = \"access\"\n\
    listen = [\"udp:127.0.0.1:5060\"]\n";
const FIRST: &str = "the first token";
/// Requests of one input at most.
const REQUESTS_MAX: usize = 12;
/// Octets of an answer that are read.
const ANSWER_MAX: usize = 4 << 20;

/// A site of session controllers, as far as their configuration goes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Controllers {
    #[serde(default)]
    ssc: Vec<ssc::config::Ssc>,
}

impl config::Site for Controllers {
    fn validate(&self, issues: &mut Vec<Issue>) {
        for (at, ssc) in self.ssc.iter().enumerate() {
            let mut own = Vec::new();
            ssc.validate(&mut own);
            issues.extend(own.into_iter().map(|issue| issue.under(&format!("ssc[{at}]"))));
        }
    }

    fn listen_addresses(&self) -> Vec<ListenAddress> {
        Vec::new()
    }
}

/// A machine that takes what is valid.
struct Willing;

impl Reconfigure<Controllers> for Willing {
    fn check(&self, _: &Controllers) -> Vec<Issue> {
        Vec::new()
    }

    fn apply(&mut self, _: &Controllers) -> Result<(), Vec<Issue>> {
        Ok(())
    }
}

/// Revisions in memory.
#[derive(Default)]
struct Memory(BTreeMap<u64, (Entry, String)>);

impl Archive for Memory {
    fn list(&self) -> io::Result<Vec<Entry>> {
        Ok(self.0.values().map(|(entry, _)| entry.clone()).collect())
    }

    fn text(&self, revision: u64) -> io::Result<String> {
        let found = self.0.get(&revision).map(|(_, text)| text.clone());
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn keep(&mut self, entry: &Entry, text: &str) -> io::Result<()> {
        self.0.insert(entry.revision, (entry.clone(), text.to_owned()));
        Ok(())
    }

    fn forget(&mut self, revisions: &[u64]) -> io::Result<()> {
        self.0.retain(|revision, _| !revisions.contains(revision));
        Ok(())
    }

    fn record(&mut self, entry: &Entry) -> io::Result<()> {
        self.0.entry(entry.revision).and_modify(|known| known.0 = entry.clone());
        Ok(())
    }

    fn publish(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn published(&self) -> io::Result<String> {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Who asks, and with what.
struct Asker {
    role: Option<Role>,
    token: Option<String>,
}

struct World {
    core: Arc<Core>,
    runtime: tokio::runtime::Runtime,
    askers: Vec<Asker>,
    _folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let tokens = Tokens::new(folder.path().join("tokens"));
        let mut askers = vec![
            Asker { role: Some(Role::Administrator), token: Some(FIRST.into()) },
            Asker { role: None, token: None },
            Asker { role: None, token: Some("a wrong one".into()) },
        ];
        for (name, role) in [("watcher", Role::Monitor), ("worker", Role::Operator)] {
            let token = Some(tokens.make(1, name, role).expect("there is room"));
            askers.push(Asker { role: Some(role), token });
        }
        let archive: Box<dyn Archive> = Box::new(Memory::default());
        let store = Store::open::<Controllers>(oam::clock::now(), TEXT, Willing, archive);
        let spec = Spec {
            name: "fuzz".into(),
            version: "0",
            token_file: folder.path().join("token"),
            tokens,
            registry: Registry::new(),
            store: Arc::new(Mutex::new(store.expect("it is valid"))),
            levels: Levels::default(),
            limits: Limits::default(),
            exposures: Box::new(|_| Vec::new()),
            drain: Box::new(|| {}),
        };
        let core = oam::assemble(spec, &Section::default(), FIRST);
        core.phase.serve();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Self { core, runtime: runtime.expect("threads"), askers, _folder: folder }
    }

    /// Status, headers and body of the answer; none of a stream's body.
    fn ask(&self, request: Request<Body>) -> (StatusCode, HeaderMap, Vec<u8>) {
        let router = oam::http::router(&self.core);
        self.runtime.block_on(async {
            let answer = match router.oneshot(request).await {
                Ok(answer) => answer,
                Err(never) => match never {},
            };
            let (parts, body) = answer.into_parts();
            if is_of(&parts.headers, "text/event-stream") {
                return (parts.status, parts.headers, Vec::new());
            }
            let body = axum::body::to_bytes(body, ANSWER_MAX).await.expect("an answer ends");
            (parts.status, parts.headers, body.to_vec())
        })
    }
}

fn is_of(headers: &HeaderMap, kind: &str) -> bool {
    let found = headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    found.is_some_and(|it| it.starts_with(kind))
}

/// The path of a right with what stands in its place-holders.
fn path(right: &Right, filling: &str) -> String {
    let parts = right.path.split('/');
    let filled = parts.map(|part| if part.starts_with('{') { filling } else { part });
    filled.collect::<Vec<_>>().join("/")
}

/// A request of the script, if it is one.
fn request(script: &mut Script<'_>, asker: &Asker, right: &Right) -> Option<Request<Body>> {
    let shape = script.octet();
    let filling = if shape & 1 == 0 { "toy1" } else { std::str::from_utf8(script.piece()).ok()? };
    let mut uri = path(right, filling);
    if shape & 2 != 0 {
        uri = format!("{uri}?{}", std::str::from_utf8(script.piece()).ok()?);
    }
    let kind = if shape & 4 == 0 { "application/json" } else { "application/toml" };
    let mut made =
        Request::builder().method(right.method).uri(uri).header(header::HOST, "localhost");
    made = made.header(header::CONTENT_TYPE, kind);
    if let Some(token) = &asker.token {
        made = made.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    if shape & 8 != 0 {
        made = made.header(header::ORIGIN, script.piece());
    }
    let body = script.piece();
    // A server behind a socket sees the length, or that there is a body without one.
    made.header(header::CONTENT_LENGTH, body.len()).body(Body::from(body.to_vec())).ok()
}

/// What must hold of an answer.
fn judge(asker: &Asker, right: &Right, status: StatusCode, headers: &HeaderMap, body: &[u8]) {
    let what = format!("{} {} by {:?}: {status}", right.method, right.path, asker.role);
    assert!(!status.is_server_error(), "{what}: {}", String::from_utf8_lossy(body));
    let may = right.role.is_none_or(|needed| asker.role.is_some_and(|role| role >= needed));
    assert!(may || status.is_client_error(), "{what}");
    if is_of(headers, "application/json") {
        assert!(serde_json::from_slice::<serde_json::Value>(body).is_ok(), "{what}: not JSON");
    }
}

pub fn run(input: &[u8]) {
    let mut script = Script::new(input);
    let world = World::new();
    let mut revision = world.core.store().running().revision;
    for _ in 0..REQUESTS_MAX {
        if script.is_over() {
            break;
        }
        let asker = &world.askers[usize::from(script.octet()) % world.askers.len()];
        let right = script.pick(RIGHTS);
        let Some(request) = request(&mut script, asker, &right) else { continue };
        let (status, headers, body) = world.ask(request);
        judge(asker, &right, status, &headers, &body);
        let store = world.core.store();
        let running = store.running();
        assert!(running.revision >= revision, "revisions only grow");
        assert!(running.revision == revision || asker.role == Some(Role::Administrator));
        revision = running.revision;
        let valid = config::read::<Controllers>(&running.text);
        assert!(valid.is_ok(), "what runs is wrong: {valid:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(out: &mut Vec<u8>, text: &str) {
        out.extend_from_slice(&(text.len() as u16).to_be_bytes());
        out.extend_from_slice(text.as_bytes());
    }

    fn row(method: &str, path: &str) -> u8 {
        let at = RIGHTS.iter().position(|it| (it.method, it.path) == (method, path));
        at.expect("a route") as u8
    }

    /// An edit and its commit by an asker.
    fn committed(asker: u8, text: &str) -> Vec<u8> {
        let mut out = vec![asker, row("PUT", "/api/v1/config/candidate"), 4];
        piece(&mut out, text);
        out.extend([asker, row("POST", "/api/v1/config/candidate/commit"), 0]);
        piece(&mut out, "{\"revision\": 1}");
        out
    }

    /// The revision that runs after an input.
    fn revision_after(input: &[u8]) -> u64 {
        let world = World::new();
        let mut script = Script::new(input);
        while !script.is_over() {
            let asker = &world.askers[usize::from(script.octet()) % world.askers.len()];
            let right = script.pick(RIGHTS);
            let request = request(&mut script, asker, &right).expect("a request");
            world.ask(request);
        }
        world.core.store().running().revision
    }

    #[test]
    fn the_script_reaches_a_commit_and_only_an_administrators() {
        let text = TEXT.replace("5060", "5080");
        for (asker, revision) in [(0, 2), (1, 1), (2, 1), (3, 1), (4, 1)] {
            let input = committed(asker, &text);
            run(&input);
            assert_eq!(revision_after(&input), revision, "asker {asker}");
        }
        assert_eq!(revision_after(&committed(0, "[[ssc]]\nname = 7\n")), 1);
    }
}
