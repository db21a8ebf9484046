//! Tables: rows of text by columns, from CSV, from the file itself, or made.

use crate::file;
use crate::template::{Name, Scope, Template};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

/// Rows of one table, at most.
pub(crate) const ROWS_MAX: usize = 4 << 20;

/// Rows, and where values are in them.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
    /// What stands in all rows, one behind the other.
    cells: Vec<String>,
    /// Of the columns that are looked for: the row by what stands there.
    indexes: HashMap<usize, HashMap<String, usize>>,
}

impl Table {
    /// Reads or makes one; `base` is the folder of the scenario's file.
    pub(crate) fn new(of: &file::Table, base: &Path) -> Result<Self, String> {
        let mut table = match (&of.file, of.count) {
            (Some(file), None) if of.row.is_empty() && of.make.is_empty() => {
                let path = base.join(file);
                let text = std::fs::read_to_string(&path);
                let text = text.map_err(|why| format!("{}: {why}", path.display()))?;
                Self::from_csv(&text)?
            }
            (None, None) if !of.row.is_empty() && of.make.is_empty() => Self::from_rows(of)?,
            (None, Some(count)) if of.row.is_empty() => Self::made(of, count)?,
            _ => return Err("it is one of `file`, `row`, and `count` with `make`".into()),
        };
        if table.is_empty() {
            return Err("it has no rows".into());
        }
        table.name = of.name.clone();
        Ok(table)
    }

    /// One without rows, in the place of one that is wrong.
    pub(crate) fn empty(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    fn from_rows(of: &file::Table) -> Result<Self, String> {
        let columns: Vec<String> =
            of.row.first().into_iter().flat_map(|it| it.keys()).cloned().collect();
        let mut table = Self { columns, ..Self::default() };
        for (at, row) in of.row.iter().enumerate() {
            if row.len() != table.columns.len() {
                return Err(format!("row {} has other columns than the first", at + 1));
            }
            for column in &table.columns {
                let cell = row.get(column);
                let cell = cell.ok_or_else(|| format!("row {} has no {column}", at + 1))?;
                table.cells.push(cell.clone());
            }
        }
        Ok(table)
    }

    fn made(of: &file::Table, count: u32) -> Result<Self, String> {
        struct Row(usize);
        impl Scope for Row {
            fn value(&self, _: &Name) -> Option<Value> {
                Some(Value::from(self.0))
            }
        }
        let count = count as usize;
        if count > ROWS_MAX {
            return Err(format!("more than {ROWS_MAX} rows"));
        }
        let names = |name: &str| (name == "n").then_some(Name::Count);
        let columns: Vec<String> = of.make.keys().cloned().collect();
        let templates: Result<Vec<Template>, String> =
            of.make.values().map(|text| Template::of_text(text, &names)).collect();
        let templates = templates?;
        let mut cells = Vec::with_capacity(count * columns.len());
        for row in 0..count {
            for template in &templates {
                cells.push(crate::filter::text_of(&template.value(&Row(row))?));
            }
        }
        Ok(Self { columns, cells, ..Self::default() })
    }

    /// Reads CSV (RFC 4180); the first line names the columns.
    pub(crate) fn from_csv(text: &str) -> Result<Self, String> {
        let mut lines = records(text)?.into_iter();
        let (_, columns) = lines.next().ok_or("it is empty")?;
        let mut table = Self { columns, ..Self::default() };
        for (line, cells) in lines {
            if cells.len() != table.columns.len() {
                let (has, first) = (cells.len(), table.columns.len());
                return Err(format!("line {line} has {has} columns, the first line {first}"));
            }
            if table.cells.len() / table.columns.len() == ROWS_MAX {
                return Err(format!("more than {ROWS_MAX} rows"));
            }
            table.cells.extend(cells);
        }
        Ok(table)
    }

    /// How many rows.
    pub(crate) fn len(&self) -> usize {
        self.cells.len().checked_div(self.columns.len()).unwrap_or(0)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|it| it == name)
    }

    /// What stands in a row.
    pub(crate) fn cell(&self, row: usize, column: usize) -> Option<&str> {
        let at = row.checked_mul(self.columns.len())?.checked_add(column)?;
        (column < self.columns.len()).then(|| self.cells.get(at).map(String::as_str)).flatten()
    }

    /// A column will be looked for.
    pub(crate) fn index(&mut self, column: usize) {
        let rows = 0..self.len();
        let cell = |row| Some((self.cell(row, column)?.to_owned(), row));
        // Of equal ones the first.
        let index = rows.rev().filter_map(cell).collect();
        self.indexes.insert(column, index);
    }

    /// The row with that value.
    pub(crate) fn find(&self, column: usize, value: &str) -> Option<usize> {
        self.indexes.get(&column)?.get(value).copied()
    }
}

/// The records of a text, each with the number of its line.
fn records(text: &str) -> Result<Vec<(usize, Vec<String>)>, String> {
    let (mut all, mut record, mut cell) = (Vec::new(), Vec::new(), String::new());
    let (mut line, mut begins, mut is_quoted) = (1, 1, false);
    let mut letters = text.trim_start_matches('\u{feff}').chars().peekable();
    while let Some(letter) = letters.next() {
        line += usize::from(letter == '\n');
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' if is_quoted || cell.is_empty() => is_quoted = !is_quoted,
            _ if is_quoted => cell.push(letter),
            ',' => record.push(core::mem::take(&mut cell)),
            '\r' if letters.peek() == Some(&'\n') => {}
            '\n' => {
                if !record.is_empty() || !cell.is_empty() {
                    record.push(core::mem::take(&mut cell));
                    all.push((begins, core::mem::take(&mut record)));
                }
                begins = line;
            }
            _ => cell.push(letter),
        }
    }
    if is_quoted {
        return Err(format!("line {begins}: a quotation mark is open"));
    }
    if !record.is_empty() || !cell.is_empty() {
        record.push(cell);
        all.push((begins, record));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_is_read_with_quotation_marks_and_found_by_a_column() {
        let text = "\u{feff}msisdn,name\r\n1,\"A, \"\"B\"\"\"\r\n\n2,\"two\nlines\"\n2,again";
        let mut table = Table::from_csv(text).unwrap();
        assert_eq!((table.len(), table.cell(0, 1)), (3, Some("A, \"B\"")));
        assert_eq!(
            (table.cell(1, 1), table.cell(3, 0), table.cell(0, 2)),
            (Some("two\nlines"), None, None)
        );
        let column = table.column("msisdn").unwrap();
        table.index(column);
        assert_eq!((table.find(column, "2"), table.find(column, "3")), (Some(1), None));
        for (wrong, says) in [("a,b\n1", "line 2 has 1"), ("a\n\"x", "is open"), ("", "empty")] {
            assert!(Table::from_csv(wrong).is_err_and(|it| it.contains(says)), "{wrong}");
        }
    }

    #[test]
    fn rows_are_made_by_templates() {
        let of = file::Table {
            name: "t".into(),
            count: Some(3),
            make: [("a".to_owned(), "44{n|pad:3}".to_owned())].into(),
            ..file::Table::default()
        };
        let table = Table::new(&of, Path::new(".")).unwrap();
        assert_eq!((table.len(), table.cell(2, 0)), (3, Some("44002")));
        let none = file::Table { name: "t".into(), ..file::Table::default() };
        assert!(Table::new(&none, Path::new(".")).is_err());
    }
}
