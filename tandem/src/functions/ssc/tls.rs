//! The files of a realm's TLS: where they are, and whether a port would take them.

use config::Issue;
use config::keys::{self, Unusable};
use media_stack::config::Tls as MediaTls;
use sip_stack::config::Tls;
use std::fs::File;
use std::path::Path;
use tcu_stack::config::Tls as LinkTls;
use tls::{Context, TlsFileError, TlsSpec};

/// Makes its paths those of the site's directory, whole: what is located stays where it is.
pub fn locate(tls: &mut Tls, directory: &Path) {
    let roots = tls.roots.as_mut();
    for name in [&mut tls.certificate, &mut tls.key].into_iter().chain(roots) {
        *name = located(directory, name);
    }
}

/// A path of the site's directory, whole.
pub fn located(directory: &Path, name: &str) -> String {
    let path = keys::located(directory, name);
    std::path::absolute(&path).unwrap_or(path).display().to_string()
}

/// What hinders connections to a media controller from taking these files.
pub fn unusable_media(tls: &MediaTls, directory: &Path) -> Vec<Issue> {
    let mut whole = tls.clone();
    let files = [("certificate", &tls.certificate), ("key", &tls.key), ("roots", &tls.roots)];
    let files = files.map(|(key, name)| (key, name.as_deref()));
    whole.files().for_each(|name| *name = located(directory, name));
    unusable_outward(&files, &whole.spec(), directory)
}

/// What hinders a link to a signalling gateway from taking these files.
pub fn unusable_link(tls: &LinkTls, directory: &Path) -> Vec<Issue> {
    let mut whole = tls.clone();
    let files = [("certificate", &tls.certificate), ("key", &tls.key), ("roots", &tls.roots)];
    let files = files.map(|(key, name)| (key, name.as_deref()));
    whole.files().for_each(|(_, name)| *name = located(directory, name));
    unusable_outward(&files, &whole.spec(), directory)
}

/// What hinders connections that are opened here from taking files; `whole` has them located.
fn unusable_outward(
    files: &[(&'static str, Option<&str>)],
    whole: &TlsSpec,
    directory: &Path,
) -> Vec<Issue> {
    let unread = files.iter().filter_map(|(key, name)| {
        let name = (*name)?;
        let error = File::open(keys::located(directory, name)).err()?;
        Some(Unusable::unread(directory, name, &error, "").issue(*key))
    });
    let unread: Vec<Issue> = unread.collect();
    if !unread.is_empty() {
        return unread;
    }
    let error = Context::load(whole, false).err();
    let hint = "give certificates and keys in PEM form";
    error.map(|error| Issue::new("roots", error.to_string(), hint)).into_iter().collect()
}

/// What hinders a port from taking these files; paths are relative to the section.
pub fn unusable(tls: &Tls, directory: &Path) -> Vec<Issue> {
    let files = [
        ("certificate", Some(&tls.certificate)),
        ("key", Some(&tls.key)),
        ("roots", tls.roots.as_ref()),
    ];
    let unread: Vec<Issue> = files
        .iter()
        .filter_map(|(key, name)| {
            let name = (*name)?;
            let error = File::open(keys::located(directory, name)).err()?;
            Some(Unusable::unread(directory, name, &error, "").issue(*key))
        })
        .collect();
    if !unread.is_empty() {
        return unread;
    }
    let mut located = tls.clone();
    locate(&mut located, directory);
    let Err(error) = Context::load(&located.spec(), true) else { return Vec::new() };
    let key = match &error {
        TlsFileError::File { path, .. } => {
            let is_it = |name: Option<&String>| name.is_some_and(|name| path == Path::new(name));
            let named = [("key", Some(&located.key)), ("roots", located.roots.as_ref())];
            named.into_iter().find(|(_, name)| is_it(*name)).map_or("certificate", |(key, _)| key)
        }
        TlsFileError::NoRoots => "verify_clients",
        _ => "key",
    };
    let hint = match key {
        "key" => "give the private key of the certificate, in PEM form, without a passphrase",
        "verify_clients" => "give `roots`",
        _ => "give certificates in PEM form",
    };
    vec![Issue::new(key, error.to_string(), hint)]
}
