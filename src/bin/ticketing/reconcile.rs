//! The command `stripe-reconcile`, which compares the database with Stripe.

use super::arguments::ReconcileSettings;
use super::database_option::Database;
use super::failure::{Failure, usage};

/// Compares the database with Stripe, and prints the result. On a terminal, the progress is shown. Fails if a
/// difference is left. A server may use the database at the same time.
pub(crate) fn reconcile(database: &Database, settings: &ReconcileSettings) -> Result<(), Failure> {
    if settings.from >= settings.to {
        return Err(usage("--to must be after --from"));
    }
    run(database, settings)
}

#[cfg(feature = "stripe")]
use with_stripe::run;

#[cfg(not(feature = "stripe"))]
fn run(_: &Database, _: &ReconcileSettings) -> Result<(), Failure> {
    Err(super::stripe::not_compiled())
}

#[cfg(feature = "stripe")]
mod with_stripe {
    use std::collections::BTreeMap;
    use std::ops::ControlFlow;

    use ticketing::payment::{Discrepancies, Discrepancy, Reconcile, ReconciledTotal, Reconciliation};
    use ticketing::{Amount, Error};

    use super::super::output::{print_line, with_bar};
    use super::super::stripe;
    use super::{Database, Failure, ReconcileSettings};

    pub(super) fn run(database: &Database, settings: &ReconcileSettings) -> Result<(), Failure> {
        let result = compare(database, settings)?;
        print(&result)?;
        match unexplained(&result) {
            None => Ok(()),
            Some(problem) => Err(Failure::Run(problem)),
        }
    }

    fn compare(database: &Database, settings: &ReconcileSettings) -> Result<Reconciliation, Failure> {
        let gateway = stripe::gateway(&settings.stripe).map_err(not_compared)?;
        let mut request = Reconcile::new(settings.from, settings.to).apply(settings.apply);
        if let Some(text) = &settings.organization {
            let unknown = || Failure::NotChecked(format!("there is no organization with the id {text:?}"));
            request = request.organization(text.parse().map_err(|_| unknown())?);
        }
        let builder = database.builder_of_command(false).map_err(not_compared)?;
        let failed = |error: Error| not_compared(error.into());
        let service = builder.payment_gateway(gateway).open().map_err(failed)?;
        let result = with_bar("{pos} lines of Stripe, {msg}", |bar| {
            service.reconcile(&request, |progress| {
                let (accounts, all) = (progress.accounts, progress.total_accounts);
                bar.set_message(format!("{} ledger entries, {accounts} of {all} accounts", progress.entries));
                bar.set_position(progress.lines);
                ControlFlow::Continue(())
            })
        });
        result.map_err(failed)
    }

    /// A failure before the comparison is not one of the comparison.
    fn not_compared(failure: Failure) -> Failure {
        match failure {
            Failure::Run(problem) => Failure::NotChecked(problem),
            failure => failure,
        }
    }

    /// What is left to explain. `None` if both sides agree.
    fn unexplained(result: &Reconciliation) -> Option<String> {
        if result.is_explained() {
            return None;
        }
        let lists = [&result.missing_here, &result.missing_there, &result.different];
        let differences: u64 = lists.iter().map(|list| list.unresolved).sum();
        let accounts = result.unread_accounts.len();
        Some(match accounts {
            0 => format!("differences that are not explained: {differences}"),
            _ => format!(
                "differences that are not explained: {differences}; accounts that were not compared: {accounts}"
            ),
        })
    }

    /// The lists of differences, with their titles.
    fn lists(result: &Reconciliation) -> [(&'static str, &Discrepancies); 4] {
        [
            ("At Stripe and not here", &result.missing_here),
            ("Here and not at Stripe", &result.missing_there),
            ("Different", &result.different),
            ("Refunded now", &result.refunded),
        ]
    }

    /// Prints counts and sums, and then the lists.
    fn print(result: &Reconciliation) -> Result<(), Failure> {
        print_totals("Matched", &result.matched)?;
        if !result.returned.is_empty() {
            print_totals("Of orders that do not exist here, and gone back", &result.returned)?;
        }
        let counts = lists(result).map(|(title, list)| {
            let sums: Vec<_> = list.sums.iter().map(|(currency, sum)| format!("{sum} {currency}")).collect();
            let resolved = list.count - list.unresolved;
            let resolved = if resolved > 0 { format!("{resolved} resolved") } else { String::new() };
            vec![title.to_owned(), list.count.to_string(), sums.join(", "), resolved]
        });
        print_table(&counts, &[Side::Left, Side::Right, Side::Right, Side::Left])?;
        if result.foreign_lines > 0 {
            print_text(&format!("Lines of other programs and databases: {}", result.foreign_lines))?;
        }
        for unread in &result.unread_accounts {
            let account = unread.account.as_deref().unwrap_or("of the key");
            print_text(&format!("The account {account} was not compared completely: {}", unread.problem))?;
        }
        for (title, list) in lists(result) {
            if list.count > 0 {
                print_list(title, list)?;
            }
        }
        Ok(())
    }

    /// Prints a line for each kind, and one for all kinds of a currency.
    fn print_totals(title: &str, totals: &[ReconciledTotal]) -> Result<(), Failure> {
        let titles = [title, "count", "gross", "fee", "net", ""];
        let mut rows = vec![titles.map(str::to_owned).to_vec()];
        let mut sums: BTreeMap<(&str, &str), [Vec<Amount>; 3]> = BTreeMap::new();
        let mut counts: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
        for total in totals {
            let name = format!("  {} {} {}", total.currency, total.mode, total.kind);
            rows.push(row(name, (total.count, total.without_fee), [total.gross, total.fee, total.net]));
            let key = (total.currency.as_str(), total.mode.as_str());
            let all = sums.entry(key).or_default();
            for (sums, amount) in all.iter_mut().zip([total.gross, total.fee, total.net]) {
                sums.push(amount);
            }
            let count = counts.entry(key).or_default();
            *count = (count.0 + total.count, count.1 + total.without_fee);
        }
        for ((currency, mode), amounts) in sums {
            let sum = amounts.map(|amounts| Amount::checked_sum(amounts).unwrap_or_default());
            rows.push(row(format!("  {currency} {mode} all"), counts[&(currency, mode)], sum));
        }
        if totals.is_empty() {
            rows.push(vec!["  nothing".to_owned(), "0".to_owned()]);
        }
        print_table(&rows, &[Side::Left, Side::Right, Side::Right, Side::Right, Side::Right, Side::Left])
    }

    fn row(name: String, (count, without_fee): (u64, u64), amounts: [Amount; 3]) -> Vec<String> {
        let mut row = vec![name, count.to_string()];
        row.extend(amounts.map(|amount| amount.to_string()));
        row.push(if without_fee > 0 { format!("{without_fee} without a fee") } else { String::new() });
        row
    }

    fn print_list(title: &str, list: &Discrepancies) -> Result<(), Failure> {
        print_text("")?;
        print_text(title)?;
        let rows: Vec<_> = list.listed.iter().map(item).collect();
        print_table(&rows, &[Side::Left, Side::Right, Side::Left, Side::Left, Side::Left, Side::Left])?;
        let more = list.count - list.listed.len() as u64;
        if more > 0 {
            print_text(&format!("  and {more} more"))?;
        }
        Ok(())
    }

    fn item(item: &Discrepancy) -> Vec<String> {
        let account = item.account.as_ref().map(|account| format!(" ({account})"));
        vec![
            format!("  {}", item.kind),
            format!("{} {}", item.amount, item.currency),
            item.happened_at.to_string(),
            item.reference.clone().unwrap_or_else(|| "no id".to_owned()),
            item.order_id.map_or_else(|| "no order".to_owned(), |id| id.to_string()),
            format!("{}{}", item.problem, account.unwrap_or_default()),
        ]
    }

    /// The side of its column on which a text is.
    #[derive(Clone, Copy)]
    enum Side {
        Left,
        Right,
    }

    /// Prints rows whose columns are as wide as their widest text.
    fn print_table(rows: &[Vec<String>], sides: &[Side]) -> Result<(), Failure> {
        let width = |column: usize| {
            let texts = rows.iter().filter_map(|row| row.get(column));
            texts.map(|text| text.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..sides.len()).map(width).collect();
        for row in rows {
            let columns = row.iter().zip(sides).zip(&widths).map(|((text, side), &width)| match side {
                Side::Left => format!("{text:<width$}"),
                Side::Right => format!("{text:>width$}"),
            });
            print_text(columns.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }

    /// Prints a line. Control characters, which the answers of Stripe may contain, are escaped.
    fn print_text(text: &str) -> Result<(), Failure> {
        let escape = |character: char| match character.is_control() {
            true => character.escape_default().to_string(),
            false => character.to_string(),
        };
        print_line(&text.chars().map(escape).collect::<String>())
    }
}
