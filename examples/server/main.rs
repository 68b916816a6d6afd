//! The ticketing server: `cargo run --example server --features server`. Try `-- --help`.

mod admin;
mod failure;
mod given;
mod options;
mod run;
mod upkeep;

use std::io::Write;
use std::process::ExitCode;

use failure::Failure;
use options::Command;

fn main() -> ExitCode {
    match options::read(std::env::args_os().skip(1), &|name| std::env::var_os(name)).and_then(obey) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            failure.status()
        }
    }
}

fn obey(command: Command) -> Result<(), Failure> {
    match command {
        Command::Help => say(options::HELP),
        Command::Version => say(concat!("ticketing ", env!("CARGO_PKG_VERSION"))),
        Command::Serve(settings) => run::run(settings),
        Command::Administer { database, task } => say(&admin::perform(&database, task)?.to_string()),
        Command::BackUp { database, path } => upkeep::back_up(&database, &path),
        Command::Check { database } => upkeep::check(&database),
    }
}

/// Writes a line to standard output, at once also where it is a pipe.
fn say(line: &str) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    let written = writeln!(output, "{line}").and_then(|()| output.flush());
    written.map_err(|error| Failure::Run(format!("standard output cannot be written: {error}")))
}
