//! Ticket documents, read back with the tools that Debian has for it: poppler-utils, zbar-tools, qpdf, imagemagick and
//! fonts-noto-core. A test is skipped, with a message, if a tool that it needs is not installed.

mod allocations;
mod contact_sheet;
mod extent;
mod extremes;
mod font_files;
mod link_costs;
mod link_states;
mod links;
mod logos;
mod many;
mod missing_glyphs;
mod operations;
mod orientation;
mod pictures;
mod readable;
mod scripts;
mod signs;
mod structure;
mod tools;
