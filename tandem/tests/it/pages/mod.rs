//! Each page of the documentation as somebody reads it who does what it says: every box of
//! commands (`console`) runs in a network of the page's own, what the page shows below a box
//! (`text`) is found in what it prints, and every site file (`toml`) passes `tandem check`. Needs
//! root.
//!
//! Comments before a block that a browser does not show say what a reader knows:
//!
//! | comment | before | means |
//! |---|---|---|
//! | `site: rr.toml` | `toml` | this is that file |
//! | | `console` | that site runs alone: of the page, `tandem/tests/it/pages/PAGE/`, or of docs/ |
//! | `part of: rr.toml` | `toml` | checked behind that file; else behind the page's first site |
//! | `file: link.toml` | any | this is that file, and no site |
//! | `before: COMMANDS` | `toml`, `console` | run first, beside the site: addresses, keys, peers |
//! | `not run: REASON` | `console` | `NOT_RUN` counts them, and may only shrink |

mod page;
mod shell;

use page::{Block, blocks};
use shell::{FAILED, Shell};
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Boxes that are not run. May only shrink.
const NOT_RUN: usize = 13;
const KINDS: [&str; 6] = ["console", "toml", "text", "conf", "xml", "yaml"];
const NOTES: [&str; 5] = ["site", "part of", "file", "before", "not run"];
/// Programs that stay, and get a terminal of their own.
const STAYS: [&str; 4] =
    ["tandem run ", "tandem sctp server ", "tandem sctp throughput --once", "tandem lab link "];
/// A person looks again for so long.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// Whether some line has these words in this order; `…` is what differs each time.
fn has(printed: &str, expected: &str) -> bool {
    printed.lines().any(|line| {
        let mut words = line.split_whitespace();
        let mut wanted = expected.split_whitespace().filter(|word| *word != "…");
        wanted.all(|wanted| words.any(|word| is(word, wanted)))
    })
}

/// Whether a word is the one that a page has; commas and brackets around them do not count.
fn is(word: &str, wanted: &str) -> bool {
    const AROUND: [char; 5] = [',', '[', ']', '(', ')'];
    match wanted.split_once('…') {
        Some((start, end)) => word.starts_with(start) && word.ends_with(end),
        None => word.trim_matches(AROUND) == wanted.trim_matches(AROUND),
    }
}

/// Who reads a page.
struct Reader {
    page: String,
    folder: tempfile::TempDir,
    shell: Shell,
    site: Option<String>,
    /// The first site file of the page.
    first: Option<String>,
    looked_at: usize,
}

impl Reader {
    fn of(page: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let shell = Shell::new(folder.path());
        Self { page: page.to_owned(), folder, shell, site: None, first: None, looked_at: 0 }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn save(&self, name: &str, text: &str) {
        fs::write(self.at(name), text).unwrap();
    }

    fn read(&mut self, blocks: &[Block]) {
        for (at, block) in blocks.iter().enumerate() {
            let is_console = block.kind == "console";
            if is_console && block.noted("not run").is_some() {
                continue;
            }
            if let Some(site) = block.noted("site").filter(|_| is_console) {
                match block.text.contains("tandem run ") {
                    true => self.save(site, &self.text_of(site)),
                    false => self.start(site),
                }
            }
            if let Some(commands) = block.noted("before") {
                self.shell.done(commands);
            }
            if let Some(name) = block.file() {
                self.save(name, &block.text);
            }
            if is_console {
                let shows = blocks.get(at + 1).filter(|next| is_shown_by(next));
                self.run(block, shows.map(|next| next.text.as_str()));
            } else if block.kind == "toml" && block.noted("file").is_none() {
                self.check(block);
            }
        }
    }

    /// What is known of a site file by its name.
    fn text_of(&self, name: &str) -> String {
        let stem = self.page.trim_start_matches("docs/").trim_end_matches(".md");
        let tests = page::root().join("tandem/tests/it/pages").join(stem);
        let places = [self.folder.path().to_owned(), tests, page::root().join("docs")];
        let found = places.iter().find_map(|place| fs::read_to_string(place.join(name)).ok());
        found.unwrap_or_else(|| panic!("{}: there is no {name}", self.page))
    }

    /// A site file, or a part of one.
    fn check(&mut self, block: &Block) {
        let whole = match block.text.contains("[site]") {
            true => block.text.clone(),
            false => {
                let base = block.noted("part of").or(self.first.as_deref());
                let what = format!("{}:{}: of which site is this a part?", self.page, block.line);
                format!("{}{}", self.text_of(base.expect(&what)), block.text)
            }
        };
        self.save("checked.toml", &whole);
        let printed = self.shell.run("tandem check checked.toml");
        assert!(!printed.contains(FAILED), "{}:{}: {printed}", self.page, block.line);
        if let Some(name) = block.noted("site") {
            self.save(name, &block.text);
            self.first.get_or_insert(name.to_owned());
        }
    }

    /// Starts the site that a box needs, unless it runs; another one of the page ends.
    fn start(&mut self, name: &str) {
        if self.site.as_deref() == Some(name) {
            return;
        }
        if self.site.is_some() {
            self.shell.done("kill $SITE; wait $SITE || true");
        }
        self.save(name, &self.text_of(name));
        self.shell.done(&in_its_terminal(&format!("tandem run {name}")));
        self.site = Some(name.to_owned());
    }

    fn run(&mut self, block: &Block, shows: Option<&str>) {
        let lines = block.text.lines().map(in_its_terminal);
        let commands = lines.collect::<Vec<_>>().join("\n");
        let mut printed = self.shell.run(&commands);
        let is_shown =
            |printed: &str| shows.is_none_or(|shows| shows.lines().all(|line| has(printed, line)));
        let until = Instant::now() + LOOK_AGAIN;
        while !is_shown(&printed) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(300));
            printed = self.shell.run(commands.trim_end().lines().last().unwrap());
        }
        let place = format!("{}:{}", self.page, block.line);
        assert!(is_shown(&printed), "{place}: must show\n{}\n{printed}", shows.unwrap());
        assert!(!printed.contains(FAILED), "{place}: a command failed:\n{printed}");
        self.looked_at += usize::from(shows.is_some());
        if block.text.contains("tandem run ") {
            self.site = block.noted("site").map(str::to_owned);
            if block.text.lines().any(|line| line.starts_with("tandem run ") && line.ends_with('&'))
            {
                self.shell.done("SITE=$!");
            }
        }
    }
}

/// Whether a block is what the box above it prints: nothing stands between them.
fn is_shown_by(next: &Block) -> bool {
    next.kind == "text" && next.before.trim().is_empty()
}

/// A command that stays, as in a terminal of its own; a site is waited for.
fn in_its_terminal(line: &str) -> String {
    let command = line.split('#').next().unwrap().trim();
    let is_in_the_background = command.ends_with('&') || command.contains(" & ");
    let stays = STAYS.iter().any(|start| command.starts_with(start)) && !is_in_the_background;
    match (stays, command.strip_prefix("tandem run ")) {
        (true, Some(site)) => {
            format!("{command} >site.log 2>&1 &\nSITE=$!\ntandem ctl --site {site} wait")
        }
        (true, None) => format!("{command} >other.log 2>&1 &\nsleep 1; kill -0 $!"),
        (false, _) => line.to_owned(),
    }
}

/// Reads a page from its beginning to its end.
fn read(name: &str) {
    let blocks = blocks(&page::read(name));
    Reader::of(name).read(&blocks);
}

/// Reads a part of a page, which needs nothing of the others, in the time that the page promises.
pub fn read_part(name: &str, heading: &str) {
    let began = Instant::now();
    let text = page::read(name);
    let part = text.split("\n## ").find(|part| part.starts_with(heading));
    let part = part.unwrap_or_else(|| panic!("{name} has no part `{heading}`"));
    let mut reader = Reader::of(&format!("{name}, {heading}"));
    reader.read(&blocks(part));
    assert!(reader.looked_at > 1, "{heading}: the page shows what must be seen");
    assert!(began.elapsed() < Duration::from_secs(600), "{heading}: {:?}", began.elapsed());
}

macro_rules! pages {
    ($($test:ident $name:literal;)*) => {
        $(#[test] fn $test() { read($name); })*
        const READ: &[&str] = &[$($name),*];
    };
}
pages! {
    readme "README.md";
    cluster "docs/cluster.md";
    diameter "docs/diameter.md";
    edge "docs/pe.md";
    figures "docs/figures.md";
    igp "docs/igp.md";
    ims_access "docs/ims.md";
    install "docs/install.md";
    lab "docs/lab.md";
    labels "docs/labels.md";
    media "docs/media.md";
    operations "docs/operations.md";
    peering "docs/peering.md";
    vpns "docs/vpns.md";
    policy "docs/policy.md";
    reflector "docs/rr.md";
    assurance "docs/sas.md";
    applications "docs/applications.md";
    scenarios "docs/scenarios.md";
    sccp "docs/sccp.md";
    screening "docs/screening.md";
    short_messages "docs/ipsmgw.md";
    sctp "docs/sctp.md";
    security "docs/security.md";
    session_controller "docs/sbc.md";
    signalling_gateway "docs/ss7.md";
    store "docs/store.md";
    tcap "docs/tcap.md";
    transcoding "docs/media-transcoding.md";
}

#[test]
fn what_a_page_shows_is_found_loosely() {
    let printed = "NAME  STATE  SINCE\nwest  up     3s, of 127.0.0.1\n#token=abc\n";
    for line in ["NAME STATE SINCE", "west up …", "west … of 127.0.0.1", "#token=…", "3s of"]
    {
        assert!(has(printed, line), "{line}");
    }
    for line in ["up west", "west down", "#token=x…", "STATE up"] {
        assert!(!has(printed, line), "{line}");
    }
}

#[test]
fn every_page_with_boxes_is_read_and_every_box_says_what_it_is() {
    let mut wrong = Vec::new();
    let mut not_run = Vec::new();
    for name in page::names() {
        for block in blocks(&page::read(&name)) {
            let place = format!("{name}:{}", block.line);
            let is_run = block.kind == "console" || block.kind == "toml";
            // The paths of this page are read one by one (start.rs).
            if is_run && name != "docs/start.md" && !READ.contains(&name.as_str()) {
                wrong.push(format!("{place}: no test reads this page"));
            }
            if !KINDS.contains(&block.kind.as_str()) {
                wrong.push(format!("{place}: a block of `{}`, not {KINDS:?}", block.kind));
            }
            if block.kind != "console" && block.text.lines().any(|it| it.starts_with("tandem ")) {
                wrong.push(format!("{place}: commands are `console`"));
            }
            // The marks of a page that a program writes are no notes.
            let notes = block.keys().filter(|key| !key.starts_with("cargo xtask"));
            let unknown = notes.filter(|key| !NOTES.contains(key));
            wrong.extend(unknown.map(|key| format!("{place}: a comment of `{key}`")));
            not_run.extend(block.noted("not run").map(|why| format!("{place}: {why}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let list = not_run.join("\n");
    writeln!(std::io::stderr(), "{} boxes are not run:\n{list}", not_run.len()).unwrap();
    assert_eq!(not_run.len(), NOT_RUN, "NOT_RUN may only shrink:\n{list}");
}
