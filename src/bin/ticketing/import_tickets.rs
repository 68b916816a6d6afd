//! The command that imports tickets that were sold elsewhere from a CSV file.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use csv::{ByteRecord, Reader, ReaderBuilder, Terminator};
use indicatif::ProgressBar;
use serde_json::json;
use sha2::{Digest, Sha256};
use ticketing::allocation::{AllocationState, ImportTickets, ImportedTicket, ListAllocations};
use ticketing::error::Reason;
use ticketing::id::{AllocationId, EventId, TicketTypeId};
use ticketing::ticket::FindTicket;
use ticketing::{Caller, Error, TicketingService, page};

use super::admin::{organization_of_event, parse_id};
use super::arguments::ImportSettings;
use super::database_option::Database;
use super::failure::{Failure, usage};
use super::output::{print_line, show, with_bar};

/// How many tickets one call imports.
const BATCH: usize = 500;

/// The characters that may separate columns.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

/// Imports the tickets of a file, and prints how many. Lines that are refused are printed with their numbers to standard
/// error, and make the command fail after all others are imported. On a terminal, a progress bar is shown. Repeated, it
/// imports what is missing.
pub(crate) fn import_tickets(database: &Database, settings: &ImportSettings) -> Result<(), Failure> {
    let path = settings.file.as_path();
    let file = File::open(path).map_err(|error| failed(path, &error))?;
    let length = file.metadata().map_err(|error| failed(path, &error))?.len();
    let service = database.builder_of_command(false)?.open()?;
    let event: EventId = parse_id(&settings.event, "event")?;
    let ticket_type: TicketTypeId = parse_id(&settings.ticket_type, "ticket type")?;
    let caller = service.act_for(organization_of_event(&service, event)?)?;
    if service.get_ticket_type(&caller, ticket_type)?.event_id != event {
        return Err(Failure::Run(format!("{ticket_type} is no ticket type of the event {event}")));
    }
    let of_file = || path.file_stem().map(|name| name.to_string_lossy().chars().take(100).collect());
    let name = settings.name.clone().or_else(of_file).unwrap_or_default();
    let allocation = find(&service, &caller, ticket_type, &name)?;
    let mut import = Import {
        service: &service,
        caller: &caller,
        event,
        ticket_type,
        name,
        notify: settings.notify,
        allocation,
        seen: HashSet::new(),
        imported: 0,
        already_imported: 0,
        refused: 0,
    };
    with_bar("{wide_bar} {bytes} of {total_bytes}", |bar| import.read(path, file, length, settings, bar))?;
    let Import { allocation, imported, already_imported, refused, .. } = import;
    print_line(
        &json!({
            "allocation": allocation, "imported": imported, "alreadyImported": already_imported, "refused": refused,
        })
        .to_string(),
    )?;
    match refused {
        0 => Ok(()),
        1 => Err(Failure::Run("1 line was refused".to_owned())),
        _ => Err(Failure::Run(format!("{refused} lines were refused"))),
    }
}

/// The allocation of an earlier import with this name.
fn find(
    service: &TicketingService,
    caller: &Caller,
    ticket_type: TicketTypeId,
    name: &str,
) -> ticketing::Result<Option<AllocationId>> {
    let request = ListAllocations::new().ticket_type(ticket_type).state(AllocationState::Complete);
    for allocation in page::all(|page| service.list_allocations(caller, request.clone().page(page))) {
        let allocation = allocation?;
        if allocation.imported && allocation.name == name {
            return Ok(Some(allocation.id));
        }
    }
    Ok(None)
}

/// A line of the file.
struct Line {
    /// Its number, from 1.
    number: u64,
    ticket: ImportedTicket,
}

/// A column of the file, by its number or its heading.
#[derive(Debug, Clone)]
pub(crate) enum Column {
    Number(usize),
    Heading(String),
}

impl Column {
    /// Reads a column of the command line. Never fails.
    #[expect(clippy::unnecessary_wraps, reason = "clap takes a function that may fail")]
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let number = text.parse::<usize>().ok().filter(|number| *number > 0);
        Ok(number.map_or_else(|| Self::Heading(text.to_owned()), Self::Number))
    }

    /// The position in a record whose headings are these.
    fn position(&self, headings: &ByteRecord) -> Result<usize, Failure> {
        match self {
            Self::Number(number) => Ok(number - 1),
            Self::Heading(name) => {
                let found = headings.iter().position(|heading| heading.trim_ascii() == name.as_bytes());
                found.ok_or_else(|| usage(format!("the first line of the file has no heading {name:?}")))
            }
        }
    }
}

struct Import<'s> {
    service: &'s TicketingService,
    caller: &'s Caller,
    event: EventId,
    ticket_type: TicketTypeId,
    name: String,
    notify: bool,
    /// `None` until something is imported.
    allocation: Option<AllocationId>,
    /// The beginnings of the hashes of all codes of the file.
    seen: HashSet<[u8; 16]>,
    imported: usize,
    already_imported: usize,
    refused: usize,
}

impl Import<'_> {
    /// Reads the file, a batch of lines at a time.
    fn read(
        &mut self,
        path: &Path,
        file: File,
        length: u64,
        settings: &ImportSettings,
        bar: &ProgressBar,
    ) -> Result<(), Failure> {
        let mut reader = reader(file).map_err(|error| failed(path, &error))?;
        let columns = [Some(&settings.code_column), settings.label_column.as_ref()];
        let has_headings = columns.iter().flatten().any(|column| matches!(column, Column::Heading(_)));
        let mut record = ByteRecord::new();
        if has_headings {
            reader.read_byte_record(&mut record).map_err(|error| failed(path, &error))?;
        }
        let code = settings.code_column.position(&record)?;
        let label = settings.label_column.as_ref().map(|column| column.position(&record)).transpose()?;
        let mut lines = Vec::with_capacity(BATCH);
        while reader.read_byte_record(&mut record).map_err(|error| failed(path, &error))? {
            let position = record.position().map_or((0, 0), |position| (position.line(), position.byte()));
            let _ = show(bar, position.1, length);
            if record.len() == 1 && record[0].trim_ascii().is_empty() {
                continue;
            }
            match ticket(&record, code, label) {
                Ok(ticket) if self.is_first(&ticket.code) => lines.push(Line { number: position.0, ticket }),
                Ok(_) => self.refuse(position.0, "its code is on an earlier line too", bar),
                Err(problem) => self.refuse(position.0, problem, bar),
            }
            if lines.len() == BATCH {
                self.import(std::mem::take(&mut lines), bar)?;
            }
        }
        self.import(lines, bar)
    }

    fn is_first(&mut self, code: &str) -> bool {
        let hash = Sha256::digest(code.as_bytes());
        let mut beginning = [0; 16];
        beginning.copy_from_slice(&hash[..16]);
        self.seen.insert(beginning)
    }

    /// Prints why a line is refused.
    fn refuse(&mut self, line: u64, problem: &str, bar: &ProgressBar) {
        self.refused += 1;
        bar.suspend(|| eprintln!("line {line}: {problem}"));
    }

    /// Imports lines. Those that are refused are taken out, and the others are tried again.
    fn import(&mut self, mut lines: Vec<Line>, bar: &ProgressBar) -> Result<(), Failure> {
        while !lines.is_empty() {
            let tickets = lines.iter().map(|line| line.ticket.clone());
            let request = match self.allocation {
                Some(allocation) => ImportTickets::add_to(allocation, tickets),
                None => ImportTickets::new(self.name.as_str(), tickets),
            };
            match self.service.import_tickets(self.caller, self.ticket_type, request.notify(self.notify)) {
                Ok(import) => {
                    self.allocation = Some(import.allocation.id);
                    self.imported += lines.len();
                    return Ok(());
                }
                Err(error) if error.reason() == Some(Reason::SoldOut) => self.take_what_fits(&mut lines, bar)?,
                Err(error) => self.take_out_refused(&mut lines, error, bar)?,
            }
        }
        Ok(())
    }

    /// Refuses the lines for which no seats are left.
    fn take_what_fits(&mut self, lines: &mut Vec<Line>, bar: &ProgressBar) -> Result<(), Failure> {
        let available = self.service.get_ticket_type(self.caller, self.ticket_type)?.available;
        // At least one, so that this ends: a damaged order may keep seats that count as available.
        let room = usize::try_from(available).unwrap_or_default().min(lines.len().saturating_sub(1));
        for line in lines.split_off(room) {
            self.refuse(line.number, "no seat of the ticket type is left", bar);
        }
        Ok(())
    }

    /// Takes out the lines that an error names. What this allocation has already is no error.
    fn take_out_refused(&mut self, lines: &mut Vec<Line>, error: Error, bar: &ProgressBar) -> Result<(), Failure> {
        let mut problems: Vec<(usize, String)> = Vec::new();
        for field in error.fields() {
            let Some((index, name)) = field.path.strip_prefix("tickets[").and_then(|rest| rest.split_once("].")) else {
                return Err(error.into());
            };
            let index = index.parse().unwrap_or(usize::MAX);
            problems.push((index, format!("its {name} {}", field.message)));
        }
        // The first problem of each line.
        problems.sort_by_key(|(index, _)| *index);
        problems.dedup_by_key(|(index, _)| *index);
        if problems.is_empty() {
            return Err(error.into());
        }
        let is_taken = error.reason() == Some(Reason::CodeTaken);
        let number = lines.len();
        // From the last, so that the others keep their places. They are reported from the first.
        let named = problems.into_iter().rev().filter(|(index, _)| *index < number);
        let taken_out: Vec<_> = named.map(|(index, problem)| (lines.remove(index), problem)).collect();
        for (line, problem) in taken_out.into_iter().rev() {
            if is_taken && self.has_imported(&line.ticket.code)? {
                self.already_imported += 1;
            } else {
                self.refuse(line.number, &problem, bar);
            }
        }
        Ok(())
    }

    /// Whether a ticket of this allocation has the code.
    fn has_imported(&self, code: &str) -> Result<bool, Failure> {
        let ticket = self.service.get_ticket_by_code(self.caller, FindTicket::new(code).event(self.event))?;
        Ok(self.allocation.is_some() && ticket.internal_allocation_id == self.allocation)
    }
}

/// Opens a file whose columns are separated by what is most frequent in its first line.
fn reader(mut file: File) -> std::io::Result<Reader<BufReader<File>>> {
    let mut beginning = Vec::new();
    Read::by_ref(&mut file).take(64 * 1024).read_to_end(&mut beginning)?;
    file.rewind()?;
    let first_line = beginning.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let count = |separator: &u8| first_line.iter().filter(|byte| *byte == separator).count();
    // Of several, the first.
    let delimiter = SEPARATORS.into_iter().rev().max_by_key(count).unwrap_or(b',');
    let mut builder = ReaderBuilder::new();
    // Carriage returns are trimmed. The lines that a reader of CRLF counts begin before them.
    builder.has_headers(false).flexible(true).delimiter(delimiter).terminator(Terminator::Any(b'\n'));
    Ok(builder.from_reader(BufReader::new(file)))
}

/// Reads the ticket of a record.
fn ticket(record: &ByteRecord, code: usize, label: Option<usize>) -> Result<ImportedTicket, &'static str> {
    let text = |column: usize, missing| {
        let bytes = record.get(column).ok_or(missing)?;
        std::str::from_utf8(bytes).map(str::trim).map_err(|_| "it is not in UTF-8")
    };
    let mut ticket = ImportedTicket::new(text(code, "it has no column with a code")?);
    if let Some(column) = label {
        let label = text(column, "it has no column with a label")?;
        ticket.label = (!label.is_empty()).then(|| label.to_owned());
    }
    Ok(ticket)
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::Run(format!("cannot read {}: {error}", path.display()))
}
