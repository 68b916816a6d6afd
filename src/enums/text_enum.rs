//! The trait of enums whose values have a text: the one that JSON and the database contain.

/// An enum with a text for each value.
///
/// The trait is sealed: only enums of this crate implement it.
pub trait TextEnum: sealed::Sealed + Copy + Sized + 'static {
    /// The name of the enum.
    const NAME: &'static str;

    /// Every value, in the order of the declaration.
    const ALL: &'static [Self];

    /// The text of the value.
    fn as_str(self) -> &'static str;

    /// Returns the value with this text. Upper and lower case are different.
    fn from_text(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.as_str() == text)
    }
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// The string does not name a variant of the enum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("is not one of the known values")]
#[non_exhaustive]
pub struct UnknownText;

/// Deserializes a value from its text.
pub(crate) fn from_text<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
    D: serde::Deserializer<'de>,
{
    let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
    text.parse().map_err(serde::de::Error::custom)
}

macro_rules! text_enum {
    ($(#[$doc:meta])* pub enum $name:ident { $($(#[$value_doc:meta])* $value:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $name { $($(#[$value_doc])* $value,)+ }

        impl $name {
            /// Every value, in the order of the declaration.
            pub const ALL: &'static [Self] = &[$(Self::$value,)+];

            /// The text of the value, as in JSON.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$value => $text,)+ }
            }
        }

        impl $crate::enums::text_enum::sealed::Sealed for $name {}

        impl $crate::enums::text_enum::TextEnum for $name {
            const NAME: &'static str = stringify!($name);
            const ALL: &'static [Self] = Self::ALL;

            fn as_str(self) -> &'static str {
                self.as_str()
            }
        }

        #[cfg(feature = "server")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                <Self as $crate::enums::text_enum::TextEnum>::NAME.into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                // A slice: arrays of more than 32 cannot be serialized.
                let texts: &[&str] = &[$($text),+];
                schemars::json_schema!({"type": "string", "enum": texts})
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::enums::text_enum::UnknownText;

            fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
                $crate::enums::text_enum::TextEnum::from_text(text).ok_or($crate::enums::text_enum::UnknownText)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                $crate::enums::text_enum::from_text(deserializer)
            }
        }
    };
}

pub(crate) use text_enum;
