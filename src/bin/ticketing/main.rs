//! The program `ticketing`: the server, and commands for its database. For its options, run it with `--help`.

mod admin;
mod arguments;
mod copy;
mod database;
mod database_option;
mod documents;
mod door_link;
#[cfg(feature = "exports")]
mod export;
mod failure;
#[cfg(feature = "exports")]
mod import_tickets;
mod log_lines;
mod mail;
mod option_values;
mod output;
mod reconcile;
mod report;
mod serve;
mod stripe;

use std::process::ExitCode;

use arguments::{Arguments, Command};
use database_option::Database;
use failure::Failure;

/// Runs the program. The example `server` calls it too.
pub(crate) fn main() -> ExitCode {
    // TLS needs an implementation of cryptography. This fails only if the process has one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let arguments: Vec<_> = std::env::args_os().collect();
    let executed = arguments::parse(&arguments).and_then(|arguments| arguments.map_or(Ok(()), execute));
    match executed {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            failure.exit_code()
        }
    }
}

fn execute(arguments: Arguments) -> Result<(), Failure> {
    let database = || Database::read(&arguments.database);
    match arguments.command {
        None => serve::run(database()?, arguments.server),
        Some(Command::CreateOrganization(options)) => {
            output::print_line(&admin::create_organization(&database()?, options)?.to_string())
        }
        Some(Command::Admin(command)) => output::print_line(&admin::execute(&database()?, command)?.to_string()),
        Some(Command::Backup { path }) => database::back_up(&database()?, &path),
        Some(Command::Restore { backup }) => database::restore(&backup, &database()?),
        Some(Command::Check) => database::check(&database()?),
        Some(Command::Copy { to: Some(to), .. }) => copy::copy(&arguments.database, &to),
        Some(Command::Copy { to: None, .. }) => copy::undo(&database()?),
        Some(Command::StripeCheck(options)) => stripe::check(&options),
        Some(Command::StripeReconcile(settings)) => reconcile::reconcile(&database()?, &settings),
        Some(Command::MailTest { address, mail }) => mail::test(&address, &mail),
        Some(Command::DoorLink(settings)) => door_link::door_link(&database()?, settings),
        Some(Command::Report { event }) => report::report(&database()?, &event),
        Some(Command::ReportLink(settings)) => report::report_link(&database()?, &settings),
        #[cfg(feature = "exports")]
        Some(Command::Export(settings)) => export::export(&database()?, &settings),
        #[cfg(feature = "exports")]
        Some(Command::ImportTickets(settings)) => import_tickets::import_tickets(&database()?, &settings),
        Some(Command::Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut arguments::definition(), "ticketing", &mut script);
            output::print(&String::from_utf8_lossy(&script))
        }
    }
}
