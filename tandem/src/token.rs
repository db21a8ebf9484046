//! `tandem token`: who may use a site's API, and for what.

use crate::cli::{TokenCommand, TokenRole};
use crate::rights;
use crate::site::TOKENS;
use crate::site_text;
use client::{Exit, Output, output};
use oam::token::{FIRST, Listed, Role, Tokens};
use serde_json::{Value, json};
use show::{Listing, plain, time};
use std::path::{Path, PathBuf};

const TOKENS_LISTED: Listing = Listing::new(
    "there is no token: start the site once",
    &[
        plain("name", "NAME"),
        plain("role", "ROLE"),
        time("made_at_us", "MADE"),
        plain("file", "FILE"),
        plain("unusable", "UNUSABLE"),
    ],
);

impl From<TokenRole> for Role {
    fn from(role: TokenRole) -> Self {
        match role {
            TokenRole::Monitor => Self::Monitor,
            TokenRole::Operator => Self::Operator,
            TokenRole::Administrator => Self::Administrator,
        }
    }
}

/// The tokens of a site, beside the first one.
pub fn of(directory: &Path) -> Tokens {
    Tokens::new(directory.join(TOKENS))
}

/// The tokens of a site, and the file with the first one.
fn of_site(file: &Path) -> Result<(Tokens, PathBuf), Exit> {
    let (_, site) = site_text::read(file)?;
    let directory = site.directory(file);
    rights::act_as_owner(file, &directory)?;
    Ok((of(&directory), site.token_file(&directory)))
}

/// Carries a command out.
pub fn token(asked: TokenCommand) -> Result<(), Exit> {
    match asked {
        TokenCommand::New { site, role, name } => {
            let made = of_site(&site)?.0.make(oam::clock::now().as_micros(), &name, role.into());
            let token = made.map_err(|error| failed(&name, &error))?;
            output::text(&format!("{token}\n"))
        }
        TokenCommand::List { site, output } => {
            let (tokens, first) = of_site(&site)?;
            list(&tokens, &first, output)
        }
        TokenCommand::Revoke { site, name } => {
            let missing = format!("there is no token `{name}`: `tandem token list` names them");
            let (tokens, first) = of_site(&site)?;
            if name == FIRST {
                return Err(Exit::Failed(format!(
                    "`{FIRST}` is the site's first token, which stands in {}: to change it write a \
                     new one there, as `(umask 077; openssl rand -base64 32 > FILE)` makes it, and \
                     start the site again",
                    first.display()
                )));
            }
            tokens.revoke(&name).map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => Exit::Failed(missing),
                _ => failed(&name, &error),
            })
        }
    }
}

fn failed(name: &str, error: &std::io::Error) -> Exit {
    match error.kind() {
        std::io::ErrorKind::InvalidInput => Exit::Usage(error.to_string()),
        std::io::ErrorKind::AlreadyExists => {
            Exit::Conflict(format!("there is a token `{name}`: revoke it first"))
        }
        std::io::ErrorKind::NotFound => Exit::Failed(format!("token `{name}`: {error}")),
        _ => Exit::Failed(error.to_string()),
    }
}

fn list(tokens: &Tokens, first: &Path, form: Output) -> Result<(), Exit> {
    let own = first.exists().then(|| {
        json!({ "name": FIRST, "role": Role::Administrator, "file": first.display().to_string() })
    });
    let rows: Vec<Value> = own.into_iter().chain(tokens.list()?.into_iter().map(row)).collect();
    output::rows(form, &Value::Array(rows.clone()), &rows, &TOKENS_LISTED)
}

fn row(listed: Listed) -> Value {
    match listed.state {
        Ok((role, made_at_us)) => {
            json!({ "name": listed.name, "role": role, "made_at_us": made_at_us })
        }
        Err(why) => json!({ "name": listed.name, "unusable": why }),
    }
}
