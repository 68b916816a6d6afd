//! The macros that declare requests from a list of their fields.

/// Declares the struct of a request, or of a part of one, and its [`Form`](super::object::Form):
///
/// ```text
/// form! {
///     /// A new order.
///     #[derive(Debug, Clone, PartialEq, Eq)]
///     pub struct CreateOrder {
///         /// The event.
///         pub event_id: EventId,
///         /// At least one entry.
///         pub items: Vec<NewOrderItem> [MinItems(1)],
///         /// The code of a discount.
///         pub discount_code: Option<String> [nullable],
///     }
/// }
/// ```
///
/// The type of a field decides whether it may be absent: see [`FormField`](super::field::FormField). The list in
/// brackets has the limits of the field; it begins with `nullable` if null means the same as absent. The name in JSON
/// is the field's in camelCase, or what follows `as`: `ticket_type_id as "ticketId": TicketTypeId`. A field of the type
/// `NewCustomer as TicketHolder` is read and described as a `TicketHolder`, which is then converted into a
/// `NewCustomer`.
macro_rules! form {
    (
        $(#[$($attribute:tt)*])*
        $visibility:vis struct $name:ident {
            $(
                $(#[$($field_attribute:tt)*])*
                $field_visibility:vis $field:ident $(as $json:literal)?: $type:ty $(as $read:ty)? $([$($option:tt)*])?
            ),* $(,)?
        }
    ) => {
        $(#[$($attribute)*])*
        $visibility struct $name {
            $(
                $(#[$($field_attribute)*])*
                $field_visibility $field: $type,
            )*
        }

        $crate::form::declare::implement_form! {
            $(#[$($attribute)*])*
            $name {
                $(
                    $field: $crate::form::declare::last_type!($type $(, $read)?) = $crate::form::declare::described_field!(
                        [$field $(as $json)?] [$(#[$($field_attribute)*])*] [$($($option)*)?]
                    );
                )*
            }
        }
    };
}

/// Implements [`Form`](super::object::Form) for a struct, each of whose fields comes with its
/// [`Field`](super::field::Field).
macro_rules! implement_form {
    (
        $(#[$($attribute:tt)*])*
        $name:ident { $($field:ident: $type:ty = $described:expr;)* }
    ) => {
        #[allow(unused_variables, reason = "a form may have no fields")]
        impl $crate::form::object::Form for $name {
            const NAME: &'static str = stringify!($name);
            const DOC: &'static str = $crate::form::declare::doc_comment!($(#[$($attribute)*])*);

            fn read_fields(object: &mut $crate::form::object::ObjectReader<'_>) -> Self {
                Self { $($field: <$type as $crate::form::field::FormField>::read(object, const { &$described }).into(),)* }
            }

            fn check_fields(&self, path: $crate::form::path::Path<'_>, errors: &mut $crate::error::FieldErrors) {
                $($crate::form::field::FormField::check(&self.$field, const { &$described }, path, errors);)*
            }

            fn describe_fields(object: &mut $crate::form::schema::ObjectSchema<'_>) {
                $(<$type as $crate::form::field::FormField>::describe(object, const { &$described });)*
            }
        }

        impl $crate::form::value::FormValue for $name {
            type Limit = $crate::form::limits::NoLimit;

            fn placeholder() -> Self {
                $crate::form::object::Form::blank()
            }

            fn read(
                value: &$crate::form::json::Value,
                path: $crate::form::path::Path<'_>,
                errors: &mut $crate::error::FieldErrors,
            ) -> Option<Self> {
                Some($crate::form::object::read(value, path, errors))
            }

            fn is_within(&self, limit: Self::Limit) -> bool {
                match limit {}
            }

            fn check_parts(&self, path: $crate::form::path::Path<'_>, errors: &mut $crate::error::FieldErrors) {
                $crate::form::object::Form::check_fields(self, path, errors);
            }

            fn schema(named: &mut $crate::form::schema::NamedSchemas) -> serde_json::Value {
                $crate::form::object::reference::<Self>(named)
            }
        }
    };
}

macro_rules! last_type {
    ($type:ty) => {
        $type
    };
    ($type:ty, $last:ty) => {
        $last
    };
}

/// The [`Field`](super::field::Field) with a name, attributes and options.
macro_rules! described_field {
    ([$($name:tt)*] [$($attribute:tt)*] [nullable $(, $limit:expr)*]) => {
        $crate::form::declare::described_field!([$($name)*] [$($attribute)*] [$($limit),*]).nullable()
    };
    ([$($name:tt)*] [$($attribute:tt)*] [$($limit:expr),*]) => {
        $crate::form::field::Field::new(
            $crate::form::declare::json_name!($($name)*),
            $crate::form::declare::doc_comment!($($attribute)*),
            &[$($limit),*],
        )
    };
}

/// The lines of a doc comment among attributes.
macro_rules! doc_comment {
    ($(#[$($attribute:tt)*])*) => { concat!($($crate::form::declare::doc_line!($($attribute)*)),*) };
}

macro_rules! doc_line {
    (doc = $line:literal) => {
        concat!($line, "\n")
    };
    ($($other:tt)*) => {
        ""
    };
}

/// The name of a field in JSON: as stated, or in camelCase.
macro_rules! json_name {
    ($field:ident as $json:literal) => {
        $json
    };
    ($field:ident) => {
        const {
            const SNAKE_CASE: &str = stringify!($field);
            const CAMEL_CASE: [u8; $crate::form::declare::camel_case_length(SNAKE_CASE)] =
                $crate::form::declare::camel_case(SNAKE_CASE);
            match std::str::from_utf8(&CAMEL_CASE) {
                Ok(name) => name,
                Err(_) => panic!("a field's name is ASCII"),
            }
        }
    };
}

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
        $crate::form::declare::create_form! {
            [$(#[$($create_attribute)*])*] $create [$($($create_only)*)?] [$fields $(, $context: $context_type)?] $($list)*
        }
        $crate::form::declare::update_form! { [$(#[$($update_attribute)*])*] $update [$fields of $resource] $($list)* }
    };
    (
        $(#[$($update_attribute:tt)*])*
        update $update:ident;
        fields $fields:ident of $resource:ident;
        $($list:tt)*
    ) => {
        $crate::form::declare::update_form! { [$(#[$($update_attribute)*])*] $update [$fields of $resource] $($list)* }
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
        $($struct_attribute)*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $create {
            $(
                $(#[$($only_attribute)*])*
                pub $only: $only_type,
            )*
            $(
                $(#[$($attribute)*])*
                #[doc = $crate::form::declare::default_doc!($presence $(($default))?)]
                pub $field: $crate::form::declare::create_type!($presence $type),
            )*
        }

        $crate::form::declare::implement_form! {
            $($struct_attribute)*
            $create {
                $(
                    $only: $only_type =
                        $crate::form::declare::described_field!([$only] [$(#[$($only_attribute)*])*] []);
                )*
                $(
                    $field: $crate::form::declare::create_type!($presence $type) =
                        $crate::form::declare::create_field!(
                            $presence $(($default))?, $type,
                            $crate::form::declare::described_field!(
                                [$field $(as $json)?] [$(#[$($attribute)*])*] [$($limit),*]
                            )
                        );
                )*
            }
        }

        impl $fields {
            /// The fields of a new resource, with their defaults.
            pub(crate) fn create(request: $create $(, $context: $context_type)?) -> Self {
                Self { $($field: $crate::form::declare::created!($presence $(($default))?, request.$field),)* }
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
        $($struct_attribute)*
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct $update {
            $(
                $(#[$($attribute)*])*
                pub $field: $crate::form::declare::update_type!($presence $type),
            )*
        }

        $crate::form::declare::implement_form! {
            $($struct_attribute)*
            $update {
                $(
                    $field: $crate::form::declare::update_type!($presence $type) =
                        $crate::form::declare::described_field!(
                            [$field $(as $json)?] [$(#[$($attribute)*])*] [$($limit),*]
                        );
                )*
            }
        }

        #[doc = concat!("The writable fields of [`", stringify!($resource), "`].")]
        #[derive(Debug, Clone)]
        pub(crate) struct $fields {
            $(pub(crate) $field: $crate::form::declare::written_type!($presence $type),)*
        }

        impl $fields {
            /// The fields of an existing resource, with the changes applied.
            pub(crate) fn update(current: &$resource, changes: $update) -> Self {
                Self {
                    $($field: $crate::form::declare::updated!($presence, changes.$field, current.$field.clone()),)*
                }
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

/// The field of a request that creates a resource.
macro_rules! create_field {
    (default($default:expr), $type:ty, $field:expr) => {
        $field.with_default(|| {
            let default: $type = $default;
            serde_json::to_value(default).unwrap_or_default()
        })
    };
    (nullable, $type:ty, $field:expr) => {
        $field.nullable()
    };
    ($presence:ident $(($default:expr))?, $type:ty, $field:expr) => {
        $field
    };
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

macro_rules! default_doc {
    (default($default:expr)) => {
        concat!("\nDefault: `", stringify!($default), "`.")
    };
    ($presence:ident $(($default:expr))?) => {
        ""
    };
}

pub(crate) use {
    create_field, create_form, create_type, created, default_doc, described_field, doc_comment, doc_line, form,
    implement_form, json_name, last_type, update_form, update_type, updated, writable_fields, written_type,
};

/// How many characters a name has in camelCase.
pub(crate) const fn camel_case_length(snake_case: &str) -> usize {
    let bytes = snake_case.as_bytes();
    let (mut length, mut index) = (0, 0);
    while index < bytes.len() {
        if bytes[index] != b'_' {
            length += 1;
        }
        index += 1;
    }
    length
}

/// The characters of a name in camelCase.
pub(crate) const fn camel_case<const LENGTH: usize>(snake_case: &str) -> [u8; LENGTH] {
    let bytes = snake_case.as_bytes();
    let mut camel_case = [0; LENGTH];
    let (mut length, mut index) = (0, 0);
    while index < bytes.len() {
        if bytes[index] != b'_' {
            let begins_word = index > 0 && bytes[index - 1] == b'_';
            camel_case[length] = if begins_word { bytes[index].to_ascii_uppercase() } else { bytes[index] };
            length += 1;
        }
        index += 1;
    }
    camel_case
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_name_in_json_is_in_camel_case_unless_another_one_is_stated() {
        assert_eq!(json_name!(sale_start_date), "saleStartDate");
        assert_eq!(json_name!(q), "q");
        assert_eq!(json_name!(ticket_type_id as "ticketId"), "ticketId");
    }
}
