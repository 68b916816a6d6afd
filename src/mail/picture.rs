//! The QR code of a ticket as a PNG file: mail programs show no SVG, and no `data:` URLs.

use crate::documents::qr::{self, SIDE};
use crate::error::{Error, Result};

/// The light modules that a QR code needs on all sides.
const QUIET_ZONE: usize = 4;

/// How many pixels a module is wide and high.
const PIXELS: usize = 6;

const WIDTH: usize = (SIDE + 2 * QUIET_ZONE) * PIXELS;

/// Returns a PNG file with the code of a ticket, black on white.
pub(super) fn png_of(code: &str) -> Result<Vec<u8>> {
    let mut pixels = vec![u8::MAX; WIDTH * WIDTH];
    for run in qr::dark_runs(code)? {
        let (top, left) = ((run.row + QUIET_ZONE) * PIXELS, (run.column + QUIET_ZONE) * PIXELS);
        for row in top..top + PIXELS {
            pixels[row * WIDTH + left..][..run.length * PIXELS].fill(0);
        }
    }
    let cannot_write = |error: png::EncodingError| Error::Internal(format!("a QR code could not be written: {error}"));
    let side = u32::try_from(WIDTH).unwrap_or(u32::MAX);
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, side, side);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(cannot_write)?;
    writer.write_image_data(&pixels).map_err(cannot_write)?;
    writer.finish().map_err(cannot_write)?;
    Ok(file)
}
