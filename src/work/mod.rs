//! Work that is done later: [`queues`] claim it and record how it ended, and [`background_threads`] and [`workers`] run
//! them. What is to be done is a [`Kind`](queues::Kind).

pub(crate) mod background_threads;
pub(crate) mod queues;
pub(crate) mod workers;

pub(crate) use queues::Queues;
