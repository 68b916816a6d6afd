//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::{Arg, Parser, ValueExt};

pub(crate) const HELP: &str = "\
A flash sale against the real server on this machine, over HTTP, with more buyers than seats.

Usage: flash_sale [OPTIONS]

  --seats N             Seats of the event [default: 5000]
  --buyers N            Buyers, at least twice the number of seats [default: 20000]
  --connections N       Connections that the buyers share, 1 to 128 [default: 64]
  --slow-connections N  Run a second sale next to this number of connections that send almost nothing;
                        0 for the first sale only [default: 1000]
  --seed N              Seed of the random behavior of the buyers [default: 1]
  --database PATH       Database file [default: a temporary file]
  --help                Print this help

Exit status: 0 every seat was sold exactly once; 1 a check failed, or an error; 2 invalid command line.";

#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) seats: usize,
    pub(crate) buyers: usize,
    pub(crate) connections: usize,
    pub(crate) slow_connections: usize,
    pub(crate) seed: u64,
    pub(crate) database: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { seats: 5000, buyers: 20_000, connections: 64, slow_connections: 1000, seed: 1, database: None }
    }
}

/// Parses the command line. Returns `None` for `--help`. Errors are one line.
pub(crate) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Option<Options>, String> {
    let mut options = Options::default();
    let mut parser = Parser::from_args(arguments);
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        let Arg::Long(name) = argument else { return Err(argument.unexpected().to_string()) };
        let name = name.to_owned();
        let number = |parser: &mut Parser, min: usize, max: usize| {
            let value = parser.value().map_err(|error| error.to_string())?;
            let number = value.to_str().and_then(|text| text.parse().ok());
            let in_range = number.filter(|number| (min..=max).contains(number));
            in_range.ok_or_else(|| format!("--{name} must be a whole number from {min} to {max}"))
        };
        match name.as_str() {
            "help" => return Ok(None),
            // `--places` is the former name.
            "seats" | "places" => options.seats = number(&mut parser, 1, 1_000_000)?,
            "buyers" => options.buyers = number(&mut parser, 1, 10_000_000)?,
            "connections" => options.connections = number(&mut parser, 1, 128)?,
            "slow-connections" => options.slow_connections = number(&mut parser, 0, 20_000)?,
            "seed" => {
                options.seed = parser.value().and_then(|value| value.parse()).map_err(|error| error.to_string())?;
            }
            "database" => options.database = Some(parser.value().map_err(|error| error.to_string())?.into()),
            _ => return Err(format!("unknown option --{name}")),
        }
    }
    if options.buyers < 2 * options.seats {
        return Err("--buyers must be at least twice --seats, because not every buyer pays".to_owned());
    }
    Ok(Some(options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> Result<Option<Options>, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn options_override_their_defaults() {
        let options = parse_line("--seats 7 --buyers=14 --seed 3 --database here.db").unwrap().unwrap();
        assert_eq!((options.seats, options.buyers, options.seed), (7, 14, 3));
        assert_eq!((options.connections, options.slow_connections), (64, 1000));
        assert_eq!(options.database.unwrap().to_str(), Some("here.db"));
        assert!(parse_line("--help").unwrap().is_none());
    }

    #[test]
    fn invalid_options_are_refused() {
        for line in
            ["--seats 0", "--seats many", "--seats", "--connections 129", "--seats 10 --buyers 19", "--fast", "word"]
        {
            assert!(parse_line(line).is_err(), "{line}");
        }
    }
}
