//! The command line.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

/// A flash sale against the real server on this machine, over HTTP, with more buyers than seats.
#[derive(Debug, Clone, Parser)]
#[command(
    max_term_width = 100,
    after_help = "Exit status: 0 every seat was sold exactly once; 1 a check failed, or an error; 2 invalid command line."
)]
pub(crate) struct Options {
    /// Seats of the event.
    // The second is the former name.
    #[arg(long, alias = "places", default_value_t = 5000, value_parser = number(1..=1_000_000))]
    pub(crate) seats: usize,
    /// Buyers, at least twice the number of seats.
    #[arg(long, default_value_t = 20_000, value_parser = number(1..=10_000_000))]
    pub(crate) buyers: usize,
    /// Connections that the buyers share, 1 to 128.
    #[arg(long, default_value_t = 64, value_parser = number(1..=128))]
    pub(crate) connections: usize,
    /// Run a second sale next to this number of connections that send almost nothing; 0 for the first sale only.
    #[arg(long, default_value_t = 1000, value_parser = number(0..=20_000))]
    pub(crate) slow_connections: usize,
    /// Buy on the page of the event, with its forms, instead of the operations. Needs the feature `event-pages`.
    #[cfg(feature = "event-pages")]
    #[arg(long)]
    pub(crate) pages: bool,
    /// Seed of the random behavior of the buyers.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Database file. Without it, a temporary file is used.
    #[arg(long)]
    pub(crate) database: Option<PathBuf>,
}

fn number(range: RangeInclusive<u64>) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(range)
}

impl Options {
    /// Whether buyers use the page of the event.
    #[cfg(feature = "event-pages")]
    pub(crate) const fn on_pages(&self) -> bool {
        self.pages
    }

    #[cfg(not(feature = "event-pages"))]
    pub(crate) const fn on_pages(&self) -> bool {
        false
    }

    /// Checks what concerns several options.
    pub(crate) fn check(self) -> Result<Self, clap::Error> {
        if self.buyers < 2 * self.seats {
            let problem = "--buyers must be at least twice --seats, because not every buyer pays";
            return Err(Self::command().error(ErrorKind::ValueValidation, problem));
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, clap::Error> {
        Options::try_parse_from(["flash_sale"].into_iter().chain(line.split_whitespace())).and_then(Options::check)
    }

    #[test]
    fn options_override_their_defaults() {
        let options = parse("--seats 7 --buyers=14 --seed 3 --database here.db").unwrap();
        assert_eq!((options.seats, options.buyers, options.seed), (7, 14, 3));
        assert_eq!((options.connections, options.slow_connections), (64, 1000));
        assert_eq!(options.database.unwrap().to_str(), Some("here.db"));
        assert_eq!(parse("--help").unwrap_err().kind(), ErrorKind::DisplayHelp);
    }

    #[test]
    fn invalid_options_are_refused() {
        for line in
            ["--seats 0", "--seats many", "--seats", "--connections 129", "--seats 10 --buyers 19", "--fast", "word"]
        {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }
}
