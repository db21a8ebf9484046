//! A site beside the scene's own: how it is started, and started again.

use crate::place::Place;
use report::site::Site;
use report::site_file::SiteFile;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// How a site is started.
pub(crate) struct Start {
    directory: PathBuf,
    text: String,
    api: SocketAddr,
}

impl Start {
    /// A site of that name in a directory of its own below the scene's; `write` adds its functions.
    pub(crate) fn beside(
        place: &Place,
        name: &str,
        write: impl FnOnce(SiteFile) -> String,
    ) -> anyhow::Result<Self> {
        let directory = place.directory.join(name);
        fs::create_dir(&directory)?;
        let api = peers::free_port([127, 0, 0, 1].into())?;
        let text = write(SiteFile::new(name, &directory, api));
        Ok(Self { directory, text, api })
    }

    /// The scene's own, which `tandem ctl` finds.
    pub(crate) fn own(
        place: &Place,
        name: &str,
        write: impl FnOnce(SiteFile) -> String,
    ) -> anyhow::Result<Self> {
        let api = place.address([127, 0, 0, 1], 8080)?;
        let directory = place.directory.clone();
        let text = write(SiteFile::new(name, &directory, api));
        Ok(Self { directory, text, api })
    }

    /// Starts it, and waits until it serves.
    pub(crate) fn start(&self, place: &Place) -> anyhow::Result<Site> {
        Site::start(&Site::spec(&place.tandem, &self.directory), &self.text, self.api)
    }

    /// A file of its directory.
    pub(crate) fn file(&self, name: impl AsRef<Path>) -> PathBuf {
        self.directory.join("var").join(name)
    }
}
