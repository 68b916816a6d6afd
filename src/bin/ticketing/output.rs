//! What the program prints: lines on standard output, and progress bars.

use std::io::Write;
use std::ops::ControlFlow;

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

/// Shows a bar while `work` runs. indicatif draws it to standard error, and only if that is a terminal.
pub(crate) fn with_bar<T>(template: &str, work: impl FnOnce(&ProgressBar) -> T) -> T {
    let style = ProgressStyle::with_template(template);
    let bar = ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let result = work(&bar);
    bar.finish_and_clear();
    result
}

/// Shows how much is done. The work goes on.
pub(crate) fn show(bar: &ProgressBar, done: u64, all: u64) -> ControlFlow<()> {
    bar.set_length(all);
    bar.set_position(done);
    ControlFlow::Continue(())
}
