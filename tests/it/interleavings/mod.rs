//! Threads that wait for each other, under many interleavings.

mod fair;
mod group_commit;
