//! Charts as SVG paths: bars, which may be stacks of several series, and a line over them.

use std::fmt::Write as _;

/// The height of a chart, and the width of a bar with the gap beside it, in units of its `viewBox`.
pub(super) const HEIGHT: i64 = 200;
const STEP: usize = 10;
const BAR: usize = 8;

/// The paths of a chart. Browsers stretch it to the width of the page.
pub(super) struct Chart {
    /// The bars of each series.
    pub(super) bars: Vec<String>,
    /// The line, which has a scale of its own.
    pub(super) line: Option<String>,
    pub(super) width: usize,
    /// The largest stack.
    pub(super) largest: i64,
}

impl Chart {
    /// Draws series of the same length, each above the one before, and the line of as many points. Both scales begin at
    /// 0.
    pub(super) fn new(series: &[Vec<i64>], line: Option<&[i64]>) -> Self {
        let columns = series.iter().map(Vec::len).max().unwrap_or_default();
        let value = |series: &[i64], column: usize| series.get(column).copied().unwrap_or_default().max(0);
        let stack = |column| series.iter().map(|series| value(series, column)).sum::<i64>();
        let largest = (0..columns).map(stack).max().unwrap_or_default();
        let mut below = vec![0; columns];
        let bars = series.iter().map(|series| {
            let mut path = String::new();
            for (column, below) in below.iter_mut().enumerate() {
                let value = value(series, column);
                if value > 0 {
                    let (left, bottom) = (column * STEP + (STEP - BAR) / 2, y(*below, largest));
                    *below += value;
                    // Also the smallest bar can be seen.
                    let top = y(*below, largest).min(bottom - 1);
                    let _ = write!(path, "M{left} {bottom}V{top}h{BAR}V{bottom}z");
                }
            }
            path
        });
        let bars = bars.collect();
        let line = line.map(|points| {
            let highest = points.iter().copied().max().unwrap_or_default();
            let mut path = String::new();
            for (column, point) in points.iter().enumerate() {
                let command = if column == 0 { 'M' } else { 'L' };
                let _ = write!(path, "{command}{} {}", column * STEP + STEP / 2, y((*point).max(0), highest));
            }
            path
        });
        Self { bars, line, width: columns.max(1) * STEP, largest }
    }
}

/// The vertical position of a value: that of the largest one is 2, so that a line there is seen whole.
fn y(value: i64, largest: i64) -> i64 {
    let height = i128::from(HEIGHT - 2) * i128::from(value) / i128::from(largest.max(1));
    HEIGHT - i64::try_from(height).unwrap_or(HEIGHT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_stacked_and_the_line_has_its_own_scale() {
        let chart = Chart::new(&[vec![2, 0, 1], vec![2, 1, 0]], Some(&[0, 5, 10]));
        // 4 is the largest stack, 198 units high: 2 has 99 units, and 1 has 49.
        assert_eq!(chart.bars, ["M1 200V101h8V200zM21 200V151h8V200z", "M1 101V2h8V101zM11 200V151h8V200z"]);
        assert_eq!(chart.line.as_deref(), Some("M5 200L15 101L25 2"));
        assert_eq!((chart.width, chart.largest), (30, 4));
    }

    #[test]
    fn the_smallest_bar_is_seen_and_the_largest_number_fits() {
        let chart = Chart::new(&[vec![i64::MAX, 1, 0, -1]], None);
        assert_eq!(chart.bars, ["M1 200V2h8V200zM11 200V199h8V200z"]);
        let empty = Chart::new(&[Vec::new()], Some(&[]));
        assert_eq!((empty.bars, empty.line.as_deref(), empty.width), (vec![String::new()], Some(""), 10));
    }
}
