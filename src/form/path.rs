//! The path of a value in a request.

use std::fmt;

/// The path of a value in a request, such as `items[0].quantity`. It is formatted only if there is an error.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Path<'a> {
    /// The request as a whole.
    Root,
    /// A field of an object.
    Field(&'a Path<'a>, &'a str),
    /// An entry of a list.
    Entry(&'a Path<'a>, usize),
}

impl Path<'_> {
    pub(crate) fn field<'a>(&'a self, name: &'a str) -> Path<'a> {
        Path::Field(self, name)
    }

    pub(crate) fn entry(&self, index: usize) -> Path<'_> {
        Path::Entry(self, index)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Path::Root, name) => f.write_str(name),
            Self::Field(object, name) => write!(f, "{object}.{name}"),
            Self::Entry(list, index) => write!(f, "{list}[{index}]"),
        }
    }
}

impl From<Path<'_>> for String {
    fn from(path: Path<'_>) -> Self {
        path.to_string()
    }
}
