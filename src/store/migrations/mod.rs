//! The schema, as the list of steps that lead to it. The number of steps done is the database's `user_version`; from the
//! first release on, a step is never changed and the list only grows.

pub(in crate::store) const ALL: &[&str] = &[
    include_str!("sqlite/0001_main_job.sql"),
    include_str!("sqlite/0002_discounts.sql"),
    include_str!("sqlite/0003_idempotency.sql"),
    include_str!("sqlite/0004_refused_refunds.sql"),
    include_str!("sqlite/0005_webhooks.sql"),
];
