//! Pictures: the logos of tickets, and the covers of events.
//!
//! A [`PictureFetcher`](picture_fetcher::PictureFetcher) fetches those at URLs, and keeps them. There is one for logos and
//! one for covers, each with limits of its own.

#[cfg(feature = "event-pages")]
mod clean_file;
#[cfg(feature = "event-pages")]
pub(super) mod covers;
pub(super) mod decoded_pictures;
pub(super) mod logos;
pub(super) mod picture;
mod picture_cache;
pub(super) mod picture_fetcher;
