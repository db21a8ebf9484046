//! Whether this machine would let a site bind its addresses and read its keys.

use crate::functions::Section;
use crate::site::Site;
use config::keys;
use config::{Issue, ListenAddress, Site as _};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;

/// Everything that hinders; `directory` is the site's, `own` are addresses that the running site
/// holds itself.
pub fn probe(site: &Site, directory: &Path, own: &[ListenAddress]) -> Vec<Issue> {
    hindrances(site, directory, |listen_address| {
        if own.iter().any(|held| held.conflicts(listen_address)) {
            Ok(())
        } else {
            listen_address.try_bind()
        }
    })
}

/// The same but for ports, which the site holds itself: it runs.
pub fn probe_beside(site: &Site, directory: &Path) -> Vec<Issue> {
    hindrances(site, directory, |listen_address| {
        let any = SocketAddr::new(listen_address.address.ip(), 0);
        ListenAddress { address: any, ..listen_address.clone() }.try_bind()
    })
}

fn hindrances(
    site: &Site,
    directory: &Path,
    bind: impl Fn(&ListenAddress) -> Result<(), Issue>,
) -> Vec<Issue> {
    let addresses = site.listen_addresses();
    // An address of the active node of a pair is bound ahead of its coming.
    let sections = site.sections();
    let is_ahead = |listen_address: &&ListenAddress| {
        sections.iter().any(|it| it.inner.head().awaits(listen_address.address.ip()))
    };
    let others = addresses.iter().filter(|listen_address| !is_ahead(listen_address));
    let mut issues: Vec<Issue> =
        others.filter_map(|listen_address| bind(listen_address).err()).collect();
    // An address that lacks is said once, not for each of its ports.
    let mut said = BTreeSet::new();
    issues.retain(|issue| said.insert(issue.what.clone()));
    for Section { path, inner, .. } in &sections {
        issues.extend(missing_cores(inner.head().cores).map(|issue| issue.under(path)));
        let unusable = inner.unusable(directory).into_iter();
        issues.extend(unusable.map(|issue| issue.under(path)));
    }
    issues.extend(crate::transcoder::hindrances(site));
    // The keeper makes its own.
    let drawn = site.pool.as_ref().filter(|pool| pool.keeper.is_some());
    let secret = drawn.and_then(|pool| keys::text(directory, &pool.secret_file).err());
    issues.extend(secret.map(|unusable| unusable.issue("pool.secret_file")));
    if let Some(name) = &site.oam.token_file
        && keys::is_misplaced(directory, name)
    {
        let folder = directory.display();
        let what = format!("{} is not there", directory.join(name).display());
        let hint = format!(
            "paths are relative to the site's directory, {folder}, not to where tandem is started: \
             move it there, or write its whole path"
        );
        issues.push(Issue::new("oam.token_file", what, hint));
    }
    let arbiter = site.arbiter.iter().flat_map(|arbiter| arbiter.unreadable(directory));
    issues.extend(arbiter.map(|issue| issue.under("arbiter")));
    issues
}

/// The cores that a thread of this process cannot be pinned to.
fn missing_cores(cores: &[usize]) -> impl Iterator<Item = Issue> {
    cores.iter().enumerate().filter_map(|(n, &core)| {
        // Pinned in a thread of its own, which ends with its core.
        let pinned = thread::spawn(move || driver::pin(core)).join();
        if matches!(pinned, Ok(Ok(()))) {
            return None;
        }
        let there = driver::cores().iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let what = format!("this machine has no core {core}, or not for this process");
        Some(Issue::new(format!("cores[{n}]"), what, format!("there are: {there}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_lacks_is_said_once() {
        let text = r#"
[site]
name = "s"
directory = "var"
[[ssc]]
name = "a"
[[ssc.realm]]
name = "x"
side = "access"
listen = ["udp:192.0.2.1:5060", "tcp:192.0.2.1:5060"]
"#;
        let site: Site = config::read(text).unwrap();
        let lacks: Vec<Issue> = probe(&site, Path::new("/nowhere"), &[])
            .into_iter()
            .filter(|issue| issue.what.contains("no interface"))
            .collect();
        assert_eq!(lacks.len(), 1, "{lacks:?}");
        assert_eq!(lacks[0].path, "ssc[0].realm[0].listen[0]");
    }
}
