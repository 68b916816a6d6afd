//! The macros that give requests, and structs like them, their setters.
//!
//! A setter has the name and the doc of its field and takes the plain value. The setter of an id has the name without
//! `_id`: `event(event.id)`.
//!
//! | field | setter |
//! |---|---|
//! | `T`, `Option<T>` or `Change<T>` | `field(value)` |
//! | `Change<Option<T>>` | `field(value)`, and `clear_field()`, which sets it to `None` |
//! | `PageRequest<C>` | `page(value)`, `limit(value)` and `after(cursor)` |
//!
//! For a `String`, `Scopes` or `MarkPaid` it takes anything that converts into one, and for a `Vec` or `Metadata` anything that
//! iterates over the items. Other types are taken as they are, so that `"2100-06-01T18:00:00Z".parse()?` needs no type annotation.

/// Declares a struct together with setters, if it has no form.
macro_rules! with_setters {
    ($(#[$attribute:meta])* pub struct $request:ident { $($fields:tt)* }) => {
        $(#[$attribute])*
        #[non_exhaustive]
        pub struct $request {
            $($fields)*
        }

        $crate::form::declare::setters::form_setters! { $request { $($fields)* } }
    };
}

/// Declares the setters of a request with the fields of a [`form!`](super::fields::form).
macro_rules! form_setters {
    ($request:ident {
        $(
            $(#[$($doc:tt)*])*
            pub $field:ident $(as $json:literal)?:
                $type:ident $(::$path:ident)* $(<$item:ident $(::$item_path:ident)*>)? $(as $read:ident)?
                $([$($option:tt)*])?
        ),* $(,)?
    }) => {
        /// # Setters
        /// Each sets one field.
        impl $request {
            $($crate::form::declare::setters::form_setter! {
                [$(#[$($doc)*])*] $field: $type $(::$path)* $(<$item $(::$item_path)*>)?
            })*
        }
    };
}

/// Declares the setters of the request that creates or updates a resource with
/// [`writable_fields!`](super::writable_fields::writable_fields).
macro_rules! writable_setters {
    ($request:ident $verb:ident {
        $(
            $(#[$($doc:tt)*])*
            $field:ident $(as $json:literal)?:
                $type:ident $(::$path:ident)* $(<$item:ident>)?
                => $presence:ident $(($default:expr))? $(, $limit:expr)*;
        )*
    }) => {
        /// # Setters
        /// Each sets one field.
        impl $request {
            $($crate::form::declare::setters::writable_setter! {
                $verb [$(#[$($doc)*])*] $field: [$type $(::$path)* $(<$item>)?] $presence $(($default))?
            })*
        }
    };
}

/// Gives a request the constructor `new`, which is the same as its default.
macro_rules! constructor {
    ($request:ident $doc:literal) => {
        /// # Constructors
        impl $request {
            #[doc = $doc]
            #[must_use]
            pub fn new() -> Self {
                Self::default()
            }
        }
    };
}

macro_rules! form_setter {
    ($docs:tt event_id: $($type:tt)*) => {
        $crate::form::declare::setters::form_setter! { $docs event event_id: $($type)* }
    };
    ($docs:tt ticket_type_id: $($type:tt)*) => {
        $crate::form::declare::setters::form_setter! { $docs ticket_type ticket_type_id: $($type)* }
    };
    ($docs:tt order_id: $($type:tt)*) => {
        $crate::form::declare::setters::form_setter! { $docs order order_id: $($type)* }
    };
    ($docs:tt discount_id: $($type:tt)*) => {
        $crate::form::declare::setters::form_setter! { $docs discount discount_id: $($type)* }
    };
    ($docs:tt allocation_id: $($type:tt)*) => {
        $crate::form::declare::setters::form_setter! { $docs allocation allocation_id: $($type)* }
    };
    ($docs:tt refund_id: $($type:tt)*) => {
        $crate::form::declare::setters::form_setter! { $docs refund refund_id: $($type)* }
    };
    ($docs:tt organization_id: $($type:tt)*) => {
        $crate::form::declare::setters::form_setter! { $docs organization organization_id: $($type)* }
    };
    ($docs:tt $field:ident: $($type:tt)*) => {
        $crate::form::declare::setters::form_setter! { $docs $field $field: $($type)* }
    };
    ($docs:tt $name:ident $field:ident: PageRequest<$cursor:ty>) => {
        $crate::form::declare::setters::setter! { $docs $name $field is_value: PageRequest<$cursor> }

        /// Sets the greatest number of items of the page: 1 to 100. The default is 25.
        #[must_use]
        pub fn limit(mut self, limit: i64) -> Self {
            self.$field.limit = limit;
            self
        }

        /// Requests the page that follows `cursor`, the `next_cursor` of the previous page.
        #[must_use]
        pub fn after(mut self, cursor: $cursor) -> Self {
            self.$field.cursor = Some(cursor);
            self
        }
    };
    ($docs:tt $name:ident $field:ident: Option<$type:ident>) => {
        $crate::form::declare::setters::setter! { $docs $name $field is_option: $type }
    };
    ($docs:tt $name:ident $field:ident: Option<$type:ty>) => {
        $crate::form::declare::setters::setter! { $docs $name $field is_option: $type }
    };
    ($docs:tt $name:ident $field:ident: $($type:tt)*) => {
        $crate::form::declare::setters::setter! { $docs $name $field is_value: $($type)* }
    };
}

macro_rules! writable_setter {
    (create $docs:tt $field:ident: [$($type:tt)*] required) => {
        $crate::form::declare::setters::setter! { $docs $field $field is_value: $($type)* }
    };
    (create [$($docs:tt)*] $field:ident: [$($type:tt)*] $presence:ident $(($default:expr))?) => {
        $crate::form::declare::setters::setter! {
            [$($docs)* #[doc = $crate::form::declare::setters::default_doc!($presence $(($default))?)]]
            $field $field is_option: $($type)*
        }
    };
    (update $docs:tt $field:ident: [$($type:tt)*] nullable) => {
        $crate::form::declare::setters::setter! { $docs $field $field is_nullable_change: $($type)* }

        pastey::paste! {
            #[doc = concat!("Clears `", stringify!($field), "`: sets it to `None`.")]
            #[must_use]
            pub fn [<clear_ $field>](mut self) -> Self {
                self.$field = $crate::form::change::Change::Set(None);
                self
            }
        }
    };
    (update $docs:tt $field:ident: [$($type:tt)*] $presence:ident $(($default:expr))?) => {
        $crate::form::declare::setters::setter! { $docs $field $field is_change: $($type)* }
    };
}

/// One setter. The type of its parameter depends on the type of the value.
macro_rules! setter {
    ($docs:tt $name:ident $field:ident $holder:ident: String) => {
        $crate::form::declare::setters::setter! { $docs $name $field $holder (impl Into<String>) $name.into() }
    };
    ($docs:tt $name:ident $field:ident $holder:ident: MarkPaid) => {
        $crate::form::declare::setters::setter! { $docs $name $field $holder (impl Into<MarkPaid>) $name.into() }
    };
    ($docs:tt $name:ident $field:ident $holder:ident: Metadata) => {
        $crate::form::declare::setters::setter! {
            $docs $name $field $holder (impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>)
            $name.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
        }
    };
    ($docs:tt $name:ident $field:ident $holder:ident: Scopes) => {
        $crate::form::declare::setters::setter! { $docs $name $field $holder (impl Into<Scopes>) $name.into() }
    };
    ($docs:tt $name:ident $field:ident $holder:ident: Labels) => {
        $crate::form::declare::setters::setter! {
            $docs $name $field $holder (impl IntoIterator<Item = impl Into<String>>)
            $name.into_iter().map(Into::into).collect()
        }
    };
    ($docs:tt $name:ident $field:ident $holder:ident: Vec<String>) => {
        $crate::form::declare::setters::setter! {
            $docs $name $field $holder (impl IntoIterator<Item = impl Into<String>>)
            $name.into_iter().map(Into::into).collect()
        }
    };
    ($docs:tt $name:ident $field:ident $holder:ident: Vec<$item:ty>) => {
        $crate::form::declare::setters::setter! {
            $docs $name $field $holder (impl IntoIterator<Item = $item>) $name.into_iter().collect()
        }
    };
    ($docs:tt $name:ident $field:ident $holder:ident: $type:ty) => {
        $crate::form::declare::setters::setter! { $docs $name $field $holder ($type) $name }
    };
    ([$($docs:tt)*] $name:ident $field:ident $holder:ident ($($parameter:tt)*) $value:expr) => {
        #[doc = concat!("Sets `", stringify!($field), "`.\n")]
        $($docs)*
        #[must_use]
        pub fn $name(mut self, $name: $($parameter)*) -> Self {
            self.$field = $crate::form::declare::setters::held!($holder $value);
            self
        }
    };
}

/// A value as a field of the request holds it.
macro_rules! held {
    (is_value $value:expr) => {
        $value
    };
    (is_option $value:expr) => {
        Some($value)
    };
    (is_change $value:expr) => {
        $crate::form::change::Change::Set($value)
    };
    (is_nullable_change $value:expr) => {
        $crate::form::change::Change::Set(Some($value))
    };
}

/// The sentence about a field's default, for its documentation.
macro_rules! default_doc {
    (default($default:expr)) => {
        concat!("\nDefault: `", stringify!($default), "`.")
    };
    ($presence:ident $(($default:expr))?) => {
        ""
    };
}

pub(crate) use {
    constructor, default_doc, form_setter, form_setters, held, setter, with_setters, writable_setter, writable_setters,
};
