//! Where the site is that `tandem ctl` speaks to, and who speaks.
//!
//! ```text
//!   --url            that address, with --token (or TANDEM_TOKEN)
//!   --site FILE      the control socket that its directory names, else address and token there
//!   --site NAME      the control socket of the site of that name
//!   nothing          the one site that runs on this machine; of several one is asked for;
//!                    of none: http://127.0.0.1:8080
//! ```

use crate::cli::Ctl;
use crate::exit::Exit;
use crate::run::{ADDRESS, CONTROL};
use crate::site_text;
use driver::doorway::own_user;
use local::Found;
use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

const URL_DEFAULT: &str = "http://127.0.0.1:8080";
/// Octets of a token's file that are read.
const TOKEN_MAX: u64 = 4_096;

/// A way to a site's API.
#[derive(Debug)]
pub enum Target {
    /// HTTP, with a token.
    Api { url: String, token: Option<String> },
    /// A control socket, whose site knows the caller by the kernel; a token may take rights away.
    Socket { path: PathBuf, owner: Option<u32>, token: Option<String> },
}

impl Target {
    /// The site that the options and the environment name, or the one that runs.
    pub fn find(ctl: &Ctl) -> Result<Self, Exit> {
        let (url, token) = (ctl.url.clone(), ctl.token.clone());
        let named = ctl.site.as_deref();
        match (url, named) {
            (None, Some(site)) if !is_file(site) => {
                let running = local::sites();
                Self::named(&running, &site.to_string_lossy(), token)
            }
            (None, Some(file)) => Self::of_file(file, token),
            (url, Some(file)) if is_file(file) => {
                let (found_url, found_token) = of_site(file)?;
                Ok(Self::Api { url: url.unwrap_or(found_url), token: token.or(found_token) })
            }
            (Some(url), _) => Ok(Self::Api { url, token }),
            (None, None) => Self::running(&local::sites(), token),
        }
    }

    /// Without a question: for completion.
    pub fn quietly(ctl: &Ctl) -> Option<Self> {
        if ctl.url.is_some() || ctl.site.is_some() {
            return Self::find(ctl).ok();
        }
        let running = local::sites();
        let mut ours = running.iter().filter(|site| site.is_ours);
        match (ours.next(), ours.next()) {
            (Some(site), None) => Some(Self::socket(site, ctl.token.clone())),
            _ => None,
        }
    }

    /// A token goes to no other user's site: the socket answers by what the kernel says.
    fn socket(site: &Found, token: Option<String>) -> Self {
        let token = token.filter(|_| site.owner == 0 || site.owner == own_user());
        Self::Socket { path: site.path.clone(), owner: None, token }
    }

    fn named(running: &[Found], name: &str, token: Option<String>) -> Result<Self, Exit> {
        match running.iter().filter(|site| site.name == name).collect::<Vec<_>>()[..] {
            [site] if site.is_ours => Ok(Self::socket(site, token)),
            [site] => Err(foreign(site)),
            [] => Err(Exit::Unreachable(format!(
                "no site `{name}` runs on this machine; {}",
                listed(running)
            ))),
            _ => Err(Exit::Usage(format!("several sites are called `{name}`: name its file"))),
        }
    }

    /// The one that runs; of several the one that is chosen.
    fn running(running: &[Found], token: Option<String>) -> Result<Self, Exit> {
        let ours: Vec<&Found> = running.iter().filter(|site| site.is_ours).collect();
        match ours[..] {
            [site] => Ok(Self::socket(site, token)),
            [] => match running.first() {
                Some(site) if token.is_none() => Err(foreign(site)),
                _ => Ok(Self::Api { url: URL_DEFAULT.into(), token }),
            },
            _ => {
                if io::stdin().is_terminal() && io::stderr().is_terminal() {
                    return Ok(Self::socket(chosen(&ours)?, token));
                }
                Err(Exit::Usage(format!("{}: choose one by --site NAME", listed(running))))
            }
        }
    }

    fn of_file(file: &Path, token: Option<String>) -> Result<Self, Exit> {
        let site = site_text::mended(file)?;
        let directory = site.directory(file);
        let owner = std::fs::metadata(&directory).ok().map(|about| about.uid());
        let socket = std::fs::read_to_string(directory.join(CONTROL)).map(PathBuf::from);
        let is_its = |path: &Path| {
            let known = [Some(0), Some(own_user()), owner];
            local::trusted(path, owner).is_some_and(|user| known.contains(&Some(user)))
        };
        if let (None, Ok(path)) = (&token, socket)
            && is_its(&path)
            && local::connect(&path, owner).is_ok()
        {
            return Ok(Self::Socket { path, owner, token });
        }
        let (url, found) = of_site(file)?;
        Ok(Self::Api { url, token: token.or(found) })
    }
}

/// Whether it is a site file's path and no site's name.
fn is_file(site: &Path) -> bool {
    site.components().count() > 1
        || site.extension().is_some_and(|it| it == "toml")
        || site.exists()
}

fn foreign(site: &Found) -> Exit {
    let Found { name, owner, .. } = site;
    Exit::Unreachable(format!(
        "the site `{name}` is that of user {owner}: ask as this user or root"
    ))
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

/// Address and token of the site of a site file; the rest of it may be wrong, for who mends it
/// asks the site meanwhile.
fn of_site(file: &Path) -> Result<(String, Option<String>), Exit> {
    let site = site_text::mended(file)?;
    let directory = site.directory(file);
    let address = std::fs::read_to_string(directory.join(ADDRESS));
    let url = address.unwrap_or_else(|_| format!("http://{}", site.oam.listen));
    let url = url.trim().to_owned();
    let token = directory_token(&directory, &site.token_file(&directory), &url);
    Ok((url, token))
}

/// The token that a site keeps, if it may be sent to that address: the file is no link and, for
/// root, the directory owner's own, and nobody but root, this user or that owner listens at the
/// port. A site that is down leaves its port to whoever binds it first.
fn directory_token(directory: &Path, file: &Path, url: &str) -> Option<String> {
    let owner = std::fs::metadata(directory).ok()?.uid();
    let named = std::fs::symlink_metadata(file).ok().filter(std::fs::Metadata::is_file)?;
    let opened = File::open(file).ok()?;
    let about = opened.metadata().ok()?;
    let is_named = (named.dev(), named.ino()) == (about.dev(), about.ino());
    if !about.is_file() || !is_named || (own_user() == 0 && about.uid() != owner) {
        return None;
    }
    let port = url.rsplit(':').next()?.parse().ok()?;
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(std::fs::read_to_string);
    let users = tables.iter().flatten().flat_map(|table| listeners(table, port));
    let users: Vec<u32> = users.collect();
    let known = [0, own_user(), owner];
    if users.is_empty() || !users.iter().all(|user| known.contains(user)) {
        return None;
    }
    let mut token = String::new();
    opened.take(TOKEN_MAX).read_to_string(&mut token).ok()?;
    Some(token.trim().to_owned())
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

    fn found(name: &str, is_ours: bool) -> Found {
        let path = PathBuf::from(format!("/run/tandem/{name}.sock"));
        Found { name: name.into(), path, owner: 7, is_ours }
    }

    fn path(target: Result<Target, Exit>) -> String {
        match target {
            Ok(Target::Socket { path, .. }) => path.display().to_string(),
            Ok(Target::Api { url, .. }) => url,
            Err(Exit::Usage(text) | Exit::Unreachable(text)) => text,
            Err(other) => format!("{other:?}"),
        }
    }

    #[test]
    fn a_token_goes_only_where_its_owner_or_root_listens() {
        let rest = "00000000:00000000 00:00000000 00000000";
        let table = format!(
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n\
             0: 0100007F:1F90 00000000:0000 0A {rest}   997        0 1\n\
             1: 0100007F:1F91 0100007F:1F90 01 {rest}     5        0 2\n"
        );
        assert_eq!(listeners(&table, 8080), [997]);
        assert_eq!(listeners(&table, 8081), [] as [u32; 0]);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "secret\n").unwrap();
        let token =
            |port: u16| directory_token(folder.path(), &file, &format!("http://127.0.0.1:{port}"));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(token(port).as_deref(), Some("secret"));
        drop(listener);
        assert_eq!(token(port), None);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        assert_eq!(directory_token(folder.path(), &link, &url), None);
    }

    #[test]
    fn one_site_is_used_and_of_several_one_is_named() {
        let (a, b, other) = (found("a", true), found("b", true), found("c", false));
        let running = |sites: &[Found]| path(Target::running(sites, None));
        assert_eq!(running(&[]), URL_DEFAULT);
        assert_eq!(running(std::slice::from_ref(&a)), "/run/tandem/a.sock");
        assert_eq!(running(&[a.clone(), other.clone()]), "/run/tandem/a.sock");
        let all = [a, b, other];
        if !io::stdin().is_terminal() {
            let said = running(&all);
            assert_eq!(said, "these run: a, b, c (of user 7): choose one by --site NAME");
        }
        let named = |name: &str| path(Target::named(&all, name, None));
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
        assert!(!is_file(Path::new("edge-of-no-file")));
    }
}
