//! The thread that writes files of records.

use crate::records::RecordFiles;
use crate::{MODE, sheltered};
use driver::Waker;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// What was written is on disk within this.
const SYNC_TIME: Duration = Duration::from_secs(1);
/// How the name of a finished file ends, and of the one that is written.
const FINISHED: &str = ".jsonl";
const UNFINISHED: &str = ".part";
/// Octets of an unfinished file that are looked through at once for its last line.
const STRIDE_OCTETS: u64 = 64 << 10;

/// Lines for the thread.
pub(crate) struct Job(pub Vec<u8>);

#[derive(Default)]
struct Counts {
    written: u64,
    lost: u64,
    /// Lines that were handed to the thread and that it has not dealt with.
    handed: u64,
    why: Option<String>,
}

/// What the thread has counted and the shard has not heard.
pub(crate) struct Ear {
    counts: Mutex<Counts>,
    bell: Waker,
    /// Octets that wait for the thread.
    pub waiting: AtomicUsize,
}

fn lines_of(octets: &[u8]) -> u64 {
    octets.iter().filter(|it| **it == b'\n').count() as u64
}

impl Ear {
    fn new() -> io::Result<Self> {
        let bell = Waker::new()?;
        bell.doze();
        Ok(Self { counts: Mutex::default(), bell, waiting: AtomicUsize::new(0) })
    }

    /// Can be read when there is something to be heard.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lines that were written and lost since this was asked last, and why there is an end.
    pub fn take(&self) -> (u64, u64, Option<String>) {
        self.bell.clear();
        self.bell.doze();
        let mut counts = self.counts();
        let (written, lost) = (counts.written, counts.lost);
        (counts.written, counts.lost) = (0, 0);
        (written, lost, counts.why.clone())
    }

    /// Lines found no room.
    pub fn lost(&self, lines: &[u8]) {
        self.counts().lost += lines_of(lines);
        self.bell.wake();
    }

    /// Lines are about to be handed to the thread; false: there is none any more, they are lost.
    pub fn hand(&self, lines: &[u8]) -> bool {
        let mut counts = self.counts();
        let is_there = counts.why.is_none();
        *(if is_there { &mut counts.handed } else { &mut counts.lost }) += lines_of(lines);
        drop(counts);
        if !is_there {
            self.bell.wake();
        }
        is_there
    }

    /// The thread has dealt with lines: they are in a file, or not.
    fn dealt(&self, lines: &[u8], is_written: bool) {
        let (mut counts, lines) = (self.counts(), lines_of(lines));
        counts.handed = counts.handed.saturating_sub(lines);
        *(if is_written { &mut counts.written } else { &mut counts.lost }) += lines;
        drop(counts);
        self.bell.wake();
    }

    /// Nobody takes lines any more: those that were handed and not dealt with are lost, and so are
    /// all others from now on.
    fn end(&self, why: String) {
        let mut counts = self.counts();
        counts.lost += core::mem::take(&mut counts.handed);
        counts.why = Some(why);
        drop(counts);
        self.bell.wake();
    }
}

/// Begins a thread for files of records.
pub(crate) fn begin(files: RecordFiles) -> io::Result<(Sender<Job>, Arc<Ear>)> {
    let ear = Arc::new(Ear::new()?);
    let (jobs, queue) = channel();
    let own = Arc::clone(&ear);
    std::thread::Builder::new().name("records".to_owned()).spawn(move || {
        let mut writer = Writer { files, current: None, number: 0 };
        let ended = writer.recover().and_then(|()| writer.run(&queue, &own));
        // What waits behind what was not written is lost with it, and what is being handed now.
        drop(queue);
        if let Err(why) = ended {
            own.end(why.to_string());
        }
    })?;
    Ok((jobs, ear))
}

/// The file that is written.
struct Current {
    file: File,
    octets: u64,
    begun: Instant,
    is_dirty: bool,
}

struct Writer {
    files: RecordFiles,
    current: Option<Current>,
    number: u32,
}

impl Writer {
    fn unfinished(&self) -> PathBuf {
        self.files.folder.join(format!("{}{UNFINISHED}", self.files.name))
    }

    fn open(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(MODE);
        let file = options.custom_flags(libc::O_NOFOLLOW).open(self.unfinished())?;
        let about = file.metadata()?;
        if !about.is_file() || about.nlink() != 1 {
            return Err(io::Error::other("the unfinished file is no file of its own"));
        }
        // One that was put there beforehand may be another's, or for others to read.
        if about.uid() != driver::unix_socket::own_user() {
            return Err(io::Error::other("the unfinished file is another user's"));
        }
        if about.mode() & 0o077 != 0 {
            file.set_permissions(fs::Permissions::from_mode(MODE))?;
        }
        let is_free = file.try_lock().is_ok();
        if !is_free {
            return Err(io::Error::other("somebody else writes records here"));
        }
        // Until the lock was free, another one may have given the file its last name.
        let named = fs::symlink_metadata(self.unfinished())?;
        let is_same = (named.dev(), named.ino()) == (about.dev(), about.ino());
        let text = "somebody else has finished the unfinished file";
        is_same.then_some(file).ok_or_else(|| io::Error::other(text))
    }

    /// Finishes what was left unfinished, up to its last line.
    fn recover(&mut self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.files.folder)?;
        sheltered(&self.unfinished())?;
        if !self.unfinished().try_exists()? {
            return Ok(());
        }
        let mut file = self.open()?;
        let octets = whole_lines(&mut file)?;
        file.set_len(octets)?;
        let header = self.files.header.len() as u64;
        match octets > header {
            true => self.finish(&file),
            false => fs::remove_file(self.unfinished()),
        }
    }

    fn run(&mut self, queue: &Receiver<Job>, ear: &Ear) -> io::Result<()> {
        loop {
            match queue.recv_timeout(self.wait()) {
                Ok(Job(lines)) => {
                    ear.waiting.fetch_sub(lines.len(), Relaxed);
                    if let Err(why) = self.append(&lines) {
                        ear.dealt(&lines, false);
                        // What was written before is whole, and is finished.
                        self.close().ok();
                        return Err(why);
                    }
                    ear.dealt(&lines, true);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.close(),
            }
            self.look()?;
        }
    }

    fn wait(&self) -> Duration {
        let Some(current) = &self.current else { return Duration::from_secs(3_600) };
        let left = self.files.file_time_max.saturating_sub(current.begun.elapsed());
        if current.is_dirty { left.min(SYNC_TIME) } else { left }
    }

    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.current.is_none() {
            self.current = Some(self.begin()?);
        }
        let Some(current) = &mut self.current else { return Ok(()) };
        if let Err(why) = current.file.write_all(lines) {
            // No part of a line stays.
            current.file.set_len(current.octets)?;
            return Err(why);
        }
        current.octets += lines.len() as u64;
        current.is_dirty = true;
        Ok(())
    }

    fn begin(&self) -> io::Result<Current> {
        let finished = self.finished_octets()?;
        if finished >= self.files.folder_octets_max {
            let text = format!("finished files have {finished} octets, and may not have more");
            return Err(io::Error::other(text));
        }
        let mut file = self.open()?;
        file.set_len(0)?;
        let header = &self.files.header;
        if let Err(why) = file.write_all(header) {
            fs::remove_file(self.unfinished())?;
            return Err(why);
        }
        let octets = header.len() as u64;
        Ok(Current { file, octets, begun: Instant::now(), is_dirty: true })
    }

    fn finished_octets(&self) -> io::Result<u64> {
        let mut octets = 0;
        for entry in fs::read_dir(&self.files.folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if name.to_str().is_some_and(|it| self.has_finished(it)) {
                // One that was collected meanwhile has none.
                octets += entry.metadata().map_or(0, |it| it.len());
            }
        }
        Ok(octets)
    }

    /// Whether a file has a name that a finished one of these is given: another function's may
    /// begin alike.
    fn has_finished(&self, name: &str) -> bool {
        let rest = name.strip_prefix(&*self.files.name).and_then(|it| it.strip_prefix('-'));
        let numbers = rest.and_then(|it| it.strip_suffix(FINISHED)?.split_once('-'));
        let is_number = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
        numbers.is_some_and(|(seconds, number)| is_number(seconds) && is_number(number))
    }

    /// Finishes or syncs the file, if it is time for that.
    fn look(&mut self) -> io::Result<()> {
        let Some(current) = &mut self.current else { return Ok(()) };
        let is_old = current.begun.elapsed() >= self.files.file_time_max;
        if is_old || current.octets >= self.files.file_octets_max {
            return self.close();
        }
        if core::mem::take(&mut current.is_dirty) {
            current.file.sync_data()?;
        }
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        match self.current.take() {
            Some(current) => self.finish(&current.file),
            None => Ok(()),
        }
    }

    /// Gives the file its name, once it is on disk.
    fn finish(&mut self, file: &File) -> io::Result<()> {
        file.sync_all()?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let seconds = now.map_or(0, |it| it.as_secs());
        let name = loop {
            self.number = self.number.wrapping_add(1);
            let name = format!("{}-{seconds}-{}{FINISHED}", self.files.name, self.number);
            let name = self.files.folder.join(name);
            if !name.try_exists()? {
                break name;
            }
        };
        fs::rename(self.unfinished(), name)?;
        File::open(&self.files.folder)?.sync_all()
    }
}

/// Octets of a file up to the end of its last whole line; what is no line at all is none of ours.
fn whole_lines(file: &mut File) -> io::Result<u64> {
    let mut until = file.metadata()?.len();
    // A disk that lost its power may leave zeros behind the last line, of any length.
    while until > 0 {
        let from = until.saturating_sub(STRIDE_OCTETS);
        file.seek(SeekFrom::Start(from))?;
        let mut part = Vec::new();
        (&mut *file).take(until - from).read_to_end(&mut part)?;
        if let Some(at) = part.iter().rposition(|it| *it == b'\n') {
            return Ok(from + at as u64 + 1);
        }
        until = from;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use channel::{Absent, Came, Channel, Connect as _};
    use std::path::Path;

    /// For what a thread does.
    const PATIENCE: Duration = Duration::from_secs(30);
    const HEADER: &[u8] = b"{\"header\":1}\n";

    fn files(folder: &Path) -> RecordFiles {
        RecordFiles {
            folder: folder.join("cdr"),
            name: "sms1".to_owned(),
            header: HEADER.to_vec(),
            file_octets_max: 64,
            file_time_max: Duration::from_secs(3_600),
            folder_octets_max: 1_000,
        }
    }

    fn begun(files: &RecordFiles) -> Box<dyn Channel> {
        match files.connect() {
            Ok(it) => it,
            Err(Absent::Failed(why)) => panic!("{why}"),
            Err(Absent::Starting) => panic!("starting"),
        }
    }

    /// What is counted until it is so much, or until the end.
    fn counted(channel: &mut Box<dyn Channel>, lines: u64) -> (u64, u64, Option<String>) {
        let (mut written, mut lost) = (0, 0);
        let end = Instant::now() + PATIENCE;
        loop {
            let ended = channel.read(&mut |came| {
                if let Came::Message(counts) = came {
                    written += u64::from_be_bytes(counts[..8].try_into().expect("eight"));
                    lost += u64::from_be_bytes(counts[8..].try_into().expect("eight"));
                }
            });
            if written + lost >= lines || ended.is_err() {
                return (written, lost, ended.err());
            }
            assert!(Instant::now() < end, "{written} written, {lost} lost");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The texts of finished files, in the order of their names.
    fn finished(files: &RecordFiles) -> Vec<String> {
        let all = fs::read_dir(&files.folder).into_iter().flatten().flatten();
        let mut names: Vec<PathBuf> = all.map(|it| it.path()).collect();
        names.retain(|it| it.extension().is_some_and(|it| it == "jsonl"));
        let number = |it: &PathBuf| {
            let name = it.file_stem().and_then(|it| it.to_str()).expect("a name");
            name.rsplit('-').next().and_then(|it| it.parse::<u32>().ok())
        };
        names.sort_by_key(number);
        names.iter().map(|it| fs::read_to_string(it).expect("it is there")).collect()
    }

    fn until(holds: impl Fn() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !holds() {
            assert!(Instant::now() < end, "it is so in the end");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn record(number: u32) -> Vec<u8> {
        format!("{{\"number\":{number},\"more\":\"........\"}}\n").into_bytes()
    }

    #[test]
    fn a_file_is_finished_when_it_is_long_enough_and_is_its_owners_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = files(folder.path());
        let mut channel = begun(&files);
        for number in 0..5 {
            channel.write(record(number)).expect("it is taken");
        }
        assert_eq!(counted(&mut channel, 5), (5, 0, None));
        until(|| finished(&files).len() == 2);
        drop(channel);
        until(|| finished(&files).len() == 3);
        let texts = finished(&files);
        assert!(texts.iter().all(|it| it.as_bytes().starts_with(HEADER) && it.ends_with('\n')));
        let lines: Vec<&str> = texts.iter().flat_map(|it| it.lines().skip(1)).collect();
        assert_eq!(lines.len(), 5);
        assert!(lines.iter().enumerate().all(|(n, it)| it.contains(&format!(":{n},"))));
        assert!(!files.folder.join("sms1.part").exists());
        for entry in fs::read_dir(&files.folder).expect("it is there").flatten() {
            assert_eq!(entry.metadata().expect("it is").permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_file_is_finished_when_it_is_old_enough() {
        let folder = tempfile::tempdir().expect("a folder");
        let files =
            RecordFiles { file_time_max: Duration::from_millis(20), ..files(folder.path()) };
        let mut channel = begun(&files);
        channel.write(record(1)).expect("it is taken");
        until(|| finished(&files).len() == 1);
        channel.write(record(2)).expect("it is taken");
        until(|| finished(&files).len() == 2);
    }

    #[test]
    fn what_was_left_is_finished_up_to_its_last_line_and_nothing_is_left_empty() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = files(folder.path());
        fs::create_dir(&files.folder).expect("a folder");
        let part = files.folder.join("sms1.part");
        let left = [HEADER, &record(1), b"{\"numb"].concat();
        fs::write(&part, &left).expect("it is written");
        drop(begun(&files));
        until(|| finished(&files).len() == 1);
        assert_eq!(finished(&files)[0].as_bytes(), [HEADER, &record(1)].concat());
        until(|| !part.exists());
        let zeros = vec![0; 3 * usize::try_from(STRIDE_OCTETS).expect("few")];
        fs::write(&part, [HEADER, &record(2), &zeros].concat()).expect("it is written");
        drop(begun(&files));
        until(|| finished(&files).len() == 2);
        assert_eq!(finished(&files)[1].as_bytes(), [HEADER, &record(2)].concat());
        until(|| !part.exists());
        fs::write(&part, &HEADER[..5]).expect("it is written");
        drop(begun(&files));
        until(|| !part.exists());
        assert_eq!(finished(&files).len(), 2);
    }

    #[test]
    fn lines_that_are_handed_while_the_thread_ends_are_counted_once() {
        let folder = tempfile::tempdir().expect("a folder");
        // Where a file stands no folder can be: the thread ends at once.
        let files = RecordFiles { folder: folder.path().join("file"), ..files(folder.path()) };
        fs::write(&files.folder, b"x").expect("it is written");
        for round in 0..200 {
            let mut channel = begun(&files);
            for number in 0..20 {
                channel.write(record(number)).expect("it is taken");
                if round % 2 == 0 {
                    std::thread::yield_now();
                }
            }
            let end = Instant::now() + PATIENCE;
            let (mut written, mut lost) = (0, 0);
            let mut look = |channel: &mut Box<dyn Channel>| {
                let ended = channel.read(&mut |came| {
                    if let Came::Message(counts) = came {
                        written += u64::from_be_bytes(counts[..8].try_into().expect("eight"));
                        lost += u64::from_be_bytes(counts[8..].try_into().expect("eight"));
                    }
                });
                ended.is_err()
            };
            while !look(&mut channel) {
                assert!(Instant::now() < end, "it ends");
                std::thread::yield_now();
            }
            // What comes behind the end is lost, too.
            channel.write(record(20)).expect("it is taken");
            look(&mut channel);
            assert_eq!((written, lost), (0, 21), "round {round}");
        }
    }

    #[test]
    fn files_of_a_function_whose_name_begins_alike_take_none_of_its_room() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = RecordFiles { folder_octets_max: 100, ..files(folder.path()) };
        fs::create_dir(&files.folder).expect("a folder");
        for name in ["sms1-b-1-1.jsonl", "sms1-2-1-1.jsonl", "sms1-.jsonl", "sms1-1-x.jsonl"] {
            fs::write(files.folder.join(name), [0; 200]).expect("it is written");
        }
        let mut channel = begun(&files);
        channel.write(record(1)).expect("it is taken");
        assert_eq!(counted(&mut channel, 1), (1, 0, None));
        drop(channel);
        until(|| !files.folder.join("sms1.part").exists());
        fs::write(files.folder.join("sms1-1-1.jsonl"), [0; 200]).expect("it is written");
        let mut channel = begun(&files);
        channel.write(record(1)).expect("it is taken");
        assert_eq!(counted(&mut channel, 1).1, 1);
    }

    #[test]
    fn what_stood_there_before_is_made_its_owners_alone_and_no_folder_of_all_is_written_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = files(folder.path());
        fs::create_dir(&files.folder).expect("a folder");
        let part = files.folder.join("sms1.part");
        fs::write(&part, [HEADER, &record(1)].concat()).expect("it is written");
        fs::set_permissions(&part, fs::Permissions::from_mode(0o644)).expect("it is ours");
        drop(begun(&files));
        until(|| finished(&files).len() == 1);
        for entry in fs::read_dir(&files.folder).expect("it is there").flatten() {
            assert_eq!(entry.metadata().expect("it is").permissions().mode() & 0o777, 0o600);
        }
        fs::set_permissions(&files.folder, fs::Permissions::from_mode(0o777)).expect("it is ours");
        let mut channel = begun(&files);
        channel.write(record(2)).expect("it is taken");
        let (_, lost, why) = counted(&mut channel, 1);
        let why = why.unwrap_or_else(|| counted(&mut channel, u64::MAX).2.expect("it is over"));
        assert!(lost == 1 && why.contains("its folder"), "{why}");
    }

    #[test]
    fn a_folder_that_is_full_loses_lines_and_says_so_until_somebody_collects() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = RecordFiles { folder_octets_max: 100, ..files(folder.path()) };
        let mut channel = begun(&files);
        for number in 0..4 {
            channel.write(record(number)).expect("it is taken");
        }
        until(|| finished(&files).len() == 2);
        channel.write([record(4), record(5)].concat()).expect("it is taken");
        let (written, lost, why) = counted(&mut channel, 7);
        assert_eq!((written, lost), (4, 2));
        assert!(why.expect("it is over").contains("may not have more"));
        for entry in fs::read_dir(&files.folder).expect("it is there").flatten() {
            fs::remove_file(entry.path()).expect("it is collected");
        }
        let mut channel = begun(&files);
        channel.write(record(6)).expect("it is taken");
        assert_eq!(counted(&mut channel, 1), (1, 0, None));
    }

    #[test]
    fn two_do_not_write_one_file_and_a_disk_without_room_keeps_whole_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = files(folder.path());
        let mut channel = begun(&files);
        channel.write(record(1)).expect("it is taken");
        counted(&mut channel, 1);
        let mut second = begun(&files);
        let (_, _, why) = counted(&mut second, 1);
        assert!(why.expect("it is over").contains("somebody else"));
        // `/dev/full` takes nothing.
        let file = OpenOptions::new().write(true).open("/dev/full").expect("it is there");
        let current = Current { file, octets: 0, begun: Instant::now(), is_dirty: false };
        let mut writer = Writer { files, current: Some(current), number: 0 };
        assert!(writer.append(&record(2)).is_err());
    }
}
