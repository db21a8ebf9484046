//! A trail as text: a ladder of arrows between hosts, then every message in full.

use crate::detail::{Detail, Host, MessageView};
use crate::media::StreamView;
use crate::trail::Kind;
use std::fmt::Write as _;

/// Columns between two hosts: so many at least, and as the lines of a dialogue need.
const WIDTH: usize = 26;
const WIDTH_MAX: usize = 52;
/// Columns for the time.
const MARGIN: usize = 12;

/// How much is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The ladder alone.
    Ladder,
    /// The ladder, and every message in full.
    Whole,
}

/// Draws a trail: its ladder, with events and media in their places by time.
#[must_use]
pub fn draw(detail: &Detail, extent: Extent) -> String {
    let width = width(detail);
    let mut out = head(detail, width);
    let (messages, events) = (detail.messages.iter(), detail.events.iter());
    let start = messages.map(|it| it.at_us).chain(events.map(|it| it.at_us)).min().unwrap_or(0);
    lines(detail, start, width).iter().for_each(|line| out.push_str(line));
    out.push_str(&media(&detail.streams, start));
    if extent == Extent::Whole {
        bodies(detail, start, &mut out);
    }
    out
}

fn width(detail: &Detail) -> usize {
    let of_dialogue = detail.trail.kind == Kind::Dialogue;
    let titles = detail.messages.iter().filter_map(|it| it.method.as_ref());
    let longest = titles.map(|title| title.chars().count() + 8).max().unwrap_or(0);
    if of_dialogue { longest.clamp(WIDTH, WIDTH_MAX) } else { WIDTH }
}

/// What the trail is, and the hosts over their columns.
fn head(detail: &Detail, width: usize) -> String {
    let mut out = String::new();
    let trail = &detail.trail;
    let what = if trail.method.is_empty() { trail.kind.word() } else { trail.method };
    // Writing to a string cannot fail.
    let cause = trail.cause.as_ref().map_or_else(String::new, |cause| format!(": {cause}"));
    let _ = writeln!(out, "{} {what} {}{cause}", trail.id, trail.outcome.word());
    let _ = writeln!(out, "from {}\nto   {}", trail.from, trail.to);
    if let Some(subscriber) = &trail.subscriber {
        let _ = writeln!(out, "about {subscriber}");
    }
    let leg = if trail.kind == Kind::Dialogue { "transaction" } else { "call" };
    for call_id in &trail.call_ids {
        let _ = writeln!(out, "{leg} {call_id}");
    }
    out.push('\n');
    // A host that calls itself nothing has its address said once.
    let label = |host: &Host| match host.label == host.address {
        true => String::new(),
        false => host.label.clone(),
    };
    let addresses = detail.hosts.iter().map(|host| host.address.clone()).collect();
    for names in [addresses, detail.hosts.iter().map(label).collect::<Vec<_>>()] {
        if names.iter().all(String::is_empty) {
            continue;
        }
        let _ = write!(out, "{:MARGIN$}", "");
        for name in names {
            let name: String = name.chars().take(width - 2).collect();
            let _ = write!(out, "{name:^width$}");
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    out
}

/// Every message in full.
fn bodies(detail: &Detail, start: u64, out: &mut String) {
    for message in &detail.messages {
        let seconds = message.at_us.saturating_sub(start) as f64 / 1e6;
        let (from, to) = (&detail.hosts[message.from], &detail.hosts[message.to]);
        let _ = write!(out, "\n---- {} at {seconds:.6} s: ", message.n);
        let _ = write!(out, "{} -> {} ({})", from.address, to.address, message.transport);
        let comma = if message.tags.is_empty() { "" } else { ", " };
        let _ = writeln!(out, "{comma}{}", message.tags);
        out.push_str(&message.text.replace("\r\n", "\n"));
        if !out.ends_with('\n') {
            out.push('\n');
        }
    }
}

/// Messages, events and what happened to media, in the order of time.
fn lines(detail: &Detail, start: u64, width: usize) -> Vec<String> {
    let seconds = |at_us: u64| at_us.saturating_sub(start) as f64 / 1e6;
    let messages = detail.messages.iter();
    let messages = messages.map(|it| (it.at_us, arrow(it, start, detail.hosts.len(), width)));
    let events = detail.events.iter().map(|event| {
        (event.at_us, format!("{:>10.3}  * {} {}\n", seconds(event.at_us), event.name, event.text))
    });
    let marks = detail.streams.iter().flat_map(|stream| {
        stream.marks.iter().map(move |mark| {
            let digit = mark.digit.as_ref().map_or(String::new(), |digit| format!("{digit}, "));
            let (at, name, text) = (seconds(mark.at_us), &mark.name, &mark.text);
            let whose = format!("media {} {}", stream.line, stream.leg.unwrap_or("of an end"));
            (mark.at_us, format!("{at:>10.3}  = {whose}: {name} {digit}{text}\n"))
        })
    });
    let mut all: Vec<(u64, String)> = messages.chain(events).chain(marks).collect();
    // Of one time a message comes before what is said of it.
    all.sort_by_key(|(at_us, _)| *at_us);
    all.into_iter().map(|(_, line)| line).collect()
}

/// What streams are and what they were like: a table with the titles of its columns, those left
/// out that nothing stands in.
fn media(streams: &[StreamView], start: u64) -> String {
    const TITLES: [&str; 11] = [
        "BEGAN", "MEDIA", "FROM", "HEARD BY", "KIND", "CODEC", "SUITE", "PACKETS", "LOSS",
        "JITTER", "MOS",
    ];
    let rows: Vec<[String; 11]> = streams.iter().map(|stream| cells(stream, start)).collect();
    let mut out = String::new();
    if rows.is_empty() {
        return out;
    }
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let columns = TITLES.iter().enumerate().map(|(at, title)| (at, width(at), *title));
    let columns: Vec<_> = columns.filter(|(_, width, _)| *width > 0).collect();
    out.push('\n');
    let titles = TITLES.map(str::to_owned);
    for row in core::iter::once(&titles).chain(&rows) {
        let mut line = String::new();
        for (at, width, title) in &columns {
            let width = title.len().max(*width);
            // Writing to a string cannot fail.
            let _ = match at {
                0 => write!(line, "{:>10}  ", row[*at]),
                7.. => write!(line, "{:>width$}  ", row[*at]),
                _ => write!(line, "{:<width$}  ", row[*at]),
            };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn cells(stream: &StreamView, start: u64) -> [String; 11] {
    let StreamView { terms, figures, .. } = stream;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let seconds = stream.began_at_us.saturating_sub(start) as f64 / 1e6;
    let tenths = |it: u32| format!("{}.{} %", it / 10, it % 10);
    let ms = |us: u32| format!("{:.1} ms", f64::from(us) / 1e3);
    let mos = |it: u16| format!("{:.2}", f64::from(it) / 1e2);
    [
        format!("{seconds:.3}"),
        stream.line.to_string(),
        stream.leg.unwrap_or("?").to_owned(),
        text(&stream.heard_by),
        text(&terms.kind),
        text(&terms.codec),
        text(&terms.suite),
        figures.packets.map(|it| it.to_string()).unwrap_or_default(),
        figures.loss_permille.map(tenths).unwrap_or_default(),
        figures.jitter_us.map(ms).unwrap_or_default(),
        figures.mos_hundredths.map(mos).unwrap_or_default(),
    ]
}

/// One line of the ladder.
fn arrow(message: &MessageView, start: u64, hosts: usize, width: usize) -> String {
    let column = |host: usize| MARGIN + host * width + width / 2;
    let mut line: Vec<char> = vec![' '; MARGIN + hosts * width];
    for host in 0..hosts {
        line[column(host)] = '|';
    }
    let (left, right) = (message.from.min(message.to), message.from.max(message.to));
    let (first, last) = (column(left) + 1, column(right));
    line[first.min(last)..last].fill('-');
    let mut title = match (&message.method, message.status) {
        (Some(method), _) => method.clone(),
        (None, Some(status)) => {
            format!("{status} {}", message.reason.as_deref().unwrap_or_default())
        }
        (None, None) => "?".to_owned(),
    };
    if message.has_sdp {
        title.push_str(" SDP");
    }
    if message.retransmission_of.is_some() {
        title.push_str(" again");
    }
    let room = last.saturating_sub(first).saturating_sub(4);
    let title: Vec<char> = title.chars().take(room).collect();
    let at = first + (room + 4 - title.len()) / 2;
    if message.from == message.to {
        let tail = format!("| {}", title.iter().collect::<String>());
        for (cell, letter) in line[column(left)..].iter_mut().zip(tail.chars()) {
            *cell = letter;
        }
    } else {
        line[at - 1] = ' ';
        line[at + title.len()] = ' ';
        line[at..at + title.len()].copy_from_slice(&title);
        if message.from < message.to {
            line[last - 1] = '>';
        } else {
            line[first] = '<';
        }
    }
    let seconds = message.at_us.saturating_sub(start) as f64 / 1e6;
    let text: String = line[MARGIN..].iter().collect();
    format!("{seconds:>10.3}  {}\n", text.trim_end())
}
