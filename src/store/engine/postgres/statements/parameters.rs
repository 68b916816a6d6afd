//! Values of parameters and columns in PostgreSQL's binary format.

use std::error::Error;

use bytes::BytesMut;
use postgres::Row;
use postgres::types::{FromSql, IsNull, ToSql, Type};

use crate::store::engine::sql::row::{Origin, RawRow};
use crate::store::engine::sql::values::{Bind, Value};

impl ToSql for Bind<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(value) => value.to_sql(ty, out),
            Self::Text(text) => text.to_sql(ty, out),
            Self::Blob(bytes) => (&**bytes).to_sql(ty, out),
        }
    }

    /// Any type: a statement is prepared for the types of its values.
    fn accepts(_: &Type) -> bool {
        true
    }

    postgres::types::to_sql_checked!();
}

impl<'r> FromSql<'r> for Value<'r> {
    fn from_sql(ty: &Type, raw: &'r [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(match *ty {
            Type::INT8 => Self::Int(i64::from_sql(ty, raw)?),
            Type::INT4 => Self::Int(i32::from_sql(ty, raw)?.into()),
            Type::INT2 => Self::Int(i16::from_sql(ty, raw)?.into()),
            Type::BOOL => Self::Int(bool::from_sql(ty, raw)?.into()),
            Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME => Self::Text(raw),
            Type::BYTEA => Self::Blob(raw),
            _ => Self::Other,
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

impl RawRow for Row {
    fn value(&self, index: usize) -> Value<'_> {
        // An error means that there is no such column.
        self.try_get(index).unwrap_or(Value::Other)
    }

    fn origin(&self, index: usize) -> Origin {
        let name = |index: usize| self.columns().get(index).map_or("?", postgres::Column::name).to_owned();
        // By convention, the first column is the key of the statement's first table.
        let key = self.columns().iter().position(|column| column.name() == "id").unwrap_or(0);
        let row = match self.value(key) {
            Value::Int(key) => key.to_string(),
            _ => "?".to_owned(),
        };
        // The server tells the number of the table only.
        let table = self.columns().get(index).and_then(postgres::Column::table_oid);
        let table = table.map_or_else(|| "?".to_owned(), |table| format!("number {table}"));
        Origin { table, column: name(index), row }
    }
}
