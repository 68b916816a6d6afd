//! Reports: how an event sells and fills, as data and as a page. Figures are computed by hand, and for random sales summed
//! from the exports.

mod arrivals;
#[cfg(feature = "server")]
mod page;
mod sales;
#[cfg(feature = "server")]
mod states;
#[cfg(feature = "exports")]
mod sums;
