//! A change to one field in an update.

/// A field of an update: keep the current value, or set a new one. Fields that can be cleared have the type
/// `Change<Option<T>>`. The setters of the updates make both: `UpdateEvent::default().title("Jazz").clear_location()`.
///
/// ```
/// use ticketing::Change;
/// let mut description = Some("Old".to_owned());
/// Change::Keep.apply(&mut description);
/// assert_eq!(description.as_deref(), Some("Old"));
/// Change::Set(None).apply(&mut description);
/// assert_eq!(description, None);
/// assert_eq!(Change::from("New"), Change::Set("New".to_owned()));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a field is kept or set: there is no third case")]
pub enum Change<T> {
    /// Keep the current value.
    #[default]
    Keep,
    /// Set the field to this value.
    Set(T),
}

impl<T> Change<T> {
    /// Converts the new value, if there is one.
    #[must_use]
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Change<U> {
        match self {
            Self::Keep => Change::Keep,
            Self::Set(value) => Change::Set(convert(value)),
        }
    }

    /// Sets `field` to the new value, if there is one.
    pub fn apply(self, field: &mut T) {
        if let Self::Set(value) = self {
            *field = value;
        }
    }

    /// Returns the new value, or `current` if it is kept.
    pub(crate) fn over(self, current: T) -> T {
        match self {
            Self::Keep => current,
            Self::Set(value) => value,
        }
    }
}

impl<T> From<T> for Change<T> {
    fn from(value: T) -> Self {
        Self::Set(value)
    }
}

impl<T> From<T> for Change<Option<T>> {
    fn from(value: T) -> Self {
        Self::Set(Some(value))
    }
}

impl From<&str> for Change<String> {
    fn from(text: &str) -> Self {
        Self::Set(text.to_owned())
    }
}

impl From<&str> for Change<Option<String>> {
    fn from(text: &str) -> Self {
        Self::Set(Some(text.to_owned()))
    }
}
