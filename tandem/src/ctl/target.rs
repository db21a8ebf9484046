//! Where the site is that `tandem ctl` speaks to, and who speaks.
//!
//! ```text
//!   --url            that address, with --token (or TANDEM_TOKEN)
//!   --site FILE      the control socket that its directory names, else address and token there
//!   --site NAME      the control socket of the site of that name; `./NAME` is a file
//!   nothing          the one site that runs on this machine; of several one is asked for;
//!                    of none: http://127.0.0.1:8080, unless one runs whose socket is not believed
//! ```

use crate::cli::{Ctl, CtlCommand};
use crate::rights;
use crate::run::{ADDRESS, CONTROL};
use crate::site_text;
use client::{Client, Exit, Output, Target, URL_DEFAULT, output};
use config::Links;
use driver::unix_socket::own_user;
use local::Found;
use std::io::{self, IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Octets of a file of a site's directory that is read: a token, an address, a path.
const SHORT_MAX: usize = 4_096;
/// Seconds that an answer is waited for, unless told.
const TIMEOUT_S: u64 = 30;

/// The client of the site that the options, the environment or a site file name.
///
/// # Errors
/// There is none, there are several, or it is another user's.
pub fn client_of(ctl: &Ctl) -> Result<Client, Exit> {
    Ok(Client::of(find(ctl)?, ctl.timeout))
}

/// The client of the site that runs the site file `file`.
///
/// # Errors
/// As [`client_of`].
pub fn client_of_file(file: &Path) -> Result<Client, Exit> {
    let site = Some(file.to_owned());
    let (url, token, output) = (None, None, Output::Table);
    let (timeout, command) = (TIMEOUT_S, CtlCommand::Site);
    client_of(&Ctl { url, token, site, output, timeout, command })
}

/// Of several sites that run, and none of them named, the one that is chosen: who waits asks once.
///
/// # Errors
/// There is nobody to ask.
pub fn chosen_of_several(ctl: &Ctl) -> Result<Option<Client>, Exit> {
    let running = local::sites();
    if running.iter().filter(|site| site.is_ours).count() < 2 {
        return Ok(None);
    }
    let target = one_that_runs(&running, ctl.token.clone())?;
    Ok(Some(Client::of(target, ctl.timeout)))
}

/// The site that the options and the environment name, or the one that runs.
fn find(ctl: &Ctl) -> Result<Target, Exit> {
    let (url, token) = (ctl.url.clone(), ctl.token.clone());
    let named = ctl.site.as_deref();
    match (url, named) {
        (None, Some(site)) if !is_file(site) => {
            let name = site.to_string_lossy();
            let doubted = || local::doubted().into_iter().find(|(of, _)| *of == name);
            match site_named(&local::sites(), &name, token) {
                Err(Exit::Unreachable(text)) => {
                    Err(Exit::Unreachable(doubted().map_or(text, |(_, why)| why)))
                }
                found => found,
            }
        }
        (None, Some(file)) => match site_of_file(file, token)? {
            Target::Api { .. } if site_text::is_free(&Place::of(file)?.directory) => {
                Err(Exit::Unreachable(format!(
                    "the site of {} does not run: what `tandem run` said last tells why",
                    file.display()
                )))
            }
            found => Ok(found),
        },
        (Some(url), Some(file)) if is_file(file) => {
            let place = Place::of(file)?;
            Ok(Target::Api { url, token: token.or_else(|| place.token()) })
        }
        (Some(url), _) => Ok(Target::Api { url, token }),
        (None, None) => match one_that_runs(&local::sites(), token)? {
            Target::Nobody { token } => unbelieved(&local::doubted(), token),
            found => Ok(found),
        },
    }
}

/// Without a question: for completion.
pub fn quietly(ctl: &Ctl) -> Option<Target> {
    if ctl.url.is_some() || ctl.site.is_some() {
        return find(ctl).ok();
    }
    let running = local::sites();
    let mut ours = running.iter().filter(|site| site.is_ours);
    match (ours.next(), ours.next()) {
        (Some(site), None) => Some(socket_of(site, ctl.token.clone())),
        _ => None,
    }
}

/// A token goes to no other user's site: the socket answers by what the kernel says.
fn socket_of(site: &Found, token: Option<String>) -> Target {
    let token = token.filter(|_| is_close(site.owner));
    Target::Socket { path: site.path.clone(), owner: Some(site.owner), token }
}

fn site_named(running: &[Found], name: &str, token: Option<String>) -> Result<Target, Exit> {
    match running.iter().filter(|site| site.name == name).collect::<Vec<_>>()[..] {
        [site] if site.is_ours => Ok(socket_of(site, token)),
        [site] => Err(foreign(site)),
        [] => Err(Exit::Unreachable(format!(
            "no site `{name}` runs on this machine; {}",
            listed(running)
        ))),
        _ => Err(Exit::Usage(format!("several sites are called `{name}`: name its file"))),
    }
}

/// The one that runs; of several the one that is chosen.
fn one_that_runs(running: &[Found], token: Option<String>) -> Result<Target, Exit> {
    let ours: Vec<&Found> = running.iter().filter(|site| site.is_ours).collect();
    match ours[..] {
        [site] => Ok(socket_of(site, token)),
        [] => match running.first() {
            Some(site) if token.is_none() => Err(foreign(site)),
            _ => Ok(Target::Nobody { token }),
        },
        _ => {
            if io::stdin().is_terminal() && io::stderr().is_terminal() {
                return Ok(socket_of(chosen(&ours)?, token));
            }
            Err(Exit::Usage(format!("{}: choose one by --site NAME", listed(running))))
        }
    }
}

fn site_of_file(file: &Path, token: Option<String>) -> Result<Target, Exit> {
    let place = Place::of(file)?;
    let token = token.filter(|_| place.owner.is_some_and(is_close));
    if let Some(path) = place.socket() {
        return Ok(Target::Socket { path, owner: place.owner, token });
    }
    let token = token.filter(|_| place.is_heard_by_its_own());
    Ok(Target::Api { token: token.or_else(|| place.token()), url: place.url })
}

/// Whether a user is root or this one: a token goes to no other user's site.
fn is_close(user: u32) -> bool {
    user == 0 || user == own_user()
}

/// Whether it is a site file's path and no site's name, whatever the folder holds that the command
/// is called in.
fn is_file(site: &Path) -> bool {
    site.components().count() > 1 || site.extension().is_some_and(|it| it == "toml")
}

fn foreign(site: &Found) -> Exit {
    let Found { name, owner, .. } = site;
    Exit::Unreachable(format!(
        "the site `{name}` is of user {owner}: ask as this user or root, or with a token at its \
         address (--url, --token)"
    ))
}

/// What is left where no site is found that may be asked: the default address, or without a token
/// what hinders. Who gave a token is told of it.
fn unbelieved(doubted: &[(String, String)], token: Option<String>) -> Result<Target, Exit> {
    match doubted {
        [(_, why), ..] if token.is_none() => Err(Exit::Unreachable(why.clone())),
        _ => {
            let passed_over = doubted.iter().map(|(_, why)| why);
            passed_over.for_each(|why| output::complaint(&format!("{why}; asking {URL_DEFAULT}")));
            Ok(Target::Nobody { token })
        }
    }
}

fn listed(running: &[Found]) -> String {
    if running.is_empty() {
        return "none runs".into();
    }
    let word = |site: &Found| match site.is_ours {
        true => site.name.clone(),
        false => format!("{} (of user {})", site.name, site.owner),
    };
    format!("these run: {}", running.iter().map(word).collect::<Vec<_>>().join(", "))
}

/// Asks on the terminal.
fn chosen<'a>(sites: &[&'a Found]) -> Result<&'a Found, Exit> {
    let mut errors = io::stderr();
    for (number, site) in sites.iter().enumerate() {
        writeln!(errors, "{:>3}  {}", number + 1, show::escaped(&site.name))?;
    }
    write!(errors, "which site (--site NAME, TANDEM_SITE)? ")?;
    errors.flush()?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    let line = line.trim();
    let number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let found = number.and_then(|number| sites.get(number));
    let found = found.or_else(|| sites.iter().find(|site| site.name == line));
    found.copied().ok_or_else(|| Exit::Usage("none of them was chosen".into()))
}

/// What a site file and the site's directory say of the way to the site; the rest of the file may
/// be wrong, for who mends it asks the site meanwhile.
struct Place {
    directory: PathBuf,
    /// Whose the site is: who decides what its directory holds. `None`: there is none.
    owner: Option<u32>,
    url: String,
    token_file: PathBuf,
}

impl Place {
    fn of(file: &Path) -> Result<Self, Exit> {
        let site = site_text::corrected(file)?;
        let directory = site.directory(file);
        let mut owner = std::fs::metadata(&directory).ok().map(|about| about.uid());
        if own_user() == 0 && owner.is_some() {
            // Whoever wrote the file could name another's directory.
            owner = Some(rights::owner(file, &directory)?);
        }
        let token_file = site.token_file(&directory);
        let address = read(&directory.join(ADDRESS)).map(|(text, _)| text.trim().to_owned());
        let url = address.unwrap_or_else(|| format!("http://{}", site.oam.listen));
        Ok(Self { directory, owner, url, token_file })
    }

    /// The control socket that the directory names, if its owner listens there.
    fn socket(&self) -> Option<PathBuf> {
        let path = PathBuf::from(read(&self.directory.join(CONTROL))?.0);
        local::connect(&path, Some(self.owner?)).is_ok().then_some(path)
    }

    /// The token that the site keeps, if it is the owner's own, and the address is.
    fn token(&self) -> Option<String> {
        let (token, user) = read(&self.token_file)?;
        let may_go = Some(user) == self.owner && self.is_heard_by_its_own();
        may_go.then(|| token.trim().to_owned())
    }

    /// Whether the address is one of this machine alone, and nobody but root, this user or the
    /// owner listens at its port: a site that is down leaves it to whoever binds it first.
    fn is_heard_by_its_own(&self) -> bool {
        let address = self.url.strip_prefix("http://").map(str::parse::<SocketAddr>);
        let Some(Ok(address)) = address else { return false };
        let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(std::fs::read_to_string);
        let tables = tables.iter().flatten();
        let users: Vec<u32> = tables.flat_map(|table| listeners(table, address.port())).collect();
        let is_known = |user: &u32| is_close(*user) || Some(*user) == self.owner;
        let is_here = address.ip().is_loopback() || address.ip().is_unspecified();
        is_here && !users.is_empty() && users.iter().all(is_known)
    }
}

/// A short file of a site's directory, and whose it is; no link.
fn read(file: &Path) -> Option<(String, u32)> {
    let (text, about) = config::read_regular(file, SHORT_MAX, Links::Refused).ok()?;
    Some((text, about.uid()))
}

/// The users of the sockets that listen at a port, by a table of the kernel (proc(5), `net/tcp`).
fn listeners(table: &str, port: u16) -> Vec<u32> {
    const LISTEN: &str = "0A";
    let row = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let (local, _, state) = (words.next()?, words.next()?, words.next()?);
        let (_, at) = local.rsplit_once(':')?;
        let is_it = state == LISTEN && u16::from_str_radix(at, 16).ok()? == port;
        let user = words.nth(3)?.parse().ok()?;
        is_it.then_some(user)
    };
    table.lines().skip(1).filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::fs::{chown, symlink};
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    const STRANGER: u32 = 4_242;

    fn found(name: &str, is_ours: bool) -> Found {
        let path = PathBuf::from(format!("/run/tandem/{name}.sock"));
        Found { name: name.into(), path, owner: 7, is_ours }
    }

    fn path(target: Result<Target, Exit>) -> String {
        match target {
            Ok(Target::Socket { path, .. }) => path.display().to_string(),
            Ok(Target::Api { url, .. }) => url,
            Ok(Target::Nobody { .. }) => URL_DEFAULT.into(),
            Err(Exit::Usage(text) | Exit::Unreachable(text)) => text,
            Err(other) => format!("{other:?}"),
        }
    }

    #[test]
    fn listeners_are_known_by_their_users() {
        let rest = "00000000:00000000 00:00000000 00000000";
        let table = format!(
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n\
             0: 0100007F:1F90 00000000:0000 0A {rest}   997        0 1\n\
             1: 0100007F:1F91 0100007F:1F90 01 {rest}     5        0 2\n"
        );
        assert_eq!(listeners(&table, 8080), [997]);
        assert_eq!(listeners(&table, 8081), [] as [u32; 0]);
    }

    /// A folder with a site file and the site's directory `var` in it, which are `user`'s if root
    /// makes them.
    fn site(user: u32, oam: &str) -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let (file, var) = (folder.path().join("site.toml"), folder.path().join("var"));
        std::fs::create_dir(&var).unwrap();
        let text = format!("[site]\nname = \"edge\"\ndirectory = \"var\"\n\n[oam]\n{oam}");
        std::fs::write(&file, text).unwrap();
        if own_user() == 0 {
            for path in [folder.path(), file.as_path(), var.as_path()] {
                chown(path, Some(user), None).unwrap();
            }
        }
        (folder, file, var)
    }

    fn listener() -> (TcpListener, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        (listener, url)
    }

    /// Where a command goes, and with which token.
    fn way(file: &Path, token: Option<&str>) -> (bool, Option<String>) {
        match site_of_file(file, token.map(str::to_owned)).unwrap() {
            Target::Api { token, .. } | Target::Nobody { token } => (false, token),
            Target::Socket { token, .. } => (true, token),
        }
    }

    #[test]
    fn a_token_goes_only_to_this_machine_and_where_a_site_s_own_listen() {
        let (_folder, file, var) = site(own_user(), "listen = \"192.0.2.1:80\"\n");
        std::fs::write(var.join("token"), "secret\n").unwrap();
        let (held, url) = listener();
        for elsewhere in [url.replace("127.0.0.1", "192.0.2.1"), url.replace("//", "//x@")] {
            std::fs::write(var.join(ADDRESS), elsewhere).unwrap();
            assert_eq!((way(&file, None), way(&file, Some("x"))), ((false, None), (false, None)));
        }
        std::fs::write(var.join(ADDRESS), url).unwrap();
        assert_eq!(way(&file, None), (false, Some("secret".into())));
        assert_eq!(way(&file, Some("x")), (false, Some("x".into())));
        drop(held);
        assert_eq!(way(&file, Some("x")), (false, None), "nobody listens");
    }

    #[test]
    fn a_token_of_somebody_else_s_directory_is_not_read_and_a_given_one_not_sent_there() {
        if own_user() != 0 {
            return; // files are given away by root alone
        }
        let (held, url) = listener();
        let (folder, file, var) = site(STRANGER, "token_file = \"/none\"\n");
        let own = folder.path().join("own");
        std::fs::write(&own, "secret").unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let text = text.replace("/none", own.to_str().unwrap());
        std::fs::write(&file, text).unwrap();
        std::fs::write(var.join(ADDRESS), url).unwrap();
        assert_eq!(way(&file, None), (false, None), "it is not the directory's owner's");
        assert_eq!(way(&file, Some("x")), (false, None));
        chown(&own, Some(STRANGER), None).unwrap();
        assert_eq!(way(&file, None), (false, Some("secret".into())));
        drop(held);
    }

    #[test]
    fn a_stranger_s_site_leads_to_no_socket_but_his_own() {
        let (_folder, file, var) = site(own_user(), "listen = \"127.0.0.1:1\"\n");
        let path = var.join("edge.sock");
        let _listener = UnixListener::bind(&path).unwrap();
        std::fs::write(var.join(CONTROL), path.to_str().unwrap()).unwrap();
        assert_eq!(way(&file, None), (true, None));
        assert_eq!(way(&file, Some("x")), (true, Some("x".into())));
        if own_user() != 0 {
            return; // files are given away by root alone
        }
        // His directory names the socket of root, or his file the directory.
        let (_his_folder, his, his_var) = site(STRANGER, "listen = \"127.0.0.1:1\"\n");
        std::fs::write(his_var.join(CONTROL), path.to_str().unwrap()).unwrap();
        assert_eq!(way(&his, None), (false, None));
        let text = std::fs::read_to_string(&his).unwrap();
        std::fs::write(&his, text.replace("\"var\"", &format!("{var:?}"))).unwrap();
        assert_eq!(way(&his, None), (false, None));
        // Nor does his file of a third user's directory.
        chown(&var, Some(STRANGER + 1), None).unwrap();
        assert!(matches!(site_of_file(&his, None), Err(Exit::Failed(_))));
    }

    #[test]
    fn a_fifo_or_an_endless_file_keeps_nobody_waiting() {
        let (folder, file, var) = site(own_user(), "listen = \"127.0.0.1:1\"\n");
        let fifo = folder.path().join("fifo");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        for target in [fifo.as_path(), Path::new("/dev/zero")] {
            for place in [ADDRESS, CONTROL, "token"].map(|name| var.join(name)) {
                symlink(target, &place).unwrap();
                assert_eq!(way(&file, None), (false, None));
                std::fs::remove_file(&place).unwrap();
            }
            std::fs::remove_file(&file).unwrap();
            symlink(target, &file).unwrap();
            assert!(matches!(site_of_file(&file, None), Err(Exit::Invalid(_))));
            std::fs::remove_file(&file).unwrap();
            std::fs::write(&file, "[site]\nname = \"edge\"\ndirectory = \"var\"\n").unwrap();
        }
        for place in [ADDRESS, CONTROL, "token"].map(|name| var.join(name)) {
            std::fs::rename(&fifo, &place).unwrap();
            assert_eq!(way(&file, None), (false, None));
            std::fs::rename(&place, &fifo).unwrap();
        }
    }

    #[test]
    fn one_site_is_used_and_of_several_one_is_named() {
        let (a, b, other) = (found("a", true), found("b", true), found("c", false));
        let running = |sites: &[Found]| path(one_that_runs(sites, None));
        assert_eq!(running(&[]), URL_DEFAULT);
        assert_eq!(running(std::slice::from_ref(&a)), "/run/tandem/a.sock");
        assert_eq!(running(&[a.clone(), other.clone()]), "/run/tandem/a.sock");
        let all = [a, b, other];
        if !io::stdin().is_terminal() {
            let said = running(&all);
            assert_eq!(said, "these run: a, b, c (of user 7): choose one by --site NAME");
        }
        let named = |name: &str| path(site_named(&all, name, None));
        assert_eq!(named("b"), "/run/tandem/b.sock");
        assert!(named("c").contains("of user 7"), "{}", named("c"));
        assert!(named("d").contains("these run: a, b"), "{}", named("d"));
        assert!(running(&all[2..]).contains("of user 7"), "{}", running(&all[2..]));
    }

    #[test]
    fn a_path_is_a_site_file_and_a_bare_word_a_name() {
        for file in ["site.toml", "/etc/tandem/site.toml", "./edge", "etc/edge"] {
            assert!(is_file(Path::new(file)), "{file}");
        }
        assert!(!is_file(Path::new("edge")));
        assert!(Path::new("src").exists() && !is_file(Path::new("src")), "a file is no name");
    }
}
