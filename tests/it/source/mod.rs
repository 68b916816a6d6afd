//! The source itself: who uses whom, statements that both engines understand, and the name of the package.

mod imports;
mod layers;
mod package_name;
mod portable_sql;
