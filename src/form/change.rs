//! What an update does to one field.

/// A field of an update: left as it is, or set. `Change<Option<T>>` where the field can be cleared.
///
/// ```
/// use ticketing::Change;
/// let mut description = Some("Old".to_owned());
/// Change::Keep.apply(&mut description);
/// assert_eq!(description.as_deref(), Some("Old"));
/// Change::Set(None).apply(&mut description);
/// assert_eq!(description, None);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Change<T> {
    /// Leave the field as it is.
    #[default]
    Keep,
    /// Give it this value.
    Set(T),
}

impl<T> Change<T> {
    /// The same change of another type.
    #[must_use]
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Change<U> {
        match self {
            Self::Keep => Change::Keep,
            Self::Set(value) => Change::Set(convert(value)),
        }
    }

    /// Lays the change over the present value.
    pub fn apply(self, field: &mut T) {
        if let Self::Set(value) = self {
            *field = value;
        }
    }
}

impl<T> From<T> for Change<T> {
    fn from(value: T) -> Self {
        Self::Set(value)
    }
}
