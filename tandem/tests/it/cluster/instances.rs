//! An application of which every node of a cluster has an instance: what each dialogue has come to
//! is known to all of them, and it is answered where it is served now.

use crate::jss7::roles::{Roles, begin, speech};
use machine::Time;
use sccp::codec::Address;
use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tcu::{Client, ClientEvent, Hello, Indication, Request, Service, Spelling};

/// Instances, one at each node.
pub struct Instances {
    name: &'static str,
    all: Arc<Mutex<All>>,
    heard: Receiver<String>,
    lines: Vec<String>,
}

struct All {
    roles: Roles,
    /// Nothing is said in dialogues that go on; what came in them.
    is_held: bool,
    held: BTreeMap<u64, Vec<Indication>>,
    /// The node that serves a dialogue.
    places: HashMap<u64, usize>,
    connections: HashMap<usize, (Client, UnixStream)>,
    /// What was begun, by its reference.
    asked: Vec<(String, Address)>,
}

impl All {
    fn came(&mut self, node: usize, octets: &[u8]) {
        let Some((client, stream)) = self.connections.get_mut(&node) else { return };
        let mut all = Vec::new();
        let mut told = |event| match event {
            ClientEvent::Indication(it) => all.push(it),
            ClientEvent::Welcome(_) => {}
            other => panic!("{other:?}"),
        };
        let out = client.received(octets, &mut told).unwrap();
        // It may have been killed.
        let _ = stream.write_all(&out);
        all.into_iter().for_each(|it| self.indicated(node, it));
    }

    fn indicated(&mut self, node: usize, it: Indication) {
        if let Indication::Refused { reference, .. } = it {
            // It has moved and goes on elsewhere, or has to begin there: this node serves nothing.
            return reference.into_iter().for_each(|it| self.begin(node + 1, it));
        }
        let Some(dialogue) = it.dialogue() else { return };
        match it {
            Indication::Resume { .. } => {
                self.places.insert(dialogue, node);
                // What was not answered comes again.
                self.held.remove(&dialogue);
            }
            Indication::Continue { .. } if self.is_held => {
                self.held.entry(dialogue).or_default().push(it);
            }
            it => {
                if let Indication::Begin { .. } | Indication::Begun { .. } = it {
                    self.places.insert(dialogue, node);
                }
                self.answer(it);
            }
        }
    }

    fn answer(&mut self, it: Indication) {
        let mut wants = Vec::new();
        self.roles.indicated(Time::ZERO, it, &mut wants);
        for request in wants {
            let node = request.dialogue().and_then(|it| self.places.get(&it)).copied();
            self.say(node.unwrap(), &request);
        }
    }

    /// Begins the dialogue of that reference, at that node or the first one.
    fn begin(&mut self, node: usize, reference: u64) {
        let (operation, called) = self.asked[reference as usize].clone();
        let own = called.subsystem.unwrap();
        let node = if self.connections.contains_key(&node) { node } else { 0 };
        self.say(node, &begin(reference, &operation, called, own));
    }

    fn say(&mut self, node: usize, request: &Request) {
        let Some((client, stream)) = self.connections.get_mut(&node) else { return };
        let mut out = Vec::new();
        client.write(request, &mut out);
        let _ = stream.write_all(&out);
    }
}

impl Instances {
    pub fn new(name: &'static str) -> Self {
        let (told, heard) = channel();
        let all = All {
            roles: Roles::new(told),
            is_held: false,
            held: BTreeMap::new(),
            places: HashMap::new(),
            connections: HashMap::new(),
            asked: Vec::new(),
        };
        Self { name, all: Arc::new(Mutex::new(all)), heard, lines: Vec::new() }
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap()
    }

    /// An instance connects to a node, whose directory is given.
    pub fn connect(&self, node: usize, directory: &Path) {
        let socket = directory.join(format!("var/{}.sock", self.name));
        // A node that was started anew may not listen yet.
        let until = Instant::now() + Duration::from_secs(20);
        let mut stream = loop {
            match UnixStream::connect(&socket) {
                Ok(stream) => break stream,
                Err(error) => assert!(Instant::now() < until, "{}: {error}", socket.display()),
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        let client = Client::new(Hello::new(self.name, "", "test"), Spelling::Tagged, None);
        let mut own = stream.try_clone().unwrap();
        stream.write_all(&client.greeting()).unwrap();
        self.all().connections.insert(node, (client, stream));
        let all = Arc::clone(&self.all);
        std::thread::spawn(move || {
            let mut octets = vec![0; 65_536];
            while let Ok(length @ 1..) = own.read(&mut octets) {
                all.lock().unwrap().came(node, &octets[..length]);
            }
            all.lock().unwrap().connections.remove(&node);
        });
    }

    /// Begins a dialogue at that node.
    pub fn ask(&self, node: usize, operation: &str, called: Address) {
        let mut all = self.all();
        let reference = all.asked.len() as u64;
        all.roles.begun.insert(reference, speech(operation));
        all.asked.push((operation.to_owned(), called));
        all.begin(node, reference);
    }

    /// Says nothing in dialogues that go on.
    pub fn hold(&self) {
        self.all().is_held = true;
    }

    /// Dialogues in which something waits for its answer.
    pub fn held(&self) -> usize {
        self.all().held.len()
    }

    /// Answers again. Of a dialogue whose node is dead it hears from the next one.
    pub fn release(&self) {
        let mut all = self.all();
        all.is_held = false;
        for (dialogue, came) in core::mem::take(&mut all.held) {
            if all.connections.contains_key(&all.places[&dialogue]) {
                came.into_iter().for_each(|it| all.answer(it));
            }
        }
    }

    /// Lines that it has heard, and begin so.
    pub fn count(&mut self, beginning: &str) -> usize {
        self.lines.extend(self.heard.try_iter());
        self.lines.iter().filter(|it| it.starts_with(beginning)).count()
    }

    /// All lines that it has heard.
    pub fn lines(&mut self) -> &[String] {
        self.lines.extend(self.heard.try_iter());
        &self.lines
    }
}
