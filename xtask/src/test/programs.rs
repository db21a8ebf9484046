//! The test programs of the workspace, as cargo builds them.

use super::job::Job;
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Floors whose crates have no sockets, threads and clocks (`clippy.toml` of each).
const WITHOUT_IO: [&str; 5] = ["kit", "proto", "plane", "stack", "nf"];

/// Beside what a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// One after another, with the cores for itself.
    First,
    /// On what the first lane leaves.
    Idle,
}

/// A test program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The words that select it, as cargo prints them: `-p tandem-rr --test it`.
    pub name: String,
    pub lane: Lane,
    executable: PathBuf,
    /// The folder of its crate, where it runs.
    folder: PathBuf,
}

impl Program {
    /// What runs it with these words.
    pub fn job(&self, words: &[&str]) -> Job {
        let job = Job::new(&self.name, &self.executable)
            .words(words.iter().copied())
            .within(self.folder.clone())
            .variable("CARGO_MANIFEST_DIR", self.folder.as_os_str())
            .variable("CARGO", &cargo());
        match self.starts_tandem() {
            true => job.variable("RUST_TEST_THREADS", OsStr::new(&waiting_tests().to_string())),
            false => job,
        }
    }

    fn starts_tandem(&self) -> bool {
        self.name.starts_with("-p tandem ")
    }

    /// The program of a line of cargo's, if it says that one was built.
    fn read(line: &Value) -> Option<Self> {
        let is_test = line["reason"] == "compiler-artifact" && line["profile"]["test"] == true;
        let executable = line["executable"].as_str().filter(|_| is_test)?;
        let folder = Path::new(line["manifest_path"].as_str()?).parent()?;
        let package = line["package_id"].as_str()?;
        // `path+file:///…/nf/rr#tandem-rr@0.1.0`, or `…/xtask#0.1.0` where both names are one.
        let (path, id) = package.rsplit_once('#')?;
        let package =
            id.split_once('@').map_or_else(|| path.rsplit('/').next(), |it| Some(it.0))?;
        let (target, kind) = (&line["target"], line["target"]["kind"][0].as_str()?);
        let select = match kind {
            "test" | "bin" | "example" | "bench" => {
                format!("--{kind} {}", target["name"].as_str()?)
            }
            _ => "--lib".to_owned(),
        };
        let floor = folder.parent().and_then(Path::file_name).and_then(|it| it.to_str());
        let is_idle = floor.is_some_and(|floor| WITHOUT_IO.contains(&floor));
        Some(Self {
            name: format!("-p {package} {select}"),
            lane: if is_idle { Lane::Idle } else { Lane::First },
            executable: executable.into(),
            folder: folder.to_owned(),
        })
    }
}

/// How many tests run at once of a program whose tests start others and mostly wait for them: a
/// test takes a third of a core.
fn waiting_tests() -> usize {
    2 * std::thread::available_parallelism().map_or(1, usize::from)
}

/// The cargo that runs this program.
pub fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Builds all of them, on what others leave of the cores, and hands over each as it is there.
/// Returns the program that people run.
///
/// # Errors
/// When one does not compile; what the compiler says was printed.
pub fn build(mut found: impl FnMut(Program)) -> Result<PathBuf> {
    let words = "test --quiet --workspace --no-run --message-format=json-render-diagnostics";
    let mut child = Command::new("chrt")
        .args(["--idle", "0"])
        .arg(cargo())
        .args(words.split(' '))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("chrt runs cargo")?;
    let output = child.stdout.take().context("cargo has an output")?;
    let mut order = Order::default();
    for line in BufReader::new(output).lines() {
        let line = serde_json::from_str(&line?).context("a line of cargo's")?;
        order.next(&line).into_iter().for_each(&mut found);
    }
    ensure!(child.wait()?.success(), "the tests do not compile");
    order.tandem.context("cargo has built tandem")
}

/// The order in which what cargo builds can run. Cargo builds the tests of a package beside its
/// binaries: a test that starts `tandem` may be there before it.
#[derive(Default)]
struct Order {
    /// The program that people run, once it is there.
    tandem: Option<PathBuf>,
    /// Programs that start it.
    waiting: Vec<Program>,
}

impl Order {
    /// Takes a line of cargo's and returns the programs that can run from now on.
    fn next(&mut self, line: &Value) -> Vec<Program> {
        self.tandem = self.tandem.take().or_else(|| people_run(line));
        self.waiting.extend(Program::read(line));
        let has_tandem = self.tandem.is_some();
        self.waiting.extract_if(.., |program| has_tandem || !program.starts_tandem()).collect()
    }
}

/// The path of `tandem`, where a line of cargo's says that it was built.
fn people_run(line: &Value) -> Option<PathBuf> {
    let is_tandem = line["target"]["kind"][0] == "bin" && line["target"]["name"] == "tandem";
    let is_test = line["profile"]["test"] == true;
    line["executable"].as_str().filter(|_| is_tandem && !is_test).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_built_program_is_read_with_its_lane() {
        let line = |package: &str, folder: &str, kind: &str| {
            json!({
                "reason": "compiler-artifact", "package_id": package,
                "manifest_path": format!("{folder}/Cargo.toml"),
                "target": {"kind": [kind], "name": "it"}, "profile": {"test": true},
                "executable": "/t/it-1",
            })
        };
        let rr = line("path+file:///t/nf/rr#tandem-rr@0.1.0", "/t/nf/rr", "test");
        let rr = Program::read(&rr).unwrap();
        assert_eq!((rr.name.as_str(), rr.lane), ("-p tandem-rr --test it", Lane::Idle));
        let xtask = Program::read(&line("path+file:///t/xtask#0.1.0", "/t/xtask", "lib")).unwrap();
        assert_eq!((xtask.name.as_str(), xtask.lane), ("-p xtask --lib", Lane::First));
        let mut library = line("path+file:///t/nf/rr#tandem-rr@0.1.0", "/t/nf/rr", "lib");
        library["executable"] = Value::Null;
        assert_eq!(Program::read(&library), None);
    }

    #[test]
    fn a_test_that_starts_tandem_waits_for_it_and_no_other_does() {
        let line = |package: &str, kind: &str, is_test: bool| {
            json!({
                "reason": "compiler-artifact",
                "package_id": format!("path+file:///t/{package}#0.1.0"),
                "manifest_path": format!("/t/{package}/Cargo.toml"), "profile": {"test": is_test},
                "target": {"kind": [kind], "name": package}, "executable": format!("/t/{package}"),
            })
        };
        let mut order = Order::default();
        let mut names = |line| Vec::from_iter(order.next(&line).into_iter().map(|it| it.name));
        assert_eq!(names(line("tandem", "test", true)), [""; 0]);
        assert_eq!(names(line("xtask", "test", true)), ["-p xtask --test xtask"]);
        assert_eq!(names(line("tandem", "bin", false)), ["-p tandem --test tandem"]);
        assert_eq!(names(line("tandem", "bin", true)), ["-p tandem --bin tandem"]);
    }

    #[test]
    fn the_program_that_people_run_is_no_harness_of_its_own_tests() {
        let line = |name: &str, is_test: bool| {
            json!({
                "reason": "compiler-artifact", "profile": {"test": is_test},
                "target": {"kind": ["bin"], "name": name}, "executable": "/t/debug/tandem",
            })
        };
        assert_eq!(people_run(&line("tandem", false)), Some("/t/debug/tandem".into()));
        assert_eq!(people_run(&line("tandem", true)), None);
        assert_eq!(people_run(&line("xtask", false)), None);
    }
}
