//! The rights of the process: which user it is, what it may do as that user, and which system calls
//! the kernel refuses to it. All are settled before the first thread is started and before anything
//! is opened.

use crate::site::{REVISIONS, Site, SiteSection, TOKENS};
use crate::site_text;
use client::Exit;
use config::keys::quoted;
use config::{Issue, Links};
use driver::privilege::{self, Account, Rights};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What becomes of the capabilities once everything is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Capabilities {
    /// Those of docs/security.md stay: the running site opens other ports below 1024, and a pair
    /// takes its addresses.
    #[default]
    Keep,
    /// None stays. A change that needs one is refused until the site is restarted.
    Drop,
}

/// Keys that cannot be meant together.
pub fn validate(site: &Site, issues: &mut Vec<Issue>) {
    if site.site.capabilities == Capabilities::Keep {
        return;
    }
    let mut refuse =
        |what: &str, hint: &str| issues.push(Issue::new("site.capabilities", what, hint));
    if site.site.user.is_none() {
        refuse("root cannot drop what root has", "give `user` as well");
    }
    if has_programs(site) {
        let what = "a router's forwarder is started with the capabilities of this process";
        refuse(what, "leave it out, or keep routers in a site of their own");
    }
    if site.sections().iter().any(|section| section.inner.head().takes_addresses()) {
        let what = "a pair takes its addresses with CAP_NET_ADMIN when the other node fails";
        refuse(what, "leave it out, or let the network move the addresses");
    }
}

/// Becomes the user of the site, makes its directory, and gives up what no site needs. No thread
/// but this one has been started.
pub fn settle(file: &Path, text: &str, site: &Site, directory: &Path) -> Result<(), Exit> {
    let failed = |what: &str, error: std::io::Error| Exit::Failed(format!("{what}: {error}"));
    let folder = directory.display().to_string();
    match account(file, &site.site) {
        Err(issue) => return site_text::refuse(file, text, vec![issue]),
        Ok(None) => {}
        Ok(Some(account)) => {
            account.make_folder(directory).map_err(|error| failed(&folder, error))?;
            // Without it `tandem ctl` does not find the site by itself; the log says so then.
            let _ = local::prepare(&account);
            become_it(&account, site)?;
        }
    }
    std::fs::create_dir_all(directory).map_err(|error| failed(&folder, error))
}

fn become_it(account: &Account, site: &Site) -> Result<(), Exit> {
    let rights = match site.site.capabilities {
        Capabilities::Drop => Rights::UntilGivenUp,
        Capabilities::Keep if !has_programs(site) => Rights::Kept,
        Capabilities::Keep => Rights::Inherited,
    };
    let done = account.become_it(rights);
    done.map_err(|error| Exit::Failed(format!("site.user: {error}")))
}

/// Becomes the user of the site as [`settle`] does, and makes nothing: everything that is looked at
/// from now on is seen with its eyes. Whether this process would make the site's directory (`None`:
/// it checks for another user), or why it may not look at anything that the file names: root opens
/// nothing for a file that it does not obey.
pub fn assume(
    file: &Path,
    site: &Site,
    directory: &Path,
) -> Result<Result<Option<bool>, Issue>, Exit> {
    let is_root = privilege::is_root();
    let makes = is_root && privilege::owners(directory).is_ok_and(|owners| owners.is_empty());
    match account(file, &site.site) {
        // Who checks a file for root cannot become its user, and need not.
        Err(_) if !is_root && knows_user(&site.site) => return Ok(Ok(None)),
        Err(issue) => return Ok(Err(issue)),
        Ok(None) => {}
        Ok(Some(account)) => become_it(&account, site)?,
    }
    Ok(Ok(Some(makes)))
}

/// What hinders a start as the user that this process is now; `makes`: a directory that is not
/// there would be made before.
pub fn rehearse(site: &Site, directory: &Path, makes: bool) -> Vec<Issue> {
    let mut issues = Vec::new();
    let mut refuse = |path: &Path, how: &str| {
        let (user, word, path) = (privilege::acting(), quoted(path), path.display());
        let what = format!("{path} cannot be {how} by {user}, who runs the site");
        issues.push(Issue::new("site.directory", what, format!("chown -R {user} {word}")));
    };
    if !directory.exists() {
        let mut above = directory.ancestors().skip(1).map(named);
        if let Some(above) = above.find(|folder| folder.exists())
            && !makes
            && !privilege::may_write(&above)
        {
            refuse(directory, "made");
        }
        return issues;
    }
    if !privilege::may_write(directory) {
        refuse(directory, "written");
        return issues;
    }
    let written = [site_text::LOCK, TOKENS, REVISIONS].map(|name| directory.join(name));
    for path in written.iter().filter(|path| path.exists() && !privilege::may_write(path)) {
        refuse(path, "written");
    }
    let token = site.token_file(directory);
    if token.exists() && config::open_regular(&token, Links::Followed).is_err() {
        refuse(&token, "read");
    }
    issues
}

/// A folder as it is named; the empty path is the one in which the program was started.
fn named(folder: &Path) -> PathBuf {
    if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_owned() }
}

fn knows_user(site: &SiteSection) -> bool {
    site.user.as_ref().is_some_and(|name| Account::named(name).is_ok_and(|found| found.is_some()))
}

/// What root does for a site, it does as the user that its files belong to: whoever may write them
/// could lead root elsewhere. For commands that start nothing.
pub fn act_as_owner(file: &Path, directory: &Path) -> Result<(), Exit> {
    if !privilege::is_root() {
        return Ok(());
    }
    let uid = owner(file, directory)?;
    if uid == 0 {
        return Ok(());
    }
    let found = privilege::Account::numbered(uid)?;
    let nobody = || Exit::Failed(format!("the site belongs to user {uid}, who has no account"));
    Ok(found.ok_or_else(nobody)?.act_as()?)
}

/// The user who alone, but for root, decides what a site file and the site's directory hold; root
/// where nobody else does.
pub fn owner(file: &Path, directory: &Path) -> Result<u32, Exit> {
    let mut owners = privilege::owners(file)?;
    owners.extend(privilege::owners(directory)?);
    let mut owners = owners.into_iter();
    let uid = owners.next().unwrap_or(0);
    match owners.next() {
        None => Ok(uid),
        Some(other) => {
            let what = format!("site file and directory belong to the users {uid} and {other}");
            Err(Exit::Failed(format!("{what}: give both to one of them, or to root")))
        }
    }
}

/// Keys that decide what the process may do at its next start. Who may commit may not change them,
/// or it could have root's rights back.
pub fn changed(old: &SiteSection, new: &SiteSection) -> Vec<Issue> {
    let keys = [
        ("user", old.user != new.user),
        ("capabilities", old.capabilities != new.capabilities),
        ("filter_system_calls", old.filter_system_calls != new.filter_system_calls),
        ("core_dumps", old.core_dumps != new.core_dumps),
    ];
    let issue = |key| {
        let what = "what the process may do is not changed by a commit";
        Issue::new(format!("site.{key}"), what, "write it into the site file and restart the site")
    };
    keys.into_iter().filter(|it| it.1).map(|(key, _)| issue(key)).collect()
}

/// Says what others may read in this process's memory, and what the kernel refuses to it.
pub fn confine(site: &Site) -> Vec<String> {
    let mut weak = Vec::new();
    if let Err(error) = privilege::keep_memory(site.site.core_dumps) {
        weak.push(format!("keys may leave by a core file or a debugger: {error}"));
    }
    if site.site.filter_system_calls
        && let Err(error) = privilege::refuse_calls(has_programs(site))
    {
        weak.push(format!("no system call is refused: {error}"));
    }
    weak
}

/// Whether the kernel lets this process start programs: a router's forwarder.
pub fn starts_programs(site: &Site) -> bool {
    has_programs(site) || !site.site.filter_system_calls
}

/// Whether a function of the site starts programs.
fn has_programs(site: &Site) -> bool {
    site.sections().iter().any(|section| section.inner.starts_programs())
}

/// Everything is open: gives up the capabilities where the site says so.
pub fn give_up(site: &SiteSection) -> Result<(), Exit> {
    if site.capabilities == Capabilities::Keep {
        return Ok(());
    }
    privilege::give_up().map_err(|error| {
        let what = "the process was started with capabilities that it cannot drop";
        Exit::Failed(format!("site.capabilities: {what}: start it as root ({error})"))
    })
}

/// The user to become; none if the process shall stay who it is. Root obeys no file that another
/// may write: it becomes that user.
pub fn account(file: &Path, site: &SiteSection) -> Result<Option<Account>, Issue> {
    let issue = |what: String, hint: &str| Issue::new("site.user", what, hint);
    let unknown = |error: std::io::Error| issue(error.to_string(), "");
    let is_root = privilege::is_root();
    let mut owners = if is_root { privilege::owners(file).map_err(unknown)? } else { [].into() };
    let found = match (&site.user, owners.first()) {
        (Some(name), _) => Account::named(name).map_err(unknown)?.ok_or_else(|| {
            let hint = format!("adduser --system --group {}", quoted(Path::new(name)));
            issue(format!("this machine has no user `{name}`"), &hint)
        })?,
        (None, Some(&uid)) => Account::numbered(uid).map_err(unknown)?.ok_or_else(|| {
            let what = format!("root does not obey a file of user {uid}, who has no account");
            let word = quoted(file);
            issue(what, &format!("chown root {word}, or give it to the site's user"))
        })?,
        (None, None) => return Ok(None),
    };
    if found.is_root() {
        let what = format!("`{}` is root", site.user.as_deref().unwrap_or_default());
        return Err(issue(what, "name a user of its own"));
    }
    owners.remove(&found.uid());
    if let Some(other) = owners.first() {
        let what = format!("user {other} may write this file or a folder on the way to it");
        return Err(issue(what, "chown both to root or to the site's user"));
    }
    if found.is_own() {
        return Ok(None);
    }
    if !is_root {
        let what = format!("only root may become `{}`", site.user.as_deref().unwrap_or_default());
        return Err(issue(what, "start it as root or as this user"));
    }
    Ok(Some(found))
}

/// Whether the process acts as root, or would: without `user`, and with a file that is root's
/// alone.
pub fn stays_root(file: &Path, site: &SiteSection) -> bool {
    privilege::is_root()
        && site.user.is_none()
        && privilege::owners(file).map_or(true, |owners| owners.is_empty())
}
