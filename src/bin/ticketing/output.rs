//! What the program prints: lines on standard output, and progress bars.

use std::io::Write;

use indicatif::{ProgressBar, ProgressStyle};

use super::failure::Failure;

/// Prints a line to standard output and flushes it, also if the output is a pipe.
pub(crate) fn print_line(line: &str) -> Result<(), Failure> {
    print(&format!("{line}\n"))
}

pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    written.map_err(|error| Failure::Run(format!("cannot write to standard output: {error}")))
}

/// A progress bar, which indicatif draws to standard error, and only if that is a terminal.
pub(crate) fn progress_bar(template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template);
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
