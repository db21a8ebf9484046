//! A function that runs, whatever its kind, and how it takes another section.

use super::{AnySection, Kind};
use crate::paired::{self, Paired};
use config::Issue;
use replica::Node;
use runtime::RuntimeError;
use std::path::PathBuf;
use std::sync::Arc;
use supervise::{Read, StartError, Supervised, Unit};

/// What a kind has started.
pub struct Started<K: Kind> {
    /// The function and its shards.
    pub unit: Arc<Supervised<K::Function>>,
    /// What the management side sees of it: itself, or the node of a pair around it.
    pub face: Arc<dyn Unit>,
    /// Its node, where it is one of a pair.
    pub node: Option<Arc<Node>>,
    /// What is to be done when it has ended.
    pub ended: Option<Box<dyn Fn() + Send + Sync>>,
}

impl<K: Kind> From<Supervised<K::Function>> for Started<K> {
    fn from(unit: Supervised<K::Function>) -> Self {
        let unit = Arc::new(unit);
        Self { face: Arc::clone(&unit) as Arc<dyn Unit>, unit, node: None, ended: None }
    }
}

impl<K: Kind> Started<K> {
    /// The same as one of a pair, if there is a node.
    pub fn paired(self, node: Option<Arc<Node>>) -> Self {
        let Some(node) = node else { return self };
        let face = Paired::new(Arc::clone(&self.unit), Arc::clone(&node));
        Self { face: Arc::new(face), node: Some(node), ..self }
    }
}

/// A function that runs.
pub trait Handle: Send + Sync {
    /// The function, whatever it is.
    fn unit(&self) -> Arc<dyn Unit>;

    /// Takes a new section without a restart.
    ///
    /// # Errors
    /// What hinders; it runs on with its old section then.
    fn configure(&self, section: &dyn AnySection) -> Result<(), ReconfigureError>;

    /// Ends the function at once and takes its routes away.
    fn end(&self);
}

/// A change that a running function cannot take, or why one does not start.
#[derive(Debug, thiserror::Error)]
pub enum ReconfigureError {
    /// The runtime refuses.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// What the function stands on does not.
    #[error("{0}")]
    Prepare(String),
    /// A file of the section cannot be used.
    #[error("{}", .0.what)]
    Load(Issue),
    /// The section became one of another kind under the same name.
    #[error("a function cannot become another kind: give it another name")]
    Kind,
    /// These keys say how the function is started.
    #[error("`{0}` changes only with a restart of the site")]
    Restart(&'static str),
}

impl From<StartError> for ReconfigureError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Runtime(error) => Self::Runtime(error),
            StartError::Prepare(why) => Self::Prepare(why),
        }
    }
}

/// A started function, and where its files are.
pub struct Running<K: Kind> {
    started: Started<K>,
    directory: PathBuf,
}

impl<K: Kind> Running<K> {
    pub fn new(started: Started<K>, directory: PathBuf) -> Self {
        let own = directory.clone();
        started.unit.reread_by(Box::new(move |present| {
            let config = K::section(present).load(&own);
            let config = config.map_err(|issue| match &*issue.hint {
                "" => issue.what,
                hint => format!("{}: {hint}", issue.what),
            })?;
            let ports = K::section(&config).ports();
            let is_new = config != *present;
            Ok(Read { config, ports, is_new })
        }));
        Self { started, directory }
    }
}

/// Why a function with the section `old` does not take `new`.
pub fn refusal<K: Kind>(old: &K, new: &dyn AnySection) -> Option<ReconfigureError> {
    let Some(new) = new.as_any().downcast_ref::<K>() else { return Some(ReconfigureError::Kind) };
    let fixed =
        paired::fixed(Kind::head(old).replica, Kind::head(new).replica).or_else(|| old.fixed(new));
    fixed.map(ReconfigureError::Restart)
}

impl<K: Kind> Handle for Running<K> {
    fn unit(&self) -> Arc<dyn Unit> {
        Arc::clone(&self.started.face)
    }

    fn configure(&self, section: &dyn AnySection) -> Result<(), ReconfigureError> {
        let unit = &self.started.unit;
        let new: &K = section.as_any().downcast_ref().ok_or(ReconfigureError::Kind)?;
        let (present, spec) = unit.present();
        let old = K::section(&present);
        if let Some(refusal) = refusal(old, new) {
            return Err(refusal);
        }
        let config = new.load(&self.directory).map_err(ReconfigureError::Load)?;
        let ports = K::section(&config).ports();
        if *present == config && spec.ports == ports {
            return Ok(());
        }
        unit.configure(Arc::new(config), ports)?;
        if let (Some(node), Some(replica)) = (&self.started.node, Kind::head(new).replica) {
            let refuse = |error| ReconfigureError::Prepare(format!("replica.arbiter: {error}"));
            node.configure(replica).map_err(refuse)?;
        }
        Ok(new.reconfigured(old, &spec)?)
    }

    fn end(&self) {
        self.unit().end();
        if let Some(ended) = &self.started.ended {
            ended();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Head, Section, Sections, StartContext, Started};
    use super::*;
    use crate::cli::{Ctl, CtlCommand};
    use crate::ctl::{client_of, words};
    use crate::metrics::Part;
    use clap::{Parser, Subcommand};
    use client::{Client, Exit, Of, Output, Words, asked};
    use config::ListenAddress;
    use runtime::{Ask, AskError, Effects, Flow, Frame, Function, In, PortId, PortSpec, ShardSpec};
    use services::pool::LicenceAgent;
    use show::{Listing, plain};
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::path::Path;
    use supervise::Nature;

    /// The section of a kind that is not shipped: what its author writes is this, its words and its
    /// function.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Toy {
        name: String,
        cores: Vec<usize>,
        word: String,
    }

    pub struct Parrot(Arc<Toy>);

    impl Function for Parrot {
        type Config = Toy;
        fn step(&mut self, _: machine::Time, _: In<'_>, _: &mut Effects) {}
        fn tick(&mut self, _: machine::Time, _: &mut Effects) {}
        fn deadline(&self) -> Option<machine::Time> {
            None
        }
        fn configure(&mut self, _: machine::Time, new: Arc<Toy>, _: &mut Effects) {
            self.0 = new;
        }
        fn frame(_: PortId, buffer: &[u8]) -> Frame {
            Frame::Message(buffer.len())
        }
        fn steer(_: &Toy, _: &Flow, _: &[u8], _: u16) -> Option<u16> {
            None
        }
        fn ask(
            &mut self,
            _: machine::Time,
            _: &Ask,
            _: &mut Effects,
        ) -> Result<serde_json::Value, AskError> {
            Ok(self.0.word.clone().into())
        }
        fn is_idle(&self) -> bool {
            true
        }
        fn cells(&self) -> Vec<event::Cells> {
            Vec::new()
        }
    }

    #[derive(Debug, Subcommand)]
    pub enum ToyWords {
        /// What it says.
        Say(Of),
    }

    impl Words for ToyWords {
        fn run(self, client: &Client, form: Output) -> Result<(), Exit> {
            let Self::Say(of) = self;
            const WORDS: Listing = Listing::new("it says nothing", &[plain("word", "WORD")]);
            asked(client, form, of.function, "word", &WORDS)
        }
    }

    // The row.
    words! {
        /// Parrots.
        toy: Vec<Toy>,
    }

    #[derive(Debug, Parser)]
    struct Line {
        #[command(subcommand)]
        words: FunctionWords,
    }

    impl Kind for Toy {
        type Function = Parrot;
        type Words = ToyWords;
        fn questions() -> Vec<question::Question> {
            Vec::new()
        }
        fn metrics() -> Vec<Part> {
            Vec::new()
        }
        fn head(&self) -> Head<'_> {
            Head::of(&self.name, &self.cores)
        }
        fn validate(&self, _: &mut Vec<Issue>) {}
        fn listens(&self) -> Vec<ListenAddress> {
            Vec::new()
        }
        fn load(&self, _: &Path) -> Result<Self, Issue> {
            match self.word.as_str() {
                "" => Err(Issue::new("word", "it says nothing", "give it a word")),
                _ => Ok(self.clone()),
            }
        }
        fn section(config: &Self) -> &Self {
            config
        }
        fn ports(&self) -> Vec<PortSpec> {
            Vec::new()
        }
        fn fixed(&self, new: &Self) -> Option<&'static str> {
            (self.cores != new.cores).then_some("cores")
        }
        fn start(
            &self,
            key: &'static str,
            config: Self,
            _: &StartContext,
        ) -> Result<Started<Self>, StartError> {
            let nature = Nature::new(key, Self::questions());
            let spec = ShardSpec { name: self.name.clone(), ..ShardSpec::default() };
            let make = |_, config| Parrot(config);
            Ok(Supervised::start(nature, spec, Arc::new(config), make, |spec, config, make| {
                runtime::start(spec, config, move |seed, config| make(seed, config))
            })?
            .into())
        }
    }

    fn toy(word: &str) -> Toy {
        Toy { name: "toy1".into(), cores: Vec::new(), word: word.into() }
    }

    #[test]
    fn a_kind_is_its_section_and_its_function() {
        let folder = tempfile::tempdir().unwrap();
        let context = StartContext {
            directory: folder.path().to_owned(),
            registry: oam::Registry::new(),
            pool: Arc::new(LicenceAgent::new(None, folder.path()).unwrap()),
            arbiter: None,
            starts_programs: false,
        };
        let (row, mut all) = (vec![toy("hello")], Vec::new());
        row.list("toy", &mut all);
        let [Section { key: "toy", path, inner }] = &all[..] else { panic!("one section") };
        assert_eq!((path.as_str(), inner.name()), ("toy[0]", "toy1"));
        let handle = inner.start("toy", &context).unwrap();
        assert_eq!((handle.unit().kind(), handle.unit().name()), ("toy", "toy1".to_owned()));
        let said = || handle.unit().ask(Ask::default()).unwrap();
        assert_eq!(said(), "hello");
        handle.configure(&toy("goodbye")).unwrap();
        assert_eq!(said(), "goodbye");
        let restart = handle.configure(&Toy { cores: vec![0], ..toy("never") }).unwrap_err();
        assert!(matches!(restart, ReconfigureError::Restart("cores")), "{restart}");
        let unread = handle.configure(&toy("")).unwrap_err();
        assert!(matches!(unread, ReconfigureError::Load(issue) if issue.path == "word"));
        let other = handle.configure(&sas::config::Sas::default()).unwrap_err();
        assert!(matches!(other, ReconfigureError::Kind), "{other}");
        assert_eq!(said(), "goodbye", "what is refused changes nothing");
        handle.end();
    }

    #[test]
    fn its_words_are_ctl_s_by_its_row() {
        let api = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", api.local_addr().unwrap());
        let heard = std::thread::spawn(move || {
            let (mut stream, _) = api.accept().unwrap();
            let (mut request, mut octets) = (String::new(), [0; 1_024]);
            while !request.contains("\r\n\r\n") {
                let length = stream.read(&mut octets).unwrap();
                request.push_str(std::str::from_utf8(&octets[..length]).unwrap());
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]").unwrap();
            request
        });
        let site = CtlCommand::Site;
        let (url, output) = (Some(url), Output::Json);
        let ctl = Ctl { url, token: None, site: None, output, timeout: 20, command: site };
        let Line { words } = Line::try_parse_from(["ctl", "say", "toy1"]).unwrap();
        words.run(&client_of(&ctl).unwrap(), output).unwrap();
        let request = heard.join().unwrap();
        assert!(request.starts_with("GET /api/v1/functions/toy1/word "), "{request}");
        assert!(Line::try_parse_from(["ctl", "sing", "toy1"]).is_err());
    }
}
