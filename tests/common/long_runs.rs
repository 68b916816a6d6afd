//! Random tests that take seconds by default, and as long as an environment variable says.
//!
//! | Variable | Test | Unit | Default |
//! |---|---|---|---|
//! | `TICKETING_MODEL_CASES` | `model`: random sales against a reference model | sequences of steps | 48 |
//! | `TICKETING_SCAN_MERGES` | `model scan_merge`: evenings at the entrance, reported in any order | evenings | 40 |
//! | `TICKETING_SYNC_FAILURES` | `storage failed_sync`: power failures after a failed sync | rounds, with 40 power failures each | 3 |
//! | `TICKETING_POWER_FAILURES` | `storage power_failures`: power failures at random moments of a sale | power failures | 300 |
//! | `TICKETING_IO_FAULTS` | `storage io_faults`: calls that fail during each of 21 operations | rounds of about 300 faults | 1 |
//! | `TICKETING_WEBHOOK_KILLS` | `webhooks kills`: a process that sells and sends webhooks is killed | kills | 12 |
//! | `TICKETING_MAIL_KILLS` | `mail kills`: a process that sells and sends mails is killed | kills | 6 |
//! | `TICKETING_STOPS` | `webhooks stopped_process`: one of two processes on a file is stopped for a while | stops | 10 |
//! | `TICKETING_CLOCK_JUMPS` | `facade random_clock_jumps`: the clock jumps between the steps of a sale | sequences of 60 steps | 12 |
//! | `TICKETING_TRANSACTION_ROWS` | `facade transaction_costs`: each operation with its largest request | rows of each kind | 2100 |
//! | `TICKETING_FUZZ_INPUTS` | `hostile_clients fuzzing`, `webhooks fuzzed_answers`: changed requests and answers | inputs of each kind | 1000 or 1500 |
//! | `TICKETING_EXPORTED_STORES` | `exports sums`: the sums of random sales | stores | 24 |
//! | `TICKETING_REPORTED_STORES` | `reports sums`: sales and arrivals over time against the exports | stores, a part of them for each test | 24 |
//! | `TICKETING_READ_STORES` | `exports sums`: the same, read by Python, DuckDB and openpyxl | stores | 4 |
//! | `TICKETING_HOSTILE_TEXTS` | `exports hostile_texts`: formulas, quotes and control characters; `event_pages hostile`: markup | texts | 400, 480 |
//! | `TICKETING_RANDOM_DOCUMENTS` | `documents scripts`: tickets with random texts in all scripts | tickets | 20 |
//! | `TICKETING_MUTATED_TOKENS` | `documents link_states`, and a tenth of them `reports page`: links with changed tokens | tokens | 20,000 |
//! | `TICKETING_MONEY_RUNS` | `money runs`: random sales, refunds, disputes and faults against a double-entry book | runs of 48 orders | 8 |
//! | `TICKETING_CANCELLED_ORDERS` | `money cancelled_events`: the orders of a cancelled event, refunded beside faults and kills | orders | 60 |
//! | `TICKETING_DAY_PERCENT` | `money organizers_day`: sales, guests, imported codes, an entrance and refunds | percent of 300, 40, 2,000 and 500 | 10 |
//! | `TICKETING_IMPORTED_CODES` | `program imports`: codes of another seller, imported by the program | codes | 3000 |
//! | `TICKETING_NOISY_TENANT` | `hostile_clients noisy_tenant`: scans, small orders and reads beside expensive requests | seconds, with a limit for the latencies | 200 requests |
//! | `TICKETING_TERMINATIONS` | `postgres lost_connections`: connections to PostgreSQL are terminated | connections | 100 |
//! | `TICKETING_DATABASE_CRASHES` | `postgres lost_connections`: PostgreSQL crashes | crashes | 4 |
//! | `TICKETING_SERVER_KILLS` | `postgres lost_connections`: servers are killed | kills | 50 |
//! | `TICKETING_FAILOVERS` | `postgres failover`: a standby is promoted under load | failovers | 1 |
//!
//! With `TICKETING_TEST_POSTGRES`, the defaults are a quarter of these.
//!
//! Each run has a seed, which a failure names. `TICKETING_TEST_SEED` sets the first seed, to repeat a failure or to try
//! other cases: `TICKETING_TEST_SEED=$RANDOM TICKETING_POWER_FAILURES=100000 cargo test --release --all-features --test
//! storage power_failures`.

use std::fmt::Debug;
use std::str::FromStr;

/// How often a test repeats what is random in it: the value of this environment variable, or the default.
pub fn repetitions(variable: &str, default: u64) -> u64 {
    from_environment(variable).unwrap_or_else(|| default_repetitions(default))
}

/// The default on this engine. On PostgreSQL it is a quarter: each statement takes longer, and the rules under test are
/// those of the crate, not of the engine.
pub fn default_repetitions(default: u64) -> u64 {
    if super::database::is_file() { default } else { default.div_ceil(4) }
}

/// The same for the cases of a property.
pub fn default_cases(default: u32) -> u32 {
    u32::try_from(default_repetitions(default.into())).unwrap_or(default)
}

/// The first seed of a random test: `TICKETING_TEST_SEED`, or 1. Further seeds follow it.
pub fn first_seed() -> u64 {
    from_environment("TICKETING_TEST_SEED").unwrap_or(1)
}

fn from_environment<T: FromStr<Err: Debug>>(variable: &str) -> Option<T> {
    let value = std::env::var(variable).ok()?;
    Some(value.parse().unwrap_or_else(|error| panic!("{variable}={value}: {error:?}")))
}
