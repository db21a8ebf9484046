//! How processes share the program: each that has it listens at an abstract Unix address of the
//! network namespace, and gives descriptors of program, maps and links to processes of its own user
//! and of root. So they live as long as any of these processes, and no longer.

use super::{Link, Mode, Program, version};
use crate::unix_socket::{self, connect_abstract, own_user, receive_beside, send_raw};
use crate::{Interest, Poll};
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

/// Processes that share it at most.
const PROCESSES_MAX: usize = 16;
/// How long a process is waited for.
const ANSWER: Duration = Duration::from_secs(1);
/// How often two that begin at once try to be the first, and the pause in between; a try that does
/// not show whose the first is counts for several.
const TRIES: usize = 200;
const PAUSE: Duration = Duration::from_millis(10);
const TRIES_UNKNOWN: usize = 20;
/// Interface and version.
const QUESTION: usize = 12;
/// What the answer is, how the link stands, the number of the program.
const ANSWERED: usize = 10;

/// What an answer is.
const YES: u8 = 1;
const OTHER_USER: u8 = 2;
const OTHER_VERSION: u8 = 3;

fn name(what: impl std::fmt::Display) -> String {
    format!("tandem-xdp-{what}")
}

fn bind(what: impl std::fmt::Display) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(name(what))?)
}

/// Keeps other processes from making program or links while it lives. A name that stays taken, or
/// that another user takes, is not respected: it would let anybody hold us up.
pub(super) fn alone() -> io::Result<Option<UnixListener>> {
    let mut left = TRIES;
    while left > 0 {
        match bind("lock") {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            bound => return bound.map(Some),
        }
        left = left.saturating_sub(cost());
        if left > 0 {
            thread::sleep(PAUSE);
        }
    }
    Ok(None)
}

/// How many tries one counts for, by who keeps the others away.
fn cost() -> usize {
    let holder = connect_abstract(&name("lock")).and_then(|it| unix_socket::credentials(&it));
    match holder {
        Ok(holder) if is_own(holder.uid) => 1,
        Ok(_) => TRIES,
        Err(_) => TRIES_UNKNOWN,
    }
}

/// Whether a user is root or that of this process.
fn is_own(user: u32) -> bool {
    user == 0 || user == own_user()
}

/// What another process has.
#[derive(Debug)]
pub(super) struct Shared {
    pub id: [u8; 8],
    /// The program and its maps.
    pub all: Vec<OwnedFd>,
    /// Before the interface that was asked for.
    pub link: Option<Link>,
}

/// What the processes of this namespace have, with their link before an interface (0: none), and
/// why some that have it keep it.
pub(super) fn ask(interface: u32) -> (Vec<Shared>, Option<String>) {
    let (mut found, mut why) = (Vec::new(), None);
    for number in 0..PROCESSES_MAX {
        match ask_one(number, interface) {
            Ok(Ok(shared)) => found.push(shared),
            Ok(Err(words)) => why = Some(words),
            // Nobody, somebody else, or a process that has just ended.
            Err(_) => {}
        }
    }
    (found, why)
}

fn ask_one(number: usize, interface: u32) -> io::Result<Result<Shared, String>> {
    let stream = connect_abstract(&name(number))?;
    let peer = unix_socket::credentials(&stream)?;
    let pid = peer.pid;
    if !is_own(peer.uid) {
        return Ok(Err(format!("process {pid} of user {} may have a program there", peer.uid)));
    }
    let question = [&interface.to_ne_bytes()[..], &version()].concat();
    // Who is refused is answered before the question is read, and may be cut off.
    let _ = send_raw(&stream, &question, &[]);
    let mut poll = Poll::new()?;
    poll.add(&stream, 0, Interest::Read)?;
    poll.wait(Some(ANSWER))?;
    let (mut answer, mut all) = ([0; ANSWERED], Vec::new());
    if receive_beside(&stream, &mut answer, &mut all)? != ANSWERED {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let [what, mode, id @ ..] = answer;
    Ok(match what {
        YES => {
            let mode = Mode::numbered(mode);
            let fd = mode.and_then(|_| all.pop());
            Ok(Shared { id, all, link: fd.zip(mode).map(|(fd, mode)| Link::shared(fd, mode)) })
        }
        OTHER_USER => Err(format!(
            "process {pid} has a program of Tandem there and is of user {}: run both as one",
            peer.uid
        )),
        _ => Err(format!("process {pid} has a program of another version of Tandem: restart it")),
    })
}

/// Listens for other processes; `None` where so many share it already that no name is left.
pub(super) fn listen() -> Option<UnixListener> {
    (0..PROCESSES_MAX).find_map(|number| bind(number).ok())
}

/// Answers until the listener is shut.
pub(super) fn serve(listener: &UnixListener, program: &Weak<Program>) {
    loop {
        let came = listener.accept();
        let Some(program) = program.upgrade() else { return };
        match came {
            // Who asks and goes away needs no answer.
            Ok((stream, _)) => drop(answer(&stream, &program)),
            // No descriptor is left, for a while.
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

fn answer(stream: &UnixStream, program: &Arc<Program>) -> io::Result<()> {
    let user = unix_socket::credentials(stream)?.uid;
    let no = |what| send_raw(stream, &[[what, 0].as_slice(), &program.id].concat(), &[]).map(drop);
    // At once: a stranger who says nothing keeps nobody waiting.
    if !is_own(user) {
        return no(OTHER_USER);
    }
    let mut question = [0; QUESTION];
    // Others wait behind whoever asks.
    stream.set_read_timeout(Some(ANSWER / 4))?;
    (&*stream).read_exact(&mut question)?;
    let [a, b, c, d, theirs @ ..] = question;
    if theirs != version() {
        return no(OTHER_VERSION);
    }
    let link = program.link_of(u32::from_ne_bytes([a, b, c, d]));
    let mut raw: Vec<RawFd> = program.descriptors().map(|fd| fd.as_raw_fd()).collect();
    raw.extend(link.iter().map(|link| link.share()));
    let mode = link.as_ref().map_or(0, |link| link.mode as u8);
    send_raw(stream, &[[YES, mode].as_slice(), &program.id].concat(), &raw).map(drop)
}

#[cfg(test)]
mod tests {
    use super::super::Owner;
    use super::*;

    const NOBODY: libc::uid_t = 65_534;

    fn become_nobody() {
        // SAFETY: plain numbers; the kernel changes the user of this thread alone.
        let set = unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) };
        assert_eq!(set, 0);
    }

    fn answer_to(version: [u8; 8]) -> (u8, usize) {
        let stream = connect_abstract(&name(0)).unwrap();
        let question = [&0u32.to_ne_bytes()[..], &version].concat();
        let _ = send_raw(&stream, &question, &[]);
        let mut poll = Poll::new().unwrap();
        poll.add(&stream, 0, Interest::Read).unwrap();
        poll.wait(Some(10 * ANSWER)).unwrap();
        let (mut answer, mut all) = ([0; ANSWERED], Vec::new());
        assert_eq!(receive_beside(&stream, &mut answer, &mut all).unwrap(), ANSWERED);
        (answer[0], all.len())
    }

    #[test]
    fn descriptors_are_given_to_the_same_user_with_the_same_program_alone() {
        // SAFETY: a plain number; the kernel changes the namespace of this thread alone.
        let apart = unsafe { libc::unshare(libc::CLONE_NEWNET) };
        assert_eq!(apart, 0, "a namespace cannot be made: needs root");
        let owner = Owner::new().unwrap();
        let all = owner.program.descriptors().count();
        assert_eq!(answer_to(version()), (YES, all));
        assert_eq!(answer_to([7; 8]), (OTHER_VERSION, 0));
        let stranger = thread::spawn(|| {
            become_nobody();
            answer_to(version())
        });
        assert_eq!(stranger.join().unwrap(), (OTHER_USER, 0));
        let (found, why) = ask(0);
        assert_eq!((found.len(), found[0].id, why), (1, owner.program.id, None));
        drop((found, owner));
        assert!(ask(0).0.is_empty(), "nobody listens any more");
    }

    #[test]
    fn names_that_a_stranger_keeps_hold_nobody_up_for_good() {
        // SAFETY: as above.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNET) }, 0);
        let ours = bind("lock").unwrap();
        assert_eq!(cost(), 1, "a process of the same user is waited for");
        assert!(alone().unwrap().is_none());
        drop(ours);
        let stranger = thread::spawn(|| {
            become_nobody();
            bind("lock").unwrap()
        });
        let stranger = stranger.join().unwrap();
        assert_eq!(cost(), TRIES, "another user is not, not once");
        assert!(alone().unwrap().is_none());
        drop(stranger);
        assert_eq!(cost(), TRIES_UNKNOWN);
        assert!(alone().unwrap().is_some());
        let stranger = bind(0).unwrap();
        let others: Vec<_> = (0..10_000).map_while(|_| connect_abstract(&name(0)).ok()).collect();
        assert!(ask_one(0, 0).is_err() && ask(0).0.is_empty(), "after {} who wait", others.len());
        drop(stranger);
    }
}
