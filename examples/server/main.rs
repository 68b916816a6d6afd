//! The ticketing server: `cargo run --example server --features server`. For its options, add `-- --help`.

mod admin;
mod copy;
mod database;
mod database_option;
mod documents;
mod failure;
mod options;
mod raw_options;
mod reconcile;
mod serve;
mod stripe;

use std::io::Write;
use std::process::ExitCode;

use failure::Failure;
use options::Command;

fn main() -> ExitCode {
    // TLS needs an implementation of cryptography. This fails only if the process has one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match options::parse(std::env::args_os().skip(1), &|name| std::env::var_os(name)).and_then(execute) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            failure.exit_code()
        }
    }
}

fn execute(command: Command) -> Result<(), Failure> {
    match command {
        Command::Help => print_line(options::HELP),
        Command::Version => print_line(concat!("ticketing ", env!("CARGO_PKG_VERSION"))),
        Command::Serve(settings) => serve::run(settings),
        Command::Admin { database, command } => print_line(&admin::execute(&database, command)?.to_string()),
        Command::Backup { database, path } => database::back_up(&database, &path),
        Command::Restore { database, backup } => database::restore(&backup, &database),
        Command::Check { database } => database::check(&database),
        Command::Copy { database, to } => copy::copy(&database, &to),
        Command::UndoCopy { database } => copy::undo(&database),
        Command::StripeCheck(settings) => stripe::check(&settings),
        Command::StripeReconcile { database, settings } => reconcile::reconcile(&database, &settings),
    }
}

/// Prints a line to standard output and flushes it, also if the output is a pipe.
fn print_line(line: &str) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    let written = writeln!(output, "{line}").and_then(|()| output.flush());
    written.map_err(|error| Failure::Run(format!("cannot write to standard output: {error}")))
}
