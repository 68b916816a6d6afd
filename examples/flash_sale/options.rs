//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::{Arg, Parser, ValueExt};

pub(crate) const HELP: &str = "\
A flash sale against the real server, on this machine: more buyers than places, over HTTP.

Usage: flash_sale [OPTIONS]

  --places N            places of the event [5000]
  --buyers N            buyers, at least twice as many as places [20000]
  --connections N       connections that the buyers share, 1 to 128 [64]
  --slow-connections N  after a first sale, a second one beside so many connections that send next to nothing;
                        0 for the first alone [1000]
  --seed N              what decides on who pays, fails, gives up or wanders off [1]
  --database PATH       the database file; without it, one in a temporary folder
  --help                shows this text

Status: 0 every place was sold exactly once, 1 something was wrong, 2 the command line is.";

/// What kind of sale it is to be.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) places: usize,
    pub(crate) buyers: usize,
    pub(crate) connections: usize,
    pub(crate) slow_connections: usize,
    pub(crate) seed: u64,
    pub(crate) database: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { places: 5000, buyers: 20_000, connections: 64, slow_connections: 1000, seed: 1, database: None }
    }
}

/// Reads the command line. Nothing where only help is wanted; otherwise the error is one line.
pub(crate) fn read(arguments: impl Iterator<Item = OsString>) -> Result<Option<Options>, String> {
    let mut options = Options::default();
    let mut parser = Parser::from_args(arguments);
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        let Arg::Long(name) = argument else { return Err(argument.unexpected().to_string()) };
        let name = name.to_owned();
        let number = |parser: &mut Parser, least: usize, most: usize| {
            let value = parser.value().map_err(|error| error.to_string())?;
            let number = value.to_str().and_then(|text| text.parse().ok());
            let within = number.filter(|number| (least..=most).contains(number));
            within.ok_or_else(|| format!("--{name} must be a number from {least} to {most}"))
        };
        match name.as_str() {
            "help" => return Ok(None),
            "places" => options.places = number(&mut parser, 1, 1_000_000)?,
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
    if options.buyers < 2 * options.places {
        return Err("--buyers must be at least twice --places: not everybody pays".to_owned());
    }
    Ok(Some(options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_line(line: &str) -> Result<Option<Options>, String> {
        read(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn what_is_given_is_taken_and_the_rest_is_the_default() {
        let options = read_line("--places 7 --buyers=14 --seed 3 --database here.db").unwrap().unwrap();
        assert_eq!((options.places, options.buyers, options.seed), (7, 14, 3));
        assert_eq!((options.connections, options.slow_connections), (64, 1000));
        assert_eq!(options.database.unwrap().to_str(), Some("here.db"));
        assert!(read_line("--help").unwrap().is_none());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for line in [
            "--places 0",
            "--places many",
            "--places",
            "--connections 129",
            "--places 10 --buyers 19",
            "--fast",
            "word",
        ] {
            assert!(read_line(line).is_err(), "{line}");
        }
    }
}
