//! The QR code of a ticket.

use fast_qr::{ECL, Mode, QRBuilder, Version};

use crate::error::{Error, Result};

/// The number of modules along a side: that of version 2.
pub(crate) const SIDE: usize = 25;

/// A row of dark modules that touch each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DarkRun {
    pub(crate) row: usize,
    pub(crate) column: usize,
    pub(crate) length: usize,
}

/// Returns the dark modules of the QR code that contains exactly this text: version 2, error correction level H,
/// alphanumeric mode. Up to 20 characters fit, which must be of those that this mode has: digits, upper-case letters
/// and some signs.
pub(crate) fn dark_runs(code: &str) -> Result<Vec<DarkRun>> {
    let built = QRBuilder::new(code).version(Version::V02).ecl(ECL::H).mode(Mode::Alphanumeric).build();
    let matrix = built.map_err(|error| Error::Internal(format!("the code of a ticket has no QR code: {error}")))?;
    let mut runs: Vec<DarkRun> = Vec::new();
    for row in 0..SIDE {
        for column in (0..SIDE).filter(|column| matrix[row][*column].value()) {
            match runs.last_mut() {
                Some(run) if run.row == row && run.column + run.length == column => run.length += 1,
                _ => runs.push(DarkRun { row, column, length: 1 }),
            }
        }
    }
    Ok(runs)
}
