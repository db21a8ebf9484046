//! A node of Apache Cassandra.
//!
//! The first use fetches its jars with Maven and keeps them with the user's caches. A node has
//! 1 GB, and answers CQL after some 14 seconds on a machine that does nothing else.

use crate::jars::jars;
use crate::process::{Process, ProcessSpec};
use anyhow::Context as _;
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const VERSION: &str = "cassandra-5.0.4";
const POM: &str = include_str!("../cassandra/pom.xml");
const KEYS: &str = include_str!("../cassandra/keys.py");
const MAIN: &str = "org.apache.cassandra.service.CassandraDaemon";
/// For a node to answer, however busy this machine is.
const START: Duration = Duration::from_secs(180);
const CONNECT: Duration = Duration::from_millis(200);
/// What Java 17 shows to it: modules, and packages of them.
const EXPORTS: [(&str, &str); 6] = [
    ("java.base", "jdk.internal.misc jdk.internal.ref sun.nio.ch java.lang.ref java.lang.reflect"),
    ("java.management.rmi", "com.sun.jmx.remote.internal.rmi"),
    ("java.rmi", "sun.rmi.registry sun.rmi.server"),
    ("java.sql", "java.sql"),
    ("jdk.compiler", "com.sun.tools.javac.file"),
    ("jdk.unsupported", "sun.misc"),
];
const OPENS: [(&str, &str); 2] = [
    (
        "java.base",
        "java.lang java.lang.module java.lang.reflect java.io java.net java.nio java.util \
         java.util.concurrent java.util.concurrent.atomic jdk.internal.loader jdk.internal.ref \
         jdk.internal.reflect jdk.internal.math jdk.internal.module jdk.internal.util.jar \
         jdk.internal.misc sun.nio.ch",
    ),
    ("jdk.management", "com.sun.management.internal"),
];
const QUICK: [&str; 8] = [
    "-Xms512m",
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-Djdk.attach.allowAttachSelf=true",
    "-Dcassandra.ring_delay_ms=2000",
    "-Dcassandra.skip_wait_for_gossip_to_settle=0",
    "-Dcassandra.superuser_setup_delay_ms=0",
    "-Dcassandra-foreground=yes",
];

/// Where a node stands.
#[derive(Debug, Clone)]
pub struct CassandraSpec {
    /// Its address.
    pub address: IpAddr,
    /// Its port for CQL; all nodes of a ring have the same.
    pub port: u16,
    /// Its port for the other nodes; all nodes of a ring have the same.
    pub storage_port: u16,
    /// A node that it learns the others from; the first one has itself.
    pub seed: IpAddr,
    /// Whether it wants to be told a user and a password: `cassandra`, both.
    pub has_users: bool,
    /// Keys by which it speaks TLS with those who begin with it, and in clear with others.
    pub tls: Option<CassandraTls>,
}

/// Files in PEM form.
#[derive(Debug, Clone)]
pub struct CassandraTls {
    /// The node's private key, and its certificate behind it.
    pub node: PathBuf,
    /// The authority of those who connect: they have to show a certificate.
    pub roots: PathBuf,
}

/// A node; it ends with the handle.
#[derive(Debug)]
pub struct Cassandra {
    /// Where it answers CQL.
    pub at: SocketAddr,
    spec: CassandraSpec,
    process: Process,
    folder: tempfile::TempDir,
}

impl Cassandra {
    /// Starts a node, and waits until it answers.
    ///
    /// # Errors
    /// When its jars cannot be had, Java is missing, or it does not start.
    pub fn start(spec: &CassandraSpec) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let process = launch(spec, folder.path())?;
        let at = SocketAddr::new(spec.address, spec.port);
        let mut node = Self { at, spec: spec.clone(), process, folder };
        node.wait()?;
        Ok(node)
    }

    fn wait(&mut self) -> anyhow::Result<()> {
        let at = self.at;
        let answers = || TcpStream::connect_timeout(&at, CONNECT).is_ok();
        self.process.wait_until(START, answers)
    }

    /// It dies where it stands (`kill -9`).
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// It begins again with what it has on disk; [`Cassandra::wait_again`] waits until it answers.
    ///
    /// # Errors
    /// It does not start.
    pub fn begin_again(&mut self) -> anyhow::Result<()> {
        self.process = launch(&self.spec, self.folder.path())?;
        Ok(())
    }

    /// Waits until it answers.
    ///
    /// # Errors
    /// It does not.
    pub fn wait_again(&mut self) -> anyhow::Result<()> {
        self.wait()
    }

    /// The keys of the rows of a table of a keyspace, as cassandra-driver reads them at QUORUM.
    ///
    /// # Errors
    /// It is not installed, or does not read them.
    pub fn keys(&self, keyspace: &str, table: &str) -> anyhow::Result<BTreeSet<Vec<u8>>> {
        let mut command = Command::new("/usr/bin/python3");
        let (address, port) = (self.at.ip().to_string(), self.at.port().to_string());
        command.args(["-c", KEYS, &address, &port, keyspace, table]).stdin(Stdio::null());
        let output = command.output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "cassandra-driver (make setup): {errors}");
        let read = |line: &str| {
            let pairs = line.as_bytes().chunks(2);
            let octets = pairs.map(|it| u8::from_str_radix(str::from_utf8(it).ok()?, 16).ok());
            octets.collect::<Option<Vec<u8>>>()
        };
        let lines = String::from_utf8_lossy(&output.stdout);
        lines.lines().map(|it| read(it).context("it is no key")).collect()
    }

    /// Stops it where it stands: its connections stay, and nothing is answered.
    ///
    /// # Errors
    /// It does not stop.
    pub fn pause(&mut self) -> anyhow::Result<()> {
        self.process.signal(Signal::STOP);
        let stat = format!("/proc/{}/stat", self.process.id());
        let is_stopped =
            || fs::read_to_string(&stat).is_ok_and(|it| it.rsplit(')').next().is_some_and(stops));
        self.process.wait_until(CONNECT * 25, is_stopped)?;
        // Its other threads stop after the first one.
        std::thread::sleep(CONNECT);
        Ok(())
    }

    /// It goes on.
    pub fn resume(&mut self) {
        self.process.signal(Signal::CONT);
    }

    /// The last lines of what it printed.
    #[must_use]
    pub fn log_end(&self) -> String {
        self.process.log_end()
    }
}

impl Drop for Cassandra {
    fn drop(&mut self) {
        self.resume();
        self.process.kill();
    }
}

/// Whether the rest of `/proc/PID/stat` behind the name says so (proc(5)).
fn stops(rest: &str) -> bool {
    rest.trim_start().starts_with('T')
}

fn launch(spec: &CassandraSpec, folder: &Path) -> anyhow::Result<Process> {
    let program = ProcessSpec::new("cassandra", "java", folder);
    Process::start(&program.with(words(spec, folder)?))
}

/// The words behind `java`; its files are in `folder`.
fn words(spec: &CassandraSpec, folder: &Path) -> anyhow::Result<Vec<String>> {
    let jars = jars(VERSION, POM)?;
    let mut files = fs::read_dir(&jars)?.flatten().map(|it| it.path());
    let agent = files.find(|it| it.to_string_lossy().contains("/jamm-"));
    let agent = agent.ok_or_else(|| anyhow::anyhow!("there is no jamm among its jars"))?;
    let yaml = folder.join("cassandra.yaml");
    fs::write(&yaml, settings(spec, folder))?;
    fs::write(folder.join("logback.xml"), "<configuration/>")?;
    let mut words = QUICK.map(str::to_owned).to_vec();
    words.push(format!("-javaagent:{}", agent.display()));
    words.push(format!("-Dcassandra.config=file://{}", yaml.display()));
    words.push(format!("-Dcassandra.storagedir={}", folder.display()));
    for (option, of) in [("--add-exports", &EXPORTS[..]), ("--add-opens", &OPENS[..])] {
        let packages = of.iter().flat_map(|(module, packages)| {
            packages.split_whitespace().map(move |it| format!("{module}/{it}=ALL-UNNAMED"))
        });
        words.extend(packages.flat_map(|it| [option.to_owned(), it]));
    }
    let path = format!("{}:{}", folder.display(), jars.join("*").display());
    words.extend(["-cp".to_owned(), path, MAIN.to_owned()]);
    Ok(words)
}

fn settings(spec: &CassandraSpec, folder: &Path) -> String {
    let (address, seed) = (spec.address, spec.seed);
    let (port, storage_port) = (spec.port, spec.storage_port);
    let folder = folder.display();
    let users = match spec.has_users {
        true => "authenticator: PasswordAuthenticator\nauthorizer: CassandraAuthorizer\n",
        false => "",
    };
    let tls = spec.tls.as_ref().map(|CassandraTls { node, roots }| {
        format!(
            "client_encryption_options:\n  enabled: true\n  optional: true\n  \
             require_client_auth: true\n  keystore: {}\n  truststore: {}\n  \
             ssl_context_factory:\n    class_name: \
             org.apache.cassandra.security.PEMBasedSslContextFactory\n",
            node.display(),
            roots.display()
        )
    });
    let tls = tls.unwrap_or_default();
    format!(
        "cluster_name: tandem\nnum_tokens: 16\npartitioner: \
         org.apache.cassandra.dht.Murmur3Partitioner\nlisten_address: {address}\n\
         rpc_address: {address}\nstorage_port: {storage_port}\nnative_transport_port: {port}\n\
         commitlog_sync: periodic\ncommitlog_sync_period: 1000ms\n\
         commitlog_segment_size: 16MiB\nmemtable_heap_space: 64MiB\n\
         memtable_offheap_space: 64MiB\nendpoint_snitch: SimpleSnitch\n\
         data_file_directories: [{folder}/data]\ncommitlog_directory: {folder}/log\n\
         saved_caches_directory: {folder}/caches\nhints_directory: {folder}/hints\n\
         cdc_raw_directory: {folder}/cdc\n{users}{tls}seed_provider:\n  - class_name: \
         org.apache.cassandra.locator.SimpleSeedProvider\n    parameters:\n      - seeds: \
         \"{seed}:{storage_port}\"\n"
    )
}
