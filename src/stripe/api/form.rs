//! The form encoding of Stripe's requests: `application/x-www-form-urlencoded`, with nested names in brackets.

use std::fmt::Display;

use form_urlencoded::Serializer;

/// The parameters of a request, in the order in which they were added: the same calls give the same text. Stripe
/// compares the parameters of requests that have the same idempotency key.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(in crate::stripe) struct Form {
    pairs: Vec<(String, String)>,
}

impl Form {
    /// Adds a parameter. A nested one is written `payment_intent_data[metadata][order]`.
    pub(in crate::stripe) fn add(&mut self, name: impl Into<String>, value: impl Display) {
        self.pairs.push((name.into(), value.to_string()));
    }

    pub(in crate::stripe) fn with(mut self, name: &str, value: impl Display) -> Self {
        self.add(name, value);
        self
    }

    /// The encoded parameters, for the body of a POST or the query of a GET.
    pub(in crate::stripe) fn encode(&self) -> String {
        Serializer::new(String::new()).extend_pairs(&self.pairs).finish()
    }

    /// The value of a parameter that occurs once.
    #[cfg(test)]
    pub(in crate::stripe) fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.pairs.iter().filter(|(own, _)| own == name).map(|(_, value)| value.as_str());
        values.next().filter(|_| values.next().is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_percent_encoded_as_in_html_forms() {
        let mut form = Form::default();
        form.add("mode", "payment");
        form.add("line_items[0][quantity]", 1);
        form.add("name", "2 × Stehplatz & \"Bier\" = 100 %+");
        // Python: urllib.parse.urlencode of the same pairs.
        let expected = "mode=payment&line_items%5B0%5D%5Bquantity%5D=1\
            &name=2+%C3%97+Stehplatz+%26+%22Bier%22+%3D+100+%25%2B";
        assert_eq!(form.encode(), expected);
        assert_eq!(Form::default().encode(), "");
    }
}
