//! The macro that declares the requests which create and update a resource.

/// Declares the requests that create and update a resource, and the fields that both of them write:
///
/// ```text
/// writable_fields! {
///     /// A new ticket type.
///     create CreateTicketType;
///     /// Changes to a ticket type.
///     update UpdateTicketType;
///     fields TicketTypeFields of TicketType;
///
///     /// Its name.
///     name: String => required, MinLength(2);
///     /// The position in lists.
///     sort_order: i64 => default(0), Min(0), Max(100);
/// }
/// ```
///
/// The word after `=>` decides how the field is written, the limits follow:
///
/// | | in `Create…` | in `Update…` | in the resource and in `…Fields` |
/// |---|---|---|---|
/// | `required` | `T` | `Change<T>` | `T` |
/// | `default(value)` | `Option<T>` | `Change<T>` | `T` |
/// | `inherited(value)`: a default that depends on the context | `Option<T>` | `Change<T>` | `T` |
/// | `optional`: it can be set, but not be cleared | `Option<T>` | `Change<T>` | `Option<T>` |
/// | `nullable`: it can be set and cleared | `Option<T>`, or null | `Change<Option<T>>` | `Option<T>` |
///
/// `create CreateEvent(organization: &Organization);` names the context of defaults, and `create CreateDiscount {
/// event_id: EventId; };` has required fields that an update cannot change. Without `create …;` there is only an
/// update.
///
/// `…Fields` is a struct of all fields, with the functions `create` and `update` that apply a request.
macro_rules! writable_fields {
    (
        $(#[$($create_attribute:tt)*])*
        create $create:ident $(($context:ident: $context_type:ty))? $({ $($create_only:tt)* })?;
        $(#[$($update_attribute:tt)*])*
        update $update:ident;
        fields $fields:ident of $resource:ident;
        $($list:tt)*
    ) => {
        $crate::form::declare::writable_fields::create_form! {
            [$(#[$($create_attribute)*])*] $create [$($($create_only)*)?] [$fields $(, $context: $context_type)?] $($list)*
        }
        $crate::form::declare::setters::writable_setters! { $create create { $($list)* } }
        $crate::form::declare::writable_fields::update_form! { [$(#[$($update_attribute)*])*] $update [$fields of $resource] $($list)* }
        $crate::form::declare::setters::writable_setters! { $update update { $($list)* } }
    };
    (
        $(#[$($update_attribute:tt)*])*
        update $update:ident;
        fields $fields:ident of $resource:ident;
        $($list:tt)*
    ) => {
        $crate::form::declare::writable_fields::update_form! { [$(#[$($update_attribute)*])*] $update [$fields of $resource] $($list)* }
        $crate::form::declare::setters::writable_setters! { $update update { $($list)* } }
    };
}

macro_rules! create_form {
    (
        [$($struct_attribute:tt)*] $create:ident
        [$($(#[$($only_attribute:tt)*])* $only:ident: $only_type:ty;)*]
        [$fields:ident $(, $context:ident: $context_type:ty)?]
        $(
            $(#[$($attribute:tt)*])*
            $field:ident $(as $json:literal)?: $type:ty => $presence:ident $(($default:expr))? $(, $limit:expr)*;
        )*
    ) => {
        $crate::form::declare::fields::form_struct! {
            $($struct_attribute)*
            #[derive(Debug, Clone, PartialEq, Eq)]
            pub struct $create {
                $(
                    $(#[$($only_attribute)*])*
                    pub $only: $only_type,
                )*
                $(
                    $(#[$($attribute)*])*
                    #[doc = $crate::form::declare::setters::default_doc!($presence $(($default))?)]
                    pub $field $(as $json)?: $crate::form::declare::writable_fields::create_type!($presence $type)
                        [$presence $(($default))? => $($limit),*],
                )*
            }
        }

        impl $fields {
            /// The fields of a new resource, with their defaults.
            pub(crate) fn create(request: $create $(, $context: $context_type)?) -> Self {
                Self { $($field: $crate::form::declare::writable_fields::created!($presence $(($default))?, request.$field),)* }
            }
        }
    };
}

macro_rules! update_form {
    (
        [$($struct_attribute:tt)*] $update:ident
        [$fields:ident of $resource:ident]
        $(
            $(#[$($attribute:tt)*])*
            $field:ident $(as $json:literal)?: $type:ty => $presence:ident $(($default:expr))? $(, $limit:expr)*;
        )*
    ) => {
        $crate::form::declare::fields::form_struct! {
            $($struct_attribute)*
            #[derive(Debug, Clone, Default, PartialEq, Eq)]
            pub struct $update {
                $(
                    $(#[$($attribute)*])*
                    pub $field $(as $json)?: $crate::form::declare::writable_fields::update_type!($presence $type)
                        [$($limit),*],
                )*
            }
        }

        $crate::form::declare::setters::constructor! { $update "Creates a request that changes nothing. Its setters add changes." }

        impl $update {
            /// Keeps the fields that are set to the value which they have already, if that is not within their limits,
            /// and removes its errors. A value that was stored before a limit was introduced is refused only if it is
            /// changed.
            fn forgive_unchanged(&mut self, current: &$resource, errors: &mut $crate::error::FieldErrors) {
                $(
                    if !errors.is_empty() && !matches!(self.$field, $crate::form::change::Change::Keep) {
                        let field = const {
                            &$crate::form::declare::fields::described_field!(
                                $type, [$field $(as $json)?] [$(#[$($attribute)*])*] [$($limit),*]
                            )
                        };
                        let is_forgiven = errors.forgive(field.name, || {
                            let mut known: $crate::form::declare::writable_fields::update_type!($presence $type) =
                                $crate::form::declare::writable_fields::as_change!($presence, current.$field.clone());
                            let mut beyond = $crate::error::FieldErrors::default();
                            let path = $crate::form::path::Path::Root;
                            $crate::form::field::FormField::check(&mut known, field, path, &mut beyond);
                            (self.$field == known).then_some(beyond)
                        });
                        if is_forgiven {
                            self.$field = $crate::form::change::Change::Keep;
                        }
                    }
                )*
            }
        }

        #[doc = concat!("The writable fields of [`", stringify!($resource), "`].")]
        #[derive(Debug, Clone)]
        pub(crate) struct $fields {
            $(pub(crate) $field: $crate::form::declare::writable_fields::written_type!($presence $type),)*
        }

        impl $fields {
            /// The fields of an existing resource, with the changes applied, and the errors of the changes.
            pub(crate) fn update(
                current: &$resource,
                request: &$crate::form::request::Request<$update>,
            ) -> (Self, $crate::error::FieldErrors) {
                let mut errors = request.errors.clone();
                let mut changes = request.body.clone();
                changes.forgive_unchanged(current, &mut errors);
                let fields = Self {
                    $($field: $crate::form::declare::writable_fields::updated!($presence, changes.$field, current.$field.clone()),)*
                };
                (fields, errors)
            }
        }
    };
}

macro_rules! create_type {
    (required $type:ty) => { $type };
    (default $type:ty) => { Option<$type> };
    (inherited $type:ty) => { Option<$type> };
    (optional $type:ty) => { Option<$type> };
    (nullable $type:ty) => { Option<$type> };
}

macro_rules! update_type {
    (nullable $type:ty) => { $crate::form::change::Change<Option<$type>> };
    ($presence:ident $type:ty) => { $crate::form::change::Change<$type> };
}

macro_rules! written_type {
    (optional $type:ty) => { Option<$type> };
    (nullable $type:ty) => { Option<$type> };
    ($presence:ident $type:ty) => { $type };
}

/// The value that a request gives to a field of a new resource.
macro_rules! created {
    (default($default:expr), $given:expr) => {
        $given.unwrap_or_else(|| $default)
    };
    (inherited($default:expr), $given:expr) => {
        $given.unwrap_or_else(|| $default)
    };
    ($presence:ident, $given:expr) => {
        $given
    };
}

/// The value of a field after a change.
macro_rules! updated {
    (optional, $change:expr, $current:expr) => {
        $change.map(Some).over($current)
    };
    ($presence:ident, $change:expr, $current:expr) => {
        $change.over($current)
    };
}

/// The change that sets a field to the value that it has already.
macro_rules! as_change {
    (optional, $current:expr) => {
        $current.map_or($crate::form::change::Change::Keep, $crate::form::change::Change::Set)
    };
    ($presence:ident, $current:expr) => {
        $crate::form::change::Change::Set($current)
    };
}

pub(crate) use {
    as_change, create_form, create_type, created, update_form, update_type, updated, writable_fields, written_type,
};
