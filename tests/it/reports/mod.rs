//! Reports: how an event sells and fills, as data and as a page. Figures are computed by hand, and for random sales summed
//! from the exports.

mod arrivals;
mod sales;
#[cfg(feature = "exports")]
mod sums;
