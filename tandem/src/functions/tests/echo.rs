//! Functions that send back what they are sent: a kind that no installed program has. Its crate,
//! this file and its row in `functions!` are all that a function needs, which is held below.

use super::{Head, Kind, StartContext, Started, first_changed};
use crate::metrics::{Part, cells_of};
use clap::Subcommand;
use client::{Client, Exit, Of, Output, Words, asked};
use config::{Issue, ListenAddress};
use echo::{Responder, config::Echo};
use question::Question;
use runtime::{PortSpec, ShardSpec};
use show::{Listing, plain};
use std::path::Path;
use std::sync::Arc;
use supervise::{FunctionKind, StartError, Supervised};

/// What `tandem ctl` says to a responder.
#[derive(Debug, Subcommand)]
pub enum EchoWords {
    /// Datagrams by what became of them.
    Echoes(Of),
}

const ECHOES: Listing = Listing::new(
    "no function sends back what it is sent",
    &[plain("listen", "LISTEN"), plain("answered", "ANSWERED"), plain("refused", "REFUSED")],
);

impl Words for EchoWords {
    fn run(self, client: &Client, form: Output) -> Result<(), Exit> {
        let Self::Echoes(of) = self;
        asked(client, form, of.function, "echoes", &ECHOES)
    }
}

impl Kind for Echo {
    type Function = Responder;
    type Words = EchoWords;

    fn questions() -> Vec<Question> {
        echo::questions()
    }

    fn metrics() -> Vec<Part> {
        vec![("Echo", vec![cells_of::<echo::Metric>()])]
    }

    fn head(&self) -> Head<'_> {
        Head::of(&self.name, &self.cores)
    }

    fn validate(&self, issues: &mut Vec<Issue>) {
        self.validate(issues);
    }

    fn listens(&self) -> Vec<ListenAddress> {
        vec![ListenAddress { path: "listen".into(), datagram: true, address: self.listen }]
    }

    fn load(&self, _directory: &Path) -> Result<Self, Issue> {
        Ok(self.clone())
    }

    fn section(config: &Self) -> &Self {
        config
    }

    fn ports(&self) -> Vec<PortSpec> {
        self.ports()
    }

    fn fixed(&self, new: &Self) -> Option<&'static str> {
        first_changed([("cores", self.cores == new.cores)])
    }

    fn start(
        &self,
        key: &'static str,
        config: Self,
        _context: &StartContext,
    ) -> Result<Started<Self>, StartError> {
        let kind = FunctionKind::new(key, <Self as Kind>::questions());
        let (name, cores, ports) = (self.name.clone(), self.cores.clone(), config.ports());
        let spec = ShardSpec { name, cores, ports, ..ShardSpec::default() };
        let config = Arc::new(config);
        Ok(Supervised::start(kind, spec, config, Responder::new, echo::start)?.into())
    }
}

/// What its row brings, held by what a site does with any function.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command, CtlCommand};
    use crate::ctl::client_of;
    use crate::functions::{ROWS, described};
    use crate::site::Site;
    use crate::site_controller::SiteController;
    use clap::Parser as _;
    use config::Reconfigure as _;
    use oam::{Managed, Registry};
    use runtime::Ask;
    use serde_json::json;
    use services::pool::LicenceAgent;
    use std::io::{Read as _, Write as _};
    use std::net::{SocketAddr, TcpListener, UdpSocket};
    use std::time::Duration;

    /// A site with these sections.
    fn site(sections: &str) -> Site {
        let text = format!("[site]\nname = \"s\"\ndirectory = \".\"\n{sections}");
        config::read(&text).unwrap_or_else(|found| panic!("{}", config::render("", &text, &found)))
    }

    fn section(more: &str) -> String {
        format!("[[echo]]\nname = \"echo1\"\nlisten = \"127.0.0.1:0\"\n{more}")
    }

    /// A site that runs, and its directory.
    struct Running {
        controller: SiteController,
        registry: Arc<Registry>,
        _folder: tempfile::TempDir,
    }

    impl Running {
        fn start(sections: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let registry = Registry::new();
            let context = StartContext {
                directory: folder.path().to_owned(),
                registry: Arc::clone(&registry),
                pool: Arc::new(LicenceAgent::new(None, folder.path()).unwrap()),
                arbiter: None,
                starts_programs: false,
            };
            let controller = SiteController::start(&site(sections), context, Arc::default());
            let controller = controller.unwrap_or_else(|issues| panic!("{issues:?}"));
            Self { controller, registry, _folder: folder }
        }

        fn function(&self) -> Arc<dyn Managed> {
            self.registry.function("echo1").unwrap()
        }

        fn address(&self) -> SocketAddr {
            self.function().ports()[0].address.parse().unwrap()
        }

        /// Where the first refusal of a change belongs.
        fn refused(&mut self, sections: &str) -> String {
            let issues = self.controller.apply(&site(sections)).unwrap_err();
            issues.into_iter().next().unwrap().path
        }

        fn counted(&self) -> serde_json::Value {
            let ask = Ask { path: "echoes".into(), ..Ask::default() };
            self.function().ask(ask).unwrap()[0].clone()
        }
    }

    /// What comes back, if anything does.
    fn echoed(from: &UdpSocket, to: SocketAddr, octets: &[u8]) -> Option<Vec<u8>> {
        from.send_to(octets, to).unwrap();
        let mut room = [0; 64];
        let (length, _) = from.recv_from(&mut room).ok()?;
        Some(room[..length].to_vec())
    }

    fn socket() -> UdpSocket {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        socket
    }

    #[test]
    fn its_row_makes_it_a_function_of_a_site() {
        let mut running = Running::start(&section(""));
        let (function, socket) = (running.function(), socket());
        assert_eq!((function.kind(), function.name()), ("echo", "echo1".to_owned()));
        let at = running.address();
        assert_eq!(echoed(&socket, at, b"hello").as_deref(), Some(&b"hello"[..]));
        // A commit changes it while it runs …
        running.controller.apply(&site(&section("octets_max = 4"))).unwrap();
        assert_eq!(running.address(), at);
        socket.send_to(b"hello", at).unwrap();
        assert_eq!(echoed(&socket, at, b"bye").as_deref(), Some(&b"bye"[..]));
        let row = running.counted();
        assert_eq!((&row["answered"], &row["refused"]), (&json!(2), &json!(1)));
        // … or not at all.
        assert_eq!(running.refused(&section("octets_max = 9\ncores = [0]")), "echo[0].cores");
        let sas = |more: &str| format!("[sas]\nlisten = [\"udp:127.0.0.1:0\"]\n{more}\n");
        let both = section("octets_max = 9\n") + &sas("auth_key_file = \"none\"");
        assert_eq!(running.refused(&both), "sas.auth_key_file");
        let other = sas("name = \"echo1\"");
        assert_eq!(running.refused(&other), "sas.name", "no function becomes another kind");
        assert_eq!(echoed(&socket, at, b"bye").as_deref(), Some(&b"bye"[..]));
        // It goes with its section.
        running.controller.apply(&site("")).unwrap();
        assert!(running.registry.function("echo1").is_none());
        UdpSocket::bind(at).unwrap();
    }

    #[test]
    fn its_section_is_checked_like_any_other() {
        let found = |more: &str| {
            let text = format!("[site]\nname = \"s\"\ndirectory = \".\"\n{}", section(more));
            let found = config::read::<Site>(&text).unwrap_err();
            (found[0].path.clone(), found[0].hint.clone())
        };
        assert_eq!(
            found("octets_max = 70000"),
            ("echo[0].octets_max".into(), "up to 65507".into())
        );
        let (path, hint) = found("octet_max = 7");
        assert_eq!(path, "echo[0].octet_max");
        assert!(hint.contains("`octets_max`"), "{hint}");
        let running = Running::start("");
        let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
        let own = section("").replace("127.0.0.1:0", &taken.local_addr().unwrap().to_string());
        let issues = running.controller.check(&site(&own));
        assert!(issues.iter().any(|it| it.path == "echo[0].listen"), "{issues:?}");
        let twice = own.replace("echo1", "echo2") + &own;
        let text = format!("[site]\nname = \"s\"\ndirectory = \".\"\n{twice}");
        let issues = config::read::<Site>(&text).unwrap_err();
        assert!(issues[0].path.starts_with("echo["), "one address for two: {issues:?}");
    }

    #[test]
    fn its_questions_metrics_and_words_are_there_by_its_row() {
        let row = ROWS.iter().find(|row| row.key == "echo").unwrap();
        assert_eq!((row.commands)(), ["echoes"]);
        let (_, asked) = described().kinds.into_iter().find(|(key, _)| *key == "echo").unwrap();
        assert!(asked.iter().any(|it| it.path == "echoes"));
        let metrics = crate::metrics::page();
        assert!(metrics.contains("| `echo_answered_total` | counter |"), "{metrics}");
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
        let line = ["tandem", "ctl", "--url", &url, "-o", "json", "echoes", "echo1"];
        let Command::Ctl(ctl) = Cli::try_parse_from(line).unwrap().command else { panic!("ctl") };
        let client = client_of(&ctl).unwrap();
        let CtlCommand::Function(words) = ctl.command else { panic!("a word of a function") };
        words.run(&client, ctl.output).unwrap();
        let request = heard.join().unwrap();
        assert!(request.starts_with("GET /api/v1/functions/echo1/echoes "), "{request}");
    }

    /// A crate, a file and a row: nothing else of the program knows of it.
    #[test]
    fn no_other_file_names_it() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let (mut folders, mut naming) = (vec![source.clone()], Vec::new());
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if std::fs::read_to_string(&path).unwrap().contains("echo::") {
                    naming.push(path.strip_prefix(&source).unwrap().display().to_string());
                }
            }
        }
        naming.sort();
        assert_eq!(naming, ["functions/mod.rs", "functions/tests/echo.rs"]);
    }
}
