//! Responses that have fields in common.

/// Declares two responses from one list of the fields that both have, which come first, and their own fields. The
/// second one can be made of the first:
///
/// ```text
/// with_shared_fields! {
///     shared {
///         /// The id.
///         id: OrderId,
///     }
///
///     /// An order without its issued tickets.
///     pub struct OrderSummary { … }
///     /// An order.
///     pub struct Order {
///         /// The items.
///         items: Vec<OrderItem>,
///     }
/// }
/// ```
macro_rules! with_shared_fields {
    (
        shared { $($(#[$attribute:meta])* $field:ident: $type:ty,)* }

        $(#[$source_attribute:meta])*
        pub struct $source:ident { $($(#[$source_own_attribute:meta])* $source_own:ident: $source_own_type:ty,)* }
        $(#[$target_attribute:meta])*
        pub struct $target:ident { $($(#[$target_own_attribute:meta])* $target_own:ident: $target_own_type:ty,)* }
    ) => {
        $(#[$source_attribute])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
        #[serde(rename_all = "camelCase")]
        #[non_exhaustive]
        pub struct $source {
            $($(#[$attribute])* pub $field: $type,)*
            $($(#[$source_own_attribute])* pub $source_own: $source_own_type,)*
        }

        $(#[$target_attribute])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
        #[serde(rename_all = "camelCase")]
        #[non_exhaustive]
        pub struct $target {
            $($(#[$attribute])* pub $field: $type,)*
            $($(#[$target_own_attribute])* pub $target_own: $target_own_type,)*
        }

        impl $target {
            #[doc = concat!("Takes the fields that it has in common with a [`", stringify!($source), "`].")]
            pub(crate) fn with_fields_of(source: $source $(, $target_own: $target_own_type)*) -> Self {
                Self { $($field: source.$field,)* $($target_own,)* }
            }
        }
    };
}

pub(crate) use with_shared_fields;
