//! The macros that declare responses.

/// Declares responses. In their JSON the names are in camelCase. A field with `[default]` may be missing in JSON that
/// an earlier version has written.
///
/// ```text
/// responses! {
///     /// A dispute.
///     pub struct Dispute {
///         /// The id.
///         pub id: DisputeId,
///         /// The payment.
///         pub payment_id: Option<PaymentId> [default],
///     }
/// }
/// ```
macro_rules! responses {
    ($(
        $(#[$attribute:meta])*
        pub struct $name:ident {
            $($(#[$field_attribute:meta])* pub $field:ident: $type:ty $([$($default:tt)*])?,)*
        }
    )+) => {$(
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
        #[serde(rename_all = "camelCase")]
        $(#[$attribute])*
        #[non_exhaustive]
        pub struct $name {
            $(
                $(#[$field_attribute])*
                $(
                    #[serde($($default)*)]
                    #[cfg_attr(feature = "server", schemars(!default))]
                )?
                pub $field: $type,
            )*
        }

        $crate::model::values::amounts::amounts! { $name { $($field),* } }
    )+};
}

/// Declares two [`responses!`] from one list of the fields that both have, which come first, and their own fields. The
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
        shared { $($(#[$attribute:meta])* $field:ident: $type:ty $([$($default:tt)*])?,)* }

        $(#[$source_attribute:meta])*
        pub struct $source:ident { $($(#[$source_own_attribute:meta])* $source_own:ident: $source_own_type:ty,)* }
        $(#[$target_attribute:meta])*
        pub struct $target:ident {
            $($(#[$target_own_attribute:meta])* $target_own:ident: $target_own_type:ty $([$($target_default:tt)*])?,)*
        }
    ) => {
        $crate::model::values::responses::responses! {
            $(#[$source_attribute])*
            pub struct $source {
                $($(#[$attribute])* pub $field: $type $([$($default)*])?,)*
                $($(#[$source_own_attribute])* pub $source_own: $source_own_type,)*
            }

            $(#[$target_attribute])*
            pub struct $target {
                $($(#[$attribute])* pub $field: $type $([$($default)*])?,)*
                $($(#[$target_own_attribute])* pub $target_own: $target_own_type $([$($target_default)*])?,)*
            }
        }

        impl $target {
            #[doc = concat!("Takes the fields that it has in common with a [`", stringify!($source), "`].")]
            pub(crate) fn with_fields_of(source: $source $(, $target_own: $target_own_type)*) -> Self {
                Self { $($field: source.$field,)* $($target_own,)* }
            }
        }
    };
}

pub(crate) use {responses, with_shared_fields};
