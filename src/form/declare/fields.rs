//! The macro that declares a request from a list of its fields.

/// Declares the struct of a request, or of a part of one, and its [`Form`](crate::form::object::Form):
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
/// The type of a field decides whether it may be absent: see [`FormField`](crate::form::field::FormField). The list in
/// brackets has the limits of the field; it begins with `nullable` if null means the same as absent. The name in JSON
/// is the field's in camelCase, or what follows `as`: `ticket_type_id as "ticketId": TicketTypeId`. A field of the type
/// `NewCustomer as TicketHolder` is read and described as a `TicketHolder`, which is then converted into a
/// `NewCustomer`.
macro_rules! form {
    ($(#[$($attribute:tt)*])* pub struct $name:ident { $($fields:tt)* }) => {
        $crate::form::declare::fields::form_struct! { $(#[$($attribute)*])* pub struct $name { $($fields)* } }
        $crate::form::declare::setters::form_setters! { $name { $($fields)* } }
    };
    ($($private:tt)*) => {
        $crate::form::declare::fields::form_struct! { $($private)* }
    };
}

/// Declares the struct of a form and implements [`Form`](crate::form::object::Form) for it.
macro_rules! form_struct {
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
        #[non_exhaustive]
        $visibility struct $name {
            $(
                $(#[$($field_attribute)*])*
                $field_visibility $field: $type,
            )*
        }

        $crate::form::declare::fields::implement_form! {
            $(#[$($attribute)*])*
            $name {
                $(
                    $field: $crate::form::declare::fields::last_type!($type $(, $read)?) = $crate::form::declare::fields::described_field!(
                        $type, [$field $(as $json)?] [$(#[$($field_attribute)*])*] [$($($option)*)?]
                    );
                )*
            }
        }
    };
}

/// Implements [`Form`](crate::form::object::Form), `Serialize` and `Deserialize` for a struct, each of whose fields
/// comes with its [`Field`](crate::form::field::Field).
macro_rules! implement_form {
    (
        $(#[$($attribute:tt)*])*
        $name:ident { $($field:ident: $type:ty = $described:expr;)* }
    ) => {
        #[allow(unused_variables, reason = "a form may have no fields")]
        impl $crate::form::object::Form for $name {
            const NAME: &'static str = stringify!($name);
            const DOC: &'static str = $crate::form::declare::fields::doc_comment!($(#[$($attribute)*])*);

            fn read_fields(object: &mut $crate::form::object::ObjectReader<'_>) -> Self {
                Self { $($field: <$type as $crate::form::field::FormField>::read(object, const { &$described }).into(),)* }
            }

            fn check_fields(&mut self, path: $crate::form::path::Path<'_>, errors: &mut $crate::error::FieldErrors) {
                $($crate::form::field::FormField::check(&mut self.$field, const { &$described }, path, errors);)*
            }

            fn write_fields<M: serde::ser::SerializeMap>(&self, object: &mut M) -> Result<(), M::Error> {
                $($crate::form::field::FormField::write(&self.$field, object, const { &$described })?;)*
                Ok(())
            }

            fn describe_fields(object: &mut $crate::form::declare::schema::ObjectSchema<'_>) {
                $(<$type as $crate::form::field::FormField>::describe(object, const { &$described });)*
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::form::object::serialize(self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::form::object::deserialize(deserializer)
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

            fn check_parts(
                &mut self,
                _: &[$crate::form::limits::NoLimit],
                path: $crate::form::path::Path<'_>,
                errors: &mut $crate::error::FieldErrors,
            ) {
                $crate::form::object::Form::check_fields(self, path, errors);
            }

            fn schema(named: &mut $crate::form::declare::schema::NamedSchemas) -> serde_json::Value {
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

/// The [`Field`](crate::form::field::Field) with a type, a name, attributes and options: its limits, after `nullable`, or
/// after how a [writable field](crate::form::declare::writable_fields) is written.
macro_rules! described_field {
    ($type:ty, $name:tt $attribute:tt [nullable $(=>)? $(,)? $($limit:expr),*]) => {
        $crate::form::declare::fields::described_field!($type, $name $attribute [$($limit),*]).nullable()
    };
    ($type:ty, $name:tt $attribute:tt [default($default:expr) => $($limit:expr),*]) => {
        $crate::form::declare::fields::described_field!($type, $name $attribute [$($limit),*]).with_default(|| {
            let default: $type = Some($default);
            serde_json::to_value(default).unwrap_or_default()
        })
    };
    ($type:ty, $name:tt $attribute:tt [$presence:ident $(($default:expr))? => $($limit:expr),*]) => {
        $crate::form::declare::fields::described_field!($type, $name $attribute [$($limit),*])
    };
    ($type:ty, [$($name:tt)*] [$($attribute:tt)*] [$($limit:expr),*]) => {
        $crate::form::field::Field::<<$type as $crate::form::field::FormField>::Limit>::new(
            $crate::form::declare::fields::json_name!($($name)*),
            $crate::form::declare::fields::doc_comment!($($attribute)*),
            &[$($limit),*],
        )
    };
}

/// The lines of a doc comment among attributes.
macro_rules! doc_comment {
    ($(#[$($attribute:tt)*])*) => { concat!($($crate::form::declare::fields::doc_line!($($attribute)*)),*) };
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
        pastey::paste! { stringify!([<$field:lower_camel>]) }
    };
}

pub(crate) use {described_field, doc_comment, doc_line, form, form_struct, implement_form, json_name, last_type};
