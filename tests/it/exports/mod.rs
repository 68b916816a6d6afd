//! Exports: their contents, what they cost, and what reads them. Python's `csv`, openpyxl, DuckDB and LibreOffice read
//! the files back. A test is skipped, with a message, if a program that it needs is not installed.

mod contents;
mod full_disk;
mod hostile_texts;
#[cfg(feature = "server")]
mod http;
mod limits;
pub mod readers;
mod snapshots;
mod sums;
mod workbooks;
