//! An index file: sorted, immutable, one for some tens of thousands of records.
//!
//! ```text
//!  columns: one row of 32 octets a record, newest first (start, id, tags, block, entry)
//!  per class: values (8 octets each, ascending), then for each its row (4 octets)
//!  footer: the values of each tag; per class where it begins, how many, every 512th value (the
//!          fence);
//!          earliest and latest start; the journal's blocks that are covered
//!  trailer: length of the footer, checksum of the footer, magic
//! ```
//! A search reads the fence in memory, then one page of values, then the rows it needs.

use crate::query::{KeyRange, Newest, Query};
use crate::record::{CLASSES, Head, Place, Record, TAGS, u32_at, u64_at};
use crate::{Hit, StoreError};
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

const ROW_BYTES: usize = 32;
const FENCE: usize = 512;
const TRAILER_BYTES: usize = 24;
/// Distinct values of a tag that are listed.
const VALUES_MAX: usize = 256;
const MAGIC: u64 = u64::from_le_bytes(*b"TRUN0002");
/// Records of one index file; a journal of 1 GB has fewer.
const RECORDS_MAX: usize = 1 << 30;
/// Largest footer that is believed.
const FOOTER_BYTES_MAX: u64 = 64 << 20;

/// The values of one class.
#[derive(Debug, Default)]
struct Section {
    at: u64,
    count: usize,
    fence: Vec<u64>,
}

/// What is kept in memory of an index file.
#[derive(Debug)]
pub(crate) struct Run {
    path: PathBuf,
    partition: u32,
    records: u32,
    sections: [Section; CLASSES],
    pub start_us: (u64, u64),
    /// The values that each tag has, ascending; `None` when there are too many to list.
    tags: [Option<Vec<u16>>; TAGS],
    /// Blocks of the journal below this number are indexed by this file or an earlier one.
    pub blocks: u32,
    pub bytes: u64,
}

/// Writes the index of `records` and makes it durable; returns it opened.
pub(crate) fn write(
    path: &Path,
    partition: u32,
    blocks: u32,
    records: &[(Record, Place)],
) -> Result<Run, StoreError> {
    let records = &records[..records.len().min(RECORDS_MAX)];
    let mut order: Vec<u32> = (0..u32::MAX).take(records.len()).collect();
    let head = |at: u32| &records[at as usize].0.head;
    order.sort_unstable_by_key(|&at| core::cmp::Reverse((head(at).start_us, head(at).id)));
    let mut bytes = Vec::with_capacity(records.len() * 160);
    let mut classes: [Vec<(u64, u32)>; CLASSES] = Default::default();
    for (row, &at) in (0..u32::MAX).zip(&order) {
        let (record, place) = &records[at as usize];
        push_row(&mut bytes, &record.head, *place);
        for key in &record.keys {
            classes[usize::from(key.class)].push((key.value, row));
        }
    }
    let mut footer = Vec::new();
    footer.extend_from_slice(&(records.len() as u64).to_le_bytes());
    let span = (order.last(), order.first());
    for at in [span.0, span.1] {
        footer.extend_from_slice(&at.map_or(0, |&at| head(at).start_us).to_le_bytes());
    }
    footer.extend_from_slice(&u64::from(blocks).to_le_bytes());
    for tag in 0..TAGS {
        push_values(records.iter().map(|(record, _)| record.head.tags[tag]), &mut footer);
    }
    for class in &mut classes {
        push_class(class, &mut bytes, &mut footer);
    }
    let trailer = [footer.len() as u64, xxh3_64(&footer), MAGIC];
    bytes.extend_from_slice(&footer);
    bytes.extend(trailer.iter().flat_map(|n| n.to_le_bytes()));
    write_durably(path, &bytes)?;
    Run::open(path, partition)
}

/// Writes a file so that it is there whole or not at all.
pub(crate) fn write_durably(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let half = path.with_extension("half");
    let mut file = crate::files::create(&half)?;
    file.write_all(bytes)?;
    file.sync_data()?;
    std::fs::rename(&half, path)?;
    if let Some(directory) = path.parent() {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

fn push_row(bytes: &mut Vec<u8>, head: &Head, place: Place) {
    bytes.extend_from_slice(&head.start_us.to_le_bytes());
    bytes.extend_from_slice(&head.id.to_le_bytes());
    for tag in head.tags {
        bytes.extend_from_slice(&tag.to_le_bytes());
    }
    bytes.extend_from_slice(&place.block.to_le_bytes());
    bytes.extend_from_slice(&u32::from(place.entry).to_le_bytes());
}

/// The distinct values of a tag: their count in two octets, then they, two octets each.
fn push_values(values: impl Iterator<Item = u16>, footer: &mut Vec<u8>) {
    let (mut distinct, mut count) = (std::collections::BTreeSet::new(), 0u16);
    for value in values {
        count += u16::from(distinct.insert(value));
        if distinct.len() > VALUES_MAX {
            return footer.extend_from_slice(&u16::MAX.to_le_bytes());
        }
    }
    footer.extend_from_slice(&count.to_le_bytes());
    footer.extend(distinct.iter().flat_map(|value| value.to_le_bytes()));
}

/// Reads what [`push_values`] wrote and moves on; `None` outside when it is cut short.
fn values(footer: &[u8], at: &mut usize) -> Option<Option<Vec<u16>>> {
    let number = |bytes: &[u8]| u16::from_le_bytes([bytes[0], bytes[1]]);
    let count = number(footer.get(*at..*at + 2)?);
    *at += 2;
    if count == u16::MAX {
        return Some(None);
    }
    let bytes = footer.get(*at..*at + usize::from(count) * 2)?;
    *at += bytes.len();
    Some(Some(bytes.chunks_exact(2).map(number).collect()))
}

fn push_class(class: &mut Vec<(u64, u32)>, bytes: &mut Vec<u8>, footer: &mut Vec<u8>) {
    class.sort_unstable();
    class.dedup();
    footer.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    footer.extend_from_slice(&(class.len() as u64).to_le_bytes());
    for (value, _) in class.iter().step_by(FENCE) {
        footer.extend_from_slice(&value.to_le_bytes());
    }
    bytes.extend(class.iter().flat_map(|(value, _)| value.to_le_bytes()));
    bytes.extend(class.iter().flat_map(|(_, row)| row.to_le_bytes()));
}

impl Run {
    /// Opens an index file and takes its footer into memory.
    pub fn open(path: &Path, partition: u32) -> Result<Self, StoreError> {
        let damaged = || StoreError::Damaged(path.display().to_string());
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let trailer_at = bytes.checked_sub(TRAILER_BYTES as u64).ok_or_else(damaged)?;
        let trailer = read(&file, trailer_at, TRAILER_BYTES)?;
        let length = u64_at(&trailer, 0);
        if u64_at(&trailer, 16) != MAGIC || length > trailer_at.min(FOOTER_BYTES_MAX) {
            return Err(damaged());
        }
        let footer = read(&file, trailer_at - length, size(length).ok_or_else(damaged)?)?;
        if xxh3_64(&footer) != u64_at(&trailer, 8) || footer.len() < 32 {
            return Err(damaged());
        }
        let mut at = 32;
        let mut tags: [Option<Vec<u16>>; TAGS] = Default::default();
        for tag in &mut tags {
            *tag = values(&footer, &mut at).ok_or_else(damaged)?;
        }
        let mut sections: [Section; CLASSES] = Default::default();
        for section in &mut sections {
            let head = footer.get(at..at + 16).ok_or_else(damaged)?;
            section.at = u64_at(head, 0);
            section.count = size(u64_at(head, 8)).ok_or_else(damaged)?;
            at += 16;
            let fence = footer.get(at..at + section.count.div_ceil(FENCE) * 8);
            let fence = fence.ok_or_else(damaged)?;
            section.fence = fence.chunks_exact(8).map(|v| u64_at(v, 0)).collect();
            at += fence.len();
        }
        Ok(Self {
            path: path.to_owned(),
            partition,
            records: u32::try_from(u64_at(&footer, 0)).map_err(|_| damaged())?,
            sections,
            tags,
            start_us: (u64_at(&footer, 8), u64_at(&footer, 16)),
            blocks: u32::try_from(u64_at(&footer, 24)).map_err(|_| damaged())?,
            bytes,
        })
    }

    /// Whether the first tag of all records has that value.
    fn has_alone(&self, value: u16) -> bool {
        self.tags[0].as_deref().is_some_and(|values| values == [value])
    }

    /// Adds what matches to `newest`.
    pub fn search(&self, query: &Query, newest: &mut Newest) -> Result<(), StoreError> {
        let (earliest, latest) = self.start_us;
        let late = query.to_us.is_some_and(|to| earliest > to)
            || query.before.is_some_and(|(start, _)| earliest > start);
        let wanted = query.tags.iter().zip(&self.tags).all(|(range, values)| {
            let (Some((low, high)), Some(values)) = (range, values) else { return true };
            values.iter().any(|value| (low..=high).contains(&value))
        });
        // Of a run in which all have what is not wanted no row is read.
        let wanted = wanted && !query.without.is_some_and(|it| self.has_alone(it));
        if late || latest < query.from_us || !wanted || !newest.wants(latest) {
            return Ok(());
        }
        let file = match File::open(&self.path) {
            Ok(file) => file,
            // Deleted by age or size since the list of partitions was copied.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let mut rows = Rows { run: self, file: &file, first: 0, chunk: Vec::new() };
        let Some(candidates) = self.candidates(&file, query)? else {
            return rows.collect(0..self.records, query, newest);
        };
        rows.collect(candidates.into_iter(), query, newest)
    }

    /// The rows that have a key of each group, ascending; `None` when the query has no groups.
    fn candidates(&self, file: &File, query: &Query) -> Result<Option<Vec<u32>>, StoreError> {
        let mut all: Option<Vec<u32>> = None;
        for group in &query.all_of {
            let mut rows = Vec::new();
            for range in group.iter().filter(|range| range.is_sound()) {
                self.rows_of(file, range, &mut rows)?;
            }
            rows.sort_unstable();
            rows.dedup();
            all = Some(match all {
                None => rows,
                Some(mut so_far) => {
                    so_far.retain(|row| rows.binary_search(row).is_ok());
                    so_far
                }
            });
        }
        Ok(all)
    }

    fn rows_of(
        &self,
        file: &File,
        range: &KeyRange,
        rows: &mut Vec<u32>,
    ) -> Result<(), StoreError> {
        let section = &self.sections[usize::from(range.class)];
        let page = section.fence.partition_point(|&value| value < range.low).saturating_sub(1);
        let mut at = page * FENCE;
        while at < section.count && section.fence[at / FENCE] <= range.high {
            let count = FENCE.min(section.count - at);
            let values = read(file, section.at + at as u64 * 8, count * 8)?;
            let index = |n: usize| u64_at(&values, n * 8);
            let first = lower_bound(count, |n| index(n) < range.low);
            let last = lower_bound(count, |n| index(n) <= range.high);
            if first < last {
                let offset = section.at + section.count as u64 * 8 + (at + first) as u64 * 4;
                let bytes = read(file, offset, (last - first) * 4)?;
                rows.extend(bytes.chunks_exact(4).map(|row| u32_at(row, 0)));
            }
            if last < count {
                break;
            }
            at += FENCE;
        }
        Ok(())
    }
}

/// First of `0..count` for which `before` no longer holds.
fn lower_bound(count: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = (low + high) / 2;
        if before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// A number of the disk as a size in memory.
fn size(number: u64) -> Option<usize> {
    usize::try_from(number).ok()
}

fn read(file: &File, at: u64, length: usize) -> Result<Vec<u8>, StoreError> {
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, at)?;
    Ok(bytes)
}

/// Reads the columns, a stretch at a time.
struct Rows<'a> {
    run: &'a Run,
    file: &'a File,
    first: u32,
    chunk: Vec<u8>,
}

/// Rows read ahead when the search walks through all of them.
const ROWS_AHEAD: usize = 256;

impl Rows<'_> {
    fn collect(
        &mut self,
        candidates: impl Iterator<Item = u32>,
        query: &Query,
        newest: &mut Newest,
    ) -> Result<(), StoreError> {
        let ahead = if query.all_of.is_empty() { ROWS_AHEAD } else { 16 };
        for row in candidates {
            let hit = self.row(row, ahead)?;
            if hit.head.start_us < query.from_us || !newest.wants(hit.head.start_us) {
                break;
            }
            if query.admits(&hit.head) {
                newest.take(hit);
            }
        }
        Ok(())
    }

    fn row(&mut self, row: u32, ahead: usize) -> Result<Hit, StoreError> {
        let held = self.chunk.len() / ROW_BYTES;
        if row >= self.run.records {
            return Err(StoreError::Damaged(self.run.path.display().to_string()));
        }
        if row < self.first || row as usize >= self.first as usize + held {
            let count = ahead.min((self.run.records - row) as usize);
            self.chunk = read(self.file, u64::from(row) * ROW_BYTES as u64, count * ROW_BYTES)?;
            self.first = row;
        }
        let bytes = &self.chunk[(row - self.first) as usize * ROW_BYTES..][..ROW_BYTES];
        let tag = |i: usize| u16::from_le_bytes([bytes[16 + 2 * i], bytes[17 + 2 * i]]);
        let tags: [u16; TAGS] = core::array::from_fn(tag);
        let place = Place {
            partition: self.run.partition,
            block: u32_at(bytes, 24),
            entry: u16::try_from(u32_at(bytes, 28)).unwrap_or(u16::MAX),
        };
        let head = Head { id: u64_at(bytes, 8), start_us: u64_at(bytes, 0), tags };
        Ok(Hit { head, place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Key;

    fn records(n: u64) -> Vec<(Record, Place)> {
        let record = |i: u64| Record {
            head: Head { id: i, start_us: 1_000 + (i * 7) % n, tags: [(i % 5) as u16, 0, 0, 0] },
            keys: vec![Key { class: 1, value: i / 3 }, Key { class: 2, value: i * i }],
            body: Vec::new(),
        };
        let place = |i: u64| Place { partition: 4, block: i as u32, entry: (i % 100) as u16 };
        (0..n).map(|i| (record(i), place(i))).collect()
    }

    #[test]
    fn a_run_answers_like_a_walk_over_all_records() {
        let directory = tempfile::tempdir().unwrap();
        let records = records(5_003);
        let run = write(&directory.path().join("run-0"), 4, 9, &records).unwrap();
        assert_eq!((run.blocks, run.records), (9, 5_003));
        let range = |class, low, high| KeyRange { class, low, high };
        let queries = [
            Query { limit: 50, ..Query::default() },
            Query { all_of: vec![vec![range(1, 700, 700)]], limit: 50, ..Query::default() },
            Query { all_of: vec![vec![range(1, 0, 900)]], limit: 1_000, ..Query::default() },
            Query {
                all_of: vec![vec![range(1, 500, 900)], vec![range(2, 0, 4_000_000)]],
                tags: [Some((3, 4)), None, None, None],
                without: Some(3),
                limit: 70,
                from_us: 1_900,
                to_us: Some(5_000),
                before: Some((4_800, 3)),
            },
            Query { all_of: vec![vec![range(2, 1 << 60, u64::MAX)]], limit: 9, ..Query::default() },
        ];
        for query in queries {
            let mut newest = Newest::new(query.limit);
            run.search(&query, &mut newest).unwrap();
            let mut expected: Vec<_> = records
                .iter()
                .filter(|(r, _)| query.admits(&r.head) && query.admits_keys(&r.keys))
                .map(|(r, place)| Hit { head: r.head, place: *place })
                .collect();
            expected.sort_by_key(|h| core::cmp::Reverse((h.head.start_us, h.head.id)));
            expected.truncate(query.limit);
            assert_eq!(newest.hits, expected, "{query:?}");
        }
    }

    #[test]
    fn a_run_of_nothing_but_what_is_not_wanted_is_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run-0");
        let mut records = records(100);
        records.iter_mut().for_each(|(record, _)| record.head.tags[0] = 4);
        let run = write(&path, 4, 9, &records).unwrap();
        let hits = |without: u16| {
            let mut newest = Newest::new(9);
            let query = Query { without: Some(without), limit: 9, ..Query::default() };
            run.search(&query, &mut newest).map(|()| newest.hits.len())
        };
        assert_eq!((hits(3).unwrap(), hits(4).unwrap()), (9, 0));
        // What is cut after it was opened is found out by who reads it.
        std::fs::write(&path, b"").unwrap();
        assert!(hits(3).is_err());
        assert_eq!(hits(4).unwrap(), 0);
    }

    #[test]
    fn a_cut_run_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run-0");
        write(&path, 4, 9, &records(100)).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for length in [0, 10, bytes.len() - 1] {
            std::fs::write(&path, &bytes[..length]).unwrap();
            assert!(Run::open(&path, 4).is_err());
        }
    }
}
