//! The reference of the site file in Markdown, from the doc comments of the configuration types,
//! that of the metrics, and the API's description.

use crate::functions::functions;
use crate::site::Site;
use client::Exit;
use std::io::{self, Write as _};
use std::path::Path;

const HEAD: &str = "# The site file

One TOML file describes a site. `tandem check` refuses what does not fit, with line, column and the
hint; `tandem ctl config` changes a running site. Made by `tandem reference`; a test keeps it so.

## Paths

Every relative path in a site file is one of the site's directory, wherever tandem is started.

| path | relative to |
|---|---|
| `directory` of `[site]` | the folder of the site file |
| `key_file`, `capture_key_file`, `auth_key_file`, `secret_file`, `password_file`, `token_file` \
| `directory` of `[site]` |
| `certificate`, `key`, `roots` of `[ssc.realm.tls]` | `directory` of `[site]` |
| `route_files` of `[[pe]]`, `socket` of `[[pe.port]]` | `directory` of `[site]` |
| `directory` of `[sas]` and of `[rr.mrt]` | `directory` of `[site]` |
| what stands on a command line, as `tandem forwarder --key-file` | the folder in which it is \
started |

With `/etc/tandem/site.toml` and `directory = \"/var/lib/tandem\"`, `key = \"tls/sbc.key\"` is
`/var/lib/tandem/tls/sbc.key`.
";

macro_rules! names {
    ($($(#[$doc:meta])* $key:ident: $many:ident<$kind:ty>,)*) => { &[$(stringify!($key)),*] };
}

/// The page that is the API's description.
const OPENAPI: &str = "openapi.json";

/// The keys of sections that are functions: each has a page.
const FUNCTIONS: &[&str] = functions!(names);

/// Prints the reference as one page, or writes it as several below a directory.
pub fn print(directory: Option<&Path>) -> Result<(), Exit> {
    let pages = pages();
    let Some(directory) = directory else {
        for (_, text) in pages.iter().filter(|(name, _)| name != OPENAPI) {
            io::stdout().write_all(text.as_bytes())?;
        }
        return Ok(());
    };
    std::fs::create_dir_all(directory.join("configuration"))?;
    for (name, text) in pages {
        std::fs::write(directory.join(name), text)?;
    }
    Ok(())
}

/// The pages by their names: the site's, then that of each function, then that of the metrics.
fn pages() -> Vec<(String, String)> {
    let mut site = HEAD.to_owned();
    let mut pages = config::describe(&mut site, &config::schema_of::<Site>(), FUNCTIONS);
    pages.insert(0, ("configuration.md".to_owned(), site));
    pages.push(("metrics.md".to_owned(), crate::metrics::page()));
    pages.push((OPENAPI.to_owned(), api()));
    pages
}

/// What `GET /api/v1/openapi.json` answers on every site of this version.
fn api() -> String {
    let registry = oam::Registry::new();
    registry.describe(crate::functions::described());
    let document = oam::http::openapi::document(&registry);
    format!("{document:#}\n")
}
