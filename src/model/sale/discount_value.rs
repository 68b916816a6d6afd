//! The reduction by a discount: a percentage or an amount.

use crate::enums::text_enum::text_enum;
use crate::model::values::amount::Amount;
use crate::model::values::amounts::Amounts;
use crate::model::values::percentage::Percentage;

text_enum! {
    /// The type of a discount: a percentage or an amount.
    pub enum DiscountType {
        /// A percentage of each item.
        Percentage = "PERCENTAGE",
        /// An amount, distributed over the items.
        FixedAmount = "FIXED_AMOUNT",
    }
}

/// The reduction by a discount. In JSON it is two fields: `type` and `value`.
///
/// ```
/// use ticketing::Amount;
/// use ticketing::discount::{DiscountType, DiscountValue, Percentage};
/// let value = DiscountValue::from(Percentage::whole(10)?);
/// assert_eq!(value.discount_type(), DiscountType::Percentage);
/// assert_eq!(DiscountValue::from(Amount::cents(500)), DiscountValue::FixedAmount(Amount::cents(500)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(tag = "type", content = "value", rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum DiscountValue {
    /// A percentage of each item.
    Percentage(Percentage),
    /// An amount in the currency of the event, distributed over the items.
    FixedAmount(Amount),
}

impl DiscountValue {
    /// How the reduction is calculated.
    #[must_use]
    pub const fn discount_type(self) -> DiscountType {
        match self {
            Self::Percentage(_) => DiscountType::Percentage,
            Self::FixedAmount(_) => DiscountType::FixedAmount,
        }
    }

    /// The percentage or the amount, as a number.
    pub(crate) const fn number(self) -> Amount {
        match self {
            Self::Percentage(percentage) => percentage.number(),
            Self::FixedAmount(amount) => amount,
        }
    }
}

impl Amounts for DiscountValue {
    fn change_amounts(&mut self, change: &mut dyn FnMut(&mut Amount)) {
        if let Self::FixedAmount(amount) = self {
            change(amount);
        }
    }
}

impl From<Percentage> for DiscountValue {
    fn from(percentage: Percentage) -> Self {
        Self::Percentage(percentage)
    }
}

impl From<Amount> for DiscountValue {
    fn from(amount: Amount) -> Self {
        Self::FixedAmount(amount)
    }
}

#[cfg(feature = "server")]
impl schemars::JsonSchema for DiscountValue {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "DiscountValue".into()
    }

    fn inline_schema() -> bool {
        true
    }

    /// The two fields of a value, which stand among the fields of its discount.
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut discount_type = generator.subschema_for::<DiscountType>();
        discount_type.insert("description".to_owned(), "How the reduction is calculated.".into());
        let mut value = generator.subschema_for::<Amount>();
        let description = "The reduction: a percentage, or an amount in the currency of the event.";
        value.insert("description".to_owned(), description.into());
        schemars::json_schema!({
            "type": "object",
            "properties": {"type": discount_type, "value": value},
            "required": ["type", "value"],
        })
    }
}
