//! The report of an event: how it sells and fills.

use std::collections::BTreeMap;
use std::ops::Range;

use askama::Template;

use super::bill::Line;
use super::chart::Chart;
use super::document::render;
use super::heading::Heading;
use crate::error::Result;
use crate::model::sale::event_report::{CodeSums, EventReport};
use crate::model::sale::event_sales::{SalesByMode, SalesInterval, SalesSums};
use crate::model::sale::gateway_account::PaymentMode;
use crate::model::sale::summary::TicketTypeSummary;
use crate::model::tickets::arrivals::{ArrivalsItem, EventArrivals, REPORTED_SLOTS, ReportedArrivals};
use crate::model::values::amount::Amount;
use crate::model::values::timestamp::Timestamp;
use crate::rules::calendar::Zone;
use crate::rules::{printed_text, sales_intervals};
use crate::words::{self, Words};

/// The most bars of a chart: then they are weeks, and then several weeks.
const MAX_BARS: usize = 120;
/// The fewest bars, so that one is not as wide as the page.
const MIN_DAYS: usize = 14;
const MIN_SLOTS: i64 = 24;
const HOURS: i64 = 48;
const HOUR: i64 = 3_600_000;
/// Five minutes, in milliseconds.
const SLOT: i64 = 300_000;
/// The gates with a colour of their own.
const GATES: usize = 5;

#[derive(Template)]
#[template(path = "report.html")]
struct ReportPage<'a> {
    words: &'static Words,
    heading: Heading<'a>,
    as_of: String,
    totals: Vec<Line>,
    tests: Vec<Line>,
    has_both_modes: bool,
    arrivals: Option<Arrivals>,
    /// `None` if nothing was sold yet.
    days: Option<Drawing>,
    today: String,
    hours: Option<Drawing>,
    types: Vec<Seats>,
    codes: Vec<Table>,
    order: Option<String>,
    organizer: Option<String>,
}

/// A chart and what stands around it.
struct Drawing {
    name: &'static str,
    chart: Chart,
    /// How large the bars are, if the legend does not say it.
    scale: Option<String>,
    /// Classes and labels.
    legend: Vec<(String, String)>,
    alternative: String,
    /// The labels of the first and the last bar.
    first: String,
    last: String,
    table: Table,
}

struct Table {
    caption: &'static str,
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

/// The seats of a ticket type, in thousandths of them all.
struct Seats {
    name: String,
    sold: i64,
    reserved: i64,
    text: String,
}

struct Arrivals {
    totals: Vec<Line>,
    drawing: Option<Drawing>,
    gates: Table,
    refused: Vec<Line>,
}

impl ReportPage<'_> {
    fn title(&self) -> String {
        format!("{}: {}", self.words.report.title, self.heading.title)
    }
}

/// Renders the report of an event. `accepted` are the languages of the reader.
pub(crate) fn report_page(report: &EventReport<ReportedArrivals>, accepted: &[String]) -> Result<String> {
    let words = words::for_reader(None, accepted);
    let writer = Writer { words, zone: Zone::stored(&report.event.timezone)?, report };
    let sums = report.sales.quarters.iter().fold(SalesByMode::default(), |mut sums, (_, quarter)| {
        sums.add(*quarter);
        sums
    });
    let has_sales = sums.of(report.mode).orders > 0;
    render(&ReportPage {
        words,
        heading: Heading::of(&report.event, words, None)?,
        as_of: (words.report.as_of)(&words::moment(words, writer.zone, report.as_of)),
        totals: writer.totals(&sums),
        tests: writer.tests(&sums.test),
        has_both_modes: report.mode == PaymentMode::Live && sums.test != SalesSums::default(),
        arrivals: report.arrivals.as_ref().map(|arrivals| writer.arrivals(arrivals)),
        days: has_sales.then(|| writer.days()),
        today: writer.today(),
        hours: has_sales.then(|| writer.hours()).filter(|hours| !hours.table.rows.is_empty()),
        types: report.summary.ticket_types.iter().map(|summary| writer.seats(summary)).collect(),
        codes: [
            (words.report.discount_codes, &report.sales.discounts),
            (words.report.affiliate_codes, &report.sales.affiliates),
        ]
        .into_iter()
        .filter(|(_, codes)| !codes.is_empty())
        .map(|(caption, codes)| writer.codes(caption, codes))
        .collect(),
        order: None,
        organizer: printed_text::organizer(&report.organizer),
    })
}

/// Writes figures in the language of the reader.
struct Writer<'a> {
    words: &'static Words,
    zone: Zone,
    report: &'a EventReport<ReportedArrivals>,
}

impl Writer<'_> {
    fn count(&self, number: i64) -> String {
        words::count(self.words, number)
    }

    fn money(&self, minor: i64) -> String {
        let decimals = self.report.summary.gross_revenue.decimals();
        let amount = Amount::new(minor, decimals).unwrap_or_default();
        words::money(self.words, amount, &self.report.summary.currency)
    }

    /// A day, in a narrow column in several lines.
    fn day(&self, at: Timestamp) -> String {
        words::day_at(self.words, self.zone, at).replace('\u{A0}', " ")
    }

    fn line(label: &str, amount: String) -> Line {
        Line { label: label.to_owned(), note: None, amount }
    }

    fn totals(&self, sums: &SalesByMode) -> Vec<Line> {
        let (words, summary) = (&self.words.report, &self.report.summary);
        let seats = |of: fn(&TicketTypeSummary) -> i64| summary.ticket_types.iter().map(of).sum::<i64>();
        let sold = Self::line(words.sold, self.count(seats(|summary| summary.sold)));
        let of = (words.of)(&self.count(seats(|summary| summary.quantity)));
        let mut lines = vec![
            Line { note: Some(of), ..sold },
            Self::line(words.reserved, self.count(seats(|summary| summary.reserved))),
            Self::line(words.left, self.count(seats(|summary| summary.available))),
        ];
        let further = [
            (words.issued, sums.live.issued),
            (words.imported, sums.live.imported),
            (words.cancelled, summary.tickets_cancelled),
        ];
        for (label, number) in further {
            if number > 0 {
                lines.push(Self::line(label, self.count(number)));
            }
        }
        lines.push(Self::line(words.revenue, self.money(sums.live.revenue)));
        if sums.live.refunded != 0 {
            lines.push(Self::line(self.words.receipt.refunded, self.money(sums.live.refunded)));
        }
        if self.report.mode == PaymentMode::Live && !summary.disputed_total.is_zero() {
            lines.push(Self::line(words.disputed, self.money(summary.disputed_total.minor_units())));
        }
        lines
    }

    fn tests(&self, sums: &SalesSums) -> Vec<Line> {
        let words = &self.words.report;
        if *sums == SalesSums::default() {
            return Vec::new();
        }
        vec![
            Self::line(words.orders, self.count(sums.orders)),
            Self::line(self.words.event.tickets, self.count(sums.tickets)),
            Self::line(words.revenue, self.money(sums.revenue)),
            Self::line(self.words.receipt.refunded, self.money(sums.refunded)),
        ]
    }

    fn today(&self) -> String {
        let sales = &self.report.sales;
        let time = words::time_at(self.words, self.zone, self.report.as_of);
        (self.words.report.today)(&self.count(sales.today), &time, &self.count(sales.week_before))
    }

    /// The sales of each of these times.
    fn sums_of(&self, ranges: &[Range<Timestamp>]) -> Vec<SalesSums> {
        let mut sums = vec![SalesSums::default(); ranges.len()];
        for (at, quarter) in &self.report.sales.quarters {
            let range = ranges.partition_point(|range| range.end <= *at);
            if let Some(sum) = sums.get_mut(range).filter(|_| ranges[range].contains(at)) {
                sum.add(quarter.of(self.report.mode));
            }
        }
        sums
    }

    /// The days from the first order to today, or if these are many, weeks that begin on Monday.
    fn days(&self) -> Drawing {
        let day_at = |at| sales_intervals::interval_at(self.zone, SalesInterval::Day, at);
        let mode = self.report.mode;
        let first = self.report.sales.quarters.iter().find(|(_, sums)| sums.of(mode).orders > 0);
        let mut day = day_at(first.map_or(self.report.as_of, |(at, _)| *at).min(self.report.as_of));
        let mut days = Vec::new();
        while day.start <= self.report.as_of && day.start < day.end {
            let next = day.end;
            days.push(day);
            day = day_at(next);
        }
        while days.len() < MIN_DAYS && days[0].start > Timestamp::UNIX_EPOCH {
            let before = Timestamp::from_millis(days[0].start.millis() - 1).unwrap_or_default();
            days.insert(0, day_at(before));
        }
        let is_by_day = days.len() <= MAX_BARS;
        let ranges = if is_by_day { days } else { self.weeks(&days) };
        let name = if is_by_day { self.words.report.by_day } else { self.words.report.by_weeks };
        let head = if is_by_day { self.words.report.day } else { self.words.report.week_from };
        self.sales(name, head, &ranges, true, |at| self.day(at))
    }

    /// The weeks of these days. Several weeks have one bar if there are very many.
    fn weeks(&self, days: &[Range<Timestamp>]) -> Vec<Range<Timestamp>> {
        let mut weeks: Vec<Range<Timestamp>> = Vec::new();
        for day in days {
            let is_monday = self.zone.date(day.start).weekday().number_days_from_monday() == 0;
            match weeks.last_mut() {
                Some(week) if !is_monday => week.end = day.end,
                _ => weeks.push(day.clone()),
            }
        }
        let weeks_of_bar = weeks.len().div_ceil(MAX_BARS).max(1);
        weeks.chunks(weeks_of_bar).map(|weeks| weeks[0].start..weeks[weeks.len() - 1].end).collect()
    }

    fn hours(&self) -> Drawing {
        let now = self.report.as_of;
        let hour_at = |at| sales_intervals::interval_at(self.zone, SalesInterval::Hour, at);
        let mut hour = hour_at(Timestamp::from_millis(now.millis() - (HOURS - 1) * HOUR).unwrap_or_default());
        let mut hours = Vec::new();
        while hour.start <= now && hour.start < hour.end {
            let next = hour.end;
            hours.push(hour);
            hour = hour_at(next);
        }
        let label = |at| format!("{}, {}", self.day(at), words::time_at(self.words, self.zone, at));
        self.sales(self.words.report.last_hours, self.words.report.time, &hours, false, label)
    }

    /// A chart of the tickets that were sold in each of these times.
    fn sales(
        &self,
        name: &'static str,
        first_column: &'static str,
        ranges: &[Range<Timestamp>],
        with_sum: bool,
        label: impl Fn(Timestamp) -> String,
    ) -> Drawing {
        let words = &self.words.report;
        let sums = self.sums_of(ranges);
        let tickets: Vec<i64> = sums.iter().map(|sums| sums.tickets).collect();
        let mut total = 0;
        let totals: Vec<i64> = tickets
            .iter()
            .map(|tickets| {
                total += tickets;
                total
            })
            .collect();
        let chart = Chart::new(std::slice::from_ref(&tickets), with_sum.then_some(totals.as_slice()));
        let bars = (words.chart)(self.words.event.tickets, &self.count(chart.largest));
        let line = with_sum.then(|| (words.sum_line)(&self.count(total)));
        let mut head = vec![first_column, words.orders, self.words.event.tickets];
        head.extend(with_sum.then_some(words.sum));
        head.extend([words.revenue, self.words.receipt.refunded]);
        let any_cancelled = sums.iter().any(|sums| sums.cancelled > 0);
        head.extend(any_cancelled.then_some(words.cancelled));
        let rows = ranges.iter().zip(&sums).zip(&totals).filter(|((_, sums), _)| {
            // Tickets without an order are not in this table.
            **sums != SalesSums { issued: sums.issued, imported: sums.imported, ..SalesSums::default() }
        });
        let rows = rows.map(|((range, sums), total)| {
            let mut row = vec![label(range.start), self.count(sums.orders), self.count(sums.tickets)];
            row.extend(with_sum.then(|| self.count(*total)));
            row.extend([self.money(sums.revenue), self.money(sums.refunded)]);
            row.extend(any_cancelled.then(|| self.count(sums.cancelled)));
            row
        });
        Drawing {
            name,
            alternative: format!("{name}. {bars}. {}", line.as_deref().unwrap_or_default()).trim().to_owned(),
            scale: None,
            legend: legend([bars], line),
            first: ranges.first().map(|range| label(range.start)).unwrap_or_default(),
            last: ranges.last().map(|range| label(range.start)).unwrap_or_default(),
            table: Table { caption: name, head, rows: rows.collect() },
            chart,
        }
    }

    fn seats(&self, summary: &TicketTypeSummary) -> Seats {
        let words = &self.words.report;
        let TicketTypeSummary { quantity, sold, reserved, available, .. } = *summary;
        let share = |number: i64| {
            let thousandths = i128::from(number) * 1000 / i128::from(quantity.max(1));
            i64::try_from(thousandths.clamp(0, 1000)).unwrap_or_default()
        };
        let counts = [(words.sold, sold), (words.reserved, reserved), (words.left, available)];
        let counts = counts.map(|(label, number)| unbreakable(&format!("{label} {}", self.count(number))));
        let text =
            format!("{} {}", counts.join(" · "), unbreakable(&format!("({})", (words.of)(&self.count(quantity)))));
        Seats { name: printed_text::line(&summary.name), sold: share(sold), reserved: share(reserved), text }
    }

    fn codes(&self, caption: &'static str, codes: &[CodeSums]) -> Table {
        let words = &self.words.report;
        let rows = codes.iter().map(|CodeSums { code, sums }| {
            let name = match code {
                Ok(code) => printed_text::line(code),
                Err(number) => (words.other_codes)(*number),
            };
            vec![name, self.count(sums.orders), self.count(sums.tickets), self.money(sums.revenue)]
        });
        let head = vec![words.code, words.uses, self.words.event.tickets, words.revenue];
        Table { caption, head, rows: rows.collect() }
    }

    fn arrivals(&self, reported: &ReportedArrivals) -> Arrivals {
        let words = &self.words.report;
        let arrivals = &reported.arrivals;
        let totals =
            [(words.inside, arrivals.inside), (words.expected, arrivals.expected), (words.missing, arrivals.missing)];
        let gates = gates_of(&reported.gates);
        let name = |gate: &Option<String>| gate.as_deref().map_or_else(|| words.no_gate.to_owned(), printed_text::line);
        let rows = gates.iter().map(|(gate, sums)| {
            vec![name(gate), self.count(sums.admitted), self.count(sums.left), self.count(sums.refused)]
        });
        let mut refused: BTreeMap<Option<&str>, i64> = BTreeMap::new();
        for refusal in reported.gates.iter().flat_map(|gate| &gate.refused) {
            *refused.entry(refusal.reason.map(crate::error::Reason::as_str)).or_default() += refusal.count;
        }
        let reason_in_words = words::scan_refusals(self.words);
        let head = vec![words.gate, words.admitted, words.departed, words.refused];
        Arrivals {
            totals: totals.map(|(label, number)| Self::line(label, self.count(number))).into(),
            drawing: (!arrivals.items.is_empty()).then(|| self.arrivals_chart(arrivals, &gates, name)),
            gates: Table { caption: words.gate, head, rows: rows.collect() },
            refused: refused
                .into_iter()
                .map(|(reason, number)| Self::line(&reason_in_words(reason), self.count(number)))
                .collect(),
        }
    }

    /// The admissions of the last ten hours at most, by gate, with those who are inside as a line.
    fn arrivals_chart(
        &self,
        arrivals: &EventArrivals,
        gates: &[(Option<String>, GateSums)],
        name: impl Fn(&Option<String>) -> String,
    ) -> Drawing {
        let words = &self.words.report;
        let slot_of = |at: Timestamp| at.millis().div_euclid(SLOT);
        let slots = arrivals.items.iter().map(|item| slot_of(item.from));
        let last = slots.clone().max().unwrap_or_default();
        let first = slots.min().unwrap_or_default().clamp(last - REPORTED_SLOTS + 1, last - MIN_SLOTS + 1);
        let columns = usize::try_from(last - first + 1).unwrap_or_default();
        let named = if gates.len() > GATES + 1 { GATES } else { gates.len() };
        let mut series = vec![vec![0; columns]; named + usize::from(named < gates.len())];
        let mut sums = vec![GateSums::default(); columns];
        for item in &arrivals.items {
            let Ok(column) = usize::try_from(slot_of(item.from) - first) else { continue };
            let gate = gates.iter().position(|(gate, _)| *gate == item.gate).unwrap_or(named).min(named);
            if let Some(bar) = series.get_mut(gate).and_then(|bars| bars.get_mut(column)) {
                *bar += item.admitted;
            }
            if let Some(sums) = sums.get_mut(column) {
                sums.add(item);
            }
        }
        // The line ends with those who are inside now.
        let mut inside = vec![arrivals.inside; columns];
        for column in (1..columns).rev() {
            inside[column - 1] = inside[column] - sums[column].admitted + sums[column].left;
        }
        let chart = Chart::new(&series, Some(&inside));
        let bars = (words.chart)(words.admitted, &self.count(chart.largest));
        let line = (words.inside_line)(&self.count(arrivals.inside));
        let labels = gates.iter().take(named).map(|(gate, _)| name(gate));
        let labels = labels.chain((named < gates.len()).then(|| words.other_gates.to_owned()));
        let start = |column: usize| {
            let slot = first + i64::try_from(column).unwrap_or_default();
            words::time_at(self.words, self.zone, Timestamp::from_millis(slot * SLOT).unwrap_or_default())
        };
        let rows = sums.iter().enumerate().filter(|(_, sums)| **sums != GateSums::default());
        let rows = rows.map(|(column, sums)| {
            let numbers = [sums.admitted, sums.left, sums.refused, inside[column]];
            [start(column)].into_iter().chain(numbers.map(|number| self.count(number))).collect()
        });
        Drawing {
            name: words.arrivals,
            alternative: format!("{bars}. {line}"),
            scale: Some(bars),
            legend: legend(labels, Some(line)),
            first: start(0),
            last: start(columns.saturating_sub(1)),
            table: Table {
                caption: words.arrivals,
                head: vec![words.time, words.admitted, words.departed, words.refused, words.inside],
                rows: rows.collect(),
            },
            chart,
        }
    }
}

/// A text that stays on one line.
fn unbreakable(text: &str) -> String {
    text.replace(' ', "\u{A0}")
}

/// The labels of the series of a chart, and of its line.
fn legend(series: impl IntoIterator<Item = String>, line: Option<String>) -> Vec<(String, String)> {
    let series = series.into_iter().enumerate().map(|(number, label)| (format!("s{number}"), label));
    series.chain(line.map(|label| ("line".to_owned(), label))).collect()
}

/// What happened at one gate, or in five minutes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct GateSums {
    admitted: i64,
    left: i64,
    refused: i64,
}

impl GateSums {
    fn add(&mut self, item: &ArrivalsItem) {
        self.admitted += item.admitted;
        self.left += item.left;
        self.refused += item.refused.iter().map(|refused| refused.count).sum::<i64>();
    }
}

/// The gates, those with the most admissions first.
fn gates_of(items: &[ArrivalsItem]) -> Vec<(Option<String>, GateSums)> {
    let sums = |item: &ArrivalsItem| {
        let mut sums = GateSums::default();
        sums.add(item);
        (item.gate.clone(), sums)
    };
    let mut gates: Vec<_> = items.iter().map(sums).collect();
    gates.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.admitted));
    gates
}
