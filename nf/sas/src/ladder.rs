//! A trail as text: a ladder of arrows between hosts, then every message in full.

use crate::detail::{Detail, MessageView};
use crate::media::StreamView;
use std::fmt::Write as _;

/// Columns between two hosts.
const WIDTH: usize = 26;
/// Columns for the time.
const MARGIN: usize = 12;

/// Draws a trail.
#[must_use]
pub fn draw(detail: &Detail) -> String {
    let mut out = String::new();
    let trail = &detail.trail;
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{} {} {}", trail.id, trail.method, trail.outcome.word());
    let _ = writeln!(out, "from {}\nto   {}", trail.from, trail.to);
    for call_id in &trail.call_ids {
        let _ = writeln!(out, "call {call_id}");
    }
    out.push('\n');
    for line in
        [|h: &crate::detail::Host| h.address.clone(), |h: &crate::detail::Host| h.label.clone()]
    {
        let _ = write!(out, "{:MARGIN$}", "");
        for host in &detail.hosts {
            let name: String = line(host).chars().take(WIDTH - 2).collect();
            let _ = write!(out, "{name:^WIDTH$}");
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    let start = detail.messages.first().map_or(0, |message| message.at_us);
    for message in &detail.messages {
        out.push_str(&arrow(message, start, detail.hosts.len()));
    }
    for event in &detail.events {
        let seconds = event.at_us.saturating_sub(start) as f64 / 1e6;
        let _ = writeln!(out, "{seconds:>10.3}  * {} {}", event.name, event.text);
    }
    for stream in &detail.streams {
        out.push_str(&media(stream, start));
    }
    for message in &detail.messages {
        let seconds = message.at_us.saturating_sub(start) as f64 / 1e6;
        let (from, to) = (&detail.hosts[message.from], &detail.hosts[message.to]);
        let _ = write!(out, "\n---- {} at {seconds:.6} s: ", message.n);
        let _ = writeln!(out, "{} -> {} ({})", from.address, to.address, message.transport);
        out.push_str(&message.text.replace("\r\n", "\n"));
        if !out.ends_with('\n') {
            out.push('\n');
        }
    }
    out
}

/// A stream: what it is, what it was like, what happened to it.
fn media(stream: &StreamView, start: u64) -> String {
    let seconds = |at_us: u64| at_us.saturating_sub(start) as f64 / 1e6;
    let mut parts = vec![match (stream.leg, &stream.heard_by) {
        (Some(leg), None) => format!("from {leg}"),
        (Some(leg), Some(host)) => format!("from {leg}, heard by {host}"),
        (None, Some(host)) => format!("heard by {host}"),
        (None, None) => "of an end".to_owned(),
    }];
    let terms = &stream.terms;
    parts.extend([&terms.kind, &terms.codec, &terms.suite].into_iter().flatten().cloned());
    let figures = &stream.figures;
    parts.extend(figures.packets.map(|count| format!("{count} packets")));
    let loss = figures.loss_permille;
    parts.extend(loss.map(|loss| format!("loss {}.{} %", loss / 10, loss % 10)));
    let jitter = figures.jitter_us.map(|us| f64::from(us) / 1e3);
    parts.extend(jitter.map(|ms| format!("jitter {ms:.1} ms")));
    let mos = figures.mos_hundredths.map(|mos| f64::from(mos) / 1e2);
    parts.extend(mos.map(|mos| format!("MOS {mos:.2}")));
    let began = seconds(stream.began_at_us);
    let mut out = format!("{began:>10.3}  = media {}: {}\n", stream.line, parts.join(", "));
    for mark in &stream.marks {
        let digit = mark.digit.as_ref().map_or(String::new(), |digit| format!("{digit}, "));
        let at = seconds(mark.at_us);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{at:>10.3}    {} {digit}{}", mark.name, mark.text);
    }
    out
}

/// One line of the ladder.
fn arrow(message: &MessageView, start: u64, hosts: usize) -> String {
    let mut line: Vec<char> = vec![' '; MARGIN + hosts * WIDTH];
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

const fn column(host: usize) -> usize {
    MARGIN + host * WIDTH + WIDTH / 2
}
