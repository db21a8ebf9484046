//! What functions are asked and told, and the commands of `tandem ctl` that only look.

use crate::api::Client;
use crate::complete::{functions, functions_and_peers, peers};
use crate::exit::Exit;
use crate::output::{self, Output};
use clap::Args;
use local::segment;
use serde_json::Value;
use show::Listing;
use show::site as listings;
use std::net::IpAddr;

/// Rows that are asked for at most.
const ROWS_MAX: usize = 20_000;
/// Pages of them: one may have few rows, or none, and others behind it.
const PAGES_MAX: usize = 1_000;

fn array(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Which function a question goes to.
#[derive(Debug, Args)]
pub struct Of {
    /// Name of the function; absent: all that answer.
    #[arg(add = functions())]
    pub function: Option<String>,
}

/// A peer of a function.
#[derive(Debug, Args)]
pub struct OfPeer {
    /// Name of the function; absent: the only one of its kind.
    #[arg(add = functions_and_peers())]
    pub function: Option<String>,
    /// Name of the peer.
    #[arg(add = peers())]
    pub peer: String,
}

/// The site and its functions.
pub fn site(client: &Client, form: Output) -> Result<(), Exit> {
    let mut site = client.get("/api/v1/site")?;
    if site["draining"] == true {
        let counters = client.get("/api/v1/counters").unwrap_or_default();
        let left = array(&counters).iter().filter(|row| row["name"] == "ssc_calls_live");
        let left: u64 = left.filter_map(|row| row["value"].as_u64()).sum();
        site["calls_left"] = left.into();
    }
    if form == Output::Csv {
        return output::rows(form, &site, &listings::functions(&site), listings::listing());
    }
    output::sheet(form, &site, listings::sheet)
}

/// An address that stands where the function may.
pub fn function_or_address(
    function: Option<String>,
    address: Option<IpAddr>,
) -> (Option<String>, Option<IpAddr>) {
    match function.as_deref().and_then(|word| word.parse().ok()) {
        Some(first) if address.is_none() => (None, Some(first)),
        _ => (function, address),
    }
}

/// What a function is told about one of its peers.
pub struct Action<'a> {
    /// The kind of the function.
    pub kind: &'a str,
    /// Below the function's path in the API.
    pub path: &'a str,
    /// The peer, and the function if it was named.
    pub of: OfPeer,
    /// What else is told; what is null is left out.
    pub order: Value,
}

/// Tells a function something of a peer, and says what that was.
pub fn act(client: &Client, form: Output, action: Action<'_>, what: &str) -> Result<(), Exit> {
    let Action { kind, path, of, mut order } = action;
    let function = client.function(kind, of.function)?;
    if let Some(order) = order.as_object_mut() {
        order.retain(|_, value| !value.is_null());
    }
    order["peer"] = Value::from(of.peer);
    let path = format!("/api/v1/functions/{}/{path}", segment(&function));
    output::acted(form, &client.post(&path, &order)?, what)
}

/// What one function or all functions answer; a function that knows nothing of it is passed over
/// when all are asked.
pub fn asked(
    client: &Client,
    form: Output,
    function: Option<String>,
    about: &str,
    listing: &Listing,
) -> Result<(), Exit> {
    asked_and(client, form, function, about, listing, |_, _| Ok(()))
}

/// The same, with `more` done to the rows of each function.
pub fn asked_and(
    client: &Client,
    form: Output,
    function: Option<String>,
    about: &str,
    listing: &Listing,
    more: impl Fn(&str, &mut Vec<Value>) -> Result<(), Exit>,
) -> Result<(), Exit> {
    let names = match &function {
        Some(name) => vec![name.clone()],
        None => client.functions()?.into_iter().map(|(name, _)| name).collect(),
    };
    let (mut rows, mut answered) = (Vec::new(), false);
    for name in names {
        let path = format!("/api/v1/functions/{}/{about}", segment(&name));
        let answer = match &function {
            Some(_) => client.get(&path)?,
            None => match client.find(&path)? {
                Some(answer) => answer,
                None => continue, // a function of another kind
            },
        };
        answered = true;
        let mut own = pages(client, &path, answer)?;
        more(&name, &mut own)?;
        for mut row in own {
            if row.is_object() {
                row["function"] = Value::from(name.clone());
            }
            rows.push(row);
        }
    }
    if form == Output::Table && !answered {
        return output::text(&nobody(client, about)?);
    }
    output::rows(form, &Value::from(rows.clone()), &rows, listing)
}

/// All rows of an answer that may come page by page, [`ROWS_MAX`] at most; no more where a page
/// does not lead further.
pub fn pages(client: &Client, path: &str, first: Value) -> Result<Vec<Value>, Exit> {
    let (mut page, mut skip) = (first, 0);
    let mut rows = Vec::new();
    for _ in 0..PAGES_MAX {
        let Some(more) = page["rows"].as_array() else {
            rows.extend_from_slice(array(&page));
            break;
        };
        rows.extend_from_slice(more);
        match page["next"].as_u64() {
            Some(next) if next > skip && rows.len() < ROWS_MAX => skip = next,
            _ => break,
        }
        let and = if path.contains('?') { '&' } else { '?' };
        page = client.get(&format!("{path}{and}skip={skip}&limit=1000"))?;
    }
    Ok(rows)
}

/// What is said when no function of the site knows of it.
fn nobody(client: &Client, about: &str) -> Result<String, Exit> {
    let all = client.functions()?;
    let named: Vec<String> = all.iter().map(|(name, kind)| format!("{name} ({kind})")).collect();
    let runs = if named.is_empty() { "none".into() } else { named.join(", ") };
    // What is asked for, without how much of it.
    let about = about.split('?').next().unwrap_or(about);
    let first = about.split('/').next().unwrap_or(about);
    let of = OWNERS.iter().find(|(word, _)| *word == first);
    let of = of.map_or(String::new(), |(_, of)| format!(", which is of {of}"));
    let about = about.replace('/', " ");
    Ok(format!("no function of this site has `{about}`{of}; there are: {runs}\n"))
}

/// Whose a question is, by its first word; what many kinds have is not here.
const OWNERS: [(&str, &str); 26] = [
    ("applications", SGC),
    ("bfd", "provider edges ([[pe]])"),
    ("bgp", "route reflectors ([[rr]]) and provider edges ([[pe]])"),
    ("blacklist", SSC),
    ("calls", SSC),
    ("cluster", SGC),
    ("gtt", SGC),
    ("igp", "provider edges ([[pe]])"),
    ("ims", SSC),
    ("ipsec", SSC),
    ("labels", "provider edges ([[pe]])"),
    ("ldp", "provider edges ([[pe]])"),
    ("limits", SSC),
    ("lsp", "provider edges ([[pe]])"),
    ("m3ua", SGC),
    ("media", "media controllers ([[msc]])"),
    ("next-hops", "session controllers ([[ssc]]) and centres of messages ([[ipsmgw]])"),
    ("pe", "provider edges ([[pe]])"),
    ("plane", "provider edges ([[pe]]) and media controllers ([[msc]])"),
    ("realms", SSC),
    ("registrations", SSC),
    ("screening", SGC),
    ("shield", SSC),
    ("sms", "centres of messages ([[ipsmgw]])"),
    ("streams", "media controllers ([[msc]])"),
    ("tcap", SGC),
];
const SGC: &str = "signalling gateways ([[sgc]])";
const SSC: &str = "session controllers ([[ssc]])";

/// Metrics; those at zero are left out unless `all`.
pub fn counters(
    client: &Client,
    form: Output,
    name: Option<String>,
    function: Option<String>,
    all: bool,
) -> Result<(), Exit> {
    let whole = client.get("/api/v1/counters")?;
    let wanted = |row: &&Value| {
        let word = |key: &str| row[key].as_str().unwrap_or_default();
        name.as_deref().is_none_or(|start| word("name").starts_with(start))
            && function.as_deref().is_none_or(|wanted| word("function") == wanted)
            && (all || row["value"] != 0)
    };
    let rows: Vec<Value> = array(&whole).iter().filter(wanted).cloned().collect();
    // Programs read numbers.
    let shown: Vec<Value> = match form {
        Output::Table => rows.iter().map(labelled).collect(),
        _ => rows.clone(),
    };
    output::rows(form, &Value::from(rows), &shown, &listings::COUNTERS)
}

/// A metric with its labels behind its name, as Prometheus writes it, and a histogram in words.
fn labelled(row: &Value) -> Value {
    let mut row = row.clone();
    if let Some(said) = listings::histogram(&row) {
        row["value"] = said.into();
    }
    let labels = row["labels"].as_object().into_iter().flatten();
    let labels: Vec<String> = labels.map(|(name, value)| format!("{name}={value}")).collect();
    if !labels.is_empty() {
        let name = row["name"].as_str().unwrap_or_default();
        row["name"] = format!("{name}{{{}}}", labels.join(",")).into();
    }
    row
}

/// Alarms.
pub fn alarms(client: &Client, form: Output, history: bool) -> Result<(), Exit> {
    let whole = client.get(&format!("/api/v1/alarms?history={history}"))?;
    output::rows(form, &whole, array(&whole), &listings::ALARMS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Target;
    use serde_json::json;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    /// A site that answers every question with the same page.
    fn answering(page: &Value, questions: usize) -> (Client, thread::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let body = page.to_string();
        let serve = thread::spawn(move || {
            for _ in 0..questions {
                let (mut stream, _) = listener.accept().unwrap();
                assert!(stream.read(&mut [0; 4_096]).unwrap() > 0);
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n", body.len());
                write!(stream, "{head}connection: close\r\n\r\n{body}").unwrap();
            }
        });
        (Client::of(Target::Api { url, token: None }, 10), serve)
    }

    #[test]
    fn pages_that_lead_nowhere_end() {
        // Who is asked once more than this refuses the connection.
        for (page, questions) in [(json!({ "rows": [], "next": 1 }), 1), (json!([1]), 0)] {
            let (client, serve) = answering(&page, questions);
            let rows = pages(&client, "/api/v1/functions/x/y", page.clone()).unwrap();
            assert_eq!(rows, array(&page));
            serve.join().unwrap();
        }
        let page = json!({ "rows": [0], "next": 0 });
        let (client, serve) = answering(&page, 0);
        assert_eq!(pages(&client, "/", page).unwrap(), [json!(0)]);
        serve.join().unwrap();
    }

    #[test]
    fn an_address_alone_is_no_function() {
        let at = "192.0.2.1".parse().ok();
        assert_eq!(function_or_address(Some("192.0.2.1".into()), None), (None, at));
        let name = Some("rr1".to_owned());
        assert_eq!(function_or_address(name.clone(), at), (name.clone(), at));
        assert_eq!(function_or_address(name.clone(), None), (name, None));
    }
}
